@testable import GraphBench

/// Results that nothing measured.
enum SampleResults {
    static let run = RunDescription(
        suite: "quick", runs: 3, date: "2026-11-21T16:00:00Z", cpu: "A <fast> & \"new\" one", processors: 2,
        system: "Linux 6.18", toolchain: "Swift 6.3.1", sqlite: "3.40.1", commandLine: "GraphBench")

    /// A figure of 10 % of spread for every side that is given.
    static func result(
        _ name: String, rows: Int = 100_000, engine: Double?, sqlite: Double? = nil, native: Double? = nil,
        targets: [Target] = [], growthLimit: Double? = nil, unit: Workload.Unit = .seconds(per: "row"),
        baseline: Baseline = .native, note: String? = nil
    ) -> WorkloadResult {
        let workload = Workload(
            name, "a sample", note: note, unit: unit, targets: targets, growthLimit: growthLimit, baseline: baseline,
            sqlite: nil,
            native: nil)
        var result = WorkloadResult(workload: workload, rows: rows)
        for (side, figure) in [(Side.engine, engine), (.sqlite, sqlite), (.native, native)] {
            guard let figure else { continue }
            result.columns[side] = .measured(Summary([figure * 0.95, figure, figure * 1.05]))
        }
        return result
    }

    static func lines(_ results: WorkloadResult...) -> [ResultLine] {
        results.map { ResultLine($0, run: run) }
    }
}
