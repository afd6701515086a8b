import Foundation
import Testing

@testable import GraphBench

struct RunnerTests {
    private static let workloads = EngineSuite.graph.joined(to: Workload.all)

    /// On few rows.
    @Test(arguments: workloads.filter { $0.name != FootprintProcess.workload }.map(\.name))
    func `all sides agree about every answer`(name: String) async throws {
        let directory = try WorkDirectory(in: nil)
        defer { directory.remove() }
        let workload = try #require(Self.workloads.first { $0.name == name })
        let setting = Setting(data: PeopleData(rows: 2_000), directory: directory.path)
        let runner = Runner(setting: setting, runs: 2, usesPeer: true, progress: ProgressLine())
        let result = await runner.measure(workload)
        #expect(result.mismatches.isEmpty)
        #expect(result.failures.isEmpty)
        #expect((result.columns[.engine]?.summary != nil) == (workload.group == .store))
        #expect(result.columns[.native]?.summary != nil || workload.native == nil)
        #expect(result.columns[.sqlite]?.summary != nil || workload.sqlite == nil || SQLiteLibrary.shared == nil)
        #expect(result.verdict == .unknown || result.median(.engine) != nil)
    }

    @Test(.enabled(if: SQLiteLibrary.shared != nil, "libsqlite3 is not installed"))
    func `answers that differ are faults`() async throws {
        let workload = Workload(
            "quarrel", "two opinions", unit: .seconds(per: "row"), targets: [],
            sqlite: { _ in { _ in Measurement(amount: 1, count: 1, answer: 1) } },
            native: { _ in { run in Measurement(amount: 1, count: 1, answer: run == 1 ? 2 : 1) } })
        let setting = Setting(data: PeopleData(rows: 1_000), directory: "/nowhere")
        let runner = Runner(setting: setting, runs: 1, usesPeer: true, progress: ProgressLine())
        let result = await runner.measure(workload)
        #expect(result.mismatches == ["run 1: SQLite 1, native 2"])
        #expect(
            Report(results: [result]).faults == ["quarrel, 1,000 people: ANSWERS DIFFER, run 1: SQLite 1, native 2"])
    }
}
