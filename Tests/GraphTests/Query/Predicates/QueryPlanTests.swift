import Foundation
import Observation
import Testing

@testable import Graph

/// Which rows a plan looks at, and what a context's fetches by predicate depend on.
struct QueryPlanTests {
    let coordinator: Coordinator

    init() async throws {
        coordinator = try await Coordinator(for: Piece.self, Crate.self)
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: 5)
            let crates = (0..<10).map { context.insert(Crate(code: "C\($0)", level: $0)) }
            for number in 0..<1_000 {
                let piece = context.insert(Piece.random(&random))
                (piece.number, piece.name, piece.label) = (number, "N\(number)", "L\(number % 2)")
                piece.note = number % 10 == 0 ? "M\(number / 10)" : nil
                piece.crate = crates[number % 10]
            }
            for crate in crates { crate.above.insert(crates[0]) }
        }
    }

    private func explanation(_ fetch: FetchDescriptor<Piece>) throws -> String {
        try coordinator.snapshot.explain(fetch).description
    }

    private func explanation(_ predicate: Predicate<Piece>) throws -> String {
        try explanation(FetchDescriptor(predicate: predicate))
    }

    @Test func `a plan takes the index that proposes the fewest rows`() throws {
        let names = ["N1", "N2", "N1"]
        let examples: [(Predicate<Piece>, String)] = [
            (#Predicate { $0.number == 7 }, "1 rows by the index of Piece.number; expected 1, looked at 1, found 1"),
            (
                #Predicate { $0.number >= 7 && $0.number < 17 },
                "10 rows by the index of Piece.number; expected 10, looked at 10, found 10"
            ),
            (
                #Predicate { (7...16).contains($0.number) },
                "10 rows by the index of Piece.number; expected 10, looked at 10, found 10"
            ),
            (
                #Predicate { names.contains($0.name) },
                "2 rows by the index of Piece.name; expected 2, looked at 2, found 2"
            ),
            (
                #Predicate { $0.name.starts(with: "N99") },
                "11 rows by the index of Piece.name; expected 11, looked at 11, found 11"
            ),
            (
                #Predicate { $0.number < 100 && $0.name.starts(with: "N99") },
                "11 rows by the index of Piece.name; expected 11, looked at 11, found 1"
            ),
            (
                #Predicate { $0.name.starts(with: "N5") && $0.name.starts(with: "N53") },
                "11 rows by the index of Piece.name; expected 11, looked at 11, found 11"
            ),
            (
                #Predicate { $0.name.starts(with: "N53") && $0.name.starts(with: "N5") },
                "11 rows by the index of Piece.name; expected 11, looked at 11, found 11"
            ),
            (
                #Predicate { $0.number < 10 || $0.name == "N99" },
                "10 rows by the index of Piece.number and 1 rows by the index of Piece.name; expected 11, looked at 11, found 11"
            ),
            (
                #Predicate { $0.number < 10 && $0.number > 20 },
                "0 rows by the index of Piece.number; expected 0, looked at 0, found 0"
            ),
            (
                #Predicate { $0.crate.code == "C3" },
                "100 rows that lead to 1 by Crate.code; expected 100, looked at 100, found 100"
            ),
            (
                #Predicate { $0.crate.level == 3 },
                "100 rows that lead to 1 by Crate.level; expected 100, looked at 100, found 100"
            ),
            (
                #Predicate { $0.crate.code == "C3" && $0.crate.level == 3 },
                "100 rows that are in 100 rows that lead to 1 by Crate.level and 100 rows that lead to 1 by Crate.code; "
                    + "expected 100, looked at 100, found 100"
            ),
            (
                #Predicate { if let note = $0.note { note >= "M1" && note < "M3" } else { false } },
                "22 rows by the index of Piece.note; expected 22, looked at 22, found 22"
            ),
            (
                #Predicate { ($0.note ?? "") >= "M98" },
                "2 rows by the index of Piece.note; expected 2, looked at 2, found 2"
            ),
            (
                #Predicate { $0.note?.starts(with: "M98") == true },
                "1 rows by the index of Piece.note; expected 1, looked at 1, found 1"
            ),
            (
                #Predicate { ($0.note ?? "M98") >= "M98" },
                "all 1000 rows of Piece; expected 1000, looked at 1000, found 902"
            ),
            (
                #Predicate { if let level = $0.crate.level { level < 1 } else { false } },
                "100 rows that lead to 1 by Crate.level; expected 100, looked at 100, found 100"
            ),
            (
                #Predicate { $0.name == "N7" && $0.group == 1 && $0.count > -9 },
                "0 rows by the index of Piece.(name, group); expected 0, looked at 0, found 0"
            ),
            (
                #Predicate { $0.group == 1 && $0.rank == 77 && $0.name.starts(with: "N") },
                "0 rows by the index of Piece.(group, rank, name); expected 0, looked at 0, found 0"
            ),
            (#Predicate { $0.number < 900 }, "all 1000 rows of Piece; expected 1000, looked at 1000, found 900"),
            (
                #Predicate { $0.number < 10 || $0.label == "L1" },
                "all 1000 rows of Piece; expected 1000, looked at 1000, found 505"
            ),
            (#Predicate { !($0.number == 7) }, "all 1000 rows of Piece; expected 1000, looked at 1000, found 999"),
        ]
        for (predicate, text) in examples {
            let found = try explanation(predicate)
            #expect(found == text)
        }
    }

    @Test func `a sorted page is read along an index`() throws {
        let byName = FetchDescriptor<Piece>(
            predicate: #Predicate { $0.name.starts(with: "N9") && $0.label == "L1" }, sortBy: [.ascending(\.name)],
            fetchLimit: 3)
        #expect(
            try explanation(byName)
                == "111 rows by the index of Piece.name, in the order of an index; expected 111, looked at 6, found 3")
        let deep = FetchDescriptor<Piece>(
            predicate: #Predicate { $0.number >= 100 && $0.number < 300 }, sortBy: [.descending(\.number)],
            fetchLimit: 2,
            fetchOffset: 150)
        #expect(
            try explanation(deep)
                == "200 rows by the index of Piece.number, in the order of an index; expected 200, looked at 2, found 2"
        )
        #expect(try coordinator.snapshot.fetchValues(deep).map(\.number) == [149, 148])
        let all = FetchDescriptor<Piece>(
            predicate: #Predicate { $0.number < 900 }, sortBy: [.ascending(\.number)], fetchLimit: 5)
        #expect(
            try explanation(all)
                == "900 rows by the index of Piece.number, in the order of an index; expected 900, looked at 5, found 5"
        )
    }

    @Test func `a range of many rows is counted, and its pages begin and end in it`() throws {
        let (from, to) = (200, 900)
        let wide = #Predicate<Piece> { $0.number >= from && $0.number < to }
        let both = #Predicate<Piece> { $0.number >= from && $0.number < to && $0.label == "L1" }
        func check(
            _ predicate: Predicate<Piece>, _ order: Ordering<Piece>, offset: Int = 0, _ numbers: [Int],
            lookedAt count: Int
        ) throws {
            let fetch = FetchDescriptor<Piece>(
                predicate: predicate, sortBy: [order], fetchLimit: 2, fetchOffset: offset)
            #expect(try coordinator.snapshot.fetchValues(fetch).map(\.number) == numbers)
            let rows = "700 rows by the index of Piece.number, in the order of an index"
            #expect(try explanation(fetch) == "\(rows); expected 700, looked at \(count), found 2")
        }
        try check(wide, .ascending(\.number), [200, 201], lookedAt: 2)
        try check(wide, .descending(\.number), [899, 898], lookedAt: 2)
        try check(wide, .ascending(\.number), offset: 500, [700, 701], lookedAt: 2)
        try check(wide, .descending(\.number), offset: 698, [201, 200], lookedAt: 2)
        // Not all of these match, so that those of an offset are looked at.
        try check(both, .descending(\.number), [899, 897], lookedAt: 3)
        try check(both, .ascending(\.number), offset: 3, [207, 209], lookedAt: 10)
        for (predicate, count, visited) in [(wide, 700, 0), (both, 350, 1_000)] {
            let plan = try QueryPlan(FetchDescriptor(predicate: predicate), in: coordinator.snapshot)
            let found = try plan.count()
            #expect(found == count && plan.visitedCount == visited)
        }
    }

    @Entity(indexed: [["first", "second", "third"]]) fileprivate struct Triple {
        var first: Int
        var second: Int
        var third: Int
        var number = 0
    }

    @Test func `a walk that begins among the keys of one value does not cut the next ones`() async throws {
        let coordinator = try await Coordinator(for: Triple.self)
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: 7)
            for number in 0..<300 {
                // The last keys of a value are those of the greatest numbers behind it.
                let (second, third) = number % 3 == 0 ? (Int.max, Int.max) : (number % 5, number % 7)
                let first = Int.random(in: 0..<12, using: &random)
                context.insert(Triple(first: first, second: second, third: third, number: number))
            }
        }
        let snapshot = coordinator.snapshot
        for bound in 0..<12 {
            for order in [[Ordering.ascending(\Triple.first)], [.ascending(\.first), .descending(\.number)]] {
                for limit in 1...20 {
                    let fetch = FetchDescriptor<Triple>(
                        predicate: #Predicate { $0.first > bound }, sortBy: order, fetchLimit: limit)
                    let all = try snapshot.fetchValues(Triple.self, where: { $0.first > bound }, sortedBy: order)
                    let found = try snapshot.fetchValues(fetch).map(\.number)
                    #expect(found == all.prefix(limit).map(\.number), "above \(bound), \(limit)")
                }
            }
        }
    }

    @Test func `a condition on members starts at the members that an index names`() throws {
        let snapshot = coordinator.snapshot
        func check(_ predicate: Predicate<Crate>, _ codes: [String], _ text: String) throws {
            let fetch = FetchDescriptor<Crate>(predicate: predicate)
            #expect(try snapshot.fetchValues(fetch).map(\.code) == codes)
            #expect(try snapshot.explain(fetch).description == text)
        }
        try check(
            #Predicate { $0.pieces.contains { $0.number == 7 } }, ["C7"],
            "1 rows with a member among 1 rows by the index of Piece.number; expected 1, looked at 1, found 1")
        try check(
            #Predicate { $0.level > 3 && $0.pieces.contains { $0.name == "N12" || $0.name == "N25" } }, ["C5"],
            "2 rows with a member among 1 rows by the index of Piece.name and 1 rows by the index of Piece.name; "
                + "expected 2, looked at 2, found 1")
        try check(
            #Predicate { $0.above.contains { $0.code == "C1" } }, [],
            "0 rows with a member among 1 rows by the index of Crate.code; expected 0, looked at 0, found 0")
        try check(
            #Predicate { !$0.pieces.contains { $0.number == 7 } && $0.level > 7 }, ["C8", "C9"],
            "all 10 rows of Crate; expected 10, looked at 10, found 2")
    }

    @Test func `owners are found by the references of members and by links, and each is tested`() async throws {
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: 6)
            let piece = context.insert(Piece.random(&random))
            // It has no owner.
            (piece.number, piece.name) = (2_000, "N2000")
        }
        let snapshot = coordinator.snapshot
        func check(_ predicate: Predicate<Crate>, _ codes: [String], _ text: String) throws {
            let fetch = FetchDescriptor<Crate>(predicate: predicate)
            let owners = try snapshot.fetchIdentifiedValues(fetch)
            #expect(owners.map(\.value.code) == codes)
            #expect(owners.allSatisfy { snapshot.value(for: $0.id)?.code == $0.value.code })
            #expect(try snapshot.fetchCount(fetch) == codes.count)
            #expect(try snapshot.explain(fetch).description.hasPrefix(text))
        }
        try check(
            #Predicate { $0.pieces.contains { $0.number >= 998 } }, ["C8", "C9"],
            "2 rows with a member among 3 rows by the index of Piece.number")
        try check(
            #Predicate { $0.above.contains { $0.code == "C0" } }, (0..<10).map { "C\($0)" },
            "10 rows with a member among 1 rows by the index of Crate.code")
        try check(
            #Predicate { $0.pieces.contains { $0.number == 7 && $0.label == "L0" } }, [],
            "1 rows with a member among 1 rows by the index of Piece.number")
    }

    @Test func `a compound index looks at the rows that match, where it has all of the conditions`() throws {
        for group in 0...3 {
            for rank in 0...6 {
                let examples: [(Predicate<Piece>, (Piece) -> Bool)] = [
                    (#Predicate { $0.group == group && $0.rank < rank }, { $0.group == group && $0.rank < rank }),
                    (#Predicate { $0.rank <= rank && $0.group == group }, { $0.group == group && $0.rank <= rank }),
                    (#Predicate { $0.group == group && $0.rank == rank }, { $0.group == group && $0.rank == rank }),
                ]
                for (predicate, matches) in examples {
                    let expected = try coordinator.snapshot.fetchIDs(Piece.self, where: matches)
                    #expect(try coordinator.snapshot.fetchIDs(Piece.self, where: predicate) == expected)
                    let explanation = try coordinator.snapshot.explain(FetchDescriptor(predicate: predicate))
                    let all = explanation.description.hasPrefix("all ")
                    #expect(all || explanation.visitedCount == expected.count, "\(explanation)")
                }
            }
        }
    }

    @Test func `long lists of values are intersected as far as that is cheap`() throws {
        let (names, others) = (Set((0..<5_000).map { "N\($0)" }), Set((990..<6_000).map { "N\($0)" }))
        #expect(
            try explanation(#Predicate { names.contains($0.name) && others.contains($0.name) })
                == "all 1000 rows of Piece; expected 1000, looked at 1000, found 10")
        let (few, many) = (Set(["N1", "N991"]), Set((900..<2_000).map { "N\($0)" }))
        #expect(
            try explanation(#Predicate { few.contains($0.name) && many.contains($0.name) })
                == "1 rows by the index of Piece.name; expected 1, looked at 1, found 1")
    }

    // MARK: Contexts

    @Test func `R15 a predicate sees pending changes, and relationships as they are now`() async throws {
        let context = Context(coordinator)
        let predicate = #Predicate<Piece> { $0.crate.code == "new" }
        let id = try await context.perform { context in
            let crate = context.insert(Crate(code: "new", level: 1))
            let found = try context.first(Piece.self, where: #Predicate { $0.number == 5 })
            let piece = try #require(found)
            piece.crate = crate
            piece.name = "renamed"
            #expect(try context.fetch(Piece.self, where: predicate) == [piece])
            #expect(try context.fetchCount(Piece.self, where: #Predicate { $0.name == "renamed" }) == 1)
            let crates = #Predicate<Crate> { $0.pieces.contains { $0.name == "renamed" } }
            #expect(try context.fetch(Crate.self, where: crates) == [crate])
            var fetch = FetchDescriptor(predicate: predicate)
            fetch.includesPendingChanges = false
            #expect(try context.fetchIDs(fetch) == [])
            #expect(try context.fetch(fetch) == [])
            return piece.id
        }
        let nested = await Context(parent: context)
        #expect(try await nested.perform { try $0.fetchIDs(Piece.self, where: predicate) } == [id])
        try await context.perform { context in
            try context.object(for: id).delete()
            #expect(try context.fetchValues(Piece.self, where: predicate).isEmpty)
        }
        #expect(try coordinator.snapshot.fetchCount(Piece.self, where: predicate) == 0)
    }

    /// Whether a serializable transaction that fetches, while something else is changed, is refused.
    private func isRefused(
        _ predicate: Predicate<Piece>, then change: @escaping @Sendable (isolated Context) throws -> Void
    ) async throws -> Bool {
        try await isRefused(reading: { _ = try $0.fetchCount(Piece.self, where: predicate) }, then: change)
    }

    private func isRefused(
        reading read: @escaping @Sendable (isolated Context) throws -> Void,
        then change: @escaping @Sendable (isolated Context) throws -> Void
    ) async throws -> Bool {
        do {
            try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
                try read(context)
                try await Context(coordinator).transaction { try change($0) }
                context.insert(Crate(code: "own", level: 77))
            }
            return false
        } catch GraphError.retriesExhausted {
            return true
        }
    }

    private static func change(_ number: Int, _ body: @escaping @Sendable (ManagedObject<Piece>) -> Void)
        -> @Sendable (isolated Context) throws -> Void
    {
        { context in
            let piece = context.first(\Piece.number, equals: number)
            body(try #require(piece))
        }
    }

    @Test func `R26 a transaction depends on the ranges that a predicate allows, and on nothing else`() async throws {
        let range = #Predicate<Piece> { $0.number >= 10 && $0.number < 20 }
        #expect(try await isRefused(range, then: Self.change(15) { $0.label = "other" }))
        #expect(try await isRefused(range, then: Self.change(15) { $0.number = 5_000 }))
        #expect(try await isRefused(range, then: Self.change(500) { $0.number = 11 }))
        #expect(try await !isRefused(range, then: Self.change(502) { $0.label = "other" }))
        #expect(try await !isRefused(range, then: Self.change(501) { $0.number = 21 }))
        let either = #Predicate<Piece> { $0.number == 30 || $0.name == "N40" }
        #expect(try await isRefused(either, then: Self.change(40) { $0.label = "other" }))
        #expect(try await isRefused(either, then: Self.change(600) { $0.name = "N40" }))
        #expect(try await !isRefused(either, then: Self.change(601) { $0.name = "N41" }))
        // The same without an index, and for two properties together.
        let label = #Predicate<Piece> { $0.label == "none" }
        #expect(try await isRefused(label, then: Self.change(700) { $0.label = "none" }))
        #expect(try await !isRefused(label, then: Self.change(701) { $0.rank = 77 }))
        let both = #Predicate<Piece> { $0.number < 100 && $0.label == "none" }
        #expect(try await isRefused(both, then: Self.change(50) { $0.label = "none" }))
        #expect(try await !isRefused(both, then: Self.change(702) { $0.label = "none" }))
        #expect(try await !isRefused(both, then: Self.change(51) { $0.rank = 79 }))
        // What bounds no property may be any row.
        #expect(try await isRefused(#Predicate { $0.rank == $0.number + 1 }, then: Self.change(703) { $0.rank = 80 }))
    }

    @Test func `R26 a transaction depends on the first object with a value, also if there is none`() async throws {
        let reads: [@Sendable (isolated Context) throws -> Void] = [
            { _ = $0.first(\Piece.number, equals: 5_000) },
            { _ = try $0.first(Piece.self, where: #Predicate { $0.number == 5_000 }) },
            { _ = try $0.first(FetchDescriptor<Piece>(predicate: #Predicate { $0.number == 5_000 })) },
        ]
        for read in reads {
            #expect(try await isRefused(reading: read, then: Self.change(500) { $0.number = 5_000 }))
            #expect(try await isRefused(reading: read, then: Self.change(5_000) { $0.number = 500 }))
            #expect(try await !isRefused(reading: read, then: Self.change(501) { $0.number = 5_001 }))
            #expect(try await !isRefused(reading: read, then: Self.change(5_001) { $0.number = 501 }))
        }
    }

    @Test func `R26 a transaction depends on the first property's range where only a compound index has few rows`()
        async throws
    {
        let groups = Dictionary(grouping: try coordinator.snapshot.fetchValues(FetchDescriptor<Piece>()), by: \.group)
        let largest = try #require(groups.max { $0.value.count < $1.value.count })
        let (group, rank) = (largest.key, 5)
        let both = #Predicate<Piece> { $0.group == group && $0.rank == rank }
        // More than a quarter of all rows: to look at them all would be faster.
        #expect(largest.value.count > 250)
        #expect(try explanation(both).contains("by the index of Piece.(group, rank);"))
        let found = try #require(largest.value.first { $0.rank == rank })
        let other = try #require(groups[(group + 1) % 4]?.first { $0.rank == rank })
        #expect(try await isRefused(both, then: Self.change(found.number) { $0.label = "other" }))
        #expect(try await !isRefused(both, then: Self.change(other.number) { $0.label = "other" }))
    }

    @Test func `what a member or a captured value is unwrapped into is not taken for the rows`() async throws {
        let snapshot = coordinator.snapshot
        let member = #Predicate<Crate> { crate in
            if let piece = crate.pieces.filter({ $0.number == 7 }).first { piece.name == "N7" } else { false }
        }
        #expect(try snapshot.fetchValues(Crate.self, where: member).map(\.code) == ["C7"])
        // Captured, for the compiler's sake: with literals this takes it half a minute.
        let (number, text, no) = (20, "M2", false)
        let note = #Predicate<Crate> { crate in
            if let piece = crate.pieces.filter({ $0.number == number }).first {
                if let note = piece.note { note == text } else { no }
            } else {
                no
            }
        }
        #expect(try snapshot.fetchValues(Crate.self, where: note).map(\.code) == ["C0"])
        // Validating the search looks at crates.
        await #expect(throws: GraphError.self) {
            try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
                _ = try context.fetchCount(Crate.self, where: member)
                try await Context(coordinator).transaction { $0.first(\Crate.code, equals: "C1")?.level = 80 }
                context.insert(Crate(code: "own", level: 77))
            }
        }
        let (wanted, missing): (Int?, Int?) = (5, nil)
        let captured = #Predicate<Piece> { piece in if let wanted { piece.number == wanted } else { false } }
        #expect(try snapshot.fetchValues(Piece.self, where: captured).map(\.number) == [5])
        let both = #Predicate<Piece> { piece in if let wanted { wanted > 3 && piece.number == 6 } else { false } }
        #expect(try snapshot.fetchValues(Piece.self, where: both).map(\.number) == [6])
        let none = #Predicate<Piece> { piece in if let missing { piece.number == missing } else { piece.number < 2 } }
        #expect(try snapshot.fetchValues(Piece.self, where: none).map(\.number) == [0, 1])
    }

    @Test func `R26 a row for which a predicate has no result decides the answer, whatever else is asked`() async throws
    {
        let quotient = #Predicate<Piece> { 1_000 / ($0.rank - 700) > 5 && $0.label == "none" }
        #expect(try await isRefused(quotient, then: Self.change(704) { $0.rank = 700 }))
    }

    @Test func `R26 what a delete nullifies is read: others may change what is found without the reference`()
        async throws
    {
        func isRefused(_ change: @escaping @Sendable (ManagedObject<Piece>) -> Void) async throws -> Bool {
            do {
                try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
                    context.first(\Crate.code, equals: "C6")?.delete()
                    _ = context.first(\Piece.count, equals: 70, \.crate, equals: nil)
                    try await Context(coordinator).transaction { try Self.change(6, change)($0) }
                    context.insert(Crate(code: "own", level: 77))
                }
                return false
            } catch GraphError.retriesExhausted {
                return true
            }
        }
        #expect(try await isRefused { $0.count = 70 })
    }

    @Test func `R26 a transaction depends on what relationships led to`() async throws {
        let code = #Predicate<Piece> { $0.crate.code == "C3" }
        #expect(
            try await isRefused(code) { context in context.first(\Crate.code, equals: "C5")?.code = "C3" })
        #expect(try await isRefused(code, then: Self.change(4) { $0.crate = nil }))
        let linked = #Predicate<Piece> { $0.number < 10 && $0.crate.above.contains { $0.level == 0 } }
        #expect(
            try await isRefused(linked) { context in
                context.first(\Crate.code, equals: "C7")?.above.removeAll()
            })
        #expect(try await !isRefused(linked, then: Self.change(800) { $0.rank = 78 }))
    }

    @Test @MainActor func `R22 observers are told when what a predicate found may be different`() async throws {
        let context = Context(coordinator, executor: .main)
        func isTold(
            _ predicate: Predicate<Piece>, _ change: @escaping @Sendable (isolated Context) -> Void
        ) throws -> Bool {
            let told = Told()
            _ = withObservationTracking {
                try? context.sync { try $0.fetchCount(Piece.self, where: predicate) }
            } onChange: {
                told.count += 1
            }
            context.sync { change($0) }
            let count = told.count
            context.sync { $0.rollback() }
            return count > 0
        }
        let predicate = #Predicate<Piece> { $0.crate.above.contains { $0.level == 0 } }
        #expect(try isTold(predicate) { $0.first(\Crate.code, equals: "C7")?.above.removeAll() })
        #expect(try isTold(predicate) { $0.first(\Crate.code, equals: "C0")?.level = 1 })
        #expect(try isTold(predicate) { $0.first(\Piece.number, equals: 1)?.rank = 99 })
        #expect(try isTold(#Predicate { $0.number == 1 }) { $0.first(\Piece.number, equals: 2)?.number = 1 })
        #expect(try isTold(#Predicate { $0.number == 1 }) { $0.first(\Piece.number, equals: 1)?.rank = 98 })
        #expect(try !isTold(#Predicate { $0.number == 1 }) { $0.first(\Crate.code, equals: "C0")?.level = 1 })
    }

    /// Counted on one thread.
    private final class Told: @unchecked Sendable { var count = 0 }
}
