@testable import Graph

/// A store of teams and people on a simulated disk that is opened, read and written without actors, so that a campaign can open
/// hundreds of thousands of them. It does what a coordinator does, in the same order and with the same parts.
struct TeamStore {
    // Two entities that the macro has checked.
    static let schema = try! Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
    private static let schemaBytes = SchemaRecord(schema).bytes
    private static let seal = RowCounters.encode(schema.firstRows)

    private(set) var writer: JournalWriter
    private var commits: CommitState
    private var counters: [RowNumber]
    /// The digest of the state after each commit of the last group, also if that could not be written.
    private(set) var lastGroup: [UInt64] = []
    /// Keeps the file and its lock open.
    private let opened: JournalOpening.Opened

    var snapshot: Snapshot { commits.head }
    var number: Int { Int(commits.head.commit.number) }
    var wasCreated: Bool { opened.wasCreated }
    var diagnostics: [StoreDiagnostic] { opened.diagnostics }

    init(_ disk: any StoreFileSystem, seed: UInt64 = 1) throws(GraphError) {
        var replay = Self.replay
        let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options(seed: seed))
        opened = try opening.open(
            at: JournalFixture.path, schema: Self.schemaBytes, seal: Self.seal, into: &replay,
            replay: { (replay, entry) throws(GraphError) in try replay.apply(entry) },
            finish: { (replay) throws(GraphError) in try replay.finish() })
        writer = opened.writer
        commits = CommitState(head: replay.snapshot)
        counters = replay.counters
    }

    /// What a program finds that only reads the file.
    static func read(_ disk: any StoreFileSystem) throws(GraphError) -> Snapshot {
        let opening = JournalOpening(fileSystem: disk, options: JournalFixture.options())
        return try opening.read(
            at: JournalFixture.path, into: replay,
            replay: { (replay, entry) throws(GraphError) in try replay.apply(entry) },
            finish: { (replay) throws(GraphError) in _ = try replay.finish() }
        ).1.snapshot
    }

    private static var replay: StoreReplay {
        StoreReplay(schema: schema, path: JournalFixture.path, keepsIndexes: false)
    }

    /// Writes one group of random commits.
    ///
    /// - Returns: the digest of the state after each of them.
    mutating func commit(
        _ count: Int, durably: Bool = true, using random: inout SeededGenerator
    ) throws(GraphError) -> [UInt64] {
        try commit(count, durably: durably) { work, counters in
            TeamChange(of: work.snapshot, using: &random).apply(to: &work, &counters)
        }
    }

    /// Writes a group of one small commit, and returns the digest after it.
    mutating func commitTeam() throws(GraphError) -> UInt64 {
        try commit(1, durably: true) { work, counters in
            TeamChange.newTeam(named: "more").apply(to: &work, &counters)
        }[0]
    }

    /// Writes a group of one commit with so many people, and returns the digest after it.
    mutating func commitPeople(_ count: Int, named name: String) throws(GraphError) -> UInt64 {
        try commit(1, durably: true) { work, counters in
            TeamChange.newPeople(count, named: name).apply(to: &work, &counters)
        }[0]
    }

    private mutating func commit(
        _ count: Int, durably: Bool, _ change: (inout WorkingState, inout [RowNumber]) -> Void
    ) throws(GraphError) -> [UInt64] {
        let before = (commits, counters)
        var records: [Journal.Record] = []
        lastGroup = []
        for _ in 0..<count {
            var work = WorkingState(base: commits.head)
            change(&work, &counters)
            var commit = try commits.prepare(work)
            let record = try CommitRecord.encode(commit.state, counters: counters, time: 7, author: "")
            record.withUnsafeBytes { commit.state.snapshot.token.add($0) }
            commits.accept(commit)
            records.append(Journal.Record(kind: .commit, payload: record))
            lastGroup.append(commits.head.digest)
        }
        do throws(GraphError) {
            try writer.write(records, durably: durably)
        } catch {
            (commits, counters) = before
            throw error
        }
        return lastGroup
    }

    mutating func mark() throws(GraphError) {
        try writer.write([Journal.Record(kind: .mark, payload: RowCounters.encode(counters))], durably: false)
    }

    mutating func sync() throws(GraphError) { try writer.sync() }

    mutating func close() throws(GraphError) { try writer.close(RowCounters.encode(counters)) }
}

/// One commit's changes, which a seed determines.
struct TeamChange {
    private enum Step {
        case newTeam(String)
        case newPerson(String, age: Int, team: RowNumber?)
        case age(RowNumber, Int)
        case name(RowNumber, String)
        case move(RowNumber, team: RowNumber)
        case remove(RowNumber)
    }

    private let steps: [Step]

    private init(_ steps: [Step]) { self.steps = steps }

    static func newTeam(named name: String) -> TeamChange { TeamChange([.newTeam(name)]) }

    static func newPeople(_ count: Int, named name: String) -> TeamChange {
        TeamChange((0..<count).map { .newPerson("\($0) \(name)", age: $0, team: nil) })
    }

    init(of snapshot: Snapshot, using random: inout SeededGenerator) {
        let (teams, people) = (Self.rows(of: 0, snapshot), Self.rows(of: 1, snapshot))
        var steps: [Step] = []
        // Most fit into one sector or two; some take six.
        let letters = [8, 8, 40, 40, 100, 300, 700, 2_500].randomElement(using: &random) ?? 8
        let text = String(repeating: "n", count: letters) + "\(random.next() % 1_000)"
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: steps.append(.newTeam(text))
        case 2: if let row = people.randomElement(using: &random) { steps.append(.age(row, Int(random.next() % 99))) }
        case 3: if let row = people.randomElement(using: &random) { steps.append(.name(row, text)) }
        case 4: if people.count > 6, let row = people.randomElement(using: &random) { steps.append(.remove(row)) }
        case 5:
            if let row = people.randomElement(using: &random), let team = teams.randomElement(using: &random) {
                steps.append(.move(row, team: team))
            }
        default: break
        }
        // Each commit changes something.
        steps.append(
            .newPerson(text, age: Int(random.next() % 99), team: teams.randomElement(using: &random)))
        self.steps = steps
    }

    private static func rows(of entity: Int, _ snapshot: Snapshot) -> [RowNumber] {
        var rows: [RowNumber] = []
        snapshot.entities[entity].rows.forEachRow { row, _, _ in rows.append(row) }
        return rows
    }

    func apply(to work: inout WorkingState, _ counters: inout [RowNumber]) {
        for step in steps {
            switch step {
            case .newTeam(let name):
                work.insert(Self.next(0, &counters), Team(name: name))
            case .newPerson(let name, let age, let team):
                let row = Self.next(1, &counters)
                work.insert(
                    row, Person(name: name, email: "\(row)", age: age, team: ToOne(team.map { PersistentID(row: $0) })))
            case .age(let row, let age): work.change(Person.self, row) { $0.age = age }
            case .name(let row, let name): work.change(Person.self, row) { $0.name = name }
            case .move(let row, let team):
                work.change(Person.self, row) { $0.team = ToOne(PersistentID(row: team)) }
            case .remove(let row): work.delete(Person.self, row)
            }
        }
    }

    /// The same by a context.
    func apply(in context: isolated Context) throws {
        for step in steps {
            switch step {
            case .newTeam(let name): context.insert(Team(name: name))
            case .newPerson(let name, let age, let team):
                let person = context.insert(
                    Person(name: name, age: age, team: ToOne(team.map { PersistentID(row: $0) })))
                person.email = "\(person.id.row)"
            case .age(let row, let age): try context.object(for: PersistentID<Person>(row: row)).age = age
            case .name(let row, let name): try context.object(for: PersistentID<Person>(row: row)).name = name
            case .move(let row, let team):
                try context.object(for: PersistentID<Person>(row: row)).team = try context.object(
                    for: PersistentID<Team>(row: team))
            case .remove(let row): context.delete(try context.object(for: PersistentID<Person>(row: row)))
            }
        }
    }

    private static func next(_ entity: Int, _ counters: inout [RowNumber]) -> RowNumber {
        defer { counters[entity] += 1 }
        return counters[entity]
    }
}

extension Snapshot {
    /// Of the number of the commit and all rows, with their versions and all that is stored of them.
    var digest: UInt64 {
        var writer = ByteWriter(capacity: 1_024)
        writer.appendFixed(commit.number)
        for (entity, description) in schema.entities.enumerated() {
            entities[entity].rows.forEachRow { row, version, address in
                writer.appendFixed(row)
                writer.appendFixed(version.number)
                for property in description.properties where property.isStored {
                    // Only values of programs' own types can fail to be encoded.
                    try! property.operations.encode(address + property.offset, &writer)
                }
            }
        }
        return writer.bytes.withUnsafeBytes { XXH64.hash($0) }
    }
}
