import Observation
import Synchronization
import Testing

@testable import Graph

@Entity private struct Page {
    @Unique var title: String
    var lines = 0

    func validate() throws {
        if lines < 0 { throw ValidationError(\Self.lines, "negative") }
    }
}

/// Contexts that save by themselves, and cannot.
struct AutosaveFailureTests {
    private let clock = StoppedClock()
    private let traces = Traces()
    private let coordinator: Coordinator

    init() async throws {
        coordinator = try await Coordinator(
            Schema([EntityDescription(Page.self)]), path: nil, fileSystem: PosixFileSystem(),
            options: JournalOptions(), trace: { [traces] in traces.append($0) }, clock: clock)
    }

    private func page(_ title: String) async throws -> Page.ID {
        try await coordinator.transaction { $0.insert(Page(title: title)).id }
    }

    private func value(_ id: Page.ID) -> Page? { coordinator.snapshot.value(for: id) }

    // MARK: Closing

    @Test(.bug(id: "closed without a word", "the changes of the context were lost"))
    func `R20 closing throws what a context that saves by itself cannot save, and stays open`() async throws {
        let (failing, other) = (Context(coordinator), Context(coordinator))
        for context in [failing, other] { await context.autosave(after: .seconds(3_600)) }
        await failing.perform { context in
            _ = context.insert(Page(title: "bad", lines: -1))
            _ = context.insert(Page(title: "good"))
        }
        await other.perform { _ = $0.insert(Page(title: "other")) }
        do {
            try await coordinator.close()
            Issue.record("it was closed")
        } catch {
            guard case .validationFailed(let failures) = error else { throw error }
            #expect(failures.map(\.property) == ["lines"])
        }
        // The others saved, and nothing is closed.
        #expect(try coordinator.snapshot.fetchValues(Page.self).map(\.title) == ["other"])
        _ = try await page("later")
        #expect(await failing.hasChanges)

        try await failing.perform { context in
            try context.fetch(Page.self, where: { $0.lines < 0 }).first?.lines = 1
        }
        try await coordinator.close()
        #expect(Set(try coordinator.snapshot.fetchValues(Page.self).map(\.title)) == ["other", "later", "bad", "good"])
        await #expect(throws: GraphError.closed(path: "memory")) { try await page("too late") }
    }

    @Test func `R20 closing throws the conflict of a context that saves by itself`() async throws {
        let id = try await page("one")
        let context = Context(coordinator)
        await context.autosave(after: .seconds(3_600))
        await context.perform { $0[id]?.lines = 1 }
        try await coordinator.transaction { $0[id]?.lines = 2 }
        do {
            try await coordinator.close()
            Issue.record("it was closed")
        } catch {
            guard case .conflicts = error else { throw error }
        }
        try await context.save(mergePolicy: .overwrite)
        try await coordinator.close()
        #expect(value(id)?.lines == 1)
    }

    @Test func `a coordinator can be closed without the changes that cannot be saved`() async throws {
        let context = Context(coordinator)
        await context.autosave(after: .seconds(3_600))
        await context.perform { _ = $0.insert(Page(title: "bad", lines: -1)) }
        await #expect(throws: GraphError.self) { try await coordinator.close() }
        try await coordinator.close(discardingChanges: true)
        await #expect(throws: GraphError.closed(path: "memory")) { try await page("late") }
        #expect(coordinator.snapshot.count(of: Page.self) == 0)
        // Closing again has nothing to do, whatever the context has.
        try await coordinator.close()
    }

    @Test func `R8 closing a store that takes no more saves throws while a context that saves by itself has changes`()
        async throws
    {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        await context.autosave(after: .seconds(3_600))
        await context.perform { _ = $0.insert(Person(name: "kept")) }
        disk.disk.fail(operation: disk.disk.operationCount, with: .error(.other, 5))
        await #expect(throws: GraphError.self) { try await coordinator.close() }
        await #expect(throws: GraphError.self) { try await coordinator.close() }
        #expect(await context.hasChanges)
        try? await coordinator.close(discardingChanges: true)
    }

    // MARK: Failing

    @Test func `a save that a context begins and cannot do is an event, an error to be read, and a trace`() async throws
    {
        let context = Context(coordinator, author: "notes")
        await context.autosave(after: .seconds(1))
        let events = await context.events
        await context.perform { _ = $0.insert(Page(title: "bad", lines: -1)) }
        #expect(await context.autosaveError == nil)
        await context.saveByItself()
        let error = try #require(await context.autosaveError)
        guard case .validationFailed = error else { throw error }
        for await case .saveFailed(let error) in events {
            guard case .validationFailed = error else { throw error }
            break
        }
        let trace = try #require(traces.last)
        #expect(trace.origin.isAutosave)
        #expect(trace.description.hasPrefix("graph: refused by memory by notes (autosave): objects may not be saved"))

        try await context.perform { try $0.fetch(Page.self).first?.lines = 1 }
        await context.saveByItself()
        #expect(await context.autosaveError == nil)
        #expect(traces.last?.description.hasPrefix("graph: commit 1 to memory by notes (autosave): Page +1") == true)
    }

    @Test func `the error of a save that a context began ends with its changes, and with a save that succeeds`()
        async throws
    {
        let context = Context(coordinator)
        await context.autosave(after: .seconds(1))
        await context.perform { _ = $0.insert(Page(title: "bad", lines: -1)) }
        await context.saveByItself()
        #expect(await context.autosaveError != nil)
        await context.rollback()
        #expect(await context.autosaveError == nil)

        await context.perform { _ = $0.insert(Page(title: "bad", lines: -1)) }
        await context.saveByItself()
        try await context.perform { try $0.fetch(Page.self).first?.lines = 1 }
        try await context.save()
        await context.perform { _ = $0.insert(Page(title: "next")) }
        #expect(await context.autosaveError == nil)
    }

    @MainActor @Test func `the error of a save that a context began is tracked`() async throws {
        let context = Context(coordinator, executor: .main)
        await context.autosave(after: .seconds(1))
        context.sync { _ = $0.insert(Page(title: "bad", lines: -1)) }
        let count = Counter()
        func track() {
            withObservationTracking {
                _ = context.sync { $0.autosaveError }
            } onChange: {
                _ = count.next()
            }
        }
        track()
        await context.saveByItself()
        #expect(count.value == 1)
        track()
        context.sync { $0.rollback() }
        #expect(count.value == 2)
    }

    @Test(
        .bug(id: "saved too early", "the time of earlier changes went on"), arguments: ["save", "rollback", "discard"]
    )
    func `R23 what is changed after a save, or after nothing was left, has the whole time`(end: String) async throws {
        let id = try await page("one")
        let context = Context(coordinator)
        await context.autosave(after: .seconds(1))
        await context.perform { $0[id]?.lines = 1 }
        await clock.waitForSleeps(1)
        switch end {
        case "save": try await context.save()
        case "rollback": await context.rollback()
        default: await context.perform { $0[id]?.discardChanges() }
        }
        await context.perform { $0[id]?.lines = 2 }
        #expect(await context.hasChanges)
        for _ in 0..<100_000 where clock.count < 2 { await Task.yield() }
        // One that goes on is not replaced.
        await context.perform { $0[id]?.lines = 3 }
        #expect(clock.count == 2)
    }

    @Test(.bug(id: "not tried again", "the refresh came before anybody knew of the failure"))
    func `R23 a save that a context began is tried again after a refresh that waited for it`() async throws {
        let id = try await page("one")
        let context = Context(coordinator)
        await context.autosave(after: .seconds(1))
        await context.perform { $0[id]?.lines = 1 }
        await clock.waitForSleeps(1)
        try await coordinator.transaction { $0[id]?.lines = 2 }
        await context.perform { $0.state.refreshedInFlight = [RowID(entity: 0, row: id.row)] }
        await context.saveByItself()
        guard case .conflicts = await context.autosaveError else {
            Issue.record("it was saved")
            return
        }
        for _ in 0..<100_000 where clock.count < 2 { await Task.yield() }
        #expect(clock.count == 2)
        await context.saveByItself()
        #expect(value(id)?.lines == 1)
        #expect(await context.autosaveError == nil)
    }

    @Test func `R23 a timer that was stopped after it woke saves nothing`() async throws {
        let context = Context(coordinator)
        await context.autosave(after: .seconds(1))
        await context.perform { _ = $0.insert(Page(title: "one")) }
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await context.saveByItself()
        }.value
        #expect(await context.hasChanges)
    }

    @Test func `R23 a save that a context began is tried again after the next merge`() async throws {
        let id = try await page("one")
        let context = Context(coordinator)
        await context.autosave(after: .seconds(1))
        // Deletes the page that others changed, which fails, and would not if they took that back.
        try await coordinator.transaction { _ = $0.insert(Page(title: "taken")) }
        await context.perform { $0[id]?.title = "taken" }
        await clock.waitForSleeps(1)
        await context.saveByItself()
        guard case .notUnique = await context.autosaveError else {
            Issue.record("it was saved")
            return
        }
        // Nothing happens until somebody else has done something.
        #expect(clock.count == 1)
        try await coordinator.transaction { try $0.fetch(Page.self, where: { $0.title == "taken" }).first?.delete() }
        await context.refresh()
        await clock.waitForSleeps(2)
        await context.saveByItself()
        #expect(value(id)?.title == "taken")
        #expect(await context.autosaveError == nil)
        await context.refresh()
        #expect(clock.count == 2)
    }
}

private final class Traces: Sendable {
    private let all = Mutex<[CommitTrace]>([])
    var last: CommitTrace? { all.withLock { $0.last } }
    func append(_ trace: CommitTrace) { all.withLock { $0.append(trace) } }
}

extension Context {
    fileprivate func autosave(after delay: Duration) { autosave = delay }
}
