import Foundation
import Testing

@testable import Graph

/// Pages that follow one another, whatever happens between them, and sorts that lead through references.
struct PageTokenTests {
    private static let predicates: [(predicate: Predicate<Ranked>?, matches: @Sendable (Ranked) -> Bool)] = [
        (nil, { _ in true }), (nil, { _ in true }), (#Predicate { $0.isShown }, { $0.isShown }),
        (#Predicate { $0.plain > 0 }, { $0.plain > 0 }), (#Predicate { $0.serial < 150 }, { $0.serial < 150 }),
        (#Predicate { $0.text == "a" }, { $0.text == "a" }),
    ]

    private typealias Rows = [(id: Ranked.ID, value: Ranked)]

    private static func rows(_ state: Snapshot) throws -> Rows {
        try state.fetchIdentifiedValues(Ranked.self).map { (id: $0.id, value: $0.value) }
    }

    @Test(arguments: Sweep.seeds(0..<20))
    func `the next page has what comes after the last, also when rows before it came and went`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = [1, 63, 200, 700].randomElement(using: &random)!
        var work = WorkingState(base: Snapshot(schema: try Schema([EntityDescription(Ranked.self)])))
        for number in 0..<count { work.insert(RowNumber(number) * 3 + 1, Ranked.random(number, &random)) }
        for _ in 0..<12 {
            let (criteria, limit) = (RankCriterion.random(&random), Int.random(in: 1...90, using: &random))
            let (predicate, matches) = Self.predicates.randomElement(using: &random)!
            var fetch = FetchDescriptor<Ranked>(
                predicate: predicate, sortBy: random.chance(6) ? [] : criteria.map(\.ordering), fetchLimit: limit)
            let sorted = fetch.sortBy.isEmpty ? [] : criteria
            var last: (id: Ranked.ID, value: Ranked)?
            var pageCount = 0
            repeat {
                func isBehind(_ row: (id: Ranked.ID, value: Ranked)) -> Bool {
                    guard let last else { return true }
                    return RankCriterion.order(last.value, row.value, by: sorted) ?? (last.id.row < row.id.row)
                }
                let rows = RankCriterion.sort(
                    try Self.rows(work.snapshot).filter { matches($0.value) && isBehind($0) }, by: sorted)
                fetch.fetchOffset = random.chance(5) ? 3 : 0
                let page = try work.snapshot.fetchPage(fetch)
                let expected = rows.dropFirst(fetch.fetchOffset).prefix(limit)
                #expect(page.elements.map(\.id) == expected.map(\.id), "\(sorted), page \(pageCount) of \(limit)")
                #expect((page.next != nil) == (rows.count > fetch.fetchOffset + limit), "\(sorted)")
                #expect(try work.snapshot.fetchCount(fetch) == expected.count)
                fetch.after = page.next.flatMap { PageToken($0.description) }
                #expect(fetch.after == page.next)
                last = expected.last
                if let last, random.chance(4) { work.delete(Ranked.self, last.id.row) }
                if random.chance(4) {
                    let number = count + Int.random(in: 1...100_000, using: &random)
                    if work.snapshot.value(for: Ranked.ID(row: RowNumber(number) * 3 + 1)) == nil {
                        work.insert(RowNumber(number) * 3 + 1, Ranked.random(number, &random))
                    }
                }
                pageCount += 1
            } while fetch.after != nil
        }
    }

    @Test func `a deep page along an index looks at its own rows alone`() throws {
        var random = SeededGenerator(seed: 3)
        var work = WorkingState(base: Snapshot(schema: try Schema([EntityDescription(Ranked.self)])))
        for number in 0..<6_400 { work.insert(RowNumber(number) + 1, Ranked.random(number, &random)) }
        let orders: [[Ordering<Ranked>]] = [
            [.ascending(\.serial)], [.descending(\.serial)], [.ascending(\.day)], [.descending(\.code)], [],
        ]
        for order in orders {
            var fetch = FetchDescriptor<Ranked>(sortBy: order, fetchLimit: 5_000)
            fetch.after = try work.snapshot.fetchPage(fetch).next
            fetch.fetchLimit = 20
            let explanation = try work.snapshot.explain(fetch)
            #expect(explanation.resultCount == 20)
            #expect(explanation.visitedCount <= 64, "\(order.count) criteria: \(explanation)")
        }
    }

    @Test func `a token of another sort, or of another entity, is refused`() async throws {
        let coordinator = try await Coordinator(for: Ranked.self, Tome.self, Bookcase.self)
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: 1)
            for number in 0..<3 {
                context.insert(Ranked.random(number, &random))
                context.insert(Tome(title: "\(number)"))
            }
        }
        let snapshot = coordinator.snapshot
        let token = try #require(
            try snapshot.fetchPage(FetchDescriptor<Ranked>(sortBy: [.ascending(\.number)], fetchLimit: 1)).next)
        let others: [[Ordering<Ranked>]] = [
            [], [.descending(\.number)], [.ascending(\.serial)], [.ascending(\.number, nils: .last)],
            [.ascending(\.number), .ascending(\.serial)],
        ]
        for order in others {
            let fetch = FetchDescriptor<Ranked>(sortBy: order, after: token)
            #expect(throws: GraphError.pageTokenMismatch("Ranked")) { try snapshot.fetchValues(fetch) }
            #expect(throws: GraphError.pageTokenMismatch("Ranked")) { try snapshot.fetchCount(fetch) }
        }
        let plain = try #require(try snapshot.fetchPage(FetchDescriptor<Tome>(fetchLimit: 1)).next)
        #expect(throws: GraphError.pageTokenMismatch("Ranked")) {
            try snapshot.first(FetchDescriptor<Ranked>(after: plain))
        }
        #expect(try snapshot.fetchCount(FetchDescriptor<Tome>(after: plain)) == 2)
    }

    @Test func `a text that is no token is refused, and one that was changed is harmless`() async throws {
        let coordinator = try await Coordinator(for: Ranked.self)
        try await coordinator.transaction { context in
            var random = SeededGenerator(seed: 1)
            for number in 0..<50 { context.insert(Ranked.random(number, &random)) }
        }
        let snapshot = coordinator.snapshot
        var fetch = FetchDescriptor<Ranked>(sortBy: [.ascending(\.text), .descending(\.code)], fetchLimit: 20)
        let token = try #require(try snapshot.fetchPage(fetch).next)
        let json = try JSONEncoder().encode([token])
        #expect(try JSONDecoder().decode([PageToken].self, from: json) == [token])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([PageToken].self, from: Data(#"["?"]"#.utf8)) }
        for text in ["", "a", "????", "AAAA", String(repeating: "_", count: 99)] {
            #expect(PageToken(text) == nil, "\(text)")
        }
        var random = SeededGenerator(seed: 7)
        let all = try snapshot.fetchCount(Ranked.self)
        for _ in 0..<2_000 {
            var bytes = Array(token.description.utf8)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
            case 1: bytes += bytes
            default:
                bytes[Int.random(in: bytes.indices, using: &random)] =
                    UInt8(ascii: "A") + UInt8.random(in: 0..<26, using: &random)
            }
            guard let changed = PageToken(String(decoding: bytes, as: UTF8.self)) else { continue }
            fetch.after = changed
            do { #expect(try snapshot.fetchCount(fetch) <= all) } catch GraphError.pageTokenMismatch {}
            _ = try? snapshot.fetchValues(fetch)
        }
    }

    @Test func `a sort leads through references, and objects without one come where nil does`() async throws {
        let coordinator = try await Coordinator(for: Bookcase.self, Tome.self)
        var random = SeededGenerator(seed: 4)
        let cases = ["b", "A", "a", "C", "c", "b"].map {
            Bookcase(
                name: $0, floor: Int.random(in: 0...2, using: &random),
                label: ["x", "Y", "y", nil].randomElement(using: &random)!)
        }
        let homes = (0..<200).map { _ in random.chance(5) ? nil : cases.indices.randomElement(using: &random)! }
        try await coordinator.transaction { context in
            let bookcases = cases.map { context.insert($0) }
            for home in homes {
                let tome = context.insert(Tome(title: nil, year: 0))
                if let home { tome.bookcase = bookcases[home] }
            }
        }
        func order<V: Comparable>(_ value: (Bookcase) -> V?, nilFirst: Bool, descending: Bool = false) -> [Int] {
            homes.indices.sorted { lhs, rhs in
                switch (homes[lhs].flatMap { value(cases[$0]) }, homes[rhs].flatMap { value(cases[$0]) }) {
                case (nil, nil): lhs < rhs
                case (nil, _): nilFirst
                case (_, nil): !nilFirst
                case (let left?, let right?): left == right ? lhs < rhs : descending ? left > right : left < right
                }
            }
        }
        let questions: [([Ordering<Tome>], [Int])] = [
            ([.ascending(\.bookcase, \.name)], order(\.name, nilFirst: true)),
            ([.ascending(\.bookcase, \.name, nils: .last)], order(\.name, nilFirst: false)),
            ([.descending(\.bookcase, \.floor)], order(\.floor, nilFirst: false, descending: true)),
            (
                [.descending(\.bookcase, \.floor, nils: .first)], order(\.floor, nilFirst: true, descending: true)
            ),
            ([.ascending(\.bookcase, \.label)], order(\.label, nilFirst: true)),
            ([.ascending(\.bookcase, \.label, nils: .last)], order(\.label, nilFirst: false)),
            ([.descending(\.bookcase, \.label)], order(\.label, nilFirst: false, descending: true)),
            (
                [.through(\.bookcase, .descending(\.label, ignoringCase: true, nils: .first))],
                order({ $0.label?.lowercased() }, nilFirst: true, descending: true)
            ),
            (
                [.through(\.bookcase, .ascending(\.name, ignoringCase: true))],
                order({ $0.name.lowercased() }, nilFirst: true)
            ),
        ]
        for (sort, expected) in questions {
            let found = try coordinator.snapshot.fetchIDs(FetchDescriptor<Tome>(sortBy: sort))
            #expect(found.map { Int($0.row) - 1 } == expected)
            for limit in [1, 10, 60] {
                var (fetch, ids) = (FetchDescriptor<Tome>(sortBy: sort, fetchLimit: limit), [Tome.ID]())
                repeat {
                    let page = try coordinator.snapshot.fetchPage(fetch)
                    ids += page.elements.map(\.id)
                    fetch.after = page.next
                } while fetch.after != nil
                #expect(ids == found)
            }
        }
        #expect(throws: GraphError.self) {
            try coordinator.snapshot.fetchIDs(Tome.self, sortedBy: [.ascending(\.bookcase, \.nameLength)])
        }
    }

    @Test func `pages of a context have its pending changes, or not`() async throws {
        let coordinator = try await Coordinator(for: Bookcase.self, Tome.self)
        try await coordinator.transaction { context in
            for year in [1, 3, 5, 7] { context.insert(Tome(title: "saved", year: year)) }
        }
        let context = Context(coordinator)
        try await context.perform { context in
            let added = context.insert(Tome(title: "new", year: 4))
            context.fetch(\Tome.year, equals: 5).first?.delete()
            var fetch = FetchDescriptor<Tome>(sortBy: [.ascending(\.year)], fetchLimit: 2)
            let first = try context.fetchPage(fetch)
            #expect(first.elements.map(\.year) == [1, 3])
            fetch.after = first.next
            #expect(try context.fetchPage(fetch).elements.map(\.year) == [4, 7])
            #expect(try context.fetchPage(fetch).elements.first === added)
            fetch.includesPendingChanges = false
            let committed = try context.fetchPage(fetch)
            #expect(committed.elements.map(\.year) == [7] && committed.next == nil)
        }
    }
}

extension Bookcase {
    fileprivate var nameLength: Int { name.count }
}
