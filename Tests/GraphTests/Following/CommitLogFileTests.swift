import Testing

@testable import Graph

/// Copies in files that join a log: what a file has and what the log has come together.
struct CommitLogFileTests {
    private typealias Item = SharedItems.Item
    private typealias Part = SharedItems.Part

    @Test func `a copy goes on with the log wherever its file ends`() async throws {
        let first = SimulatedDisk()
        let origin = try await SharedItems.open(first)
        try await origin.transaction { _ = $0.insert(Item(code: 1)) }
        let second = SimulatedDisk()
        try await origin.copy(to: SharedItems.path, second, JournalFixture.options(seed: 2))
        try await origin.close()

        let log = SimulatedLog(seed: 1, start: 1)
        let one = try await SharedItems.open(first, log.connection(0))
        var other = try await SharedItems.open(second, log.connection(1))
        for code in 2...40 { try await (code % 2 == 0 ? one : other).transaction { _ = $0.insert(Item(code: code)) } }
        try await other.close()
        for code in 41...50 { try await one.transaction { _ = $0.insert(Item(code: code)) } }
        other = try await SharedItems.open(second, log.connection(1))
        #expect(try SharedItems.codes(other) == Array(1...50))
        try await other.transaction { _ = $0.insert(Item(code: 51)) }
        // Nothing of its last commits need be on its own disk: the log has them.
        var random = SeededGenerator(seed: 1)
        let again = SimulatedDisk(second.medium.crashed(keeping: 0, using: &random))
        let third = try await SharedItems.open(again, log.connection(2))
        #expect(try SharedItems.codes(third) == Array(1...51))
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
                Schema([EntityDescription(Item.self), EntityDescription(Part.self)]), path: SharedItems.path,
                fileSystem: disk, options: JournalFixture.options(), readOnly: true)
            #expect(opened.snapshot.token == one.snapshot.token && opened.check() == [])
        }
    }

    @Test func `a disk that fails costs a program no commit that the log has`() async throws {
        let origin = try await Coordinator(for: Item.self, Part.self)
        let disk = SimulatedDisk()
        try await origin.copy(to: SharedItems.path, disk, JournalFixture.options())
        let log = SimulatedLog(seed: 1, start: 0)
        let writer = try await SharedItems.open(disk, log.connection(0))
        disk.fail(next: .write, with: .error(.other, 5))
        try await writer.transaction { _ = $0.insert(Item(code: 1)) }
        #expect(try SharedItems.codes(writer) == [1])
        await #expect { try await writer.transaction { _ = $0.insert(Item(code: 2)) } } throws: { error in
            if case GraphError.storeFailed = error { true } else { false }
        }
        // Others go on, and this one neither follows them nor hangs.
        let memory = try await Coordinator(
            origin.snapshot.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            initial: (origin.snapshot, await origin.usedCounters, origin.storeID, nil), log: log.connection(1),
            clock: StepClock())
        try await memory.transaction { _ = $0.insert(Item(code: 3)) }
        await #expect { try await writer.catchUp() } throws: { error in
            if case GraphError.storeFailed = error { true } else { false }
        }
        #expect(try SharedItems.codes(writer) == [1])
        try? await writer.close()
        disk.killProcess()
        let again = try await SharedItems.open(disk, log.connection(0))
        #expect(try SharedItems.codes(again) == [1, 3])
        try await again.transaction { _ = $0.insert(Item(code: 2)) }
        try await again.close()
    }

    @Test func `a file that has gone on by itself is refused, and leaves the log alone`() async throws {
        let disk = SimulatedDisk()
        let origin = try await SharedItems.open(disk)
        try await origin.transaction { _ = $0.insert(Item(code: 1)) }
        let copy = SimulatedDisk()
        try await origin.copy(to: SharedItems.path, copy, JournalFixture.options())
        let log = SimulatedLog(seed: 1, start: 1)
        // An empty log begins with whoever is first.
        let early = SimulatedDisk(copy.medium)
        let writer = try await SharedItems.open(copy, log.connection(0))
        try await origin.transaction { _ = $0.insert(Item(code: 2)) }
        try await origin.close()
        // The log has another commit of the same number, then more of them, and at last fewer.
        #expect(log.records.count == 1)
        await #expect { try await SharedItems.open(disk, log.connection(1)) } throws: { error in
            if case GraphError.historyDiverged(let token) = error { token.commit.number == 2 } else { false }
        }
        disk.killProcess()
        try await writer.transaction { _ = $0.insert(Item(code: 5)) }
        await #expect { try await SharedItems.open(disk, log.connection(1)) } throws: { error in
            if case GraphError.historyDiverged(let token) = error { token.commit.number == 2 } else { false }
        }
        disk.killProcess()
        let shorter = SimulatedLog(seed: 2, start: 0)
        _ = try await shorter.connection(0).append([log.records[0]], after: 0)
        await #expect { try await SharedItems.open(disk, shorter.connection(1)) } throws: { error in
            if case GraphError.historyDiverged(let token) = error { token.commit.number == 2 } else { false }
        }
        #expect(shorter.records.count == 1)
        let count = log.records.count
        try await writer.transaction { _ = $0.insert(Item(code: 9)) }
        #expect(log.records.count == count + 1)
        // One that the log has forgotten begins too early.
        let forgetful = SimulatedLog(seed: 3, start: 2)
        _ = try await forgetful.connection(0).append(Array(log.records[1...]), after: 2)
        await #expect { try await SharedItems.open(early, forgetful.connection(1)) } throws: { error in
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
        let shared = try await SharedItems.Origin(1)
        let writer = try await shared.writer()
        for code in 2...60 { try await writer.transaction { _ = $0.insert(Item(code: code)) } }
        let other = try await shared.writer(Piecewise(log: shared.log.connection(1)))
        #expect(try SharedItems.codes(other) == Array(1...60))
        for code in 61...120 { try await writer.transaction { _ = $0.insert(Item(code: code)) } }
        let catching = Task { try await other.catchUp() }
        try await other.close()
        _ = await catching.result
        let found = try SharedItems.codes(other)
        #expect(found == Array(1...found.count))
        await #expect(throws: GraphError.closed(path: "memory")) { try await other.catchUp() }
    }
}
