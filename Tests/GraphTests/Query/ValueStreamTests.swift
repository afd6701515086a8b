import Testing

@testable import Graph

/// Values with their identifiers, one by one or in an array.
struct ValueStreamTests {
    @Entity struct Item: Hashable {
        var name: String
        @Indexed var size: Int
        var weight = 0
        var isSized: Bool { size > 0 }
    }

    private static let items = [
        Item(name: "d", size: 2), Item(name: "b", size: 1), Item(name: "a", size: 2), Item(name: "c", size: 0),
    ]

    private let coordinator: Coordinator
    private let ids: [Item.ID]

    init() async throws {
        coordinator = try await Coordinator(for: Item.self)
        ids = try await coordinator.transaction { $0.insert(contentsOf: Self.items) }
    }

    private var snapshot: Snapshot { coordinator.snapshot }

    // MARK: Arrays

    @Test func `each value comes with the identifier of its object`() throws {
        let all = try snapshot.fetchIdentifiedValues(Item.self)
        #expect(all.map(\.id) == ids && all.map(\.value) == Self.items && all.map(\.name) == ["d", "b", "a", "c"])
        let orders: [[Ordering<Item>]] = [[], [.ascending(\.name)], [.descending(\.size)], [.ascending(\.weight)]]
        for order in orders {
            for (offset, limit) in [(0, nil), (1, 2), (3, 9)] as [(Int, Int?)] {
                let found = try snapshot.fetchIdentifiedValues(
                    Item.self, where: { $0.size > 0 }, sortedBy: order, offset: offset, limit: limit)
                #expect(
                    try found.map(\.id)
                        == snapshot.fetchIDs(
                            Item.self, where: { $0.size > 0 }, sortedBy: order, offset: offset, limit: limit))
                let every = try snapshot.fetchIdentifiedValues(
                    Item.self, sortedBy: order, offset: offset, limit: limit)
                #expect(
                    try every.map(\.id)
                        == snapshot.fetchIDs(Item.self, sortedBy: order, offset: offset, limit: limit))
                for row in found + every { #expect(snapshot.value(for: row.id) == row.value) }
            }
        }
    }

    @Test func `on a context pending changes are included unless they are not wanted`() async throws {
        let context = Context(coordinator)
        try await context.perform { [ids] context in
            let new = context.insert(Item(name: "e", size: 9))
            context[ids[0]]?.delete()
            context[ids[1]]?.weight = 7
            let names = try context.fetchIdentifiedValues(
                Item.self, where: { $0.size != 2 }, sortedBy: [.ascending(\.name)])
            #expect(names.map(\.id) == [ids[1], ids[3], new.id] && names.map(\.weight) == [7, 0, 0])
            #expect(try context.fetchIdentifiedValues(Item.self).count == 4)
            let before = try context.fetchIdentifiedValues(Item.self, includesPendingChanges: false)
            #expect(before.map(\.value) == Self.items)
            let few = try context.fetchIdentifiedValues(
                Item.self, where: { $0.weight == 7 }, includesPendingChanges: false)
            #expect(few.isEmpty)
        }
    }

    @Test func `an identified value is a copy, compares, and says what it is`() throws {
        var row = try snapshot.fetchIdentifiedValues(Item.self)[0]
        let same = row
        row.weight = 3
        row.value.name = "x"
        #expect(row != same && row.name == "x" && row.value.weight == 3 && same.weight == 0)
        #expect(Set([row, same, row]).count == 2 && row.id == same.id)
        #expect(snapshot.value(for: row.id) == Self.items[0])
        #expect("\(same)".hasPrefix("Item/p1: Item(") && same == IdentifiedValue(id: ids[0], value: Self.items[0]))
    }

    @Test func `what is searched for values was read: a serializable transaction meets what comes in`() async throws {
        let tries = Counter()
        try await coordinator.transaction(isolation: .serializable) { [coordinator] context in
            let count = try context.fetchIdentifiedValues(Item.self, where: { $0.size == 7 }).count
            context.insert(Item(name: "\(count)", size: 8))
            if tries.next() == 1 { try await coordinator.transaction { $0.insert(Item(name: "new", size: 7)) } }
        }
        #expect(tries.value == 2)
        #expect(try snapshot.first(Item.self, where: { $0.size == 8 })?.name == "1")
    }

    // MARK: One by one

    @Test func `values are passed on with their identifiers, in the order of a fetch`() throws {
        var seen: [Item.ID: Item] = [:]
        try snapshot.forEachValue(Item.self) { id, item in seen[id] = item }
        #expect(seen == Dictionary(uniqueKeysWithValues: zip(ids, Self.items)))
        var (sum, names) = (0, "")
        try snapshot.forEachValue { (_, item: Item) in sum += item.size }
        try snapshot.forEachValue(Item.self, where: \.isSized, sortedBy: [.ascending(\.name)]) { _, item in
            names += item.name
        }
        try snapshot.forEachValue(Item.self, sortedBy: [.descending(\.size)], offset: 1, limit: 2) { _, item in
            names += item.name
        }
        #expect(sum == 5 && names == "abdab")
    }

    @Test func `what the body throws ends it, and no row behind is looked at`() throws {
        struct Stop: Error {}
        var (passed, asked) = (0, 0)
        func match(_ item: Item) -> Bool {
            asked += 1
            return true
        }
        #expect(throws: Stop.self) {
            try snapshot.forEachValue(Item.self, where: match) { _, _ in
                passed += 1
                if passed == 2 { throw Stop() }
            }
        }
        #expect(passed == 2 && asked == 2)
        #expect(throws: GraphError.self) { try snapshot.forEachValue(Person.self) { _, _ in } }
    }

    // MARK: The first one

    @Test func `a snapshot gives the first value that matches`() throws {
        #expect(try snapshot.first(Item.self)?.name == "d")
        #expect(try snapshot.first(Item.self, where: { $0.size == 1 })?.name == "b")
        #expect(try snapshot.first(Item.self, sortedBy: [.ascending(\.name)])?.name == "a")
        #expect(try snapshot.first(Item.self, where: { $0.size > 0 }, sortedBy: [.ascending(\.size)])?.name == "b")
        #expect(try snapshot.first(Item.self, where: { $0.size > 9 }) == nil)
        var asked = 0
        _ = try snapshot.first(
            Item.self,
            where: { _ in
                asked += 1
                return true
            })
        #expect(asked == 1)
        #expect(throws: GraphError.self) { try snapshot.first(Person.self) }
    }
}
