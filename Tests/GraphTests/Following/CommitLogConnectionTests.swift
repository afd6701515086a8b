import Synchronization
import Testing

@testable import Graph

/// What becomes of saves whose requests or answers are late, lost or doubled.
struct CommitLogConnectionTests {
    private typealias Item = SharedItems.Item
    private typealias Part = SharedItems.Part
    private typealias Line = SharedItems.Line

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
        let shared = try await SharedItems.Origin(1)
        let line = Line(shared.log)
        let writer = try await shared.writer(line)
        let context = Context(writer)
        await context.perform { _ = $0.insert(Item(code: 2)) }
        line.set(.mute)
        let token = try await doubt { try await context.save() }
        #expect(try SharedItems.codes(writer) == [1])
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await context.save() }
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await writer.catchUp() }
        line.set(.open)
        try await writer.catchUp()
        #expect(try await hasCommit(token, writer))
        #expect(try SharedItems.codes(writer) == [1, 2])
        // Whoever saves again does nothing twice.
        try await context.save()
        #expect(
            try SharedItems.codes(writer) == [1, 2] && writer.snapshot.token == token && shared.log.records.count == 2)
    }

    @Test func `a request that arrives late is there once, or never`() async throws {
        for isFirst in [true, false] {
            let shared = try await SharedItems.Origin(1)
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
            #expect(try SharedItems.codes(writer) == (isFirst ? [1, 2] : [1, 3]))
            try await context.save()
            try await line.deliver()
            try await other.catchUp()
            #expect(try SharedItems.codes(other) == (isFirst ? [1, 2] : [1, 2, 3]) && other.check() == [])
        }
    }

    @Test func `two saves that do the same are two, whichever arrives`() async throws {
        let shared = try await SharedItems.Origin(1)
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

    /// How a context comes to know that its save was in the log.
    enum Way: CaseIterable { case save, catchUp, refresh, merge }

    @Test(
        .bug(id: "saved twice", "a save in doubt that had arrived was made once more, and met a conflict with itself"),
        arguments: Way.allCases, [false, true])
    func `a save in doubt that has arrived is not made again`(way: Way, isCounter: Bool) async throws {
        let shared = try await SharedItems.Origin(1)
        let line = Line(shared.log)
        let (writer, other) = (try await shared.writer(line), try await shared.writer())
        try await writer.catchUp()
        let context = Context(
            writer, mergePolicy: isCounter ? .custom(.property(\Item.count, .counter)) : .error)
        await context.perform { $0.undoLimit = 9 }
        let item = try #require(try writer.snapshot.fetchIDs(Item.self).first)
        let (new, part) = try await context.perform { context in
            let old = try context.object(for: item)
            (old.count, old.label) = (old.count + 1, "draft")
            let new = context.insert(Item(code: 2))
            let part = context.insert(Part(name: "of the old one"))
            part.item = old
            return (new.id, part.id)
        }
        line.set(.mute)
        _ = try await doubt { try await context.save() }
        #expect(await context.hasChanges)
        // Of these the log knows nothing.
        try await context.perform { try $0.object(for: new).label = "later" }
        line.set(.open)
        // Whoever has seen it goes on.
        try await other.catchUp()
        try await other.transaction { context in
            try context.object(for: part).delete()
            context.insert(Item(code: 3))
        }
        switch way {
        case .save: break
        case .catchUp: try await writer.catchUp()
        case .refresh:
            try await writer.catchUp()
            #expect(await context.refresh() == [])
            #expect(await context.perform { $0.updatedObjects.map(\.anyID) } == [AnyPersistentID(new)])
        case .merge:
            await context.perform { $0.automaticallyMergesChanges = true }
            try await writer.catchUp()
            while await context.perform({ $0[part] != nil }) { await Task.yield() }
        }
        try await context.save()
        #expect(await context.hasChanges == false)
        try await other.catchUp()
        let snapshot = other.snapshot
        #expect(snapshot.value(for: item)?.count == 1 && snapshot.value(for: item)?.label == "prepared")
        #expect(snapshot.value(for: new)?.label == "later" && snapshot.value(for: part) == nil)
        #expect(try SharedItems.codes(other) == [1, 2, 3] && other.check() == [])
        #expect(snapshot.version(of: item) == RowVersion(2))
        // What arrived is a saved group, and what came later another one.
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[new]?.label } == "")
        _ = await context.undo()
        await context.perform { context in
            #expect(context[item]?.count == 0 && context[item]?.label == "" && context[new] == nil)
        }
        try await context.save()
        try await other.catchUp()
        #expect(try SharedItems.codes(other) == [1, 3])
        #expect(other.snapshot.value(for: item)?.count == 0)
    }

    @Test func `what arrived and others deleted does not come back`() async throws {
        let shared = try await SharedItems.Origin(1)
        let line = Line(shared.log)
        let (writer, other) = (try await shared.writer(line), try await shared.writer())
        try await writer.catchUp()
        let context = Context(writer)
        let new = await context.perform { $0.insert(Item(code: 2)).id }
        line.set(.mute)
        _ = try await doubt { try await context.save() }
        line.set(.open)
        try await other.catchUp()
        try await other.transaction { try $0.object(for: new).delete() }
        try await context.save()
        try await other.catchUp()
        #expect(try SharedItems.codes(other) == [1])
        #expect(await context.hasChanges == false)
        await context.refresh()
        #expect(await context.perform { $0[new] == nil })
    }

    @Test func `what is in doubt is so until its place is taken`() {
        func token(_ commit: UInt64, _ fingerprint: UInt64) -> HistoryToken {
            HistoryToken(commit: CommitNumber(commit), store: StoreID(high: 1, low: 1), fingerprint: fingerprint)
        }
        func doubtful(_ tokens: HistoryToken...) -> [SharedSaves.Doubtful] {
            tokens.map { SharedSaves.Doubtful(token: $0) }
        }
        var saves = SharedSaves(SharedLog(commits: SimulatedLog(seed: 1, start: 0).connection(0), schema: 0))
        saves.doubt(doubtful(token(2, 20), token(3, 30)))
        saves.doubt(doubtful(token(2, 21)))
        saves.resolveDoubt(by: token(1, 1))
        #expect(saves.isInDoubt)
        // The second one can no longer arrive, and the third one may.
        saves.resolveDoubt(by: token(2, 20))
        #expect(saves.isInDoubt)
        var other = saves
        saves.resolveDoubt(by: token(3, 31))
        other.resolveDoubt(by: token(3, 30))
        #expect(!saves.isInDoubt && !other.isInDoubt)
        saves.doubt(doubtful(token(4, 1), token(5, 1), token(6, 1)))
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

    @Test(
        .timeLimit(.minutes(10)), .bug(id: "all behind it were refused", "with an error that was about another save")
    )
    func `a record that the log refuses takes no other one along`() async throws {
        let shared = try await SharedItems.Origin(1)
        let refused = Waitable(0)
        let error = GraphError.transactionTooLarge(lengthBytes: 2, limitBytes: 1)
        let gate = Gate(shared.log) { commit in
            let isFirst = refused.withLock { count in
                if commit == 3 { count += 1 }
                return count == 1
            }
            if commit == 3, isFirst { throw error }
        }
        let writer = try await shared.writer(gate)
        let results = try await saveTogether(100...104, writer, gate) {}
        let errors = results.compactMap { result in
            if case .failure(let error) = result { error as? GraphError } else { nil }
        }
        #expect(errors == [error])
        #expect(try SharedItems.codes(writer).count == 5 && writer.check() == [])
        #expect(refused.withLock { $0 } == 2)
        try await writer.close()
    }

    @Test(.timeLimit(.minutes(10))) func `of saves that are sent together each is told what became of it`() async throws
    {
        let shared = try await SharedItems.Origin(1)
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
        #expect(try SharedItems.codes(other).filter { (100...120).contains($0) } == Array(100...120))
        #expect(try SharedItems.codes(other).count > 24 && other.check() == [])
    }

    @Test(.timeLimit(.minutes(10))) func `who closes waits for the saves that were made before`() async throws {
        let shared = try await SharedItems.Origin(1)
        let gate = Gate(shared.log)
        let writer = try await shared.writer(gate)
        let results = try await saveTogether(100...110, writer, gate) { try await writer.close() }
        for result in results { try result.get() }
        #expect(try SharedItems.codes(writer) == [1] + (100...110) && shared.log.records.count == 12)
    }

    /// A log to which another program saves before each of this program's records arrives.
    private final class LateLog: CommitLog {
        private let log: any CommitLog
        private let other: Coordinator
        private let isLate = Mutex(false)

        init(_ log: any CommitLog, _ other: Coordinator) { (self.log, self.other) = (log, other) }

        func set(_ isLate: Bool) { self.isLate.withLock { $0 = isLate } }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            if isLate.withLock({ $0 }) {
                try await other.transaction { $0.first(\Item.code, equals: 1)?.count += 1 }
            }
            return try await log.append(records, after: commit)
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] { try await log.read(after: commit) }
    }

    @Test(.timeLimit(.minutes(10))) func `a save that is late again and again ends, and so does closing`() async throws
    {
        let shared = try await SharedItems.Origin(1)
        let late = LateLog(shared.log.connection(1), try await shared.writer())
        let writer = try await shared.writer(late)
        late.set(true)
        let context = Context(writer)
        await context.perform { _ = $0.insert(Item(code: 2)) }
        let reason = "others have saved 1000 times in a row before this program could"
        await #expect(throws: GraphError.logUnavailable(reason: reason)) { try await context.save() }
        let count = shared.log.records.count
        let saved = Task { try await context.save() }
        while shared.log.records.count == count { await Task.yield() }
        try await writer.close()
        await #expect(throws: GraphError.self) { try await saved.value }
        #expect(await context.hasChanges)
        // It is as if it had never been sent.
        let next = try await shared.writer()
        try await next.catchUp()
        #expect(try SharedItems.codes(next) == [1] && next.snapshot.commit.number > 1_000)
    }

    /// A log to which other programs save whenever a long request is on its way, until one is short.
    private final class HurriedLog: CommitLog {
        static let limit = 16
        private let log: any CommitLog
        private let state = Mutex((others: [[UInt8]]()[...], lengths: [Int]()))
        private let hold = Mutex<(writer: Coordinator, count: Int)?>(nil)

        init(_ log: any CommitLog) { self.log = log }

        /// - Parameter count: that many saves of the writer are begun before the next request is answered.
        func hurry(_ writer: Coordinator, count: Int, others: some Collection<[UInt8]>) {
            state.withLock { $0 = (Array(others)[...], []) }
            hold.withLock { $0 = (writer, count) }
        }

        /// How many records each request had since then.
        var lengths: [Int] { state.withLock { $0.lengths } }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            if let hold = hold.withLock({ $0.take() }) {
                while await hold.writer.waitingSharedSaveCount + records.count < hold.count {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
            let other = state.withLock { state in
                state.lengths.append(records.count)
                let isLong = records.count > Self.limit || state.lengths.count == 1
                return isLong ? state.others.popFirst() : nil
            }
            if let other { _ = try await log.append([other], after: commit) }
            let count = try await log.append(records, after: commit)
            // What the others have saved does not follow that.
            if count > 0 { state.withLock { $0.others = [] } }
            return count
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] { try await log.read(after: commit) }
    }

    @Test(.timeLimit(.minutes(10))) func `a group that is late again and again is sent in parts`() async throws {
        let shared = try await SharedItems.Origin(1)
        let log = HurriedLog(shared.log.connection(1))
        let writer = try await shared.writer(log)
        let past = shared.log.records
        // What others save behind that, if nobody else does.
        let line = SimulatedLog(seed: 2, start: 1)
        _ = try await line.connection(0).append(past, after: 1)
        let other = try await shared.writer(line.connection(0))
        for _ in 0..<SharedSaves.patience {
            try await other.transaction { $0.first(\Item.code, equals: 1)?.count += 1 }
        }
        log.hurry(writer, count: 100, others: line.records.dropFirst(past.count))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for code in 2...101 { group.addTask { try await writer.transaction { _ = $0.insert(Item(code: code)) } } }
            try await group.waitForAll()
        }
        #expect(try SharedItems.codes(writer) == Array(1...101))
        let lengths = log.lengths.dropFirst()
        #expect(lengths.prefix(2) == [100, 100] && lengths.contains { $0 <= HurriedLog.limit })
    }

    @Test func `who has caught up knows what became of a request that is still on its way`() async throws {
        let shared = try await SharedItems.Origin(1)
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
        #expect(try SharedItems.codes(writer) == [1])
        let end = writer.snapshot.token
        try await writer.catchUp()
        #expect(writer.snapshot.token == end)
        try await context.save()
        #expect(try SharedItems.codes(writer) == [1, 2])
    }

    @Test func `without the log nothing is saved, and everything can be read`() async throws {
        let shared = try await SharedItems.Origin(1)
        let line = Line(shared.log)
        let writer = try await shared.writer(line)
        line.set(.slow)
        let context = Context(writer)
        await context.perform { _ = $0.insert(Item(code: 2)) }
        _ = try await doubt { try await context.save() }
        line.set(.cut)
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await context.save() }
        #expect(try SharedItems.codes(writer) == [1])
        line.set(.open)
        try await context.save()
        #expect(try SharedItems.codes(writer) == [1, 2])
        line.set(.cut)
        await context.perform { _ = $0.insert(Item(code: 3)) }
        try await writer.close()
        await #expect(throws: GraphError.closed(path: "memory")) { try await context.save() }
        await #expect(throws: GraphError.closed(path: "memory")) { try await writer.catchUp() }
        await #expect(throws: GraphError.logUnavailable(reason: "Broken()")) { try await shared.writer(line) }
    }
}
