import Testing

struct PendingPredicateFuzzTests {
    @Test func `a fetch finds what each object says for itself, saved or not`() async throws {
        for seed in Seeds.programs(share: 4) {
            let failures = try await PendingPredicateFuzz.run(seed: seed, predicates: 40)
            try #require(failures.isEmpty, "\(failures[0])")
        }
    }
}
