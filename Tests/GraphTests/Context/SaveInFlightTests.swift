import Testing

@testable import Graph

/// R8, R20, R23a: what is changed on a context while its save is under way.
struct SaveInFlightTests {
    private let disk = GatedDisk()
    private let coordinator: Coordinator
    private let context: Context
    private let person: PersistentID<Person>

    init() async throws {
        var options = JournalOptions()
        options.random = { 7 }
        coordinator = try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: "/data/store.graph",
            fileSystem: disk, options: options)
        context = Context(coordinator)
        person = try await context.transaction { $0.insert(Person(name: "Ada")).id }
    }

    /// Saves a team behind a commit of others that sets the person's age to 5, and changes something meanwhile.
    private func saveBehindOthers(_ change: @Sendable @escaping (isolated Context) throws -> Void) async throws {
        let other = Context(coordinator)
        disk.hold()
        let first = Task { try await other.transaction { try $0.object(for: person).age = 5 } }
        await disk.waitForArrival()
        await context.perform { _ = $0.insert(Team(name: "red")) }
        let second = Task { try await context.save() }
        // The save is behind the other's in the queue when it has taken its changes with it.
        while await !context.isSaveUnderWay { await Task.yield() }
        try await context.perform { try change($0) }
        disk.release()
        try await first.value
        try await second.value
    }

    @Test(.bug(id: "an object's refresh was forgotten", "the conflict stayed"), arguments: [false, true])
    func `R18 an object's refresh during a save is done when that ends`(isDiskFull: Bool) async throws {
        try await Context(coordinator).transaction { try $0.object(for: person).age = 5 }
        await context.perform { _ = $0.insert(Team(name: "red")) }
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { context in
            let person = try context.object(for: person)
            person.age = 7
            person.refresh(mergeChanges: true)
            #expect(person.age == 7)
        }
        if isDiskFull { disk.fill() }
        disk.release()
        if isDiskFull {
            await #expect(throws: GraphError.diskFull(path: coordinator.path)) { try await save.value }
        } else {
            try await save.value
        }
        #expect(await context.perform { $0[person]?.version } == RowVersion(2))
        try await context.save()
        #expect(coordinator.snapshot.value(for: person)?.age == 7 && coordinator.snapshot.count(of: Team.self) == 1)
    }

    @Test(
        .bug(id: "R25 what was to be dropped came back", "and won over what others had made of the object"),
        arguments: [false, true]
    )
    func `R18 what a failing save took is kept by an object's refresh, and compared if it is to be`(isKept: Bool)
        async throws
    {
        await context.perform { context in
            context[person]?.age = 7
            _ = context.state.capture(runningHooks: false)
        }
        try await Context(coordinator).transaction { $0[person]?.age = 5 }
        await context.perform { context in
            context[person]?.refresh(mergeChanges: isKept)
            context.state.saveFailed()
            context.state.refreshAfterSave()
            #expect(context[person]?.age == 7 && context[person]?.version == RowVersion(isKept ? 2 : 1))
        }
        if isKept { return try await context.save() }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .conflicts = error else { throw try #require(error) }
        #expect(coordinator.snapshot.value(for: person)?.age == 5)
    }

    @Test func `R23a a change of a row that the save passes over does not count from what others made of it`()
        async throws
    {
        let (red, blue) = try await context.transaction { context in
            let red = context.insert(Team(name: "red")).id
            context[person]?.team = ToOne(red)
            return (red, context.insert(Team(name: "blue")).id)
        }
        try await Context(coordinator).transaction { context in
            let person = try context.object(for: person)
            (person.team, person.age) = (ToOne(blue), 77)
        }
        // The delete ends the person's reference as it was here; there it leads elsewhere by now.
        await context.perform { $0[red]?.delete() }
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        await context.perform { $0[person]?.age = 5 }
        disk.release()
        try await save.value
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .conflicts = error else { throw try #require(error) }
        #expect(coordinator.snapshot.value(for: person)?.age == 77)
    }

    @Test(.bug(id: "edits of an undone insert")) func `edits of an insert that is undone are gone`()
        async throws
    {
        disk.hold()
        let transaction = Task { try await context.transaction { _ = $0.insert(Team(name: "red")) } }
        await disk.waitForArrival()
        let team = try await context.perform { context in
            let team = try #require(try context.first(Team.self))
            team.name = "blue"
            return team.id
        }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await transaction.value }
        await context.perform { #expect($0[team] == nil) }
        #expect(await context.hasChanges == false)
        try await context.save()
    }

    @Test(.bug(id: "stale objects", "they showed references that had ended"))
    func `R8 a reference to a deleted object ends when the save fails, and objects show that`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Node.self)]), path: "/data/store.graph", fileSystem: disk,
            options: JournalOptions())
        let context = Context(coordinator)
        let (parent, child, friend) = try await context.transaction { context in
            let parent = context.insert(Node())
            return (parent.id, context.insert(Node(parent: ToOne(parent.id))).id, context.insert(Node()).id)
        }
        try await context.perform { context in
            try context.object(for: parent).delete()
            try context.object(for: child).parent = ToOne(parent)
        }
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { try $0.object(for: child).friends.insert(try $0.object(for: friend)) }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await save.value }
        #expect(await context.nodeFindings() == [])
    }

    @Test(
        .bug(id: "change of nothing", "the save stopped the program"),
        arguments: [MergePolicy.error, .rollback, .overwrite]
    )
    func `R5 R19 a change of what gave way to an object, which others delete then, is a conflict`(
        policy: MergePolicy
    ) async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Node.self)]), path: "/data/store.graph", fileSystem: disk,
            options: JournalOptions())
        let (context, other) = (Context(coordinator), Context(coordinator))
        let node = try await other.transaction { $0.insert(Node(key: 1)).id }
        let new = await context.perform { $0.insert(Node(key: 1)).id }
        disk.hold()
        let first = Task { try await Context(coordinator).transaction { _ = $0.insert(Node()) } }
        await disk.waitForArrival()
        // These two are written and published together.
        let saves = [(context, 0), (other, 1)].map { context, change in
            Task {
                if change != 0 { try await context.perform { try $0.object(for: node).other = change } }
                try await context.save(mergePolicy: .overwrite)
            }
        }
        while await !context.isSaveUnderWay { await Task.yield() }
        while await !other.isSaveUnderWay { await Task.yield() }
        await coordinator.takeTurn()
        try await context.perform { try $0.object(for: new).other = 2 }
        disk.release()
        try await first.value
        for save in saves { try await save.value }
        try await coordinator.transaction { $0[node]?.delete() }
        await context.refresh()
        #expect(await context.hasChanges)
        if policy.kind == .error {
            let error = await #expect(throws: GraphError.self) { try await context.save(mergePolicy: policy) }
            guard case .conflicts(let conflicts) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(conflicts.map(\.id) == [AnyPersistentID(node)])
        } else {
            try await context.save(mergePolicy: policy)
        }
        #expect(coordinator.snapshot.value(for: node)?.other == (policy.kind == .overwrite ? 2 : nil))
        #expect(coordinator.check() == [])
    }

    @Test(.bug(id: "lost update")) func `a change made during a save still conflicts`()
        async throws
    {
        try await saveBehindOthers { try $0.object(for: person).age += 1 }
        await context.perform { #expect($0[person]?.version == RowVersion(1)) }
        let error = await #expect(throws: GraphError.self) { try await context.save() }
        guard case .conflicts(let conflicts) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(conflicts.map(\.oldVersion) == [RowVersion(1)])
        #expect(conflicts.map(\.newVersion) == [RowVersion(2)])
        #expect(coordinator.snapshot.value(for: person)?.age == 5)
        // Also if it is what the other one has, but not if it is what it was.
        try await context.perform { try $0.object(for: person).age = 5 }
        await #expect(throws: GraphError.self) { try await context.save() }
        try await context.perform { try $0.object(for: person).age = 1 }
        await context.refresh()
        try await context.save()
        #expect(coordinator.snapshot.value(for: person)?.age == 1)
    }

    @Test(.bug(id: "lost update")) func `a delete made during a save still conflicts`()
        async throws
    {
        try await saveBehindOthers { try $0.object(for: person).delete() }
        await #expect(throws: GraphError.self) { try await context.save() }
        #expect(coordinator.snapshot.value(for: person)?.age == 5)
        await context.rollback()
        await context.perform { #expect($0[person]?.age == 5) }
    }

    @Test func `a change made during a save goes on top`() async throws {
        try await saveBehindOthers { try $0.object(for: person).name = "Eve" }
        try await context.save()
        #expect(coordinator.snapshot.value(for: person)?.age == 5)
        #expect(coordinator.snapshot.value(for: person)?.name == "Eve")
    }

    @Test func `a full disk fails the group and what was checked on it`() async throws {
        let (second, third) = (Context(coordinator), Context(coordinator))
        disk.hold()
        let first = Task { try await context.transaction { try $0.object(for: person).age = 5 } }
        await disk.waitForArrival()
        try await second.perform { try $0.object(for: person).age = 6 }
        let conflicting = Task { try await second.save() }
        await third.perform { _ = $0.insert(Team(name: "red")) }
        let independent = Task { try await third.save() }
        while await !second.isSaveUnderWay { await Task.yield() }
        while await !third.isSaveUnderWay { await Task.yield() }
        await coordinator.takeTurn()
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await first.value }
        await #expect(throws: GraphError.self) { try await conflicting.value }
        await #expect(throws: GraphError.self) { try await independent.value }
        #expect(coordinator.snapshot.commit.number == 1)
        try await second.save()
        try await third.save()
        #expect(coordinator.snapshot.value(for: person)?.age == 6)
        #expect(coordinator.snapshot.count(of: Team.self) == 1)
        try await coordinator.close()
    }

    @Test(.bug(id: "versions taken back", "the row got the version that the change counted from"))
    func `R1 a change made during a save and taken back leaves the version that others gave the row`() async throws {
        try await saveBehindOthers { try $0.object(for: person).age = 1 }
        // Both changed it; now it is as it was here, and so as the other has it.
        try await context.perform { try $0.object(for: person).age = 0 }
        #expect(await context.hasChanges == false)
        await context.perform { #expect($0[person]?.version == RowVersion(2) && $0[person]?.age == 5) }
        try await context.transaction { _ = $0.insert(Team(name: "blue")) }
        #expect(coordinator.snapshot.version(of: person) == RowVersion(2))
        try await context.transaction { try $0.object(for: person).age = 9 }
        try await coordinator.close()
        let reopened = try await Coordinator.people(on: disk)
        #expect(reopened.snapshot.value(for: person)?.age == 9)
        #expect(reopened.snapshot.version(of: person) == RowVersion(3) && reopened.check() == [])
    }
}
