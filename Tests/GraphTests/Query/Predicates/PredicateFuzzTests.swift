import Testing

@testable import Graph

struct PredicateFuzzTests {
    @Test func `a fetch finds what each row says for itself`() async throws {
        for seed in Seeds.first..<(Seeds.first + 100) {
            let failures = try await PredicateFuzz.run(seed: seed, predicates: 100)
            try #require(failures.isEmpty, "\(failures[0])")
        }
    }
}
