/// How many times as fast as SQLite Graph is, and beside that native code: a bar to the right is a win, one to the left a
/// loss, and a bar twice as long is a square of the factor.
struct RatioChart {
    private let results: [WorkloadResult]
    private let rows: Int
    private let run: RunDescription

    /// Results without a peer are left out: there is nothing to compare.
    init(results: [WorkloadResult], rows: Int, run: RunDescription) {
        self.results = results.filter { $0.ratio(to: .sqlite) != nil || $0.ratio(to: .native) != nil }
        self.rows = rows
        self.run = run
    }

    var scale: LogScale {
        let ratios = results.flatMap { [$0.ratio(to: .sqlite), $0.ratio(to: .native)] }
        let targets = results.flatMap { result in
            result.workload.targets.compactMap { Self.mark($0)?.ratio }
        }
        return LogScale(
            covering: ratios.compactMap { $0 } + targets, from: ChartPage.axis.start, to: ChartPage.axis.end)
    }

    var svg: String {
        var page = ChartPage(
            title: "Graph beside SQLite and native Swift, \(Figures.count(rows)) people", run: run, scale: scale,
            rows: results.count)
        drawLegend(&page)
        for (row, result) in results.enumerated() {
            draw(result, row: row, on: &page)
        }
        return page.document.svg
    }

    private func draw(_ result: WorkloadResult, row: Int, on page: inout ChartPage) {
        let name = result.workload.name
        let y = page.y(row)
        page.name(name, row: row)
        let labelled = result.ratio(to: .sqlite) == nil ? Side.native : .sqlite
        var ends = [page.scale.position(1)]
        for side in [Side.sqlite, .native] {
            guard let ratio = result.ratio(to: side) else { continue }
            let (colour, top, height) =
                side == .sqlite
                ? (ratio < 1 ? ChartPage.Colour.bad : ChartPage.Colour.good, y + 4, 9.0)
                : (ratio < 1 ? ChartPage.Colour.badLight : ChartPage.Colour.goodLight, y + 14, 4.0)
            let (one, end) = (page.scale.position(1), page.scale.position(ratio))
            page.document.rectangle(
                x: min(one, end), y: top, width: abs(end - one), height: height, fill: colour,
                kind: "bar \(side.rawValue)",
                note: "\(name): \(Figures.factor(ratio)) as \(result.workload.unit.praise) as \(side.rawValue)")
            if side == labelled { ends.append(end) }
        }
        for target in result.workload.targets {
            guard let (side, ratio) = Self.mark(target) else { continue }
            let x = page.scale.position(ratio)
            let (top, bottom) = side == .sqlite ? (y + 2, y + 14) : (y + 13, y + 20)
            page.document.line(
                x1: x, y1: top, x2: x, y2: bottom, stroke: ChartPage.Colour.mark, width: 1.5, kind: "target",
                note: "\(name): \(target.text)")
            // A figure beside the bar would be struck through.
            if side == labelled, let end = ends.last, abs(x - end) < 36 { ends.append(x) }
        }
        label(result, row: row, ends: ends, on: &page)
    }

    /// The ratio to SQLite, or else to native code, at the outer end of the bar.
    private func label(_ result: WorkloadResult, row: Int, ends: [Double], on page: inout ChartPage) {
        guard let ratio = result.ratio(to: .sqlite) ?? result.ratio(to: .native) else { return }
        let isLoss = ratio < 1
        let end = (isLoss ? ends.min() : ends.max()) ?? page.scale.position(1)
        let isPale = result.ratio(to: .sqlite) == nil
        page.document.text(
            Figures.factor(ratio), x: end + (isLoss ? -4 : 4), y: page.y(row) + (isPale ? 19 : 12.5), size: 10,
            anchor: isLoss ? .end : .start, isBold: !isPale,
            fill: isPale ? ChartPage.Colour.muted : isLoss ? ChartPage.Colour.bad : ChartPage.Colour.good)
    }

    private func drawLegend(_ page: inout ChartPage) {
        let y = 80.0
        page.document.rectangle(x: 16, y: y, width: 22, height: 9, fill: ChartPage.Colour.good)
        page.document.text("faster or smaller than SQLite", x: 43, y: y + 9, fill: ChartPage.Colour.text)
        page.document.rectangle(x: 212, y: y, width: 22, height: 9, fill: ChartPage.Colour.bad)
        page.document.text("slower or larger than SQLite", x: 239, y: y + 9, fill: ChartPage.Colour.text)
        page.document.rectangle(x: 404, y: y + 3, width: 11, height: 4, fill: ChartPage.Colour.goodLight)
        page.document.rectangle(x: 415, y: y + 3, width: 11, height: 4, fill: ChartPage.Colour.badLight)
        page.document.text("the same beside native Swift", x: 431, y: y + 9, fill: ChartPage.Colour.text)
        page.document.line(
            x1: 608, y1: y - 2, x2: 608, y2: y + 11, stroke: ChartPage.Colour.mark, width: 1.5)
        page.document.text("target", x: 614, y: y + 9, fill: ChartPage.Colour.text)
        page.document.text("log scale", x: 784, y: y + 9, anchor: .end, fill: ChartPage.Colour.muted)
    }

    /// Where a target is on the axis, and whose bar it is about.
    private static func mark(_ target: Target) -> (side: Side, ratio: Double)? {
        switch target {
        case .timesSQLite(let factor): (.sqlite, factor)
        case .within(let factor, .native): (.native, 1 / factor)
        case .within, .times, .atMostMore, .atMost: nil
        }
    }
}
