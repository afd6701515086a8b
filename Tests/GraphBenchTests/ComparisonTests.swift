import Foundation
import Testing

@testable import GraphBench

struct ComparisonTests {
    private static func file(_ lines: [ResultLine], _ name: String) throws -> ResultFile {
        try ResultFile(Data(try ResultLine.text(lines).utf8), name: name)
    }

    private static func compare(
        _ old: [ResultLine], _ new: [ResultLine]
    ) throws -> (comparison: Comparison, text: String, code: Int32) {
        let files = (try file(old, "old.json"), try file(new, "new.json"))
        let (text, code) = try CompareCommand(old: files.0, new: files.1).run()
        return (try Comparison(old: files.0, new: files.1), text, code)
    }

    @Test func `a file is read as it was written`() throws {
        let lines = SampleResults.lines(
            SampleResults.result("one", engine: 1e-9, sqlite: 3.3e-9, native: 7, targets: [.timesSQLite(2)]),
            SampleResults.result("two", engine: nil))
        #expect(try Self.file(lines, "file").lines == lines)
        #expect(lines[0].ratio == 3.3e-9 / 1e-9)
        #expect(lines[0].run.cpu == SampleResults.run.cpu)
    }

    @Test(arguments: Workload.all.map(\.name))
    func `a file has any workload`(name: String) throws {
        let lines = SampleResults.lines(SampleResults.result(name, engine: 1e-9))
        #expect(try Self.file(lines, "file").lines == lines)
    }

    @Test func `a slower machine moves nothing`() throws {
        let result = try Self.compare(
            SampleResults.lines(SampleResults.result("one", engine: 1, sqlite: 4)),
            SampleResults.lines(SampleResults.result("one", engine: 3, sqlite: 12)))
        #expect(result.comparison.entries.map(\.verdict) == [.same])
        #expect(result.comparison.entries.map(\.basis) == [.ratio(.sqlite)])
        #expect(result.code == 0)
    }

    @Test func `what moved is told with both ratios`() throws {
        let result = try Self.compare(
            SampleResults.lines(
                SampleResults.result("slow", engine: 1, sqlite: 4), SampleResults.result("fast", engine: 1, sqlite: 4)),
            SampleResults.lines(
                SampleResults.result("slow", engine: 2, sqlite: 4), SampleResults.result("fast", engine: 1, sqlite: 8)))
        #expect(result.comparison.entries.map(\.verdict) == [.worse, .better])
        #expect(result.code == 1)
        let line = try #require(result.text.split(separator: "\n").first { $0.hasPrefix("worse") })
        #expect(line.contains("slow"))
        #expect(line.contains("4.00x (3.62x…4.42x)"))
        #expect(line.contains("2.00x"))
        #expect(line.contains("SQLite"))
    }

    @Test func `better alone is no failure`() throws {
        let result = try Self.compare(
            SampleResults.lines(SampleResults.result("one", engine: 2, sqlite: 4)),
            SampleResults.lines(SampleResults.result("one", engine: 1, sqlite: 4)))
        #expect(result.code == 0)
        #expect(result.text.contains("0 worse, 1 better, 0 within noise"))
    }

    @Test func `spreads that overlap and small differences are noise`() {
        let narrow = Summary(median: 10, minimum: 9.9, maximum: 10.1)
        let wide = Summary(median: 20, minimum: 10, maximum: 30)
        #expect(Comparison.verdict(narrow, wide, moreIsBetter: true) == .same)
        #expect(Comparison.verdict(wide, narrow, moreIsBetter: true) == .same)
        let near = Summary(median: 11.9, minimum: 11.8, maximum: 12)
        #expect(Comparison.verdict(narrow, near, moreIsBetter: true) == .same)
        #expect(Comparison.verdict(near, narrow, moreIsBetter: true) == .same)
        let far = Summary(median: 12, minimum: 11.9, maximum: 12.1)
        #expect(Comparison.verdict(narrow, far, moreIsBetter: true) == .better)
        #expect(Comparison.verdict(far, narrow, moreIsBetter: true) == .worse)
        #expect(Comparison.verdict(narrow, far, moreIsBetter: false) == .worse)
    }

    @Test func `native code is the measure without SQLite, and the figure itself without both or for bytes and rows`()
        throws
    {
        let old = SampleResults.lines(
            SampleResults.result("one", engine: 1, native: 1), SampleResults.result("two", engine: 1),
            SampleResults.result("three", engine: 100, sqlite: 50, unit: .bytes(per: "row")),
            SampleResults.result("four", engine: 1_000, native: 50, unit: .rows(per: "query")))
        let new = SampleResults.lines(
            SampleResults.result("one", engine: 1, sqlite: 2, native: 1), SampleResults.result("two", engine: 2),
            SampleResults.result("three", engine: 50, sqlite: 25, unit: .bytes(per: "row")),
            SampleResults.result("four", engine: 500, native: 25, unit: .rows(per: "query")))
        let comparison = try Self.compare(old, new).comparison
        #expect(comparison.entries.map(\.basis) == [.ratio(.native), .figure, .figure, .figure])
        #expect(comparison.entries.map(\.verdict) == [.same, .worse, .better, .better])
    }

    @Test func `beside Graph alone it says so`() throws {
        func lines(_ engine: Double) -> [ResultLine] {
            SampleResults.lines(SampleResults.result("storm", engine: engine, native: 1, baseline: .alone))
        }
        let result = try Self.compare(lines(1), lines(2))
        #expect(result.comparison.entries.map(\.basis) == [.ratio(.native)])
        #expect(result.text.contains("as fast as Graph alone"))
        #expect(!result.text.contains("native"))
        var older = lines(1)
        older[0].baseline = nil
        #expect(try Self.compare(older, lines(1)).code == 0)
    }

    @Test func `a figure or an answer that is lost is worse`() throws {
        let old = SampleResults.lines(
            SampleResults.result("one", engine: 1, sqlite: 2), SampleResults.result("two", engine: 1, sqlite: 2))
        var new = old
        new[0].graph = ResultLine.Column(reason: "it\u{1B}[31m broke")
        new[1].answersAgree = false
        let result = try Self.compare(old, new)
        #expect(result.code == 1)
        #expect(result.comparison.lost.map(\.key.workload) == ["one", "two"])
        #expect(result.text.contains("it?[31m broke"))
        #expect(!result.text.contains("\u{1B}"))
    }

    @Test func `a peer that is lost is worse, whatever else moved`() throws {
        let old = SampleResults.lines(
            SampleResults.result("one", engine: 1, sqlite: 2, native: 1),
            SampleResults.result("two", engine: 100, sqlite: 50, unit: .bytes(per: "row")),
            SampleResults.result("limit", engine: nil, native: 1), SampleResults.result("same", engine: 1, sqlite: 2))
        var new = old
        new[0].sqlite = ResultLine.Column(reason: "left out")
        new[1].sqlite = ResultLine.Column()
        new[2].native = ResultLine.Column(reason: "it broke")
        let result = try Self.compare(old, new)
        #expect(result.code == 1)
        #expect(result.comparison.lost.map(\.key.workload) == ["one", "two", "limit"])
        #expect(
            result.comparison.lost.map(\.reason) == ["SQLite, left out", "SQLite, not measured", "native, it broke"])
        #expect(result.comparison.entries.map(\.line.workload) == ["same"])
        #expect(result.text.contains("worse: one has lost a figure or its answer: SQLite, left out"))
        #expect(result.text.contains("3 worse, 0 better, 1 within noise"))
        #expect(try Self.compare(new, old).code == 0)
    }

    @Test func `workloads of one file alone are named, and those that are missing are worse`() throws {
        let result = try Self.compare(
            SampleResults.lines(
                SampleResults.result("both", engine: 1, sqlite: 1), SampleResults.result("gone", engine: 1, sqlite: 1)),
            SampleResults.lines(
                SampleResults.result("both", engine: 1, sqlite: 1), SampleResults.result("fresh", engine: 1, sqlite: 1))
        )
        #expect(result.code == 1)
        #expect(result.text.contains("only in old.json: gone"))
        #expect(result.text.contains("only in new.json: fresh"))
        #expect(result.text.contains("0 worse, 0 better, 1 within noise, 1 lost"))
        let both = SampleResults.lines(SampleResults.result("both", engine: 1, sqlite: 1))
        let fresh = both + SampleResults.lines(SampleResults.result("fresh", engine: 1))
        #expect(try Self.compare(both, fresh).code == 0)
    }

    @Test func `files about other numbers of people or other units are refused`() throws {
        let old = SampleResults.lines(SampleResults.result("one", rows: 10_000, engine: 1, sqlite: 1))
        let larger = SampleResults.lines(SampleResults.result("one", rows: 20_000, engine: 1, sqlite: 1))
        #expect(throws: ResultFile.Invalid.self) { try Self.compare(old, larger) }
        let bytes = SampleResults.lines(
            SampleResults.result("one", rows: 10_000, engine: 1, sqlite: 1, unit: .bytes(per: "row")))
        #expect(throws: ResultFile.Invalid.self) { try Self.compare(old, bytes) }
    }

    @Test func `a growth file compares size by size`() throws {
        let lines = SampleResults.lines(
            SampleResults.result("one", rows: 10_000, engine: 1, sqlite: 1),
            SampleResults.result("one", rows: 20_000, engine: 1, sqlite: 4))
        var new = lines
        new[1].sqlite = ResultLine.Column(median: 2, minimum: 2, maximum: 2)
        let result = try Self.compare(lines, new)
        #expect(result.comparison.entries.map(\.verdict) == [.same, .worse])
        #expect(result.text.contains("one at 20,000"))
    }

    private static let sound = SampleResults.lines(SampleResults.result("one", engine: 1, sqlite: 2))[0]

    private static func changed(_ change: (inout ResultLine) -> Void) -> String {
        var line = sound
        change(&line)
        return (try? ResultLine.text([line])) ?? ""
    }

    @Test(
        arguments: [
            "", "\n\n", "{}", "[1]", "no json", "\u{0}", "{\"program\":\"GraphBench\"}",
            String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 100_000),
            changed { $0.program = "Another" }, changed { $0.format = 2 }, changed { $0.workload = "" },
            changed { $0.workload = "\u{1B}[2J" }, changed { $0.workload = String(repeating: "a", count: 1_000) },
            changed { $0.rows = 0 }, changed { $0.rows = .max }, changed { $0.rows = .min },
            changed { $0.run.runs = -1 }, changed { $0.unit = "miles" }, changed { $0.graph.minimum = nil },
            changed { $0.graph.minimum = 2 }, changed { $0.graph.minimum = -1 }, changed { $0.sqlite.median = 1e308 },
            changed { _ in } + changed { _ in },
            changed { _ in }.replacing("\"rows\":100000", with: "\"rows\":1e400"),
            changed { _ in }.replacing("\"median\":1,", with: "\"median\":1e400,"),
            changed { _ in }.replacing("\"median\":1,", with: "\"median\":null,"),
        ])
    func `what GraphBench did not write is refused`(text: String) {
        #expect(throws: ResultFile.Invalid.self) { try ResultFile(Data(text.utf8), name: "hostile") }
    }

    @Test func `figures at the ends of what numbers hold are compared without harm`() throws {
        for figure in [0, .leastNonzeroMagnitude, .greatestFiniteMagnitude] {
            var line = Self.sound
            line.graph = ResultLine.Column(median: figure, minimum: figure, maximum: figure)
            for pair in [([line], [Self.sound]), ([Self.sound], [line]), ([line], [line])] {
                let result = try Self.compare(pair.0, pair.1)
                #expect(result.comparison.entries.count == 1)
            }
        }
    }

    @Test func `a file that is absent, a folder or without end is refused`() {
        for path in ["/nowhere/at/all", "/", "/dev/zero"] {
            #expect(throws: ResultFile.Invalid.self) { try ResultFile(path: path) }
        }
    }
}
