import Synchronization
import Testing

@testable import Graph

/// R29: what each level of durability keeps, and when a save returns.
struct DurabilityTests {
    private let disk: GatedDisk
    private let clock = ManualClock()

    init() { disk = GatedDisk() }

    private func open(
        _ durability: Durability, on disk: (any StoreFileSystem)? = nil,
        trace: (@Sendable (CommitTrace) -> Void)? = nil
    ) async throws -> Coordinator {
        var options = JournalFixture.options()
        options.idleMarkDelay = .seconds(1)
        return try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk ?? self.disk, options: options, durability: durability, trace: trace, clock: clock)
    }

    private func commit(_ coordinator: Coordinator, _ durability: Durability = .none) async throws {
        try await coordinator.transaction(durability: durability) { _ = $0.insert(Team(name: "red")) }
    }

    private var syncCount: Int { disk.disk.trace.count { $0.hasPrefix("sync ") } }

    /// How many commits are found after a power cut that loses all that it may lose.
    private func commitsAfterPowerCut() async throws -> UInt64 {
        let medium = disk.disk.medium
        let remains = SimulatedDisk(
            medium.crashed(
                keeps: { _ in false }, fill: .zeros, keepsLength: false, namesKept: 0,
                lockChangesKept: medium.pendingLockCount))
        return try await open(.full, on: remains).snapshot.commit.number
    }

    /// How many commits are found after the program was killed.
    private func commitsAfterKill() async throws -> UInt64 {
        disk.disk.killProcess()
        let coordinator = try await open(.full)
        #expect(coordinator.diagnostics == [])
        return coordinator.snapshot.commit.number
    }

    /// Has writes find the disk full until it stops failing.
    private func fillForNow() { for _ in 0..<40 { disk.disk.fail(next: .write, with: .error(.diskFull, 28)) } }

    /// The first commit in doubt, as an error says.
    private func commitInDoubt(_ body: () async throws -> Void) async -> UInt64? {
        do {
            try await body()
            return nil
        } catch GraphError.outcomeUnknown(_, let commit, _) {
            return commit?.number
        } catch {
            return nil
        }
    }

    // MARK: Relaxed

    @Test func `a relaxed save is written when it returns, and survives the end of the program but no power cut`()
        async throws
    {
        let coordinator = try await open(.relaxed)
        let before = syncCount
        for _ in 0..<20 { try await commit(coordinator) }
        #expect(syncCount == before && coordinator.snapshot.commit.number == 20)
        #expect(try await commitsAfterPowerCut() == 0)
        #expect(try await commitsAfterKill() == 20)
        _ = coordinator
    }

    @Test
    func `a save that asks for more makes all before it durable, and one that asks for less gets the store's level`()
        async throws
    {
        let coordinator = try await open(.relaxed)
        for _ in 0..<5 { try await commit(coordinator) }
        try await commit(coordinator, .full)
        #expect(try await commitsAfterPowerCut() == 6)
        disk.hold()
        let save = Task { try await commit(coordinator, .none) }
        await disk.waitForArrival()
        #expect(coordinator.snapshot.commit.number == 6)
        disk.release()
        try await save.value
        #expect(try await commitsAfterPowerCut() == 6)
        try await coordinator.close()
        #expect(try await commitsAfterPowerCut() == 7)
    }

    @Test func `a written state is found while readers see a newer one that is not written`() async throws {
        let coordinator = try await open(.none)
        try await commit(coordinator)
        try await coordinator.sync()
        let written = coordinator.snapshot
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        #expect(coordinator.snapshot.commit.number == 2 && coordinator.cachedSnapshot(at: written.token) == nil)
        #expect(try await coordinator.snapshot(at: written.token).token == written.token)
        disk.release()
        try await coordinator.close()
    }

    @Test func `a save on a context asks for more, too`() async throws {
        let context = Context(try await open(.none))
        _ = await context.perform { $0.insert(Team(name: "red")).id }
        try await context.save(durability: .full)
        #expect(try await commitsAfterPowerCut() == 1)
        _ = await context.perform { $0.insert(Team(name: "blue")).id }
        try await context.save(retries: 1, durability: .full)
        #expect(try await commitsAfterPowerCut() == 2)
    }

    @Test(arguments: [Durability.none, .relaxed]) func `sync makes everything durable, once`(level: Durability)
        async throws
    {
        let coordinator = try await open(level)
        for _ in 0..<5 { try await commit(coordinator) }
        try await coordinator.sync()
        #expect(try await commitsAfterPowerCut() == 5)
        let before = syncCount
        try await coordinator.sync()
        #expect(syncCount == before)
        try await coordinator.close()
        await #expect(throws: GraphError.closed(path: JournalFixture.path)) { try await coordinator.sync() }
    }

    @Test func `there is nothing to sync in memory, and on the full level`() async throws {
        let memory = try await Coordinator(for: Team.self, Person.self, durability: .none)
        try await memory.transaction { _ = $0.insert(Team(name: "red")) }
        try await memory.sync()
        try await memory.close()
        let full = try await open(.full)
        try await commit(full)
        let before = syncCount
        try await full.sync()
        #expect(syncCount == before)
        try await full.close()
    }

    @Test(arguments: [Durability.none, .relaxed])
    func `within a second commits are synced, and a mark follows when nothing is written for another one`(
        level: Durability
    )
        async throws
    {
        let coordinator = try await open(level)
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        try await commit(coordinator)
        try await coordinator.waitForEarlier(.none)
        clock.advance(by: .seconds(1))
        await clock.waitForSleeps(2)
        #expect(try await commitsAfterPowerCut() == 2)
        disk.hold()
        clock.advance(by: .seconds(1))
        await disk.waitForArrival()
        disk.release()
        try await coordinator.close()
        let kinds = DamagedFile.records(in: disk.disk.contents(JournalFixture.path) ?? []).dropFirst(2)
            .map { Journal.RecordKind(rawValue: $0.kind) }
        #expect(kinds == [.commit, .commit, .mark, .close])
        #expect(clock.sleepCount == 2)
    }

    @Test(arguments: [Durability.none, .relaxed]) func `a coordinator that is released syncs`(level: Durability)
        async throws
    {
        weak var weakCoordinator: Coordinator?
        do {
            let coordinator = try await open(level)
            weakCoordinator = coordinator
            for _ in 0..<5 { try await commit(coordinator) }
        }
        while weakCoordinator != nil { await Task.yield() }
        let again = try await open(.full)
        #expect(again.snapshot.commit.number == 5)
        #expect(try await commitsAfterPowerCut() == 5)
    }

    @Test func `much that is not synced is synced`() throws {
        let disk = SimulatedDisk()
        var options = JournalFixture.options()
        options.transactionLimitBytes = 64 << 20
        var writer = try JournalFixture.open(disk, options: options).opened.writer
        let record = Journal.Record(kind: .commit, payload: [UInt8](repeating: 1, count: 30 << 20))
        try writer.write([record], durably: false)
        try writer.write([record], durably: false)
        #expect(writer.unsyncedBytes > 60 << 20 && writer.durableThrough.number == 2)
        try writer.write([record], durably: false)
        #expect(writer.unsyncedBytes == 0 && writer.durableThrough.number == 5)
    }

    // MARK: None

    @Test func `a save that waits for nothing returns while the disk is busy, and readers see it`() async throws {
        let coordinator = try await open(.none)
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        for _ in 0..<10 { try await commit(coordinator) }
        #expect(coordinator.snapshot.commit.number == 11)
        disk.release()
        try await coordinator.waitForEarlier(.none)
        #expect(try await commitsAfterPowerCut() == 0)
        #expect(try await commitsAfterKill() == 11)
    }

    @Test func `a kill loses the last ones only`() async throws {
        let coordinator = try await open(.none)
        for _ in 0..<3 { try await commit(coordinator) }
        try await coordinator.waitForEarlier(.none)
        disk.hold()
        for _ in 0..<4 { try await commit(coordinator) }
        await disk.waitForArrival()
        disk.disk.killProcess()
        disk.release()
        #expect(try await commitsAfterKill() == 3)
        _ = coordinator
    }

    @Test func `a save that waits for more waits for those before it, and later ones wait for it`() async throws {
        let coordinator = try await open(.none)
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        let full = Task { try await commit(coordinator, .full) }
        while await coordinator.waitingSaveCount < 1 { await Task.yield() }
        let later = Task { try await commit(coordinator) }
        while await coordinator.waitingSaveCount < 2 { await Task.yield() }
        #expect(coordinator.snapshot.commit.number == 1)
        disk.release()
        try await full.value
        #expect(try await commitsAfterPowerCut() >= 2)
        try await later.value
        #expect(coordinator.snapshot.commit.number == 3)
        try await coordinator.close()
        #expect(try await commitsAfterPowerCut() == 3)
    }

    @Test func `no more than some megabytes wait to be written`() async throws {
        let coordinator = try await open(.none)
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        let name = String(repeating: "x", count: 3 << 20)
        for _ in 0..<2 { try await coordinator.transaction { _ = $0.insert(Team(name: name)) } }
        let third = Task { try await coordinator.transaction { _ = $0.insert(Team(name: name)) } }
        while await coordinator.waitingSaveCount < 3 { await Task.yield() }
        await coordinator.takeTurn()
        #expect(coordinator.snapshot.commit.number == 3)
        disk.release()
        try await third.value
        #expect(coordinator.snapshot.commit.number == 4)
        try await coordinator.close()
        #expect(try await commitsAfterKill() == 4)
    }

    @Test func `commits that find the disk full wait for room, and saves wait with them`() async throws {
        let coordinator = try await open(.none)
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        try await commit(coordinator)
        fillForNow()
        disk.release()
        await #expect(throws: GraphError.self) { try await coordinator.waitForEarlier(.none) }
        // Refused, since nothing can be written, and not published.
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await commit(coordinator) }
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await coordinator.sync() }
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await coordinator.close() }
        #expect(coordinator.snapshot.commit.number == 2)
        disk.disk.stopFailing()
        // The timer tries again.
        await clock.waitForSleeps(1)
        clock.advance(by: .seconds(1))
        await clock.waitForSleeps(2)
        #expect(try await commitsAfterPowerCut() == 2)
        try await commit(coordinator)
        #expect(coordinator.snapshot.commit.number == 3)
        try await coordinator.close()
        #expect(try await commitsAfterPowerCut() == 3)
    }

    @Test func `closing without changes that find no room says which are lost`() async throws {
        let coordinator = try await open(.none)
        try await commit(coordinator)
        try await coordinator.sync()
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        fillForNow()
        disk.release()
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await coordinator.close() }
        #expect(await commitInDoubt { try await coordinator.close(discardingChanges: true) } == 2)
        disk.disk.stopFailing()
        #expect(try await commitsAfterKill() == 1)
        try await coordinator.close()
    }

    @Test func `nothing is published unwritten behind the last write of a store that closes`() async throws {
        let coordinator = try await open(.none)
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        let closing = Task { try await coordinator.close() }
        while await coordinator.waitingSaveCount < 1 { await Task.yield() }
        let late = Task { try await commit(coordinator) }
        while await coordinator.waitingSaveCount < 2 { await Task.yield() }
        #expect(coordinator.snapshot.commit.number == 1)
        fillForNow()
        disk.release()
        // The write that was held up finds no room: all that waits is told so, and the store stays open.
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await closing.value }
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await late.value }
        disk.disk.stopFailing()
        try await commit(coordinator)
        try await coordinator.close()
        #expect(try await commitsAfterPowerCut() == 2)
    }

    @Test func `compacting takes what is written, and the rest follows`() async throws {
        let coordinator = try await open(.none)
        for _ in 0..<5 { try await commit(coordinator) }
        async let compaction: Void = coordinator.compact()
        for _ in 0..<50 { try await commit(coordinator) }
        try await compaction
        for _ in 0..<5 { try await commit(coordinator) }
        try await coordinator.close()
        #expect(try await commitsAfterPowerCut() == 60)
        let again = try await open(.full)
        #expect(again.snapshot.check() == [] && again.snapshot.count(of: Team.self) == 60)
        #expect(try await #require(again.journal).generation == 2)
    }

    // MARK: Failures

    @Test(arguments: [Durability.none, .relaxed])
    func `when the disk fails behind a save, the store ends and names the first commit in doubt`(level: Durability)
        async throws
    {
        let traces = Mutex<[CommitTrace]>([])
        let coordinator = try await open(level, trace: { trace in traces.withLock { $0.append(trace) } })
        try await commit(coordinator, .full)
        try await commit(coordinator)
        try await coordinator.waitForEarlier(.none)
        try await commit(coordinator)
        try await coordinator.waitForEarlier(.none)
        await clock.waitForSleeps(1)
        disk.disk.fail(next: .sync, with: .syncFailure(reverts: true))
        clock.advance(by: .seconds(1))
        while await coordinator.state.ending == nil { await Task.yield() }
        await #expect(throws: GraphError.self) { try await commit(coordinator) }
        #expect(await commitInDoubt { try await coordinator.sync() } == 2)
        #expect(
            traces.withLock { $0.filter { $0.error != nil }.first?.origin.commit } == CommitNumber(2))
        #expect(await commitInDoubt { try await coordinator.close() } == 2)
        try await coordinator.close()
        #expect(try await commitsAfterKill() >= 1)
    }

    @Test func `a failure while closing names the first commit in doubt`() async throws {
        let coordinator = try await open(.relaxed)
        try await commit(coordinator, .full)
        try await commit(coordinator)
        disk.disk.fail(next: .sync, with: .syncFailure(reverts: true))
        #expect(await commitInDoubt { try await coordinator.close() } == 2)
    }

    @Test func `when a write fails behind a save, the store ends and names the first commit in doubt`() async throws {
        let coordinator = try await open(.none)
        try await commit(coordinator, .full)
        disk.hold()
        try await commit(coordinator)
        await disk.waitForArrival()
        try await commit(coordinator)
        let full = Task { try await commit(coordinator, .full) }
        while await coordinator.waitingSaveCount < 2 { await Task.yield() }
        disk.disk.fail(operation: disk.disk.operationCount, with: .error(.other, 5))
        disk.release()
        await #expect(throws: GraphError.self) { try await full.value }
        #expect(await commitInDoubt { try await coordinator.close() } == 2)
        #expect(try await commitsAfterKill() <= 2)
    }
}
