import Testing

/// R27, R29: one file under seven versions of a program.
struct EvolvingProgramTests {
    @Test func `a store keeps what it has while versions change, through crashes, compactions and copies`() async {
        let failures = await Seeds.failures(of: Seeds.programs(share: 4)) { await EvolvingProgram.failure(seed: $0) }
        for failure in failures { Issue.record("\(failure)") }
    }

    /// Each kind of step comes to each end.
    @Test func `the programs meet what they are for`() async throws {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...30 {
            counts.merge(try await EvolvingProgram.counts(seed: seed), uniquingKeysWith: +)
        }
        for what in [
            "evolved", "evolution lost", "evolution kept", "save lost", "save kept", "copied store", "copied fork",
            "copied file", "no copy", "fault", "compaction kept", "older refused", "read",
        ] {
            #expect(counts[what, default: 0] > 2, "\(what): \(counts)")
        }
    }
}
