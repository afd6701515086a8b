import Foundation
import Testing

@testable import Graph

/// Results and values that follow the commits of a coordinator.
struct LiveValuesTests {
    private let coordinator: Coordinator

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        try await coordinator.transaction { context in
            for (name, age) in [("Ada", 36), ("Ben", 12)] { context.insert(Person(name: name, age: age)) }
        }
    }

    private func insert(_ name: String, age: Int) async throws {
        try await coordinator.transaction { $0.insert(Person(name: name, age: age)) }
    }

    private let adults = FetchDescriptor<Person>(predicate: #Predicate { $0.age >= 18 }, sortBy: [.ascending(\.name)])

    @Test func `results begin with the current one, and a slow reader gets one update for many commits`() async throws {
        var results = coordinator.results(adults).makeAsyncIterator()
        let first = try #require(try await results.next())
        #expect(first.inserted == [0] && first.values.map(\.name) == ["Ada"])
        for name in ["Cleo", "Aaron", "Zoe"] { try await insert(name, age: 40) }
        try await insert("Kid", age: 4)
        let second = try #require(try await results.next())
        #expect(second.inserted == [0, 2, 3] && second.values.map(\.name) == ["Aaron", "Ada", "Cleo", "Zoe"])
        let id = second.values[1].id
        try await coordinator.transaction { $0[id]?.delete() }
        let third = try #require(try await results.next())
        #expect(third.removed == [1] && third.values.count == 3)
        // The update before still has its own values.
        #expect(second.values[1].name == "Ada")
    }

    @Test func `results end with the coordinator and with the task`() async throws {
        let results = coordinator.results(adults)
        let cancelled = Task {
            for try await _ in results {}
            return true
        }
        let reader = Task {
            var count = 0
            for try await _ in results { count += 1 }
            return count
        }
        while !coordinator.published.isWaitedFor { await Task.yield() }
        cancelled.cancel()
        #expect(try await cancelled.value)
        try await coordinator.close()
        #expect(try await reader.value <= 1)
    }

    @Test func `results throw what a fetch throws, and are over`() async throws {
        var results = coordinator.results(FetchDescriptor<Person>(predicate: #Predicate { 1 / $0.age > 0 }))
            .makeAsyncIterator()
        #expect(try await results.next()?.values.count == 0)
        try await insert("Zero", age: 0)
        await #expect(throws: GraphError.self) { try await results.next() }
        #expect(try await results.next() == nil)
    }

    @Test func `values run again only when something that they have read has changed`() async throws {
        let ben = try #require(try coordinator.snapshot.fetchIDs(Person.self, where: { $0.name == "Ben" }).first)
        let ada = try #require(try coordinator.snapshot.fetchIDs(Person.self, where: { $0.name == "Ada" }).first)
        let runs = Waitable(0)
        var names = coordinator.values { snapshot in
            runs.withLock { $0 += 1 }
            return snapshot.value(for: ben)?.name
        }.makeAsyncIterator()
        #expect(try names.newestValue() == "Ben")
        try await coordinator.transaction { $0[ada]?.name = "Eve" }
        #expect(try names.newestValue() == nil)
        #expect(runs.withLock { $0 } == 1)
        // The row is another one, and the value the same.
        try await coordinator.transaction { $0[ben]?.age = 13 }
        #expect(try names.newestValue() == nil)
        #expect(runs.withLock { $0 } == 2)
        try await coordinator.transaction { $0[ben]?.name = "Bob" }
        #expect(try await names.next() == "Bob")
    }

    @Test func `what values read may depend on what they find`() async throws {
        // Whose name is asked for: that of the oldest one.
        var names = coordinator.values { snapshot in
            try snapshot.first(Person.self, where: { _ in true }, sortedBy: [.descending(\.age)])?.name
        }.makeAsyncIterator()
        #expect(try names.newestValue() == "Ada")
        try await insert("Methuselah", age: 969)
        #expect(try names.newestValue() == "Methuselah")
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `values are what they come to, whatever they read`(seed: UInt64) async throws {
        let computations: [@Sendable (Snapshot) throws -> String] = [
            { "\($0.count(of: Person.self))" },
            { snapshot in try snapshot.fetchIDs(Team.self).map { try "\(snapshot.related(\.members, of: $0))" }.joined()
            },
            { snapshot in
                try snapshot.fetchIDs(Team.self).map { try "\(snapshot.relatedValues(\.members, of: $0))" }.joined()
            },
            { "\($0.fetchCount(\Person.age, in: 3..<6))" },
            { "\($0.fetchValues(\Person.age, equals: 4))" },
            { "\($0.fetchIDs(\Person.name, startingWith: "b"))" },
            { "\(String(describing: $0.first(\Person.email, equals: "3")))" },
            { "\(try $0.fetchCount(Person.self, where: #Predicate { $0.team.name == "a" }))" },
            { "\(try $0.fetchIDs(Team.self, where: #Predicate { $0.members.contains { $0.age > 6 } }))" },
            { "\(try $0.fetchValues(FetchDescriptor<Person>(sortBy: [.descending(\.age)], fetchLimit: 2)))" },
            { "\(try $0.sum(\Person.age, where: #Predicate { $0.age > 3 }))" },
            { "\(try $0.distinct(\Person.name))" },
            { "\(try $0.fetchCount(Person.self, where: #Predicate { $0.age == 4 }))" },
            { snapshot in
                try snapshot.fetchIDs(Team.self).map { "\(String(describing: snapshot.value(for: $0)?.name))" }.joined()
            },
        ]
        var random = SeededGenerator(seed: seed)
        var iterators = computations.map { coordinator.values($0).makeAsyncIterator() }
        var values = try iterators.indices.map { try iterators[$0].newestValue() }
        for _ in 0..<40 {
            let seed = random.next()
            try? await coordinator.transaction { context in
                var random = SeededGenerator(seed: seed)
                for _ in 0..<Int.random(in: 1...2, using: &random) { try context.changePeople(&random) }
            }
            for place in iterators.indices {
                if let value = try iterators[place].newestValue() {
                    #expect(value != values[place])
                    values[place] = value
                }
                #expect(try values[place] == computations[place](coordinator.snapshot), "computation \(place)")
            }
        }
    }
}

extension Context {
    fileprivate func changePeople(_ random: inout SeededGenerator) throws {
        let (people, teams) = (try fetch(Person.self), try fetch(Team.self))
        let (person, team) = (people.randomElement(using: &random), teams.randomElement(using: &random))
        let (number, letter) = (Int.random(in: 0..<9, using: &random), ["a", "b", "c"].randomElement(using: &random)!)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            insert(Person(name: letter, email: number < 6 ? nil : "\(number)", age: number, team: ToOne(team?.id)))
        case 2: insert(Team(name: letter))
        case 3: person?.team = random.chance(3) ? nil : team
        case 4: person?.age = number
        case 5: person?.name = letter
        case 6: if random.chance(3) { team?.delete() } else { team?.name = letter }
        default: if random.chance(2) { person?.delete() }
        }
    }
}
