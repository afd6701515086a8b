import Foundation

@testable import Graph

/// Random predicates of every operator, on random stores: what a fetch finds is what an interpreter in these tests finds row by
/// row, and what Foundation's own evaluation says where it can evaluate at all.
enum PredicateFuzz {
    /// A store of pieces and crates.
    private static func store(_ random: inout SeededGenerator) async throws -> Snapshot {
        let coordinator = try await Coordinator(for: Piece.self, Crate.self)
        // Few rows in every other store, as Foundation takes its time with each.
        let count = Int.random(in: 0...(random.chance(2) ? 150 : 40), using: &random)
        let pieces = (0..<count).map { _ in Piece.random(&random) }
        let crateCount = Int.random(in: 1...40, using: &random)
        let crates = (0..<crateCount).map { _ in Crate.random(&random) }
        // Some pieces have no crate, and some are deleted.
        let choices = (0..<count).map { _ in Int.random(in: 0...(crateCount + 1), using: &random) }
        let links = (0..<6).map { _ in
            (Int.random(in: 0..<crateCount, using: &random), Int.random(in: 0..<crateCount, using: &random))
        }
        try await coordinator.transaction { context in
            let crates = crates.map { context.insert($0) }
            let pieces = pieces.map { context.insert($0) }
            for (piece, choice) in zip(pieces, choices) where choice < crateCount { piece.crate = crates[choice] }
            for (upper, lower) in links { crates[lower].above.insert(crates[upper]) }
            for crate in crates.dropFirst() { crate.owner = pieces.first }
            // Gaps between the rows.
            for (piece, choice) in zip(pieces, choices).dropFirst() where choice == crateCount + 1 { piece.delete() }
        }
        return coordinator.snapshot
    }

    private static let orders: [[Ordering<Piece>]] = [
        [], [], [.ascending(\.number)], [.descending(\.number)], [.ascending(\.name)],
        [.descending(\.name), .ascending(\.count)],
        [.ascending(\.group), .ascending(\.rank)], [.descending(\.weight)], [.ascending(\.label)],
        [.ascending(\.small)],
    ]

    /// One store and a few dozen predicates.
    static func run(seed: UInt64, predicates: Int) async throws -> [String] {
        var random = SeededGenerator(seed: seed)
        let snapshot = try await store(&random)
        let facts = try Facts(snapshot)
        var failures: [String] = []
        for number in 0..<predicates {
            let made = RandomPredicate(
                seed: random.next(), depth: number % 4, followsRelationships: number % 3 == 0, about: facts)
            guard let made else { continue }
            func fail(_ text: String) {
                failures.append("seed \(seed), predicate \(number): \(text)\n\(made.description)")
            }

            if !made.followsRelationships {
                for (number, piece) in facts.pieces.enumerated() where !made.logs[number].hasDifferentOrder {
                    guard case .success(let expected) = made.results[number] else { continue }
                    if let found = try? made.predicate.evaluate(piece.value), found != expected {
                        fail("Foundation says otherwise of \(piece)")
                    }
                }
            }
            var fetch = FetchDescriptor(
                predicate: made.predicate, sortBy: orders[Int.random(in: 0..<orders.count, using: &random)])
            if Bool.random(using: &random) { fetch.fetchLimit = Int.random(in: 0...20, using: &random) }
            if Bool.random(using: &random) { fetch.fetchOffset = Int.random(in: 0...20, using: &random) }
            do {
                let found = try snapshot.fetchIDs(fetch)
                let count = try snapshot.fetchCount(Piece.self, where: made.predicate)
                let sorted = try snapshot.fetchIDs(Piece.self, sortedBy: fetch.sortBy)
                if let expected = made.found(by: fetch, of: sorted) {
                    if found != expected { fail("found \(found), not \(expected)") }
                    if count != made.matching.count { fail("counted \(count), not \(made.matching.count)") }
                }
            } catch GraphError.predicateFailed(let id, _) {
                if let problem = made.problem(ofFailureFor: id) { fail(problem) }
            }
        }
        return failures
    }
}
