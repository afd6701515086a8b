import Foundation
import Testing

@testable import GraphBench

struct ChartTests {
    private static let results = [
        SampleResults.result(
            "win", engine: 1, sqlite: 10, native: 0.5, targets: [.timesSQLite(4), .within(2, .native)]),
        SampleResults.result("loss", engine: 5, sqlite: 1, native: 10, targets: [.timesSQLite(2)]),
        SampleResults.result("no_sqlite", engine: 1, native: 0.25),
        SampleResults.result("alone", engine: 1),
        SampleResults.result("a_limit", engine: nil, native: 1),
    ]

    private static let chart = RatioChart(results: results, rows: 100_000, run: SampleResults.run)

    @Test func `bars are as long as the logarithm of their ratio`() throws {
        let drawing = XMLElements(Self.chart.svg)
        #expect(drawing.isWellFormed)
        let scale = Self.chart.scale
        let perDecade = scale.position(10) - scale.position(1)
        let sqlite = drawing.elements(kind: "bar SQLite")
        let native = drawing.elements(kind: "bar native")
        #expect(sqlite.count == 2)
        #expect(native.count == 3)
        for (bar, ratio) in zip(sqlite + native, [10, 0.2, 0.5, 2, 0.25]) {
            let width = try #require(bar.number("width"))
            let x = try #require(bar.number("x"))
            #expect(abs(width - abs(log10(ratio)) * perDecade) < 0.02)
            let fixedEnd = ratio < 1 ? x + width : x
            #expect(abs(fixedEnd - scale.position(1)) < 0.02)
        }
        let perWin = sqlite.map { $0.attributes["fill"] }
        #expect(perWin == [ChartPage.Colour.good, ChartPage.Colour.bad])
    }

    @Test func `a native bar is thinner`() throws {
        let drawing = XMLElements(Self.chart.svg)
        let sqlite = try #require(drawing.elements(kind: "bar SQLite").first?.number("height"))
        let native = try #require(drawing.elements(kind: "bar native").first?.number("height"))
        #expect(native < sqlite)
    }

    @Test func `targets are marked where they are on the axis`() {
        let drawing = XMLElements(Self.chart.svg)
        let marks = drawing.elements(kind: "target").map { $0.number("x1") ?? -1 }
        let places = [4, 0.5, 2].map(Self.chart.scale.position)
        #expect(marks.count == places.count)
        #expect(zip(marks, places).allSatisfy { abs($0 - $1) < 0.01 })
    }

    @Test func `names and the machine are told as they are, and what has no peer is left out`() {
        let texts = XMLElements(Self.chart.svg).elements.filter { $0.name == "text" }.map(\.text)
        #expect(texts.contains(SampleResults.run.machine))
        #expect(texts.contains { $0.contains("100,000 people") })
        #expect(texts.contains { $0.contains("2026-11-21") })
        #expect(["win", "loss", "no_sqlite"].allSatisfy(texts.contains))
        #expect(!texts.contains("alone"))
        #expect(!texts.contains("a_limit"))
        #expect(texts.contains("10.0x"))
        #expect(texts.contains("0.20x"))
    }

    @Test func `everything drawn is inside the page`() throws {
        for svg in [Self.chart.svg, Self.growthChart.svg] {
            let drawing = XMLElements(svg)
            let page = try #require(drawing.elements.first)
            let width = try #require(page.number("width"))
            let height = try #require(page.number("height"))
            for element in drawing.elements.dropFirst() {
                let x = ["x", "x1", "x2", "cx"].compactMap(element.number)
                let y = ["y", "y1", "y2", "cy"].compactMap(element.number)
                #expect(x.allSatisfy { (0...width).contains($0) })
                #expect(y.allSatisfy { (0...height).contains($0) })
            }
        }
    }

    @Test func `the same results give the same drawing, and none give one too`() {
        #expect(Self.chart.svg == RatioChart(results: Self.results, rows: 100_000, run: SampleResults.run).svg)
        #expect(XMLElements(RatioChart(results: [], rows: 1_000, run: SampleResults.run).svg).isWellFormed)
        #expect(XMLElements(GrowthChart(growths: [], sizes: [], run: SampleResults.run).svg).isWellFormed)
    }

    @Test func `Graph alone is no bar, no square and no mark beside native Swift`() {
        let result = SampleResults.result(
            "beside", engine: 2, sqlite: 6, native: 1, targets: [.within(3, .alone)], baseline: .alone)
        let alone = SampleResults.result("without", engine: 2, native: 1, baseline: .alone)
        let ratios = XMLElements(RatioChart(results: [result, alone], rows: 1_000, run: SampleResults.run).svg)
        #expect(ratios.elements(kind: "bar SQLite").count == 1)
        #expect(ratios.elements(kind: "bar native").isEmpty)
        #expect(ratios.elements(kind: "target").isEmpty)
        #expect(!ratios.elements.map(\.text).contains("without"))
        let growths = [Growth(workload: result.workload, results: [result, result])]
        let growth = XMLElements(GrowthChart(growths: growths, sizes: [1, 2], run: SampleResults.run).svg)
        #expect(growth.elements(kind: "sqlite").count == 1)
        #expect(growth.elements(kind: "native").isEmpty)
    }

    private static let growthChart = GrowthChart(
        growths: [
            Growth(
                workload: results[0].workload,
                results: [
                    SampleResults.result("win", engine: 1, sqlite: 1, native: 1),
                    SampleResults.result("win", engine: 4, sqlite: 2, native: 3),
                ]),
            Growth(
                workload: results[1].workload,
                results: [
                    SampleResults.result("loss", engine: 1, sqlite: 1),
                    SampleResults.result("loss", engine: 16, sqlite: 2),
                ]),
        ], sizes: [10_000, 1_000_000], run: SampleResults.run)

    @Test func `growth is drawn from 1 to its factor, with the limit beside it`() throws {
        let chart = Self.growthChart
        let drawing = XMLElements(chart.svg)
        #expect(drawing.isWellFormed)
        let lines = drawing.elements(kind: "growth")
        #expect(lines.count == 2)
        for (line, factor) in zip(lines, [4.0, 16]) {
            #expect(abs(try #require(line.number("x1")) - chart.scale.position(1)) < 0.01)
            #expect(abs(try #require(line.number("x2")) - chart.scale.position(factor)) < 0.01)
        }
        #expect(lines.map { $0.attributes["stroke"] } == [ChartPage.Colour.good, ChartPage.Colour.bad])
        let limits = drawing.elements(kind: "limit").map { $0.number("x1") ?? -1 }
        #expect(zip(limits, [4.5, 3].map(chart.scale.position)).allSatisfy { abs($0 - $1) < 0.01 })
        #expect(drawing.elements(kind: "sqlite").count == 2)
        #expect(drawing.elements(kind: "native").count == 1)
    }

    @Test(arguments: [([1.0], 0.5...5), ([0.006, 12], 0.005...20), ([1, 100], 1...100), ([.infinity, -1, 0], 1...2)])
    func `an axis holds its values and 1`(values: [Double], range: ClosedRange<Double>) {
        let scale = LogScale(covering: values, from: 0, to: 100)
        #expect(scale.ticks.contains(1))
        #expect(scale.position(1) >= 0)
        #expect(scale.position(range.lowerBound / 1.1) == 0 || values == [1])
        for value in values where value > 0 && value.isFinite {
            #expect((-1e-6...100.000_001).contains(scale.position(value)))
        }
        #expect(scale.position(1e300) == 100)
        #expect(scale.position(0) == 0)
        #expect(scale.position(.nan) == 0)
    }
}
