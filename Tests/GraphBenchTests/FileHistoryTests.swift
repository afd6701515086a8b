import Foundation
import Testing

@testable import GraphBench

struct FileHistoryTests {
    private static let megabyte = 1 << 20

    /// A file of 200 MiB that grows to 420, of which the compaction keeps 210.
    private static func history(fresh: Int = 200, samples: [(Double, Int, Int)], compacts: Bool = true) -> FileHistory {
        var history = FileHistory(rows: 1_000, updates: 400, commitSize: 100)
        (history.freshBytes, history.finalBytes) = (fresh * megabyte, fresh * megabyte)
        history.samples = samples.map {
            FileHistory.Sample(
                seconds: $0.0, commitSeconds: 0.5, fileBytes: $0.1 * megabyte, diskBytes: $0.2 * megabyte)
        }
        (history.changedBytes, history.writtenBytes) = (4_000, 12_000)
        guard compacts else { return history }
        history.compactions = [
            FileHistory.Compaction(
                begin: 2.2, end: 2.4, pauseSeconds: 0.004, sealSeconds: 0.001, renameSeconds: 0.002,
                syncSeconds: 0.003, oldBytes: 425 * megabyte, newBytes: 210 * megabyte, copiedBytes: 10 * megabyte)
        ]
        return history
    }

    private static let history = history(samples: [(1, 300, 300), (2, 420, 420), (3, 210, 630), (4, 240, 240)])

    @Test func `the largest file and the most on disk are those that were ever found`() {
        #expect(Self.history.largestBytes == 420 * Self.megabyte)
        // The compaction knows of more than what was found between commits.
        #expect(Self.history.largestDiskBytes == 635 * Self.megabyte)
        #expect(Self.history.amplification == 3)
        #expect(Self.history.verdicts == [.met, .met, .met])
    }

    @Test func `a target that is missed is said so`() {
        var history = Self.history
        history.samples[1].fileBytes = 441 * Self.megabyte
        #expect(history.verdicts == [.missed, .met, .met])
        history.samples[1].diskBytes = 661 * Self.megabyte
        #expect(history.verdicts == [.missed, .missed, .met])
        history.compactions[0].pauseSeconds = 0.021
        #expect(history.verdicts == [.missed, .missed, .missed])
        history.compactions = []
        #expect(history.verdicts[2] == .unknown)
    }

    @Test func `a small file may grow by 16 MiB and what is allocated ahead, a larger one by itself`() {
        #expect(Self.history(fresh: 5, samples: []).sizeLimitBytes == 29 * Self.megabyte)
        #expect(Self.history(fresh: 100, samples: []).sizeLimitBytes == 208 * Self.megabyte)
        #expect(Self.history(fresh: 200, samples: []).sizeLimitBytes == 440 * Self.megabyte)
    }

    @Test func `commits count for the compactions that they overlap`() {
        var history = Self.history
        history.samples[2].commitSeconds = 0.9
        #expect(history.slowestCommit(during: history.compactions[0]) == 0.9)
        #expect(history.slowestCommit(during: nil) == 0.5)
    }

    @Test func `the report has every figure`() {
        let report = Self.history.report
        for text in [
            "420 MiB, 2.10x", "≤ 440 MiB, 2.20x", "635 MiB", "10.0 B", "30.0 B", "3.00x", "4.00 ms", "≤ 20 ms",
        ] {
            #expect(report.contains(text), "\(text)")
        }
        #expect(Self.history(samples: [], compacts: false).report.hasSuffix("no compaction"))
    }

    @Test func `the chart shows the file, what is beside it, and both levels`() throws {
        let chart = FileSizeChart(history: Self.history, run: SampleResults.run)
        let drawing = XMLElements(chart.svg)
        #expect(drawing.isWellFormed)
        #expect(drawing.elements(kind: "level").count == 2)
        let curve = try #require(drawing.elements(kind: "file").first?.attributes["points"])
        let expected = Self.history.samples.map {
            "\(SVGDocument.number(chart.x($0.seconds))),\(SVGDocument.number(chart.y($0.fileBytes)))"
        }
        #expect(curve == expected.joined(separator: " "))
        #expect(drawing.elements(kind: "disk").first?.attributes["points"] != curve)
        #expect(XMLElements(FileSizeChart(history: Self.history(samples: []), run: SampleResults.run).svg).isWellFormed)
    }

    @Test func `points that fall together on paper are drawn once`() throws {
        let samples = (0..<10_000).map { (Double($0) / 1_000, 200, 200) }
        let drawing = XMLElements(FileSizeChart(history: Self.history(samples: samples), run: SampleResults.run).svg)
        let points = try #require(drawing.elements(kind: "file").first?.attributes["points"]).split(separator: " ")
        #expect(points.count > 300 && points.count < 800)
    }
}
