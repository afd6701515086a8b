import Testing

@testable import Graph

/// R8, R27: what saves are told when the disk fails or the store is closed under them.
struct StoreFailureTests {
    private let disk = GatedDisk()
    private let coordinator: Coordinator
    private let contexts: [Context]
    private let person: PersistentID<Person>

    init() async throws {
        let coordinator = try await Self.open(disk)
        self.coordinator = coordinator
        person = try await Context(coordinator).transaction { $0.insert(Person(name: "Ada")).id }
        contexts = (0..<3).map { _ in Context(coordinator) }
    }

    private static func open(_ disk: GatedDisk) async throws -> Coordinator {
        try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: "/data/store.graph",
            fileSystem: disk, options: JournalOptions())
    }

    /// Three saves, the first of them being written: it changes the person, the second does too, the third a team.
    private func startSaves() async throws -> [Task<Void, any Error>] {
        disk.hold()
        var tasks = [
            Task { [contexts, person] in try await contexts[0].transaction { try $0.object(for: person).age = 1 } }
        ]
        await disk.waitForArrival()
        try await contexts[1].perform { [person] in try $0.object(for: person).age = 2 }
        await contexts[2].perform { _ = $0.insert(Team(name: "red")) }
        for context in contexts[1...] {
            tasks.append(Task { try await context.save() })
            while await !context.isSaveUnderWay { await Task.yield() }
        }
        await coordinator.takeTurn()
        return tasks
    }

    @Test func `a failed sync fails every save under way and leaves the last durable state`() async throws {
        let tasks = try await startSaves()
        disk.disk.fail(operation: disk.disk.operationCount, with: .error(.other, 5))
        disk.release()
        var errors: [String] = []
        for task in tasks {
            do { try await task.value } catch { errors.append(String("\(error)".prefix(80))) }
        }
        #expect(errors.count == 3)
        #expect(coordinator.snapshot.commit.number == 1)
        for context in contexts[1...] {
            #expect(await context.hasChanges == true)
            await #expect(throws: GraphError.self) { try await context.save() }
            #expect(await context.hasChanges == true)
            await context.refresh()
        }
        #expect(await contexts[0].hasChanges == false)
        try await coordinator.close()
        await #expect(throws: GraphError.closed(path: coordinator.path)) {
            for try await _ in coordinator.history() {}
        }
        let second = try await Self.open(disk)
        #expect(second.snapshot.commit.number <= 2)
        try await second.close()
    }

    @Test func `closing waits for the saves under way and refuses later ones`() async throws {
        let tasks = try await startSaves()
        let closing = Task { try await coordinator.close() }
        await coordinator.takeTurn()
        await coordinator.takeTurn()
        disk.release()
        try await tasks[0].value
        await #expect(throws: GraphError.self) { try await tasks[1].value }
        try await tasks[2].value
        try await closing.value
        await #expect(throws: GraphError.self) { try await contexts[1].save() }
        let second = try await Self.open(disk)
        #expect(second.snapshot.commit.number == 3)
        #expect(second.snapshot.value(for: person)?.age == 1)
        try await second.close()
    }

    @Test(.bug(id: "close twice")) func `a second close returns when the file is free`() async throws {
        let tasks = try await startSaves()
        let closing = Task { try await coordinator.close() }
        await coordinator.takeTurn()
        await coordinator.takeTurn()
        let again = Task { [disk, coordinator] in
            try await coordinator.close()
            try await Self.open(disk).close()
        }
        await coordinator.takeTurn()
        disk.release()
        try await again.value
        try await closing.value
        for task in tasks { _ = await task.result }
    }
}
