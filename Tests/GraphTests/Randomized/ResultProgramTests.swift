import Testing

/// Live results are what a fetch returns, and their updates lead there.
struct ResultProgramTests {
    @Test func `live results follow whatever happens to a store`() async {
        let seeds = Seeds.programs(share: 20)
        let summary = await ResultProgram.run(seeds)
        for failure in summary.failures { Issue.record("\(failure)") }
        #expect(summary.commits > 3 * seeds.count, "\(summary.commits) commits of \(seeds.count) programs")
    }
}
