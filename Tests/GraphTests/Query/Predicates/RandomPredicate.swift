import Foundation

@testable import Graph

/// A predicate of random nodes, and what it says of each piece.
struct RandomPredicate {
    let predicate: Predicate<Piece>
    private let isPrintable: Bool
    let followsRelationships: Bool
    let facts: Facts
    /// Of each piece, in their order.
    let results: [Result<Bool, any Error>]
    let logs: [Surroundings.Log]
    /// The pieces that it is true of.
    let matching: [Piece.ID]
    /// Whether it has a result for each piece.
    let isComplete: Bool

    init?(seed: UInt64, depth: Int, followsRelationships: Bool, about facts: Facts) {
        var (node, isPrintable): (GeneratedNode<Bool>?, Bool) = (nil, false)
        let predicate = Predicate<Piece> { piece in
            var generator = PredicateGenerator(
                piece, known: facts.pieces, seed: seed, followsRelationships: followsRelationships)
            let condition = generator.condition(depth)
            (node, isPrintable) = (condition, generator.isPrintable)
            return condition.expression
        }
        guard let node else { return nil }
        let logs = facts.pieces.map { _ in Surroundings.Log() }
        results = zip(facts.pieces, logs).map { piece, log in
            Result { try node.value(Surroundings(piece: piece.value, facts: facts, log: log)) }
        }
        (self.predicate, self.facts, self.logs) = (predicate, facts, logs)
        self.followsRelationships = followsRelationships
        self.isPrintable = isPrintable
        matching = zip(facts.pieces, results).compactMap { (try? $1.get()) == true ? $0.id : nil }
        isComplete = results.allSatisfy { if case .success = $0 { true } else { false } }
    }

    var description: String { isPrintable ? "\(predicate)" : "(with nodes that Foundation does not describe)" }

    /// What a fetch should find, if all pieces are sorted like this; nil if it may just as well fail.
    func found(by fetch: FetchDescriptor<Piece>, of sorted: [Piece.ID]) -> [Piece.ID]? {
        guard isComplete || fetch.sortBy.isEmpty && fetch.fetchLimit == nil else { return nil }
        let all = sorted.filter(Set(matching).contains)
        return Array(all.dropFirst(fetch.fetchOffset).prefix(fetch.fetchLimit ?? .max))
    }

    /// What is wrong with an error that names this object.
    func problem(ofFailureFor id: AnyPersistentID) -> String? {
        guard let position = facts.pieces.firstIndex(where: { AnyPersistentID($0.id) == id }) else {
            return "\(id) does not exist"
        }
        if case .success = results[position] { return "\(id) has a result" }
        return nil
    }
}
