import Testing

@testable import Graph

/// R23, R23a and R25: what both sides changed stays a conflict while the context moves by itself, whatever the values are, until
/// somebody says what is to become of it.
struct KeptConflictTests {
    /// A context that has merged what others committed to the object that it had changed itself.
    private static func merged(
        _ policy: MergePolicy = .error,
        ours: @escaping @Sendable (Account.Object) -> Void,
        theirs: @escaping @Sendable (Account.Object) -> Void
    ) async throws -> (Context, Account.ID) {
        let coordinator = try await Coordinator.bank()
        let id = try await coordinator.transaction { $0.insert(Account(balance: 100)).id }
        let context = Context(coordinator, mergePolicy: policy)
        await context.perform { context in
            context.undoLimit = 5
            context.automaticallyMergesChanges = true
            if let account = context[id] { ours(account) }
        }
        try await coordinator.transaction { if let account = $0[id] { theirs(account) } }
        while await context.commit < coordinator.snapshot.commit { await Task.yield() }
        return (context, id)
    }

    @Test func `R23 two increments are a conflict, though both sides have the same value`() async throws {
        let (context, id) = try await Self.merged {
            $0.balance += 1
        } theirs: {
            $0.balance += 1
            $0.memo = "theirs"
        }
        await context.perform { context in
            #expect(context[id]?.balance == 101 && context[id]?.memo == "theirs")
            #expect(context[id]?.hasChanges == true)
            #expect(context.hasChanges == true)
            #expect(context[id]?.version == RowVersion(1))
            #expect(context[id]?.changedValues.keys.sorted() == ["balance"])
        }
        do {
            try await context.save()
            Issue.record("one of two increments was lost")
        } catch {
            guard case .conflicts(let conflicts) = error else { throw error }
            #expect(conflicts.map(\.id) == [AnyPersistentID(id)])
            #expect(conflicts[0].oldVersion == RowVersion(1) && conflicts[0].newVersion == RowVersion(2))
            let difference = conflicts[0].differences.first { $0.property == "balance" }
            #expect(difference?.isChangedHere == true && difference?.isChangedThere == true)
        }
    }

    @Test func `R23 two increments add up under a policy that counts`() async throws {
        let policy = MergePolicy.custom(.property(\Account.balance, .counter))
        let (context, id) = try await Self.merged(policy) {
            $0.balance += 1
        } theirs: {
            $0.balance += 1
        }
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: id)?.balance == 102)
    }

    @Test func `R32 a property that only others changed counts from their value, conflict or not`() async throws {
        let (context, id) = try await Self.merged(.mergeByPropertyObjectTrump) {
            $0.balance = 1
        } theirs: {
            $0.balance = 2
            $0.memo = "theirs"
        }
        // Back to what it was before theirs: a change all the same, since this side has seen theirs.
        await context.perform { $0[id]?.memo = "" }
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: id) == Account(balance: 1, memo: ""))
    }

    /// As the context knew it last: it may take over two commits one after the other, or only the second one.
    @Test(arguments: [true, false])
    func `R32 an object that others changed and then deleted shows what is pending of it, and comes back so`(
        isChangeSeen: Bool
    ) async throws {
        let coordinator = try await Coordinator.bank()
        let id = try await coordinator.transaction { $0.insert(Account(balance: 100)).id }
        let context = Context(coordinator, mergePolicy: .mergeByPropertyObjectTrump)
        await context.perform { context in
            context.automaticallyMergesChanges = isChangeSeen
            context[id]?.memo = "ours"
        }
        try await coordinator.transaction { $0[id]?.balance = 7 }
        if isChangeSeen { while await context.commit < coordinator.snapshot.commit { await Task.yield() } }
        try await coordinator.transaction { $0[id]?.delete() }
        await context.perform { $0.automaticallyMergesChanges = true }
        while await context.commit < coordinator.snapshot.commit { await Task.yield() }
        let expected = Account(balance: isChangeSeen ? 7 : 100, memo: "ours")
        await context.perform { context in
            #expect(context[id] == nil)
            let objects = context.updatedObjects.compactMap { $0 as? Account.Object }
            #expect(objects.map(\.value) == [expected])
            #expect(objects.first?.committedValue?.balance == expected.balance)
            #expect(objects.first?.version == RowVersion(isChangeSeen ? 2 : 1))
        }
        try await context.save()
        #expect(coordinator.snapshot.value(for: id) == expected)
    }

    @Test func `R23 a change that is taken back by hand shows the value of now, and is over`() async throws {
        let (context, id) = try await Self.merged(.mergeByPropertyObjectTrump) {
            $0.balance = 1
        } theirs: {
            $0.balance = 7
        }
        await context.perform { context in
            let account = context[id]
            account?.balance = 100
            #expect(context.hasChanges == false)
            #expect(account?.balance == 7 && account?.hasChanges == false && account?.version == RowVersion(2))
        }
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: id)?.balance == 7)
        #expect(context.coordinator.snapshot.commit == CommitNumber(2))
    }

    @Test func `R33 after a refresh that named the overlap, the value of before is a value like any other`()
        async throws
    {
        let (context, id) = try await Self.merged {
            $0.balance = 1
        } theirs: {
            $0.balance = 7
        }
        let overlaps = await context.refresh()
        #expect(overlaps == [RefreshConflict(id: AnyPersistentID(id), properties: ["balance"], isDeletedThere: false)])
        await context.perform { context in
            context[id]?.balance = 100
            #expect(context[id]?.hasChanges == true && context[id]?.committedValue?.balance == 7)
        }
        try await context.save()
        #expect(context.coordinator.snapshot.value(for: id)?.balance == 100)
    }

    @Test func `R22 a change that is undone shows the value of now, and is over`() async throws {
        for isExplicit in [false, true] {
            let (context, id) = try await Self.merged(.mergeByPropertyObjectTrump) {
                $0.balance = 1
            } theirs: {
                $0.balance = 7
            }
            if isExplicit { await context.refresh() }
            let remainders = await context.undo()
            #expect(remainders == [UndoConflict(id: AnyPersistentID(id), property: "balance")])
            await context.perform { context in
                #expect(context.hasChanges == false)
                #expect(context[id]?.balance == 7)
                #expect(context.redo() == [])
                #expect(context[id]?.balance == 1)
                #expect(context.undo() == [])
                #expect(context[id]?.balance == 7)
            }
            try await context.save()
            #expect(context.coordinator.snapshot.value(for: id)?.balance == 7)
        }
    }

    @Test func `R23 a discarded object is as others have it`() async throws {
        let (context, id) = try await Self.merged {
            $0.balance = 1
        } theirs: {
            $0.balance = 1
            $0.memo = "theirs"
        }
        await context.perform { context in
            context[id]?.discardChanges()
            #expect(context.hasChanges == false)
            #expect(context[id]?.value == Account(balance: 1, memo: "theirs"))
            #expect(context[id]?.version == RowVersion(2))
        }
        try await context.save()
    }

    /// Its row is as others have it before it is discarded; what is published then are the rows of the context.
    @Test func `R1 a discarded object has the version that others gave it`() async throws {
        let (context, id) = try await Self.merged {
            $0.balance = 1
            $0.memo = "ours"
        } theirs: {
            $0.balance = 1
        }
        try await context.coordinator.transaction { $0[id]?.points = 1 }
        while await context.commit < context.coordinator.snapshot.commit { await Task.yield() }
        let other = await context.perform { context in
            context[id]?.memo = ""
            context[id]?.discardChanges()
            #expect(context.hasChanges == false)
            return context.insert(Account()).id
        }
        try await context.save()
        #expect(context.coordinator.snapshot.version(of: id) == RowVersion(3))
        #expect(context.coordinator.snapshot.version(of: other) == RowVersion(1))
    }

    /// Here the card has gone from one account to another, of which others know nothing.
    @Test func `R32 an object whose inverse was nullified here is no overlap`() async throws {
        let coordinator = try await Coordinator.bank()
        let (first, second, card) = try await coordinator.transaction { context in
            let (first, second) = (context.insert(Account()), context.insert(Account()))
            let card = context.insert(Card())
            second.card = card
            return (first.id, second.id, card.id)
        }
        let context = Context(coordinator)
        await context.perform { context in
            context.automaticallyMergesChanges = true
            context[first]?.card = context[card]
        }
        try await coordinator.transaction { _ = $0.insert(Advisor()) }
        while await context.commit < coordinator.snapshot.commit { await Task.yield() }
        await context.perform { context in
            context[second]?.card = context[card]
            #expect(context.hasChanges == false)
            #expect(context.updatedObjects.isEmpty)
        }
    }

    /// The reference that the discarded object had taken over is as it was known again, which is no change any more.
    @Test func `R23 what discarding another object takes back is as others have it`() async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let (team, person) = try await coordinator.transaction { context in
            (context.insert(Team(name: "ours")).id, context.insert(Person(name: "Ada")).id)
        }
        let context = Context(coordinator)
        let other = await context.perform { context in
            context.automaticallyMergesChanges = true
            let other = context.insert(Team(name: "other"))
            context[person]?.team = other
            return other.id
        }
        try await coordinator.transaction { $0[person]?.team = $0[team] }
        while await context.commit < coordinator.snapshot.commit { await Task.yield() }
        await context.perform { context in
            #expect(context[person]?.team?.id == other)
            context[other]?.discardChanges()
            #expect(context[person]?.team?.id == team && context[team]?.members.ids == [person])
            #expect(context.hasChanges == false)
        }
    }

    /// R23a: what is changed while a save is in flight counts from what that save took.
    @Test func `R23a a change made while a policy dropped its predecessor is a conflict`() async throws {
        let disk = GatedDisk()
        let coordinator = try await Coordinator.people(on: disk)
        let id = try await coordinator.transaction { $0.insert(Person(name: "Ada", age: 100)).id }
        let context = Context(coordinator)
        await context.perform { $0[id]?.age = 1 }
        try await coordinator.transaction { $0[id]?.age = 7 }
        // Something else that there is to write.
        await context.perform { _ = $0.insert(Person(name: "Bob")) }
        disk.hold()
        async let save: Void = context.save(mergePolicy: .rollback)
        await disk.waitForArrival()
        // Others' version of now is the one that the dropped change would have had.
        await context.perform { $0[id]?.age += 1 }
        disk.release()
        try await save
        await #expect(throws: GraphError.self) { try await context.save() }
        #expect(coordinator.snapshot.value(for: id)?.age == 7)
        await context.rollback()
        try await coordinator.close()
    }
}

extension Context {
    fileprivate var commit: CommitNumber { state.base.commit }
}
