import Testing

@testable import Graph

/// R20: transactions, with bodies that wait and bodies that do not.
struct TransactionTests {
    /// Whether the body may wait.
    enum Shape: CaseIterable, Sendable {
        case synchronous, asynchronous
    }

    private struct Abandoned: Error {}

    private let coordinator: Coordinator
    private let context: Context

    init() async throws {
        coordinator = try await .bank()
        context = Context(coordinator)
    }

    /// Runs a transaction of either shape, which is abandoned at its end if that is wanted. Gives what it failed by.
    private func transaction(
        _ shape: Shape,
        mergePolicy: MergePolicy? = nil,
        isAbandoned: Bool = false,
        on context: Context? = nil,
        _ body: @Sendable (isolated Context) throws -> Void
    ) async -> (any Error)? {
        let context = context ?? self.context
        do {
            switch shape {
            case .synchronous:
                try await context.transaction(mergePolicy: mergePolicy) { context in
                    try body(context)
                    if isAbandoned { throw Abandoned() }
                }
            case .asynchronous:
                try await context.transaction(mergePolicy: mergePolicy) { context in
                    await Task.yield()
                    try body(context)
                    await Task.yield()
                    if isAbandoned { throw Abandoned() }
                }
            }
            return nil
        } catch {
            return error
        }
    }

    private func row<E>(_ id: PersistentID<E>) -> E? { coordinator.snapshot.value(for: id) }

    // MARK: Saving

    @Test(arguments: Shape.allCases)
    func `R20 a transaction saves at its end, earlier pending changes included`(shape: Shape) async throws {
        let (one, other) = (try await context.account(), try await context.account())
        await context.perform { $0[one]?.balance = 1 }
        let error = await transaction(shape) { context in
            #expect(context[one]?.balance == 1)
            context[other]?.balance = 2
            context.insert(Account(balance: 3))
        }
        #expect(error == nil)
        #expect(try coordinator.snapshot.fetchValues(Account.self).map(\.balance) == [1, 2, 3])
        #expect(coordinator.snapshot.commit.number == 3)
        #expect(await context.hasChanges == false)
    }

    @Test func `R20 a transaction gives back what its body does`() async throws {
        let first = try await context.transaction { $0.insert(Account(balance: 1)).id }
        let second = try await context.transaction { context in
            await Task.yield()
            return context.insert(Account(balance: 2)).id
        }
        #expect(row(first)?.balance == 1 && row(second)?.balance == 2)
        #expect(try await context.ownTransaction(of: first) == 11)
        #expect(row(first)?.balance == 11)
    }

    @Test(arguments: Shape.allCases)
    func `R20 objects made in a transaction's body are the context's afterwards`(shape: Shape) async throws {
        let id = try await context.account()
        await context.perform { $0.retainsRegisteredObjects = true }
        await context.perform { _ = $0[id] }
        _ = await transaction(shape) { $0[id]?.balance = 5 }
        await context.perform { context in
            #expect(context.registeredObject(for: id)?.balance == 5)
            #expect(context.registeredObject(for: id)?.version == RowVersion(2))
        }
    }

    // MARK: Undoing

    private struct Family: Sendable {
        let client: Client.ID
        let accounts: [Account.ID]
        let clubs: [Club.ID]
        let card: Card.ID
    }

    private func family() async throws -> Family {
        try await context.transaction { context in
            let client = context.insert(Client(name: "Ada"))
            let accounts = (1...3).map { context.insert(Account(balance: $0)) }
            client.accounts.append(contentsOf: accounts)
            let clubs = (1...3).map { context.insert(Club(name: "\($0)")) }
            client.clubs.append(contentsOf: [clubs[1], clubs[0]])
            accounts[1].card = context.insert(Card(number: 7))
            return Family(
                client: client.id,
                accounts: accounts.map(\.id),
                clubs: clubs.map(\.id),
                card: try #require(accounts[1].card?.id)
            )
        }
    }

    /// Everything that a context shows of a bank.
    private func shown(_ context: Context? = nil) async throws -> [String] {
        try await (context ?? self.context).perform { context throws in
            var lines: [String] = []
            for client in try context.fetch(Client.self) {
                lines.append("\(client.debugDescription) \(client.version) \(client.accounts) \(client.clubs)")
            }
            for club in try context.fetch(Club.self) { lines.append("\(club.debugDescription) \(club.members)") }
            for account in try context.fetch(Account.self) {
                lines.append("\(account.debugDescription) \(account.version)")
            }
            for card in try context.fetch(Card.self) { lines.append(card.debugDescription) }
            for advisor in try context.fetch(Advisor.self) { lines.append(advisor.debugDescription) }
            let changes = [context.insertedObjects, context.updatedObjects, context.deletedObjects]
            return lines + changes.map { "\($0.map(\.anyID))" } + ["\(context.hasChanges)"]
        }
    }

    /// What is pending before a transaction begins.
    private func changeBefore(_ family: Family) async {
        await context.perform { context in
            context[family.client]?.name = "before"
            context[family.accounts[0]]?.balance = 100
            context[family.client]?.accounts.move(from: 2, to: 0)
            context[family.client]?.clubs.append(context.insert(Club(name: "before")))
            context.insert(Card(number: 8))
            context[family.clubs[2]]?.delete()
        }
    }

    /// Changes of every kind, to what was changed before, too.
    private static func changeEverything(_ context: isolated Context, _ family: Family) throws {
        let client = try context.object(for: family.client)
        client.name = "within"
        context[family.accounts[0]]?.balance = 200
        context[family.accounts[0]]?.card = context[family.card]
        client.accounts.move(from: 0, to: 2)
        client.accounts.append(context.insert(Account(balance: 4)))
        client.clubs.removeAll()
        client.clubs.append(context.insert(Club(name: "within")))
        context[family.clubs[1]]?.delete()
        client.advisor = context.insert(Advisor(name: "Eve", favorite: ToOne(family.accounts[1])))
        context[family.accounts[2]]?.delete()
    }

    @Test(arguments: Shape.allCases, [true, false])
    func `R20 a body that throws is undone exactly, earlier changes stay`(shape: Shape, hasEarlierChanges: Bool)
        async throws
    {
        let family = try await family()
        if hasEarlierChanges { await changeBefore(family) }
        let before = try await shown()
        let commit = coordinator.snapshot.commit
        let error = await transaction(shape, isAbandoned: true) { try Self.changeEverything($0, family) }
        #expect(error is Abandoned)
        #expect(try await shown() == before)
        #expect(coordinator.snapshot.commit == commit)
        try await context.save()
        #expect(coordinator.check() == [])
        let expected = try await shown(Context(coordinator))
        #expect(try await shown() == expected)
    }

    @Test(arguments: Shape.allCases)
    func `R20 deletes of everything are undone, whatever cascades`(shape: Shape) async throws {
        let family = try await family()
        await changeBefore(family)
        let before = try await shown()
        let error = await transaction(shape, isAbandoned: true) { context in
            context[family.client]?.delete()
            for id in family.clubs { context[id]?.delete() }
            context[family.card]?.delete()
            #expect(context[family.accounts[0]] == nil && context[family.client] == nil)
        }
        #expect(error is Abandoned)
        #expect(try await shown() == before)
    }

    @Test(arguments: Shape.allCases, [true, false])
    func `R20 a save that fails undoes the body exactly, earlier changes stay`(shape: Shape, hasEarlierChanges: Bool)
        async throws
    {
        let family = try await family()
        if hasEarlierChanges { await changeBefore(family) }
        let before = try await shown()
        try await Context(coordinator).transaction { $0[family.accounts[1]]?.memo = "theirs" }
        let commit = coordinator.snapshot.commit
        let error = await transaction(shape) { context in
            try Self.changeEverything(context, family)
            context[family.accounts[1]]?.memo = "ours"
        }
        guard case .conflicts(let conflicts)? = error as? GraphError else {
            Issue.record("no conflicts: \(String(describing: error))")
            return
        }
        // The card's going to another account is a change, too.
        #expect(conflicts.map(\.id) == [AnyPersistentID(family.accounts[1])])
        #expect(try await shown() == before)
        #expect(coordinator.snapshot.commit == commit)
        try await context.save()
        #expect(coordinator.check() == [])
        #expect(row(family.accounts[1])?.memo == "theirs")
    }

    @Test(arguments: Shape.allCases)
    func `R20 a save that breaks a rule undoes the body`(shape: Shape) async throws {
        let school = try await Coordinator.school()
        let context = Context(school)
        await context.perform { _ = $0.insert(Student(name: "before")) }
        let error = await transaction(shape, on: context) { context in
            context.insert(Student(name: "within"))
            context.insert(Lecture(title: "of no course"))
        }
        guard case .validationFailed? = error as? GraphError else {
            Issue.record("saved")
            return
        }
        await context.perform { #expect($0.insertedObjects.count == 1) }
        try await context.save()
        #expect(try school.snapshot.fetchValues(Student.self).map(\.name) == ["before"])
    }

    @Test(arguments: Shape.allCases)
    func `R20 objects that somebody holds show that a transaction was undone`(shape: Shape) async throws {
        let id = try await context.account(Account(balance: 1))
        await context.perform { $0.retainsRegisteredObjects = true }
        await context.perform { $0[id]?.memo = "before" }
        _ = await transaction(shape, isAbandoned: true) { context in
            context[id]?.balance = 2
            context.insert(Account(balance: 9))
        }
        try await context.perform { context throws in
            let registered = context.registeredObject(for: id)
            let account = try #require(registered)
            #expect(account.value == Account(balance: 1, memo: "before") && account.hasChanges)
            #expect(try context.fetchCount(Account.self) == 1)
        }
        _ = await transaction(shape, isAbandoned: true) { $0[id]?.delete() }
        await context.perform { context in
            #expect(context.registeredObject(for: id)?.isDeleted == false)
            #expect(context[id]?.memo == "before")
        }
    }

    @Test(arguments: Shape.allCases)
    func `R24 numbers of undone inserts are not used again`(shape: Shape) async throws {
        _ = await transaction(shape, isAbandoned: true) { context in
            for _ in 1...3 { context.insert(Account()) }
        }
        #expect(try await context.account().row == 4)
    }

    // MARK: Between suspensions

    @Test func `R20 other work between the suspensions of a body is no part of the transaction`() async throws {
        for isAbandoned in [true, false] {
            let ids = [try await context.account(), try await context.account(), try await context.account()]
            let (inBody, outside) = (Signal(), Signal())
            let transaction = Task {
                try await context.transaction { context in
                    context[ids[0]]?.balance = 1
                    await inBody.send()
                    await outside.wait()
                    // What others do meanwhile, this does not see.
                    #expect(context[ids[1]]?.balance == 0 && context[ids[2]] != nil)
                    if isAbandoned { throw Abandoned() }
                }
            }
            await inBody.wait()
            await context.perform { context in
                #expect(context[ids[0]]?.balance == 0 && !context.hasChanges)
                context[ids[1]]?.balance = 2
                context[ids[2]]?.delete()
            }
            await outside.send()
            let result = await transaction.result
            let values = await context.perform { context in ids.map { context[$0]?.balance } }
            #expect(values == [isAbandoned ? 0 : 1, 2, nil])
            if isAbandoned {
                #expect(throws: Abandoned.self) { try result.get() }
                #expect(await context.hasChanges)
                try await context.save()
            }
            #expect(ids.map { row($0)?.balance } == [isAbandoned ? 0 : 1, 2, nil])
        }
    }

    @Test func `R20 a save outside, while a body waits, saves what is outside`() async throws {
        let (one, other) = (try await context.account(), try await context.account())
        let (inBody, outside) = (Signal(), Signal())
        let transaction = Task {
            try await context.transaction { context in
                context[one]?.balance = 1
                await inBody.send()
                await outside.wait()
            }
        }
        await inBody.wait()
        await context.perform { $0[other]?.balance = 2 }
        try await context.save()
        #expect(row(one)?.balance == 0 && row(other)?.balance == 2)
        await outside.send()
        try await transaction.value
        #expect(row(one)?.balance == 1 && row(other)?.balance == 2)
    }

    @Test(arguments: Policy.allCases)
    func `R20 where both a waiting body and others change an object, the policy decides`(policy: Policy) async throws {
        let id = try await context.account()
        let (inBody, outside) = (Signal(), Signal())
        let transaction = Task {
            try await context.transaction(mergePolicy: policy.value) { context in
                context[id]?.balance = 1
                await inBody.send()
                await outside.wait()
            }
        }
        await inBody.wait()
        await context.perform { context in
            context[id]?.balance = 2
            context[id]?.memo = "outside"
        }
        await outside.send()
        let result = await transaction.result
        let value = await context.perform { $0[id]?.value }
        switch policy {
        case .error:
            let error = #expect(throws: GraphError.self) { try result.get() }
            guard case .conflicts(let conflicts)? = error else { return }
            #expect(conflicts.map(\.id) == [AnyPersistentID(id)])
            #expect(value == Account(balance: 2, memo: "outside"))
            #expect(await context.hasChanges)
        case .storeTrump, .rollback: #expect(value == Account(balance: 2, memo: "outside"))
        case .objectTrump: #expect(value == Account(balance: 1, memo: "outside"))
        case .overwrite: #expect(value == Account(balance: 1))
        }
        if policy != .error { #expect(row(id) == value) }
    }

    @Test func `R20 two bodies that wait on one context do not overwrite each other silently`() async throws {
        let id = try await context.account()
        let signals = [Signal(), Signal()]
        let go = [Signal(), Signal()]
        let transactions = (0...1).map { number in
            Task {
                try await context.transaction { context in
                    let balance = context[id]?.balance ?? 0
                    await signals[number].send()
                    await go[number].wait()
                    context[id]?.balance = balance + 1
                }
            }
        }
        for signal in signals { await signal.wait() }
        await go[0].send()
        try await transactions[0].value
        await go[1].send()
        await #expect(throws: GraphError.self) { try await transactions[1].value }
        #expect(row(id)?.balance == 1)
        #expect(await context.hasChanges == false)
    }

    // MARK: Within transactions

    @Test(arguments: Shape.allCases, [true, false])
    func `R20 a save within a transaction stays within`(shape: Shape, isAbandoned: Bool) async throws {
        let id = try await context.account()
        do {
            try await context.transaction { [coordinator] context in
                if shape == .asynchronous { await Task.yield() }
                context[id]?.balance = 1
                try await context.save()
                #expect(coordinator.snapshot.value(for: id)?.balance == 0)
                #expect(context[id]?.hasChanges == true)
                context[id]?.memo = "after"
                if isAbandoned { throw Abandoned() }
            }
        } catch is Abandoned {}
        #expect(row(id) == (isAbandoned ? Account() : Account(balance: 1, memo: "after")))
        let value = await context.perform { $0[id]?.value }
        #expect(value == row(id))
        #expect(await context.hasChanges == false)
        #expect(coordinator.snapshot.commit.number == (isAbandoned ? 1 : 2))
    }

    @Test(arguments: Shape.allCases, Shape.allCases)
    func `R20 a nested transaction is a savepoint`(outer: Shape, inner: Shape) async throws {
        let family = try await family()
        try await context.transaction { context in
            if outer == .asynchronous { await Task.yield() }
            context[family.client]?.name = "outer"
            context[family.client]?.clubs.append(context.insert(Club(name: "outer")))
            let before = try await shown(context)
            for isAbandoned in [true, false] {
                do {
                    if inner == .synchronous {
                        try await context.transaction { context in
                            try Self.changeEverything(context, family)
                            if isAbandoned { throw Abandoned() }
                        }
                    } else {
                        try await context.transaction { context in
                            await Task.yield()
                            try Self.changeEverything(context, family)
                            try await context.save()
                            if isAbandoned { throw Abandoned() }
                        }
                    }
                    #expect(!isAbandoned)
                } catch is Abandoned {
                    #expect(try await shown(context) == before)
                }
                #expect(coordinator.snapshot.commit.number == 1)
            }
            #expect(context[family.client]?.name == "within")
        }
        #expect(coordinator.snapshot.commit.number == 2)
        #expect(row(family.client)?.name == "within")
        #expect(coordinator.check() == [])
        let expected = try await shown(Context(coordinator))
        #expect(try await shown() == expected)
    }

    @Test(arguments: Shape.allCases)
    func `R20 what a nested transaction did is undone with the outer one`(inner: Shape) async throws {
        let family = try await family()
        await changeBefore(family)
        let before = try await shown()
        await #expect(throws: Abandoned.self) {
            try await context.transaction { context in
                await Task.yield()
                if inner == .synchronous {
                    try await context.transaction { try Self.changeEverything($0, family) }
                } else {
                    try await context.transaction { context in
                        await Task.yield()
                        try Self.changeEverything(context, family)
                    }
                }
                #expect(context[family.client]?.name == "within")
                throw Abandoned()
            }
        }
        #expect(try await shown() == before)
    }

    @Test func `R20 a transaction's rollback reaches its own changes alone`() async throws {
        let (one, other) = (try await context.account(), try await context.account())
        await context.perform { $0[one]?.balance = 1 }
        try await context.transaction { context in
            await Task.yield()
            context[one]?.balance = 2
            context[other]?.balance = 2
            context.rollback()
            #expect(context[one]?.balance == 1 && context[other]?.balance == 0)
            context[other]?.memo = "after"
        }
        #expect(row(one)?.balance == 1 && row(other) == Account(memo: "after"))
    }

    // MARK: Hooks and rules

    @Test(arguments: Shape.allCases)
    func `R9 willSave runs once, at the root's save`(shape: Shape) async throws {
        let coordinator = try await Coordinator(for: Stamped.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let child = await Context(parent: context)
        #expect(await transaction(shape, on: child) { context in _ = context.insert(Stamped()) } == nil)
        try await context.perform { context throws in
            #expect(try context.fetch(Stamped.self).map(\.count) == [0])
        }
        try await context.save()
        #expect(try coordinator.snapshot.fetchValues(Stamped.self).map(\.count) == [1])
    }

    @Test(arguments: Shape.allCases, [true, false])
    func `R10 a transaction's insert gives way to the row that was there, and its object knows`(
        shape: Shape,
        hasEarlierChanges: Bool
    ) async throws {
        let school = try await Coordinator.school()
        let context = Context(school)
        let old = try await context.transaction { $0.insert(Student(name: "Ada", email: "a")).id }
        if hasEarlierChanges { await context.perform { $0[old]?.points = 5 } }
        #expect(
            await transaction(shape, on: context) { context in
                context.insert(Student(name: "Countess", email: "a"))
            } == nil
        )
        let names = await context.perform { $0[old]?.name }
        #expect(names == "Countess" && school.snapshot.count(of: Student.self) == 1)
    }
}

/// Counts its saves.
private struct Stamped: Entity {
    var count = 0

    static let schema = EntitySchema<Stamped>("Stamped") {
        $0.attribute("count", \.count)
    }

    mutating func willSave() { count += 1 }
}

extension Context {
    /// A transaction of a program's own operation.
    fileprivate func ownTransaction(of id: Account.ID) async throws -> Int {
        let id = id
        return try await atomically {
            let account = try object(for: id)
            account.balance += 10
            return account.balance
        }
    }
}

/// Something that happens once, and that others wait for.
private actor Signal {
    private var isSent = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func send() {
        isSent = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    func wait() async {
        if !isSent { await withCheckedContinuation { waiting.append($0) } }
    }
}
