import Foundation
import Testing

@testable import Graph

/// Conditions on members, whose owners a plan finds by the members that an index names. The random predicates of `PredicateFuzz`
/// are about rows without members of their own.
struct MemberConditionTests {
    /// A store in which most conditions lead to few members, by references and by links; some pieces have no crate.
    private static func store(_ random: inout SeededGenerator) async throws -> Snapshot {
        let coordinator = try await Coordinator(for: Piece.self, Crate.self)
        let seed = random.next()
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: seed)
            let crates = (0..<120).map { context.insert(Crate(code: "C\($0 % 50)", level: $0 % 4)) }
            for number in 0..<400 {
                let piece = context.insert(Piece.random(&random))
                (piece.number, piece.name, piece.label) = (number / 2, "N\(number % 90)", "L\(number % 3)")
                if number % 7 != 0 { piece.crate = crates[Int.random(in: 0..<100, using: &random)] }
            }
            for _ in 0..<150 {
                let ends = (crates.randomElement(using: &random)!, crates.randomElement(using: &random)!)
                ends.0.above.insert(ends.1)
            }
            for crate in crates where Int.random(in: 0..<9, using: &random) == 0 { crate.delete() }
        }
        return coordinator.snapshot
    }

    @Test(arguments: 1..<9 as Range<UInt64>) func `owners are those whose members match`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let snapshot = try await Self.store(&random)
        func pieces(_ crate: IdentifiedValue<Crate>) throws -> [Piece] {
            try snapshot.relatedValues(\Crate.pieces, of: crate.id)
        }
        func above(_ crate: IdentifiedValue<Crate>) throws -> [Crate] {
            try snapshot.relatedValues(\Crate.above, of: crate.id)
        }
        var plans = 0
        func check(_ predicate: Predicate<Crate>, _ isMet: (IdentifiedValue<Crate>) throws -> Bool) throws {
            let fetch = FetchDescriptor(predicate: predicate)
            let expected = try snapshot.fetchIdentifiedValues(FetchDescriptor<Crate>()).filter(isMet).map(\.id)
            #expect(try snapshot.fetchIDs(fetch) == expected)
            #expect(try snapshot.fetchCount(fetch) == expected.count)
            if try snapshot.explain(fetch).description.contains("with a member among") { plans += 1 }
        }
        for _ in 0..<20 {
            let (number, level) = (Int.random(in: 0..<210, using: &random), Int.random(in: 0..<4, using: &random))
            let (name, label) = ("N\(number % 95)", "L\(level)")
            let (code, other) = ("C\(number % 55)", "C\(level)")
            try check(#Predicate { $0.pieces.contains { $0.number == number } }) {
                try pieces($0).contains { $0.number == number }
            }
            try check(#Predicate { $0.pieces.contains { $0.name == name && $0.label == label } }) {
                try pieces($0).contains { $0.name == name && $0.label == label }
            }
            try check(#Predicate { $0.level == level && $0.above.contains { $0.code == code } }) {
                try $0.value.level == level && above($0).contains { $0.code == code }
            }
            try check(
                #Predicate { $0.above.contains { $0.code == other } || $0.pieces.contains { $0.number == number } }
            ) {
                try above($0).contains { $0.code == other } || pieces($0).contains { $0.number == number }
            }
            try check(#Predicate { $0.above.contains { $0.code == code } && $0.pieces.contains { $0.name == name } }) {
                try above($0).contains { $0.code == code } && pieces($0).contains { $0.name == name }
            }
            let lists = #Predicate<Crate> {
                $0.above.contains { $0.code == other } && $0.pieces.contains { $0.label == label || $0.name == name }
            }
            try check(.all([lists, #Predicate { $0.level % 2 == 1 }])) {
                try $0.value.level % 2 == 1 && above($0).contains { $0.code == other }
                    && pieces($0).contains { $0.label == label || $0.name == name }
            }
            let names = #Predicate<Crate> {
                $0.above.contains { $0.code == other } && $0.above.contains { $0.code == code }
            }
            try check(.all([#Predicate { $0.level == level }, names])) {
                try $0.value.level == level && above($0).contains { $0.code == other }
                    && above($0).contains { $0.code == code }
            }
            try check(.all([names, #Predicate { $0.level % 2 == 1 }])) {
                try $0.value.level % 2 == 1 && above($0).contains { $0.code == other }
                    && above($0).contains { $0.code == code }
            }
            let more = #Predicate<Crate> { $0.pieces.contains { $0.number < 90 && $0.number > number } }
            try check(.all([more, #Predicate { $0.pieces.contains { $0.name == name || $0.label == label } }])) {
                try pieces($0).contains { $0.number < 90 && $0.number > number }
                    && pieces($0).contains { $0.name == name || $0.label == label }
            }
            try check(
                #Predicate { $0.above.contains { $0.code == code } && !$0.pieces.contains { $0.number == number } }
            ) {
                try above($0).contains { $0.code == code } && !pieces($0).contains { $0.number == number }
            }
        }
        #expect(plans > 40, "the examples say little: \(plans) plans begin at members")
    }
}
