import Testing

struct ManyRowsProgramTests {
    @Test func `many rows at once change as their objects would`() async {
        let failures = await Seeds.failures(of: Seeds.programs(share: 4)) { await ManyRowsProgram.failure(seed: $0) }
        for failure in failures { Issue.record("\(failure)") }
    }
}
