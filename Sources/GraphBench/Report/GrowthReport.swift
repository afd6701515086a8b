/// The growth of every workload as text.
struct GrowthReport {
    let sizes: [Int]
    let growths: [Growth]

    var table: String {
        let head =
            ["workload", "unit"] + sizes.map { "Graph at \(Figures.count($0))" }
            + ["Graph grew", "SQLite grew", "native grew", "target", ""]
        let rows = growths.map { growth in
            [growth.workload.name, growth.workload.unit.name]
                + growth.results.map { result in result.median(.engine).map(growth.workload.unit.text) ?? "–" }
                + Side.allCases.map { growth.factor($0).map(Figures.factor) ?? "–" }
                + [growth.limit.map { "≤ \(Figures.factor($0))" } ?? "–", growth.verdict.rawValue]
        }
        return TextTable.text(head: head, rows: rows)
    }

    var conclusion: String {
        let rule =
            "no faster than SQLite's figure or native code's, whichever grows more, times \(Growth.noise) for noise"
        return "growth: \(Target.summary(growths.map(\.verdict)))\nthe target: \(rule)"
    }
}
