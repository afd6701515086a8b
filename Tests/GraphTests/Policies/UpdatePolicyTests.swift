import Testing

@testable import Graph

/// R5: what each policy makes of a row that both sides changed.
struct UpdatePolicyTests {
    /// Of the attributes, one is changed on both sides, one here, one there, one on both sides alike, and one not at all.
    private static let start = Account(balance: 1, highest: 1, lowest: 1, memo: "memo")
    private static let ours = Account(balance: 2, points: 7, highest: 2, lowest: 1, memo: "memo")
    private static let theirs = Account(balance: 3, points: 7, highest: 1, lowest: 3, memo: "memo")

    /// The row, which both sides changed, and another one, which only ours changed.
    private static func rivals(
        _ policy: MergePolicy,
        _ place: Rivals.Place
    ) async throws -> (Rivals, Account.ID, Account.ID) {
        let rivals = try await Rivals(policy, givenTo: place)
        let (id, other) = try await rivals.start { ($0.insert(start).id, $0.insert(Account(memo: "other")).id) }
        try await rivals.change { context in
            let account = try context.object(for: id)
            (account.balance, account.points, account.highest) = (ours.balance, ours.points, ours.highest)
            try context.object(for: other).memo = "changed"
        } theirs: { context in
            let account = try context.object(for: id)
            (account.balance, account.points, account.lowest) = (theirs.balance, theirs.points, theirs.lowest)
        }
        #expect(rivals.row(id) == theirs)
        return (rivals, id, other)
    }

    private func expect(
        _ expected: Account,
        version: UInt64,
        under policy: MergePolicy,
        _ place: Rivals.Place
    ) async throws {
        let (rivals, id, other) = try await Self.rivals(policy, place)
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == expected)
        #expect(rivals.version(id) == version)
        #expect(rivals.row(other)?.memo == "changed" && rivals.version(other) == 2)
        await rivals.expectCommitted(id)
        await rivals.expectCommitted(other)
        #expect(rivals.coordinator.snapshot.commit.number == 3)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R5 error: nothing is written, all conflicts are thrown at once, and the changes stay`(place: Rivals.Place)
        async throws
    {
        let (rivals, id, other) = try await Self.rivals(.error, place)
        try await rivals.theirs.transaction { try $0.object(for: other).delete() }
        for _ in 1...2 {
            let conflicts = try await rivals.conflicts()
            #expect(conflicts.map(\.id) == [AnyPersistentID(id), AnyPersistentID(other)])
            #expect(rivals.row(id) == Self.theirs && rivals.version(id) == 2 && rivals.row(other) == nil)
            await rivals.ours.perform { context in
                #expect(context[id]?.value == Self.ours)
                #expect(context[id]?.version == RowVersion(1))
                #expect(context[other]?.memo == "changed")
                #expect(context.updatedObjects.count == 2)
            }
        }
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R5 mergeByPropertyStoreTrump: theirs if theirs changed, else ours`(place: Rivals.Place) async throws {
        let merged = Account(balance: 3, points: 7, highest: 2, lowest: 3, memo: "memo")
        try await expect(merged, version: 3, under: .mergeByPropertyStoreTrump, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R5 mergeByPropertyObjectTrump: ours if ours changed, else theirs`(place: Rivals.Place) async throws {
        let merged = Account(balance: 2, points: 7, highest: 2, lowest: 3, memo: "memo")
        try await expect(merged, version: 3, under: .mergeByPropertyObjectTrump, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R5 overwrite: ours for every property`(place: Rivals.Place) async throws {
        try await expect(Self.ours, version: 3, under: .overwrite, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R5 rollback: theirs for every property of the row, and the rest of the save goes on`(place: Rivals.Place)
        async throws
    {
        try await expect(Self.theirs, version: 2, under: .rollback, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R5 custom: the function's row`(place: Rivals.Place) async throws {
        let policy = MergePolicy.custom(
            .entity(Account.self) { base, ours, theirs in
                guard let base, var ours, let theirs else { return .keep }
                ours.balance += theirs.balance - base.balance
                ours.lowest = theirs.lowest
                return .row(ours)
            }
        )
        let merged = Account(balance: 4, points: 7, highest: 2, lowest: 3, memo: "memo")
        try await expect(merged, version: 3, under: policy, place)
    }

    // MARK: What follows

    @Test(arguments: Policy.resolving)
    func `R1 a merge that comes to what is in the store writes nothing`(policy: Policy) async throws {
        let rivals = try await Rivals(policy.value)
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).balance = 5
        } theirs: {
            try $0.object(for: id).balance = 5
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id)?.balance == 5 && rivals.version(id) == 2)
        #expect(rivals.coordinator.snapshot.commit.number == 2)
        await rivals.expectCommitted(id)
    }

    @Test func `R1 an equal change on both sides is still a conflict under error`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).balance = 5
        } theirs: {
            try $0.object(for: id).balance = 5
        }
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(id)])
    }

    @Test func `R4 what is given to the save counts before what is given to the context, for that save alone`()
        async throws
    {
        let rivals = try await Rivals(.overwrite)
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).balance = 1
        } theirs: {
            try $0.object(for: id).balance = 2
        }
        #expect(try await rivals.conflicts(.error).count == 1)
        #expect(await rivals.save(.rollback) == nil)
        #expect(rivals.row(id)?.balance == 2)
        try await rivals.change {
            try $0.object(for: id).balance = 3
        } theirs: {
            try $0.object(for: id).balance = 4
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id)?.balance == 3 && rivals.version(id) == 4)
    }

    @Test(arguments: Policy.resolving)
    func `R4 a transaction has its policy, too`(policy: Policy) async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Self.start).id }
        try await rivals.theirs.transaction { try $0.object(for: id).balance = 3 }
        try await rivals.ours.transaction(mergePolicy: policy.value) { try $0.object(for: id).balance = 2 }
        let isOurs = policy == .objectTrump || policy == .overwrite
        #expect(rivals.row(id)?.balance == (isOurs ? 2 : 3))
        await rivals.theirs.refresh()
        try await rivals.theirs.transaction { try $0.object(for: id).balance = 5 }
        try await rivals.ours.transaction(mergePolicy: policy.value) { context in
            await Task.yield()
            try context.object(for: id).balance = 4
        }
        #expect(rivals.row(id)?.balance == (isOurs ? 4 : 5))
        await rivals.expectCommitted(id)
    }

    @Test func `R5 ours counts as changed from the context's base, theirs from the row's own`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account(balance: 1, highest: 1, lowest: 1)).id }
        // The base moves past the first commit of theirs with an object that both changed; the second comes after it.
        try await rivals.change {
            try $0.object(for: id).balance = 2
        } theirs: {
            try $0.object(for: id).highest = 3
        }
        await rivals.ours.refresh()
        try await rivals.theirs.transaction { try $0.object(for: id).lowest = 3 }
        #expect(await rivals.save(.mergeByPropertyStoreTrump) == nil)
        #expect(rivals.row(id) == Account(balance: 2, highest: 3, lowest: 3))
        #expect(rivals.version(id) == 4)
    }

    @Test(arguments: Policy.resolving)
    func `R3 links and orders of both sides add up, also where an update is dropped`(policy: Policy) async throws {
        let rivals = try await Rivals(policy.value)
        let (client, accounts, clubs) = try await rivals.start { context in
            let client = context.insert(Client(name: "Ada"))
            let accounts = (1...3).map { context.insert(Account(balance: $0)) }
            client.accounts.append(contentsOf: accounts)
            let clubs = (1...3).map { context.insert(Club(name: "\($0)")) }
            client.clubs.append(clubs[0])
            return (client.id, accounts.map(\.id), clubs.map(\.id))
        }
        try await rivals.change { context in
            let object = try context.object(for: client)
            object.name = "ours"
            object.clubs.insert(try context.object(for: clubs[1]), at: 0)
            object.accounts.move(from: 2, to: 0)
        } theirs: { context in
            let object = try context.object(for: client)
            object.name = "theirs"
            object.clubs.append(try context.object(for: clubs[2]))
            object.accounts.append(context.insert(Account(balance: 4)))
        }
        #expect(await rivals.save() == nil)
        let isOurs = policy == .objectTrump || policy == .overwrite
        #expect(rivals.row(client)?.name == (isOurs ? "ours" : "theirs"))
        let snapshot = rivals.coordinator.snapshot
        #expect(try snapshot.relatedValues(\Client.clubs, of: client).map(\.name) == ["2", "1", "3"])
        #expect(try snapshot.relatedValues(\Client.accounts, of: client).map(\.balance) == [3, 1, 2, 4])
        #expect(accounts.allSatisfy { rivals.version($0) == 1 })
        await rivals.expectCommitted(client)
    }

    @Test(arguments: Policy.resolving)
    func `R12 a one-to-one pair stays one whichever side wins it`(policy: Policy) async throws {
        let rivals = try await Rivals(policy.value)
        let (accounts, cards) = try await rivals.start { context in
            let accounts = (1...2).map { context.insert(Account(balance: $0)) }
            let cards = (1...3).map { context.insert(Card(number: $0)) }
            accounts[0].card = cards[0]
            return (accounts.map(\.id), cards.map(\.id))
        }
        // Theirs gives the account another card, ours a third one.
        try await rivals.change { context in
            try context.object(for: accounts[0]).card = try context.object(for: cards[1])
        } theirs: { context in
            try context.object(for: accounts[0]).card = try context.object(for: cards[2])
        }
        #expect(await rivals.save() == nil)
        let isOurs = policy == .objectTrump || policy == .overwrite
        let winner = isOurs ? cards[1] : cards[2]
        #expect(rivals.row(accounts[0])?.card.id == winner)
        #expect(cards.map { rivals.row($0)?.account.id } == cards.map { $0 == winner ? accounts[0] : nil })
        for id in cards { await rivals.expectCommitted(id) }
    }

    @Test(arguments: Policy.allCases)
    func `R14 a reference to what others deleted becomes nil, fails under error, and where it is required`(
        policy: Policy
    ) async throws {
        let rivals = try await Rivals(policy.value)
        let (account, advisor, client, club) = try await rivals.start { context in
            (
                context.insert(Account()).id, context.insert(Advisor()).id, context.insert(Client()).id,
                context.insert(Club()).id
            )
        }
        try await rivals.change { context in
            try context.object(for: advisor).favorite = try context.object(for: account)
            try context.object(for: club).members.append(try context.object(for: client))
        } theirs: { context in
            try context.object(for: account).delete()
            try context.object(for: client).delete()
        }
        if policy == .error {
            #expect(
                await rivals.save()?.description == """
                    the save refers to objects that do not exist: 2 references
                      Club/p1.members refers to Client/p1, which does not exist
                      Advisor/p1.favorite refers to Account/p1, which does not exist
                      Nothing was saved: remove these references, or set them to objects that exist.
                    """
            )
        } else {
            #expect(await rivals.save() == nil)
            #expect(rivals.row(advisor)?.favorite.id == nil && rivals.version(advisor) == 1)
            await rivals.expectCommitted(advisor)
            await rivals.expectCommitted(club)
        }
        await rivals.ours.rollback(to: .latest)
        let other = try await rivals.start { $0.insert(Client()).id }
        try await rivals.change { context in
            context.insert(Contract(client: ToOne(other)))
        } theirs: {
            try $0.object(for: other).delete()
        }
        let expected = DanglingReference(
            id: AnyPersistentID(Contract.ID(row: 1)),
            property: "client",
            target: AnyPersistentID(other)
        )
        #expect(await rivals.save() == .danglingReferences([expected]))
    }
}
