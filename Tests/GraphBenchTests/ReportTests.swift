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

    @Test func `a noun is in the plural unless there is one`() {
        #expect([0, 1, 2].map { Figures.number($0, of: "run") } == ["0 runs", "1 run", "2 runs"])
    }

    @Test func `a factor that is nearly nothing keeps its digits`() {
        #expect([0.0137, 0.2, 4.6, 12.34, 150.2].map(Figures.factor) == ["0.014x", "0.20x", "4.60x", "12.3x", "150x"])
    }

    @Test func `limits are as short as they can be`() {
        let limits: [(Double, Workload.Limit)] = [(1e-6, .seconds), (0.05, .seconds), (1, .seconds), (200, .bytes)]
        #expect(limits.map { Target.atMost($0, $1).text } == ["≤ 1 µs", "≤ 50 ms", "≤ 1 s", "≤ 200 B"])
    }

    @Test func `the table has a row for each workload, raw limits too, and a verdict on those with a target`() {
        let report = Report(results: [
            SampleResults.result("one", engine: 1e-6, sqlite: 4e-6, targets: [.timesSQLite(4)]),
            SampleResults.result("two", engine: 1e-6, sqlite: 3e-6, targets: [.timesSQLite(4)]),
            SampleResults.result("three", engine: 1e-6), SampleResults.result("limit", engine: nil, native: 2e-6),
        ])
        let lines = report.table.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(lines[2].hasPrefix("one"))
        #expect(lines[2].contains("1.00 µs (0.95 µs…1.05 µs)") || lines[2].contains("1.00 µs (950 ns…1.05 µs)"))
        #expect(lines[2].contains("4.00x"))
        #expect(lines[2].hasSuffix("met"))
        #expect(lines[3].hasSuffix("missed"))
        #expect(lines[5].contains("2.00 µs"))
        #expect(report.conclusion == "targets: 1 met, 1 missed, 0 without a verdict")
    }

    @Test func `Graph alone is called what it is, and still gets a verdict`() {
        let results = [5e-6, 3e-6].map {
            SampleResults.result("storm", engine: $0, native: 2e-6, targets: [.within(2, .alone)], baseline: .alone)
        }
        let lines = Report(results: results).table.split(separator: "\n").map(String.init)
        #expect(lines[2].contains("2.00 µs (1.90 µs…2.10 µs) Graph alone"))
        #expect(lines[2].contains("≤ 2x alone"))
        #expect(!lines[2].contains("native"))
        #expect(results.map(\.verdict) == [.missed, .met])
        #expect(results[0].ratio(to: .native) == nil)
    }

    @Test func `Graph with flat values is called what it is, and gets a verdict`() {
        let results = [4e-6, 6e-6].map {
            SampleResults.result("codable", engine: $0, native: 2e-6, targets: [.within(2.5, .flat)], baseline: .flat)
        }
        let lines = Report(results: results).table.split(separator: "\n").map(String.init)
        #expect(lines[2].contains("2.00 µs (1.90 µs…2.10 µs) Graph, flat"))
        #expect(lines[2].contains("≤ 2.5x flat"))
        #expect(results.map(\.verdict) == [.met, .missed])
    }

    @Test func `what stands in for native Swift is Graph only where the workload says so`() {
        let expected: [Baseline: [String]] = [
            .alone: ["retry_storm", "read_while_writing_commit", "follow_commit"],
            .flat: ["codable_save", "codable_reopen", "codable_disk"],
            .closure: ["scan_predicate"],
            .keyPath: ["get_by_email_predicate"],
            .singleIndex: ["conjunction_selective_rows", "conjunction_broad_rows"],
            .foundation: ["scan_predicate_evaluate", "import_lines", "import_csv", "export_lines"],
            .opening: ["migrate", "snapshot_at"],
            .sync: ["commit_small_durable_sync"],
        ]
        for baseline in Baseline.allCases where baseline != .native {
            #expect(Workload.all.filter { $0.baseline == baseline }.map(\.name) == expected[baseline])
        }
    }

    @Test func `a target names the baseline of its workload`() {
        for workload in Workload.all {
            for target in workload.targets {
                switch target {
                case .within(_, let baseline), .times(_, let baseline), .atMostMore(_, let baseline):
                    #expect(baseline == workload.baseline, "\(workload.name)")
                case .timesSQLite, .atMost: break
                }
            }
        }
    }

    @Test func `what sides do differently is told below the table and in the list`() {
        let results = [
            SampleResults.result("one", engine: 1, note: "by night"), SampleResults.result("two", engine: 1),
        ]
        let lines = Report(results: results).table.split(separator: "\n").map(String.init)
        #expect(lines.count == 5)
        #expect(lines[4] == "one: by night")
        let list = Workload.list(results.map(\.workload))
        #expect(list.contains("a sample (by night), per row"))
        #expect(list.contains("a sample, per row"))
        #expect(
            Workload.all.filter { $0.note != nil }.map(\.name) == [
                "memory", "disk", "disk_compacted", "disk_compacted_rows",
                "conjunction_selective", "live_result_apart", "live_result_changed",
                "packages_memory", "packages_undo",
                "reopen_compacted", "reopen_compacted_read_all",
                "migrate", "compact",
            ])
    }

    @Test func `this machine is described`() {
        let run = RunDescription.current(Options(), arguments: ["--runs", "3"])
        #expect(run.processors > 0)
        #expect(run.seed != nil)
        var options = Options()
        options.seed = 5
        #expect(RunDescription.current(options, arguments: []).seed == 5)
        #expect(run.toolchain.hasPrefix("Swift "))
        #expect(run.commandLine == "GraphBench --runs 3")
        #expect(run.day.count == 10)
        #expect(!run.cpu.isEmpty)
        #expect(!run.cpu.contains("\n"))
        #expect(run.machine.contains(run.system))
    }

    @Test func `a target compares with the side it names`() {
        #expect(Target.timesSQLite(4).verdict(engine: 1, sqlite: 4, native: nil) == .met)
        #expect(Target.timesSQLite(4).verdict(engine: 1, sqlite: 3.9, native: nil) == .missed)
        #expect(Target.timesSQLite(4).verdict(engine: 1, sqlite: nil, native: 1) == .unknown)
        #expect(Target.within(1.3, .native).verdict(engine: 1.3, sqlite: nil, native: 1) == .met)
        #expect(Target.within(1.3, .native).verdict(engine: 1.4, sqlite: nil, native: 1) == .missed)
        #expect(Target.atMost(200, .bytes).verdict(engine: 201, sqlite: nil, native: nil) == .missed)
        #expect(Target.timesSQLite(4).verdict(engine: nil, sqlite: 1, native: 1) == .unknown)
        #expect(Target.times(30, .foundation).verdict(engine: 1, sqlite: 100, native: 30) == .met)
        #expect(Target.times(30, .foundation).verdict(engine: 1, sqlite: 100, native: 29) == .missed)
        #expect(Target.times(30, .foundation).verdict(engine: 1, sqlite: 100, native: nil) == .unknown)
        #expect(Target.atMostMore(0.5, than: .keyPath).verdict(engine: 1.5, sqlite: nil, native: 1) == .met)
        #expect(Target.atMostMore(0.5, than: .keyPath).verdict(engine: 1.6, sqlite: nil, native: 1) == .missed)
        #expect(Target.atMostMore(0.5, than: .keyPath).verdict(engine: 1, sqlite: 1, native: nil) == .unknown)
    }

    @Test func `targets beside another side say which`() {
        let targets: [Target] = [
            .within(1.5, .closure), .times(30, .foundation), .atMostMore(0.4e-6, than: .keyPath),
            .within(1.3, .singleIndex),
        ]
        #expect(
            targets.map(\.text) == [
                "≤ 1.5x closure", "≥ 30x Foundation", "≤ key path + 400 ns", "≤ 1.3x one index",
            ])
        let names = [Baseline.closure, .foundation, .keyPath, .singleIndex].map(\.name)
        #expect(names == ["Graph, closure", "Foundation", "Graph, key path", "Graph, one index"])
    }

    @Test func `rows that were looked at are figures like times`() {
        let result = SampleResults.result(
            "looked at", engine: 12_345, native: 10_000, targets: [.within(1.3, .singleIndex)],
            unit: .rows(per: "query"), baseline: .singleIndex)
        let report = Report(results: [result])
        let line = report.table.split(separator: "\n").map(String.init)[2]
        #expect(line.contains("rows per query"))
        #expect(line.contains("12,345 (11,728…12,962)"))
        #expect(line.hasSuffix("met"))
        #expect(SampleResults.lines(result)[0].unit == "rows per query")
        #expect(Figures.rows(9.5) == "9.50")
    }

    @Test func `one missed target is a miss`() {
        #expect(Target.verdict([.met, .missed, .unknown]) == .missed)
        #expect(Target.verdict([.met, .unknown]) == .unknown)
        #expect(Target.verdict([.met, .met]) == .met)
    }
}
