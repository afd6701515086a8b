import Testing

@testable import Graph

/// R25 to R28: random transactions of several sessions, each time on a schedule of its own, checked by the exact checker.
struct ScheduleTests {
    @Test(arguments: HistoryChecker.Level.allCases)
    func `random transactions show no anomaly that their level forbids`(level: HistoryChecker.Level) async throws {
        try await run(level, on: .memory, share: 2)
    }

    /// R27, R29. Head runs ahead of what is published, groups are written, and writes and syncs fail.
    @Test(arguments: HistoryChecker.Level.allCases)
    func `the same on a disk that fails now and then, and the file has what was answered`(
        level: HistoryChecker.Level
    ) async throws {
        try await run(level, on: .disk, share: 8)
    }

    /// R25, R26. The same programs without a schedule.
    @Test(arguments: HistoryChecker.Level.allCases)
    func `the same on real threads`(level: HistoryChecker.Level) async throws {
        try await run(level, on: .threads, share: 20)
    }

    /// R25 to R28 for several stores that save to one log. Requests and answers come late, twice or never, and connections are cut.
    @Test(arguments: HistoryChecker.Level.allCases)
    func `the same for five stores that save to one log by bad connections`(
        level: HistoryChecker.Level
    ) async throws {
        try await run(level, on: .log, share: 8)
    }

    /// R27. Who deletes what others have just deleted has nothing to do, and is told so when that is sure.
    @Test func `a delete that has succeeded is in the file, also if it was somebody else's`() async throws {
        await Schedules.check(suite: "ScheduleTests", "deletes, on disk", share: 8) { seed in
            let disk = LedgerDisk(seed: seed, operations: 3)
            let coordinator = try await disk.open()
            let account = try await Context(coordinator).insertLedger(1).accounts[0]
            disk.activateFaults()
            let executor = SeededExecutor(seed: seed, sessions: 1)
            let queue = disk.hold(coordinator)
            let deletes = executor.run(drain: queue.run) {
                await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            let context = Context(coordinator)
                            await context.perform { $0[account]?.delete() }
                            do { try await context.save() } catch { return false }
                            return true
                        }
                    }
                    let count = await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                    try? await coordinator.close()
                    return count
                }
            }
            queue.release()
            guard let deletes else {
                return Schedules.Result(schedule: executor.trace, failures: ["the sessions hang"])
            }
            var result = Schedules.Result(schedule: executor.trace, course: "\(deletes)")
            if deletes > 0, let last = try disk.states().last,
                last.values.keys.contains(where: { $0.name.hasPrefix("a") })
            {
                result.failures = ["\(deletes) deletes have succeeded, and the account is there"]
            }
            return result
        }
    }

    @Test(arguments: [LedgerRun.Medium.memory, .disk, .log]) func `a seed fixes all that happens`(
        medium: LedgerRun.Medium
    ) async throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let first = try await LedgerRun(seed: seed, level: .serializable, on: medium)
            let second = try await LedgerRun(seed: seed, level: .serializable, on: medium)
            #expect(first.schedule == second.schedule)
            #expect(first.history.description == second.history.description)
        }
    }

    private func run(
        _ level: HistoryChecker.Level,
        on medium: LedgerRun.Medium,
        share: UInt64
    ) async throws {
        let summary = await Schedules.check(suite: "ScheduleTests", "\(level), \(medium)", share: share) { seed in
            try await LedgerRun.result(seed: seed, level, on: medium)
        }
        guard summary.count >= 250, medium != .threads else { return }
        #expect(summary.schedules.count > summary.count * 9 / 10)
        #expect(summary.courses.count > summary.count * 9 / 10)
        // What the level allows does come up: there were schedules to find what it forbids.
        guard level == .snapshot else { return }
        #expect(summary.counts["G2-item", default: 0] > 0 && summary.counts["G2", default: 0] > 0)
    }
}
