import Dispatch
import Testing

@testable import Graph

@Entity private struct Wallet {
    var owner = ""
    var balance = 0
    var note = ""

    mutating func willSave() { SaveHook.run?() }
}

private enum SaveHook {
    /// Runs when the task's saves have taken the changes.
    @TaskLocal static var run: (@Sendable () -> Void)?
}

/// `save(retries:)`.
struct SaveRetryTests {
    private let coordinator: Coordinator
    private let id: Wallet.ID

    init() async throws {
        coordinator = try await Coordinator(for: Wallet.self)
        id = try await coordinator.transaction { $0.insert(Wallet(owner: "Ada", balance: 100)).id }
    }

    private var saved: Wallet? { coordinator.snapshot.value(for: id) }

    @Test func `R23 a save with retries goes through where others changed other properties`() async throws {
        let context = Context(coordinator)
        let events = await context.events
        await context.perform { [id] in $0[id]?.note = "mine" }
        try await coordinator.transaction { [id] in $0[id]?.balance = 50 }
        await #expect(throws: GraphError.self) { try await context.save() }
        try await context.save(retries: 1)
        #expect(saved?.note == "mine" && saved?.balance == 50)
        #expect(await context.value(id)?.balance == 50)
        // An attempt that is followed by another one is no failure.
        var names: [String] = []
        for await event in events {
            names.append(String("\(event)".prefix { $0 != " " && $0 != ":" }))
            if case .didSave = event { break }
        }
        #expect(names == ["willSave", "saveFailed", "willSave", "didMerge", "willSave", "didSave"])
    }

    @Test(arguments: [false, true])
    func `R23 R25 a save with retries loses no change of others`(isMergedBefore: Bool) async throws {
        let context = Context(coordinator)
        await context.perform { [id] in $0[id]?.balance += 1 }
        try await coordinator.transaction { [id] in $0[id]?.balance += 10 }
        if isMergedBefore {
            await context.merge()
            while await context.baseNumber < 2 { await Task.yield() }
        }
        do {
            try await context.save(retries: 5)
            Issue.record("it overwrote others' change")
        } catch {
            guard case .conflicts = error else { throw error }
        }
        #expect(saved?.balance == 110)
        #expect(await context.hasChanges)
        try await context.save(mergePolicy: .custom(.property(\Wallet.balance, .counter)))
        #expect(saved?.balance == 111)
    }

    @Test func `R6 a save with retries does not decide about a delete`() async throws {
        let context = Context(coordinator)
        await context.perform { [id] in $0[id]?.note = "mine" }
        try await coordinator.transaction { [id] in $0[id]?.delete() }
        do {
            try await context.save(retries: 5)
            Issue.record("it was saved")
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            #expect(conflicts.count == 1 && conflicts.first?.theirs == nil)
        }
        let other = Context(coordinator)
        let kept = try await coordinator.transaction { $0.insert(Wallet(owner: "Bob")).id }
        await other.refresh()
        await other.perform { $0[kept]?.delete() }
        try await coordinator.transaction { $0[kept]?.note = "theirs" }
        await #expect(throws: GraphError.self) { try await other.save(retries: 5) }
        #expect(coordinator.snapshot.value(for: kept) != nil)
    }

    @Test func `R2 a save with retries keeps to what was required to be unchanged`() async throws {
        let context = Context(coordinator)
        try await context.requireUnchanged(id)
        try await coordinator.transaction { [id] in $0[id]?.note = "theirs" }
        await #expect(throws: GraphError.self) { try await context.save(retries: 5) }
        #expect(coordinator.snapshot.count(of: Wallet.self) == 1)
    }

    @Test func `R4 each attempt goes by the policy given`() async throws {
        let context = Context(coordinator)
        await context.perform { [id] in $0[id]?.balance = 1 }
        try await coordinator.transaction { [id] in $0[id]?.balance = 2 }
        try await context.save(retries: 1, mergePolicy: .mergeByPropertyStoreTrump)
        #expect(saved?.balance == 2)
    }

    @Test func `R21 a nested context's save with retries loses no change of its parent's`() async throws {
        let parent = Context(coordinator)
        let child = await Context(parent: parent)
        await child.perform { [id] in $0[id]?.note = "child" }
        await parent.perform { [id] in $0[id]?.balance = 1 }
        try await child.save(retries: 1)
        #expect(await parent.value(id)?.note == "child")
        #expect(await parent.value(id)?.balance == 1)

        await child.perform { [id] in $0[id]?.balance = 5 }
        await parent.perform { [id] in $0[id]?.balance = 6 }
        do {
            try await child.save(retries: 5)
            Issue.record("it overwrote the parent's change")
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            #expect("\(conflicts[0])".contains("    parent row = {"))
        }
        #expect(await parent.value(id)?.balance == 6)
    }

    @Test func `a save with retries gives up when others are faster each time`() async throws {
        // The save waits for others in the middle of it, which no thread that others need may do.
        let context = Context(coordinator, executor: .custom(QueueExecutor()))
        await context.perform { [id] in $0[id]?.note = "mine" }
        let rivals = Counter()
        do {
            let commit: @Sendable () -> Void = { [coordinator, id] in
                let isDone = DispatchSemaphore(value: 0)
                Task.detached {
                    try? await coordinator.transaction { $0[id]?.balance += 1 }
                    _ = rivals.next()
                    isDone.signal()
                }
                isDone.wait()
            }
            try await SaveHook.$run.withValue(commit) { try await context.save(retries: 3) }
            Issue.record("it was saved")
        } catch GraphError.retriesExhausted(let attempts, let conflicts) {
            #expect(attempts == 4 && conflicts.count == 1)
        } catch {
            throw error
        }
        #expect(rivals.value == 4)
        #expect(await context.hasChanges)
        #expect(saved?.note == "" && saved?.balance == 104)
        // It has taken over all but the last of others' commits.
        try await context.save(retries: 1)
        #expect(saved?.note == "mine" && saved?.balance == 104)
    }
}

extension Context {
    fileprivate func value(_ id: Wallet.ID) -> Wallet? { self[id]?.value }
    fileprivate func merge() { automaticallyMergesChanges = true }
    fileprivate var baseNumber: UInt64 { state.base.commit.number }
    fileprivate func requireUnchanged(_ id: Wallet.ID) throws {
        require(unchanged: try object(for: id))
        _ = insert(Wallet(owner: "Bob"))
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "a context's own")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
