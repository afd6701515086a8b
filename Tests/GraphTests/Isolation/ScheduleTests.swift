import Testing

@testable import Graph

/// R25 to R28: random transactions of several sessions, each time on a schedule of its own, judged by the exact checker.
struct ScheduleTests {
    @Test(arguments: HistoryChecker.Level.allCases)
    func `random transactions show no anomaly that their level forbids`(level: HistoryChecker.Level) async throws {
        let summary = try await Schedules.run(suite: "ScheduleTests", "\(level)") { seed in
            let run = try await LedgerRun(seed: seed, level: level == .snapshot ? .snapshot : .serializable)
            let anomalies = HistoryChecker.anomalies(of: run.history, at: .serializable)
            var counts = run.counts
            for anomaly in anomalies where !level.forbids(anomaly.kind) {
                counts[anomaly.kind.rawValue, default: 0] += 1
            }
            return Schedules.Result(
                schedule: run.schedule,
                course: run.history.course,
                counts: counts,
                failures: run.contradictions + anomalies.filter { level.forbids($0.kind) }.map(\.description),
                details: "\(level)\n\(run.history)"
            )
        }
        guard summary.count >= 500 else { return }
        #expect(summary.schedules.count > summary.count * 9 / 10)
        #expect(summary.courses.count > summary.count * 9 / 10)
        // What the level allows does come up: there were schedules to find what it forbids.
        guard level == .snapshot else { return }
        #expect(summary.counts["G2-item", default: 0] > 0 && summary.counts["G2", default: 0] > 0)
    }
}
