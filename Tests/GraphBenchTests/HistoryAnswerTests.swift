import Testing

@testable import GraphBench

struct HistoryAnswerTests {
    private static let data = PeopleData(rows: 2_000)

    private static func measure(_ name: String, _ side: Side = .engine) async throws -> Measurement {
        let directory = try WorkDirectory(in: nil, heedsSignals: false)
        defer { directory.remove() }
        let workload = try #require(EngineSuite.graph.joined(to: Workload.all).first { $0.name == name })
        let contender = try #require(workload.contender(for: side))
        return try await contender(Setting(data: data, directory: directory.path))(0)
    }

    @Test func `every change is read, from the value before to the one after`() async throws {
        let read = try await Self.measure("history_read")
        let expected = Self.data.updates(run: 0).enumerated().reduce(UInt64(0)) { sum, update in
            let after = PeopleData.updatedBalance(position: update.offset, run: 0)
            return sum &+ Workload.History.change(from: Self.data.people[update.element].balance, to: after)
        }
        #expect(read.count == 1_000 && read.answer == expected && read.amount > 0)
    }

    @Test func `the state before has whom the updates leave alone, as the one after has`() async throws {
        let witness = Self.data.people[Workload.History.witness(Self.data)]
        let before = try await Self.measure("snapshot_at")
        #expect(before.answer == witness.checksum && before.count == 1)
        #expect(try await Self.measure("snapshot_at", .native).answer == before.answer)
        #expect(!Self.data.updates(run: 0).contains(Workload.History.witness(Self.data)))
    }

    @Test func `every state that is asked for is there`() async throws {
        let found = try await Self.measure("snapshot_at_cached")
        #expect(found.count == 100_000 && found.answer == 100_000)
    }
}
