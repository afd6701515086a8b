import Testing

@testable import Graph

/// R22: undo where other rules meet it.
struct UndoEdgeTests {
    private static func store() async throws -> Coordinator {
        try await Coordinator(
            for: Account.self, Client.self, Club.self, Card.self, Advisor.self, Contract.self, checksEveryCommit: true)
    }

    @Test func `R22 a smaller limit keeps the last groups, also those that a rollback spares`() async throws {
        let context = Context(try await Self.store())
        await context.limit(10)
        let id = try await context.transaction { $0.insert(Account()).id }
        for balance in 1...5 { try await context.transaction { $0[id]?.balance = balance } }
        await context.limit(2)
        await context.rollback()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.balance } == 4)
    }

    @Test func `R36 each save of a nested context is a group of its own`() async throws {
        let context = Context(try await Self.store())
        await context.limit(10)
        let id = try await context.transaction { $0.insert(Account()).id }
        let nested = await Context(parent: context)
        for balance in 1...2 {
            await nested.perform { $0[id]?.balance = balance }
            try await nested.save()
        }
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.balance } == 1)
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.balance } == 0)
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[id]?.balance } == 1)
    }

    @Test(arguments: [false, true]) func `R22 a related object that was taken from another goes back`(isReversed: Bool)
        async throws
    {
        let context = Context(try await Self.store())
        await context.limit(10)
        let (accounts, card) = try await context.transaction { context in
            let accounts = [context.insert(Account()), context.insert(Account())]
            let card = context.insert(Card(number: 1))
            accounts[isReversed ? 1 : 0].card = card
            return (accounts.map(\.id), card.id)
        }
        let (first, second) = isReversed ? (accounts[1], accounts[0]) : (accounts[0], accounts[1])
        await context.perform { $0[second]?.card = $0[card] }
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[card]?.account?.id } == first)
        #expect(await context.hasChanges == false)
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[card]?.account?.id } == second)
        try await context.save()
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[card]?.account?.id } == first)
        try await context.save()
    }

    @Test func `R22 related objects that were swapped are swapped back`() async throws {
        let context = Context(try await Self.store())
        await context.limit(10)
        let (accounts, cards) = try await context.transaction { context in
            let accounts = [context.insert(Account()), context.insert(Account())]
            let cards = [context.insert(Card(number: 1)), context.insert(Card(number: 2))]
            for (account, card) in zip(accounts, cards) { account.card = card }
            return (accounts.map(\.id), cards.map(\.id))
        }
        await context.perform { context in
            context[accounts[0]]?.card = context[cards[1]]
            context[accounts[1]]?.card = context[cards[0]]
        }
        #expect(await context.undo() == [])
        #expect(await context.perform { context in accounts.map { context[$0]?.card?.id } } == cards)
        #expect(await context.hasChanges == false)
    }

    @Test func `R22 a deleted object gets its related object back from the one that took it`() async throws {
        let context = Context(try await Self.store())
        await context.limit(10)
        let (accounts, card) = try await context.transaction { context in
            let accounts = [context.insert(Account()), context.insert(Account())]
            let card = context.insert(Card(number: 1))
            accounts[0].card = card
            return (accounts.map(\.id), card.id)
        }
        await context.perform { context in
            context[accounts[0]]?.delete()
            context[accounts[1]]?.card = context[card]
        }
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[accounts[0]]?.card?.id } == card)
        #expect(await context.hasChanges == false)
    }

    @Test func `R22 an insert stays where what others have added would go with it`() async throws {
        let coordinator = try await Self.store()
        let context = Context(coordinator)
        await context.limit(10)
        let client = try await context.transaction { $0.insert(Client(name: "client")).id }
        let account = try await coordinator.transaction { context in
            let account = context.insert(Account(balance: 100))
            account.client = context[client]
            return account.id
        }
        await context.refresh()
        let remainders = await context.undo()
        #expect(remainders == [UndoConflict(id: AnyPersistentID(client), property: nil)])
        #expect(await context.perform { $0[account]?.balance } == 100)
    }

    @Test func `a reset leaves nothing to undo`() async throws {
        let context = Context(try await Self.store())
        await context.limit(10)
        let id = try await context.transaction { $0.insert(Account()).id }
        try await context.transaction { $0[id]?.balance = 1 }
        await context.reset()
        #expect(await context.canUndo == false)
    }

    @Test func `R22 what was changed while a transaction's save failed is a group`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        await context.limit(10)
        let id = try await context.transaction { $0.insert(Person(name: "one")).id }
        disk.hold()
        let save = Task {
            try await context.transaction { context in
                context[id]?.age = 1
                context.insert(Person(name: "two"))
            }
        }
        await disk.waitForArrival()
        await context.perform { $0[id]?.name = "later" }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await save.value }
        #expect(await context.perform { $0[id]?.name } == "later")
        #expect(await context.perform { $0[id]?.age } == 0)
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.name } == "one")
        #expect(await context.hasChanges == false)
        #expect(await context.redo() == [])
        #expect(await context.perform { $0[id]?.name } == "later")
        #expect(await context.perform { $0[id]?.age } == 0)
        #expect(try await context.perform { try $0.fetchCount(Person.self) } == 1)
        try await coordinator.close()
    }

    @Test func `R22 a delete is undone after the save of the insert failed meanwhile`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        await context.limit(10)
        let id = await context.perform { $0.insert(Person(name: "one")).id }
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        await context.perform { $0[id]?.delete() }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await save.value }
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.name } == "one")
        try await context.transaction { _ = $0.insert(Team(name: "other")) }
        #expect(coordinator.snapshot.version(of: id)?.number == 1)
        try await coordinator.close()
    }

    @Test func `R22 a delete that was undone is denied no more by what denied it`() async throws {
        let coordinator = try await Coordinator(for: Guild.self, Member.self, checksEveryCommit: true)
        let context = Context(coordinator)
        await context.limit(10)
        let (guild, member) = try await context.transaction { context in
            let (guild, member) = (context.insert(Guild()), context.insert(Member()))
            guild.members.append(member)
            return (guild.id, member.id)
        }
        await context.perform { $0[guild]?.delete() }
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[guild]?.members.count } == 1)
        await context.perform { context in
            if let object = context[member] { context[guild]?.members.remove(object) }
            context[guild]?.delete()
        }
        try await context.save()
        #expect(coordinator.snapshot.count(of: Guild.self) == 0)
    }

    @Test func `R22 nothing is undone while an explicit group is open`() async throws {
        let context = Context(try await Self.store())
        await context.limit(10)
        let id = try await context.transaction { $0.insert(Account()).id }
        await context.perform { $0[id]?.balance = 1 }
        await context.beginUndoGroup()
        await context.perform { $0[id]?.balance = 2 }
        #expect(await context.canUndo == false)
        #expect(await context.undo() == [])
        #expect(await context.perform { $0[id]?.balance } == 2)
        await context.endUndoGroup()
        await context.undo()
        #expect(await context.perform { $0[id]?.balance } == 1)
        await context.undo()
        #expect(await context.perform { $0[id]?.balance } == 0)
    }
}

@Entity private struct Guild {
    var name = ""
    @Relationship(.deny, inverse: \Member.guilds) var members: ToMany<Member> = []
}

@Entity private struct Member {
    var name = ""
    var guilds: ToMany<Guild> = []
}

extension Context {
    fileprivate func limit(_ limit: Int) { undoLimit = limit }
}
