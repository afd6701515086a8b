import Testing

@testable import Graph

/// R18: moving a context's base with changes pending, and what objects say of themselves then.
struct OverlapTests {
    @Test func `R18 a refresh gives the objects and properties that both sides changed`() async throws {
        let rivals = try await Rivals()
        let ids = try await rivals.start { context in (0...6).map { context.insert(Account(balance: $0)).id } }
        try await rivals.change { context in
            // Another property; the same one; the same one alike; deleted there; deleted here; on both sides; here alone.
            context[ids[0]]?.memo = "ours"
            for (index, id) in ids[1...3].enumerated() { context[id]?.balance = 100 + index }
            context[ids[1]]?.memo = "ours"
            context[ids[4]]?.delete()
            context[ids[5]]?.delete()
            context[ids[6]]?.memo = "ours"
            context.insert(Account())
        } theirs: { context in
            context[ids[0]]?.balance = 200
            context[ids[1]]?.balance = 201
            context[ids[1]]?.memo = "theirs"
            context[ids[2]]?.balance = 101
            context[ids[3]]?.delete()
            context[ids[4]]?.balance = 204
            context[ids[5]]?.delete()
        }
        let overlaps = await rivals.ours.refresh()
        #expect(
            overlaps == [
                RefreshConflict(id: AnyPersistentID(ids[1]), properties: ["balance", "memo"], isDeletedThere: false),
                RefreshConflict(id: AnyPersistentID(ids[2]), properties: ["balance"], isDeletedThere: false),
                RefreshConflict(id: AnyPersistentID(ids[3]), properties: [], isDeletedThere: true),
                RefreshConflict(id: AnyPersistentID(ids[4]), properties: [], isDeletedThere: false),
            ]
        )
        await rivals.ours.perform { context in
            #expect(context[ids[0]]?.value == Account(balance: 200, memo: "ours"))
            #expect(context[ids[1]]?.value == Account(balance: 100, memo: "ours"))
            #expect(context[ids[2]]?.hasChanges == false && context[ids[2]]?.balance == 101)
            #expect(context[ids[3]] == nil && context[ids[4]] == nil && context[ids[5]] == nil)
        }
        #expect(await rivals.ours.refresh() == [])
        // The next save counts from there; the row that others deleted is all that conflicts.
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(ids[3])])
        await rivals.ours.perform { $0.discard([AnyPersistentID(ids[3])]) }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(ids[1]) == Account(balance: 100, memo: "ours") && rivals.row(ids[4]) == nil)
    }

    @Test func `R18 a refresh without changes, or without commits, finds no overlaps`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.theirs.transaction { try $0.object(for: id).balance = 1 }
        #expect(await rivals.ours.refresh() == [])
        try await rivals.ours.perform { try $0.object(for: id).balance = 2 }
        #expect(await rivals.ours.refresh() == [])
        #expect(await rivals.save() == nil)
    }

    /// R34: a reference that ended with its target is no change of the object that held it.
    @Test func `R18 a refresh does not name objects that only nullify references to deleted ones`() async throws {
        let rivals = try await Rivals()
        let (account, advisor) = try await rivals.start { context in
            let account = context.insert(Account())
            let advisor = context.insert(Advisor())
            advisor.favorite = account
            return (account.id, advisor.id)
        }
        try await rivals.change {
            $0[account]?.delete()
        } theirs: {
            $0[advisor]?.delete()
        }
        #expect(await rivals.ours.refresh() == [])
        #expect(await rivals.save() == nil)
    }

    @Test func `R18 a refresh names what both sides changed of an object that others have brought back`() async throws {
        let rivals = try await Rivals()
        let ids = try await rivals.start { context in (0..<2).map { context.insert(Account(balance: $0)).id } }
        let third = Context(rivals.coordinator, mergePolicy: .overwrite)
        await third.perform { context in
            context[ids[0]]?.balance = 10
            context[ids[1]]?.balance = 11
        }
        try await rivals.change { context in
            context[ids[0]]?.balance = 20
            context[ids[1]]?.memo = "ours"
        } theirs: { context in
            for id in ids { context[id]?.delete() }
        }
        #expect(await rivals.ours.refresh().map(\.isDeletedThere) == [true, true])
        try await third.save()
        let overlap = RefreshConflict(id: AnyPersistentID(ids[0]), properties: ["balance"], isDeletedThere: false)
        #expect(await rivals.ours.refresh() == [overlap])
        #expect(await rivals.save() == nil)
        #expect(rivals.row(ids[0])?.balance == 20)
        #expect(rivals.row(ids[1]) == Account(balance: 11, memo: "ours"))
    }

    @Test func `R18 a nested context's refresh compares with its parent`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        let child = await Context(parent: rivals.ours)
        try await child.perform { try $0.object(for: id).balance = 1 }
        try await rivals.theirs.transaction { try $0.object(for: id).balance = 2 }
        #expect(await child.refresh() == [])
        try await rivals.ours.perform { try $0.object(for: id).balance = 3 }
        let overlaps = await child.refresh()
        #expect(overlaps.map(\.id) == [AnyPersistentID(id)] && overlaps.map(\.properties) == [["balance"]])
        let balance = await child.perform { $0[id]?.balance }
        #expect(balance == 1)
    }

    @Test(arguments: [true, false])
    func `R18 an object's refresh moves the context, and keeps its changes or drops them`(mergesChanges: Bool)
        async throws
    {
        let rivals = try await Rivals()
        let (one, other) = try await rivals.start { ($0.insert(Account()).id, $0.insert(Account()).id) }
        try await rivals.change { context in
            context[one]?.memo = "ours"
            context[other]?.memo = "ours"
        } theirs: { context in
            context[one]?.balance = 1
            context[other]?.balance = 1
            context.insert(Account(memo: "new"))
        }
        try await rivals.ours.perform { context throws in
            let account = try #require(context[one])
            account.refresh(mergeChanges: mergesChanges)
            #expect(account.value == Account(balance: 1, memo: mergesChanges ? "ours" : ""))
            #expect(account.hasChanges == mergesChanges && account.version == RowVersion(2))
            #expect(context[other]?.value == Account(balance: 1, memo: "ours"))
            #expect(try context.fetchCount(Account.self) == 3)
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(one) == Account(balance: 1, memo: mergesChanges ? "ours" : ""))
    }

    /// R32: it has looked at one object.
    @Test func `R18 an object's refresh leaves the conflicts of others`() async throws {
        let rivals = try await Rivals()
        let (one, other) = try await rivals.start { ($0.insert(Account()).id, $0.insert(Account()).id) }
        try await rivals.change { context in
            context[one]?.balance += 1
            context[other]?.balance += 1
        } theirs: { context in
            context[one]?.balance += 10
            context[other]?.balance += 10
        }
        await rivals.ours.perform { $0[one]?.refresh(mergeChanges: true) }
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(other)])
        #expect(await rivals.save(.custom(.property(\Account.balance, .counter))) == nil)
        #expect(rivals.row(one)?.balance == 1 && rivals.row(other)?.balance == 11)
    }

    @Test func `R18 an object's refresh does nothing to a nested context's state`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        let child = await Context(parent: rivals.ours)
        try await rivals.ours.perform { try $0.object(for: id).balance = 1 }
        try await child.perform { context in
            let account = try context.object(for: id)
            account.memo = "child"
            account.refresh(mergeChanges: true)
            #expect(account.balance == 0 && account.memo == "child")
            account.refresh(mergeChanges: false)
            #expect(account.balance == 0 && account.memo == "" && !context.hasChanges)
        }
    }

    @Test func `R18 an object that others deleted says so after its refresh`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account(memo: "last")).id }
        try await rivals.theirs.transaction { try $0.object(for: id).delete() }
        try await rivals.ours.perform { context in
            let account = try context.object(for: id)
            account.refresh(mergeChanges: true)
            #expect(account.isDeleted && account.memo == "last" && context[id] == nil)
            account.refresh(mergeChanges: false)
            #expect(account.isDeleted && !context.hasChanges)
        }
    }

    @Test(.bug(id: "compared with what it had read before", "the refresh had no effect on the save"))
    func `R18 an object's refresh has its delete and its requirement compared with what it read`() async throws {
        let rivals = try await Rivals()
        let ids = try await rivals.start { context in (0..<4).map { context.insert(Account(balance: $0)).id } }
        try await rivals.change { context in
            context[ids[0]]?.delete()
            context[ids[1]]?.delete()
            for id in ids[2...] { try context.require(unchanged: context.object(for: id)) }
        } theirs: { context in
            for id in ids { context[id]?.memo = "theirs" }
        }
        let objects = await rivals.ours.perform { context in
            for id in [ids[0], ids[2]] { context.registeredObject(for: id)?.refresh(mergeChanges: true) }
            return context.registeredObject(for: ids[0])?.isDeleted
        }
        #expect(objects == true)
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(ids[1]), AnyPersistentID(ids[3])])
        await rivals.ours.perform { context in
            for id in [ids[1], ids[3]] { context.registeredObject(for: id)?.refresh(mergeChanges: true) }
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(ids[0]) == nil && rivals.row(ids[1]) == nil && rivals.row(ids[3])?.memo == "theirs")
    }

    @Test(.bug(id: "R36 not told to the undo history", "what an undo goes back to met the conflict again"))
    func `R36 an undo goes back to changes that an object's refresh has compared`() async throws {
        let rivals = try await Rivals()
        let (one, other) = try await rivals.start { ($0.insert(Account()).id, $0.insert(Account()).id) }
        await rivals.ours.perform { $0.undoLimit = 10 }
        try await rivals.change { context in
            for id in [one, other] { context[id]?.balance = 1 }
        } theirs: { context in
            for id in [one, other] { context[id]?.balance = 2 }
        }
        await rivals.ours.perform { $0[one]?.memo = "later" }
        await rivals.ours.perform { $0[one]?.refresh(mergeChanges: true) }
        #expect(await rivals.ours.undo().isEmpty)
        await rivals.ours.perform { #expect($0[one]?.value == Account(balance: 1)) }
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(other)])
        await rivals.ours.perform { $0[other]?.refresh(mergeChanges: false) }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(one)?.balance == 1 && rivals.row(other)?.balance == 2)
    }

    // MARK: Reset, changed values, retained objects

    @Test func `R18 a reset drops changes, reads the newest state and forgets retained objects`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        let inserted = await rivals.ours.perform { $0.insert(Account(memo: "new")).id }
        try await rivals.change {
            try $0.object(for: id).balance = 1
        } theirs: {
            try $0.object(for: id).balance = 2
        }
        await rivals.ours.perform { #expect($0.registeredObject(for: id) != nil) }
        await rivals.ours.reset()
        await rivals.ours.perform { context in
            #expect(context.registeredObject(for: id) == nil && context.registeredObject(for: inserted) == nil)
            #expect(!context.hasChanges && context[id]?.balance == 2 && context[inserted] == nil)
        }
        await rivals.expectCommitted(id)
    }

    @Test func `R18 changed values are those that differ from what the context read`() async throws {
        let rivals = try await Rivals()
        let (id, client) = try await rivals.start { context in
            (context.insert(Account(balance: 1, memo: "memo")).id, context.insert(Client()).id)
        }
        try await rivals.ours.perform { context in
            let account = try context.object(for: id)
            #expect(account.changedValues.isEmpty)
            account.balance = 2
            account.client = try context.object(for: client)
            let values = account.changedValues
            #expect(Set(values.keys) == ["balance", "client"])
            #expect(values["balance"] as? Int == 2 && (values["client"] as? ToOne<Client>)?.id == client)
            // The client's side is the account's.
            #expect(try context.object(for: client).changedValues.isEmpty)
            account.balance = 1
            account.client = nil
            #expect(account.changedValues.isEmpty)
            account.memo = "ours"
            let card = context.insert(Card(number: 3))
            #expect(Set(card.changedValues.keys) == ["number", "account"])
            card.delete()
            #expect(card.changedValues.isEmpty)
        }
        // After a refresh, from the new base on.
        try await rivals.theirs.transaction { try $0.object(for: id).memo = "ours" }
        await rivals.ours.refresh()
        let names = await rivals.ours.perform { Set($0[id]?.changedValues.keys.map { $0 } ?? []) }
        #expect(names == [])
        await rivals.ours.perform { $0[id]?.delete() }
        let count = await rivals.ours.perform { $0.registeredObject(for: id)?.changedValues.count }
        #expect(count == 0)
    }

    @Test func `R17 objects that nobody holds are kept only if the context retains them, or they have changes`()
        async throws
    {
        let coordinator = try await Coordinator.bank()
        let context = Context(coordinator)
        let ids = try await context.transaction { context in (1...2).map { context.insert(Account(balance: $0)).id } }
        #expect(await context.retainsRegisteredObjects == false)
        await context.perform { _ = $0[ids[0]] }
        await context.perform { context in
            #expect(context.registeredObject(for: ids[0]) == nil)
            context[ids[0]]?.balance = 9
        }
        await context.perform { context in
            #expect(context.registeredObject(for: ids[0])?.balance == 9)
            context.rollback()
            context.retainsRegisteredObjects = true
            _ = context[ids[1]]
        }
        await context.perform { context in
            #expect(context.registeredObject(for: ids[1])?.balance == 2)
            context.retainsRegisteredObjects = false
        }
        await context.perform { #expect($0.registeredObject(for: ids[1]) == nil) }
    }
}
