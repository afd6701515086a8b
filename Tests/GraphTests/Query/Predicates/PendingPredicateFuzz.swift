import Foundation

@testable import Graph

/// The predicates of ``PredicateFuzz`` about edits that are not saved: in a context, in one that is nested in it, after others
/// have saved to the same rows, and in a transaction. Every kind of fetch finds what the objects say for themselves, whatever
/// the indexes are.
enum PendingPredicateFuzz {
    private static let orders: [[Ordering<Piece>]] = [
        [], [], [.ascending(\.number)], [.descending(\.number)], [.ascending(\.name)], [.ascending(\.serial)],
        [.descending(\.serial)], [.descending(\.name), .ascending(\.count)], [.ascending(\.group), .ascending(\.rank)],
        [.descending(\.weight)], [.ascending(\.label)], [.ascending(\.small)], [.ascending(\.crate, \.code)],
        [.descending(\.crate, \.level, nils: .first), .ascending(\.name, ignoringCase: true)],
    ]

    /// One store, and so many predicates for each of its states.
    static func run(seed: UInt64, predicates: Int) async throws -> [String] {
        var random = SeededGenerator(seed: seed)
        let schema = try Schema.version(seed % 4 == 0 ? 0 : seed, of: [Piece.self, Crate.self])
        let coordinator = try await Coordinator(
            schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(), taskExecutor: nil)
        let seeds = (0..<5).map { _ in random.next() }
        try await coordinator.transaction { try fill($0, seeds[0]) }
        var failures: [String] = []
        func note(_ texts: [String], _ place: String) {
            failures += texts.map { "seed \(seed), \(place), \($0)" }
        }
        let context = Context(coordinator)
        note(try await context.perform { try edit($0, 25, seeds[1], predicates) }, "context")
        let nested = await Context(parent: context)
        note(try await nested.perform { try edit($0, 15, seeds[2], predicates) }, "nested context")
        note(
            try await coordinator.transaction(isolation: .serializable) { try edit($0, 5, seeds[3], predicates) },
            "transaction")
        await context.refresh()
        note(try await context.perform { try edit($0, 1, seeds[4], predicates) }, "refreshed context")
        return failures
    }

    private static func fill(_ context: isolated Context, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let crates = (0..<Int.random(in: 1...20, using: &random)).map { _ in context.insert(Crate.random(&random)) }
        for _ in 0..<Int.random(in: 0...(random.chance(2) ? 150 : 40), using: &random) {
            let piece = context.insert(Piece.random(&random))
            if random.chance(2) { piece.crate = crates.randomElement(using: &random) }
        }
    }

    /// Random edits, and random predicates after them.
    private static func edit(
        _ context: isolated Context, _ count: Int, _ seed: UInt64, _ predicates: Int
    ) throws -> [String] {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<count { try edit(context, &random) }
        let facts = try facts(context)
        var failures: [String] = []
        for number in 0..<predicates {
            let made = RandomPredicate(
                seed: random.next(), depth: number % 4, followsRelationships: number % 2 == 0, about: facts)
            guard let made else { continue }
            do {
                failures += try problems(of: made, in: context, &random)
                    .map { "predicate \(number): \($0)\n\(made.description)" }
            } catch GraphError.predicateFailed(let id, _) {
                if let problem = made.problem(ofFailureFor: id) { failures.append("predicate \(number): \(problem)") }
            }
        }
        return failures
    }

    private static func edit(_ context: isolated Context, _ random: inout SeededGenerator) throws {
        let (pieces, crates) = (try context.fetch(Piece.self), try context.fetch(Crate.self))
        let (piece, crate) = (pieces.randomElement(using: &random), crates.randomElement(using: &random))
        let value = Piece.random(&random)
        switch Int.random(in: 0..<13, using: &random) {
        case 0, 1: context.insert(value).crate = crate
        case 2: piece?.delete()
        case 3: piece?.number = value.number
        case 4: piece?.name = value.name
        case 5: piece?.crate = crate
        case 6: piece?.crate = nil
        case 7: crate?.code = value.name
        case 8: crate?.level = value.count
        case 9: if random.chance(3) { crate?.delete() }
        case 10: if let other = crates.randomElement(using: &random) { crate?.above.insert(other) }
        case 11: if let piece { (piece.serial, piece.code) = (value.serial, value.code) }
        default:
            guard let piece else { return }
            (piece.small, piece.note, piece.weight) = (value.small, value.note, value.weight)
            (piece.group, piece.rank, piece.made) = (value.group, value.rank, value.made)
        }
    }

    /// What the context's objects say.
    private static func facts(_ context: isolated Context) throws -> Facts {
        let (pieces, crates) = (try context.fetch(Piece.self), try context.fetch(Crate.self))
        return Facts(
            pieces.map { IdentifiedValue(id: $0.id, value: $0.value) },
            crates.map { IdentifiedValue(id: $0.id, value: $0.value) },
            above: Dictionary(uniqueKeysWithValues: crates.map { ($0.id, $0.above.map(\.id)) }))
    }

    private static func problems(
        of made: RandomPredicate, in context: isolated Context, _ random: inout SeededGenerator
    ) throws -> [String] {
        let predicate = made.predicate
        var fetch = FetchDescriptor(
            predicate: predicate, sortBy: orders[Int.random(in: 0..<orders.count, using: &random)])
        if Bool.random(using: &random) { fetch.fetchLimit = Int.random(in: 0...20, using: &random) }
        if Bool.random(using: &random) { fetch.fetchOffset = Int.random(in: 0...20, using: &random) }
        let sorted = try context.fetchIDs(Piece.self, sortedBy: fetch.sortBy)
        let found = try context.fetchIDs(fetch)
        guard let expected = made.found(by: fetch, of: sorted) else { return [] }
        var problems: [String] = []
        func compare<Found: Equatable>(_ name: String, _ found: Found, _ expected: Found) throws {
            guard found != expected else { return }
            problems.append("\(name): \(found), not \(expected); \(try context.explain(fetch))")
        }
        try compare("identifiers", found, expected)
        try compare("objects", context.fetch(fetch).map(\.id), expected)
        try compare("values", context.fetchValues(fetch).map(\.serial), expected.map { made.facts.values[$0]?.serial })
        try compare("count", context.fetchCount(fetch), expected.count)
        guard made.isComplete else { return problems }

        let values = made.matching.compactMap { made.facts.values[$0] }
        try compare("count of all", context.fetchCount(Piece.self, where: predicate), values.count)
        try compare("first", context.first(Piece.self, where: predicate)?.id, made.matching.first)
        try compare("sum", context.sum(\Piece.count, where: predicate), values.map(\.count).reduce(0, +))
        try compare("minimum", context.minimum(\Piece.number, where: predicate), values.map(\.number).min())
        try compare("distinct", context.distinct(\Piece.serial, where: predicate), values.map(\.serial))
        guard random.chance(5) else { return problems }
        var page = FetchDescriptor(
            predicate: predicate, sortBy: fetch.sortBy, fetchLimit: Int.random(in: 1...9, using: &random))
        var paged: [Piece.ID] = []
        repeat {
            let result = try context.fetchPage(page)
            paged += result.elements.map(\.id)
            page.after = result.next
        } while page.after != nil
        try compare("pages", paged, sorted.filter(Set(made.matching).contains))
        return problems
    }
}
