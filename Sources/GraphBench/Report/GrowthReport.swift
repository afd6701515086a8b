/// The growth of every workload as text.
struct GrowthReport {
    let sizes: [Int]
    let growths: [Growth]

    var table: String {
        let figures = sizes.map { "Graph at \(Figures.count($0))" }
        let head = ["workload", "unit"] + figures + ["Graph grew", "SQLite grew", "native grew", "target", ""]
        return TextTable.text(head: head, rows: growths.map(Self.row))
    }

    private static func row(_ growth: Growth) -> [String] {
        let unit = growth.workload.unit
        let figures = growth.results.map { result in result.median(.engine).map(unit.text) ?? "–" }
        let factors = Side.allCases.map { growth.factor($0).map(Figures.factor) ?? "–" }
        let limit = growth.limit.map { "≤ \(Figures.factor($0))" } ?? "–"
        return [growth.workload.name, unit.name] + figures + factors + [limit, growth.verdict.rawValue]
    }

    var conclusion: String {
        let rule =
            "no faster than SQLite's figure or native code's, whichever grows more, times \(Growth.noise) for noise"
        return "growth: \(Target.summary(growths.map(\.verdict)))\nthe target: \(rule)"
    }
}
