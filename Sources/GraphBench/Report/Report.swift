/// Results as text.
struct Report {
    let results: [WorkloadResult]

    /// A table for people: a row for each workload, losses like wins, and what to know about them below.
    var table: String {
        let head = ["workload", "unit", "Graph", "SQLite", "native", "vs SQLite", "target", ""]
        let rows = results.map { result in
            [result.workload.name, result.workload.unit.name]
                + Side.allCases.map { text(of: result, $0) } + [
                    result.ratio(to: .sqlite).map(Figures.factor) ?? "–",
                    result.workload.targets.map(\.text).joined(separator: ", "),
                    result.verdict.rawValue,
                ]
        }
        let notes = results.compactMap { result in result.workload.note.map { "\(result.workload.name): \($0)" } }
        return ([TextTable.text(head: head, rows: rows)] + notes).joined(separator: "\n")
    }

    /// How many targets were met.
    var conclusion: String {
        "targets: \(Target.summary(results.filter { !$0.workload.targets.isEmpty }.map(\.verdict)))"
    }

    /// Everything that went wrong: failures and answers that differ.
    var faults: [String] {
        results.flatMap { result in
            let name = "\(result.workload.name), \(Figures.count(result.rows)) people"
            return result.mismatches.map { "\(name): ANSWERS DIFFER, \($0)" }
                + result.failures.map { "\(name): FAILED, \($0)" }
        }
    }

    private func text(of result: WorkloadResult, _ side: Side) -> String {
        switch result.columns[side] {
        case .measured(let summary):
            spread(summary, result.workload.unit.text)
                + (side == .native ? result.workload.baseline.name.map { " " + $0 } ?? "" : "")
        case .absent(let reason): reason
        case .failed: "failed"
        case nil: "–"
        }
    }

    private func spread(_ summary: Summary, _ figure: (Double) -> String) -> String {
        "\(figure(summary.median)) (\(figure(summary.minimum))…\(figure(summary.maximum)))"
    }
}
