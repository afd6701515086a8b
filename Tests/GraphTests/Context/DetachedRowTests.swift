import Dispatch
import Testing

@testable import Graph

/// R19: a row deleted elsewhere while it has local edits.
struct DetachedRowTests {
    @Test(.bug(id: "base of a detached row")) func `an edited object that others deleted keeps its value and its base`()
        async throws
    {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        let (one, two) = (Context(coordinator), Context(coordinator))
        let id = try await one.transaction { $0.insert(Person(name: "Ada")).id }
        await two.refresh()
        try await one.transaction { try $0.object(for: id).delete() }
        try await two.refreshWithEdit(of: id)
        await two.rollback()
        #expect(await two.hasChanges == false)
        try await two.save()
    }
}

/// R19: what is written to such an object while its change is pending.
@MainActor struct DetachedRowWritingTests {
    private let coordinator: Coordinator
    private let context: Context
    private let id: Person.ID
    private let person: Person.Object

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        context = Context(coordinator, executor: .main)
        let id = try await context.transaction { $0.insert(Person(name: "Ada", age: 1)).id }
        self.id = id
        person = try context.sync { try $0.object(for: id) }
    }

    private func deleteElsewhere() async throws {
        try await coordinator.transaction { [id] in $0[id]?.delete() }
    }

    @Test(.bug(id: "lost keystrokes", "the object came back with the first edit, without the later ones"))
    func `R19 it counts as well, so that a policy brings the object back as it was written last`() async throws {
        person.name = "E"
        try await deleteElsewhere()
        await context.refresh()
        person.name += "v"
        #expect(person.name == "Ev" && person.isDeleted)
        person.name += "e"
        person.age = 2
        #expect(person.name == "Eve" && person.age == 2 && context.sync { $0.hasChanges })
        #expect(Set(person.changedValues.keys) == [])
        #expect(person.committedValue?.name == "Ada")
        await context.refresh()
        #expect(person.name == "Eve" && person.isDeleted)
        try await context.save(mergePolicy: .overwrite)
        #expect(!person.isDeleted && person.name == "Eve")
        #expect(coordinator.snapshot.value(for: id)?.name == "Eve")
        #expect(coordinator.snapshot.value(for: id)?.age == 2)
    }

    @Test func `R19 without a change that is pending a write to a deleted object changes nothing`() async throws {
        try await deleteElsewhere()
        await context.refresh()
        person.name = "Eve"
        #expect(person.isDeleted && person.name == "Ada" && !person.hasChanges)
        #expect(context.sync { !$0.hasChanges })
    }

    @Test func `R33 a change of it that is taken back is over`() async throws {
        person.name = "Eve"
        try await deleteElsewhere()
        await context.refresh()
        person.name = "Ada"
        #expect(!person.hasChanges && person.isDeleted)
        #expect(context.sync { !$0.hasChanges })
        try await context.save()
        #expect(coordinator.snapshot.value(for: id) == nil)
    }

    @Test func `R22 it can be undone`() async throws {
        context.sync { $0.undoLimit = 5 }
        person.name = "E"
        try await deleteElsewhere()
        await context.refresh()
        let other = context.sync { $0.insert(Person(name: "other")) }
        context.sync { _ in }
        person.name = "Eve"
        #expect(context.sync { $0.undo() }.isEmpty)
        #expect(person.name == "E" && person.hasChanges && person.isDeleted)
        context.sync { _ = $0.redo() }
        #expect(person.name == "Eve")
        context.sync { _ = $0.undo() }
        context.sync { _ = $0.undo() }
        #expect(other.isDeleted && person.name == "E" && person.hasChanges)
    }

    @Test func `R20 a transaction that throws undoes it`() async throws {
        struct Abandoned: Error {}
        person.name = "E"
        try await deleteElsewhere()
        await context.refresh()
        await #expect(throws: Abandoned.self) {
            try await context.atomically {
                person.name = "Eve"
                throw Abandoned()
            }
        }
        #expect(person.name == "E" && person.hasChanges)
        await #expect(throws: GraphError.self) { try await context.atomically { person.name = "Eve" } }
        #expect(person.name == "E" && person.hasChanges)
    }

    @Test(arguments: [MergePolicy.error, .overwrite, .rollback])
    func `R23 so does what is written while a save is under way`(policy: MergePolicy) async throws {
        person.name = "E"
        try await deleteElsewhere()
        await context.refresh()
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { isHeld in
            _ = Task(executorPreference: QueueExecutor()) { [coordinator] in await coordinator.hold(isHeld, until: gate)
            }
        }
        let save = Task { try await context.save(mergePolicy: policy) }
        while !context.sync({ $0.state.isSaveUnderWay }) { await Task.yield() }
        person.name = "Eve"
        gate.signal()
        _ = await save.result
        #expect(person.name == "Eve" && person.hasChanges)
        #expect(person.isDeleted == (policy.kind != .overwrite))
        try await context.save(mergePolicy: .overwrite)
        #expect(coordinator.snapshot.value(for: id)?.name == "Eve" && !person.hasChanges)
    }

    @Test func `R19 references may be written, and links are not made`() async throws {
        person.name = "Eve"
        let team = context.sync { $0.insert(Team(name: "red")) }
        try await deleteElsewhere()
        await context.refresh()
        person.team = team
        #expect(person.team == team && team.members.isEmpty)
        try await context.save(mergePolicy: .overwrite)
        #expect(person.team == team && team.members.first == person)
    }
}

extension Context {
    fileprivate func refreshWithEdit(of id: PersistentID<Person>) async throws {
        let person = try object(for: id)
        person.name = "Eve"
        for _ in 0..<2 {
            await refresh()
            #expect(person.isDeleted && self[id] == nil)
            #expect(try fetchCount(Person.self) == 0)
            #expect(person.name == "Eve")
            #expect(person.isUpdated && person.hasChanges && hasChanges)
            #expect(updatedObjects.first === person)
            #expect(person.version == RowVersion(1))
            #expect(person.committedValue?.name == "Ada")
            do {
                try await save()
                Issue.record("the save should find a conflict")
            } catch {
                guard case .conflicts(let conflicts) = error else { throw error }
                #expect(conflicts.map(\.oldVersion) == [RowVersion(1)])
                #expect(conflicts.map(\.newVersion) == [RowVersion(0)])
            }
        }
    }
}

extension Coordinator {
    /// Nothing else has a turn here until the gate opens. Called where it takes no thread from others.
    fileprivate func hold(_ isHeld: CheckedContinuation<Void, Never>, until gate: DispatchSemaphore) {
        isHeld.resume()
        gate.wait()
    }
}

/// Runs what may block on a thread that the pool of the other tests does not count.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "DetachedRowTests")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
