import Testing

@testable import Graph

/// R8: `discard` drops the changes of single objects, and the next save does without them.
struct DiscardTests {
    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await .bank()
        context = Context(coordinator)
        await context.perform { $0.retainsRegisteredObjects = true }
    }

    private struct Family: Sendable {
        let client: Client.ID
        let accounts: [Account.ID]
        let clubs: [Club.ID]
        let card: Card.ID
        let advisor: Advisor.ID
    }

    /// A client with three accounts and two of three clubs; the second account has a card, an advisor likes the first.
    private func family() async throws -> Family {
        try await context.transaction { context in
            let client = context.insert(Client(name: "Ada"))
            let accounts = (1...3).map { context.insert(Account(balance: $0)) }
            client.accounts.append(contentsOf: accounts)
            let clubs = (1...3).map { context.insert(Club(name: "\($0)")) }
            clubs[0].members.append(context.insert(Client(name: "Bob")))
            client.clubs.append(contentsOf: [clubs[1], clubs[0]])
            let card = context.insert(Card(number: 7))
            accounts[1].card = card
            let advisor = context.insert(Advisor(name: "Eve", favorite: ToOne(accounts[0].id)))
            client.advisor = advisor
            return Family(
                client: client.id,
                accounts: accounts.map(\.id),
                clubs: clubs.map(\.id),
                card: card.id,
                advisor: advisor.id
            )
        }
    }

    /// The context has nothing to save, shows what is committed, and saves nothing.
    private func expectUnchanged(_ location: SourceLocation = #_sourceLocation) async throws {
        try await context.perform { [snapshot = coordinator.snapshot] context throws in
            #expect(context.hasChanges == false, sourceLocation: location)
            for client in try context.fetch(Client.self) {
                #expect(client.value == snapshot.value(for: client.id), sourceLocation: location)
                let related = try (
                    snapshot.related(\Client.accounts, of: client.id), snapshot.related(\Client.clubs, of: client.id)
                )
                #expect(client.accounts.ids == related.0 && client.clubs.ids == related.1, sourceLocation: location)
            }
            for club in try context.fetch(Club.self) {
                let members = try snapshot.related(\Club.members, of: club.id)
                #expect(club.members.ids == members && !club.hasChanges, sourceLocation: location)
            }
            let accounts = try context.fetch(Account.self).map(\.value)
            #expect(accounts == (try snapshot.fetchValues(Account.self)), sourceLocation: location)
            let cards = try context.fetch(Card.self).map(\.value)
            #expect(cards == (try snapshot.fetchValues(Card.self)), sourceLocation: location)
            let advisors = try context.fetch(Advisor.self).map(\.value)
            #expect(advisors == (try snapshot.fetchValues(Advisor.self)), sourceLocation: location)
        }
        let commit = coordinator.snapshot.commit
        try await context.save()
        #expect(coordinator.snapshot.commit == commit, sourceLocation: location)
    }

    // MARK: Inserts

    @Test func `R8 an inserted object goes, and references and links to it are nullified`() async throws {
        let family = try await family()
        let (client, account) = await context.perform { context in
            let client = context.insert(Client(name: "new"))
            let account = context.insert(Account(balance: 9))
            account.card = context[family.card]
            account.client = client
            client.clubs.append(contentsOf: [context[family.clubs[0]], context[family.clubs[2]]].compactMap { $0 })
            context[family.accounts[0]]?.client = client
            context[family.advisor]?.favorite = account
            context.discard([AnyPersistentID(client.id), AnyPersistentID(account.id)])
            #expect(client.isDeleted && account.isDeleted && context[client.id] == nil)
            #expect(context[family.accounts[0]]?.client == nil && context[family.advisor]?.favorite == nil)
            #expect(context[family.card]?.account == nil)
            #expect(context[family.clubs[0]]?.members.count == 2 && context[family.clubs[2]]?.members.isEmpty == true)
            return (client.id, account.id)
        }
        // Their earlier references are not restored.
        let ids = [
            AnyPersistentID(family.accounts[0]), AnyPersistentID(family.advisor), AnyPersistentID(family.card),
            AnyPersistentID(family.accounts[1]),
        ]
        await context.perform { $0.discard(ids) }
        try await expectUnchanged()
        // Identifiers of what was discarded are not used again.
        let next = try await context.transaction { ($0.insert(Client()).id, $0.insert(Account()).id) }
        #expect(next.0 != client && next.1 != account)
    }

    @Test func `R8 an object that was inserted and changed or moved since goes, too`() async throws {
        await context.perform { context in
            let account = context.insert(Account())
            #expect(context.insertedObjects.count == 1)
            account.balance = 5
            context.discard(account)
            account.balance = 6
            #expect(account.isDeleted)
        }
        try await expectUnchanged()
    }

    // MARK: Updates

    @Test func `R8 an updated object is as it was read, with its links and the order of its members`() async throws {
        let family = try await family()
        try await context.perform { context in
            let client = try context.object(for: family.client)
            client.name = "changed"
            client.advisor = nil
            client.accounts.move(from: 2, to: 0)
            client.clubs.remove(try context.object(for: family.clubs[1]))
            client.clubs.insert(try context.object(for: family.clubs[2]), at: 0)
            try context.object(for: family.clubs[0]).members.move(from: 1, to: 0)
            context.discard(client)
            #expect(client.name == "Ada" && client.advisor?.id == family.advisor)
            #expect(client.clubs.ids == [family.clubs[1], family.clubs[0]] && client.accounts.ids == family.accounts)
        }
        // Of its own list of members a club says the order.
        await context.perform { $0.discard([AnyPersistentID(family.clubs[0])]) }
        try await expectUnchanged()
    }

    @Test func `R8 what its members refer to stays`() async throws {
        let family = try await family()
        try await context.perform { context in
            let client = try context.object(for: family.client)
            client.accounts.append(context.insert(Account(balance: 4)))
            client.accounts.remove(try context.object(for: family.accounts[0]))
            client.discardChanges()
            #expect(client.accounts.map(\.balance) == [2, 3, 4])
            context.discard(try context.object(for: family.accounts[0]))
            #expect(client.accounts.map(\.balance) == [1, 2, 3, 4])
            context.discard(context.insertedObjects.map(\.anyID))
        }
        try await expectUnchanged()
    }

    @Test func `R8 a member that moved goes back to its place`() async throws {
        let family = try await family()
        try await context.perform { context in
            let (client, account) = try (context.object(for: family.client), context.object(for: family.accounts[0]))
            client.accounts.move(from: 0, to: 2)
            account.balance = 9
            context.discard(account)
            #expect(client.accounts.ids == family.accounts)
            account.client = context.insert(Client(name: "new"))
            context.discard(account)
            #expect(client.accounts.ids == family.accounts)
            context.discard(context.insertedObjects.map(\.anyID))
        }
        try await expectUnchanged()
    }

    @Test func `R12 one-to-one inverses follow`() async throws {
        let family = try await family()
        try await context.perform { context in
            let card = try context.object(for: family.card)
            card.account = try context.object(for: family.accounts[0])
            context.discard(card)
            #expect(card.account?.id == family.accounts[1])
            #expect(context[family.accounts[1]]?.card === card && context[family.accounts[0]]?.card == nil)
        }
        try await expectUnchanged()
    }

    @Test func `R8 objects without changes, and what is no object here, are passed over`() async throws {
        let family = try await family()
        await context.perform { context in
            context[family.client]?.name = "changed"
            let ids = [
                AnyPersistentID(family.card), AnyPersistentID(Card.ID(row: 99)),
                AnyPersistentID(entityName: "Unknown", row: 1),
            ]
            context.discard(ids)
            context.discard([])
            #expect(context.updatedObjects.map(\.anyID) == [AnyPersistentID(family.client)])
        }
    }

    // MARK: Deletes

    @Test(arguments: [true, false])
    func `R8 a delete is taken back with all that it took along, whichever of it is named`(isRoot: Bool) async throws {
        let family = try await family()
        await context.perform { context in
            context[family.client]?.delete()
            #expect(context.deletedObjects.count == 4 && context[family.advisor]?.favorite == nil)
            #expect(context[family.card]?.account == nil)
            let id = isRoot ? AnyPersistentID(family.client) : AnyPersistentID(family.accounts[2])
            context.discard([id])
            #expect(context[family.client]?.accounts.ids == family.accounts)
            #expect(context[family.advisor]?.favorite?.id == family.accounts[0])
            #expect(context[family.accounts[1]]?.card?.id == family.card)
        }
        try await expectUnchanged()
    }

    @Test func `R8 of several deletes one is taken back, the others stay`() async throws {
        let family = try await family()
        await context.perform { context in
            context[family.accounts[0]]?.delete()
            context[family.clubs[1]]?.delete()
            context[family.client]?.delete()
            context.discard([AnyPersistentID(family.client)])
            #expect(context[family.client]?.accounts.ids == Array(family.accounts.dropFirst()))
            #expect(context[family.client]?.clubs.ids == [family.clubs[0]])
            #expect(context[family.advisor]?.favorite == nil)
        }
        try await context.save()
        let snapshot = coordinator.snapshot
        #expect(try snapshot.related(\Client.accounts, of: family.client) == Array(family.accounts.dropFirst()))
        #expect(snapshot.value(for: family.accounts[0]) == nil && snapshot.value(for: family.clubs[1]) == nil)
    }

    @Test func `R8 with what comes back comes what would take it along`() async throws {
        let family = try await family()
        await context.perform { context in
            context[family.accounts[0]]?.delete()
            context[family.client]?.delete()
            context.discard([AnyPersistentID(family.accounts[0])])
            #expect(context[family.client]?.accounts.ids == family.accounts)
        }
        try await expectUnchanged()
    }

    @Test func `R8 what comes back has no reference to what another delete removed`() async throws {
        let family = try await family()
        await context.perform { context in
            context[family.accounts[0]]?.delete()
            context[family.advisor]?.delete()
            context.discard([AnyPersistentID(family.advisor)])
            #expect(context[family.advisor]?.value.favorite.id == nil)
            #expect(context[family.client]?.advisor?.id == family.advisor)
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: family.advisor)?.favorite.id == nil)
    }

    @Test func `R8 members that lead nowhere are forgotten with their owner's changes`() async throws {
        let rivals = try await Rivals()
        let (client, club) = try await rivals.start { ($0.insert(Client()).id, $0.insert(Club()).id) }
        try await rivals.change { context in
            context[client]?.clubs.append(try context.object(for: club))
        } theirs: {
            try $0.object(for: club).delete()
        }
        await rivals.ours.refresh()
        guard case .danglingReferences(let dangling)? = await rivals.save() else {
            Issue.record("saved")
            return
        }
        #expect(dangling.map(\.target) == [AnyPersistentID(club)])
        await rivals.ours.perform { $0.discard(dangling.map(\.id)) }
        #expect(await rivals.save() == nil)
        #expect(await rivals.ours.hasChanges == false)
    }

    @Test func `R8 members that lead nowhere are forgotten with their owner's changes, the owner among them`()
        async throws
    {
        let coordinator = try await Coordinator(for: SelfLinked.self)
        let (ours, theirs) = (Context(coordinator), Context(coordinator))
        let nodes = try await theirs.transaction { context in (0..<3).map { _ in context.insert(SelfLinked()).id } }
        await ours.refresh()
        try await ours.perform { context in
            let node = try context.object(for: nodes[0])
            node.friends = [node, try context.object(for: nodes[1]), try context.object(for: nodes[2])]
        }
        try await theirs.transaction { context in
            for id in nodes { try context.object(for: id).delete() }
        }
        await ours.refresh()
        #expect(await ours.hasChanges)
        await ours.perform { $0.discard([AnyPersistentID(nodes[0])]) }
        #expect(await ours.hasChanges == false)
        try await ours.save()
    }

    @Test func `R8 a related object that has another inverse by now keeps it`() async throws {
        let family = try await family()
        await context.perform { context in
            context[family.accounts[1]]?.delete()
            context[family.card]?.account = context[family.accounts[0]]
            context.discard([AnyPersistentID(family.accounts[1])])
            #expect(context[family.accounts[1]]?.card == nil)
            #expect(context[family.card]?.account?.id == family.accounts[0])
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: family.accounts[1])?.card.id == nil)
    }

    @Test func `R8 an object that was changed before its delete comes back as it was read`() async throws {
        let family = try await family()
        await context.perform { context in
            context[family.client]?.name = "changed"
            context[family.client]?.clubs.removeAll()
            context[family.client]?.accounts.move(from: 0, to: 1)
            context[family.client]?.delete()
            context.discard([AnyPersistentID(family.client)])
        }
        try await expectUnchanged()
    }

    @Test func `R12 what comes back has no inverse that it did not have before`() async throws {
        let coordinator = try await Coordinator(for: Ring.self, Finger.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let (ring, finger) = try await context.transaction { ($0.insert(Ring()).id, $0.insert(Finger()).id) }
        await context.perform { context in
            // The finger denies the delete, and goes on referring to the ring.
            context[finger]?.ring = context[ring]
            context[ring]?.delete()
            context.discard([AnyPersistentID(ring)])
            #expect(context[finger]?.ring == nil && context[ring]?.finger == nil && !context.hasChanges)
            context[finger]?.ring = context[ring]
        }
        try await context.save()
        await context.perform { context in
            context[ring]?.delete()
            context.discard([AnyPersistentID(ring)])
            #expect(context[finger]?.ring?.id == ring && context[ring]?.finger?.id == finger && !context.hasChanges)
        }
    }

    // MARK: After a save that failed

    enum Failure: CaseIterable, Sendable {
        case updated, deletedThere, deletedHere, notUnique, dangling, danglingMember, denied, tooMany, tooFew
    }

    @Test(arguments: Failure.allCases)
    func `R8 a save that failed is followed by one without what it failed by`(failure: Failure) async throws {
        let coordinator = try await Coordinator.school()
        let (ours, theirs) = (Context(coordinator), Context(coordinator))
        let (course, other, hall, students) = try await theirs.transaction { context in
            let hall = context.insert(Hall(house: "A", number: 1))
            let course = context.insert(Course(title: "Logic", room: ToOne(hall.id)))
            let students = (1...4).map { context.insert(Student(name: "\($0)")) }
            course.lectures.append(context.insert(Lecture(title: "first")))
            return (course.id, context.insert(Course(title: "Sets")).id, hall.id, students.map(\.id))
        }
        await ours.refresh()
        try await ours.perform { context in
            let object = try context.object(for: course)
            switch failure {
            case .updated, .deletedThere: object.title = "ours"
            case .deletedHere: object.delete()
            case .notUnique: context.insert(Hall(house: "A", number: 1))
            case .dangling: context.insert(Lecture(title: "lost", course: ToOne(other)))
            case .danglingMember: try context.object(for: students[0]).courses.append(try context.object(for: other))
            case .denied: try context.object(for: hall).delete()
            case .tooMany: object.students = RelatedObjects(try students.map { try context.object(for: $0) })
            case .tooFew: context.insert(Lecture(title: "of no course"))
            }
            context.insert(Student(name: "rest"))
        }
        try await theirs.transaction { context in
            switch failure {
            case .updated, .deletedHere: try context.object(for: course).title = "theirs"
            case .deletedThere: try context.object(for: course).delete()
            case .dangling, .danglingMember: try context.object(for: other).delete()
            default: break
            }
        }
        let before = coordinator.snapshot
        let error = try #require(await #expect(throws: GraphError.self) { try await ours.save() })
        #expect(coordinator.snapshot.commit == before.commit)
        let offenders = error.offenders
        #expect(offenders.count == 1)
        await ours.perform { $0.discard(offenders) }
        try await ours.save()
        #expect(coordinator.check() == [])
        let after = coordinator.snapshot
        #expect(after.commit.number == before.commit.number + 1)
        #expect(try after.fetchValues(Student.self).map(\.name) == ["1", "2", "3", "4", "rest"])
        #expect(try after.fetchValues(Course.self).map(\.title) == (try before.fetchValues(Course.self).map(\.title)))
        #expect(try after.fetchValues(Lecture.self).count == (try before.fetchValues(Lecture.self).count))
        #expect(after.count(of: Hall.self) == 1 && after.version(of: hall) == RowVersion(1))
        let hasChanges = await ours.perform { $0.hasChanges || $0[course]?.hasChanges == true }
        #expect(!hasChanges)
    }

    @Test func `R8 a save that failed takes nothing into the next one, with or without a discard`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).balance = 1
        } theirs: {
            try $0.object(for: id).balance = 2
        }
        for _ in 1...3 { #expect(try await rivals.conflicts().count == 1) }
        #expect(await rivals.save(.mergeByPropertyObjectTrump) == nil)
        #expect(rivals.row(id)?.balance == 1 && rivals.version(id) == 3)
        // Another context sees none of it.
        await rivals.theirs.refresh()
        try await rivals.theirs.transaction { try $0.object(for: id).balance += 1 }
        #expect(rivals.row(id)?.balance == 2)
    }

    @Test func `R8 an object that others deleted, and that was refreshed since, is discarded`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).balance = 1
        } theirs: {
            try $0.object(for: id).delete()
        }
        await rivals.ours.refresh()
        #expect(try await rivals.conflicts().count == 1)
        await rivals.ours.perform { context in
            #expect(context.updatedObjects.map(\.anyID) == [AnyPersistentID(id)])
            context.discard([AnyPersistentID(id)])
            #expect(!context.hasChanges && context[id] == nil)
        }
        #expect(await rivals.save() == nil)
    }

    // MARK: While a save is in flight

    @Test func `R8 a row that counts from an older base than the context is as in the newer one`() async throws {
        let disk = GatedDisk(holdingAt: .sync)
        let coordinator = try await Coordinator.people(on: disk)
        let (ours, theirs) = (Context(coordinator), Context(coordinator))
        let (ada, eve) = try await theirs.transaction { context in
            (context.insert(Person(name: "Ada")).id, context.insert(Person(name: "Eve")).id)
        }
        await ours.refresh()
        try await theirs.transaction { try $0.object(for: eve).age = 7 }
        try await ours.perform { try $0.object(for: ada).age = 1 }
        disk.hold()
        let saved = Task { try await ours.save() }
        await disk.waitForArrival()
        try await ours.perform { try $0.object(for: eve).age = 5 }
        disk.release()
        try await saved.value
        // The save moved the base, but not under what both sides changed.
        let error = await #expect(throws: GraphError.self) { try await ours.save() }
        guard case .conflicts(let conflicts)? = error else {
            Issue.record("no conflicts")
            return
        }
        #expect(conflicts.map(\.oldVersion.number) == [1] && conflicts.map(\.newVersion.number) == [2])
        await ours.perform { context in
            context.discard([AnyPersistentID(eve)])
            #expect(context[eve]?.age == 7 && context[eve]?.version == RowVersion(2) && !context.hasChanges)
        }
        try await ours.transaction { try $0.object(for: eve).age += 1 }
        #expect(coordinator.snapshot.value(for: eve)?.age == 8)
    }
}

extension GraphError {
    /// The objects that the error is about.
    fileprivate var offenders: Set<AnyPersistentID> {
        switch self {
        case .conflicts(let conflicts): Set(conflicts.map(\.id))
        case .notUnique(let violations): Set(violations.map(\.id))
        case .danglingReferences(let references): Set(references.map(\.id))
        case .deleteDenied(let denied): Set(denied.map(\.id))
        case .validationFailed(let failures): Set(failures.map(\.id))
        default: []
        }
    }
}

private struct Finger: Entity {
    var ring: ToOne<Ring> = nil

    static let schema = EntitySchema<Finger>("Finger") {
        $0.toOne("ring", \.ring)
    }
}

/// Cannot be deleted while it is on a finger.
private struct Ring: Entity {
    var finger: ToOne<Finger> = nil

    static let schema = EntitySchema<Ring>("Ring") {
        $0.toOne("finger", \.finger, inverse: \Finger.ring, deleteRule: .deny)
    }
}

private struct SelfLinked: Entity {
    var friends: ToMany<SelfLinked> = []

    static let schema = EntitySchema<SelfLinked>("SelfLinked") {
        $0.toMany("friends", \.friends, inverse: \SelfLinked.friends)
    }
}
