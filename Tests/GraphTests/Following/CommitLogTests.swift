import Synchronization
import Testing

@testable import Graph

/// Programs that save to one log, each with a copy of the store.
struct CommitLogTests {
    @Entity fileprivate struct Item {
        @Unique var code: Int
        var label = ""
        var count = 0
        @Relationship(inverse: \Part.item) var parts: ToMany<Part> = []

        func validate() throws { Self.validated.withLock { $0.append(code) } }

        /// The codes of items that were validated, by any test.
        static let validated = Mutex([Int]())
    }

    @Entity fileprivate struct Part {
        var name: String
        var item: ToOne<Item> = nil
    }

    private static let path = "/data/items.graph"

    /// A store that others copy, and the log behind it.
    private struct Shared {
        let origin: Coordinator
        let log: SimulatedLog

        init(_ codes: Int...) async throws {
            origin = try await Coordinator(for: Item.self, Part.self)
            for code in codes { try await origin.transaction { _ = $0.insert(Item(code: code)) } }
            log = SimulatedLog(seed: 1, start: UInt64(codes.count))
        }

        /// One more program, with its copy in memory.
        func writer(_ log: (any CommitLog)? = nil) async throws -> Coordinator {
            let state = origin.snapshot
            return try await Coordinator(
                state.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
                initial: (state, await origin.usedCounters, origin.storeID),
                log: log ?? self.log.connection(0), clock: StepClock())
        }
    }

    private static func open(_ disk: SimulatedDisk, _ log: any CommitLog) async throws -> Coordinator {
        try await Coordinator(
            Schema([EntityDescription(Item.self), EntityDescription(Part.self)]), path: path, fileSystem: disk,
            options: JournalFixture.options(), log: log)
    }

    private func codes(_ coordinator: Coordinator) throws -> [Int] {
        try coordinator.snapshot.fetchValues(Item.self, sortedBy: [.ascending(\.code)]).map(\.code)
    }

    // MARK: One store

    @Test func `what one program saves, the others have, and no identifiers are the same`() async throws {
        let shared = try await Shared(1)
        let writers = [try await shared.writer(), try await shared.writer(), try await shared.writer()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, writer) in writers.enumerated() {
                for code in 0..<20 {
                    group.addTask {
                        try await writer.transaction(author: "\(number)") { context in
                            let item = context.insert(Item(code: 100 * (number + 1) + code))
                            for name in ["a", "b"] { item.parts.insert(context.insert(Part(name: name))) }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for writer in writers { try await writer.catchUp() }
        let expected = [1] + (1...3).flatMap { number in (0..<20).map { 100 * number + $0 } }
        for writer in writers {
            #expect(try codes(writer) == expected && writer.check() == [])
            #expect(writer.snapshot.token == writers[0].snapshot.token)
            #expect(writer.snapshot.count(of: Part.self) == 120)
        }
        // One commit for each writer, and one for each save.
        #expect(writers[0].snapshot.commit.number == 1 + 3 + 60)
        #expect(shared.log.records.count == 63)
        var authors: [String: Int] = [:]
        for try await commit in writers[1].history(since: shared.origin.snapshot.token) {
            let author = try #require(commit.origin?.author)
            authors[author.hasPrefix("writer") ? String(author.prefix(8)) : author, default: 0] += 1
        }
        #expect(authors == ["0": 20, "1": 20, "2": 20, "writer 1": 1, "writer 2": 1, "writer 3": 1])
    }

    @Test(.timeLimit(.minutes(10))) func `contexts see what others save when they refresh, and feeds show it`()
        async throws
    {
        let shared = try await Shared(1)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        try await one.catchUp()
        let context = Context(one)
        var feed = one.commits.makeAsyncIterator()
        let code = try await other.transaction(author: "other") { context in
            let item = try #require(try context.fetch(Item.self).first)
            item.label = "new"
            return item.code
        }
        // It comes by itself.
        let commit = try #require(await feed.next())
        #expect(commit.origin?.author == "other" && commit.token == other.snapshot.token)
        #expect(commit.changes(of: Item.self).map(\.after?.label) == ["new"])
        await context.refresh()
        #expect(try await context.perform { try $0.fetch(Item.self).map(\.label) } == ["new"] && code == 1)
    }

    @Test func `who was second is checked again with what the first one did`() async throws {
        let shared = try await Shared(1, 2)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        try await one.catchUp()
        let contexts = [Context(one, author: "one"), Context(other, author: "other")]
        for (number, context) in contexts.enumerated() {
            try await context.perform { context in
                for item in try context.fetch(Item.self) { item.count += 10 + number }
            }
        }
        try await contexts[0].save()
        do {
            try await contexts[1].save()
            Issue.record("two saves have changed one version")
        } catch GraphError.conflicts(let conflicts) {
            #expect(conflicts.count == 2)
            #expect(conflicts.first?.theirOrigin?.author == "one")
        } catch {
            Issue.record(error)
        }
        // What others have changed besides is merged.
        await contexts[1].rollback(to: .latest)
        try await contexts[1].perform { try $0.fetch(Item.self).first?.label = "mine" }
        await contexts[0].refresh()
        try await contexts[0].perform { try $0.fetch(Item.self).first?.count = 100 }
        try await contexts[0].save()
        try await contexts[1].save(mergePolicy: .mergeByPropertyObjectTrump)
        let item = try #require(try other.snapshot.fetchValues(Item.self, sortedBy: [.ascending(\.code)]).first)
        #expect(item.label == "mine" && item.count == 100)
        // Rules hold over all programs.
        try await one.transaction { _ = $0.insert(Item(code: 7)) }
        await #expect { try await other.transaction { _ = $0.insert(Item(code: 7)) } } throws: { error in
            if case GraphError.notUnique = error { true } else { false }
        }
    }

    @Test func `transactions that are serializable in one program are so in two`() async throws {
        let shared = try await Shared(1, 2)
        let writers = [try await shared.writer(), try await shared.writer()]
        // Each takes from its item what both have: at most one may.
        for code in 1...2 {
            try await writers[0].transaction { try $0.fetch(Item.self).first { $0.code == code }?.count = 1 }
        }
        for writer in writers { try await writer.catchUp() }
        let contexts = writers.map { Context($0, isolation: .serializable) }
        for (number, context) in contexts.enumerated() {
            try await context.perform { context in
                let items = try context.fetch(Item.self)
                if items.reduce(0, { $0 + $1.count }) == 2 { items.first { $0.code == number + 1 }?.count = 0 }
            }
        }
        try await contexts[0].save()
        await #expect(throws: GraphError.self) { try await contexts[1].save() }
        for writer in writers { try await writer.catchUp() }
        for writer in writers {
            #expect(try writer.snapshot.fetchValues(Item.self).reduce(0) { $0 + $1.count } == 1)
        }
    }

    @Test func `rules run where an object is saved, and nowhere else`() async throws {
        let shared = try await Shared(1)
        let (one, other) = (try await shared.writer(), try await shared.writer())
        try await one.catchUp()
        func validations() -> Int { Item.validated.withLock { $0.count { $0 == 4_711 } } }
        try await one.transaction { _ = $0.insert(Item(code: 4_711)) }
        let count = validations()
        #expect(count > 0)
        try await other.catchUp()
        #expect(try codes(other) == [1, 4_711] && validations() == count)
    }

    // MARK: Files

    @Test func `a copy goes on with the log wherever its file ends`() async throws {
        let first = SimulatedDisk()
        let origin = try await Coordinator(
            Schema([EntityDescription(Item.self), EntityDescription(Part.self)]), path: Self.path, fileSystem: first,
            options: JournalFixture.options())
        try await origin.transaction { _ = $0.insert(Item(code: 1)) }
        let second = SimulatedDisk()
        try await origin.copy(to: Self.path, second, JournalFixture.options(seed: 2))
        try await origin.close()

        let log = SimulatedLog(seed: 1, start: 1)
        let one = try await Self.open(first, log.connection(0))
        var other = try await Self.open(second, log.connection(1))
        for code in 2...40 { try await (code % 2 == 0 ? one : other).transaction { _ = $0.insert(Item(code: code)) } }
        try await other.close()
        for code in 41...50 { try await one.transaction { _ = $0.insert(Item(code: code)) } }
        other = try await Self.open(second, log.connection(1))
        #expect(try codes(other) == Array(1...50))
        try await other.transaction { _ = $0.insert(Item(code: 51)) }
        // Nothing of its last commits need be on its own disk: the log has them.
        var random = SeededGenerator(seed: 1)
        let again = SimulatedDisk(second.medium.crashed(keeping: 0, using: &random))
        let third = try await Self.open(again, log.connection(2))
        #expect(try codes(third) == Array(1...51))
        try await one.catchUp()
        try await third.catchUp()
        #expect(one.snapshot.token.commit < third.snapshot.token.commit || one.snapshot.token == third.snapshot.token)
        try await third.compact()
        try await third.transaction { _ = $0.insert(Item(code: 52)) }
        let rows = try third.snapshot.fetchIDs(Item.self).map { $0.row >> RowCounters.countingBits }
        #expect(Set(rows) == [0, 1, 2, 3, 4])
        try await one.catchUp()
        #expect(one.snapshot.token == third.snapshot.token && one.check() == [] && third.check() == [])
        for store in [one, third] { try await store.close() }
        for disk in [first, again] {
            let opened = try await Coordinator(
                Schema([EntityDescription(Item.self), EntityDescription(Part.self)]), path: Self.path,
                fileSystem: disk, options: JournalFixture.options(), readOnly: true)
            #expect(opened.snapshot.token == one.snapshot.token && opened.check() == [])
        }
    }

    @Test func `a disk that fails costs a program no commit that the log has`() async throws {
        let origin = try await Coordinator(for: Item.self, Part.self)
        let disk = SimulatedDisk()
        try await origin.copy(to: Self.path, disk, JournalFixture.options())
        let log = SimulatedLog(seed: 1, start: 0)
        let writer = try await Self.open(disk, log.connection(0))
        disk.fail(next: .write, with: .error(.other, 5))
        try await writer.transaction { _ = $0.insert(Item(code: 1)) }
        #expect(try codes(writer) == [1])
        await #expect { try await writer.transaction { _ = $0.insert(Item(code: 2)) } } throws: { error in
            if case GraphError.storeFailed = error { true } else { false }
        }
        // Others go on, and this one neither follows them nor hangs.
        let memory = try await Coordinator(
            origin.snapshot.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            initial: (origin.snapshot, await origin.usedCounters, origin.storeID), log: log.connection(1),
            clock: StepClock())
        try await memory.transaction { _ = $0.insert(Item(code: 3)) }
        await #expect { try await writer.catchUp() } throws: { error in
            if case GraphError.storeFailed = error { true } else { false }
        }
        #expect(try codes(writer) == [1])
        try? await writer.close()
        disk.killProcess()
        let again = try await Self.open(disk, log.connection(0))
        #expect(try codes(again) == [1, 3])
        try await again.transaction { _ = $0.insert(Item(code: 2)) }
        try await again.close()
    }

    @Test func `a file that has gone on by itself is refused, and leaves the log alone`() async throws {
        let disk = SimulatedDisk()
        let origin = try await Coordinator(
            Schema([EntityDescription(Item.self), EntityDescription(Part.self)]), path: Self.path, fileSystem: disk,
            options: JournalFixture.options())
        try await origin.transaction { _ = $0.insert(Item(code: 1)) }
        let copy = SimulatedDisk()
        try await origin.copy(to: Self.path, copy, JournalFixture.options())
        let log = SimulatedLog(seed: 1, start: 1)
        // An empty log begins with whoever is first.
        let early = SimulatedDisk(copy.medium)
        let writer = try await Self.open(copy, log.connection(0))
        try await origin.transaction { _ = $0.insert(Item(code: 2)) }
        try await origin.close()
        // The log has another commit of the same number, then more of them, and at last fewer.
        #expect(log.records.count == 1)
        await #expect { try await Self.open(disk, log.connection(1)) } throws: { error in
            if case GraphError.historyDiverged(let token) = error { token.commit.number == 2 } else { false }
        }
        disk.killProcess()
        try await writer.transaction { _ = $0.insert(Item(code: 5)) }
        await #expect { try await Self.open(disk, log.connection(1)) } throws: { error in
            if case GraphError.historyDiverged(let token) = error { token.commit.number == 2 } else { false }
        }
        disk.killProcess()
        let shorter = SimulatedLog(seed: 2, start: 0)
        _ = try await shorter.connection(0).append([log.records[0]], after: 0)
        await #expect { try await Self.open(disk, shorter.connection(1)) } throws: { error in
            if case GraphError.historyDiverged(let token) = error { token.commit.number == 2 } else { false }
        }
        #expect(shorter.records.count == 1)
        let count = log.records.count
        try await writer.transaction { _ = $0.insert(Item(code: 9)) }
        #expect(log.records.count == count + 1)
        // One that the log has forgotten begins too early.
        let forgetful = SimulatedLog(seed: 3, start: 2)
        _ = try await forgetful.connection(0).append(Array(log.records[1...]), after: 2)
        await #expect { try await Self.open(early, forgetful.connection(1)) } throws: { error in
            if case GraphError.historyExpired(let oldest) = error { oldest.commit.number == 2 } else { false }
        }
    }

    @Test func `a log that comes in pieces is taken over, also while the program closes`() async throws {
        /// Gives one record at a time.
        struct Piecewise: CommitLog {
            let log: SimulatedLog.Connection
            func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
                try await log.append(records, after: commit)
            }
            func read(after commit: UInt64) async throws -> [[UInt8]] {
                await Task.yield()
                return Array(try await log.read(after: commit).prefix(1))
            }
        }
        let shared = try await Shared(1)
        let writer = try await shared.writer()
        for code in 2...60 { try await writer.transaction { _ = $0.insert(Item(code: code)) } }
        let other = try await shared.writer(Piecewise(log: shared.log.connection(1)))
        #expect(try codes(other) == Array(1...60))
        for code in 61...120 { try await writer.transaction { _ = $0.insert(Item(code: code)) } }
        let catching = Task { try await other.catchUp() }
        try await other.close()
        _ = await catching.result
        let found = try codes(other)
        #expect(found == Array(1...found.count))
        await #expect(throws: GraphError.closed(path: "memory")) { try await other.catchUp() }
    }

    // MARK: Connections

    /// Answers as it is told, and otherwise as the log.
    private final class Line: CommitLog {
        enum State {
            case open
            case cut
            /// Requests arrive, and answers do not.
            case mute
            /// Requests arrive later.
            case slow
            /// What was slow arrives just before the next request.
            case delivering
        }

        struct Broken: Error {}

        let log: SimulatedLog.Connection
        private let state = Mutex((State.open, [(records: [[UInt8]], commit: UInt64)]()))

        init(_ log: SimulatedLog) { self.log = log.connection(9) }

        func set(_ state: State) { self.state.withLock { $0.0 = state } }

        /// Lets the first request arrive of those that were made while the line was slow.
        func deliver() async throws {
            let waiting = state.withLock { state in
                defer { state.1 = [] }
                return state.1
            }
            guard let first = waiting.first else { return }
            _ = try await log.append(first.records, after: first.commit)
        }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            switch state.withLock({ $0.0 }) {
            case .open: return try await log.append(records, after: commit)
            case .cut: throw Broken()
            case .mute:
                _ = try await log.append(records, after: commit)
                throw Broken()
            case .slow:
                state.withLock { $0.1.append((records, commit)) }
                throw Broken()
            case .delivering:
                try await deliver()
                return try await log.append(records, after: commit)
            }
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] {
            guard [.open, .delivering].contains(state.withLock({ $0.0 })) else { throw Broken() }
            return try await log.read(after: commit)
        }

        func waitForRecords(after commit: UInt64) async throws {
            try await Task.sleep(for: .seconds(1_000))
        }
    }

    /// The token of a save that may be in the log.
    private func doubt(_ save: () async throws -> Void) async throws -> HistoryToken {
        do {
            try await save()
            throw Line.Broken()
        } catch {
            guard case GraphError.commitInDoubt(let token, _) = error else { throw error }
            return token
        }
    }

    private func hasCommit(_ token: HistoryToken, _ coordinator: Coordinator) async throws -> Bool {
        do {
            var commits = coordinator.history(since: token).makeAsyncIterator()
            _ = try await commits.next()
            return true
        } catch GraphError.historyDiverged(let found) {
            #expect(found == token)
            return false
        }
    }

    @Test func `a save whose answer is lost is in doubt, and its token tells`() async throws {
        let shared = try await Shared(1)
        let line = Line(shared.log)
        let writer = try await shared.writer(line)
        let context = Context(writer)
        await context.perform { _ = $0.insert(Item(code: 2)) }
        line.set(.mute)
        let token = try await doubt { try await context.save() }
        #expect(try codes(writer) == [1])
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await context.save() }
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await writer.catchUp() }
        line.set(.open)
        try await writer.catchUp()
        #expect(try await hasCommit(token, writer))
        #expect(try codes(writer) == [1, 2])
        // Whoever saves again does nothing twice.
        try await context.save()
        #expect(try codes(writer) == [1, 2] && writer.snapshot.token == token && shared.log.records.count == 2)
    }

    @Test func `a request that arrives late is there once, or never`() async throws {
        for isFirst in [true, false] {
            let shared = try await Shared(1)
            let line = Line(shared.log)
            let (writer, other) = (try await shared.writer(line), try await shared.writer())
            try await writer.catchUp()
            let context = Context(writer)
            await context.perform { _ = $0.insert(Item(code: 2)) }
            line.set(.slow)
            let token = try await doubt { try await context.save() }
            line.set(.open)
            if !isFirst {
                try await other.transaction { _ = $0.insert(Item(code: 3)) }
                try await writer.catchUp()
            }
            try await line.deliver()
            try await writer.catchUp()
            #expect(try await hasCommit(token, writer) == isFirst)
            #expect(try codes(writer) == (isFirst ? [1, 2] : [1, 3]))
            try await context.save()
            try await line.deliver()
            try await other.catchUp()
            #expect(try codes(other) == (isFirst ? [1, 2] : [1, 2, 3]) && other.check() == [])
        }
    }

    @Test func `two saves that do the same are two, whichever arrives`() async throws {
        let shared = try await Shared(1)
        let line = Line(shared.log)
        let writer = try await shared.writer(line)
        let contexts = [Context(writer), Context(writer)]
        for context in contexts { try await context.perform { try $0.fetch(Item.self).first?.count += 1 } }
        line.set(.slow)
        let token = try await doubt { try await contexts[0].save() }
        line.set(.delivering)
        await #expect { try await contexts[1].save() } throws: { error in
            if case GraphError.conflicts = error { true } else { false }
        }
        try await writer.catchUp()
        #expect(try await hasCommit(token, writer))
        #expect(try writer.snapshot.fetchValues(Item.self).map(\.count) == [1])
    }

    @Test func `what is in doubt is so until its place is taken`() throws {
        func token(_ commit: UInt64, _ fingerprint: UInt64) -> HistoryToken {
            HistoryToken(commit: CommitNumber(commit), store: StoreID(high: 1, low: 1), fingerprint: fingerprint)
        }
        var saves = SharedSaves(SimulatedLog(seed: 1, start: 0).connection(0), try Schema([]))
        saves.doubt([token(2, 20), token(3, 30)])
        saves.doubt([token(2, 21)])
        saves.resolveDoubt(by: token(1, 1))
        #expect(saves.isInDoubt)
        // The second one can no longer arrive, and the third one may.
        saves.resolveDoubt(by: token(2, 20))
        #expect(saves.isInDoubt)
        var other = saves
        saves.resolveDoubt(by: token(3, 31))
        other.resolveDoubt(by: token(3, 30))
        #expect(!saves.isInDoubt && !other.isInDoubt)
        saves.doubt([token(4, 1), token(5, 1), token(6, 1)])
        saves.resolveDoubt(by: token(4, 2))
        #expect(!saves.isInDoubt)
    }

    /// Takes records one by one, and lets another program in between, or holds them.
    private final class Gate: CommitLog {
        let log: SimulatedLog.Connection
        private let other: @Sendable (UInt64) async throws -> Void
        private let isOpen = Waitable(true)

        init(_ log: SimulatedLog, between other: @escaping @Sendable (UInt64) async throws -> Void = { _ in }) {
            (self.log, self.other) = (log.connection(3), other)
        }

        /// Whether somebody waits for it to be opened.
        var isAsked: Bool { isOpen.isWaitedFor }

        func set(open: Bool) { isOpen.change { $0 = open } }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            while !isOpen.withLock({ $0 }) { await isOpen.waitForChange(unless: { $0 }, isolation: nil) }
            try await other(commit)
            return try await log.append(Array(records.prefix(1)), after: commit)
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] { try await log.read(after: commit) }
    }

    /// Saves that are sent together, once the first one has been held for long enough.
    private func saveTogether(
        _ codes: ClosedRange<Int>, _ writer: Coordinator, _ gate: Gate,
        then end: @escaping @Sendable () async throws -> Void
    )
        async throws -> [Result<Void, any Error>]
    {
        func save(_ code: Int) -> Task<Void, any Error> {
            Task { try await writer.transaction { _ = $0.insert(Item(code: code)) } }
        }
        gate.set(open: false)
        var saves = [save(codes.lowerBound)]
        while !gate.isAsked { await Task.yield() }
        // One is being sent, and the others are in line.
        saves += codes.dropFirst().map(save)
        while await writer.waitingSharedSaveCount < codes.count - 1 { await Task.yield() }
        async let ending: Void = end()
        for _ in 0..<100 { await Task.yield() }
        gate.set(open: true)
        try await ending
        var results: [Result<Void, any Error>] = []
        for save in saves { results.append(await save.result) }
        return results
    }

    @Test(.timeLimit(.minutes(10))) func `of saves that are sent together each is told what became of it`() async throws
    {
        let shared = try await Shared(1)
        let other = try await shared.writer()
        let gate = Gate(shared.log) { commit in
            // Every third place is somebody else's.
            if commit % 3 == 0 {
                try await other.transaction { _ = $0.insert(Item(code: 1_000 + Int(commit))) }
            }
        }
        let writer = try await shared.writer(gate)
        let results = try await saveTogether(100...120, writer, gate) {}
        for result in results { try result.get() }
        try await other.catchUp()
        #expect(try codes(other).filter { (100...120).contains($0) } == Array(100...120))
        #expect(try codes(other).count > 24 && other.check() == [])
    }

    @Test(.timeLimit(.minutes(10))) func `who closes waits for the saves that were made before`() async throws {
        let shared = try await Shared(1)
        let gate = Gate(shared.log)
        let writer = try await shared.writer(gate)
        let results = try await saveTogether(100...110, writer, gate) { try await writer.close() }
        for result in results { try result.get() }
        #expect(try codes(writer) == [1] + (100...110) && shared.log.records.count == 12)
    }

    @Test func `who has caught up knows what became of a request that is still on its way`() async throws {
        let shared = try await Shared(1)
        let line = Line(shared.log)
        let writer = try await shared.writer(line)
        let context = Context(writer)
        await context.perform { _ = $0.insert(Item(code: 2)) }
        line.set(.slow)
        let token = try await doubt { try await context.save() }
        line.set(.open)
        try await writer.catchUp()
        #expect(try await !hasCommit(token, writer))
        try await line.deliver()
        try await writer.catchUp()
        #expect(try await !hasCommit(token, writer))
        #expect(try codes(writer) == [1])
        let end = writer.snapshot.token
        try await writer.catchUp()
        #expect(writer.snapshot.token == end)
        try await context.save()
        #expect(try codes(writer) == [1, 2])
    }

    @Test func `without the log nothing is saved, and everything can be read`() async throws {
        let shared = try await Shared(1)
        let line = Line(shared.log)
        let writer = try await shared.writer(line)
        line.set(.slow)
        let context = Context(writer)
        await context.perform { _ = $0.insert(Item(code: 2)) }
        _ = try await doubt { try await context.save() }
        line.set(.cut)
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await context.save() }
        #expect(try codes(writer) == [1])
        line.set(.open)
        try await context.save()
        #expect(try codes(writer) == [1, 2])
        line.set(.cut)
        await context.perform { _ = $0.insert(Item(code: 3)) }
        try await writer.close()
        await #expect(throws: GraphError.closed(path: "memory")) { try await context.save() }
        await #expect(throws: GraphError.closed(path: "memory")) { try await writer.catchUp() }
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await shared.writer(line) }
    }

    // MARK: Other logs

    /// A log with other records.
    private struct Fixed: CommitLog {
        var records: [[UInt8]]
        var failure: GraphError?

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int { 0 }

        func read(after commit: UInt64) async throws -> [[UInt8]] {
            if let failure { throw failure }
            return commit < 1 || commit - 1 >= records.count ? [] : Array(records[Int(commit - 1)...])
        }
    }

    /// Why a log cannot be joined; nil if it can.
    private func joining(_ shared: Shared, _ log: any CommitLog) async -> GraphError? {
        do {
            _ = try await shared.writer(log)
            return nil
        } catch {
            return error as? GraphError
        }
    }

    @Test func `what is no log of the store is refused, and says why`() async throws {
        let shared = try await Shared(1)
        let writer = try await shared.writer()
        try await writer.transaction { _ = $0.insert(Item(code: 2)) }
        let records = shared.log.records
        let schema = SharedRecord.schemaNumber(writer.snapshot.schema)
        let second = try SharedRecord(records[1], of: writer.storeID, schema: schema, path: "")
        // Every byte with another value.
        for place in records[1].indices {
            var damaged = records
            damaged[1][place] ^= 0x40
            switch await joining(shared, Fixed(records: damaged)) {
            case .invalidLog, .tokenOfOtherStore, .schemaMismatch, .historyDiverged: break
            case let error: Issue.record("byte \(place): \(String(describing: error))")
            }
        }
        for count in 0..<records[1].count {
            let error = await joining(shared, Fixed(records: [records[0], Array(records[1].prefix(count))]))
            guard case .invalidLog = error else {
                Issue.record("\(count) bytes: \(String(describing: error))")
                continue
            }
        }
        var newer = records
        newer[1][0] = 2
        #expect(
            await joining(shared, Fixed(records: newer)) == .invalidLog(reason: "a newer version of Graph writes to it")
        )
        let stranger = StoreID(high: 1, low: 2)
        let other = SharedRecord(
            second.payload, second.token.of(stranger), after: second.tokenBefore.of(stranger), schema: schema)
        #expect(await joining(shared, Fixed(records: [records[0], other.bytes])) == .tokenOfOtherStore(other.token))
        let changed = SharedRecord(
            second.payload, second.token, after: second.tokenBefore, schema: schema ^ 1)
        guard case .schemaMismatch? = await joining(shared, Fixed(records: [records[0], changed.bytes])) else {
            Issue.record("another schema was taken")
            return
        }
        let unrelated = HistoryToken(commit: CommitNumber(2), store: writer.storeID, fingerprint: 77)
        var unrelatedNext = unrelated
        unrelatedNext.commit = CommitNumber(3)
        second.payload.withUnsafeBytes { unrelatedNext.add($0) }
        let diverged = SharedRecord(second.payload, unrelatedNext, after: unrelated, schema: schema)
        guard case .historyDiverged(let token)? = await joining(shared, Fixed(records: [records[0], diverged.bytes]))
        else {
            Issue.record("another history was taken")
            return
        }
        #expect(token.commit.number == 2)
        #expect(
            await joining(shared, Fixed(records: [], failure: .historyExpired(oldest: token)))
                == .historyExpired(oldest: token))
        // It gives what comes before the commit that it is asked for.
        struct Early: CommitLog {
            let records: [[UInt8]]
            func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int { 0 }
            func read(after commit: UInt64) async throws -> [[UInt8]] { Array(records[max(0, Int(commit) - 2)...]) }
        }
        guard case .invalidLog? = await joining(shared, Early(records: records)) else {
            Issue.record("a log that goes back was taken")
            return
        }
        let refusal = GraphError.logUnavailable(reason: "it refuses what follows commit 1, and has nothing behind that")
        #expect(await joining(shared, Fixed(records: [])) == refusal)
    }

    @Test func `a record that no longer fits ends a program's saves, and what it has stays readable`() async throws {
        let shared = try await Shared(1)
        let (writer, line) = (try await shared.writer(), Line(shared.log))
        let token = writer.snapshot.token
        var state = WorkingState(base: writer.snapshot)
        state.number(token.commit.next)
        // More row numbers than the next writer has.
        let counters = state.schema.entities.map { _ in RowNumber(9) << RowCounters.countingBits }
        let payload = try CommitRecord.encode(state, counters: counters, time: 1, author: "")
        var next = token
        next.commit = token.commit.next
        payload.withUnsafeBytes { next.add($0) }
        let foreign = SharedRecord(
            payload, next, after: token, schema: SharedRecord.schemaNumber(state.schema)
        ).bytes
        #expect(try await line.append([foreign], after: token.commit.number) == 1)
        await #expect(throws: GraphError.self) { try await writer.catchUp() }
        #expect(try codes(writer) == [1])
        await #expect(throws: GraphError.self) { try await writer.transaction { _ = $0.insert(Item(code: 2)) } }
        try await writer.close()
    }
}
