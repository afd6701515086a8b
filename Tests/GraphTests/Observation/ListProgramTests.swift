import Testing

/// Lists on the main actor. The campaign runs them with 100,000 objects for as long as one likes.
@MainActor struct ListProgramTests {
    @Test func `no line of a list is stale, and nothing leaks, whatever happens to the store`() async throws {
        for seed in Seeds.programs(share: 100) {
            let program = try await ListProgram(seed: seed, songs: 2_000)
            do { try await program.run(rounds: 20) } catch {
                Issue.record("GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter ListProgramTests\n\(error)")
            }
        }
    }
}
