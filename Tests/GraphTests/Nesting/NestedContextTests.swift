import Testing

@testable import Graph

/// R21: contexts nested in others.
struct NestedContextTests {
    private let coordinator: Coordinator
    private let root: Context

    init() async throws {
        coordinator = try await .bank()
        root = Context(coordinator)
    }

    // MARK: One level

    @Test func `R21 a child's save goes one level up and is durable when the root has saved`() async throws {
        let folder = try TemporaryFolder()
        let coordinator = try await Coordinator.bank(at: folder.file())
        let root = Context(coordinator)
        let child = await Context(parent: root)
        let grandchild = await Context(parent: child)
        let id = try await grandchild.transaction { context in
            let account = context.insert(Account(balance: 1))
            #expect(account.version == RowVersion(0))
            return account.id
        }
        #expect(await child.balance(of: id) == 1)
        #expect(await root.balance(of: id) == nil)
        #expect(await root.hasChanges == false)
        try await child.save()
        #expect(await root.balance(of: id) == 1)
        #expect(coordinator.snapshot.commit.number == 0 && coordinator.snapshot.value(for: id) == nil)
        for context in [grandchild, child] { #expect(await context.hasChanges == false) }
        let isInserted = await root.perform { $0[id]?.isInserted == true && $0[id]?.version == RowVersion(0) }
        #expect(isInserted)
        try await root.save()
        #expect(coordinator.snapshot.value(for: id)?.balance == 1)
        #expect(coordinator.snapshot.version(of: id) == RowVersion(1))
        try await coordinator.close()
        let reopened = try await Coordinator.bank(at: folder.file())
        #expect(reopened.snapshot.value(for: id)?.balance == 1)
        try await reopened.close()
    }

    @Test func `R21 what a child has saved is lost with its parent's changes`() async throws {
        let id = try await root.account()
        let child = await Context(parent: root)
        try await child.transaction { try $0.object(for: id).balance = 1 }
        await root.rollback()
        try await root.save()
        #expect(coordinator.snapshot.value(for: id)?.balance == 0)
        // The child goes on with what it had.
        #expect(await child.balance(of: id) == 1)
        await child.refresh()
        #expect(await child.balance(of: id) == 0)
    }

    @Test func `R21 a child sees its parent's pending changes as of its creation or refresh`() async throws {
        let id = try await root.account()
        try await root.perform { try $0.object(for: id).balance = 1 }
        let child = await Context(parent: root)
        #expect(await child.balance(of: id) == 1)
        let hasChanges = await child.perform { $0.hasChanges || $0[id]?.hasChanges == true }
        #expect(!hasChanges)
        try await root.perform { try $0.object(for: id).balance = 2 }
        let new = await root.perform { $0.insert(Account(balance: 9)).id }
        #expect(await child.balance(of: id) == 1)
        #expect(await child.balance(of: new) == nil)
        await child.refresh()
        #expect(await child.balance(of: id) == 2)
        #expect(await child.balance(of: new) == 9)
    }

    @Test func `R21 nothing that the parent does moves a child's base`() async throws {
        let id = try await root.account()
        let other = Context(coordinator)
        let child = await Context(parent: root)
        try await child.perform { try $0.object(for: id).memo = "child" }
        func expectStill(_ location: SourceLocation = #_sourceLocation) async throws {
            try await child.perform { context throws in
                #expect(context[id]?.value == Account(memo: "child"), sourceLocation: location)
                #expect(try context.fetchCount(Account.self) == 1, sourceLocation: location)
                #expect(context.updatedObjects.count == 1, sourceLocation: location)
            }
        }
        try await root.transaction { context in
            try context.object(for: id).balance = 1
            context.insert(Account())
        }
        try await expectStill()
        try await other.transaction { _ = $0.insert(Account()) }
        await root.refresh()
        try await expectStill()
        await root.perform { $0[id]?.delete() }
        try await expectStill()
        await root.rollback()
        await root.reset()
        try await expectStill()
        try await root.transaction { _ = $0.insert(Account()) }
        try await expectStill()
        try await child.save(mergePolicy: .mergeByPropertyObjectTrump)
        #expect(await root.perform { $0[id]?.value } == Account(balance: 1, memo: "child"))
    }

    @Test func `R18 a child's rollback goes back to its base, or to what its parent has`() async throws {
        let id = try await root.account()
        let child = await Context(parent: root)
        try await child.perform { try $0.object(for: id).balance = 1 }
        try await root.perform { try $0.object(for: id).balance = 2 }
        await child.rollback()
        #expect(await child.balance(of: id) == 0)
        await child.rollback(to: .latest)
        #expect(await child.balance(of: id) == 2)
        try await root.perform { try $0.object(for: id).balance = 3 }
        await child.reset()
        #expect(await child.balance(of: id) == 3)
        #expect(await child.hasChanges == false)
    }

    // MARK: Conflicts

    @Test func `R21 two siblings do not overwrite each other silently`() async throws {
        let id = try await root.account()
        let (one, other) = (await Context(parent: root, author: "one"), await Context(parent: root, author: "other"))
        for (number, child) in [one, other].enumerated() {
            try await child.perform { try $0.object(for: id).balance = number + 1 }
        }
        try await one.save()
        let conflict = try #require(await other.conflictsOfSave().first)
        #expect(conflict.id == AnyPersistentID(id) && conflict.ourOrigin?.author == "other")
        let rows = try #require(conflict.rows(of: Account.self))
        #expect(rows.base?.balance == 0 && rows.ours?.balance == 2 && rows.theirs?.balance == 1)
        // Between a context and its parent rows have no versions of their own.
        #expect(conflict.oldVersion == RowVersion(1) && conflict.newVersion == RowVersion(1))
        #expect(await root.balance(of: id) == 1)
        #expect(await other.balance(of: id) == 2)
        #expect(await other.conflictsOfSave().count == 1)
        await other.refresh()
        try await other.save()
        try await root.save()
        #expect(coordinator.snapshot.value(for: id)?.balance == 2)
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2))
    }

    @Test(arguments: Policy.resolving)
    func `R21 siblings merge by their policies`(policy: Policy) async throws {
        let id = try await root.account(Account(balance: 1, highest: 1, lowest: 1))
        let (one, other) = (await Context(parent: root), await Context(parent: root, mergePolicy: policy.value))
        await one.perform { context in
            context[id]?.balance = 2
            context[id]?.highest = 2
        }
        await other.perform { context in
            context[id]?.balance = 3
            context[id]?.lowest = 3
        }
        try await one.save()
        try await other.save()
        let expected: Account =
            switch policy {
            case .storeTrump: Account(balance: 2, highest: 2, lowest: 3)
            case .objectTrump: Account(balance: 3, highest: 2, lowest: 3)
            case .overwrite: Account(balance: 3, highest: 1, lowest: 3)
            default: Account(balance: 2, highest: 2, lowest: 1)
            }
        for context in [root, other] {
            let value = await context.perform { $0[id]?.value }
            #expect(value == expected)
        }
        try await root.save()
        #expect(coordinator.snapshot.value(for: id) == expected)
    }

    @Test(arguments: Policy.allCases)
    func `R21 R6 a sibling deletes what another changed, by their policies`(policy: Policy) async throws {
        let (changed, deleted) = (try await root.account(), try await root.account())
        let one = await Context(parent: root)
        let other = await Context(parent: root, mergePolicy: policy.value)
        try await one.transaction { context in
            context[changed]?.delete()
            context[deleted]?.memo = "one"
        }
        await other.perform { context in
            context[changed]?.memo = "other"
            context[deleted]?.delete()
        }
        let found = await other.conflictsOfSave()
        #expect(found.map(\.newVersion.number) == (policy == .error ? [0, 1] : []))
        guard policy != .error else { return }
        try await root.save()
        let memos = [changed, deleted].map { coordinator.snapshot.value(for: $0)?.memo }
        let isOurs = policy == .objectTrump || policy == .overwrite
        #expect(memos == (isOurs ? ["other", nil] : [nil, "one"]))
        #expect(coordinator.check() == [])
        for context in [root, other] {
            let shown = await context.perform { context in [changed, deleted].map { context[$0]?.memo } }
            #expect(shown == memos)
        }
    }

    @Test func `R21 equal changes of siblings leave one`() async throws {
        let id = try await root.account()
        let (one, other) = (await Context(parent: root), await Context(parent: root))
        for child in [one, other] { try await child.perform { try $0.object(for: id).balance = 1 } }
        try await one.save()
        #expect(await other.conflictsOfSave().map(\.id) == [AnyPersistentID(id)])
        try await other.save(mergePolicy: .mergeByPropertyStoreTrump)
        try await root.save()
        #expect(coordinator.snapshot.version(of: id) == RowVersion(2))
    }

    @Test func `R21 a child's counters add up with its siblings' and its parent's`() async throws {
        let id = try await root.account()
        let policy = MergePolicy.custom(.property(\Account.balance, .counter))
        let children = [
            await Context(parent: root, mergePolicy: policy), await Context(parent: root, mergePolicy: policy),
        ]
        for child in children { try await child.perform { try $0.object(for: id).balance += 5 } }
        try await root.perform { try $0.object(for: id).balance += 1 }
        for child in children { try await child.save() }
        #expect(await root.balance(of: id) == 11)
        try await root.save()
        #expect(coordinator.snapshot.value(for: id)?.balance == 11)
    }

    @Test func `R21 the parent's changes back and forth are no conflict`() async throws {
        let id = try await root.account()
        let child = await Context(parent: root)
        try await child.perform { try $0.object(for: id).balance = 1 }
        try await root.perform { context in
            try context.object(for: id).balance = 2
            try context.object(for: id).balance = 0
        }
        #expect(await child.conflictsOfSave().isEmpty)
        #expect(await root.balance(of: id) == 1)
    }

    @Test func `R21 a commit of the parent's own alone is no conflict, one that it merged is`() async throws {
        let (one, other) = (try await root.account(), try await root.account())
        try await root.perform { try $0.object(for: one).balance = 1 }
        let child = await Context(parent: root)
        try await child.perform { context in
            try context.object(for: one).balance = 2
            try context.object(for: other).balance = 2
        }
        try await root.save()
        #expect(coordinator.snapshot.version(of: one) == RowVersion(2))
        try await Context(coordinator).transaction { try $0.object(for: other).memo = "theirs" }
        await root.refresh()
        #expect(await child.conflictsOfSave().map(\.id) == [AnyPersistentID(other)])
    }

    // MARK: Inserts and deletes

    @Test(arguments: Policy.allCases)
    func `R21 an insert that the parent rolled back counts as deleted`(policy: Policy) async throws {
        let id = await root.perform { $0.insert(Account(balance: 1)).id }
        let child = await Context(parent: root, mergePolicy: policy.value)
        await child.perform { $0[id]?.balance = 2 }
        await root.rollback()
        let found = await child.conflictsOfSave()
        if policy == .error {
            #expect(found.map(\.id) == [AnyPersistentID(id)])
            #expect(found.map(\.oldVersion.number) == [1] && found.map(\.newVersion.number) == [0])
            return
        }
        let comesBack = policy == .objectTrump || policy == .overwrite
        #expect(await root.balance(of: id) == (comesBack ? 2 : nil))
        #expect(await child.balance(of: id) == (comesBack ? 2 : nil))
        try await root.save()
        #expect(coordinator.snapshot.value(for: id)?.balance == (comesBack ? 2 : nil))
        #expect(coordinator.check() == [])
        if comesBack { #expect(coordinator.snapshot.version(of: id) == RowVersion(1)) }
    }

    @Test func `R21 deletes of what the parent rolled back, or deleted, too, are no conflict`() async throws {
        let saved = try await root.account()
        let id = await root.perform { $0.insert(Account(balance: 1)).id }
        let child = await Context(parent: root)
        await child.perform { context in
            context[id]?.delete()
            context[saved]?.delete()
        }
        await root.rollback()
        await root.perform { $0[saved]?.delete() }
        #expect(await child.conflictsOfSave().isEmpty)
        try await root.save()
        #expect(coordinator.snapshot.count(of: Account.self) == 0)
    }

    @Test func `R21 a child inserts and deletes what the parent inserted, and the root commits the sum`() async throws {
        let ids = await root.perform { context in (1...3).map { context.insert(Account(balance: $0)).id } }
        let child = await Context(parent: root)
        let new = try await child.transaction { context in
            context[ids[0]]?.delete()
            context[ids[1]]?.balance = 20
            return context.insert(Account(balance: 4)).id
        }
        await root.perform { context in
            let inserted = context.insertedObjects.map(\.anyID)
            #expect(inserted == [ids[1], ids[2], new].map { AnyPersistentID($0) })
            #expect(context.updatedObjects.isEmpty && context.deletedObjects.isEmpty)
        }
        try await root.save()
        #expect(try coordinator.snapshot.fetchValues(Account.self).map(\.balance) == [20, 3, 4])
        #expect(coordinator.snapshot.commit.number == 1)
    }

    @Test func `R6 a row that others committed to delete comes back through a child`() async throws {
        let id = try await root.account()
        let child = await Context(parent: root, mergePolicy: .overwrite)
        try await child.perform { try $0.object(for: id).balance = 2 }
        try await Context(coordinator).transaction { try $0.object(for: id).delete() }
        await root.refresh()
        try await child.save()
        #expect(await root.balance(of: id) == 2)
        try await root.save()
        #expect(coordinator.snapshot.value(for: id)?.balance == 2)
        // The number of the commit, as of any row that comes back.
        #expect(coordinator.snapshot.version(of: id) == RowVersion(3))
    }

    @Test func `R6 a row that its parent had lost comes back through a child as one that is inserted`() async throws {
        let id = try await root.account()
        let child = await Context(parent: root, mergePolicy: .overwrite)
        for context in [root, child] { await context.perform { $0[id]?.balance += 1 } }
        try await Context(coordinator).transaction { try $0.object(for: id).delete() }
        await root.refresh()
        await root.perform { context in
            #expect(context[id] == nil && context.updatedObjects.count == 1)
        }
        try await child.save()
        await root.perform { context in
            #expect(context[id]?.isInserted == true && context[id]?.committedValue == nil)
            #expect(context[id]?.version == RowVersion(0) && context.updatedObjects.isEmpty)
        }
        try await root.save()
        #expect(coordinator.snapshot.version(of: id) == RowVersion(3))
    }

    @Test(arguments: [false, true])
    func `R21 what the parent had changed of a row that others deleted comes back with it through a child`(
        isRead: Bool
    ) async throws {
        let id = try await root.account()
        try await root.perform { if isRead { try $0.object(for: id).highest = 7 } }
        let child = await Context(parent: root, mergePolicy: .mergeByPropertyObjectTrump)
        try await child.perform { try $0.object(for: id).balance = 2 }
        try await root.perform { try $0.object(for: id).memo = "parent's" }
        try await coordinator.transaction { try $0.object(for: id).delete() }
        await root.refresh()
        try await child.save()
        await root.perform { context in
            let account = context[id]
            #expect(account?.balance == 2 && account?.memo == "parent's" && account?.highest == (isRead ? 7 : 0))
        }
        try await root.save()
        let value = try #require(coordinator.snapshot.value(for: id))
        #expect(value.balance == 2 && value.memo == "parent's" && value.highest == (isRead ? 7 : 0))
    }

    // MARK: Relationships

    @Test func `R3 R21 links and members of siblings add up`() async throws {
        let (client, clubs) = try await root.transaction { context in
            let client = context.insert(Client(name: "Ada"))
            client.accounts.append(context.insert(Account(balance: 1)))
            return (client.id, (1...2).map { context.insert(Club(name: "\($0)")).id })
        }
        let children = [await Context(parent: root), await Context(parent: root)]
        for (number, child) in children.enumerated() {
            try await child.perform { context in
                let client = try context.object(for: client)
                client.clubs.append(try context.object(for: clubs[number]))
                client.accounts.append(context.insert(Account(balance: number + 2)))
                if number == 1 { client.accounts.move(from: 1, to: 0) }
            }
        }
        for child in children { try await child.save() }
        try await root.save()
        let snapshot = coordinator.snapshot
        #expect(try snapshot.relatedValues(\Client.clubs, of: client).map(\.name) == ["1", "2"])
        #expect(try snapshot.relatedValues(\Client.accounts, of: client).map(\.balance) == [3, 1, 2])
        #expect(snapshot.version(of: client) == RowVersion(1))
    }

    @Test func `R14 R21 a child refers to what its parent deleted: refused, or nothing`() async throws {
        let id = try await root.account()
        let children = [await Context(parent: root), await Context(parent: root, mergePolicy: .rollback)]
        for child in children { await child.perform { _ = $0.insert(Advisor(favorite: ToOne(id))) } }
        await root.perform { $0[id]?.delete() }
        do {
            try await children[0].save()
            Issue.record("saved")
        } catch {
            guard case .danglingReferences(let dangling) = error else { throw error }
            #expect(dangling.map(\.target) == [AnyPersistentID(id)])
        }
        #expect(await children[0].hasChanges)
        try await children[1].save()
        try await root.save()
        #expect(try coordinator.snapshot.fetchValues(Advisor.self).map(\.favorite.id) == [nil])
    }

    @Test func `R14 R21 a child deletes an owner to whom its parent gave members: the rule decides`() async throws {
        let client = try await root.transaction { $0.insert(Client()).id }
        let child = await Context(parent: root)
        await child.perform { $0[client]?.delete() }
        await root.perform { context in
            context[client]?.accounts.append(context.insert(Account()))
        }
        try await child.save()
        #expect(await root.perform { $0.insertedObjects.count } == 0)
        try await root.save()
        #expect(coordinator.snapshot.count(of: Account.self) == 0 && coordinator.snapshot.count(of: Client.self) == 0)
    }

    @Test func `R21 what only the whole shows is checked when the root saves`() async throws {
        let coordinator = try await Coordinator.school()
        let root = Context(coordinator)
        let hall = try await root.transaction { context in
            let hall = context.insert(Hall(house: "A", number: 1))
            context.insert(Course(title: "Logic", room: ToOne(hall.id)))
            return hall.id
        }
        let child = await Context(parent: root)
        let twin = try await child.transaction { $0.insert(Hall(house: "A", number: 1)).id }
        let lecture = try await child.transaction { $0.insert(Lecture(title: "of no course")).id }
        try await child.transaction { $0[hall]?.delete() }
        func offender() async -> (String, AnyPersistentID?) {
            do {
                try await root.save()
                return ("saved", nil)
            } catch {
                switch error {
                case .deleteDenied(let denied): return ("denied", denied.first?.id)
                case .notUnique(let violations): return ("not unique", violations.first?.id)
                case .validationFailed(let failures): return ("invalid", failures.first?.id)
                default: return ("\(error)", nil)
                }
            }
        }
        // Back again, the hall has a twin.
        for (failure, id) in [
            ("denied", AnyPersistentID(hall)), ("not unique", AnyPersistentID(twin)),
            ("invalid", AnyPersistentID(lecture)),
        ] {
            #expect(await offender() == (failure, id))
            await root.perform { $0.discard([id]) }
        }
        try await root.save()
        #expect(await root.hasChanges == false)
    }

    @Test func `R12 R13 what a child deleted is in no list of its parent's, also where a rule denies that`()
        async throws
    {
        let coordinator = try await Coordinator.school()
        let root = Context(coordinator)
        let (course, paper) = try await root.transaction { context in
            let course = context.insert(Course(title: "Logic"))
            course.readings.append(context.insert(Paper(title: "On Logic")))
            return (course.id, try #require(course.readings.first?.id))
        }
        let child = await Context(parent: root)
        try await child.transaction { $0[paper]?.delete() }
        await root.perform { context in
            #expect(context[paper] == nil)
            #expect(context[course]?.readings.count == 0 && context[course]?.readings.ids == [])
        }
        let error = await #expect(throws: GraphError.self) { try await root.save() }
        guard case .deleteDenied(let denied)? = error else {
            Issue.record("not denied")
            return
        }
        #expect(denied.map(\.relationship) == ["Paper.courses"])
        await root.perform { context in
            context.discard([AnyPersistentID(paper)])
            #expect(context[course]?.readings.ids == [paper] && !context.hasChanges)
        }
    }

    @Test func `R13 a child deletes what was never saved: nothing denies that`() async throws {
        let coordinator = try await Coordinator(for: Lease.self, House.self, checksEveryCommit: true)
        let root = Context(coordinator)
        let (house, other) = try await root.transaction { ($0.insert(House()).id, $0.insert(House()).id) }
        let lease = await root.perform { $0.insert(Lease(house: ToOne(house))).id }
        let child = await Context(parent: root)
        try await child.transaction { context in
            context[lease]?.delete()
            context[other]?.delete()
        }
        try await root.save()
        #expect(coordinator.snapshot.count(of: Lease.self) == 0)
    }

    @Test(arguments: [true, false])
    func `R6 R21 what a parent deleted and a child brings back is denied by nothing`(isFastForward: Bool) async throws {
        let coordinator = try await Coordinator.school()
        let root = Context(coordinator)
        let (course, paper) = try await root.transaction { context in
            let course = context.insert(Course(title: "Logic"))
            course.readings.append(context.insert(Paper(title: "On Logic")))
            return (course.id, try #require(course.readings.first?.id))
        }
        let child = await Context(parent: root, mergePolicy: .overwrite)
        await child.perform { $0[paper]?.title = "On Sets" }
        await root.perform { $0[paper]?.delete() }
        try await child.save()
        if !isFastForward { try await Context(coordinator).transaction { _ = $0.insert(Student(name: "Ada")) } }
        try await root.save()
        #expect(coordinator.snapshot.value(for: paper)?.title == "On Sets")
        // Its links stay as the delete left them.
        #expect(try coordinator.snapshot.related(\Course.readings, of: course) == [])

        let other = try await Coordinator(for: Lease.self, House.self, checksEveryCommit: true)
        let context = Context(other)
        let lease = try await context.transaction { context in
            context.insert(Lease(house: ToOne(context.insert(House()).id))).id
        }
        let nested = await Context(parent: context, mergePolicy: .overwrite)
        await nested.perform { $0[lease]?.rent = 5 }
        await context.perform { $0[lease]?.delete() }
        try await nested.save()
        try await context.save()
        #expect(other.snapshot.value(for: lease)?.rent == 5)
    }
}

/// Cannot be deleted while its house is there.
private struct Lease: Entity {
    var rent = 0
    var house: ToOne<House> = nil

    static let schema = EntitySchema<Lease>("Lease") {
        $0.attribute("rent", \.rent)
        $0.toOne("house", \.house, deleteRule: .deny)
    }
}

private struct House: Entity {
    var name = ""

    static let schema = EntitySchema<House>("House") {
        $0.attribute("name", \.name)
    }
}
