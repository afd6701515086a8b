/// What both charts share: the page with its heading, an axis over the rows, and a row for each workload.
struct ChartPage {
    enum Colour {
        static let background = "#ffffff"
        static let border = "#d0d7de"
        static let text = "#1f2328"
        static let muted = "#59636e"
        static let grid = "#e4e8ec"
        static let stripe = "#f6f8fa"
        // Told apart by most who do not see all colours.
        static let good = "#1168c4"
        static let bad = "#d4620a"
        static let goodLight = "#9cc3ee"
        static let badLight = "#f2bd8f"
        static let mark = "#1f2328"
        static let unknown = "#8b949e"
    }

    static let width = 800.0
    static let rowHeight = 22.0
    static let top = 128.0
    /// Where names end and figures may begin.
    static let left = 190.0
    /// Where the axis begins and ends: there is room for a figure beside either.
    static let axis = (start: 232.0, end: 740.0)

    var document: SVGDocument
    let scale: LogScale
    private let rows: Int

    init(title: String, run: RunDescription, scale: LogScale, rows: Int) {
        self.scale = scale
        self.rows = rows
        let height = Self.top + Double(rows) * Self.rowHeight + 32
        document = SVGDocument(width: Self.width, height: height)
        document.rectangle(
            x: 0.5, y: 0.5, width: Self.width - 1, height: height - 1, fill: Colour.background, stroke: Colour.border)
        document.text(title, x: 16, y: 28, size: 16, isBold: true, fill: Colour.text)
        document.text(run.machine, x: 16, y: 47, fill: Colour.muted)
        let runs = Figures.number(run.runs, of: "run")
        document.text("\(run.day), suite \(run.suite), medians of \(runs)", x: 16, y: 63, fill: Colour.muted)
        drawAxis()
    }

    /// Where a row begins, from above.
    func y(_ row: Int) -> Double {
        Self.top + Double(row) * Self.rowHeight
    }

    mutating func name(_ name: String, row: Int) {
        document.text(name, x: 16, y: y(row) + 15, fill: Colour.text)
    }

    private mutating func drawAxis() {
        let bottom = y(rows)
        for row in stride(from: 1, to: rows, by: 2) {
            document.rectangle(
                x: 8, y: y(row), width: Self.width - 16, height: Self.rowHeight, fill: Colour.stripe)
        }
        for tick in scale.ticks {
            let x = scale.position(tick)
            let isOne = tick == 1
            document.line(
                x1: x, y1: Self.top - 4, x2: x, y2: bottom + 4, stroke: isOne ? Colour.muted : Colour.grid,
                width: isOne ? 1.5 : 1, kind: isOne ? "one" : nil)
            for y in [Self.top - 9, bottom + 17] {
                document.text(
                    "\(Figures.limit(tick))x", x: x, y: y, size: 10, anchor: .middle, isBold: isOne,
                    fill: Colour.muted)
            }
        }
    }
}
