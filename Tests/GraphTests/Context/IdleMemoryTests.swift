import Testing

@testable import Graph

/// R17: what an idle context keeps after it had much.
struct IdleMemoryTests {
    /// What ends a mass of changes.
    enum Ending: CaseIterable {
        case save, rollback, rollbackInTurn, rollbackToLatest, reset, failedTransaction, deleteAndSave
        case deleteWithOthers, nestedSave, saveDuringTurns
    }

    private struct Stop: Error {}
    private let count = 5_000

    @Test(
        .bug(id: "idle and large", "objects nobody held stayed until later turns came by"),
        arguments: Ending.allCases
    )
    func `R17 a context keeps nothing of a mass of changes that was saved or dropped`(ending: Ending) async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let parent = Context(coordinator)
        let context = ending == .nestedSave ? await Context(parent: parent) : parent
        if ending != .failedTransaction { await context.insertOneByOne(count) }
        switch ending {
        case .save: try await context.save()
        case .rollback: await context.rollback()
        case .rollbackInTurn: await context.perform { $0.rollback() }
        case .rollbackToLatest: await context.rollback(to: .latest)
        case .reset: await context.reset()
        case .failedTransaction:
            try? await context.transaction { [count] context in
                context.insertOneByOne(count)
                throw Stop()
            }
        case .deleteAndSave:
            try await context.save()
            try await context.deleteAll()
            try await context.save()
        case .deleteWithOthers:
            try await context.save()
            try await context.deleteAll()
            try await coordinator.transaction { _ = $0.insert(Team(name: "theirs")) }
            try await context.save()
        case .nestedSave: try await context.save()
        case .saveDuringTurns:
            async let save: Void = context.save()
            for _ in 0..<20 { await context.perform { _ = $0.hasChanges } }
            try await save
        }
        #expect(await context.registeredCount == 0)
        #expect(await context.registryCapacity < 1_024)
        #expect(await context.keptCount == 0)
    }

    @Test func `R17 objects that are held stay registered after a mass of changes`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        try await context.saveHolding(count)
    }

    @Test func `R17 a context that retains its objects keeps them through a save`() async throws {
        let context = Context(try await Coordinator(for: Team.self, Person.self))
        await context.retain()
        await context.insertOneByOne(count)
        try await context.save()
        #expect(await context.registeredCount == count)
    }
}

extension Context {
    fileprivate func insertOneByOne(_ count: Int) {
        for number in 0..<count { _ = insert(Person(name: "\(number)")) }
    }

    fileprivate func deleteAll() throws {
        for person in try fetch(Person.self) { person.delete() }
    }

    fileprivate func saveHolding(_ count: Int) async throws {
        let people = (0..<count).map { insert(Person(name: "\($0)")) }
        try await save()
        #expect(registry.count == count)
        #expect(people.allSatisfy { self[$0.id] === $0 })
    }

    fileprivate func retain() { retainsRegisteredObjects = true }
    fileprivate var registeredCount: Int { registry.count }
    fileprivate var registryCapacity: Int { registry.capacity }
    fileprivate var keptCount: Int { registry.kept.count }
}
