import Testing

@testable import Graph

/// The state at a commit as payloads, and what becomes of payloads that nobody vouches for.
struct CheckpointTests {
    enum Model: CaseIterable {
        case albums
        case school

        func state(seed: UInt64) throws -> (snapshot: Snapshot, counters: [RowNumber]) {
            switch self {
            case .albums:
                var (store, random) = (try RecordedStore(), SeededGenerator(seed: seed))
                for _ in 0..<(1 + seed % 6) { try store.commitRandomly(&random) }
                return (store.state.head, store.counters)
            case .school:
                let store = try StoreReplayHostileTests.school().store
                return (store.state.head, store.counters)
            }
        }
    }

    private static func payloads(of state: (snapshot: Snapshot, counters: [RowNumber])) throws -> [[UInt8]] {
        var writer = CheckpointWriter(
            state.snapshot, SchemaRecord(state.snapshot.schema), counters: state.counters, time: 5)
        var payloads: [[UInt8]] = []
        while let payload = try writer.next() { payloads.append(payload) }
        return payloads
    }

    /// What a replay makes of payloads, its indexes included.
    private static func replay(
        _ payloads: [[UInt8]],
        of snapshot: Snapshot,
        keepsIndexes: Bool = false,
        baseCommit: CommitNumber? = nil,
        finishes: Bool = true
    ) throws(GraphError) -> StoreReplay {
        var replay = StoreReplay(schema: snapshot.schema, path: "store", keepsIndexes: keepsIndexes)
        let records = payloads.map { (Journal.RecordKind.snapshotChunk, $0) } + [(.snapshotEnd, [])]
        for (kind, payload) in records {
            // The compiler does not yet pass a closure's error type through `withUnsafeBytes`.
            let result = payload.withUnsafeBytes { buffer in
                Result { () throws(GraphError) in
                    try replay.apply(
                        JournalEntry(
                            kind: kind, sequence: JournalSequence(2), offset: 64,
                            baseCommit: baseCommit ?? snapshot.commit,
                            payload: buffer))
                }
            }
            try result.get()
        }
        if finishes { _ = try replay.finish() }
        return replay
    }

    /// Whether two states have the same rows, versions and links.
    private static func isSame(_ lhs: Snapshot, _ rhs: Snapshot) -> Bool {
        guard lhs.commit == rhs.commit else { return false }
        for (entity, description) in lhs.schema.entities.enumerated() {
            let (ours, theirs) = (lhs.entities[entity].rows, rhs.entities[entity].rows)
            guard ours.rowNumbers == theirs.rowNumbers else { return false }
            for row in ours.rowNumbers {
                guard ours.version(of: row) == theirs.version(of: row), let left = ours.address(of: row),
                    let right = theirs.address(of: row), description.areIdentical(left, right)
                else { return false }
            }
        }
        return zip(lhs.linkTables, rhs.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }

    @Test(arguments: Model.allCases, [false, true])
    func `a checkpoint has all rows, versions, links, orders and counters`(model: Model, keepsIndexes: Bool) throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let state = try model.state(seed: seed)
            let replay = try Self.replay(
                try Self.payloads(of: state), of: state.snapshot, keepsIndexes: keepsIndexes)
            #expect(Self.isSame(replay.snapshot, state.snapshot))
            #expect(replay.counters == state.counters && replay.snapshot.check() == [])
        }
    }

    @Test func `a long checkpoint has many payloads, and rows far from each other`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var work = WorkingState(base: Snapshot(schema: schema))
        for row in 1...20_000 as ClosedRange<RowNumber> {
            work.insert(row * row, Person(name: String(repeating: "n", count: Int(row % 50)), age: Int(row)))
        }
        var state = CommitState(head: Snapshot(schema: schema))
        let commit = try state.prepare(work)
        state.accept(commit)
        let counters: [RowNumber] = [1, 1 << 40]
        let payloads = try Self.payloads(of: (state.head, counters))
        #expect(payloads.count > 3 && payloads.allSatisfy { $0.count < 300 << 10 })
        let replay = try Self.replay(payloads, of: state.head)
        #expect(Self.isSame(replay.snapshot, state.head) && replay.counters == counters)
    }

    @Test func `rows of a leaf that are too long for one block are divided`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var state = CommitState(head: Snapshot(schema: schema))
        var work = WorkingState(base: state.head)
        for row in 1...6 as ClosedRange<RowNumber> {
            work.insert(row, Person(name: String(repeating: "\(row)", count: 12 << 20)))
        }
        state.accept(try state.prepare(work))
        let payloads = try Self.payloads(of: (state.head, [1, 100]))
        #expect(payloads.allSatisfy { $0.count < 64 << 20 })
        #expect(Self.isSame(try Self.replay(payloads, of: state.head).snapshot, state.head))
    }

    @Test func `an empty store has a checkpoint`() throws {
        let snapshot = Snapshot(schema: try .albums())
        let payloads = try Self.payloads(of: (snapshot, [7, 7, 7, 7, 7]))
        #expect(payloads.count == 1)
        #expect(try Self.replay(payloads, of: snapshot).counters == [7, 7, 7, 7, 7])
    }

    // MARK: What nobody vouches for

    @Test(arguments: Model.allCases)
    func `payloads that are missing, doubled or out of place are refused`(model: Model) throws {
        let state = try model.state(seed: 6)
        let payloads = try Self.payloads(of: state)
        for place in payloads.indices where !Self.hasEntries(payloads[place]) {
            var fewer = payloads
            fewer.remove(at: place)
            #expect(throws: GraphError.self) { try Self.replay(fewer, of: state.snapshot) }
            for keepsIndexes in [false, true] {
                #expect(throws: GraphError.self) {
                    try Self.replay(payloads + [payloads[place]], of: state.snapshot, keepsIndexes: keepsIndexes)
                }
            }
        }
        #expect(throws: GraphError.self) { try Self.replay(payloads.reversed(), of: state.snapshot) }
        #expect(throws: GraphError.self) { try Self.replay(payloads, of: state.snapshot, baseCommit: CommitNumber(77)) }
    }

    // MARK: Entries of indexes

    /// Whether a payload has entries of an index.
    private static func hasEntries(_ payload: [UInt8]) -> Bool { payload[0] == 3 }

    /// How many indexes come from the payloads' entries and not from the rows.
    private static func takenIndexes(_ payloads: [[UInt8]], of snapshot: Snapshot) throws -> Int {
        let replay = try replay(payloads, of: snapshot, finishes: false)
        return snapshot.schema.entities.enumerated().reduce(0) { sum, entity in
            sum
                + entity.element.indexes.indices.count {
                    replay.indexBase?.index($0, of: entity.offset, in: replay.snapshot) != nil
                }
        }
    }

    @Test(arguments: Model.allCases) func `indexes come from the entries, and without these from the rows`(model: Model)
        throws
    {
        let state = try model.state(seed: 4)
        let payloads = try Self.payloads(of: state)
        let filled = state.snapshot.entities.flatMap(\.indexes).count { !$0.isEmpty }
        #expect(filled > 2 && payloads.count(where: Self.hasEntries) == filled)
        #expect(try Self.takenIndexes(payloads, of: state.snapshot) == filled)
        for place in payloads.indices where Self.hasEntries(payloads[place]) {
            var (fewer, twice, other) = (payloads, payloads, payloads)
            fewer.remove(at: place)
            twice.append(payloads[place])
            // Keys that are encoded in another way.
            other[place][1] = 2
            for payloads in [fewer, twice, other] {
                #expect(try Self.takenIndexes(payloads, of: state.snapshot) == filled - 1)
                let replay = try Self.replay(payloads, of: state.snapshot)
                #expect(Self.isSame(replay.snapshot, state.snapshot) && replay.snapshot.check() == [])
            }
        }
    }

    /// Entries of an index as the file has them.
    private static func payload(_ entries: [[UInt8]], after payload: [UInt8]) -> [UInt8] {
        // The part, how keys are encoded, the entity, and the properties.
        var (writer, coding) = (ByteWriter(), FrontCodedEntries())
        writer.append(contentsOf: Array(payload.prefix(4 + Int(payload[3]))))
        for entry in entries { entry.withUnsafeBytes { coding.append($0, to: &writer) } }
        return writer.bytes
    }

    @Test func `entries that are not the rows' are of no effect`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var state = CommitState(head: Snapshot(schema: schema))
        var work = WorkingState(base: state.head)
        for row in 1...40 as ClosedRange<RowNumber> {
            work.insert(row, Person(name: "a", email: "\(row)@b", age: Int(row % 7)))
        }
        state.accept(try state.prepare(work))
        let payloads = try Self.payloads(of: (state.head, [1, 100]))
        let places = payloads.indices.filter { Self.hasEntries(payloads[$0]) }
        try #require(!places.isEmpty)
        let filled = try Self.takenIndexes(payloads, of: state.head)
        var random = SeededGenerator(seed: 9)
        for place in places {
            let index = try #require(
                state.head.entities[1].indexes.first { index in
                    var entries: [[UInt8]] = []
                    index.forEachEntry {
                        entries.append(Array($0))
                        return true
                    }
                    return !entries.isEmpty && Self.payload(entries, after: payloads[place]) == payloads[place]
                })
            var entries: [[UInt8]] = []
            index.forEachEntry {
                entries.append(Array($0))
                return true
            }
            for _ in 0..<60 {
                var changed = entries
                let (first, second) = (
                    Int.random(in: 0..<entries.count, using: &random), Int.random(in: 0..<entries.count, using: &random)
                )
                switch Int.random(in: 0..<4, using: &random) {
                case 0: changed.remove(at: first)
                case 1: changed.swapAt(first, second)
                case 2:
                    // Two rows change their keys, and the order is right.
                    guard changed[first].dropLast(8) != changed[second].dropLast(8) else { continue }
                    let rows = (changed[first].suffix(8), changed[second].suffix(8))
                    changed[first].replaceSubrange((changed[first].count - 8)..., with: rows.1)
                    changed[second].replaceSubrange((changed[second].count - 8)..., with: rows.0)
                    changed.sort { $0.lexicographicallyPrecedes($1) }
                default:
                    changed[first].insert(0x41, at: 0)
                    changed.sort { $0.lexicographicallyPrecedes($1) }
                }
                guard changed != entries else { continue }
                var forged = payloads
                forged[place] = Self.payload(changed, after: payloads[place])
                #expect(try Self.takenIndexes(forged, of: state.head) == filled - 1)
                let replay = try Self.replay(forged, of: state.head)
                #expect(Self.isSame(replay.snapshot, state.head) && replay.snapshot.check() == [])
            }
        }
    }

    fileprivate struct Doubled: Entity {
        var number: Int
        static let schema = EntitySchema<Doubled>("Doubled") {
            $0.attribute("number", \.number, indexed: true)
            $0.index("number")
        }
    }

    @Test func `very long keys are not in the file`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var state = CommitState(head: Snapshot(schema: schema))
        var work = WorkingState(base: state.head)
        for row in 1...9 as ClosedRange<RowNumber> {
            let email = String(repeating: row == 5 ? "\0" : "b", count: 600 << 10) + "\(row)"
            work.insert(row, Person(name: "a", email: email))
        }
        state.accept(try state.prepare(work))
        let payloads = try Self.payloads(of: (state.head, [1, 100]))
        // A zero takes two bytes in a key.
        #expect(payloads.filter(Self.hasEntries).allSatisfy { $0.count < 2 << 20 })
        #expect(try Self.takenIndexes(payloads, of: state.head) == 1)
        let replay = try Self.replay(payloads, of: state.head)
        #expect(Self.isSame(replay.snapshot, state.head) && replay.snapshot.check() == [])
    }

    @Test func `an index that is declared twice is there once`() throws {
        let schema = try Schema([EntityDescription(Doubled.self)])
        var state = CommitState(head: Snapshot(schema: schema))
        var work = WorkingState(base: state.head)
        for row in 1...9 as ClosedRange<RowNumber> { work.insert(row, Doubled(number: Int(row % 3))) }
        state.accept(try state.prepare(work))
        let payloads = try Self.payloads(of: (state.head, [100]))
        #expect(payloads.count(where: Self.hasEntries) == 1)
        #expect(try Self.takenIndexes(payloads, of: state.head) == 1)
        let replay = try Self.replay(payloads, of: state.head)
        #expect(Self.isSame(replay.snapshot, state.head) && replay.snapshot.check() == [])
    }

    /// Whatever a file says of the rows behind the checkpoint, also that one came back in the same version.
    @Test func `an index follows rows that change, go, come, and come back`() throws {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        var state = CommitState(head: Snapshot(schema: schema))
        var work = WorkingState(base: state.head)
        for row in 1...300 as ClosedRange<RowNumber> { work.insert(row, Person(name: "a", email: "\(row)", age: 5)) }
        state.accept(try state.prepare(work))
        let start = state.head
        var (random, followedCount) = (SeededGenerator(seed: 4), 0)
        for _ in 0..<40 {
            var (later, scratch, changed) = (start, EntryScratch(), [RowID]())
            for _ in 0..<Int.random(in: 0..<120, using: &random) {
                let row = RowNumber.random(in: 1...400, using: &random)
                let (id, version) = (RowID(entity: 1, row: row), start.version(of: RowID(entity: 1, row: row)))
                changed.append(id)
                guard Bool.random(using: &random) else {
                    _ = later.remove(id, scratch: &scratch)
                    continue
                }
                let age = Int.random(in: 0..<9, using: &random)
                var person = Person(name: "a", email: Bool.random(using: &random) ? "\(row)" : nil, age: age)
                withUnsafePointer(to: &person) {
                    _ = later.set(id, version: version ?? RowVersion(1), copying: $0, scratch: &scratch)
                }
            }
            for (number, index) in start.entities[1].indexes.enumerated() {
                var (coding, writer) = (FrontCodedEntries(), ByteWriter())
                index.forEachEntry {
                    coding.append($0, to: &writer)
                    return true
                }
                let place = StoredIndex.Place(entity: 1, number: number)
                var base = IndexBase(start, [place: StoredIndex(pieces: [writer.bytes])])
                for id in changed { base.noteChange(of: id) }
                guard let followed = base.index(number, of: 1, in: later) else {
                    #expect(Set(changed).count > 64)
                    continue
                }
                followedCount += 1
                var entries: [[[UInt8]]] = [[], []]
                for (place, index) in [followed.index, later.entities[1].indexes[number]].enumerated() {
                    index.forEachEntry {
                        entries[place].append(Array($0))
                        return true
                    }
                }
                #expect(entries[0] == entries[1])
            }
        }
        #expect((30..<110).contains(followedCount), "\(followedCount)")
    }

    @Test func `entries in few bytes are read as they were, and others never twice as one`() throws {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<200 {
            let keys = Set(
                (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                    (0..<Int.random(in: 0..<6, using: &random)).map { _ in UInt8.random(in: 0..<3, using: &random) }
                })
            let entries = keys.flatMap { key in
                (0..<Int.random(in: 1..<4, using: &random)).map { row in
                    key
                        + withUnsafeBytes(
                            of: UInt64(row << Int.random(in: 0..<2, using: &random)).bigEndian, Array.init)
                }
            }
            let sorted = Set(entries).sorted { $0.lexicographicallyPrecedes($1) }
            var (writer, coding, read) = (ByteWriter(), FrontCodedEntries(), [[UInt8]]())
            for entry in sorted { entry.withUnsafeBytes { coding.append($0, to: &writer) } }
            coding = FrontCodedEntries()
            try writer.bytes.withUnsafeBytes { bytes in
                var reader = ByteReader(bytes)
                while reader.remaining > 0 {
                    let repeats = try coding.read(&reader)
                    #expect(repeats == (read.last?.dropLast(8) == coding.entry.dropLast(8)))
                    read.append(coding.entry)
                }
            }
            #expect(read == sorted)
        }
        // "a" with a length of its own, though it shares that byte with the one before.
        let forged: [UInt8] = [0, 1, 97, 1, 0, 1, 97, 2]
        forged.withUnsafeBytes { bytes in
            var (reader, coding) = (ByteReader(bytes), FrontCodedEntries())
            #expect(throws: Never.self) { try coding.read(&reader) }
            #expect(throws: ByteReader.Failure.self) { try coding.read(&reader) }
        }
    }

    // MARK: Orders

    /// Of an order, the places and the references must be the same: none may be missing on either side, also where both sides have
    /// as many.
    @Test(arguments: [false, true])
    func `an order with other members than the references is refused`(keepsIndexes: Bool) throws {
        let state = try Model.school.state(seed: 1)
        let schema = state.snapshot.schema
        var changed = 0
        for list in schema.linkTables.indices where schema.linkTables[list].toOne != nil {
            var pairs: [LinkTable.Link] = []
            state.snapshot.linkTables[list].members.forEachEntry { entry in
                pairs.append(LinkTable.Link(entry))
                return true
            }
            let owners = state.snapshot.entities[schema.linkTables[list].entity].rows.rowNumbers
            for pair in pairs {
                for owner in [nil] + owners.filter({ $0 != pair.owner }) {
                    for keepsPlace in owner == nil ? [false] : [false, true] {
                        var snapshot = state.snapshot
                        if let owner { snapshot.linkTables[list].insert(pair.member, of: owner, key: pair.key) }
                        if !keepsPlace { snapshot.linkTables[list].remove(pair.member, of: pair.owner) }
                        let payloads = try Self.payloads(of: (snapshot, state.counters))
                        #expect(throws: GraphError.self) {
                            try Self.replay(payloads, of: snapshot, keepsIndexes: keepsIndexes)
                        }
                        changed += 1
                    }
                }
            }
        }
        #expect(changed >= 9)
    }

    /// Every byte takes other values, and each part of a payload goes missing: a replay refuses the payload, or comes out with
    /// a state that keeps every rule. With and without indexes it decides the same.
    @Test(arguments: Model.allCases)
    func `a payload with other bytes is refused, or leads to a sound state`(model: Model) throws {
        let state = try model.state(seed: 5)
        let payloads = try Self.payloads(of: state)
        var random = SeededGenerator(seed: 3)
        var (refused, taken) = (0, 0)
        func check(_ changed: [[UInt8]], _ comment: @autoclosure () -> String) {
            let results = [false, true].map { keepsIndexes in
                Result { () throws(GraphError) in
                    try Self.replay(changed, of: state.snapshot, keepsIndexes: keepsIndexes)
                }
            }
            switch (results[0], results[1]) {
            case (.success(let replay), .success(let other)):
                taken += 1
                let findings = replay.snapshot.check() + other.snapshot.check()
                #expect(findings == [] && Self.isSame(replay.snapshot, other.snapshot), "\(comment())")
            case (.failure(let error), .failure):
                refused += 1
                #expect("\(error)".count < 2_000)
            default:
                Issue.record("\(comment()): \(results)")
            }
        }
        for (number, payload) in payloads.enumerated() {
            for place in payload.indices where Sweep.tries(place) {
                for _ in 0..<6 {
                    var changed = payloads
                    changed[number][place] = UInt8.random(in: .min ... .max, using: &random)
                    check(changed, "payload \(number), byte \(place) is \(changed[number][place])")
                }
                var changed = payloads
                changed[number].removeSubrange(place...)
                check(changed, "payload \(number) ends at \(place)")
            }
        }
        #expect(
            refused > Sweep.least(1_000) && taken >= Sweep.least(20), "\(refused) refused, \(taken) taken")
    }
}
