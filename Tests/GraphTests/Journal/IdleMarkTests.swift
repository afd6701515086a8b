import Testing

@testable import Graph

/// The mark that follows the last group of a busy time, and the timer that brings it.
struct IdleMarkTests {
    private let disk = GatedDisk()
    private let clock = ManualClock()

    private func open() async throws -> Coordinator {
        var options = JournalFixture.options()
        options.idleMarkDelay = .seconds(1)
        return try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk, options: options, clock: clock)
    }

    private func commit(_ coordinator: Coordinator) async throws {
        try await coordinator.transaction { _ = $0.insert(Team(name: "red")) }
    }

    /// The kinds of the records behind the seal.
    private var kinds: [Journal.RecordKind?] {
        DamagedFile.records(in: disk.disk.contents(JournalFixture.path) ?? []).dropFirst(2)
            .map { Journal.RecordKind(rawValue: $0.kind) }
    }

    /// Returns when the mark is about to be written, and waits.
    private func reachMark() async {
        disk.hold()
        clock.advance(by: .seconds(1))
        await disk.waitForArrival()
    }

    @Test func `a second after the last group comes one mark, and then nothing`() async throws {
        let coordinator = try await open()
        #expect(clock.sleepCount == 0)
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        await reachMark()
        disk.release()
        try await coordinator.close()
        #expect(kinds == [.commit, .mark, .close])
        #expect(clock.sleepCount == 1 && clock.sleeperCount == 0)
    }

    @Test func `a store that a program opens waits for a second`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(await coordinator.idleMarkDelay == .seconds(1))
        try await coordinator.close()
    }

    @Test func `while groups are written no mark comes in between`() async throws {
        let coordinator = try await open()
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        for round in 2...4 {
            try await commit(coordinator)
            clock.advance(by: .seconds(1))
            await clock.waitForSleeps(round)
        }
        await reachMark()
        disk.release()
        // The next busy time has its own.
        try await commit(coordinator)
        await clock.waitForSleeps(5)
        await reachMark()
        disk.release()
        try await coordinator.close()
        #expect(kinds == [.commit, .commit, .commit, .commit, .mark, .commit, .mark, .close])
    }

    @Test func `a save during a mark comes after it, with counters that go on`() async throws {
        let coordinator = try await open()
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        await reachMark()
        let save = Task { try await commit(coordinator) }
        while await coordinator.waitingSaveCount == 0 { await Task.yield() }
        disk.release()
        try await save.value
        try await coordinator.close()
        #expect(kinds == [.commit, .mark, .commit, .close])
        let again = try await open()
        #expect(again.snapshot.commit.number == 2 && again.diagnostics == [])
    }

    @Test func `closing waits for a mark that is being written, and ends the timer of one that is not`() async throws {
        let coordinator = try await open()
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        await reachMark()
        let closing = Task { try await coordinator.close() }
        while await coordinator.waitingSaveCount == 0 { await Task.yield() }
        disk.release()
        try await closing.value
        #expect(kinds == [.commit, .mark, .close])
        let again = try await open()
        try await commit(again)
        await clock.waitForSleeps(2)
        try await again.close()
        #expect(clock.sleeperCount == 0)
        #expect(kinds == [.commit, .mark, .close, .commit, .close])
    }

    @Test func `the timer keeps no coordinator`() async throws {
        weak var weakCoordinator: Coordinator?
        do {
            let coordinator = try await open()
            weakCoordinator = coordinator
            try await commit(coordinator)
            await clock.waitForSleeps(1)
        }
        while weakCoordinator != nil { await Task.yield() }
        #expect(clock.sleeperCount == 0)
        #expect(kinds == [.commit])
    }

    @Test func `a mark that finds the disk full harms nothing, and any other failure is the next save's`() async throws
    {
        let coordinator = try await open()
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        await reachMark()
        disk.fill()
        disk.release()
        try await commit(coordinator)
        #expect(kinds == [.commit, .commit])
        await clock.waitForSleeps(2)
        await reachMark()
        disk.disk.fail(operation: disk.disk.operationCount, with: .error(.other, 5))
        disk.release()
        do {
            try await commit(coordinator)
            Issue.record("saved")
        } catch GraphError.storeFailed {
        }
        try await coordinator.close()
        #expect(kinds == [.commit, .commit])
    }

    @Test func `after a mark damage to the last group needs no lock file to be seen`() async throws {
        let coordinator = try await open()
        try await commit(coordinator)
        await clock.waitForSleeps(1)
        await reachMark()
        disk.release()
        try await commit(coordinator)
        await clock.waitForSleeps(2)
        await reachMark()
        disk.release()
        while kinds != [.commit, .mark, .commit, .mark] { await Task.yield() }
        let bytes = disk.disk.contents(JournalFixture.path) ?? []
        let last = DamagedFile.records(in: bytes)[4]
        for offset in last.range {
            let damaged = SimulatedDisk()
            var copy = bytes
            copy[offset] ^= 0x10
            damaged.setContents(copy, at: JournalFixture.path)
            do throws(GraphError) {
                _ = try await Coordinator.people(on: damaged)
                Issue.record("\(offset) opened")
            } catch {
                guard case .corrupt(_, UInt64(last.range.lowerBound), last.sequence, _) = error else { throw error }
            }
        }
        try await coordinator.close()
    }
}
