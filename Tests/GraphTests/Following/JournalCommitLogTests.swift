import Synchronization
import Testing

@testable import Graph

/// The log over a coordinator's file.
struct JournalCommitLogTests {
    @Entity fileprivate struct Entry {
        @Unique var number: Int
        var total = 0
    }

    private static let path = "/data/entries.graph"

    private static func schema() throws -> Schema { try Schema([EntityDescription(Entry.self)]) }

    private static func open(
        _ disk: SimulatedDisk, joining log: (any CommitLog)? = nil, readOnly: Bool = false,
        durability: Durability = .full
    ) async throws -> Coordinator {
        try await Coordinator(
            schema(), path: path, fileSystem: disk, options: JournalFixture.options(), readOnly: readOnly,
            durability: durability, compaction: .manual, log: log)
    }

    /// A store, and its log.
    private struct Served {
        let disk = SimulatedDisk()
        var coordinator: Coordinator
        var log: JournalCommitLog { JournalCommitLog(coordinator) }

        init(durability: Durability = .full) async throws {
            coordinator = try await JournalCommitLogTests.open(disk, durability: durability)
        }

        /// One more program, with a file of its own.
        func writer() async throws -> (coordinator: Coordinator, disk: SimulatedDisk) {
            let disk = SimulatedDisk()
            try await coordinator.copy(to: path, disk, JournalFixture.options())
            return (try await open(disk, joining: log), disk)
        }
    }

    private func numbers(_ coordinator: Coordinator) throws -> [Int] {
        try coordinator.snapshot.fetchValues(Entry.self, sortedBy: [.ascending(\.number)]).map(\.number)
    }

    /// As many calls as it takes.
    private func all(_ log: JournalCommitLog, after commit: UInt64) async throws -> [[UInt8]] {
        var records: [[UInt8]] = []
        while true {
            let next = try await log.read(after: commit + UInt64(records.count))
            if next.isEmpty { return records }
            records += next
        }
    }

    @Test func `the coordinator of the file and others save at the same time`() async throws {
        let served = try await Served()
        let stores = [served.coordinator, try await served.writer().coordinator, try await served.writer().coordinator]
        _ = try await served.coordinator.transaction { $0.insert(Entry(number: 0)).id }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, store) in stores.enumerated() {
                for number in 1...25 {
                    group.addTask {
                        try await store.catchUp()
                        try await store.transaction(isolation: .serializable, retries: .max) { context in
                            context.insert(Entry(number: 100 * place + number))
                            try context.fetch(Entry.self, where: { $0.number == 0 }).first?.total += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        for store in stores { try await store.catchUp() }
        for store in stores {
            #expect(try numbers(store).count == 76 && store.check() == [])
            #expect(store.snapshot.token == served.coordinator.snapshot.token)
            #expect(try store.snapshot.fetchValues(Entry.self).reduce(0) { $0 + $1.total } == 75)
        }
        for store in stores { try await store.close() }
        let states = try await Self.open(served.disk, readOnly: true)
        #expect(states.snapshot.token == served.coordinator.snapshot.token && states.check() == [])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [(1, 500), (100, 10)])
    func `what takes long to check is saved beside saves without a pause`(saves: Int, size: Int) async throws {
        let served = try await Served(durability: .none)
        let writer = try await served.writer().coordinator
        let store = served.coordinator
        let id = try await store.transaction { $0.insert(Entry(number: 0)).id }
        let busy = Task {
            while !Task.isCancelled {
                try await store.transaction { $0[id]?.total += 1 }
                await Task.yield()
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for save in 0..<saves {
                group.addTask {
                    try await writer.transaction { context in
                        for number in 1...size { context.insert(Entry(number: save * size + number)) }
                    }
                }
            }
            try await group.waitForAll()
        }
        busy.cancel()
        _ = await busy.result
        #expect(try numbers(store).count == saves * size + 1 && store.check() == [])
        try await writer.close()
        try await store.close()
    }

    @Test func `it is read from the file as far back as that goes`() async throws {
        var served = try await Served()
        let start = served.coordinator.snapshot.commit.number
        let early = SimulatedDisk()
        try await served.coordinator.copy(to: Self.path, early, JournalFixture.options())
        for number in 1...30 { try await served.coordinator.transaction { _ = $0.insert(Entry(number: number)) } }
        let first = try await all(served.log, after: start)
        #expect(first.count == 30)
        // From the newest ones in memory, from the file, and after a compaction.
        let more = served.coordinator
        for number in 31...40 { try await more.transaction { _ = $0.insert(Entry(number: number)) } }
        #expect(try await served.log.read(after: 35).count == 5)
        #expect(try await all(served.log, after: start).prefix(30) == first[...])
        try await served.coordinator.compact()
        #expect(try await all(served.log, after: start).prefix(30) == first[...])
        try await served.coordinator.close()
        served.coordinator = try await Self.open(served.disk)
        #expect(try await all(served.log, after: start).prefix(30) == first[...])
        #expect(try await served.log.read(after: 40) == [])
        #expect(try await served.log.read(after: 100) == [])
        let late = try await Self.open(early, joining: served.log)
        #expect(try numbers(late) == Array(1...40))
        try await late.close()

        let newest = served.coordinator.snapshot.token
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 100)) }
        try await served.coordinator.deleteHistory(before: newest)
        let log = served.log
        await #expect(throws: GraphError.historyExpired(oldest: newest)) { try await log.read(after: start) }
        #expect(try await log.read(after: newest.commit.number).count == 1)
        let expired = SimulatedDisk()
        let copy = try await Self.open(SimulatedDisk())
        try await copy.copy(to: Self.path, expired, JournalFixture.options())
        await #expect(throws: GraphError.historyExpired(oldest: newest)) {
            try await Self.open(expired, joining: log)
        }
    }

    @Test func `a program that is running and falls behind what the file has takes no more saves`() async throws {
        /// Leads to whichever coordinator has the file, and tells of no news.
        final class Quiet: CommitLog {
            let log: Mutex<JournalCommitLog>

            init(_ log: JournalCommitLog) { self.log = Mutex(log) }

            func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
                try await log.withLock { $0 }.append(records, after: commit)
            }

            func read(after commit: UInt64) async throws -> [[UInt8]] {
                try await log.withLock { $0 }.read(after: commit)
            }

            func waitForRecords(after commit: UInt64) async throws { try await Task.sleep(for: .seconds(1_000)) }
        }
        var served = try await Served()
        let (disk, log) = (SimulatedDisk(), Quiet(served.log))
        try await served.coordinator.copy(to: Self.path, disk, JournalFixture.options())
        let writer = try await Self.open(disk, joining: log)
        try await writer.transaction { _ = $0.insert(Entry(number: 1)) }
        for number in 2...4 { try await served.coordinator.transaction { _ = $0.insert(Entry(number: number)) } }
        let newest = served.coordinator.snapshot.token
        try await served.coordinator.deleteHistory(before: newest)
        // Nor does anybody have them in memory.
        try await served.coordinator.close()
        served.coordinator = try await Self.open(served.disk)
        let (current, reopened) = (served.coordinator, served.log)
        log.log.withLock { $0 = reopened }
        try await current.transaction { _ = $0.insert(Entry(number: 5)) }
        let expired = GraphError.historyExpired(oldest: newest)
        for _ in 1...2 {
            await #expect(throws: expired) { try await writer.catchUp() }
            await #expect(throws: expired) { try await writer.transaction { _ = $0.insert(Entry(number: 6)) } }
        }
        #expect(try numbers(writer) == [1] && writer.check() == [])
        #expect(try numbers(current) == [1, 2, 3, 4, 5])
        try await writer.close()
        await #expect(throws: expired) { try await Self.open(disk, joining: reopened) }
        // A new copy goes on.
        let (next, _) = try await served.writer()
        try await next.transaction { _ = $0.insert(Entry(number: 6)) }
        #expect(try numbers(current) == [1, 2, 3, 4, 5, 6])
        try await next.close()
    }

    @Test func `a store that has had writers becomes one of them when it is opened`() async throws {
        var served = try await Served()
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 1)) }
        let (writer, _) = try await served.writer()
        try await writer.transaction { _ = $0.insert(Entry(number: 2)) }
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 3)) }
        try await writer.close()
        try await served.coordinator.close()
        served.coordinator = try await Self.open(served.disk)
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 4)) }
        let (other, _) = try await served.writer()
        try await other.transaction { _ = $0.insert(Entry(number: 5)) }
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 6)) }
        let ids = try served.coordinator.snapshot.fetchIDs(Entry.self, sortedBy: [.ascending(\.number)])
        #expect(ids.map { $0.row >> RowCounters.countingBits } == [0, 1, 0, 2, 3, 2])
        // Once the numbers are used up, it is opened all the same.
        await served.coordinator.counters.raise(to: [RowCounters.maximum - 10])
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 7)) }
        try await served.coordinator.close()
        let last = served.coordinator.snapshot.token
        served.coordinator = try await Self.open(served.disk)
        #expect(served.coordinator.snapshot.token == last)
        let full = served.coordinator
        await #expect(throws: GraphError.rowNumbersUsedUp(entity: "Entry")) {
            try await full.transaction { _ = $0.insert(Entry(number: 8)) }
        }
        // And a file that never had others is opened without a commit.
        let alone = SimulatedDisk()
        let first = try await Self.open(alone)
        try await first.transaction { _ = $0.insert(Entry(number: 1)) }
        try await first.close()
        #expect(try await Self.open(alone).snapshot.commit.number == 1)
    }

    /// A commit that no coordinator has made.
    private func record(
        _ number: UInt64, of coordinator: Coordinator, after before: HistoryToken, inserting numbers: [Int],
        by writer: RowNumber = 2, schema: UInt64? = nil
    ) throws -> SharedRecord {
        var state = WorkingState(base: coordinator.snapshot)
        for (place, number) in numbers.enumerated() {
            state.insert(writer << RowCounters.countingBits + RowNumber(place + 1), Entry(number: number))
        }
        state.number(CommitNumber(number))
        let counters = [writer << RowCounters.countingBits + 100]
        let payload = try CommitRecord.encode(state, counters: counters, time: 1, author: "")
        var token = before
        token.commit = CommitNumber(number)
        payload.withUnsafeBytes { token.add($0) }
        let schema = schema ?? SharedRecord.schemaNumber(coordinator.snapshot.schema)
        return SharedRecord(payload, token, after: before, schema: schema)
    }

    @Test func `what does not follow is refused, and what is no commit of the store is an error`() async throws {
        let served = try await Served()
        try await served.coordinator.transaction { _ = $0.insert(Entry(number: 1)) }
        let (writer, disk) = try await served.writer()
        try await writer.transaction { _ = $0.insert(Entry(number: 2)) }
        let records = try await all(served.log, after: 0)
        let token = served.coordinator.snapshot.token
        #expect(records.count == 3 && token.commit.number == 3)
        // Nothing behind the newest commit, before it, or twice.
        for commit in [0, 1, 2, 4, 5, .max - 1, .max] as [UInt64] {
            #expect(try await served.log.append(records, after: commit) == 0)
        }
        #expect(try await served.log.append([], after: 3) == 0)
        #expect(served.coordinator.snapshot.token == token)

        let schema = SharedRecord.schemaNumber(served.coordinator.snapshot.schema)
        // It breaks a rule: there is a 1 already.
        let twice = try record(4, of: served.coordinator, after: token, inserting: [1])
        await #expect { try await served.log.append([twice.bytes], after: 3) } throws: { error in
            if case GraphError.invalidLog = error { true } else { false }
        }
        // It leaves no row numbers to others.
        let greedy = try record(4, of: served.coordinator, after: token, inserting: [7], by: 9)
        await #expect { try await served.log.append([greedy.bytes], after: 3) } throws: { error in
            if case GraphError.invalidLog = error { true } else { false }
        }
        // Of another schema, another store, damaged, and of another history.
        let foreign = try record(4, of: served.coordinator, after: token, inserting: [7], schema: schema ^ 1)
        await #expect { try await served.log.append([foreign.bytes], after: 3) } throws: { error in
            if case GraphError.schemaMismatch = error { true } else { false }
        }
        let other = token.of(StoreID(high: 1, low: 1))
        let strange = try record(4, of: served.coordinator, after: other, inserting: [7])
        await #expect(throws: GraphError.tokenOfOtherStore(strange.token)) {
            try await served.log.append([strange.bytes], after: 3)
        }
        let sound = try record(4, of: served.coordinator, after: token, inserting: [7])
        for place in sound.bytes.indices {
            var damaged = sound.bytes
            damaged[place] ^= 1
            let bytes = damaged
            await #expect(throws: GraphError.self, "byte \(place)") {
                if try await served.log.append([bytes], after: 3) == 0 { throw GraphError.cancelled }
            }
        }
        let diverged = HistoryToken(commit: token.commit, store: token.store, fingerprint: token.fingerprint ^ 1)
        let unrelated = try record(4, of: served.coordinator, after: diverged, inserting: [7])
        #expect(try await served.log.append([unrelated.bytes], after: 3) == 0)
        #expect(served.coordinator.snapshot.token == token)
        // What comes before one that is wrong is appended.
        #expect(try await served.log.append([sound.bytes, twice.bytes], after: 3) == 1)
        #expect(try numbers(served.coordinator) == [1, 2, 7] && served.coordinator.check() == [])
        try await writer.catchUp()
        #expect(try numbers(writer) == [1, 2, 7])
        try await writer.close()

        // And where there is nothing to write to.
        let readOnly = try await Self.open(disk, readOnly: true)
        await #expect(throws: GraphError.readOnly(path: Self.path)) {
            try await JournalCommitLog(readOnly).append([sound.bytes], after: 3)
        }
        let memory = try await Coordinator(for: Entry.self)
        await #expect { try await JournalCommitLog(memory).read(after: 0) } throws: { error in
            if case GraphError.unusableFile = error { true } else { false }
        }
        try await served.coordinator.close()
        await #expect(throws: GraphError.closed(path: Self.path)) { try await served.log.read(after: 0) }
        await #expect(throws: GraphError.closed(path: Self.path)) {
            try await served.log.append([sound.bytes], after: 3)
        }
        await #expect(throws: GraphError.closed(path: Self.path)) { try await served.log.waitForRecords(after: 9) }
    }

    @Test func `a full disk refuses, and what was confirmed survives a power cut`() async throws {
        let served = try await Served()
        let (writer, _) = try await served.writer()
        for number in 1...20 {
            if number % 3 == 0 {
                served.disk.fail(next: .write, with: .error(.diskFull, 28))
                await #expect {
                    try await writer.transaction { _ = $0.insert(Entry(number: number)) }
                } throws: { error in
                    if case GraphError.logUnavailable = error { true } else { false }
                }
                #expect(try numbers(served.coordinator).count == number - 1)
            }
            try await writer.transaction { _ = $0.insert(Entry(number: number)) }
            var random = SeededGenerator(seed: UInt64(number))
            let crashed = SimulatedDisk(served.disk.medium.crashed(keeping: 0, using: &random))
            let found = try await Self.open(crashed, readOnly: true)
            #expect(try numbers(found) == Array(1...number))
        }
        #expect(try numbers(served.coordinator) == Array(1...20))
    }

    @Test func `whoever reads a log reads nothing that a power cut may take from it`() async throws {
        let served = try await Served(durability: .none)
        let (writer, _) = try await served.writer()
        let context = Context(served.coordinator)
        for number in 1...10 {
            await context.perform { _ = $0.insert(Entry(number: number)) }
            try await context.save(durability: [.none, .relaxed][number % 2])
            try await writer.catchUp()
            #expect(writer.snapshot.token == served.coordinator.snapshot.token)
            var random = SeededGenerator(seed: UInt64(number))
            let crashed = SimulatedDisk(served.disk.medium.crashed(keeping: 0, using: &random))
            #expect(try numbers(try await Self.open(crashed, readOnly: true)) == Array(1...number))
        }
    }
}
