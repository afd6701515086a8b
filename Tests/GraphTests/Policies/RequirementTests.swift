import Testing

@testable import Graph

/// R2: rows that a save depends on without changing them.
struct RequirementTests {
    /// Ours inserts a club because of an account's balance, which theirs changes or deletes.
    private static func rivals(
        _ policy: MergePolicy,
        place: Rivals.Place = .context,
        theirs: @Sendable (isolated Context, Account.ID) throws -> Void
    ) async throws -> (Rivals, Account.ID) {
        let rivals = try await Rivals(policy, givenTo: place)
        let id = try await rivals.start { $0.insert(Account(balance: 1)).id }
        try await rivals.change { context in
            context.require(unchanged: try context.object(for: id))
            context.insert(Club(name: "new"))
            #expect(context.hasChanges && context.updatedObjects.isEmpty)
        } theirs: {
            try theirs($0, id)
        }
        return (rivals, id)
    }

    private static func hasClub(_ rivals: Rivals) -> Bool { rivals.coordinator.snapshot.count(of: Club.self) == 1 }

    @Test(arguments: Policy.allCases, Rivals.Place.allCases)
    func `R2 others changed a required row: error fails, the others pass and leave it alone`(
        policy: Policy,
        place: Rivals.Place
    ) async throws {
        let (rivals, id) = try await Self.rivals(policy.value, place: place) { try $0.object(for: $1).balance = 2 }
        if policy == .error {
            let conflict = try #require(try await rivals.conflicts().first)
            #expect(conflict.id == AnyPersistentID(id))
            #expect(conflict.oldVersion == RowVersion(1) && conflict.newVersion == RowVersion(2))
            let rows = try #require(conflict.rows(of: Account.self))
            #expect(rows.base?.balance == 1 && rows.ours?.balance == 1 && rows.theirs?.balance == 2)
            #expect(conflict.differences.map(\.property) == ["balance"])
            #expect(conflict.differences.map(\.isChangedHere) == [false])
            #expect(!Self.hasClub(rivals))
            // It goes on failing until the context has read the row anew.
            #expect(try await rivals.conflicts().count == 1)
            await rivals.ours.refresh()
        }
        #expect(await rivals.save() == nil)
        #expect(Self.hasClub(rivals) && rivals.row(id)?.balance == 2 && rivals.version(id) == 2)
        await rivals.expectCommitted(id)
    }

    @Test(arguments: Policy.allCases)
    func `R2 others deleted a required row: error fails, the others pass`(policy: Policy) async throws {
        let (rivals, id) = try await Self.rivals(policy.value) { try $0.object(for: $1).delete() }
        if policy == .error {
            let conflict = try #require(try await rivals.conflicts().first)
            #expect(conflict.newVersion == RowVersion(0) && conflict.theirs == nil)
            await rivals.ours.refresh()
            // It is gone, and that is no less a change.
            #expect(try await rivals.conflicts().count == 1)
            await rivals.ours.perform { $0.discard([AnyPersistentID(id)]) }
        }
        #expect(await rivals.save() == nil)
        #expect(Self.hasClub(rivals) && rivals.row(id) == nil)
        await rivals.expectCommitted(id)
    }

    @Test(arguments: Policy.allCases)
    func `R2 nobody changed a required row: nothing fails, nothing of it is written`(policy: Policy) async throws {
        let (rivals, id) = try await Self.rivals(policy.value) { context, _ in _ = context.insert(Account()) }
        #expect(await rivals.save() == nil)
        #expect(Self.hasClub(rivals) && rivals.version(id) == 1)
        // It has been checked, and is not required any more.
        try await rivals.change {
            $0.insert(Club())
        } theirs: {
            try $0.object(for: id).balance = 3
        }
        #expect(await rivals.save() == nil)
    }

    @Test func `R2 rules for entities are asked about required rows`() async throws {
        struct Refused: Error {}
        let rules: [(MergePolicy, Account?)] = [
            (.custom(.entity(Account.self) { _, _, _ in .keep }), Account(balance: 2)),
            (.custom(.entity(Account.self) { _, _, _ in .delete }), nil),
            (.custom(.entity(Account.self) { _, _, _ in .row(Account(memo: "merged")) }), Account(memo: "merged")),
        ]
        for (policy, expected) in rules {
            let (rivals, id) = try await Self.rivals(policy) { try $0.object(for: $1).balance = 2 }
            #expect(await rivals.save() == nil)
            #expect(Self.hasClub(rivals) && rivals.row(id) == expected)
            await rivals.expectCommitted(id)
        }
        let (rivals, _) = try await Self.rivals(.custom(.entity(Account.self) { _, _, _ in throw Refused() })) {
            try $0.object(for: $1).balance = 2
        }
        #expect(try await rivals.conflicts().map(\.reason) == ["Refused()"])
    }

    @Test func `R2 rules for properties leave required rows to what holds otherwise`() async throws {
        for policy in Policy.allCases {
            let rule = MergeRule.property(\Account.balance, .counter)
            let (rivals, id) = try await Self.rivals(.custom(rule, otherwise: policy.value)) {
                try $0.object(for: $1).balance = 2
            }
            if policy == .error { #expect(try await rivals.conflicts().count == 1) }
            if policy != .error { #expect(await rivals.save() == nil) }
            #expect(rivals.row(id)?.balance == 2)
        }
    }

    @Test func `R2 a required row that is changed here, too, conflicts once`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.change { context in
            let account = try context.object(for: id)
            context.require(unchanged: account)
            account.balance = 1
        } theirs: {
            try $0.object(for: id).balance = 2
        }
        #expect(try await rivals.conflicts().count == 1)
        #expect(await rivals.save(.mergeByPropertyObjectTrump) == nil)
        #expect(rivals.row(id)?.balance == 1)
    }

    @Test func `R2 a save of nothing but requirements fails or comes to nothing`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        try await rivals.ours.perform { $0.require(unchanged: try $0.object(for: id)) }
        #expect(await rivals.save() == nil)
        #expect(rivals.coordinator.snapshot.commit.number == 1)
        try await rivals.change {
            $0.require(unchanged: try $0.object(for: id))
        } theirs: {
            try $0.object(for: id).balance = 1
        }
        #expect(try await rivals.conflicts().count == 1)
        await rivals.ours.perform { $0.rollback() }
        #expect(await rivals.ours.hasChanges == false)
        #expect(await rivals.save() == nil)
    }

    @Test func `R2 a requirement of a transaction that throws is gone with it`() async throws {
        struct Abandoned: Error {}
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account()).id }
        await #expect(throws: Abandoned.self) {
            try await rivals.ours.transaction { context in
                context.require(unchanged: try context.object(for: id))
                throw Abandoned()
            }
        }
        try await rivals.change {
            $0.insert(Club())
        } theirs: {
            try $0.object(for: id).balance = 1
        }
        #expect(await rivals.save() == nil)
    }

    @Test func `R2 write skew is kept out by requiring what was read`() async throws {
        let rivals = try await Rivals()
        let (one, other) = try await rivals.start { context in
            (context.insert(Account(balance: 1)).id, context.insert(Account(balance: 1)).id)
        }
        // Each takes from one account because the other one has something.
        try await rivals.change { context in
            context.require(unchanged: try context.object(for: other))
            try context.object(for: one).balance = 0
        } theirs: { context in
            context.require(unchanged: try context.object(for: one))
            try context.object(for: other).balance = 0
        }
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(other)])
    }

    /// R18: a refresh says what is different from what a decision rested on.
    @Test func `R2 a refresh names required objects that others have changed`() async throws {
        let (rivals, id) = try await Self.rivals(.error) { try $0.object(for: $1).balance = 2 }
        let overlaps = await rivals.ours.refresh()
        #expect(overlaps == [RefreshConflict(id: AnyPersistentID(id), properties: ["balance"], isDeletedThere: false)])
        // The program has been told.
        #expect(await rivals.ours.refresh() == [])
        #expect(await rivals.save() == nil)
    }

    @Test func `R2 a save with retries does not look away from a required object`() async throws {
        let (rivals, _) = try await Self.rivals(.error) { try $0.object(for: $1).balance = 2 }
        let error = await #expect(throws: GraphError.self) { try await rivals.ours.save(retries: 3) }
        guard case .conflicts = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!Self.hasClub(rivals))
    }

    @Test(arguments: [false, true])
    func `R2 an object that was never saved is required of nobody`(isTransaction: Bool) async throws {
        let rivals = try await Rivals()
        let id = await rivals.ours.perform { $0.insert(Account()).id }
        if isTransaction {
            try await rivals.ours.transaction { context in
                await Task.yield()
                context.require(unchanged: try context.object(for: id))
                _ = context.insert(Club())
            }
        } else {
            let child = await Context(parent: rivals.ours)
            try await child.perform { context in
                context.require(unchanged: try context.object(for: id))
                context.insert(Club())
            }
            try await child.save()
        }
        #expect(await rivals.save() == nil)
        #expect(Self.hasClub(rivals) && rivals.version(id) == 1)
    }

    @Test func `R2 a nested context requires of its parent what is not saved yet`() async throws {
        let rivals = try await Rivals()
        let id = await rivals.ours.perform { $0.insert(Account()).id }
        let child = await Context(parent: rivals.ours)
        try await child.perform { context in
            context.require(unchanged: try context.object(for: id))
            context.insert(Club())
        }
        await rivals.ours.perform { $0[id]?.balance = 3 }
        await #expect(throws: GraphError.self) { try await child.save() }
    }

    /// R1: it has no version, and does not get one by being required.
    @Test func `R2 an object that was never saved and that a rule has come back is new`() async throws {
        let rivals = try await Rivals()
        try await rivals.start { _ = $0.insert(Club()) }
        let id = await rivals.ours.perform { $0.insert(Account()).id }
        let rule = MergeRule.entity(Account.self) { _, ours, _ in
            guard let ours else { return .keep }
            return .row(ours)
        }
        let child = await Context(parent: rivals.ours, mergePolicy: .custom(rule))
        try await child.perform { context in
            context.require(unchanged: try context.object(for: id))
            context.insert(Club())
        }
        await rivals.ours.perform { context in
            context[id]?.delete()
            context.insert(Club())
        }
        try await child.save()
        #expect(await rivals.save() == nil)
        #expect(rivals.version(id) == 1)
    }

    @Test func `R2 an object that was never saved and is gone is required of nobody`() async throws {
        let rivals = try await Rivals()
        try await rivals.start { _ = $0.insert(Club()) }
        let id = await rivals.ours.perform { $0.insert(Account()).id }
        let child = await Context(parent: rivals.ours, mergePolicy: .mergeByPropertyStoreTrump)
        try await child.perform { $0.require(unchanged: try $0.object(for: id)) }
        await rivals.ours.perform { $0[id]?.delete() }
        try await child.save()
        #expect(await rivals.ours.hasChanges == false)
    }

    @Test(arguments: [true, false])
    func `R2 an object that a save was to insert is required of nobody when that fails and it is gone`(
        hasOthers: Bool
    ) async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let context = Context(coordinator)
        let id = await context.perform { $0.insert(Person(name: "Ada")).id }
        if hasOthers { await context.perform { _ = $0.insert(Person(name: "Bob")) } }
        disk.hold()
        let save = Task { try await context.save() }
        await disk.waitForArrival()
        try await context.perform { context in
            let person = try context.object(for: id)
            context.require(unchanged: person)
            person.delete()
        }
        disk.fill()
        disk.release()
        await #expect(throws: GraphError.self) { try await save.value }
        disk.disk.stopFailing()
        #expect(await context.hasChanges == hasOthers)
        try await context.save()
        try await coordinator.close()
    }

    /// R32: what the policy took instead is others' work, of which this side knows nothing.
    @Test(arguments: [MergePolicy.rollback, .mergeByPropertyObjectTrump])
    func `R2 an object required while a policy decides about it is required as this side knew it`(
        policy: MergePolicy
    ) async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let id = try await coordinator.transaction { $0.insert(Person(name: "Ada", age: 100)).id }
        let context = Context(coordinator)
        await context.perform { $0[id]?.age = 1 }
        try await coordinator.transaction { $0[id]?.name = "Eve" }
        await context.perform { _ = $0.insert(Person(name: "Bob")) }
        disk.hold()
        let save = Task { try await context.save(mergePolicy: policy) }
        await disk.waitForArrival()
        try await context.perform { $0.require(unchanged: try $0.object(for: id)) }
        disk.release()
        try await save.value
        await context.perform { _ = $0.insert(Person(name: "Cid")) }
        await #expect(throws: GraphError.self) { try await context.save() }
        await context.rollback()
        try await coordinator.close()
    }

    /// R32: what a save makes of a row that it changes is nobody else's.
    @Test func `R2 a policy that passes over a requirement leaves the changes of that object ours`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let id = try await coordinator.transaction { $0.insert(Person(name: "Ada", age: 1)).id }
        let context = Context(coordinator)
        try await context.perform { context in
            context.automaticallyMergesChanges = true
            context.require(unchanged: try context.object(for: id))
        }
        try await coordinator.transaction { $0[id]?.age = 2 }
        while await context.perform({ $0[id]?.age }) != 2 { await Task.yield() }
        // Counts from what others have made of it, which the context has taken over.
        await context.perform { $0[id]?.age = 3 }
        disk.hold()
        let save = Task { try await context.save(mergePolicy: .mergeByPropertyObjectTrump) }
        await disk.waitForArrival()
        await context.perform { $0[id]?.delete() }
        disk.release()
        try await save.value
        try await context.save(mergePolicy: .error)
        #expect(coordinator.snapshot.value(for: id) == nil)
        try await coordinator.close()
    }

    /// The delete counts from what others have made of the object, the requirement from what was read before.
    @Test func `R2 a required object that is deleted here comes back by a rule with all its links`() async throws {
        let rule = MergeRule.entity(Club.self) { _, _, _ in .row(Club(name: "merged")) }
        let rivals = try await Rivals(.custom(rule))
        let (club, client) = try await rivals.start { context in
            let club = context.insert(Club(name: "old"))
            club.members.append(context.insert(Client()))
            return (club.id, club.members[0].id)
        }
        try await rivals.ours.perform { context in
            context.automaticallyMergesChanges = true
            context.require(unchanged: try context.object(for: club))
        }
        try await rivals.theirs.transaction { try $0.object(for: club).name = "new" }
        while await rivals.ours.perform({ $0[club]?.name }) != "new" { await Task.yield() }
        await rivals.ours.perform { $0[club]?.delete() }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(club)?.name == "merged")
        let reader = Context(rivals.coordinator)
        #expect(await reader.perform { $0[club]?.members.map(\.id) } == [client])
    }

    /// Ours has taken over what others made of a required account when it deletes the account's client, or changes the account.
    /// Then others change the client, too.
    private static func requiredOfClient(
        _ account: MergeResolution<Account>,
        ours: @Sendable (isolated Context, Client.ID, Account.ID) throws -> Void
    ) async throws -> (Rivals, Client.ID, Account.ID) {
        let rivals = try await Rivals(
            .custom(.entity(Client.self) { _, _, _ in .keep }, .entity(Account.self) { _, _, _ in account }))
        let (client, id) = try await rivals.start { context in
            let client = context.insert(Client(name: "Ada"))
            client.accounts.append(context.insert(Account(balance: 1)))
            return (client.id, client.accounts[0].id)
        }
        try await rivals.ours.perform { context in
            context.automaticallyMergesChanges = true
            context.require(unchanged: try context.object(for: id))
        }
        try await rivals.theirs.transaction { try $0.object(for: id).balance = 2 }
        while await rivals.ours.perform({ $0[id]?.balance }) != 2 { await Task.yield() }
        try await rivals.change {
            try ours($0, client, id)
        } theirs: {
            try $0.object(for: client).name = "theirs"
        }
        return (rivals, client, id)
    }

    /// R6: the delete is dropped as a whole, because of the client.
    @Test func `R2 a rule that agrees to the delete of a required object does not delete what is kept with another`()
        async throws
    {
        let (rivals, client, id) = try await Self.requiredOfClient(.delete) { context, client, _ in
            context[client]?.delete()
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(client)?.name == "theirs" && rivals.row(id)?.balance == 2)
        await rivals.expectCommitted(client)
        await rivals.expectCommitted(id)
    }

    @Test(arguments: [true, false])
    func `R2 a rule that keeps a required object drops what is changed here of it`(isDeleted: Bool) async throws {
        let (rivals, client, id) = try await Self.requiredOfClient(.keep) { context, _, id in
            if isDeleted { context[id]?.delete() } else { context[id]?.memo = "ours" }
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == Account(balance: 2, client: ToOne(client)) && rivals.version(id) == 2)
        await rivals.expectCommitted(id)
    }

    /// R6: two deletes of one row are no conflict.
    @Test func `R2 a rule that keeps a required object as others have deleted it leaves the same delete here alone`()
        async throws
    {
        let rivals = try await Rivals(.custom(.entity(Account.self) { _, _, _ in .keep }))
        let (client, id) = try await rivals.start { context in
            let client = context.insert(Client(name: "Ada"))
            client.accounts.append(context.insert(Account(balance: 1)))
            return (client.id, client.accounts[0].id)
        }
        try await rivals.change { context in
            context.require(unchanged: try context.object(for: id))
            context[client]?.delete()
        } theirs: {
            try $0.object(for: id).delete()
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(client) == nil && rivals.row(id) == nil)
        await rivals.expectCommitted(client)
        await rivals.expectCommitted(id)
    }

    @Test func `R2 a rule deletes a required object that others have deleted and brought back`() async throws {
        let rivals = try await Rivals(.custom(.entity(Account.self) { _, _, _ in .delete }))
        let id = try await rivals.start { $0.insert(Account(balance: 1)).id }
        try await rivals.ours.perform { context in
            context.automaticallyMergesChanges = true
            context.require(unchanged: try context.object(for: id))
            context.insert(Club(name: "new"))
        }
        await rivals.theirs.perform { $0.undoLimit = 10 }
        try await rivals.theirs.transaction { $0[id]?.delete() }
        while await rivals.ours.perform({ $0[id] != nil }) { await Task.yield() }
        await rivals.ours.perform { $0.automaticallyMergesChanges = false }
        await rivals.theirs.undo()
        try await rivals.theirs.save()
        #expect(rivals.row(id) == Account(balance: 1))
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == nil && Self.hasClub(rivals))
        await rivals.expectCommitted(id)
    }

    /// R34: the rule gets the object as if its reference were still there.
    @Test func `R2 a rule for a required object does not count as ours a reference that ended with its target`()
        async throws
    {
        let policy = MergePolicy.custom(
            .entity(Account.self) { _, ours, _ in
                guard var row = ours else { return .keep }
                row.memo = "merged"
                return .row(row)
            },
            otherwise: .rollback)
        let rivals = try await Rivals(policy)
        let (id, card) = try await rivals.start { context in
            let account = context.insert(Account(balance: 1))
            account.card = context.insert(Card(number: 1))
            return (account.id, try #require(account.card?.id))
        }
        try await rivals.change { context in
            context.require(unchanged: try context.object(for: id))
            context[card]?.delete()
        } theirs: { context in
            try context.object(for: id).balance = 2
            try context.object(for: card).number = 2
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(card)?.account.id == id)
        #expect(rivals.row(id) == Account(balance: 1, memo: "merged", card: ToOne(card)))
        await rivals.expectCommitted(id)
        await rivals.expectCommitted(card)
    }

    /// R32: as any row that both sides bring back.
    @Test func `R2 a required object that a rule has come back counts from what was known of it`() async throws {
        let rivals = try await Rivals()
        let id = try await rivals.start { $0.insert(Account(balance: 1)).id }
        let rule = MergeRule.entity(Account.self) { base, _, _ in
            guard var row = base else { return .keep }
            row.memo = "back"
            return .row(row)
        }
        let child = await Context(parent: rivals.ours, mergePolicy: .custom(rule))
        try await child.perform { $0.require(unchanged: try $0.object(for: id)) }
        let third = Context(rivals.coordinator, mergePolicy: .overwrite)
        await third.perform { $0[id]?.balance = 10 }
        try await rivals.change { _ in
        } theirs: {
            $0[id]?.delete()
        }
        await rivals.ours.refresh()
        await child.refresh()
        try await child.save()
        try await third.save()
        await rivals.ours.refresh()
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == Account(balance: 10, memo: "back"))
    }
}
