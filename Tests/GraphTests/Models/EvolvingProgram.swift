@testable import Graph

/// A store that seven versions of a program have one after another, forty steps long: saves, openings with the same version, the
/// next ones and older ones, compactions and copies, of which each may be cut off by a power cut or a full disk. All is chosen
/// by the seed, and compared with a model after each step.
struct EvolvingProgram {
    private var disk = SimulatedDisk()
    private var path = "/data/store.graph"
    private var copies = 0
    private var version = 0
    private var coordinator: Coordinator?
    /// What the store has; versions are those that were read last.
    private var state = EvolvingState()
    private var random: SeededGenerator
    /// The versions that the file has had. Others do not count as older.
    private var had: Set<Int> = []
    /// Whether the last interrupted step was interrupted after its end.
    private var isComplete = false
    private var isbns = 0
    private(set) var counts: [String: Int] = [:]

    static func failure(seed: UInt64) async -> String? {
        var program = EvolvingProgram(seed: seed)
        do {
            try await program.run()
            return nil
        } catch {
            return "GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter EvolvingProgramTests\n\(error)"
        }
    }

    /// How often each kind of step came to what.
    static func counts(seed: UInt64) async throws -> [String: Int] {
        var program = EvolvingProgram(seed: seed)
        try await program.run()
        return program.counts
    }

    private init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    private var definition: EvolvingVersion { Evolving.versions[version] }

    /// A version so many after the file's, or the newest one.
    private func later(by count: Int) -> Int { min(version + count, Evolving.versions.count - 1) }

    private mutating func run() async throws {
        try await open()
        for number in 0..<40 {
            let step = Step.random(&random)
            do {
                try await take(step)
            } catch {
                throw StoreProgramRun.Mismatch(description: "step \(number), \(step), V\(version + 1): \(error)")
            }
        }
        try await coordinator?.close()
    }

    private enum Step: CaseIterable {
        case save
        case reopen
        case evolve
        case compact
        case copy
        case openOlder
        case read

        static func random(_ random: inout SeededGenerator) -> Step {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9: .save
            case 9, 10: .reopen
            case 11..<14: .evolve
            case 14, 15: .compact
            case 16: .copy
            case 17: .openOlder
            default: .read
            }
        }
    }

    private mutating func take(_ step: Step) async throws {
        switch step {
        case .save: try await save()
        case .reopen:
            try await close()
            try await open()
        case .evolve: try await evolve()
        case .compact: try await compact()
        case .copy: try await copy()
        case .openOlder: try await openOlder()
        case .read: try await read()
        }
    }

    private mutating func count(_ what: String) { counts[what, default: 0] += 1 }

    // MARK: Opening

    private func opened(
        _ version: Int, on disk: SimulatedDisk, readOnly: Bool = false, seed: UInt64 = 1
    ) async throws(GraphError) -> Coordinator {
        let definition = Evolving.versions[version]
        return try await Coordinator(
            try definition.schema(), path: path, fileSystem: disk, options: JournalFixture.options(seed: seed),
            readOnly: readOnly, compaction: .manual, migration: definition.plan)
    }

    private mutating func open() async throws {
        let coordinator = try await opened(version, on: disk, seed: random.next())
        self.coordinator = coordinator
        had.insert(version)
        try compare(coordinator.snapshot, with: state, version)
    }

    private mutating func close() async throws {
        try await coordinator?.close()
        coordinator = nil
    }

    /// Compares what a version sees with what is to be there, with versions and commits if they were read.
    private mutating func compare(_ snapshot: Snapshot, with expected: EvolvingState, _ version: Int) throws {
        let findings = snapshot.checkByHand()
        try demand(findings.isEmpty) { "check: \(findings)" }
        var found = try Evolving.versions[version].read(snapshot)
        try demand(found.hasSameContents(as: expected)) { "the store has \(found), not \(expected)" }
        try demand(expected.versions.isEmpty || found.versions == expected.versions) {
            "versions are \(found.versions), not \(expected.versions)"
        }
        try demand(found.commit >= expected.commit) { "commit \(found.commit) after \(expected.commit)" }
        (found.nextAuthor, found.nextBook) = (expected.nextAuthor, expected.nextBook)
        state = found
    }

    // MARK: Crashes

    /// What may interrupt a step.
    private enum Interruption {
        case none
        /// A power cut after one of its operations.
        case powerCut
        /// An operation fails, and all from it on; then the process is killed.
        case fault
    }

    private mutating func interruption() -> Interruption {
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: .powerCut
        case 2: .fault
        default: .none
        }
    }

    /// Does something that a power cut or a fault may interrupt, in which case a new program finds what is left of it.
    ///
    /// - Returns: whether it was interrupted. Then no coordinator is open.
    private mutating func interrupting(
        _ body: (inout EvolvingProgram) async throws -> Void
    ) async throws -> Bool {
        isComplete = false
        switch interruption() {
        case .none:
            try await body(&self)
            return false
        case .powerCut:
            disk.startRecording()
            let start = disk.moments.count
            try await body(&self)
            let moments = disk.moments[start...]
            guard let number = moments.indices.randomElement(using: &random) else { return false }
            let moment = moments[number]
            isComplete = number == moments.endIndex - 1
            let mask = [0, .max, random.next()].randomElement(using: &random) ?? 0
            let nameMask = random.next()
            let (fill, keepsLength) = (Medium.Fill.allCases.randomElement(using: &random) ?? .old, random.chance(2))
            try await abandon()
            let cut = PowerCut(mask: mask, fill: fill, keepsLength: keepsLength, nameMask: nameMask)
            disk = SimulatedDisk(cut.remains(of: moment.medium))
            return true
        case .fault:
            let skipped = Int.random(in: 0..<40, using: &random)
            disk.failForEver(from: disk.operationCount + skipped, with: .error(.diskFull, 28))
            do {
                try await body(&self)
            } catch let error as GraphError {
                if case .inconsistent = error { throw error }
                count("fault")
            }
            disk.stopFailing()
            disk.killProcess()
            try await abandon()
            disk = SimulatedDisk(disk.medium)
            return true
        }
    }

    /// The process ends without closing the store.
    private mutating func abandon() async throws {
        // What it does in the end goes to a disk that nobody looks at any more.
        disk.killProcess()
        try? await coordinator?.close()
        coordinator = nil
    }

    /// Opens what an interruption has left, with a version that may open it: one of the two states is there.
    private mutating func recover(
        _ before: EvolvingState, or after: EvolvingState, with version: Int, _ what: String
    ) async throws {
        let opened = try await opened(version, on: disk, seed: random.next())
        coordinator = opened
        var (old, new) = (before, after)
        old.evolve(from: self.version, to: version)
        new.evolve(from: self.version, to: version)
        let found = try Evolving.versions[version].read(opened.snapshot)
        self.version = version
        had.insert(version)
        if found.hasSameContents(as: new) {
            count("\(what) kept")
            try compare(opened.snapshot, with: new, version)
        } else {
            count("\(what) lost")
            try demand(!isComplete) { "what was confirmed is lost: \(found), not \(new)" }
            // Numbers that were handed out may come again, as nobody has seen them.
            try compare(opened.snapshot, with: old, version)
            let entities = opened.snapshot.schema.entities.map(\.name)
            let counters = await opened.usedCounters
            for (name, next) in zip(entities, counters) {
                if name == "Book" { state.nextBook = next }
                if ["Author", "Writer"].contains(name) { state.nextAuthor = next }
            }
        }
    }

    // MARK: Steps

    private mutating func save() async throws {
        let before = state
        var after = state
        var changes: [EvolvingChange] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let change = randomChange()
            changes.append(change)
            after.apply(change, definition, choosingFrom: before)
        }
        after.versions = [:]
        let expected = after
        let isInterrupted = try await interrupting { [changes] program in
            guard let coordinator = program.coordinator else { return }
            let (definition, start) = (program.definition, before)
            try await Context(coordinator).transaction { context in
                for change in changes { try definition.perform(context, change, start) }
            }
        }
        guard isInterrupted else {
            guard let coordinator else { return }
            return try compare(coordinator.snapshot, with: expected, version)
        }
        let next = random.chance(4) ? later(by: 1) : version
        try await recover(before, or: expected, with: next, "save")
    }

    private mutating func randomChange() -> EvolvingChange {
        func number() -> Int { Int.random(in: 0..<60, using: &random) }
        switch number() % 10 {
        case 0, 1: return .insertAuthor(name: "author \(number())")
        case 2, 3, 4:
            isbns += 1
            return .insertBook(title: "book \(number() % 5)", isbn: isbns, author: number() % 4 == 0 ? nil : number())
        case 5: return .rename(author: number(), name: "author \(number())")
        case 6: return .retitle(book: number(), title: "book \(number() % 5)")
        case 7: return random.chance(2) ? .promote(book: number()) : .move(book: number(), author: number())
        case 8: return .move(book: number(), author: number() % 4 == 0 ? nil : number())
        default: return random.chance(3) ? .deleteAuthor(number()) : .deleteBook(number())
        }
    }

    private mutating func evolve() async throws {
        guard version < Evolving.versions.count - 1 else { return }
        let next = later(by: Int.random(in: 1...2, using: &random))
        let (before, old) = (state, version)
        var expected = state
        expected.evolve(from: old, to: next)
        try await close()
        let isInterrupted = try await interrupting { [expected] program in
            let coordinator = try await program.opened(next, on: program.disk, seed: program.random.next())
            program.coordinator = coordinator
            program.version = next
            try program.compare(coordinator.snapshot, with: expected, next)
        }
        guard isInterrupted else {
            version = next
            had.insert(next)
            return count("evolved")
        }
        // The version before may go on with the file if it is still its own.
        (state, version) = (before, old)
        if random.chance(2) {
            do throws(GraphError) {
                let coordinator = try await opened(old, on: disk, seed: random.next())
                self.coordinator = coordinator
                count("evolution lost")
                if isComplete { throw GraphError.unusableFile(path: path, reason: "V\(old + 1) opened it again") }
            } catch {
                guard case .schemaMismatch = error else { throw error }
                count("evolution kept")
            }
        }
        // If it is lost, this opening does it.
        guard let coordinator else { return try await recover(before, or: before, with: next, "evolution") }
        try compare(coordinator.snapshot, with: before, old)
    }

    private mutating func compact() async throws {
        let before = state
        let isInterrupted = try await interrupting { program in try await program.coordinator?.compact() }
        guard isInterrupted else {
            guard let coordinator else { return }
            return try compare(coordinator.snapshot, with: before, version)
        }
        let next = random.chance(3) ? later(by: 1) : version
        try await recover(before, or: before, with: next, "compaction")
    }

    /// Of what a copy is made.
    private enum CopySource: CaseIterable {
        case store
        case fork
        /// A sound one.
        case file
    }

    /// Goes on with a copy, under another name.
    private mutating func copy() async throws {
        let before = state
        copies += 1
        let name = "/data/copy\(copies).graph"
        let source = CopySource.allCases.randomElement(using: &random) ?? .store
        if source == .file { try await close() }
        let isInterrupted = try await interrupting { program in
            let options = JournalFixture.options(seed: program.random.next())
            guard let coordinator = program.coordinator else {
                let salvage = try await StoreSalvage(of: program.path, to: name, program.disk, options)
                return try demand(salvage.losses.isEmpty) { "a sound file lost \(salvage.losses)" }
            }
            let store = source == .fork ? try await coordinator.fork(at: coordinator.snapshot.token) : coordinator
            try await store.copy(to: name, program.disk, options)
        }
        if !isInterrupted { try await close() }
        let isThere = disk.names.contains(name)
        try demand(isThere || !(isComplete || !isInterrupted)) { "there is no copy" }
        if isThere { path = name }
        count(path == name ? "copied \(source)" : "no copy")
        let next = random.chance(3) ? later(by: 1) : version
        try await recover(before, or: before, with: next, "copy")
    }

    /// An older program is refused, and leaves the file alone.
    private mutating func openOlder() async throws {
        guard let older = had.filter({ $0 < version }).sorted().randomElement(using: &random) else { return }
        try await close()
        let (bytes, names) = (disk.contents(path), disk.names)
        do throws(GraphError) {
            try await opened(older, on: disk, seed: random.next()).close()
            throw GraphError.unusableFile(path: path, reason: "V\(older + 1) opened a file of V\(version + 1)")
        } catch {
            guard case .schemaMismatch = error else { throw error }
        }
        count("older refused")
        try demand(disk.contents(path) == bytes && disk.names == names) { "an older version has changed something" }
        try await open()
    }

    /// Another program only reads, perhaps one of a later version.
    private mutating func read() async throws {
        let reading = later(by: Int.random(in: 0..<Evolving.versions.count, using: &random))
        let bytes = disk.contents(path)
        let reader = try await opened(reading, on: disk, readOnly: true)
        var expected = state
        expected.evolve(from: version, to: reading)
        let found = try Evolving.versions[reading].read(reader.snapshot)
        try demand(found.hasSameContents(as: expected)) { "read as V\(reading + 1): \(found), not \(expected)" }
        try demand(reader.check().isEmpty) { "read as V\(reading + 1): \(reader.check())" }
        try demand(disk.contents(path) == bytes) { "what only reads has written" }
        count("read")
    }
}
