import Testing

@testable import Graph

/// R28: commits as those see them who follow.
struct CommitFeedTests {
    private static func store() async throws -> (Coordinator, Person.ID) {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let id = try await coordinator.transaction { $0.insert(Person(name: "one", age: 0)).id }
        return (coordinator, id)
    }

    @Test func `R28 each commit comes once, in order, with the rows before and after`() async throws {
        let (coordinator, id) = try await Self.store()
        let commits = coordinator.commits
        for age in 1...5 {
            try await coordinator.transaction(author: "test") { try $0.object(for: id).age = age }
        }
        var iterator = commits.makeAsyncIterator()
        for age in 1...5 {
            let change = try #require(await iterator.next())
            #expect(change.commits == CommitNumber(UInt64(age + 1))...CommitNumber(UInt64(age + 1)))
            #expect(change.origin?.author == "test")
            let people = change.changes(of: Person.self)
            #expect(people.map(\.id) == [id])
            #expect(people[0].before?.age == age - 1)
            #expect(people[0].after?.age == age)
            #expect(change.changes(of: Team.self).isEmpty)
        }
        try await coordinator.close()
        #expect(await iterator.next() == nil)
    }

    @Test func `R28 who falls behind gets one difference for all that was missed`() async throws {
        let (coordinator, id) = try await Self.store()
        let commits = coordinator.commits
        for _ in 0..<100 { try await coordinator.transaction { try $0.object(for: id).age += 1 } }
        var iterator = commits.makeAsyncIterator()
        let missed = try #require(await iterator.next())
        #expect(missed.commits == CommitNumber(2)...CommitNumber(101))
        #expect(missed.origin == nil)
        #expect(missed.changes(of: Person.self).map(\.after?.age) == [100])
        try await coordinator.transaction { try $0.object(for: id).age += 1 }
        #expect(await iterator.next()?.commits == CommitNumber(102)...CommitNumber(102))
    }

    @Test func `a follower that waits is woken by the next commit, and by its cancellation`() async throws {
        let (coordinator, id) = try await Self.store()
        let commits = coordinator.commits
        let follower = Task {
            var ages: [Int] = []
            for await commit in commits {
                ages += commit.changes(of: Person.self).compactMap(\.after?.age)
            }
            return ages
        }
        for age in 1...3 {
            try await coordinator.transaction { try $0.object(for: id).age = age }
            await Task.yield()
        }
        while (await coordinator.followerWaits) == false { await Task.yield() }
        follower.cancel()
        #expect(await follower.value == [1, 2, 3])
    }

    @Test func `followers of an entity or an object see what touches it alone`() async throws {
        let (coordinator, id) = try await Self.store()
        let (people, object) = (coordinator.commits(changing: Person.self), coordinator.changes(of: id))
        try await coordinator.transaction { _ = $0.insert(Team(name: "team")) }
        let other = try await coordinator.transaction { $0.insert(Person(name: "two")).id }
        try await coordinator.transaction { try $0.object(for: id).age = 7 }
        try await coordinator.transaction { $0[id]?.delete() }
        var inserts = people.makeAsyncIterator()
        let first = try #require(await inserts.next())
        #expect(first.commits.lowerBound == CommitNumber(3))
        #expect(first.changes(of: Person.self).map(\.id) == [other])
        var changes = object.makeAsyncIterator()
        let update = try #require(await changes.next())
        #expect(update.before?.age == 0 && update.after?.age == 7)
        let delete = try #require(await changes.next())
        #expect(delete.before?.age == 7 && delete.after == nil)
    }

    @Test func `owners whose members changed are listed`() async throws {
        let (coordinator, id) = try await Self.store()
        let team = try await coordinator.transaction { $0.insert(Team(name: "team")).id }
        let commits = coordinator.commits
        try await coordinator.transaction { $0[id]?.team = $0[team] }
        var iterator = commits.makeAsyncIterator()
        let change = try #require(await iterator.next())
        #expect(change.difference?.changedOwners(of: \Team.members) == [team])
        #expect(change.changes(of: Team.self).isEmpty)
    }

    @Test func `states on the way are kept only while somebody follows`() async throws {
        let (coordinator, id) = try await Self.store()
        do {
            let commits = coordinator.commits
            try await coordinator.transaction { try $0.object(for: id).age = 1 }
            #expect(coordinator.published.step(after: CommitNumber(1))?.origin != nil)
            _ = commits.makeAsyncIterator()
        }
        #expect(coordinator.published.step(after: CommitNumber(1))?.origin == nil)
    }

    @Test func `events of a context`() async throws {
        let (coordinator, id) = try await Self.store()
        let context = Context(coordinator)
        let events = await context.events
        try await context.transaction { try $0.object(for: id).age = 1 }
        try await coordinator.transaction { try $0.object(for: id).age = 2 }
        await context.refresh()
        await context.perform { $0[id]?.age = 3 }
        try await coordinator.transaction { try $0.object(for: id).age = 4 }
        try? await context.save()
        var iterator = events.makeAsyncIterator()
        var described: [String] = []
        for _ in 0..<5 { described.append(try #require(await iterator.next()).outline(id)) }
        #expect(described == ["will save 0 1", "did save nil", "did merge 1 2", "will save 2 3", "failed"])
    }

    @Test func `a follower of a context that comes late gets one event`() async throws {
        let (coordinator, id) = try await Self.store()
        let context = Context(coordinator)
        let events = await context.events
        for age in 1...40 { try await context.transaction { try $0.object(for: id).age = age } }
        var iterator = events.makeAsyncIterator()
        guard case .missed(let change)? = await iterator.next() else {
            Issue.record("nothing was missed")
            return
        }
        #expect(change.before.value(for: id)?.age == 0)
        #expect(change.after.value(for: id)?.age ?? 0 > 30)
    }

    @Test func `what a context merged and saved is in the one event of a follower that comes late`() async throws {
        let (coordinator, id) = try await Self.store()
        let context = Context(coordinator)
        let events = await context.events
        let mine = await context.perform { $0.insert(Person(name: "mine")).id }
        let others = try await coordinator.transaction { $0.insert(Person(name: "others'")).id }
        await context.refresh()
        for age in 1...40 { try await context.transaction { try $0.object(for: id).age = age } }
        var iterator = events.makeAsyncIterator()
        guard case .missed(let change)? = await iterator.next() else {
            Issue.record("nothing was missed")
            return
        }
        #expect(Set(change.changes(of: Person.self).map(\.id)) == [id, mine, others])
    }

    @Test func `saves that fail are one event of a follower that comes late, too`() async throws {
        let (coordinator, id) = try await Self.store()
        let context = Context(coordinator)
        await context.perform { $0[id]?.age = 1 }
        try await coordinator.transaction { try $0.object(for: id).age = 2 }
        let events = await context.events
        for _ in 0..<33 { try? await context.save() }
        var iterator = events.makeAsyncIterator()
        #expect(try #require(await iterator.next()).outline(id) == "missed 0 1")
    }

    @Test func `R23 a context that merges by itself follows each commit, and still reports conflicts`() async throws {
        let (coordinator, id) = try await Self.store()
        let other = try await coordinator.transaction { $0.insert(Person(name: "two")).id }
        let context = Context(coordinator)
        let mine = await context.perform {
            $0[id]?.age = 5
            return 5
        }
        #expect(mine == 5)
        await context.setMerging(true)
        try await coordinator.transaction { context in
            context[other]?.name = "changed"
            context[id]?.age = 9
        }
        while (await context.perform { $0[other]?.name }) != "changed" { await Task.yield() }
        let age = await context.perform { $0[id]?.age }
        #expect(age == 5)
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.setMerging(false)
        try await coordinator.transaction { $0[other]?.name = "again" }
        for _ in 0..<100 { await Task.yield() }
        #expect(await context.perform { $0[other]?.name } == "changed")
    }

    @Test(.bug(id: "merging twice"))
    func `R23 a conflict outlasts further merges, and a refresh reports the overlap`() async throws {
        let (coordinator, id) = try await Self.store()
        let context = Context(coordinator)
        await context.perform { $0[id]?.age = 5 }
        let merges = await context.perform { context in
            context.automaticallyMergesChanges = true
            return context.events
        }
        for change in [("one", 9), ("renamed", 9), ("renamed again", 9)] {
            try await coordinator.transaction { context in
                context[id]?.name = change.0
                context[id]?.age = change.1
                context.insert(Team(name: change.0))
            }
            for await case .didMerge in merges { break }
        }
        let value = await context.perform { $0[id]?.value }
        #expect(value?.name == "renamed again" && value?.age == 5)
        let conflicts = await context.conflicts()
        #expect(conflicts.map(\.oldVersion.number) == [1] && conflicts.map(\.newVersion.number) == [4])
        #expect(conflicts.first?.rows(of: Person.self)?.base?.age == 0)
        let overlaps = await context.refresh()
        #expect(overlaps.map(\.properties) == [["age"]])
        try await context.save()
        #expect(coordinator.snapshot.value(for: id)?.age == 5)
        #expect(coordinator.snapshot.value(for: id)?.name == "renamed again")
    }

    @Test func `autosave saves after its delay, and when the coordinator closes`() async throws {
        let (coordinator, id) = try await Self.store()
        let context = Context(coordinator)
        await context.setAutosave(.milliseconds(1))
        await context.perform { $0[id]?.age = 5 }
        while coordinator.snapshot.value(for: id)?.age != 5 { await Task.yield() }
        await context.setAutosave(.seconds(10_000))
        await context.perform { $0[id]?.age = 6 }
        try await coordinator.close()
        #expect(coordinator.snapshot.value(for: id)?.age == 6)
    }
}

extension ContextEvent {
    fileprivate func outline(_ id: Person.ID) -> String {
        func ages(_ change: SnapshotDifference) -> String {
            guard let change = change.change(of: id) else { return "nil" }
            return [change.before?.age, change.after?.age].map { $0.map(String.init) ?? "nil" }.joined(separator: " ")
        }
        return switch self {
        case .willSave(let change): "will save \(ages(change))"
        case .didSave(let save): "did save \(ages(save.shown))"
        case .saveFailed: "failed"
        case .didMerge(let change): "did merge \(ages(change))"
        case .missed(let change): "missed \(ages(change))"
        }
    }
}

extension Context {
    fileprivate func setMerging(_ isOn: Bool) { automaticallyMergesChanges = isOn }
    fileprivate func conflicts() async -> [MergeConflict] {
        guard case .conflicts(let conflicts)? = await dryRun().error else { return [] }
        return Array(conflicts)
    }

    fileprivate func setAutosave(_ delay: Duration?) { autosave = delay }
}

extension Coordinator {
    fileprivate var followerWaits: Bool { published.isWaitedFor }
}
