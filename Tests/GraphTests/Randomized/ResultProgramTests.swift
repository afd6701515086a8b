import Testing

/// Live results are what a fetch returns, and their updates lead there.
struct ResultProgramTests {
    @Test func `live results follow whatever happens to a store`() async {
        let failures = await Seeds.failures(of: Seeds.programs()) { await ResultProgram.failure(seed: $0) }
        for failure in failures { Issue.record("\(failure)") }
    }
}
