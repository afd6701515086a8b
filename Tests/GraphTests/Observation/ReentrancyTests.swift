import Observation
import Testing

@testable import Graph

/// R21, R22: observers that use the context when something changes.
@MainActor struct ReentrancyTests {
    private let coordinator: Coordinator
    private let context: Context
    private let id: Person.ID

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        context = Context(coordinator, executor: .main, isObservable: true)
        id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        context.sync { $0.undoLimit = 5 }
    }

    private var canUndo: Bool { context.sync { $0.canUndo } }
    private var canRedo: Bool { context.sync { $0.canRedo } }

    /// Looks, whenever the person's age changes, whether something can be undone.
    private func watch() throws -> Person.Object {
        let person = try context.sync { [id] in try $0.object(for: id) }
        withObservationTracking {
            _ = person.age
        } onChange: { [context] in
            MainActor.assumeIsolated { context.sync { _ = $0.canUndo } }
        }
        return person
    }

    @Test(.bug(id: "undo seen by an observer", "the undo became a group to undo"))
    func `R22 an observer that looks at the history does not change it`() throws {
        context.sync { [id] in $0[id]?.age = 5 }
        let person = try watch()
        context.sync { _ = $0.undo() }
        #expect(person.age == 0)
        #expect(canUndo == false && canRedo)
        let again = try watch()
        context.sync { _ = $0.redo() }
        #expect(again.age == 5)
        #expect(canUndo && canRedo == false)
    }

    @Test(.bug(id: "refresh seen by an observer", "it could be undone"))
    func `R22 what others committed cannot be undone, though an observer looks meanwhile`() async throws {
        let person = try watch()
        try await Context(coordinator).transaction { [id] in $0[id]?.age = 9 }
        await context.refresh()
        #expect(person.age == 9)
        #expect(canUndo == false)
    }

    @Test func `R22 what others committed cannot be undone, though an observer looks while a save merges it`()
        async throws
    {
        let person = try watch()
        try await Context(coordinator).transaction { [id] in $0[id]?.age = 9 }
        context.sync { _ = $0.insert(Person(name: "Bob")) }
        try await context.save()
        #expect(person.age == 9)
        context.sync { _ = $0.undo() }
        #expect(canUndo == false)
        #expect(person.age == 9)
    }
}
