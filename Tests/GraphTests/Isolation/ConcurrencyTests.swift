import Testing

@testable import Graph

/// Many contexts at once, on real threads: nothing is lost, and no reader ever sees half of a commit.
struct ConcurrencyTests {
    private static let accounts = 8
    private static let writers = 6
    private static let transfers = 40

    private func insertAccounts(_ coordinator: Coordinator) async throws -> [Person.ID] {
        try await Context(coordinator).transaction { context in
            (0..<Self.accounts).map { context.insert(Person(name: "account \($0)", age: 100)).id }
        }
    }

    /// Moves one unit, trying again on the newest state until nobody else was faster. Gives the number of tries.
    private func transfer(_ from: Person.ID, _ to: Person.ID, _ context: Context) async throws -> Int {
        var tries = 0
        while true {
            tries += 1
            do {
                try await context.transaction { context in
                    try context.object(for: from).age -= 1
                    try context.object(for: to).age += 1
                }
                return tries
            } catch {
                guard case GraphError.conflicts = error else { throw error }
                await context.refresh()
            }
        }
    }

    private func run(on coordinator: Coordinator) async throws {
        let ids = try await insertAccounts(coordinator)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<Self.writers {
                group.addTask {
                    let context = Context(coordinator)
                    var random = SeededGenerator(seed: UInt64(writer))
                    for _ in 0..<Self.transfers {
                        let (from, to) = (ids.randomElement(using: &random), ids.randomElement(using: &random))
                        guard let from, let to, from != to else { continue }
                        _ = try await transfer(from, to, context)
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    var last = CommitNumber.none
                    for _ in 0..<200 {
                        let snapshot = coordinator.snapshot
                        let total = try snapshot.fetchValues(Person.self).reduce(0) { $0 + $1.age }
                        #expect(total == 100 * Self.accounts)
                        #expect(snapshot.commit >= last)
                        last = snapshot.commit
                        await Task.yield()
                    }
                }
            }
            try await group.waitForAll()
        }
        let snapshot = coordinator.snapshot
        #expect(snapshot.checkInvariants() == [])
        let versions = try ids.map { try #require(snapshot.version(of: $0)).number - 1 }
        // Each commit after the first changed two rows.
        #expect(versions.reduce(0, +) == 2 * (snapshot.commit.number - 1))
    }

    @Test func `R25: transfers between accounts keep their total, in memory`() async throws {
        try await run(on: Coordinator(for: Team.self, Person.self))
    }

    @Test func `R25 and R29: transfers between accounts keep their total, on a file and after reopening`() async throws
    {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        try await run(on: coordinator)
        let commit = coordinator.snapshot.commit
        try await coordinator.close()
        let reopened = try await Coordinator(for: Team.self, Person.self, at: folder.file())
        #expect(reopened.snapshot.commit == commit)
        let total = try reopened.snapshot.fetchValues(Person.self).reduce(0) { $0 + $1.age }
        #expect(total == 100 * Self.accounts)
        try await reopened.close()
    }

    @Test func `objects and contexts can be released on any thread`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let context = Context(coordinator)
                    let holder = await context.hold(number)
                    _ = holder
                }
            }
        }
        #expect(coordinator.snapshot.commit.number == 0)
    }

    @Test func `an object outlives its context, keeps its value, and writes to it go nowhere`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self)
        try await Context(coordinator).transaction { _ = $0.insert(Person(name: "Ada")) }
        let orphan = await Orphan(coordinator)
        await orphan.check()
    }
}

/// Takes an object out of a context's isolation, as only unsafe code can, when the context is gone.
private actor Orphan {
    // Nobody else refers to the object: its context ended in `init`.
    private nonisolated(unsafe) let person: Person.Object?

    init(_ coordinator: Coordinator) async {
        let box = await Context(coordinator).box()
        person = box.object
    }

    func check() {
        #expect(person?.name == "Ada")
        person?.name = "Eve"
        #expect(person?.name == "Ada")
        #expect(person?.isDeleted == false)
        person?.delete()
    }
}

/// Carries an object where the compiler would not let it go. Its users see to it that the context is gone by then.
private struct Box: @unchecked Sendable {
    let object: Person.Object?
}

extension Context {
    fileprivate func box() -> Box {
        Box(object: try? first(Person.self))
    }

    /// Gives back objects in the only wrapping that may leave, which is then released wherever the task happens to run.
    fileprivate func hold(_ number: Int) -> Box {
        let person = insert(Person(name: "\(number)"))
        person.age = number
        return Box(object: number.isMultiple(of: 2) ? person : nil)
    }
}
