/// How many times as much each figure is at the largest number of people as at the smallest: a line from 1 to Graph's
/// growth, with SQLite's, native code's and the limit beside it.
struct GrowthChart {
    private let growths: [Growth]
    private let sizes: [Int]
    private let run: RunDescription

    /// Workloads without a growth of Graph's are left out.
    init(growths: [Growth], sizes: [Int], run: RunDescription) {
        self.growths = growths.filter { $0.factor(.engine) != nil }
        self.sizes = sizes
        self.run = run
    }

    var scale: LogScale {
        let factors: [Double] = growths.flatMap { growth in
            Side.allCases.compactMap { growth.factor($0) } + [growth.limit ?? 1]
        }
        return LogScale(covering: factors, from: ChartPage.axis.start, to: ChartPage.axis.end)
    }

    var svg: String {
        let ends = [sizes.first, sizes.last].map { Figures.count($0 ?? 0) }
        var page = ChartPage(
            title: "Growth of each figure from \(ends[0]) to \(ends[1]) people", run: run, scale: scale,
            rows: growths.count)
        drawLegend(&page)
        for (row, growth) in growths.enumerated() {
            draw(growth, row: row, on: &page)
        }
        return page.document.svg
    }

    private func draw(_ growth: Growth, row: Int, on page: inout ChartPage) {
        guard let factor = growth.factor(.engine) else { return }
        let name = growth.workload.name
        let middle = page.y(row) + ChartPage.rowHeight / 2
        let (one, end) = (page.scale.position(1), page.scale.position(factor))
        let colour = Self.colour(growth.verdict)
        page.name(name, row: row)
        var outermost = [one, end]
        page.document.line(
            x1: one, y1: middle, x2: end, y2: middle, stroke: colour, width: 3, kind: "growth",
            note: "\(name): Graph \(Figures.factor(factor))")
        if let limit = growth.limit {
            let x = page.scale.position(limit)
            page.document.line(
                x1: x, y1: middle - 7, x2: x, y2: middle + 7, stroke: ChartPage.Colour.mark, width: 1.5,
                kind: "limit", note: "\(name): at most \(Figures.factor(limit))")
            outermost.append(x)
        }
        if let native = growth.factor(.native) {
            let x = page.scale.position(native)
            page.document.rectangle(
                x: x - 3.5, y: middle - 3.5, width: 7, height: 7, fill: ChartPage.Colour.background,
                stroke: ChartPage.Colour.muted, kind: "native",
                note: "\(name): native \(Figures.factor(native))")
            outermost.append(x + 4)
        }
        if let sqlite = growth.factor(.sqlite) {
            let x = page.scale.position(sqlite)
            page.document.circle(
                x: x, y: middle, radius: 4, fill: ChartPage.Colour.background, stroke: ChartPage.Colour.text,
                kind: "sqlite", note: "\(name): SQLite \(Figures.factor(sqlite))")
            outermost.append(x + 4)
        }
        page.document.circle(x: end, y: middle, radius: 4, fill: colour, stroke: colour, kind: "graph")
        outermost.append(end + 4)
        page.document.text(
            Figures.factor(factor), x: (outermost.max() ?? end) + 5, y: middle + 3.5, size: 10, isBold: true,
            fill: colour)
    }

    private func drawLegend(_ page: inout ChartPage) {
        let y = 85.0
        for (x, colour, text) in [
            (16.0, ChartPage.Colour.good, "Graph, within the limit"), (188, ChartPage.Colour.bad, "beyond it"),
            (280, ChartPage.Colour.unknown, "no limit"),
        ] {
            page.document.line(x1: x, y1: y, x2: x + 18, y2: y, stroke: colour, width: 3)
            page.document.circle(x: x + 18, y: y, radius: 4, fill: colour, stroke: colour)
            page.document.text(text, x: x + 27, y: y + 4, fill: ChartPage.Colour.text)
        }
        page.document.circle(
            x: 380, y: y, radius: 4, fill: ChartPage.Colour.background, stroke: ChartPage.Colour.text)
        page.document.text("SQLite", x: 389, y: y + 4, fill: ChartPage.Colour.text)
        page.document.rectangle(
            x: 444, y: y - 3.5, width: 7, height: 7, fill: ChartPage.Colour.background,
            stroke: ChartPage.Colour.muted)
        page.document.text("native Swift", x: 457, y: y + 4, fill: ChartPage.Colour.text)
        page.document.line(
            x1: 544, y1: y - 7, x2: 544, y2: y + 7, stroke: ChartPage.Colour.mark, width: 1.5)
        page.document.text(
            "limit: the larger of these two, times \(Growth.noise)", x: 550, y: y + 4, fill: ChartPage.Colour.text)
    }

    private static func colour(_ verdict: Target.Verdict) -> String {
        switch verdict {
        case .met: ChartPage.Colour.good
        case .missed: ChartPage.Colour.bad
        case .unknown: ChartPage.Colour.unknown
        }
    }
}
