import Testing

/// R8, R10, R12 to R16, R20, R23a.
struct NodeProgramTests {
    @Test func `nodes related in every way keep what is promised, whatever is done to them`() async {
        let failures = await Seeds.failures(of: Seeds.programs(share: 5)) { await NodeProgram.failure(seed: $0) }
        for failure in failures { Issue.record("\(failure)") }
    }
}
