import Testing

@testable import Graph

/// What a context tells of commits: after it has taken them over, and until there are no more.
struct ContextFeedTests {
    private let coordinator: Coordinator
    private let id: Person.ID

    init() async throws {
        coordinator = try await Coordinator(for: Team.self, Person.self)
        id = try await coordinator.transaction { $0.insert(Person(name: "Ada")).id }
    }

    private func setAge(_ age: Int, author: String? = nil) async throws {
        try await coordinator.transaction(author: author) { [id] in $0[id]?.age = age }
    }

    // MARK: Commits

    @MainActor @Test(.bug(id: "feed ahead of the context", "the object in hand was stale"))
    func `R28 what a context that merges tells of an object is what the object shows`() async throws {
        let context = Context(coordinator, executor: .main)
        await context.merge()
        let object = try context.sync { [id] in try $0.object(for: id) }
        var changes = context.sync { [id] in $0.changes(of: id) }.makeAsyncIterator()
        for age in 1...100 {
            try await setAge(age)
            let change = await changes.next()
            #expect(change?.after?.age == age)
            #expect(object.age == age)
        }
    }

    @Test func `R28 a context tells of each commit once, in order, with its origin, when a refresh has brought it`()
        async throws
    {
        let context = Context(coordinator)
        var commits = await context.commits.makeAsyncIterator()
        var changes = await context.commits(changing: Person.self).makeAsyncIterator()
        for age in 1...3 { try await setAge(age, author: "author \(age)") }
        #expect(await context.feedCommit == 1)
        await context.refresh()
        for age in 1...3 {
            let commit = await commits.next()
            #expect(commit?.commits.lowerBound == commit?.commits.upperBound)
            #expect(commit?.commits.lowerBound.number == UInt64(age) + 1)
            #expect(commit?.origin?.author == "author \(age)")
            #expect(commit?.changes(of: Person.self).map(\.after?.age) == [age])
            #expect(await changes.next()?.changes(of: Person.self).map(\.after?.age) == [age])
        }
    }

    @Test func `R28 a context tells of its own saves, and with them of what others committed before`() async throws {
        let context = Context(coordinator, author: "own")
        var commits = await context.commits.makeAsyncIterator()
        try await setAge(1, author: "others")
        await context.perform { _ = $0.insert(Person(name: "Bob")) }
        try await context.save()
        #expect(await commits.next()?.origin?.author == "others")
        let own = await commits.next()
        #expect(own?.origin?.author == "own")
        #expect(own?.changes(of: Person.self).map(\.after?.name) == ["Bob"])
    }

    @Test func `R28 a context that takes over more commits than are kept tells of them in one`() async throws {
        let context = Context(coordinator)
        var commits = await context.commits.makeAsyncIterator()
        for age in 1...70 { try await setAge(age) }
        await context.refresh()
        let all = await commits.next()
        #expect(all?.commits.lowerBound.number == 2 && all?.commits.upperBound.number == 71)
        #expect(all?.origin == nil)
        #expect(all?.changes(of: Person.self).map(\.after?.age) == [70])
        // From there on one by one again.
        for age in 71...72 {
            try await setAge(age)
            await context.refresh()
        }
        #expect(await commits.next()?.commits.upperBound.number == 72)
        #expect(await commits.next()?.commits.upperBound.number == 73)
    }

    @Test
    func `R28 who follows a context and falls behind gets one element for what is not kept, and the rest one by one`()
        async throws
    {
        let context = Context(coordinator)
        var commits = await context.commits.makeAsyncIterator()
        for age in 1...40 { try await setAge(age) }
        await context.refresh()
        for age in 41...90 {
            try await setAge(age)
            await context.refresh()
        }
        var last: UInt64 = 1
        while last < 91 {
            let range = try #require(await commits.next()).commits
            #expect(range.lowerBound.number == last + 1)
            last = range.upperBound.number
        }
        #expect(last == 91)
    }

    @Test func `R21 a nested context tells of what its parent has taken over, when it refreshes`() async throws {
        let parent = Context(coordinator)
        let child = await Context(parent: parent)
        var commits = await child.commits.makeAsyncIterator()
        try await setAge(1)
        await child.refresh()
        #expect(await child.feedCommit == 1)
        await parent.refresh()
        #expect(await child.feedCommit == 1)
        await child.refresh()
        #expect(await commits.next()?.commits.upperBound.number == 2)
    }

    @MainActor @Test func `R28 an object's refresh is told of`() async throws {
        let context = Context(coordinator, executor: .main)
        let object = try context.sync { [id] in try $0.object(for: id) }
        var commits = context.sync { $0.commits }.makeAsyncIterator()
        try await setAge(1)
        object.refresh(mergeChanges: true)
        #expect(await commits.next()?.commits.upperBound.number == 2)
    }

    // MARK: Saves

    @Test(.bug(id: "nothing of what was saved", "the event had only what was new to the context"))
    func `R28 the event of a save has what was saved, and its commit`() async throws {
        let context = Context(coordinator)
        let events = await context.events
        try await coordinator.transaction { _ = $0.insert(Person(name: "Bob")) }
        await context.perform { [id] in $0[id]?.age = 7 }
        try await context.save()
        for await case .didSave(let save) in events {
            #expect(save.commit?.number == 3)
            #expect(save.saved.change(of: id)?.before?.age == 0)
            #expect(save.saved.change(of: id)?.after?.age == 7)
            // Others' commits are no part of it, and all that is new to the context.
            #expect(save.saved.changes(of: Person.self).map(\.after?.name) == ["Ada"])
            #expect(save.shown.changes(of: Person.self).map(\.after?.name) == ["Bob"])
            #expect("\(save)" == "commit 3")
            break
        }
    }

    @Test func `R21 the event of a nested save has what went to the parent, and no commit`() async throws {
        let child = await Context(parent: Context(coordinator))
        let events = await child.events
        await child.perform { [id] in $0[id]?.age = 7 }
        try await child.save()
        for await case .didSave(let save) in events {
            #expect(save.commit == nil)
            #expect(save.saved.change(of: id)?.after?.age == 7)
            break
        }
    }

    @Test func `the event of a save with nothing left to do has no commit`() async throws {
        let context = Context(coordinator, mergePolicy: .rollback)
        let events = await context.events
        try await setAge(1)
        await context.perform { [id] in $0[id]?.age = 7 }
        try await context.save()
        for await case .didSave(let save) in events {
            #expect(save.commit == nil)
            #expect(save.saved.changes(of: Person.self).isEmpty)
            #expect(save.shown.change(of: id)?.after?.age == 1)
            break
        }
    }

    // MARK: The end

    @Test(.bug(id: "followed for ever", "close() ended the commits, and not the events"))
    func `the events and the commits of a context end when the coordinator is closed`() async throws {
        let (context, merging) = (Context(coordinator), Context(coordinator))
        let child = await Context(parent: context)
        await merging.merge()
        let all = [context, merging, child]
        var followers: [Task<Int, Never>] = []
        for context in all {
            let (events, commits) = await (context.events, context.commits)
            followers.append(Task { await events.reduce(0) { count, _ in count + 1 } })
            followers.append(Task { await commits.reduce(0) { count, _ in count + 1 } })
        }
        try await setAge(1)
        try await coordinator.close()
        var counts: [Int] = []
        for follower in followers { counts.append(await follower.value) }
        // What came before the end is told, also by a context that takes it over only then.
        #expect(counts == [0, 0, 1, 1, 0, 0])
        // Whoever comes later has nothing to wait for.
        for context in all {
            for await _ in await context.events { Issue.record("an event after the end") }
            for await _ in await context.commits { Issue.record("a commit after the end") }
        }
        #expect(await context.hasChanges == false)
    }

    @Test func `the commits of a context end with it`() async throws {
        var context: Context? = Context(coordinator)
        let commits = await context?.commits
        context = nil
        for await _ in try #require(commits) { Issue.record("a commit") }
    }

    @Test func `who follows a context does not keep it, and what is kept for it goes`() async throws {
        weak var weakContext: Context?
        do {
            let context = Context(coordinator)
            weakContext = context
            var commits: Commits? = await context.commits
            try await setAge(1)
            await context.refresh()
            #expect(coordinator.published.keptCount == 1)
            commits = nil
            _ = commits
            #expect(coordinator.published.keptCount == 0)
        }
        #expect(weakContext == nil)
    }
}

extension Context {
    fileprivate func merge() { automaticallyMergesChanges = true }
    fileprivate var feedCommit: UInt64? { state.feed?.value.commit.number }
}
