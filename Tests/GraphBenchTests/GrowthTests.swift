import Foundation
import Testing

@testable import GraphBench

struct GrowthTests {
    private static func growth(
        engine: (Double, Double), sqlite: (Double, Double)? = nil, native: (Double, Double)? = nil,
        limit: Double? = nil,
        baseline: Baseline = .native
    ) -> Growth {
        let results = [(engine.0, sqlite?.0, native?.0), (engine.1, sqlite?.1, native?.1)].map {
            SampleResults.result("one", engine: $0, sqlite: $1, native: $2, growthLimit: limit, baseline: baseline)
        }
        return Growth(workload: results[0].workload, results: results)
    }

    @Test func `growth is the largest figure over the smallest`() {
        let growth = Self.growth(engine: (2, 8), sqlite: (1, 3))
        #expect(growth.factor(.engine) == 4)
        #expect(growth.factor(.sqlite) == 3)
        #expect(growth.factor(.native) == nil)
    }

    @Test func `the peer that grows more sets the limit, and noise is allowed`() {
        #expect(Self.growth(engine: (1, 3), sqlite: (1, 2), native: (1, 1)).verdict == .met)
        #expect(Self.growth(engine: (1, 3.1), sqlite: (1, 2), native: (1, 1)).verdict == .missed)
        #expect(Self.growth(engine: (1, 3.1), sqlite: (1, 2), native: (1, 9)).verdict == .met)
        #expect(Self.growth(engine: (1, 3.1), native: (1, 2)).verdict == .missed)
    }

    @Test func `a figure that stays the same meets its target where those of peers fall`() {
        #expect(Self.growth(engine: (1, 1.5), sqlite: (1, 0.1)).verdict == .met)
        #expect(Self.growth(engine: (1, 1.6), sqlite: (1, 0.1)).verdict == .missed)
    }

    @Test func `without a peer the workload's own limit counts`() {
        #expect(Self.growth(engine: (1, 2), limit: 2).verdict == .met)
        #expect(Self.growth(engine: (1, 2.1), limit: 2).verdict == .missed)
        #expect(Self.growth(engine: (1, 2.1)).verdict == .unknown)
    }

    @Test func `Graph alone is no peer: growth gets a verdict beside SQLite only`() {
        let growth = Self.growth(engine: (1, 9), sqlite: (1, 2), native: (1, 9), baseline: .alone)
        #expect(growth.factor(.native) == nil)
        #expect(growth.limit == 3)
        #expect(growth.verdict == .missed)
        #expect(Self.growth(engine: (1, 9), native: (1, 9), baseline: .alone).verdict == .unknown)
        #expect(Self.growth(engine: (1, 9), native: (1, 9)).verdict == .met)
    }

    @Test func `the table has every size and every growth`() {
        let report = GrowthReport(
            sizes: [10_000, 1_000_000], growths: [Self.growth(engine: (1e-6, 4e-6), sqlite: (1e-6, 3e-6))])
        for text in ["Graph at 10,000", "Graph at 1,000,000", "1.00 µs", "4.00 µs", "4.00x", "3.00x", "≤ 4.50x", "met"]
        {
            #expect(report.table.contains(text))
        }
        #expect(report.conclusion.hasPrefix("growth: 1 met, 0 missed, 0 without a verdict"))
    }
}
