import Foundation
import Observation
import Testing

@testable import Graph

/// Results that a context keeps up to date.
@MainActor struct FetchedResultsTests {
    private let coordinator: Coordinator
    private let context: Context
    private let adults = FetchDescriptor<Person>(
        predicate: #Predicate { $0.age >= 18 }, sortBy: [.ascending(\.name)])

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        try await coordinator.transaction { context in
            let team = context.insert(Team(name: "Analysts"))
            for (name, age) in [("Ada", 36), ("Ben", 12), ("Cleo", 40)] {
                context.insert(Person(name: name, age: age, team: age == 40 ? ToOne(team.id) : nil))
            }
        }
        context = Context(coordinator, executor: .main)
    }

    private func person(_ name: String) throws -> Person.Object {
        try #require(try context.sync { try $0.fetch(Person.self, where: { $0.name == name }).first })
    }

    @Test func `a result shows edits at once, before they are saved`() async throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        #expect(results.objects.map(\.name) == ["Ada", "Cleo"])
        let ben = try person("Ben")
        ben.age = 18
        #expect(results.objects.map(\.name) == ["Ada", "Ben", "Cleo"] && results.objects[1] === ben)
        ben.name = "Zoe"
        #expect(results.objects.map(\.name) == ["Ada", "Cleo", "Zoe"] && results.count == 3)
        context.sync { $0.rollback() }
        #expect(results.objects.map(\.name) == ["Ada", "Cleo"])
    }

    @Test func `observers are told once when another object is to be shown, and not otherwise`() throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        let (ben, ada) = (try person("Ben"), try person("Ada"))
        let first = Tracked { results.objects.count }
        ben.age = 11
        ada.age = 37
        #expect(!first.isTold)
        ben.age = 20
        #expect(first.isTold)
        let second = Tracked { results.objects.count }
        ada.name = "Zoe"
        #expect(second.isTold && results.objects.map(\.name) == ["Ben", "Cleo", "Zoe"])
    }

    @Test func `an observer that is told of a save of others reads the result`() async throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        let tracked = Tracked { results.count }
        try await coordinator.transaction { $0.insert(Person(name: "Dan", age: 50)) }
        #expect(!tracked.isTold)
        await context.refresh()
        #expect(tracked.isTold && results.count == 3)
    }

    @Test(.bug(id: "result read by another observer", "whoever read it first was never told"))
    func `observers are told whatever another one reads first`() throws {
        let (results, others) = try context.sync { [adults] context in
            let others = FetchDescriptor<Person>(predicate: #Predicate { $0.age < 18 })
            return (try context.results(adults), try context.results(others))
        }
        let ben = try person("Ben")
        let (list, button) = (Tracked { results.count }, Tracked { [context] in context.sync { $0.hasChanges } })
        let otherList = Tracked { others.count }
        let row = Tracked(
            { ben.age }, then: { [context] in #expect(results.count == 3 && context.sync { $0.hasChanges }) })
        ben.age = 18
        #expect(row.isTold && list.isTold && button.isTold && otherList.isTold)
        // Nor does it matter who asks for updates.
        let (again, error) = (Tracked { results.objects.map(\.name) }, Tracked { results.error == nil })
        let follower = Tracked({ ben.age }, then: { _ = results.updates })
        ben.age = 17
        #expect(follower.isTold && again.isTold && error.isTold)
        let unchanged = Tracked { results.count }
        let reader = Tracked({ ben.name }, then: { #expect(results.count == 2) })
        ben.name = "Benjamin"
        #expect(reader.isTold && !unchanged.isTold)
    }

    @Test func `who looks at an error is told, though another observer has seen the next one`() throws {
        let results = try context.sync {
            try $0.results(FetchDescriptor<Person>(predicate: #Predicate { 100 / $0.age > 1 }))
        }
        let ben = try person("Ben")
        for age in [0, 50] {
            let error = Tracked { results.error == nil }
            let row = Tracked({ ben.age }, then: { _ = results.error })
            ben.age = age
            #expect(row.isTold && error.isTold && (results.error == nil) == (age > 0))
        }
    }

    @Test func `a descriptor that is set is fetched, and observers are told`() throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        let tracked = Tracked { results.count }
        results.descriptor.predicate = nil
        results.descriptor.fetchLimit = 2
        #expect(tracked.isTold && results.objects.map(\.name) == ["Ada", "Ben"])
        results.descriptor.sortBy = [.ascending(\.isGrownUp)]
        #expect(results.error is GraphError && results.objects.map(\.name) == ["Ada", "Ben"])
        results.descriptor = adults
        #expect(results.error == nil && results.objects.map(\.name) == ["Ada", "Cleo"])
    }

    @Test func `a predicate that fails leaves the result as it was, until it can be followed again`() throws {
        let descriptor = FetchDescriptor<Person>(predicate: #Predicate { 100 / $0.age > 1 })
        let results = try context.sync { try $0.results(descriptor) }
        #expect(results.count == 3)
        let ben = try person("Ben")
        ben.age = 0
        #expect(results.count == 3 && results.error is GraphError)
        ben.age = 90
        #expect(results.count == 2 && results.error == nil)
    }

    @Test func `a descriptor that fails stays and says so, until it can be fetched`() throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        let (before, ben) = (results.objects.map(\.name), try person("Ben"))
        ben.age = 0
        let tracked = Tracked { results.error == nil }
        results.descriptor = FetchDescriptor(predicate: #Predicate { 100 / $0.age > 1 }, fetchLimit: 5)
        #expect(tracked.isTold)
        for _ in 0..<2 { #expect(results.error is GraphError && results.objects.map(\.name) == before) }
        results.descriptor.fetchLimit = 1
        #expect(results.error is GraphError && results.descriptor.fetchLimit == 1)
        let later = Tracked { results.error == nil }
        ben.age = 90
        context.sync { _ in }
        #expect(later.isTold && results.error == nil && results.count == 1)
    }

    @Test func `another failure is told, and updates of a descriptor that fails throw`() async throws {
        let descriptor = FetchDescriptor<Person>(predicate: #Predicate { 100 / $0.age > 1 })
        let results = try context.sync { try $0.results(descriptor) }
        let (ada, ben) = (try person("Ada"), try person("Ben"))
        ben.age = 0
        let first = Tracked { results.error == nil }
        (ada.age, ben.age) = (0, 50)
        context.sync { _ in }
        #expect(first.isTold && results.error != nil)
        ada.age = 40
        #expect(results.error == nil)
        var updates = results.updates.makeAsyncIterator()
        ben.age = 20
        results.descriptor.predicate = #Predicate { 100 / ($0.age - 20) > 1 }
        await #expect(throws: GraphError.self) { try await updates.next(isolation: MainActor.shared) }
    }

    @Test(arguments: [false, true]) func `updates lead to what a descriptor asks for that failed meanwhile`(
        isFollowed: Bool
    ) async throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        let others = isFollowed ? results.updates : nil
        let ben = try person("Ben")
        ben.age = 0
        results.descriptor = FetchDescriptor(predicate: #Predicate { 100 / $0.age > 3 }, sortBy: [.descending(\.name)])
        #expect(results.error != nil && results.count == 2)
        let updates = results.updates
        ben.age = 10
        context.sync { _ in }
        #expect(results.objects.map(\.name) == ["Ben"])
        for updates in [updates, others].compactMap(\.self) {
            var iterator = updates.makeAsyncIterator()
            let update = try #require(try await iterator.next(isolation: MainActor.shared))
            #expect(update.values.map(\.value.name) == ["Ben"] && update.removed.count == 2 && update.inserted == [0])
        }
    }

    @Test(.bug(id: "R36 part of no group", "what an observer did could not be undone"))
    func `what an observer does during an object's refresh can be undone`() async throws {
        context.sync { $0.undoLimit = 10 }
        let (ada, ben) = (try person("Ada"), try person("Ben"))
        let id = ada.id
        try await coordinator.transaction { $0[id]?.age = 37 }
        let tracked = Tracked({ ada.age }, then: { ben.delete() })
        ada.refresh(mergeChanges: true)
        #expect(tracked.isTold && ada.age == 37 && ben.isDeleted && context.sync { $0.canUndo })
        #expect(context.sync { $0.undo() }.isEmpty && !ben.isDeleted)
    }

    @Test(.bug(id: "the other kind of state", "updates showed what the earlier descriptor was about"))
    func `updates follow a descriptor that is about what is saved, and one that is not`() throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        try person("Ben").age = 18
        var updates = results.updates.makeAsyncIterator()
        results.descriptor.includesPendingChanges = false
        let saved = try #require(try updates.newestUpdate())
        #expect(saved.values.map(\.value.name) == ["Ada", "Cleo"] && results.objects.map(\.name) == ["Ada", "Cleo"])
        results.descriptor.includesPendingChanges = true
        let pending = try #require(try updates.newestUpdate())
        #expect(pending.values.map(\.value.name) == ["Ada", "Ben", "Cleo"] && results.count == 3)
    }

    @Test func `many sections come and go at once`() async throws {
        let results = try context.sync {
            try $0.results(FetchDescriptor<Person>(sortBy: [.ascending(\.age)]), sectionedBy: \.age)
        }
        var updates = results.updates.makeAsyncIterator()
        for ages in [[Int](0..<60), [12], [Int](20..<50) + [90], []] {
            try await coordinator.transaction { context in
                for person in try context.fetch(Person.self) { person.delete() }
                for age in ages.shuffled() { context.insert(Person(name: "", age: age)) }
            }
            await context.refresh()
            let update = try #require(try await updates.next(isolation: MainActor.shared))
            #expect(results.sections.map { $0.map(\.age) } == ages.map { [$0] })
            #expect(update.sections.count == ages.count)
        }
    }

    @Test func `R26 a transaction depends on what made a descriptor fail`() async throws {
        await #expect(throws: GraphError.self) {
            try await coordinator.transaction(isolation: .serializable, retries: 0) { context in
                let results = try context.results(FetchDescriptor<Person>())
                // "Analysts" has eight characters.
                results.descriptor.predicate = #Predicate { 100 / (8 - ($0.team.name?.count ?? 0)) > 1 }
                #expect(results.error != nil)
                try await Context(coordinator).transaction { $0.fetchTeam()?.name = "Readers" }
                context.insert(Team(name: "Others"))
            }
        }
    }

    @Test func `sections are in the order of their property, nil first, whatever the sort`() throws {
        let results = try context.sync {
            try $0.results(FetchDescriptor<Person>(sortBy: [.descending(\.name)], fetchLimit: 3), sectionedBy: \.team)
        }
        #expect(results.sections.map { $0.map(\.name) } == [["Ben", "Ada"], ["Cleo"]])
        let ids = results.sections.map(\.id)
        try person("Ada").team = try person("Cleo").team
        #expect(results.sections.map { $0.map(\.name) } == [["Ben"], ["Cleo", "Ada"]])
        #expect(results.sections.map(\.id) == ids)
        try person("Ben").delete()
        #expect(results.sections.map { $0.map(\.name) } == [["Cleo", "Ada"]])
    }

    @Test func `objects that a collection still lists keep their last value when they are deleted`() throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        let objects = results.objects
        try person("Ada").delete()
        #expect(objects.count == 2 && objects[0].isDeleted && objects[0].name == "Ada")
        #expect(results.objects.map(\.name) == ["Cleo"])
    }

    @Test func `updates come at the end of a turn, one for all of it`() async throws {
        let results = try context.sync { [adults] in try $0.results(adults) }
        var updates = results.updates.makeAsyncIterator()
        let ben = try person("Ben").id
        context.sync {
            $0[ben]?.age = 30
            $0[ben]?.name = "Aaron"
            $0.insert(Person(name: "Xaver", age: 99))
        }
        let update = try #require(try await updates.next(isolation: #isolation))
        #expect(update.inserted == [0, 3] && update.removed == [] && "\(update)" == "inserted [0, 3]")
        #expect(update.values.map(\.name) == ["Aaron", "Ada", "Cleo", "Xaver"])
        // What is changed outside of turns is told, too.
        try person("Ada").name = "Zoe"
        let next = try #require(try await updates.next(isolation: #isolation))
        #expect(next.moved == [ResultMove(from: 1, to: 3)] && next.updated == [3])
    }

    @Test func `updates go on without the result, and end with the context`() async throws {
        var context: Context? = Context(coordinator)
        let updates = try await context?.perform { [adults] in try $0.results(adults).updates }
        let reader = Task {
            var texts: [String] = []
            for try await update in try #require(updates) { texts.append("\(update)") }
            return texts
        }
        try await context?.perform { context in
            for person in try context.fetch(Person.self, where: { $0.name == "Ben" }) { person.age = 30 }
        }
        context = nil
        #expect(try await reader.value.count <= 1)
    }

    @Test func `a result that is dropped is released, and its context forgets it`() async throws {
        weak var dropped: FetchedResults<Person>?
        do {
            let results = try context.sync { [adults] in try $0.results(adults) }
            dropped = results
            _ = (results.count, results.updates)
        }
        #expect(dropped == nil)
        context.sync { context in
            context.insert(Person(name: "Dan"))
            #expect(!context.state.followers.hasTurnFollowers)
        }
        #expect(context.sync { $0.state.trackedResults.isEmpty })
    }

    @Test(arguments: 0..<3)
    func `R26: a transaction depends on what its results follow`(number: Int) async throws {
        let fetches = [
            FetchDescriptor<Person>(predicate: #Predicate { $0.team.name == "Testers" }),
            FetchDescriptor(sortBy: [.ascending(\.team, \.name)]), FetchDescriptor(sortBy: [.ascending(\.name)]),
        ]
        func run() async throws {
            try await coordinator.transaction(isolation: .serializable, retries: 0) { [coordinator] context in
                _ = try context.results(fetches[number])
                try await Context(coordinator).transaction { other in
                    for team in try other.fetch(Team.self) { team.name = "Testers" }
                }
                context.insert(Person(name: "Eve", age: 1))
            }
        }
        // The last one is of people alone.
        if number < 2 { await #expect(throws: GraphError.self) { try await run() } } else { try await run() }
    }

    @Test func `a result in a nested context shows what the parent changes only after a refresh`() async throws {
        let nested = await Context(parent: context, executor: .main)
        let results = try nested.sync { [adults] in try $0.results(adults) }
        try person("Ben").age = 30
        #expect(results.count == 2)
        await nested.refresh()
        #expect(results.count == 3)
    }

    @Test func `a result that leaves out what is pending follows saves`() async throws {
        var descriptor = adults
        descriptor.includesPendingChanges = false
        let results = try context.sync { [descriptor] in try $0.results(descriptor) }
        try person("Ben").age = 30
        let tracked = Tracked { results.count }
        #expect(results.count == 2)
        try await context.save()
        #expect(results.count == 3 && tracked.isTold)
    }
}

extension Person {
    fileprivate var isGrownUp: Bool { age > 17 }
}

/// Whether an observer was told since it read.
@MainActor private final class Tracked {
    private(set) var isTold = false

    private let act: () -> Void

    init(_ read: () -> some Any, then act: @escaping () -> Void = {}) {
        self.act = act
        withObservationTracking {
            _ = read()
        } onChange: { [weak self] in
            MainActor.assumeIsolated {
                self?.isTold = true
                self?.act()
            }
        }
    }
}

extension Context {
    fileprivate func fetchTeam() -> Team.Object? { first(\Team.name, equals: "Analysts") }
}
