import Testing

@testable import GraphBench

struct ReportTests {
    @Test func `a summary is the middle of the runs with their spread`() {
        let odd = Summary([3, 1, 2])
        #expect(odd.median == 2)
        #expect(odd.minimum == 1)
        #expect(odd.maximum == 3)
        #expect(Summary([4, 1, 2, 3]).median == 2.5)
    }

    @Test(
        arguments: [
            (3.2e-9, "3.20 ns"), (61e-9, "61.0 ns"), (5.1e-6, "5.10 µs"), (0.0023, "2.30 ms"), (0.9999, "1.00 s"),
            (123.4, "123 s"),
        ])
    func `times have three digits and a unit`(seconds: Double, text: String) {
        #expect(Figures.seconds(seconds) == text)
    }

    @Test func `counts have their thousands apart`() {
        #expect([0, 999, 1_000, 1_234_567, -1_000].map(Figures.count) == ["0", "999", "1,000", "1,234,567", "-1,000"])
    }

    @Test func `a target compares with the side it names`() {
        #expect(Target.timesSQLite(4).verdict(engine: 1, sqlite: 4, native: nil) == .met)
        #expect(Target.timesSQLite(4).verdict(engine: 1, sqlite: 3.9, native: nil) == .missed)
        #expect(Target.timesSQLite(4).verdict(engine: 1, sqlite: nil, native: 1) == .unknown)
        #expect(Target.withinNative(1.3).verdict(engine: 1.3, sqlite: nil, native: 1) == .met)
        #expect(Target.withinNative(1.3).verdict(engine: 1.4, sqlite: nil, native: 1) == .missed)
        #expect(Target.atMost(200, .bytes).verdict(engine: 201, sqlite: nil, native: nil) == .missed)
        #expect(Target.timesSQLite(4).verdict(engine: nil, sqlite: 1, native: 1) == .unknown)
    }

    @Test func `one missed target is a miss`() {
        #expect(Target.verdict([.met, .missed, .unknown]) == .missed)
        #expect(Target.verdict([.met, .unknown]) == .unknown)
        #expect(Target.verdict([.met, .met]) == .met)
    }
}
