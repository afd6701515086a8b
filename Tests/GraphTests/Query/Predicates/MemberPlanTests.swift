import Foundation
import Testing

@testable import Graph

/// Fetches of owners by conditions on their members, in random stores: whichever lists the plan compares, the answer is that of a
/// closure which looks at all rows.
struct MemberPlanTests {
    private typealias Condition = (predicate: Predicate<Crate>, matches: (Crate, [Piece], [Crate]) -> Bool)

    @Test(arguments: 1...40) func `conditions on members find what looking at all rows finds`(seed: UInt64) async throws
    {
        var random = SeededGenerator(seed: seed)
        let coordinator = try await Coordinator(for: Piece.self, Crate.self)
        let codes = ["a", "b", "c", "d"]
        try await coordinator.transaction { [random] context in
            var random = random
            let crates = (0..<Int.random(in: 5...120, using: &random)).map { _ in
                context.insert(
                    Crate(code: codes.randomElement(using: &random)!, level: Int.random(in: 0...3, using: &random)))
            }
            for number in 0..<Int.random(in: 5...200, using: &random) {
                let piece = context.insert(Piece.random(&random))
                (piece.number, piece.name) = (number % 60, "N\(number % 7)")
                if Int.random(in: 0..<4, using: &random) > 0 { piece.crate = crates.randomElement(using: &random) }
            }
            for crate in crates {
                for _ in 0..<Int.random(in: 0...4, using: &random) {
                    crate.above.insert(crates.randomElement(using: &random)!)
                }
            }
        }
        let snapshot = coordinator.snapshot
        var plans: Set<Bool> = []
        for _ in 0..<60 {
            let (one, other) = (Self.condition(&random), Self.condition(&random))
            let (both, isBoth) = ([one.predicate, other.predicate], Bool.random(using: &random))
            let joined: Condition = (
                isBoth ? .all(both) : .any(both),
                { crate, pieces, above in
                    let found = [one, other].count { $0.matches(crate, pieces, above) }
                    return isBoth ? found == 2 : found > 0
                }
            )
            for condition in [one, joined] {
                let fetch = FetchDescriptor(predicate: condition.predicate)
                let expected = try snapshot.fetchIdentifiedValues(Crate.self).filter { crate in
                    condition.matches(
                        crate.value, try snapshot.relatedValues(\Crate.pieces, of: crate.id),
                        try snapshot.relatedValues(\Crate.above, of: crate.id))
                }
                #expect(try snapshot.fetchIDs(fetch) == expected.map(\.id))
                #expect(try snapshot.fetchCount(fetch) == expected.count)
                plans.insert(try snapshot.explain(fetch).description.hasPrefix("all "))
            }
        }
        #expect(plans.contains(false))
    }

    private static func condition(_ random: inout SeededGenerator) -> Condition {
        let (number, level) = (Int.random(in: 0..<60, using: &random), Int.random(in: 0...3, using: &random))
        let (name, code) = ("N\(number % 7)", ["a", "b", "c", "e"].randomElement(using: &random)!)
        let condition: Condition
        switch Int.random(in: 0..<9, using: &random) {
        case 0:
            condition.predicate = #Predicate { $0.pieces.contains { $0.number == number } }
            condition.matches = { _, pieces, _ in pieces.contains { $0.number == number } }
        case 1:
            condition.predicate = #Predicate { $0.pieces.contains { $0.name == name } }
            condition.matches = { _, pieces, _ in pieces.contains { $0.name == name } }
        case 2:
            condition.predicate = #Predicate { $0.above.contains { $0.code == code } }
            condition.matches = { _, _, above in above.contains { $0.code == code } }
        case 3:
            condition.predicate = #Predicate { $0.above.contains { $0.code == code && $0.level > level } }
            condition.matches = { _, _, above in above.contains { $0.code == code && $0.level > level } }
        case 4:
            condition.predicate = #Predicate { $0.pieces.contains { $0.number == number || $0.name == name } }
            condition.matches = { _, pieces, _ in pieces.contains { $0.number == number || $0.name == name } }
        case 5:
            condition.predicate = #Predicate { $0.pieces.contains { $0.number < number && $0.number > level } }
            condition.matches = { _, pieces, _ in pieces.contains { $0.number < number && $0.number > level } }
        case 6:
            condition.predicate = #Predicate { $0.code == code }
            condition.matches = { crate, _, _ in crate.code == code }
        case 7:
            condition.predicate = #Predicate { $0.pieces.allSatisfy { $0.number == number } }
            condition.matches = { _, pieces, _ in pieces.allSatisfy { $0.number == number } }
        default:
            condition.predicate = #Predicate { !$0.above.contains { $0.code == code } }
            condition.matches = { _, _, above in !above.contains { $0.code == code } }
        }
        return condition
    }
}
