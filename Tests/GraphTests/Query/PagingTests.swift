import Testing

@testable import Graph

struct PagingTests {
    @Test func `a sorted page far from the beginning costs about as much as a sort`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let context = Context(coordinator)
        let count = 200_000
        try await context.transaction { context in
            context.insert(contentsOf: (0..<count).map { Person(name: "", age: count - $0) })
        }
        let snapshot = coordinator.snapshot
        let clock = ContinuousClock()
        let sorting = try clock.measure {
            _ = try snapshot.fetchIDs(Person.self, sortedBy: [.ascending(\.age)])
        }
        let paging = try clock.measure {
            let page = try snapshot.fetchValues(Person.self, sortedBy: [.ascending(\.age)], offset: 150_000, limit: 10)
            #expect(page.map(\.age) == Array(150_001...150_010))
        }
        #expect(paging < sorting * 4, "\(paging) for a page, \(sorting) for everything")
    }

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
}
