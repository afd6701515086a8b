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
        let pieces = try snapshot.fetchIdentifiedValues(Piece.self)
        var failures: [String] = []
        for number in 0..<predicates {
            let followsRelationships = number % 3 == 0
            let seedOfPredicate = random.next()
            var node: GeneratedNode<Bool>?
            let made = Predicate<Piece> { piece in
                var generator = PredicateGenerator(
                    piece, seed: seedOfPredicate, followsRelationships: followsRelationships)
                let condition = generator.condition(number % 4)
                node = condition
                return condition.expression
            }
            guard let node else { continue }
            let logs = pieces.map { _ in Surroundings.Log() }
            let results = zip(pieces, logs).map { piece, log in
                Result { try node.value(Surroundings(piece: piece.value, snapshot: snapshot, log: log)) }
            }
            // Foundation stops the program where it describes nodes that are not its own.
            let description = followsRelationships ? "(through relationships)" : "\(made)"
            func fail(_ text: String) { failures.append("seed \(seed), predicate \(number): \(text)\n\(description)") }

            if !followsRelationships {
                for (number, piece) in pieces.enumerated() where !logs[number].hasDifferentOrder {
                    guard case .success(let expected) = results[number] else { continue }
                    if let found = try? made.evaluate(piece.value), found != expected {
                        fail("Foundation says otherwise of \(piece)")
                    }
                }
            }
            var fetch = FetchDescriptor(
                predicate: made, sortBy: orders[Int.random(in: 0..<orders.count, using: &random)])
            if Bool.random(using: &random) { fetch.fetchLimit = Int.random(in: 0...20, using: &random) }
            if Bool.random(using: &random) { fetch.fetchOffset = Int.random(in: 0...20, using: &random) }
            let isComplete = results.allSatisfy { if case .success = $0 { true } else { false } }
            let matching = zip(pieces, results).compactMap { (try? $1.get()) == true ? $0.id : nil }
            do {
                let found = try snapshot.fetchIDs(fetch)
                let count = try snapshot.fetchCount(Piece.self, where: made)
                if isComplete || fetch.sortBy.isEmpty && fetch.fetchLimit == nil {
                    let all = try snapshot.fetchIDs(Piece.self, sortedBy: fetch.sortBy).filter(Set(matching).contains)
                    let expected = Array(all.dropFirst(fetch.fetchOffset).prefix(fetch.fetchLimit ?? .max))
                    if found != expected { fail("found \(found), not \(expected)") }
                    if count != matching.count { fail("counted \(count), not \(matching.count)") }
                }
            } catch GraphError.predicateFailed(let id, _) {
                let position = pieces.firstIndex { AnyPersistentID($0.id) == id }
                if let position, case .success = results[position] { fail("\(id) has a result") }
                if position == nil { fail("\(id) does not exist") }
            }
        }
        return failures
    }
}
