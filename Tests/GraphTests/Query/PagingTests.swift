import Testing

@testable import Graph

struct PagingTests {
    @Test func `every offset and limit gives its part of the whole, in order`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let context = Context(coordinator)
        var generator = SeededGenerator(seed: 2)
        let ages = (0..<300).map { _ in Int.random(in: 0..<40, using: &generator) }
        try await context.transaction { context in
            context.insert(contentsOf: ages.enumerated().map { Person(name: "\($0.offset)", age: $0.element) })
        }
        let snapshot = coordinator.snapshot
        let orders: [[Ordering<Person>]] = [[], [.ascending(\.age)], [.descending(\.age), .ascending(\.name)]]
        for order in orders {
            let all = try snapshot.fetchIDs(Person.self, sortedBy: order)
            for offset in [0, 1, 2, 63, 150, 299, 300, 301, .max - 1, .max] {
                for limit in [nil, 0, 1, 2, 64, 299, 300, 301, .max - 1, .max] {
                    let part = try snapshot.fetchIDs(Person.self, sortedBy: order, offset: offset, limit: limit)
                    #expect(part == Array(all.dropFirst(offset).prefix(limit ?? .max)), "\(offset), \(limit ?? -1)")
                }
            }
        }
    }
    @Test(arguments: [[], [.ascending(\.age)]] as [[Ordering<Person>]])
    func `a fetch of no rows asks about none`(order: [Ordering<Person>]) async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.transaction { _ = $0.insert(contentsOf: [Person(name: "Ada"), Person(name: "Bob")]) }
        let asked = try await context.perform { context in
            var asked = 0
            let isAsked: (Person) -> Bool = { _ in
                asked += 1
                return false
            }
            _ = try context.fetchIDs(Person.self, where: isAsked, sortedBy: order, limit: 0)
            return asked
        }
        #expect(asked == 0)
    }
}
