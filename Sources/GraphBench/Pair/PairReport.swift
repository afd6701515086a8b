/// What pairs came to, for people.
struct PairReport {
    enum Outcome {
        case measured(PairSeries)
        /// A side has nothing to measure.
        case absent
        case failed(String)
    }

    private var rows: [[String]] = []
    private var verdicts: [PairSeries.Verdict] = []
    /// What differs or failed, one sentence for each.
    private(set) var faults: [String] = []

    /// Whether something is slower, differs or failed.
    var isBad: Bool { !faults.isEmpty || verdicts.contains(.slower) }

    mutating func add(_ workload: Workload, _ opponent: PairCommand.Opponent, _ outcome: Outcome) {
        let name = opponent.name(in: workload)
        switch outcome {
        case .measured(let series):
            let (ratios, unit) = (series.ratios, workload.unit)
            let quartiles = "\(Figures.ratio(ratios.lower))…\(Figures.ratio(ratios.upper))"
            rows.append([
                workload.name, unit.name, unit.text(Quartiles(series.this).median),
                "\(unit.text(Quartiles(series.other).median)) \(name)", Figures.ratio(ratios.median), quartiles,
                series.verdict.rawValue,
            ])
            verdicts.append(series.verdict)
            faults += series.mismatches.map { "\(workload.name): ANSWERS DIFFER, \($0)" }
        case .absent:
            rows.append([workload.name, workload.unit.name, "", "", "", "", "nothing to compare with"])
        case .failed(let reason):
            rows.append([workload.name, workload.unit.name, "", "", "", "", "failed"])
            faults.append("\(workload.name): \(reason)")
        }
    }

    var text: String {
        let head = ["workload", "unit", "this", "other", "ratio", "quartiles", ""]
        let counts = [PairSeries.Verdict.slower, .faster, .same].map { verdict in
            "\(verdicts.count { $0 == verdict }) \(verdict == .same ? "the same" : verdict.rawValue)"
        }
        return """
            \(TextTable.text(head: head, rows: rows))

            \(counts.joined(separator: ", ")); \(faults.isEmpty ? "all answers agree" : "SEE BELOW")
            """
    }
}

extension Figures {
    /// A ratio of which hundredths count.
    static func ratio(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return (0.0995..<9.995).contains(value) ? "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)x" : factor(value)
    }
}
