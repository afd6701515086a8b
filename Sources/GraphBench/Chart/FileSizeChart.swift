import Foundation

/// The length of a file over time, with the new generations that compactions wrote beside it.
struct FileSizeChart {
    private static let width = 800.0
    private static let height = 360.0
    private static let area = (left: 70.0, right: 780.0, top: 110.0, bottom: 320.0)

    let history: FileHistory
    let run: RunDescription

    /// Where the axes have numbers.
    private let steps: (bytes: [Double], seconds: [Double])

    init(history: FileHistory, run: RunDescription) {
        (self.history, self.run) = (history, run)
        let most = Double(max(history.largestDiskBytes, history.sizeLimitBytes)) / 1_048_576
        steps = (Self.ticks(to: most), Self.ticks(to: max(history.seconds, 1e-9)))
    }

    var svg: String {
        var document = SVGDocument(width: Self.width, height: Self.height)
        document.rectangle(
            x: 0.5, y: 0.5, width: Self.width - 1, height: Self.height - 1, fill: ChartPage.Colour.background,
            stroke: ChartPage.Colour.border)
        let title =
            "A file of \(Figures.count(history.rows)) people under \(Figures.count(history.updates)) random updates"
        document.text(title, x: 16, y: 28, size: 16, isBold: true, fill: ChartPage.Colour.text)
        document.text("\(run.day), \(run.machine)", x: 16, y: 47, fill: ChartPage.Colour.muted)
        let compactions = Figures.number(history.compactions.count, of: "compaction")
        document.text(
            "commits of \(history.commitSize) updates, \(compactions)", x: 16, y: 63, fill: ChartPage.Colour.muted)
        drawAxes(&document)
        drawLegend(&document)
        draw(history.samples.map { ($0.seconds, $0.diskBytes) }, ChartPage.Colour.badLight, "disk", &document)
        draw(history.samples.map { ($0.seconds, $0.fileBytes) }, ChartPage.Colour.good, "file", &document)
        drawLevel(history.baseBytes, "a fresh file", &document)
        drawLevel(history.sizeLimitBytes, "the limit", &document)
        return document.svg
    }

    func x(_ seconds: Double) -> Double {
        let most = steps.seconds.last ?? 1
        return Self.area.left + min(1, max(0, seconds / most)) * (Self.area.right - Self.area.left)
    }

    func y(_ bytes: Int) -> Double {
        let most = (steps.bytes.last ?? 1) * 1_048_576
        return Self.area.bottom - min(1, max(0, Double(bytes) / most)) * (Self.area.bottom - Self.area.top)
    }

    /// From 0 to a round number that is large enough, in at most six steps.
    private static func ticks(to most: Double) -> [Double] {
        let decade = pow(10, floor(log10(max(most, 1e-9)))) / 10
        let step = [1.0, 2, 5, 10, 20, 50].map { $0 * decade }.first { most / $0 <= 6 } ?? most
        return (0...Int((most / step).rounded(.up))).map { Double($0) * step }
    }

    private func drawAxes(_ document: inout SVGDocument) {
        for tick in steps.bytes {
            let y = y(Int(tick * 1_048_576))
            document.line(x1: Self.area.left, y1: y, x2: Self.area.right, y2: y, stroke: ChartPage.Colour.grid)
            document.text(
                "\(SVGDocument.number(tick)) MiB", x: Self.area.left - 6, y: y + 4, size: 10, anchor: .end,
                fill: ChartPage.Colour.muted)
        }
        for tick in steps.seconds {
            let x = x(tick)
            document.line(x1: x, y1: Self.area.bottom, x2: x, y2: Self.area.bottom + 4, stroke: ChartPage.Colour.muted)
            document.text(
                "\(SVGDocument.number(tick)) s", x: x, y: Self.area.bottom + 17, size: 10, anchor: .middle,
                fill: ChartPage.Colour.muted)
        }
    }

    private func drawLegend(_ document: inout SVGDocument) {
        for (x, colour, text) in [
            (16.0, ChartPage.Colour.good, "the file"),
            (100, ChartPage.Colour.badLight, "with the new one, while it is written"),
        ] {
            document.line(x1: x, y1: 85, x2: x + 18, y2: 85, stroke: colour, width: 2)
            document.text(text, x: x + 24, y: 89, fill: ChartPage.Colour.text)
        }
    }

    private func drawLevel(_ bytes: Int, _ name: String, _ document: inout SVGDocument) {
        let y = y(bytes)
        document.line(
            x1: Self.area.left, y1: y, x2: Self.area.right, y2: y, stroke: ChartPage.Colour.muted, kind: "level",
            note: "\(name): \(Figures.bytes(Double(bytes)))")
        document.text(
            "\(name), \(Figures.bytes(Double(bytes)))", x: Self.area.left + 6, y: y - 4, size: 10,
            fill: ChartPage.Colour.muted)
    }

    /// Points that would be less than one apart on paper are left out.
    private func draw(
        _ values: [(seconds: Double, bytes: Int)], _ colour: String, _ kind: String, _ document: inout SVGDocument
    ) {
        var points: [(x: Double, y: Double)] = []
        for value in values {
            let point = (x: x(value.seconds), y: y(value.bytes))
            if let last = points.last, abs(point.x - last.x) < 1, abs(point.y - last.y) < 1 { continue }
            points.append(point)
        }
        document.curve(points, stroke: colour, width: 1.5, kind: kind)
    }
}
