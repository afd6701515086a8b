/// Results as text.
struct Report {
    let results: [WorkloadResult]

    /// A table for people: a row for each workload, losses like wins.
    var table: String {
        let head = ["workload", "unit", "Graph", "SQLite", "native", "vs SQLite", "target", ""]
        let rows = results.map { result in
            [result.workload.name, result.workload.unit.name]
                + Side.allCases.map { text(of: result, $0) } + [
                    result.ratio.map(Figures.factor) ?? "–",
                    result.workload.targets.map(\.text).joined(separator: ", "),
                    result.verdict.rawValue,
                ]
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        let rule = widths.map { String(repeating: "─", count: $0) }
        return ([head, rule] + rows).map { cells in
            var line = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }

    /// How many targets were met.
    var conclusion: String {
        let verdicts = results.map(\.verdict)
        let met = verdicts.count { $0 == .met }
        let missed = verdicts.count { $0 == .missed }
        return "targets: \(met) met, \(missed) missed, \(verdicts.count - met - missed) not judged"
    }

    /// Everything that went wrong: failures and answers that differ.
    var faults: [String] {
        results.flatMap { result in
            result.mismatches.map { "\(result.workload.name): ANSWERS DIFFER, \($0)" }
                + result.failures.map { "\(result.workload.name): FAILED, \($0)" }
        }
    }

    private func text(of result: WorkloadResult, _ side: Side) -> String {
        switch result.columns[side] {
        case .measured(let summary):
            switch result.workload.unit {
            case .seconds: spread(summary, Figures.seconds)
            case .bytes: spread(summary, Figures.bytes)
            }
        case .absent(let reason): reason
        case .failed: "failed"
        case nil: "–"
        }
    }

    private func spread(_ summary: Summary, _ figure: (Double) -> String) -> String {
        "\(figure(summary.median)) (\(figure(summary.minimum))…\(figure(summary.maximum)))"
    }
}
