import Foundation
import Synchronization
import Testing

@testable import GraphBench

struct RunnerTests {
    private static let workloads = EngineSuite.graph.joined(to: Workload.all)

    /// On few rows. Two that measure the machine have one side, and take seconds here.
    @Test(
        arguments: workloads.map(\.name).filter {
            ![FootprintProcess.people, FootprintProcess.packages, "limit_load", "limit_retain"].contains($0)
        })
    func `all sides agree about every answer`(name: String) async throws {
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        let workload = try #require(Self.workloads.first { $0.name == name })
        let setting = Setting(data: PeopleData(rows: 200), directory: directory.path)
        let runner = Runner(setting: setting, runs: 1, usesPeer: true, progress: ProgressLine())
        let result = await runner.measure(workload)
        #expect(result.mismatches.isEmpty)
        #expect(result.failures.isEmpty)
        #expect((result.columns[.engine]?.summary != nil) == (workload.group == .store))
        #expect(result.columns[.native]?.summary != nil || workload.native == nil)
        #expect(result.columns[.sqlite]?.summary != nil || workload.sqlite == nil || SQLiteLibrary.shared == nil)
        #expect(result.verdict == .unknown || result.median(.engine) != nil)
    }

    @Test func `short runs of reads are made of many passes, others of one, and an answer may not change`() async {
        final class Passes: Sendable {
            let count = Atomic(0)
        }
        func result(isReading: Bool, _ answer: @escaping @Sendable (Int) -> UInt64) async -> (
            WorkloadResult, Int
        ) {
            let passes = Passes()
            let workload = Workload(
                "short", "a millisecond", unit: .seconds(per: "row"), targets: [], isReading: isReading, sqlite: nil,
                native: { _ in
                    { _ in
                        let pass = passes.count.add(1, ordering: .relaxed).newValue
                        return Measurement(amount: 0.001, count: 10, answer: answer(pass))
                    }
                })
            let setting = Setting(data: PeopleData(rows: 1_000), directory: "/nowhere")
            let runner = Runner(setting: setting, runs: 2, usesPeer: false, progress: ProgressLine())
            return (await runner.measure(workload), passes.count.load(ordering: .relaxed))
        }
        let reading = await result(isReading: true) { _ in 7 }
        // Sums of 0.001 may be a little less.
        #expect((15...18).contains(reading.1))
        #expect(abs((reading.0.median(.native) ?? 0) - 0.0001) < 1e-9)
        let writing = await result(isReading: false) { UInt64($0) }
        #expect(writing.1 == 3)
        #expect(writing.0.failures.isEmpty)
        let changing = await result(isReading: true) { UInt64($0) }
        #expect(changing.0.failures == ["native: ChangingAnswer()"])
    }

    @Test(arguments: ["commit_small_durable", "commit_small_concurrent"], Side.allCases)
    func `what durable commits leave in the file is read back`(name: String, side: Side) async throws {
        if side == .sqlite, SQLiteLibrary.shared == nil { return }
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        let contender = try #require(Self.workloads.first { $0.name == name }?.contender(for: side))
        let setting = Setting(data: PeopleData(rows: 2_000), directory: directory.path)
        var trial: Workload.Trial? = try await contender(setting)
        let readBack = try #require(setting.takeReadBack())
        #expect(setting.takeReadBack() == nil)
        let answers = [try await trial?(0).answer, try await trial?(1).answer]
        trial = nil
        #expect(try await readBack(1) == answers[1])
        #expect(answers[0] != answers[1])
    }

    @Test func `a file that has something else than the last run's answer, or cannot be read, is a fault`() async {
        struct Unreadable: Error {}
        func contender(_ answer: @escaping @Sendable () throws -> UInt64) -> Workload.Contender {
            return { setting in
                setting.afterRuns { _ in try answer() }
                return { run in Measurement(amount: 1, count: 1, answer: UInt64(run)) }
            }
        }
        func result(_ answer: @escaping @Sendable () throws -> UInt64) async -> WorkloadResult {
            let workload = Workload(
                "durable", "left in a file", unit: .seconds(per: "row"), targets: [], sqlite: nil,
                native: contender(answer))
            let setting = Setting(data: PeopleData(rows: 1_000), directory: "/nowhere")
            return await Runner(setting: setting, runs: 2, usesPeer: false, progress: ProgressLine()).measure(workload)
        }
        let results = [await result { 2 }, await result { 1 }, await result { throw Unreadable() }]
        #expect(results.map(\.mismatches) == [[], ["native read back: 1 instead of 2"], []])
        #expect(results.map(\.failures) == [[], [], ["native: read back: Unreadable()"]])
        #expect(results[2].median(.native) == nil)
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
