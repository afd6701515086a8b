import Foundation
import Testing

@testable import GraphBench

struct PairTests {
    private typealias Figure = PairSeries.Figure

    @Test func `quartiles lie between figures, in any order`() {
        let five = Quartiles([5, 1, 4, 2, 3])
        #expect((five.lower, five.median, five.upper) == (2, 3, 4))
        let four = Quartiles([1, 2, 3, 4])
        #expect((four.lower, four.median, four.upper) == (1.75, 2.5, 3.25))
        let one = Quartiles([7])
        #expect((one.lower, one.median, one.upper) == (7, 7, 7))
    }

    private static func series(_ pairs: [(Double, Double)]) -> PairSeries {
        var series = PairSeries()
        for (number, pair) in pairs.enumerated() {
            series.add(number + 1, Figure(amount: pair.0, answer: 1), Figure(amount: pair.1, answer: 1))
        }
        return series
    }

    @Test(arguments: [
        ([1.06, 1.07, 1.08, 1.2, 1.3], PairSeries.Verdict.faster),
        ([1.04, 1.04, 1.2, 1.3, 1.4], .same),
        ([0.94, 0.9, 0.8, 0.95, 0.7], .slower),
        ([0.96, 0.96, 0.8, 0.7, 0.6], .same),
        ([0.5, 0.6, 1, 2, 3], .same),
    ])
    func `a side is faster or slower if the whole range between the quartiles is`(
        ratios: [Double], verdict: PairSeries.Verdict
    ) {
        let series = Self.series(ratios.map { (2, 2 * $0) })
        #expect(series.verdict == verdict)
        #expect(abs(series.ratios.median - Quartiles(ratios).median) < 1e-12)
    }

    @Test func `the ratio is that of each pair, not of the medians`() {
        // A slow moment hits both.
        let series = Self.series([(1, 2), (10, 20), (1, 2), (100, 200), (1, 2)])
        #expect(series.ratios == Quartiles([2, 2, 2, 2, 2]))
        #expect(Self.series([(1, 3), (3, 1), (2, 2)]).ratios.median == 1)
    }

    @Test func `sides are measured in turn after a warm-up that counts for answers alone`() async throws {
        var order: [String] = []
        let series = try await PairSeries.measure(
            pairs: 4,
            this: { number in
                order.append("this \(number)")
                return Figure(amount: number == 0 ? 100 : 1, answer: UInt64(number))
            },
            other: { number in
                order.append("other \(number)")
                return Figure(amount: 2, answer: number == 0 || number == 3 ? 7 : UInt64(number))
            })
        #expect(
            order == [
                "other 0", "this 0", "this 1", "other 1", "other 2", "this 2", "this 3", "other 3", "other 4", "this 4",
            ])
        #expect(series.this == [1, 1, 1, 1] && series.other == [2, 2, 2, 2])
        #expect(series.mismatches == ["run 0: 0 and 7", "run 3: 3 and 7"])
    }

    @Test func `a process says that it is ready, and answers each line with a figure`() async throws {
        func figure(_ run: Int) -> Figure { Figure(amount: 0.1 + Double(run) / 3e9, answer: UInt64.max - UInt64(run)) }
        var input = ["0", "3", "1"]
        var output: [String] = []
        try await RunServer.serve(
            figure, readLine: { input.isEmpty ? nil : input.removeFirst() }, write: { output.append($0) })
        #expect(output.first == RunServer.ready)
        // Every bit of a figure arrives.
        #expect(output.dropFirst().map(RunServer.figure) == [figure(0), figure(3), figure(1)])
    }

    @Test(arguments: ["", "one", "-1", "1 2"])
    func `a line that is no number of a run ends a process with an error`(line: String) async {
        await #expect(throws: RunServer.Unreadable.self) {
            try await RunServer.serve({ _ in Figure(amount: 1, answer: 1) }, readLine: { line }, write: { _ in })
        }
    }

    @Test(arguments: ["", "ready", "1.5", "1.5 -1", "x 1", "1.5 1 1"])
    func `what is no figure is not taken for one`(line: String) {
        #expect(RunServer.figure(line) == nil)
    }

    @Test func `the report counts what is slower, and tells what differs, fails or cannot be compared`() throws {
        let workload = SampleResults.result("one", engine: 1).workload
        var report = PairReport()
        report.add(workload, .side(.sqlite), .measured(Self.series([(2, 3), (2, 3)])))
        report.add(workload, .side(.sqlite), .absent)
        #expect(!report.isBad)
        #expect(report.text.contains("0 slower, 1 faster, 0 the same; all answers agree"))
        #expect(report.text.contains("1.50x  1.50x…1.50x  faster"))
        report.add(workload, .program("before/GraphBench"), .measured(Self.series([(3, 2)])))
        #expect(report.isBad && report.faults.isEmpty)
        #expect(report.text.contains("1 slower, 1 faster, 0 the same"))
        var other = PairReport()
        var series = Self.series([(2, 2)])
        series.add(2, Figure(amount: 2, answer: 1), Figure(amount: 2, answer: 2))
        other.add(workload, .side(.native), .measured(series))
        #expect(other.isBad)
        #expect(other.faults == ["one: ANSWERS DIFFER, run 2: 1 and 2"])
        var failing = PairReport()
        failing.add(workload, .side(.native), .failed("no file"))
        #expect(failing.isBad && failing.faults == ["one: no file"])
    }

    @Test func `what is compared if nothing is named exists`() {
        #expect(Set(PairCommand.usual).isSubset(of: Workload.all.map(\.name)))
    }
}
