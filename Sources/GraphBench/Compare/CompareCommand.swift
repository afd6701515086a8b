/// `GraphBench compare`: what moved between two files.
struct CompareCommand {
    let old: ResultFile
    let new: ResultFile

    /// - Returns: what to print, and the exit code: 1 when something is worse or lost.
    func run() throws(ResultFile.Invalid) -> (text: String, code: Int32) {
        let comparison = try Comparison(old: old, new: new)
        var lines = ["old: \(heading(old))", "new: \(heading(new))", ""]
        let moved = comparison.entries(.worse) + comparison.entries(.better)
        if !moved.isEmpty {
            let rows = moved.map { entry in
                [entry.verdict.rawValue, name(entry.line.key), text(entry.old, entry), text(entry.new, entry)]
                    + [basis(entry)]
            }
            lines += [TextTable.text(head: ["", "workload", "old", "new", ""], rows: rows), ""]
        }
        for (key, reason) in comparison.lost {
            lines.append("worse: \(name(key)) has lost a figure or its answer: \(printable(reason))")
        }
        let same = comparison.entries(.same).count
        let worse = comparison.entries(.worse).count + comparison.lost.count
        let lost = comparison.onlyOld.isEmpty ? "" : ", \(comparison.onlyOld.count) lost"
        lines.append("\(worse) worse, \(comparison.entries(.better).count) better, \(same) within noise\(lost)")
        for (file, keys) in [(old, comparison.onlyOld), (new, comparison.onlyNew)] where !keys.isEmpty {
            lines.append("only in \(printable(file.name)): \(keys.map(name).joined(separator: ", "))")
        }
        return (lines.joined(separator: "\n"), comparison.isWorse ? 1 : 0)
    }

    private func heading(_ file: ResultFile) -> String {
        let run = file.lines[0].run
        return printable("\(file.name), \(run.date), \(run.machine), \(Figures.number(run.runs, of: "run"))")
    }

    private func name(_ key: ResultFile.Key) -> String {
        old.sizes.count == 1 ? key.workload : "\(key.workload) at \(Figures.count(key.rows))"
    }

    private func basis(_ entry: Comparison.Entry) -> String {
        switch entry.basis {
        case .ratio(.native):
            "as fast as " + (entry.line.baseline.flatMap(Baseline.init)?.name ?? Side.native.rawValue)
        case .ratio(let side): "as fast as \(side.rawValue)"
        case .figure: printable(entry.line.unit)
        }
    }

    private func text(_ summary: Summary, _ entry: Comparison.Entry) -> String {
        let figures = [summary.median, summary.minimum, summary.maximum].map { value in
            switch entry.basis {
            case .ratio: Figures.factor(value)
            case .figure: entry.line.text(value)
            }
        }
        return "\(figures[0]) (\(figures[1])…\(figures[2]))"
    }

    /// A file may hold what a terminal would obey.
    private func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(300).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: "?"
            default: String(scalar)
            }
        }
        return scalars.joined()
    }
}
