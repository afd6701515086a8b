import Testing

@testable import Graph

struct PredicateFuzzTests {
    @Test func `a fetch finds what each row says for itself`() async throws {
        // Foundation can evaluate two of three: more than 10,000.
        for seed in Seeds.first..<(Seeds.first + 155) {
            let failures = try await PredicateFuzz.run(seed: seed, predicates: 100)
            try #require(failures.isEmpty, "\(failures[0])")
        }
    }
}
