import Synchronization
import Testing

@testable import Graph

/// Logs of other stores, schemas and histories, and records that do not fit.
struct ForeignCommitLogTests {
    private typealias Line = SharedItems.Line
    private typealias Item = SharedItems.Item

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
    private func joining(_ shared: SharedItems.Origin, _ log: any CommitLog) async -> GraphError? {
        do {
            _ = try await shared.writer(log)
            return nil
        } catch {
            return error as? GraphError
        }
    }

    @Test func `what is no log of the store is refused, and says why`() async throws {
        let shared = try await SharedItems.Origin(1)
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

    // MARK: Programs that are running

    /// A commit without changes that no program has made, behind a program's newest one.
    private func foreign(
        behind writer: Coordinator, schema difference: UInt64 = 0, counters: RowNumber? = nil
    ) async throws -> [UInt8] {
        let token = writer.snapshot.token
        var state = WorkingState(base: writer.snapshot)
        state.number(token.commit.next)
        var used = await writer.usedCounters
        if let counters { used = used.map { _ in counters } }
        let payload = try CommitRecord.encode(state, counters: used, time: 1, author: "")
        var next = token
        next.commit = token.commit.next
        payload.withUnsafeBytes { next.add($0) }
        let schema = SharedRecord.schemaNumber(state.schema) ^ difference
        return SharedRecord(payload, next, after: token, schema: schema).bytes
    }

    @Test func `a record that no longer fits ends a program's saves, and what it has stays readable`() async throws {
        let shared = try await SharedItems.Origin(1)
        let (writer, line) = (try await shared.writer(), Line(shared.log))
        // More row numbers than the next writer has.
        let greedy = try await foreign(behind: writer, counters: RowNumber(9) << RowCounters.countingBits)
        #expect(try await line.append([greedy], after: writer.snapshot.commit.number) == 1)
        await #expect(throws: GraphError.self) { try await writer.catchUp() }
        #expect(try SharedItems.codes(writer) == [1])
        await #expect(throws: GraphError.self) { try await writer.transaction { _ = $0.insert(Item(code: 2)) } }
        try await writer.close()
    }

    /// When a program that is running learns of what others have saved.
    enum Occasion: CaseIterable {
        case itself, catchingUp, saving
    }

    @Test(arguments: Occasion.allCases)
    func `a record of another schema ends a program that is running`(_ occasion: Occasion) async throws {
        let shared = try await SharedItems.Origin(1)
        // A line tells of no news.
        let line = Line(shared.log)
        let writer = try await shared.writer(occasion == .itself ? nil : line)
        let other = try await shared.writer()
        try await other.transaction { _ = $0.insert(Item(code: 2)) }
        try await writer.catchUp()
        let token = writer.snapshot.token
        #expect(token == other.snapshot.token)
        // Another version of the program, which has one property more.
        let record = try await foreign(behind: other, schema: 1)
        #expect(try await line.append([record], after: token.commit.number) == 1)
        func save() async throws { try await writer.transaction { _ = $0.insert(Item(code: 3)) } }
        switch occasion {
        case .itself: while await writer.state.ending == nil { try await Task.sleep(for: .milliseconds(1)) }
        case .catchingUp: await #expect(throws: GraphError.self) { try await writer.catchUp() }
        case .saving: await #expect(throws: GraphError.self) { try await save() }
        }
        guard case .schemaMismatch(_, let differences)? = await writer.state.ending else {
            Issue.record("it goes on")
            return
        }
        #expect(differences.count == 1)
        for _ in 1...2 {
            await #expect { try await writer.catchUp() } throws: { Self.isMismatch($0) }
            await #expect { try await save() } throws: { Self.isMismatch($0) }
        }
        // What it has stays readable, and the log has nothing of what it tried.
        #expect(try SharedItems.codes(writer) == [1, 2] && writer.snapshot.token == token && writer.check() == [])
        #expect(shared.log.records.last == record)
        try await writer.close()
    }

    @Test func `what a log says of itself is what a program learns, and its files are its own`() async throws {
        let shared = try await SharedItems.Origin(1)
        let token = shared.origin.snapshot.token
        let errors: [GraphError] = [
            .schemaMismatch(path: "elsewhere", differences: ["one"]), .tokenOfOtherStore(token),
            .historyDiverged(token), .invalidLog(reason: "damaged"), .logUnavailable(reason: "gone"),
            .transactionTooLarge(lengthBytes: 2, limitBytes: 1),
        ]
        for error in errors { #expect(await joining(shared, Fixed(records: [], failure: error)) == error) }
        for error in [GraphError.diskFull(path: "elsewhere"), .closed(path: "elsewhere")] {
            #expect(
                await joining(shared, Fixed(records: [], failure: error))
                    == .logUnavailable(reason: "\(error)".shortened(to: 400)))
        }
    }

    private static func isMismatch(_ error: any Error) -> Bool {
        if case GraphError.schemaMismatch = error { true } else { false }
    }

    /// Has forgotten its first records from some time on, and says so, or gives the others in their place. It tells of no news.
    private final class Forgetful: CommitLog {
        private let log: SimulatedLog.Connection
        private let saysSo: Bool
        private let oldest = Mutex<HistoryToken?>(nil)

        init(_ log: SimulatedLog, saysSo: Bool) {
            self.log = log.connection(8)
            self.saysSo = saysSo
        }

        func forget(before token: HistoryToken) { oldest.withLock { $0 = token } }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            try await log.append(records, after: commit)
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] {
            guard let oldest = oldest.withLock({ $0 }), commit < oldest.commit.number else {
                return try await log.read(after: commit)
            }
            if saysSo { throw GraphError.historyExpired(oldest: oldest) }
            return try await log.read(after: oldest.commit.number)
        }

        func waitForRecords(after commit: UInt64) async throws { try await Task.sleep(for: .seconds(1_000)) }
    }

    @Test(arguments: [true, false], [Occasion.catchingUp, .saving])
    func `a program that fell behind what the log has takes no more saves`(
        saysSo: Bool, _ occasion: Occasion
    ) async throws {
        let shared = try await SharedItems.Origin(1)
        let log = Forgetful(shared.log, saysSo: saysSo)
        let (late, other) = (try await shared.writer(log), try await shared.writer())
        try await late.transaction { _ = $0.insert(Item(code: 2)) }
        let token = late.snapshot.token
        for code in 3...5 { try await other.transaction { _ = $0.insert(Item(code: code)) } }
        let oldest = other.snapshot.token
        log.forget(before: oldest)
        try await other.transaction { _ = $0.insert(Item(code: 6)) }
        func save() async throws { try await late.transaction { _ = $0.insert(Item(code: 7)) } }
        let expired = GraphError.historyExpired(oldest: oldest)
        if occasion == .saving { await #expect(throws: expired) { try await save() } }
        for _ in 1...2 { await #expect(throws: expired) { try await late.catchUp() } }
        await #expect(throws: expired) { try await save() }
        #expect(await late.state.ending == expired)
        #expect(try SharedItems.codes(late) == [1, 2] && late.snapshot.token == token && late.check() == [])
        // Others are not disturbed, and see nothing of what it tried.
        try await other.transaction { _ = $0.insert(Item(code: 8)) }
        #expect(try SharedItems.codes(other) == [1, 2, 3, 4, 5, 6, 8])
        try await late.close()
    }
}
