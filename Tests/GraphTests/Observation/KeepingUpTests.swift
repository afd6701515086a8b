import Observation
import Synchronization
import Testing

@testable import Graph

/// Contexts that merge and save by themselves, and what they tell.
struct KeepingUpTests {
    @Test func `autosave of what a nested context saves, and of undo`() async throws {
        let clock = StoppedClock()
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Person.self), EntityDescription(Team.self)]), path: nil,
            fileSystem: PosixFileSystem(), options: JournalOptions(), clock: clock)
        let context = Context(coordinator)
        await context.set(limit: 10, autosave: .seconds(1))
        let child = await Context(parent: context)
        let id = try await child.transaction { $0.insert(Person(name: "one")).id }
        await clock.waitForSleeps(1)
        await context.saveByItself()
        #expect(coordinator.snapshot.value(for: id) != nil)
        await context.undo()
        await clock.waitForSleeps(2)
        await context.saveByItself()
        #expect(coordinator.snapshot.value(for: id) == nil)
        await context.perform { _ = $0.insert(Person(name: "two")) }
        await clock.waitForSleeps(3)
        await context.set(limit: 10, autosave: .milliseconds(1))
        await clock.waitForSleeps(4)
        #expect(clock.last == .milliseconds(1))
    }

    @Test func `a context's timer keeps nobody`() async throws {
        let clock = StoppedClock()
        weak var weakCoordinator: Coordinator?
        weak var weakContext: Context?
        do {
            let coordinator = try await Coordinator(
                Schema([EntityDescription(Person.self), EntityDescription(Team.self)]), path: nil,
                fileSystem: PosixFileSystem(), options: JournalOptions(), clock: clock)
            let context = Context(coordinator)
            (weakCoordinator, weakContext) = (coordinator, context)
            await context.set(limit: 10, autosave: .seconds(1))
            await context.perform { _ = $0.insert(Person(name: "two")) }
            await clock.waitForSleeps(1)
            await context.merge()
        }
        while weakCoordinator != nil { await Task.yield() }
        #expect(weakContext == nil)
    }

    @Test func `followers release the state in which they began`() async throws {
        let coordinator = try await Coordinator(for: Holder.self)
        let id = try await coordinator.transaction { $0.insert(Holder(token: TokenOfRow(1))).id }
        weak let first = coordinator.snapshot.value(for: id)?.token
        #expect(first != nil)
        var iterator = coordinator.commits.makeAsyncIterator()
        let context = Context(coordinator)
        await context.merge()
        try await coordinator.transaction { $0[id]?.token = TokenOfRow(2) }
        _ = await iterator.next()
        while await context.perform({ $0[id]?.token.number }) != 2 { await Task.yield() }
        for round in 0..<200 { try await coordinator.transaction { $0[id]?.token = TokenOfRow(round) } }
        _ = await iterator.next()
        while await context.perform({ $0[id]?.token.number }) != 199 { await Task.yield() }
        // The store's own history keeps states, too, but not beyond a mass of changes.
        try await coordinator.transaction { context in
            for _ in 0...(16 << 20) / HistoryRetention.bytesInMemory { context.insert(Holder(token: TokenOfRow(0))) }
        }
        #expect(first == nil)
    }

    @Test func `refresh of an object is an event`() async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let id = try await coordinator.transaction { $0.insert(Person(name: "one")).id }
        let context = Context(coordinator)
        let events = await context.events
        try await coordinator.transaction { $0[id]?.age = 1 }
        await context.perform { $0[id]?.refresh(mergeChanges: true) }
        await context.finish()
        var iterator = events.makeAsyncIterator()
        guard case .didMerge? = await iterator.next() else {
            Issue.record("no event")
            return
        }
    }

    @MainActor @Test func `transient properties and misses are tracked`() async throws {
        let coordinator = try await Coordinator(for: Row.self)
        let context = Context(coordinator, executor: .main)
        let row = context.sync { $0.insert(Row()) }
        let count = Counter()
        withObservationTracking {
            _ = row.isSelected
        } onChange: {
            _ = count.next()
        }
        row.isSelected = true
        #expect(count.value == 1)

        let later = try await Context(coordinator).transaction { $0.insert(Row()).id }
        withObservationTracking {
            context.sync { _ = $0[later] }
        } onChange: {
            _ = count.next()
        }
        await context.refresh()
        #expect(count.value == 2)
    }

    @MainActor @Test func `a reference does not depend on all that its object has`() async throws {
        let context = Context(try await Coordinator(for: Person.self, Team.self), executor: .main)
        let (person, team) = context.sync { ($0.insert(Person(name: "one")), $0.insert(Team(name: "team"))) }
        person.team = team
        let count = Counter()
        withObservationTracking {
            _ = team.members.map(\.name) + [person.team?.name]
        } onChange: {
            _ = count.next()
        }
        person.age = 7
        #expect(count.value == 0)
        team.name = "other"
        #expect(count.value == 1)
        withObservationTracking {
            _ = person.team?.isDeleted
        } onChange: {
            _ = count.next()
        }
        team.delete()
        #expect(count.value == 2)
    }

    @Test func `a context that was told to stop merging does not`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let id = try await coordinator.transaction { $0.insert(Person(name: "one")).id }
        let context = Context(coordinator)
        await context.perform { _ = $0.insert(Person(name: "two")) }
        await context.perform { context in
            context.automaticallyMergesChanges = true
            context.automaticallyMergesChanges = false
        }
        try await coordinator.transaction { $0[id]?.age = 1 }
        for _ in 0..<200 { await Task.yield() }
        #expect(await context.perform { $0[id]?.age } == 0)
        try await coordinator.close()
    }
}

private final class TokenOfRow: Codable, Equatable, Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
    static func == (lhs: TokenOfRow, rhs: TokenOfRow) -> Bool { lhs.number == rhs.number }
}

@Entity private struct Holder {
    var token: TokenOfRow
}

@Entity private struct Row {
    var title = ""
    @Transient var isSelected = false
}

final class StoppedClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }
    private let state = Mutex((count: 0, last: Duration.zero))
    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }
    var last: Duration { state.withLock { $0.last } }
    var count: Int { state.withLock { $0.count } }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        state.withLock { $0 = ($0.count + 1, deadline.offset) }
        try await Task.sleep(for: .seconds(1_000))
    }
    func waitForSleeps(_ count: Int) async {
        while state.withLock({ $0.count < count }) { await Task.yield() }
    }
}

extension Context {
    fileprivate func set(limit: Int, autosave: Duration) { (undoLimit, self.autosave) = (limit, autosave) }
    fileprivate func merge() { automaticallyMergesChanges = true }
    fileprivate func finish() { followers.finish() }
}
