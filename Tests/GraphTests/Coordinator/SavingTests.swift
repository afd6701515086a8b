import Dispatch
import Testing

@testable import Graph

/// Saves on a disk that is slow or fails.
struct SavingTests {
    private let disk = GatedDisk(holdingAt: .sync)

    @Test func `R23a: what is changed while a save is in flight stays pending on top of it`() async throws {
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        try await context.perform { try $0.object(for: id).age = 1 }

        disk.hold()
        let saved = Task { try await context.save() }
        await disk.waitForArrival()
        #expect(coordinator.snapshot.value(for: id)?.age == 0)
        try await context.perform { context in
            let person = try context.object(for: id)
            #expect(person.age == 1)
            person.name = "Countess"
            context.insert(Person(name: "Eve"))
        }
        disk.release()
        try await saved.value

        #expect(coordinator.snapshot.value(for: id)?.age == 1)
        #expect(coordinator.snapshot.value(for: id)?.name == "Ada")
        #expect(await context.perform { $0.updatedObjects.count } == 1)
        #expect(await context.perform { $0.insertedObjects.count } == 1)
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.name == "Countess")
        #expect(coordinator.snapshot.version(of: id) == RowVersion(3))
        #expect(coordinator.snapshot.count(of: Person.self) == 2)
    }

    @Test(arguments: [false, true])
    func `R23a: a rollback or a discard reaches only what was changed after the save took its changes`(
        discards: Bool
    ) async throws {
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        try await context.perform { try $0.object(for: id).age = 1 }
        disk.hold()
        let saved = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { context in
            let person = try context.object(for: id)
            person.age = 2
            let other = context.insert(Person(name: "Eve"))
            if discards {
                context.discard(person)
                context.discard(other)
            } else {
                context.rollback()
            }
            #expect(person.age == 1 && other.isDeleted)
        }
        disk.release()
        try await saved.value
        #expect(coordinator.snapshot.value(for: id)?.age == 1)
        #expect(await context.hasChanges == false)
    }

    @Test func `R8: after a full disk everything is pending as before, and the save can be tried again`() async throws {
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        let before = disk.disk.contents(JournalFixture.path)
        try await context.perform { try $0.object(for: id).age = 1 }
        disk.disk.fail(next: .write, with: .errorAfterHalf(.diskFull, 28))
        await #expect(throws: GraphError.diskFull(path: JournalFixture.path)) { try await context.save() }
        #expect(coordinator.snapshot.value(for: id)?.age == 0)
        #expect(coordinator.snapshot.commit.number == 1)
        let (age, changes) = try await context.perform { (try $0.object(for: id).age, $0.updatedObjects.count) }
        #expect(age == 1)
        #expect(changes == 1)

        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.age == 1)
        #expect(coordinator.snapshot.commit.number == 2)
        #expect(disk.disk.contents(JournalFixture.path) != before)
        try await coordinator.close()
        let reopened = try await Coordinator.people(on: disk, seed: 2)
        #expect(reopened.snapshot.value(for: id)?.age == 1)
    }

    @Test func `R8: after a failed sync the outcome is unknown, and the store reads on and takes no more saves`()
        async throws
    {
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        try await context.perform { try $0.object(for: id).age = 1 }
        disk.hold()
        let saved = Task { try await context.save() }
        await disk.waitForArrival()
        disk.disk.failForEver(from: disk.disk.operationCount, with: .syncFailure(reverts: false))
        disk.release()
        do {
            try await saved.value
            Issue.record("the save succeeded")
        } catch GraphError.outcomeUnknown(_, let commit, _) {
            #expect(commit == CommitNumber(2))
        }
        #expect(coordinator.snapshot.value(for: id)?.age == 0)
        #expect(await context.hasChanges == true)
        disk.disk.stopFailing()
        do {
            try await context.save()
            Issue.record("the store took another save")
        } catch GraphError.storeFailed {}
        try await coordinator.close()
        let reopened = try await Coordinator.people(on: disk, seed: 2)
        #expect(try [0, 1].contains(#require(reopened.snapshot.value(for: id)?.age)))
    }

    @Test func `R28: saves that arrive during a sync share the next one, and commits are numbered without gaps`()
        async throws
    {
        let coordinator = try await Coordinator.people(on: disk)
        disk.hold()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Context(coordinator).transaction { _ = $0.insert(Person(name: "first")) } }
            await disk.waitForArrival()
            for number in 0..<20 {
                group.addTask {
                    try await Context(coordinator).transaction { _ = $0.insert(Person(name: "\(number)")) }
                }
            }
            while await coordinator.waitingSaveCount < 20 { await Task.yield() }
            #expect(coordinator.snapshot.commit.number == 0)
            let syncs = disk.disk.trace.filter { $0.hasPrefix("sync") }.count
            disk.release()
            try await group.waitForAll()
            #expect(disk.disk.trace.filter { $0.hasPrefix("sync") }.count <= syncs + 2)
        }
        #expect(coordinator.snapshot.commit.number == 21)
        #expect(coordinator.snapshot.count(of: Person.self) == 21)
        try await coordinator.close()
        let reopened = try await Coordinator.people(on: disk, seed: 2)
        #expect(reopened.snapshot.commit.number == 21)
    }

    @Test func `R28: a context that is busy when its turn comes holds up nobody else's save`() async throws {
        let coordinator = try await Coordinator.people(on: disk)
        // Not a thread that other tests need.
        let executor = ContextExecutor.custom(JournalExecutor(label: "busy"))
        let contexts = [Context(coordinator), Context(coordinator, executor: executor), Context(coordinator)]
        for context in contexts { await context.perform { _ = $0.insert(Person(name: "Ada")) } }
        disk.hold()
        let first = Task { try await contexts[0].save() }
        await disk.waitForArrival()
        let second = Task { try await contexts[1].save() }
        while await coordinator.waitingSaveCount < 1 { await Task.yield() }
        let third = Task { try await contexts[2].save() }
        while await coordinator.waitingSaveCount < 2 { await Task.yield() }
        // The second one would write for the third one, too.
        let (isBusy, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let busy = Task {
            await contexts[1].perform { _ in
                isBusy.signal()
                return isOver.wait(timeout: .now() + 120) == .success
            }
        }
        await withCheckedContinuation { started in
            DispatchQueue.global().async {
                isBusy.wait()
                started.resume()
            }
        }
        disk.release()
        try await first.value
        try await third.value
        isOver.signal()
        #expect(await busy.value)
        try await second.value
        #expect(coordinator.snapshot.commit.number == 3)
    }

    @Test func `a leader gives way to those who were in the last group, but not for ever`() {
        var queue = CommitQueue()
        func come(_ entry: CommitQueue.Entry = CommitQueue.Entry(record: [])) -> Bool { queue.append(entry) == nil }
        func isWorthWaiting() -> Bool { queue.isWorthWaiting() }
        func groupSize() -> Int { queue.takeGroup().count }

        #expect(come())
        #expect(!isWorthWaiting())
        #expect(groupSize() == 1)
        for _ in 0..<3 { #expect(!come()) }
        #expect(!come(CommitQueue.Entry()))
        _ = queue.passOn()
        #expect(!isWorthWaiting())
        #expect(groupSize() == 4)
        // Three saves were answered together; who only waited does not count.
        for _ in 0..<2 {
            #expect(!come())
            #expect(isWorthWaiting())
        }
        #expect(!come())
        #expect(!isWorthWaiting())
        #expect(groupSize() == 3)
        #expect(!come())
        var turns = 0
        while isWorthWaiting(), turns < 100 { turns += 1 }
        #expect(turns > 2 && turns < 20)
    }

    @Test func `R27: a conflict with a commit that is not durable yet is answered when it is`() async throws {
        let coordinator = try await Coordinator.people(on: disk)
        let (one, two) = (Context(coordinator), Context(coordinator))
        let id = try await one.transaction { $0.insert(Person(name: "Ada")).id }
        await two.refresh()
        try await one.perform { try $0.object(for: id).age = 1 }
        try await two.perform { try $0.object(for: id).age = 2 }
        disk.hold()
        let first = Task { try await one.save() }
        await disk.waitForArrival()
        let second = Task { try await two.save() }
        while await coordinator.waitingSaveCount < 1 { await Task.yield() }
        disk.release()
        try await first.value
        do {
            try await second.value
            Issue.record("the second save succeeded")
        } catch GraphError.conflicts(let conflicts) {
            #expect(conflicts.map(\.newVersion) == [RowVersion(2)])
        }
        #expect(coordinator.snapshot.value(for: id)?.age == 1)
    }

    @Test func `R27: what was checked on top of a commit that fails, fails with it`() async throws {
        let coordinator = try await Coordinator.people(on: disk)
        let (one, two) = (Context(coordinator), Context(coordinator))
        let id = try await one.transaction { $0.insert(Person(name: "Ada")).id }
        await two.refresh()
        try await one.perform { try $0.object(for: id).age = 1 }
        await two.perform { _ = $0.insert(Person(name: "Eve")) }
        disk.hold()
        let first = Task { try await one.save() }
        await disk.waitForArrival()
        let second = Task { try await two.save() }
        while await coordinator.waitingSaveCount < 1 { await Task.yield() }
        disk.disk.failForEver(from: disk.disk.operationCount, with: .syncFailure(reverts: true))
        disk.release()
        await #expect(throws: GraphError.self) { try await first.value }
        await #expect(throws: GraphError.self) { try await second.value }
        #expect(coordinator.snapshot.commit.number == 1)
        #expect(await one.hasChanges == true)
        #expect(await two.hasChanges == true)
    }

    @Test func `closing waits for the saves under way, and later saves say that the store is closed`() async throws {
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        await context.perform { _ = $0.insert(Person(name: "Ada")) }
        disk.hold()
        let saved = Task { try await context.save() }
        await disk.waitForArrival()
        let closed = Task { try await coordinator.close() }
        while await coordinator.waitingSaveCount < 1 { await Task.yield() }
        disk.release()
        try await saved.value
        try await closed.value
        try await coordinator.close()
        await context.perform { _ = $0.insert(Person(name: "Eve")) }
        await #expect(throws: GraphError.closed(path: JournalFixture.path)) { try await context.save() }
        #expect(coordinator.snapshot.count(of: Person.self) == 1)
        #expect(await context.hasChanges == true)
    }

    @Test func `R20: a transaction whose save fails is undone, and what others did on the context meanwhile stays`()
        async throws
    {
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        let id = try await context.transaction { $0.insert(Person(name: "Ada")).id }
        try await context.perform { try $0.object(for: id).age = 7 }
        disk.hold()
        let transaction = Task { try await context.transaction { try $0.object(for: id).name = "Countess" } }
        await disk.waitForArrival()
        await context.perform { _ = $0.insert(Person(name: "Eve")) }
        disk.disk.failForEver(from: disk.disk.operationCount, with: .error(.diskFull, 28))
        disk.release()
        await #expect(throws: GraphError.self) { try await transaction.value }
        try await context.perform { context in
            let person = try context.object(for: id)
            #expect(person.name == "Ada")
            #expect(person.age == 7)
            #expect(context.insertedObjects.count == 1)
            #expect(context.updatedObjects.count == 1)
        }
    }
}
