import Testing

@testable import Graph

/// R6: what each policy makes of a row that one side deleted.
struct DeletePolicyTests {
    // MARK: Update here, delete there

    private static func updateOfDeleted(
        _ policy: MergePolicy,
        _ place: Rivals.Place
    ) async throws -> (Rivals, Account.ID) {
        let rivals = try await Rivals(policy, givenTo: place)
        let id = try await rivals.start { $0.insert(Account(balance: 1, memo: "memo")).id }
        // Versions and commit numbers are to differ.
        try await rivals.theirs.transaction { _ = $0.insert(Account(memo: "other")) }
        try await rivals.change {
            try $0.object(for: id).balance = 2
        } theirs: {
            try $0.object(for: id).delete()
        }
        return (rivals, id)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 update, deleted, error: throws with newVersion 0`(place: Rivals.Place) async throws {
        let (rivals, id) = try await Self.updateOfDeleted(.error, place)
        let conflict = try #require(try await rivals.conflicts().first)
        #expect(conflict.id == AnyPersistentID(id))
        #expect(conflict.oldVersion == RowVersion(1) && conflict.newVersion == RowVersion(0))
        let rows = try #require(conflict.rows(of: Account.self))
        #expect(rows.base?.balance == 1 && rows.ours?.balance == 2 && rows.theirs == nil)
        #expect(conflict.differences == [])
        await rivals.ours.perform { context in
            #expect(context[id]?.balance == 2 && context.updatedObjects.count == 1)
        }
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 update, deleted, storeTrump: stays deleted`(place: Rivals.Place) async throws {
        try await expectStaysDeleted(.mergeByPropertyStoreTrump, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 update, deleted, objectTrump: comes back, same identifier, ours`(place: Rivals.Place) async throws {
        try await expectComesBack(.mergeByPropertyObjectTrump, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 update, deleted, overwrite: comes back, same identifier, ours`(place: Rivals.Place) async throws {
        try await expectComesBack(.overwrite, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 update, deleted, rollback: stays deleted`(place: Rivals.Place) async throws {
        try await expectStaysDeleted(.rollback, place)
    }

    private func expectStaysDeleted(_ policy: MergePolicy, _ place: Rivals.Place) async throws {
        let (rivals, id) = try await Self.updateOfDeleted(policy, place)
        await rivals.ours.perform { _ = $0.insert(Account(memo: "rest")) }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == nil)
        #expect(try rivals.coordinator.snapshot.fetchValues(Account.self).map(\.memo) == ["other", "rest"])
        await rivals.expectCommitted(id)
        await rivals.ours.perform { context in
            let object = context.registeredObject(for: id)
            // It keeps its last value, and writes to it are none.
            #expect(object?.isDeleted ?? true)
            object?.balance = 9
            #expect(!context.hasChanges && context[id] == nil)
        }
    }

    private func expectComesBack(_ policy: MergePolicy, _ place: Rivals.Place) async throws {
        let (rivals, id) = try await Self.updateOfDeleted(policy, place)
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == Account(balance: 2, memo: "memo"))
        // The number of the commit: nothing that was ever called by this identifier had this version.
        #expect(rivals.version(id) == 4 && rivals.coordinator.snapshot.commit.number == 4)
        await rivals.expectCommitted(id)
        await rivals.theirs.refresh()
        try await rivals.theirs.transaction { try $0.object(for: id).balance += 1 }
        #expect(rivals.version(id) == 5)
    }

    // MARK: Delete here, update there

    /// A client with two accounts, of which theirs changes the client or one account.
    private struct Family {
        let rivals: Rivals
        let client: Client.ID
        let accounts: [Account.ID]
        let clubs: [Club.ID]
        let card: Card.ID
        let advisor: Advisor.ID

        init(_ policy: MergePolicy, _ place: Rivals.Place = .context, at path: String? = nil) async throws {
            rivals = try await Rivals(policy, givenTo: place, at: path)
            (client, accounts, clubs, card, advisor) = try await rivals.start { context in
                let client = context.insert(Client(name: "Ada"))
                let accounts = (1...3).map { context.insert(Account(balance: $0)) }
                client.accounts.append(contentsOf: accounts)
                client.accounts.move(from: 2, to: 0)
                let clubs = (1...3).map { context.insert(Club(name: "\($0)")) }
                clubs[0].members.append(context.insert(Client(name: "Bob")))
                client.clubs.append(contentsOf: [clubs[2], clubs[0]])
                clubs[0].members.move(from: 1, to: 0)
                accounts[1].card = context.insert(Card(number: 7))
                let advisor = context.insert(Advisor(name: "Eve"))
                advisor.favorite = accounts[0]
                client.advisor = advisor
                return (
                    client.id, accounts.map(\.id), clubs.map(\.id), try #require(accounts[1].card?.id), advisor.id
                )
            }
        }

        func expectWhole(_ location: SourceLocation = #_sourceLocation) throws {
            let snapshot = rivals.coordinator.snapshot
            let balances = try snapshot.relatedValues(\Client.accounts, of: client).map(\.balance)
            #expect(balances == [3, 1, 2], sourceLocation: location)
            let names = try snapshot.relatedValues(\Client.clubs, of: client).map(\.name)
            #expect(names == ["3", "1"], sourceLocation: location)
            let members = try snapshot.related(\Club.members, of: clubs[0])
            #expect(members.count == 2 && members[0] == client, sourceLocation: location)
            #expect(rivals.row(accounts[1])?.card.id == card, sourceLocation: location)
            #expect(rivals.row(card)?.account.id == accounts[1], sourceLocation: location)
            #expect(rivals.row(advisor)?.favorite.id == accounts[0], sourceLocation: location)
            #expect(rivals.row(client)?.advisor.id == advisor, sourceLocation: location)
        }

        func expectGone(_ location: SourceLocation = #_sourceLocation) throws {
            let snapshot = rivals.coordinator.snapshot
            #expect(rivals.row(client) == nil && snapshot.count(of: Account.self) == 0, sourceLocation: location)
            let members = try snapshot.relatedValues(\Club.members, of: clubs[0]).map(\.name)
            #expect(members == ["Bob"], sourceLocation: location)
            #expect(rivals.row(card)?.account.id == nil && rivals.row(card) != nil, sourceLocation: location)
            #expect(rivals.row(advisor)?.favorite.id == nil && rivals.row(advisor) != nil, sourceLocation: location)
        }

        func expectCommitted() async {
            await rivals.expectCommitted(client)
            for id in accounts { await rivals.expectCommitted(id) }
            for id in clubs { await rivals.expectCommitted(id) }
            await rivals.expectCommitted(card)
            await rivals.expectCommitted(advisor)
            let ids = (client, clubs[0])
            try? await rivals.ours.perform { [snapshot = rivals.coordinator.snapshot] context throws in
                #expect(context[ids.0]?.accounts.ids ?? [] == (try snapshot.related(\Client.accounts, of: ids.0)))
                #expect(context[ids.1]?.members.ids ?? [] == (try snapshot.related(\Club.members, of: ids.1)))
            }
        }
    }

    private static func deleteOfUpdated(_ policy: MergePolicy, _ place: Rivals.Place) async throws -> Family {
        let family = try await Family(policy, place)
        let id = family.accounts[1]
        try await family.rivals.change { context in
            try context.object(for: family.client).delete()
        } theirs: {
            try $0.object(for: id).memo = "theirs"
        }
        return family
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 delete, updated, error: throws`(place: Rivals.Place) async throws {
        let family = try await Self.deleteOfUpdated(.error, place)
        let conflicts = try await family.rivals.conflicts()
        #expect(conflicts.map(\.id) == [AnyPersistentID(family.accounts[1])])
        let conflict = try #require(conflicts.first)
        #expect(conflict.oldVersion == RowVersion(1) && conflict.newVersion == RowVersion(2))
        let rows = try #require(conflict.rows(of: Account.self))
        #expect(rows.base?.memo == "" && rows.ours == nil && rows.theirs?.memo == "theirs")
        try family.expectWhole()
        await family.rivals.ours.perform { context in
            #expect(context.deletedObjects.count == 4 && context[family.client] == nil)
        }
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 delete, updated, storeTrump: the whole delete is dropped, theirs`(place: Rivals.Place) async throws {
        try await expectDropped(.mergeByPropertyStoreTrump, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 delete, updated, objectTrump: deleted`(place: Rivals.Place) async throws {
        try await expectDeleted(.mergeByPropertyObjectTrump, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 delete, updated, overwrite: deleted`(place: Rivals.Place) async throws {
        try await expectDeleted(.overwrite, place)
    }

    @Test(arguments: Rivals.Place.allCases)
    func `R6 delete, updated, rollback: the whole delete is dropped, theirs`(place: Rivals.Place) async throws {
        try await expectDropped(.rollback, place)
    }

    private func expectDropped(_ policy: MergePolicy, _ place: Rivals.Place) async throws {
        let family = try await Self.deleteOfUpdated(policy, place)
        let rest = await family.rivals.ours.perform { $0.insert(Account(memo: "rest")).id }
        #expect(await family.rivals.save() == nil)
        #expect(family.rivals.row(family.accounts[1])?.memo == "theirs")
        try family.expectWhole()
        // Nothing of it was written.
        #expect(family.accounts.map { family.rivals.version($0) } == [1, 2, 1])
        #expect(family.rivals.version(family.client) == 1 && family.rivals.version(family.card) == 1)
        #expect(family.rivals.version(family.advisor) == 1 && family.rivals.version(rest) == 1)
        await family.expectCommitted()
    }

    private func expectDeleted(_ policy: MergePolicy, _ place: Rivals.Place) async throws {
        let family = try await Self.deleteOfUpdated(policy, place)
        #expect(await family.rivals.save() == nil)
        try family.expectGone()
        await family.expectCommitted()
    }

    @Test(arguments: [Policy.storeTrump, .rollback])
    func `R6 a delete is dropped where theirs is that of the explicitly deleted row, other deletes stay`(
        policy: Policy
    ) async throws {
        let family = try await Family(policy.value)
        let other = try await family.rivals.start { $0.insert(Account(memo: "other")).id }
        try await family.rivals.change { context in
            try context.object(for: family.client).delete()
            try context.object(for: other).delete()
        } theirs: { context in
            try context.object(for: family.client).name = "Lovelace"
        }
        #expect(await family.rivals.save() == nil)
        try family.expectWhole()
        #expect(family.rivals.row(family.client)?.name == "Lovelace" && family.rivals.row(other) == nil)
        await family.expectCommitted()
        await family.rivals.expectCommitted(other)
    }

    @Test(arguments: [Policy.storeTrump, .rollback])
    func `R6 with a dropped delete come back the places that theirs gave to what it removed`(policy: Policy)
        async throws
    {
        let family = try await Family(policy.value)
        try await family.rivals.change { context in
            try context.object(for: family.client).delete()
        } theirs: { context in
            let client = try context.object(for: family.client)
            client.name = "Lovelace"
            client.accounts.move(from: 0, to: 2)
            client.clubs.append(try context.object(for: family.clubs[1]))
            client.clubs.remove(try context.object(for: family.clubs[2]))
            try context.object(for: family.advisor).favorite = nil
        }
        #expect(await family.rivals.save() == nil)
        let snapshot = family.rivals.coordinator.snapshot
        #expect(try snapshot.relatedValues(\Client.accounts, of: family.client).map(\.balance) == [1, 2, 3])
        #expect(try snapshot.relatedValues(\Client.clubs, of: family.client).map(\.name) == ["1", "2"])
        #expect(family.rivals.row(family.advisor)?.favorite.id == nil)
        await family.expectCommitted()
    }

    @Test(arguments: [Policy.storeTrump, .rollback])
    func `R6 a row that was changed before it was deleted comes back as theirs`(policy: Policy) async throws {
        let family = try await Family(policy.value)
        try await family.rivals.change { context in
            let client = try context.object(for: family.client)
            client.name = "ours"
            client.accounts.move(from: 0, to: 2)
            client.delete()
        } theirs: { context in
            try context.object(for: family.accounts[0]).memo = "theirs"
        }
        #expect(await family.rivals.save() == nil)
        #expect(family.rivals.row(family.client)?.name == "Ada")
        try family.expectWhole()
        await family.expectCommitted()
    }

    @Test(arguments: Policy.resolving, [true, false])
    func `R14 with a dropped delete go others that would take along what it removed`(policy: Policy, isMoved: Bool)
        async throws
    {
        let family = try await Family(policy.value)
        let id = family.accounts[1]
        try await family.rivals.change { context in
            context[id]?.delete()
            context[family.client]?.delete()
        } theirs: { context in
            context[id]?.memo = "theirs"
            if isMoved { context[id]?.client = nil }
        }
        #expect(await family.rivals.save() == nil)
        switch policy {
        case .storeTrump where !isMoved, .rollback where !isMoved:
            #expect(family.rivals.row(id)?.memo == "theirs")
            try family.expectWhole()
        case .storeTrump, .rollback:
            // Where it is now, the client's delete does not reach it.
            #expect(family.rivals.row(id)?.memo == "theirs" && family.rivals.row(family.client) == nil)
            #expect(family.rivals.coordinator.snapshot.count(of: Account.self) == 1)
        default:
            try family.expectGone()
        }
        await family.expectCommitted()
    }

    @Test(arguments: [Policy.storeTrump, .rollback])
    func `R14 the same where members have no order`(policy: Policy) async throws {
        let coordinator = try await Coordinator(
            for: Album.self, Photo.self, Note.self, Loan.self, Frame.self,
            checksEveryCommit: true
        )
        let (ours, theirs) = (Context(coordinator, mergePolicy: policy.value), Context(coordinator))
        let (album, photo) = try await theirs.transaction { context in
            let album = context.insert(Album(title: "one"))
            return (album.id, context.insert(Photo(album: ToOne(album.id))).id)
        }
        await ours.refresh()
        await ours.perform { context in
            context[photo]?.delete()
            context[album]?.delete()
        }
        try await theirs.transaction { $0[photo]?.caption = "theirs" }
        try await ours.save()
        #expect(coordinator.snapshot.value(for: photo)?.caption == "theirs")
        #expect(coordinator.snapshot.value(for: photo)?.album.id == album)
        #expect(coordinator.snapshot.value(for: album) != nil)
    }

    @Test(arguments: Policy.resolving)
    func `R14 what came since falls to the cascade of a delete that stays, and stays with one that is dropped`(
        policy: Policy
    ) async throws {
        let family = try await Family(policy.value)
        try await family.rivals.change { context in
            try context.object(for: family.client).delete()
        } theirs: { context in
            let client = try context.object(for: family.client)
            client.name = "theirs"
            client.accounts.append(context.insert(Account(balance: 4)))
        }
        #expect(await family.rivals.save() == nil)
        if policy == .storeTrump || policy == .rollback {
            let accounts = try family.rivals.coordinator.snapshot.relatedValues(\Client.accounts, of: family.client)
            #expect(accounts.map(\.balance) == [3, 1, 2, 4])
        } else {
            try family.expectGone()
        }
        await family.expectCommitted()
    }

    // MARK: Delete here, delete there

    @Test(arguments: Policy.allCases, Rivals.Place.allCases)
    func `R6 delete, deleted: no conflict`(policy: Policy, place: Rivals.Place) async throws {
        let family = try await Family(policy.value, place)
        try await family.rivals.change { context in
            try context.object(for: family.client).delete()
            try context.object(for: family.clubs[1]).name = "ours"
        } theirs: {
            try $0.object(for: family.client).delete()
        }
        #expect(await family.rivals.save() == nil)
        try family.expectGone()
        #expect(family.rivals.row(family.clubs[1])?.name == "ours")
        #expect(family.rivals.coordinator.snapshot.commit.number == 3)
        await family.expectCommitted()
    }

    @Test(arguments: Policy.allCases)
    func `R6 a save of nothing but a delete that others made is no commit`(policy: Policy) async throws {
        let rivals = try await Rivals(policy.value)
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change {
            try $0.object(for: id).delete()
        } theirs: {
            try $0.object(for: id).delete()
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.coordinator.snapshot.commit.number == 2)
        await rivals.expectCommitted(id)
    }

    // MARK: Rows that come back

    @Test(arguments: [Policy.objectTrump, .overwrite])
    func `R6 a row that comes back is there after reopening, its children and links stay as the delete left them`(
        policy: Policy
    ) async throws {
        let folder = try TemporaryFolder()
        let family = try await Family(policy.value, at: folder.file())
        try await family.rivals.change { context in
            try context.object(for: family.client).name = "ours"
            try context.object(for: family.accounts[1]).memo = "ours"
        } theirs: {
            try $0.object(for: family.client).delete()
        }
        #expect(await family.rivals.save() == nil)
        #expect(family.rivals.version(family.client) == 3 && family.rivals.version(family.accounts[1]) == 3)
        await family.expectCommitted()
        try await family.rivals.coordinator.close()

        let reopened = try await Coordinator.bank(at: folder.file())
        let snapshot = reopened.snapshot
        #expect(snapshot.value(for: family.client)?.name == "ours")
        #expect(snapshot.value(for: family.accounts[1])?.memo == "ours")
        #expect(snapshot.value(for: family.accounts[1])?.client.id == family.client)
        #expect(snapshot.value(for: family.client)?.advisor.id == family.advisor)
        #expect(snapshot.value(for: family.accounts[1])?.card.id == family.card)
        #expect(try snapshot.related(\Client.accounts, of: family.client) == [family.accounts[1]])
        #expect(try snapshot.related(\Client.clubs, of: family.client) == [])
        #expect(snapshot.version(of: family.client) == RowVersion(3))
        #expect(reopened.check() == [])
        // Numbers go on behind it.
        let next = try await Context(reopened).transaction { $0.insert(Account()).id }
        #expect(next.row == 4)
        try await reopened.close()
    }

    @Test func `R6 a row that comes back may be deleted and come back again, each time with a higher version`()
        async throws
    {
        let rivals = try await Rivals(.overwrite)
        let id = try await rivals.start { $0.insert(Account()).id }
        var last: UInt64 = 1
        for balance in 1...4 {
            try await rivals.change { context in
                try context.object(for: id).balance = balance
            } theirs: {
                try $0.object(for: id).delete()
            }
            #expect(await rivals.save() == nil)
            #expect(rivals.row(id)?.balance == balance && rivals.version(id) > last)
            last = rivals.version(id)
            await rivals.theirs.refresh()
        }
    }

    @Test func `R6 who knew the row before it was deleted meets a conflict when it has come back`() async throws {
        let rivals = try await Rivals(.overwrite)
        let id = try await rivals.start { $0.insert(Account()).id }
        let third = Context(rivals.coordinator)
        try await third.perform { try $0.object(for: id).memo = "third" }
        try await rivals.change {
            try $0.object(for: id).balance = 2
        } theirs: {
            try $0.object(for: id).delete()
        }
        #expect(await rivals.save() == nil)
        let error = await #expect(throws: GraphError.self) { try await third.save() }
        guard case .conflicts(let conflicts)? = error else {
            Issue.record("no conflicts")
            return
        }
        #expect(conflicts.map(\.oldVersion.number) == [1] && conflicts.map(\.newVersion.number) == [3])
        try await third.save(mergePolicy: .mergeByPropertyObjectTrump)
        #expect(rivals.row(id) == Account(balance: 2, memo: "third"))
    }

    @Test
    func `R14 a row that comes back nullifies references to what is gone, and is refused where they are required`()
        async throws
    {
        let rivals = try await Rivals(.overwrite)
        let (account, advisor, client, contract) = try await rivals.start { context in
            let account = context.insert(Account())
            let client = context.insert(Client())
            return (
                account.id, context.insert(Advisor(name: "Eve", favorite: ToOne(account.id))).id, client.id,
                context.insert(Contract(client: ToOne(client.id))).id
            )
        }
        try await rivals.change {
            try $0.object(for: advisor).name = "ours"
        } theirs: { context in
            try context.object(for: advisor).delete()
            try context.object(for: account).delete()
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(advisor) == Advisor(name: "ours"))
        await rivals.expectCommitted(advisor)

        try await rivals.change {
            try $0.object(for: contract).text = "ours"
        } theirs: { context in
            try context.object(for: contract).delete()
            try context.object(for: client).delete()
        }
        guard case .danglingReferences(let dangling)? = await rivals.save() else {
            Issue.record("saved")
            return
        }
        #expect(dangling.map(\.target) == [AnyPersistentID(client)])
        await rivals.ours.perform { $0.discard([AnyPersistentID(contract)]) }
        #expect(await rivals.ours.hasChanges == false)
        #expect(await rivals.ours.refresh() == [])
        await rivals.expectCommitted(contract)
    }

    @Test func `R12 a row that comes back takes its one-to-one inverse with it`() async throws {
        let rivals = try await Rivals(.overwrite)
        let (account, card) = try await rivals.start { context in
            let account = context.insert(Account())
            account.card = context.insert(Card(number: 1))
            return (account.id, try #require(account.card?.id))
        }
        try await rivals.change {
            try $0.object(for: account).memo = "ours"
        } theirs: { context in
            try context.object(for: account).delete()
            context.insert(Account(memo: "new", card: ToOne(card)))
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(account)?.card.id == card && rivals.row(card)?.account.id == account)
        #expect(rivals.row(Account.ID(row: 2))?.card.id == nil)
        await rivals.expectCommitted(account)
        await rivals.expectCommitted(card)
    }
}
