import Testing

@testable import GraphBench

struct SoakTests {
    @Test func `quantiles are those of the sorted latencies, at most a thirty-second too high`() {
        var random = SplitMix64(seed: 7)
        var (one, other) = (LatencyHistogram(), LatencyHistogram())
        #expect(one.quantile(0.99) == 0)
        let seconds = (0..<5_000).map { _ in
            Double.random(in: 0..<1, using: &random) * .random(in: 0..<0.01, using: &random)
        }
        for (place, latency) in seconds.enumerated() {
            if place % 2 == 0 { one.add(seconds: latency) } else { other.add(seconds: latency) }
        }
        one.add(other)
        let sorted = seconds.sorted()
        #expect(one.count == 5_000 && one.maximum == sorted[4_999])
        for share in [0.001, 0.5, 0.9, 0.99, 1] {
            let exact = sorted[Int((5_000 * share).rounded(.up)) - 1]
            #expect(one.quantile(share) >= exact - 1e-9 && one.quantile(share) <= exact * (1 + 1.0 / 32) + 2e-9)
        }
        var long = LatencyHistogram()
        long.add(seconds: 100_000)
        #expect(long.quantile(0.5) == 100_000)
    }

    @Test func `memory that grows and slow commits miss their targets`() {
        func report(_ bytes: (Int) -> Int) -> SoakReport {
            var report = SoakReport()
            report.samples = (1...100).map { SoakReport.Sample(second: $0, commits: $0, residentBytes: bytes($0)) }
            return report
        }
        #expect(report { _ in 1_000 }.growth == 1)
        #expect(report { 1_000 + $0 }.keepsItsMemory)
        #expect(!report { 1_000 + 2 * $0 }.keepsItsMemory)
        #expect(report { 2_000 - $0 }.keepsItsMemory)
        var slow = report { _ in 1 }
        for place in 0..<100 {
            slow.add(.commit, seconds: place < 98 ? 0.001 : 0.01)
            slow.add(.sync, seconds: 0.001)
        }
        #expect(!slow.keepsItsTail)
        for _ in 0..<5 { slow.add(.sync, seconds: 0.009) }
        #expect(slow.keepsItsTail)
        #expect(slow.text.contains("durable commits, ten writers      100"))
    }

    @Test func `a server works for some seconds, loses nothing and says what it saw`() async throws {
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        let run = try #require(EngineSuite.graph.soak)
        let report = try await run(
            SoakSetting(rows: 2_000, seconds: 2, seed: 3, directory: directory.path), { _, _ in })
        #expect(report.faults == [])
        #expect(report.samples.count == 2)
        for work in SoakReport.Work.allCases where work != .cancellation {
            #expect((report.latencies[work]?.count ?? 0) > 0, "\(work)")
        }
    }

    @Test func `the command line says for how long`() throws {
        #expect(try Options.parse(["soak"], workloads: []).minutes == 1)
        let options = try Options.parse(["soak", "--minutes", "10", "--rows", "5000"], workloads: [])
        #expect(options.command == .soak && options.minutes == 10 && options.sizes == [5_000])
        #expect(throws: Options.Invalid.self) { try Options.parse(["soak", "--minutes", "0"], workloads: []) }
    }
}
