import Foundation
import Testing

@testable import Graph

struct FetchTests {
    struct Place: Codable, Equatable {
        var shelf = 1
    }

    /// A row for every question that a fetch can ask.
    @Entity struct Item {
        var name: String
        @Indexed var size: Int
        var weight: Double?
        var day = Weekday.friday
        var place = Place()
        var doubled: Int { 2 * size }
    }

    private static let items = [
        Item(name: "d", size: 2, weight: nil),
        Item(name: "b", size: 1, weight: .nan),
        Item(name: "a", size: 2, weight: -1, day: .monday),
        Item(name: "c", size: 1, weight: -.nan, day: .none),
        Item(name: "b", size: 2, weight: .infinity),
        Item(name: "e", size: 0, weight: 0.0),
        Item(name: "f", size: 0, weight: -0.0),
    ]

    /// A snapshot of the items, inserted in this order.
    private static func snapshot(_ items: [Item] = items) throws -> Snapshot {
        var work = WorkingState(base: Snapshot(schema: try Schema([EntityDescription(Item.self)])))
        for (number, item) in items.enumerated() { work.insert(RowNumber(number) + 1, item) }
        return work.snapshot
    }

    private static func names(_ orderings: [Ordering<Item>], offset: Int = 0, limit: Int? = nil) throws -> String {
        try snapshot().fetchValues(Item.self, sortedBy: orderings, offset: offset, limit: limit).map(\.name).joined()
    }

    private static func context() async throws -> Context {
        let context = Context(try await Coordinator(for: Item.self))
        try await context.transaction { _ = $0.insert(contentsOf: items) }
        return context
    }

    // MARK: Predicates

    @Test func `a closure says which rows match, in the order of insertion`() throws {
        let snapshot = try Self.snapshot()
        #expect(try snapshot.fetchValues { (item: Item) in item.size == 2 }.map(\.name) == ["d", "a", "b"])
        #expect(try snapshot.fetchIDs { (item: Item) in item.weight == nil } == [PersistentID<Item>(row: 1)])
        #expect(try snapshot.fetchCount(Item.self) { $0.name == "b" } == 2)
        #expect(try snapshot.fetchValues(Item.self) { _ in false }.isEmpty)
        #expect(try snapshot.fetchValues(Item.self).count == 7)
        #expect(try Self.snapshot([]).fetchValues(Item.self, sortedBy: [.ascending(\.size)]).isEmpty)
    }

    @Test func `a predicate that throws ends the scan, and its error comes through`() throws {
        struct Stop: Error {}
        let snapshot = try Self.snapshot()
        var calls = 0
        #expect(throws: Stop.self) {
            try snapshot.fetchCount(Item.self) { _ in
                calls += 1
                if calls == 3 { throw Stop() }
                return true
            }
        }
        #expect(calls == 3)
    }

    @Test func `no row is looked at beyond the last that is wanted`() throws {
        let snapshot = try Self.snapshot()
        var calls = 0
        let found = try snapshot.fetchValues(
            Item.self,
            where: { _ in
                calls += 1
                return true
            },
            offset: 1,
            limit: 2
        )
        #expect(found.map(\.name) == ["b", "a"] && calls == 3)
    }

    // MARK: Sorting

    @Test func `several criteria, each in its direction, ties by insertion`() throws {
        #expect(try Self.names([.ascending(\.size)]) == "efbcdab")
        #expect(try Self.names([.descending(\.size)]) == "dabbcef")
        #expect(try Self.names([.ascending(\.size), .descending(\.name)]) == "fecbdba")
        #expect(try Self.names([.descending(\.name), .ascending(\.size)]) == "fedcbba")
        #expect(try Self.names([.ascending(\.name), .ascending(\.size)]) == "abbcdef")
        let sizes = try Self.snapshot().fetchValues(sortedBy: [.ascending(\Item.name)]).map(\.size)
        #expect(sizes == [2, 1, 2, 1, 2, 0, 0])
    }

    @Test func `nil comes first, NaN at the end of its sign, -0.0 before 0.0`() throws {
        #expect(try Self.names([.ascending(\.weight)]) == "dcafebb")
        #expect(try Self.names([.descending(\.weight)]) == "bbefacd")
        let last = try Self.snapshot().fetchValues(sortedBy: [.descending(\Item.weight)], limit: 1)
        #expect(last.first?.weight?.isNaN == true)
    }

    @Test func `enumerations sort by their raw values`() throws {
        #expect(try Self.names([.ascending(\.day)]) == "cdbbefa")
        #expect(try Self.names([.descending(\.day), .ascending(\.name)]) == "abbdefc")
    }

    @Test func `sorting by what is not stored is an error`() throws {
        let snapshot = try Self.snapshot()
        let line = #line + 1
        for ordering: Ordering<Item> in [.ascending(\.doubled), .descending(\.name.count)] {
            let error = #expect(throws: GraphError.self) { try snapshot.fetchValues(sortedBy: [ordering]) }
            guard case .notOrdered(let property)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(property.hasSuffix(", in the ordering at GraphTests/FetchTests.swift:\(line),"), "\(property)")
            #expect(property.hasPrefix("\\Item."), "\(property)")
            #expect(!property.contains("0x"), "\(property)")
        }
    }

    @Test func `where Swift knows the property's name, the error names it with its entity`() throws {
        let snapshot = try Self.snapshot()
        let fetch = { _ = try snapshot.fetchValues(sortedBy: [.ascending(\Item.place.shelf)]) }
        #expect(throws: GraphError.notOrdered("Item.place.shelf")) { try fetch() }
        #expect(
            GraphError.notOrdered("Item.place.shelf").description
                == "Item.place.shelf is not a stored property with an order; sort by one that is")
    }

    @Test func `an entity that the store does not have is an error`() throws {
        let snapshot = try Self.snapshot()
        let fetches: [() throws -> Void] = [
            { _ = try snapshot.fetchValues(Team.self) }, { _ = try snapshot.fetchIDs(Team.self) },
            { _ = try snapshot.fetchCount(Team.self) },
            { _ = try snapshot.fetchValues(sortedBy: [.ascending(\Team.name)]) },
            { _ = try snapshot.related(\Team.members, of: PersistentID(row: 1)) },
        ]
        for fetch in fetches {
            let error = #expect(throws: GraphError.self) { try fetch() }
            guard case .unknownEntity("Team")? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(snapshot.count(of: Team.self) == 0)
        #expect(snapshot.value(for: PersistentID<Team>(row: 1)) == nil)
    }

    // MARK: Offset and limit

    @Test(arguments: [[], [Ordering<Item>.ascending(\.name), .ascending(\.size)]])
    func `offset and limit cut the whole result, at every place`(orderings: [Ordering<Item>]) throws {
        let snapshot = try Self.snapshot()
        let all = try snapshot.fetchIDs(sortedBy: orderings)
        for offset in [0, 1, 3, 6, 7, 8, .max - 1, .max] {
            for limit in [nil, 0, 1, 3, 7, 8, Int.max - 1, .max] {
                let found = try snapshot.fetchIDs(sortedBy: orderings, offset: offset, limit: limit)
                #expect(
                    found == Array(all.dropFirst(offset).prefix(limit ?? .max)),
                    "\(offset), \(String(describing: limit))")
            }
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func `the first rows of a sort are those of the whole sort`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let items = (0..<Int.random(in: 0...120, using: &random)).map { _ in
            Item(
                name: AttributeValues.string(&random),
                size: Int.random(in: 0..<4, using: &random),
                weight: [nil, .nan, -0.0, 0, 1, -1].randomElement(using: &random)!,
                day: Weekday.allCases.randomElement(using: &random)!
            )
        }
        let snapshot = try Self.snapshot(items)
        let criteria: [Ordering<Item>] = [
            .ascending(\.name), .descending(\.name), .ascending(\.size), .descending(\.size), .ascending(\.weight),
            .descending(\.weight), .ascending(\.day), .descending(\.day),
        ]
        for _ in 0..<15 {
            let orderings = Array(criteria.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
            let size = Int.random(in: 0..<5, using: &random)
            let (offset, limit) = (Int.random(in: 0..<30, using: &random), Int.random(in: 0..<60, using: &random))
            let all = try snapshot.fetchIDs(where: { $0.size != size }, sortedBy: orderings)
            let part = try snapshot.fetchIDs(
                where: { $0.size != size },
                sortedBy: orderings,
                offset: offset,
                limit: limit
            )
            #expect(part == Array(all.dropFirst(offset).prefix(limit)), "\(offset), \(limit)")
            let matching = try snapshot.fetchIDs { (item: Item) in item.size != size }
            #expect(all.sorted() == matching)
        }
    }

    @Test func `a sort by one number is the language's stable sort`() throws {
        let snapshot = try Self.snapshot()
        let expected = Self.items.sorted { $0.size < $1.size }.map(\.name)
        #expect(try snapshot.fetchValues(sortedBy: [.ascending(\Item.size)]).map(\.name) == expected)
    }

    // MARK: Contexts

    @Test func `all kinds of fetches agree`() async throws {
        let context = try await Self.context()
        try await context.perform { context in
            context.insert(Item(name: "g", size: 2))
            let order: [Ordering<Item>] = [.descending(\.size), .ascending(\.name)]
            let objects = try context.fetch(where: { $0.size > 0 }, sortedBy: order, offset: 1, limit: 4)
            let ids = try context.fetchIDs(where: { $0.size > 0 }, sortedBy: order, offset: 1, limit: 4)
            let values = try context.fetchValues(where: { $0.size > 0 }, sortedBy: order, offset: 1, limit: 4)
            #expect(objects.map(\.id) == ids)
            #expect(objects.map(\.name) == values.map(\.name))
            #expect(values.map(\.name) == ["b", "d", "g", "b"])
            var fetch = FetchDescriptor<Item>(sortBy: order, fetchLimit: 5, fetchOffset: 1)
            let sizes = try context.fetchValues(fetch) { $0.size }
            #expect(sizes == (try context.fetchValues(fetch).map(\.size)))
            fetch.includesPendingChanges = false
            #expect(try context.fetchValues(fetch) { $0.name }.contains("g") == false)
            #expect(try context.fetchCount(Item.self) { $0.size > 0 } == 6)
            #expect(try context.first(where: { $0.size > 0 }, sortedBy: order)?.name == "a")
            #expect(try context.first(Item.self)?.id == PersistentID(row: 1))
            #expect(try context.first(Item.self) { _ in false } == nil)
            #expect(throws: GraphError.self) { try context.fetch(Team.self) }
        }
    }

    @Test func `R15 fetches include pending changes unless told otherwise`() async throws {
        let context = try await Self.context()
        try await context.perform { context in
            context.insert(Item(name: "new", size: 9))
            let changed = try #require(try context.first(Item.self) { $0.name == "a" })
            changed.name = "changed"
            try #require(try context.first(Item.self) { $0.name == "e" }).delete()
            #expect(try context.fetchValues(Item.self).map(\.name) == ["d", "b", "changed", "c", "b", "f", "new"])
            let base = try context.fetchValues(Item.self, includesPendingChanges: false).map(\.name)
            #expect(base == ["d", "b", "a", "c", "b", "e", "f"])
            #expect(try context.fetchCount(Item.self, where: { $0.size == 9 }) == 1)
            #expect(try context.fetchCount(Item.self, where: { $0.size == 9 }, includesPendingChanges: false) == 0)
            #expect(
                try context.fetchIDs(Item.self, where: { $0.name == "a" }, includesPendingChanges: false).count == 1)
        }
    }

    @Test func `a predicate may write to objects while it scans`() async throws {
        let context = try await Self.context()
        try await context.perform { context in
            let objects = try context.fetch(Item.self)
            var seen: [String] = []
            let found = try context.fetch(Item.self) { item in
                for object in objects { object.size += 10 }
                context.insert(Item(name: "new", size: 0))
                _ = try context.fetchCount(Item.self)
                seen.append("\(item.name)\(item.size)")
                return true
            }
            #expect(seen == ["d2", "b1", "a2", "c1", "b2", "e0", "f0"])
            #expect(found == objects)
            #expect(found.map(\.size) == [72, 71, 72, 71, 72, 70, 70])
            #expect(try context.fetchCount(Item.self) == 14)
        }
    }

    @Test(.bug(id: "stale-fetched-object", "the objects came with the values from before the predicate's changes"))
    func `objects that a predicate changed come as they are now`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        let teamID = try await context.transaction { context in
            let team = context.insert(Team(name: "red"))
            team.members += [context.insert(Person(name: "Ada")), context.insert(Person(name: "Bob"))]
            return team.id
        }
        try await context.perform { context in
            let team = try context.object(for: teamID)
            let people = try context.fetch(Person.self) { person in
                if person.name == "Ada" { team.delete() }
                return person.team != nil
            }
            #expect(people.map(\.name) == ["Ada", "Bob"])
            #expect(people.map { $0.value.team } == [nil, nil])
        }
    }
}
