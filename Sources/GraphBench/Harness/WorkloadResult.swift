/// What was measured of one workload.
struct WorkloadResult: Sendable {
    enum Column: Sendable {
        case measured(Summary)
        /// There is nothing to measure on this side, and why.
        case absent(String)
        case failed(String)

        var summary: Summary? {
            if case .measured(let summary) = self { summary } else { nil }
        }
    }

    let workload: Workload
    /// The number of people.
    let rows: Int
    var columns: [Side: Column] = [:]
    /// Answers that differ, one sentence for each.
    var mismatches: [String] = []

    func median(_ side: Side) -> Double? {
        columns[side]?.summary?.median
    }

    /// How many times as fast or as small as a peer Graph is: above 1 when it is better.
    func ratio(to side: Side) -> Double? {
        guard workload.isPeer(side), let engine = median(.engine), let other = median(side), engine > 0, other > 0
        else { return nil }
        return other / engine
    }

    var verdict: Target.Verdict {
        Target.verdict(
            workload.targets.map {
                $0.verdict(engine: median(.engine), sqlite: median(.sqlite), native: median(.native))
            })
    }

    var failures: [String] {
        Side.allCases.compactMap { side in
            if case .failed(let message) = columns[side] { "\(side.rawValue): \(message)" } else { nil }
        }
    }
}
