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

    @Test func `a record that no longer fits ends a program's saves, and what it has stays readable`() async throws {
        let shared = try await SharedItems.Origin(1)
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
        #expect(try SharedItems.codes(writer) == [1])
        await #expect(throws: GraphError.self) { try await writer.transaction { _ = $0.insert(Item(code: 2)) } }
        try await writer.close()
    }
}
