import Synchronization
import Testing

@testable import Graph

/// What is saved of a transaction that is under way, and what becomes of changes made on its context when it has ended.
struct EndedTransactionTests {
    private struct Stop: Error {}

    private let coordinator: Coordinator
    private let id: Person.ID

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        id = try await coordinator.transaction { $0.insert(Person(name: "Ada")).id }
    }

    private var age: Int? { coordinator.snapshot.value(for: id)?.age }

    // MARK: Under way

    @Test(.bug(id: "autosave in a transaction", "half of it was committed"))
    func `R20 a transaction that throws has saved nothing, though it asked its context to save by itself`() async throws
    {
        await #expect(throws: Stop.self) {
            try await coordinator.transaction { [id] context in
                context.autosave = .milliseconds(1)
                let delay = context.autosave
                #expect(delay == nil)
                context[id]?.age = 2
                await context.saveByItself()
                throw Stop()
            }
        }
        #expect(age == 0)
    }

    @Test func `R20 closing the coordinator saves nothing of a transaction that is under way`() async throws {
        await #expect(throws: Stop.self) {
            try await coordinator.transaction { [id, coordinator] context in
                context.autosave = .seconds(3_600)
                context[id]?.age = 2
                try await coordinator.close()
                throw Stop()
            }
        }
        #expect(age == 0)
    }

    @Test func `R20 closing the coordinator saves nothing of a transaction of a context that saves by itself`()
        async throws
    {
        let context = Context(coordinator)
        await context.perform { $0.autosave = .seconds(3_600) }
        await #expect(throws: Stop.self) {
            try await context.transaction { [id, coordinator] context in
                context.autosave = .seconds(3_600)
                context[id]?.age = 2
                try await coordinator.close()
                throw Stop()
            }
        }
        #expect(age == 0)
    }

    // MARK: Ended

    /// Which transaction's context it is.
    enum Kind: CaseIterable {
        case ofContext, ofCoordinator, thrown
    }

    /// The context of a transaction that has ended.
    private func endedContext(_ kind: Kind) async throws -> Context {
        let leak = Mutex<Context?>(nil)
        switch kind {
        case .ofContext:
            try await Context(coordinator).transaction { context in
                leak.withLock { $0 = context }
                await Task.yield()
            }
        case .ofCoordinator:
            try await coordinator.transaction { context in leak.withLock { $0 = context } }
        case .thrown:
            try? await coordinator.transaction { context in
                leak.withLock { $0 = context }
                throw Stop()
            }
        }
        return try #require(leak.withLock { $0 })
    }

    @Test(.bug(id: "saved after its end", "save() returned and had saved nothing"), arguments: Kind.allCases)
    func `R20 a save on the context of a transaction that has ended says that it saves nothing`(kind: Kind) async throws
    {
        let context = try await endedContext(kind)
        await context.perform { [id] in $0[id]?.age = 3 }
        await #expect(throws: GraphError.transactionEnded) { try await context.save() }
        await #expect(throws: GraphError.transactionEnded) { try await context.save(retries: 3) }
        #expect(await context.hasChanges)
        #expect(await context.hasChanges(of: id))
        #expect(await context.dryRun().error == .transactionEnded)
        #expect(age == 0)
    }

    @Test(arguments: Kind.allCases)
    func `R20 no transaction begins on the context of one that has ended`(kind: Kind) async throws {
        let context = try await endedContext(kind)
        await #expect(throws: GraphError.transactionEnded) {
            try await context.transaction { context in
                Issue.record("the closure ran")
                _ = context.insert(Team(name: "late"))
            }
        }
        await #expect(throws: GraphError.transactionEnded) {
            try await context.transaction { context in
                Issue.record("the closure ran")
                await Task.yield()
                _ = context.insert(Team(name: "late"))
            }
        }
        await #expect(throws: GraphError.transactionEnded) { try await context.insertAtomically() }
        #expect(coordinator.snapshot.count(of: Team.self) == 0)
    }

    @Test(arguments: Kind.allCases)
    func `R21 a context nested in one of a transaction that has ended cannot save`(kind: Kind) async throws {
        let context = try await endedContext(kind)
        let child = await Context(parent: context)
        await child.perform { [id] in $0[id]?.age = 3 }
        await #expect(throws: GraphError.transactionEnded) { try await child.save() }
        #expect(await child.hasChanges)
        #expect(await child.dryRun().error == .transactionEnded)
    }

    @Test func `R20 a transaction whose outer one ends before it does is told so`() async throws {
        let gate = Gate()
        let inner = Mutex<Task<Void, any Error>?>(nil)
        try await coordinator.transaction { [id] context in
            inner.withLock { task in
                task = Task {
                    try await context.transaction { nested in
                        nested[id]?.age = 9
                        await gate.pass()
                    }
                }
            }
            while await !gate.isReached { await Task.yield() }
        }
        await gate.open()
        let task = try #require(inner.withLock { $0 })
        await #expect(throws: GraphError.transactionEnded) { try await task.value }
        #expect(age == 0)
    }

    @Test func `R20 a save in a transaction under way does nothing, and its end saves`() async throws {
        try await coordinator.transaction { [id] context in
            context[id]?.age = 4
            try await context.save()
            try await context.save(retries: 2)
            let hasChanges = context.hasChanges
            #expect(hasChanges)
        }
        #expect(age == 4)
    }
}

private actor Gate {
    private(set) var isReached = false
    private var waiting: CheckedContinuation<Void, Never>?

    func pass() async {
        await withCheckedContinuation { continuation in
            waiting = continuation
            isReached = true
        }
    }

    func open() {
        waiting?.resume()
    }
}

extension Context {
    fileprivate func hasChanges(of id: Person.ID) -> Bool { self[id]?.hasChanges == true }

    fileprivate func insertAtomically() async throws {
        try await atomically {
            Issue.record("the closure ran")
            _ = insert(Team(name: "late"))
        }
    }
}
