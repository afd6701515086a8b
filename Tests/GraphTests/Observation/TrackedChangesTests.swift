import Observation
import Testing

@testable import Graph

/// What is asked of changes, and not of values, is tracked too.
@MainActor struct TrackedChangesTests {
    private let coordinator: Coordinator
    private let context: Context
    private let id: Person.ID
    private let person: Person.Object

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        context = Context(coordinator, executor: .main)
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        self.id = id
        person = try context.sync { try $0.object(for: id) }
    }

    /// How often what is read changes; each time it is read again.
    private func changes(_ read: @escaping @MainActor () -> Bool) -> Tracker {
        Tracker(read)
    }

    @Test(.bug(id: "untracked", "a view did not see that there was something to save"))
    func `whether a context has changes is tracked`() async throws {
        let count = changes { [context] in context.sync { $0.hasChanges } }
        person.age = 1
        #expect(count.value == 1)
        person.age = 2
        #expect(count.value == 1)
        try await context.save()
        #expect(count.value == 2)
        context.sync { _ = $0.insert(Person(name: "Bob")) }
        #expect(count.value == 3)
        context.sync { $0.rollback() }
        #expect(count.value == 4)
        context.sync { [id] context in if let person = context[id] { context.require(unchanged: person) } }
        #expect(count.value == 5)
        context.sync { $0.rollback() }
        #expect(count.value == 6)
        context.sync { _ = $0.insert(contentsOf: [Person(name: "Eve")]) }
        #expect(count.value == 7)
    }

    @Test func `whether an object has changes is tracked`() async throws {
        let bob = try context.sync { context in
            _ = context.insert(Person(name: "Bob"))
            return try #require(try context.fetch(Person.self, where: { $0.name == "Bob" }).first)
        }
        let (updates, any, inserted) = (
            changes { [person] in person.isUpdated }, changes { [person] in person.hasChanges },
            changes { bob.isInserted }
        )
        person.age = 1
        #expect(updates.value == 1 && any.value == 1 && inserted.value == 0)
        person.name = "Grace"
        #expect(updates.value == 1 && any.value == 1)
        try await context.save()
        #expect(updates.value == 2 && any.value == 2 && inserted.value == 1)
        person.delete()
        #expect(any.value == 3)
        person.discardChanges()
        #expect(any.value == 4 && inserted.value == 1)
    }

    @Test func `R8 that a save failed, and the changes are pending again, is tracked`() async throws {
        let (updates, all) = (
            changes { [person] in person.isUpdated }, changes { [context] in context.sync { $0.hasChanges } }
        )
        person.age = 1
        #expect(updates.value == 1 && all.value == 1)
        try await Context(coordinator).transaction { [id] in $0[id]?.age = 2 }
        try? await context.save()
        // While it was under way the object had none.
        #expect(updates.value == 3 && all.value == 1)
        #expect(person.isUpdated)
        await context.rollback(to: .latest)
        #expect(updates.value == 4 && all.value == 2)
    }

    @Test func `R23 that others made the same change, so that there is none left, is tracked`() async throws {
        person.age = 1
        let updates = changes { [person] in person.isUpdated }
        try await Context(coordinator).transaction { [id] in $0[id]?.age = 1 }
        await context.refresh()
        #expect(!person.isUpdated && updates.value == 1)
    }

    @Test func `R22 whether there is something to undo or to do again is tracked`() async throws {
        let (undo, redo) = (
            changes { [context] in context.sync { $0.canUndo } }, changes { [context] in context.sync { $0.canRedo } }
        )
        context.sync { $0.undoLimit = 5 }
        #expect(undo.value == 0)
        person.age = 1
        #expect(undo.value == 1 && redo.value == 0)
        person.age = 2
        #expect(undo.value == 1)
        context.sync { _ = $0.undo() }
        let undone = undo.value
        #expect(context.sync { $0.canRedo } && redo.value == 1)
        context.sync { _ = $0.redo() }
        #expect(context.sync { $0.canUndo } && !context.sync { $0.canRedo } && redo.value == 2)
        context.sync { $0.undoLimit = 0 }
        #expect(undo.value > undone && !context.sync { $0.canUndo })
    }

    @Test func `R22 that a save has taken what could be undone, until it ends, is tracked`() async throws {
        context.sync { $0.undoLimit = 5 }
        person.age = 1
        let undo = changes { [context] in context.sync { $0.canUndo } }
        try await context.save()
        // Out of reach and back again.
        #expect(undo.value == 2)
        #expect(context.sync { $0.canUndo })
    }

    @Test(.bug(id: "untracked-members", "a view that counts what members have did not see one change"))
    func `values of members are tracked, however they are read, and those of others are not`() async throws {
        let (team, bob) = context.sync { ($0.insert(Team(name: "red")), $0.insert(Person(name: "Bob"))) }
        person.team = team
        let trackers = [
            changes { team.members.values.contains { $0.age > 3 } },
            changes {
                var sum = 0
                team.members.forEachValue { sum += $0.age }
                return sum > 3
            },
            changes { team.members.contains { $0.age > 100 } },
        ]
        let count = changes { team.members.count > 1 }
        func values() -> [Int] { trackers.map(\.value) }
        person.age = 5
        #expect(values() == [1, 1, 1] && count.value == 0)
        person.age = 5
        bob.age = 5
        #expect(values() == [1, 1, 1] && count.value == 0)
        bob.team = team
        #expect(values().allSatisfy { $0 == 2 } && count.value == 1)
        bob.age = 6
        #expect(values() == [3, 3, 3] && count.value == 1)
        try await context.save()
        try await coordinator.transaction { [id] context in context[id]?.age = 7 }
        #expect(values() == [3, 3, 3])
        await context.refresh()
        #expect(values() == [4, 4, 4] && count.value == 1)
    }

    @Test func `who asks what has changed from an observer gets the answer`() async throws {
        var seen: [Bool] = []
        let tracker = changes { [person, context] in
            seen.append(person.hasChanges && context.sync { $0.hasChanges })
            return true
        }
        person.age = 1
        #expect(seen.last == true)
        context.sync { $0.rollback() }
        #expect(seen.last == false && tracker.value > 0)
    }
}

@MainActor private final class Tracker {
    private(set) var value = 0
    private let read: @MainActor () -> Bool

    init(_ read: @escaping @MainActor () -> Bool) {
        self.read = read
        track()
    }

    private func track() {
        withObservationTracking {
            _ = read()
        } onChange: {
            MainActor.assumeIsolated {
                self.value += 1
                self.track()
            }
        }
    }
}
