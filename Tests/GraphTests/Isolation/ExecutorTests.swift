import Dispatch
import Observation
import Testing

@testable import Graph

/// Where contexts run, and who may use them without waiting.
struct ExecutorTests {
    private static func coordinator() async throws -> Coordinator {
        try await Coordinator(for: Person.self, Team.self)
    }

    @Test func `a context of its own runs on no other actor`() async throws {
        let context = Context(try await Self.coordinator())
        await context.perform { context in
            context.preconditionIsolated()
        }
    }

    @MainActor @Test
    func `a context on the main actor is used there without waiting, and its objects are the caller's`()
        async throws
    {
        let context = Context(try await Self.coordinator(), executor: .main)
        let person = context.sync { $0.insert(Person(name: "one", age: 1)) }
        person.age += 1
        let people = try context.sync { try $0.fetch(Person.self) }
        #expect(people == [person])
        #expect(person.age == 2)
        try await context.save()
        await context.perform { _ in MainActor.preconditionIsolated() }
        #expect(context.coordinator.snapshot.value(for: person.id)?.age == 2)
        person.discardChanges()
        person.delete()
        #expect(person.isDeleted)
        person.refresh(mergeChanges: false)
        #expect(!person.isDeleted)
        #expect(person.age == 2)
    }

    @Test func `an actor that shares a context's executor holds its objects`() async throws {
        let importer = Importer(try await Self.coordinator())
        await importer.insert(["one", "two"])
        #expect(await importer.grow() == [1, 1])
        await importer.isOnContext()
        try await importer.context.save()
        #expect(importer.context.coordinator.snapshot.count(of: Person.self) == 2)
    }

    @Test func `a context runs on an executor of the program`() async throws {
        let executor = QueueExecutor()
        let context = Context(try await Self.coordinator(), executor: .custom(executor))
        let id = await context.perform { context in
            dispatchPrecondition(condition: .onQueue(executor.queue))
            return context.insert(Person(name: "one")).id
        }
        try await context.transaction { context in
            await Task.yield()
            dispatchPrecondition(condition: .onQueue(executor.queue))
            context[id]?.age = 5
        }
        #expect(context.coordinator.snapshot.value(for: id)?.age == 5)
    }

    @MainActor @Test func `a transaction that waits stays on its context's executor`() async throws {
        let context = Context(try await Self.coordinator(), executor: .main)
        try await context.transaction { context in
            await Task.yield()
            MainActor.preconditionIsolated()
            context.insert(Person(name: "one"))
        }
        #expect(context.coordinator.snapshot.count(of: Person.self) == 1)
    }

    @Test func `sync from elsewhere stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let context = Context(try await Coordinator(for: Person.self, Team.self))
            await MainActor.run { _ = context.sync { $0.hasChanges } }
        }
    }

    @Test func `objects of two contexts on one executor do not mix`() async {
        await #expect(processExitsWith: .failure) { @MainActor in
            let coordinator = try await Coordinator(for: Person.self, Team.self)
            let contexts = [Context(coordinator, executor: .main), Context(coordinator, executor: .main)]
            let team = contexts[0].sync { $0.insert(Team(name: "team")) }
            let person = contexts[1].sync { $0.insert(Person(name: "person")) }
            person.team = team
        }
    }

    @Test func `an object that unsafe code took elsewhere is noticed in debug builds`() async {
        #if DEBUG
            await #expect(processExitsWith: .failure) {
                struct Box: @unchecked Sendable { let person: Person.Object }
                let context = Context(try await Coordinator(for: Person.self, Team.self))
                let box = await context.perform { Box(person: $0.insert(Person(name: "one"))) }
                print(box.person.name)
            }
        #endif
    }
}

private actor Importer: ContextActor {
    let context: Context
    private var people: [Person.Object] = []

    init(_ coordinator: Coordinator) { context = Context(coordinator) }

    func insert(_ names: [String]) {
        people = withContext { context in names.map { context.insert(Person(name: $0)) } }
    }

    func grow() -> [Int] {
        for person in people { person.age += 1 }
        return people.map(\.age)
    }

    func isOnContext() { context.preconditionIsolated() }
}

private final class QueueExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "test")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}

/// What `withObservationTracking` sees.
@MainActor struct ObservableTests {
    private static func context() async throws -> Context {
        Context(try await Coordinator(for: Person.self, Team.self), executor: .main)
    }

    private func insert<E: Entity>(_ value: E, _ context: Context) -> E.Object {
        context.sync { $0.insert(value) }
    }

    /// How often the second closure made the first one's reads out of date.
    private func changes(after read: () -> Void, by write: () async throws -> Void) async rethrows -> Int {
        let count = Counter()
        withObservationTracking(read) { _ = count.next() }
        try await write()
        return count.value
    }

    @Test func `a property that was read is told when it changes, and no other`() async throws {
        let context = try await Self.context()
        let person = insert(Person(name: "one"), context)
        let count1 = await changes(after: { _ = person.name }, by: { person.name = "two" })
        #expect(count1 == 1)
        let count2 = await changes(after: { _ = person.name }, by: { person.age = 7 })
        #expect(count2 == 0)
        let count3 = await changes(after: { _ = person.name }, by: { person.name = "two" })
        #expect(count3 == 0)
        let count4 = await changes(after: { _ = person.value }, by: { person.age = 8 })
        #expect(count4 == 1)
        let count5 = await changes(after: { _ = person.isDeleted }, by: { person.delete() })
        #expect(count5 == 1)
    }

    @Test func `both ends of a relationship are told`() async throws {
        let context = try await Self.context()
        let (person, team) = (insert(Person(name: "one"), context), insert(Team(name: "team"), context))
        let count6 = await changes(after: { _ = team.members.count }, by: { person.team = team })
        #expect(count6 == 1)
        let count7 = await changes(after: { _ = person.team }, by: { team.members.remove(person) })
        #expect(count7 == 1)
        let count8 = await changes(after: { _ = team.members.count }, by: { team.members.append(person) })
        #expect(count8 == 1)
        let count9 = await changes(after: { _ = team.members.count }, by: { team.name = "other" })
        #expect(count9 == 0)
    }

    @Test func `merges, undo, rollback and saves are told`() async throws {
        let context = try await Self.context()
        context.sync { $0.undoLimit = 10 }
        let person = insert(Person(name: "one"), context)
        try await context.save()
        let id = person.id
        try await context.coordinator.transaction { $0[id]?.name = "two" }
        let count10 = await changes(after: { _ = person.name }, by: { await context.refresh() })
        #expect(count10 == 1)
        #expect(person.name == "two")
        context.sync { $0.beginUndoGroup() }
        person.name = "three"
        context.sync { $0.endUndoGroup() }
        let count11 = await changes(after: { _ = person.name }, by: { context.sync { _ = $0.undo() } })
        #expect(count11 == 1)
        person.name = "four"
        let count12 = await changes(after: { _ = person.name }, by: { context.sync { $0.rollback() } })
        #expect(count12 == 1)
        let count13 = try await changes(after: { _ = person.name }, by: { try await context.save() })
        #expect(count13 == 0)
    }

    @Test func `what a fetch looked at is told`() async throws {
        let context = try await Self.context()
        func count() { context.sync { _ = try? $0.fetchCount(Person.self) } }
        let count14 = await changes(after: count, by: { context.sync { _ = $0.insert(Person(name: "one")) } })
        #expect(count14 == 1)
        let count15 = await changes(after: count, by: { context.sync { _ = $0.insert(Team(name: "one")) } })
        #expect(count15 == 0)
        let people = [Person(name: "x"), Person(name: "y")]
        let count16 = await changes(after: count, by: { context.sync { _ = $0.insert(contentsOf: people) } })
        #expect(count16 == 1)
    }
}
