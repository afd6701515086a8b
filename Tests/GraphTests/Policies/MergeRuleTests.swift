import Testing

@testable import Graph

/// R5, R6 custom: functions of the program decide about whole rows, or merge single properties.
struct MergeRuleTests {
    private struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    /// The conflicts that there are.
    enum Kind: CaseIterable, Sendable {
        case bothUpdated, deletedThere, deletedHere
    }

    /// A row of balance 1 and memo "base", which ours gives balance 2 and theirs balance 5 and memo "theirs".
    private static func rivals(_ kind: Kind, _ policy: MergePolicy) async throws -> (Rivals, Account.ID) {
        let rivals = try await Rivals(policy)
        let id = try await rivals.start { $0.insert(Account(balance: 1, memo: "base")).id }
        try await rivals.change { context in
            let account = try context.object(for: id)
            if kind == .deletedHere { account.delete() } else { account.balance = 2 }
        } theirs: { context in
            let account = try context.object(for: id)
            if kind == .deletedThere { account.delete() } else { (account.balance, account.memo) = (5, "theirs") }
        }
        return (rivals, id)
    }

    // MARK: Rules for entities

    @Test(arguments: Kind.allCases)
    func `R5 an entity's rule is asked with the three rows`(kind: Kind) async throws {
        let (rivals, id) = try await Self.rivals(
            kind,
            .custom(
                .entity(Account.self) { base, ours, theirs in
                    func text(_ row: Account?) -> String { row.map { "\($0.balance) \($0.memo)" } ?? "deleted" }
                    throw Refused(description: "\(text(base)), \(text(ours)), \(text(theirs))")
                },
                otherwise: .overwrite
            )
        )
        let expected =
            switch kind {
            case .bothUpdated: "1 base, 2 base, 5 theirs"
            case .deletedThere: "1 base, 2 base, deleted"
            case .deletedHere: "1 base, deleted, 5 theirs"
            }
        let conflicts = try await rivals.conflicts()
        #expect(conflicts.map(\.reason) == [expected])
        #expect(conflicts.first?.description.hasSuffix("\n    not merged = \(expected)") == true)
        #expect(rivals.row(id)?.balance == (kind == .deletedThere ? nil : 5))
        #expect(await rivals.ours.hasChanges)
    }

    @Test(arguments: Kind.allCases)
    func `R5 an entity's rule makes a row, which comes back where it was deleted`(kind: Kind) async throws {
        let (rivals, id) = try await Self.rivals(
            kind,
            .custom(
                .entity(Account.self) { base, ours, theirs in
                    .row(Account(balance: (ours?.balance ?? 0) + (theirs?.balance ?? 0), memo: "\(base?.memo ?? "")!"))
                }
            )
        )
        #expect(await rivals.save() == nil)
        let balance = [Kind.bothUpdated: 7, .deletedThere: 2, .deletedHere: 5][kind]
        #expect(rivals.row(id)?.balance == balance && rivals.row(id)?.memo == "base!")
        #expect(rivals.version(id) == 3)
        await rivals.expectCommitted(id)
    }

    @Test(arguments: Kind.allCases)
    func `R5 an entity's rule keeps the row as it is in the store`(kind: Kind) async throws {
        let (rivals, id) = try await Self.rivals(kind, .custom(.entity(Account.self) { _, _, _ in .keep }))
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id)?.memo == (kind == .deletedThere ? nil : "theirs"))
        #expect(rivals.version(id) == (kind == .deletedThere ? 0 : 2))
        #expect(rivals.coordinator.snapshot.commit.number == 2)
        await rivals.expectCommitted(id)
    }

    @Test(arguments: Kind.allCases)
    func `R5 an entity's rule deletes the row`(kind: Kind) async throws {
        let (rivals, id) = try await Self.rivals(kind, .custom(.entity(Account.self) { _, _, _ in .delete }))
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == nil)
        await rivals.expectCommitted(id)
    }

    @Test func `R13 an entity's rule that deletes a row has its delete rules follow`() async throws {
        let rivals = try await Rivals(.custom(.entity(Client.self) { _, _, _ in .delete }))
        let (client, club) = try await rivals.start { context in
            let client = context.insert(Client(name: "Ada"))
            client.accounts.append(context.insert(Account()))
            client.clubs.append(context.insert(Club()))
            return (client.id, try #require(client.clubs.first?.id))
        }
        try await rivals.change {
            try $0.object(for: client).name = "ours"
        } theirs: { context in
            let object = try context.object(for: client)
            object.name = "theirs"
            object.accounts.append(context.insert(Account()))
        }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(client) == nil && rivals.coordinator.snapshot.count(of: Account.self) == 0)
        await rivals.expectCommitted(club)
    }

    @Test func `R6 an entity's rule for a row of a delete takes the whole delete back, or leaves it`() async throws {
        for isRow in [true, false] {
            let rivals = try await Rivals(
                .custom(.entity(Account.self) { _, _, theirs in isRow ? theirs.map { .row($0) } ?? .delete : .delete })
            )
            let (client, accounts) = try await rivals.start { context in
                let client = context.insert(Client(name: "Ada"))
                let accounts = (1...2).map { context.insert(Account(balance: $0)) }
                client.accounts.append(contentsOf: accounts)
                return (client.id, accounts.map(\.id))
            }
            try await rivals.change {
                try $0.object(for: client).delete()
            } theirs: { context in
                try context.object(for: accounts[0]).memo = "theirs"
            }
            #expect(await rivals.save() == nil)
            let snapshot = rivals.coordinator.snapshot
            #expect(try snapshot.related(\Client.accounts, of: client) == (isRow ? accounts : []))
            #expect(snapshot.count(of: Account.self) == (isRow ? 2 : 0))
            await rivals.expectCommitted(client)
            for id in accounts { await rivals.expectCommitted(id) }
        }
    }

    @Test func `R5 an entity's rule decides alone, and the first one of several`() async throws {
        let (rivals, id) = try await Self.rivals(
            .bothUpdated,
            .custom(
                .property(\Account.balance, .counter),
                .entity(Account.self) { _, ours, _ in ours.map { .row($0) } ?? .keep },
                .entity(Account.self) { _, _, _ in .delete },
                otherwise: .rollback
            )
        )
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == Account(balance: 2, memo: "base"))
    }

    @Test func `R5 to-many properties of a rule's row say nothing`() async throws {
        let rivals = try await Rivals(
            .custom(
                .entity(Client.self) { _, _, theirs in
                    .row(Client(name: theirs?.name ?? "", accounts: [], clubs: [Club.ID(row: 2)]))
                }
            )
        )
        let client = try await rivals.start { context in
            let client = context.insert(Client())
            client.accounts.append(context.insert(Account()))
            client.clubs.append(context.insert(Club()))
            context.insert(Club())
            return client.id
        }
        try await rivals.change {
            try $0.object(for: client).name = "ours"
        } theirs: {
            try $0.object(for: client).name = "theirs"
        }
        #expect(await rivals.save() == nil)
        let snapshot = rivals.coordinator.snapshot
        #expect(try snapshot.related(\Client.accounts, of: client).count == 1)
        #expect(try snapshot.related(\Client.clubs, of: client) == [Club.ID(row: 1)])
        await rivals.expectCommitted(client)
    }

    @Test func `R14 a rule's row nullifies a reference that leads nowhere`() async throws {
        let (rivals, id) = try await Self.rivals(
            .bothUpdated,
            .custom(
                .entity(Account.self) { _, _, _ in .row(Account(memo: "merged", client: ToOne(Client.ID(row: 9)))) },
                otherwise: .rollback
            )
        )
        #expect(await rivals.save() == nil)
        #expect(rivals.row(id) == Account(memo: "merged"))
    }

    @Test func `R5 conflicts that no rule resolves come together with those that a rule refuses`() async throws {
        let rivals = try await Rivals(
            .custom(.entity(Account.self) { _, _, _ in throw Refused(description: "no") })
        )
        let (account, club) = try await rivals.start { ($0.insert(Account()).id, $0.insert(Club()).id) }
        try await rivals.change { context in
            try context.object(for: account).balance = 1
            try context.object(for: club).name = "ours"
        } theirs: { context in
            try context.object(for: account).balance = 2
            try context.object(for: club).name = "theirs"
        }
        let conflicts = try await rivals.conflicts()
        #expect(conflicts.map(\.id) == [AnyPersistentID(account), AnyPersistentID(club)])
        #expect(conflicts.map(\.reason) == ["no", nil])
    }

    // MARK: Rules for properties

    /// Saves a row that both sides changed, and gives what became of it and why not.
    private static func merge(
        _ base: Account,
        _ ours: Account,
        _ theirs: Account,
        _ policy: MergePolicy
    ) async throws -> (Account?, [MergeConflict]) {
        @Sendable func copy(_ row: Account, into account: Account.Object) {
            (account.balance, account.points, account.rate) = (row.balance, row.points, row.rate)
            (account.highest, account.lowest) = (row.highest, row.lowest)
            (account.labels, account.memo) = (row.labels, row.memo)
        }
        let rivals = try await Rivals(policy)
        let id = try await rivals.start { $0.insert(base).id }
        try await rivals.change {
            copy(ours, into: try $0.object(for: id))
        } theirs: {
            copy(theirs, into: try $0.object(for: id))
        }
        switch await rivals.save() {
        case nil:
            await rivals.expectCommitted(id)
            return (rivals.row(id), [])
        case .conflicts(let conflicts)?:
            #expect(rivals.row(id) == theirs && rivals.version(id) == 2)
            return (nil, Array(conflicts))
        case let error?:
            throw error
        }
    }

    @Test(
        arguments: [
            (10, 15, 12, 17), (10, 15, 15, 20), (10, 5, 3, -2), (0, .max, .min, -1), (.min, .max, .min + 1, nil),
            (.max, .max - 1, .max - 2, .max - 3), (0, .max, 1, nil), (0, .min, -1, nil), (-1, .max, .min, 0),
            (.min, 0, -1, .max),
        ] as [(Int, Int, Int, Int?)])
    func `R5 counter: both changes add up, and a sum that does not fit is a conflict`(
        base: Int,
        ours: Int,
        theirs: Int,
        sum: Int?
    ) async throws {
        let (row, conflicts) = try await Self.merge(
            Account(balance: base),
            Account(balance: ours),
            Account(balance: theirs),
            .custom(.property(\Account.balance, .counter))
        )
        #expect(row?.balance == sum)
        #expect(conflicts.map(\.reason) == (sum == nil ? ["the sum of both changes does not fit the type"] : []))
    }

    @Test func `R5 counter: every sum of a small type is right, or a conflict`() throws {
        let counter = PropertyMerge<Int8>.counter
        for base in stride(from: Int8.min, through: 123, by: 5) {
            for ours in stride(from: Int8.min, through: 124, by: 4) {
                for theirs in stride(from: Int8.min, through: 122, by: 3) {
                    let sum = Int8(exactly: Int(theirs) + Int(ours) - Int(base))
                    let merged = try? counter.merge(base, ours, theirs)
                    if merged != sum { Issue.record("\(base), \(ours), \(theirs) gave \(String(describing: merged))") }
                }
            }
        }
        let unsigned = PropertyMerge<UInt8>.counter
        #expect(try unsigned.merge(10, 20, 5) == 15)
        #expect(try unsigned.merge(10, 5, 20) == 15)
        #expect(throws: CounterOverflow.self) { try unsigned.merge(10, 5, 3) }
        #expect(throws: CounterOverflow.self) { try unsigned.merge(10, 250, 20) }
    }

    @Test func `R5 counter: floating point adds up, too`() async throws {
        let rule = MergeRule.property(\Account.rate, .counter)
        let (row, _) = try await Self.merge(Account(rate: 1), Account(rate: 1.5), Account(rate: 3), .custom(rule))
        #expect(row?.rate == 3.5)
    }

    @Test func `R5 union: an element that equals nothing is not added again with each merge`() throws {
        let union = PropertyMerge<Set<Double>>.union
        func merged(_ base: Set<Double>, _ ours: Set<Double>, _ theirs: Set<Double>) throws -> (count: Int, odd: Int) {
            let result = try union.merge(base, ours, theirs)
            return (result.count, result.filter(\.isNaN).count)
        }
        #expect(try merged([.nan], [.nan, 1], [.nan, 2]) == (3, 1))
        #expect(try merged([0], [0, .nan], [0, 2]) == (3, 1))
        #expect(try merged([0], [0, .nan], [0, .nan]) == (2, 1))
        #expect(try merged([.nan, 0], [.nan], [.nan, 0, 3]) == (2, 1))
    }

    @Test func `R5 union: theirs with what we added and without what we removed`() async throws {
        let (row, _) = try await Self.merge(
            Account(labels: ["both", "ours", "theirs"]),
            Account(labels: ["both", "theirs", "new"]),
            Account(labels: ["both", "ours", "other"]),
            .custom(.property(\Account.labels, .union))
        )
        #expect(row?.labels == ["both", "new", "other"])
    }

    @Test(arguments: [(2, 3), (3, 2)])
    func `R5 max and min: the larger and the smaller of both`(ours: Int, theirs: Int) async throws {
        let (row, _) = try await Self.merge(
            Account(highest: 9, lowest: 0),
            Account(highest: ours, lowest: ours),
            Account(highest: theirs, lowest: theirs),
            .custom(.property(\Account.highest, .max), .property(\Account.lowest, .min))
        )
        #expect(row?.highest == 3 && row?.lowest == 2)
    }

    @Test func `R5 lastWriter: ours`() async throws {
        let rule = MergeRule.property(\Account.memo, .lastWriter)
        let (row, _) = try await Self.merge(
            Account(), Account(memo: "a"), Account(balance: 1, memo: "b"), .custom(rule))
        #expect(row == Account(balance: 1, memo: "a"))
    }

    @Test func `R5 a function of the program merges, or refuses with its reason`() async throws {
        let rule = MergeRule.property(
            \Account.memo,
            PropertyMerge { base, ours, theirs in
                guard ours != "no" else { throw Refused(description: "not \(base), \(ours), \(theirs)") }
                return "\(base) \(ours) \(theirs)"
            }
        )
        let (row, _) = try await Self.merge(
            Account(memo: "a"), Account(memo: "b"), Account(memo: "c"), .custom(rule))
        #expect(row?.memo == "a b c")
        let (_, conflicts) = try await Self.merge(
            Account(memo: "a"), Account(memo: "no"), Account(memo: "c"), .custom(rule, otherwise: .overwrite))
        #expect(conflicts.map(\.reason) == ["not a, no, c"])
    }

    @Test func `R5 a rule for a property is asked only where both sides changed it`() async throws {
        let rule = MergeRule.property(
            \Account.balance, PropertyMerge { _, _, _ in throw Refused(description: "asked") })
        let (row, conflicts) = try await Self.merge(
            Account(balance: 1, highest: 1),
            Account(balance: 2, highest: 1),
            Account(balance: 1, highest: 2),
            .custom(rule)
        )
        #expect(row == Account(balance: 2, highest: 2) && conflicts.isEmpty)
        let (_, both) = try await Self.merge(
            Account(balance: 1), Account(balance: 2), Account(balance: 2), .custom(rule))
        #expect(both.map(\.reason) == ["asked"])
    }

    // MARK: Otherwise

    private static let counter = MergeRule.property(\Account.balance, .counter)

    @Test(arguments: Policy.allCases)
    func `R5 a row is merged if rules cover all that we changed, whatever holds otherwise`(policy: Policy) async throws
    {
        let (row, _) = try await Self.merge(
            Account(balance: 1, highest: 1),
            Account(balance: 2, highest: 1),
            Account(balance: 4, highest: 2, memo: "theirs"),
            .custom(Self.counter, .property(\Account.memo, .lastWriter), otherwise: policy.value)
        )
        #expect(row == Account(balance: 5, highest: 2, memo: "theirs"))
    }

    @Test(arguments: Policy.allCases)
    func `R5 otherwise decides about what rules do not cover, and rules merge the rest`(policy: Policy) async throws {
        let (row, conflicts) = try await Self.merge(
            Account(balance: 1, highest: 1, lowest: 1, memo: "base"),
            Account(balance: 2, highest: 2, lowest: 1, memo: "ours"),
            Account(balance: 4, highest: 1, lowest: 4, memo: "theirs"),
            .custom(Self.counter, otherwise: policy.value)
        )
        switch policy {
        case .error:
            #expect(conflicts.count == 1 && conflicts.first?.reason == nil)
        case .storeTrump:
            #expect(row == Account(balance: 5, highest: 2, lowest: 4, memo: "theirs"))
        case .objectTrump:
            #expect(row == Account(balance: 5, highest: 2, lowest: 4, memo: "ours"))
        case .overwrite:
            #expect(row == Account(balance: 5, highest: 2, lowest: 1, memo: "ours"))
        case .rollback:
            #expect(row == Account(balance: 5, highest: 1, lowest: 4, memo: "theirs"))
        }
    }

    @Test(arguments: Policy.allCases, [Kind.deletedThere, .deletedHere])
    func `R6 otherwise decides about deletes under rules for properties`(policy: Policy, kind: Kind) async throws {
        let (rivals, id) = try await Self.rivals(kind, .custom(Self.counter, otherwise: policy.value))
        guard policy != .error else {
            #expect(try await rivals.conflicts().count == 1)
            return
        }
        #expect(await rivals.save() == nil)
        let isOurs = policy == .objectTrump || policy == .overwrite
        switch kind {
        case .deletedThere: #expect(rivals.row(id) == (isOurs ? Account(balance: 2, memo: "base") : nil))
        case .deletedHere: #expect(rivals.row(id) == (isOurs ? nil : Account(balance: 5, memo: "theirs")))
        case .bothUpdated: break
        }
        await rivals.expectCommitted(id)
    }

    @Test func `R5 rules of what holds otherwise count, too, behind the others`() async throws {
        let inner = MergePolicy.custom(
            .property(\Account.balance, .max),
            .property(\Account.memo, .lastWriter),
            otherwise: .rollback
        )
        let (row, _) = try await Self.merge(
            Account(balance: 1), Account(balance: 2, memo: "ours"), Account(balance: 2, memo: "theirs"),
            .custom(Self.counter, otherwise: inner)
        )
        #expect(row == Account(balance: 3, memo: "ours"))
    }

    @Test func `R5 rules hold for their entity alone`() async throws {
        let rivals = try await Rivals(.custom(.property(\Card.number, .counter)))
        let (card, account) = try await rivals.start { ($0.insert(Card(number: 1)).id, $0.insert(Account()).id) }
        try await rivals.change { context in
            try context.object(for: card).number = 3
            try context.object(for: account).balance = 3
        } theirs: { context in
            try context.object(for: card).number = 4
            try context.object(for: account).balance = 4
        }
        #expect(try await rivals.conflicts().map(\.id) == [AnyPersistentID(account)])
        await rivals.ours.perform { $0.discard([AnyPersistentID(account)]) }
        #expect(await rivals.save() == nil)
        #expect(rivals.row(card)?.number == 6 && rivals.row(account)?.balance == 4)
        await rivals.expectCommitted(card)
        await rivals.expectCommitted(account)
    }

    @Test func `R5 counters of many contexts add up`() async throws {
        let rivals = try await Rivals(.custom(Self.counter))
        let id = try await rivals.start { $0.insert(Account()).id }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...4 {
                group.addTask {
                    let context = Context(rivals.coordinator, mergePolicy: .custom(Self.counter))
                    for _ in 1...10 { try await context.transaction { try $0.object(for: id).balance += 1 } }
                }
            }
            try await group.waitForAll()
        }
        #expect(rivals.row(id)?.balance == 40)
        #expect(rivals.coordinator.check() == [])
    }

    @Test func `R10 a merged row is checked by the other rules as any other`() async throws {
        let coordinator = try await Coordinator(for: Team.self, Person.self, checksEveryCommit: true)
        let (ours, theirs) = (Context(coordinator), Context(coordinator))
        let (ada, _) = try await theirs.transaction { context in
            (context.insert(Person(name: "Ada")).id, context.insert(Person(name: "Bob", email: "taken")).id)
        }
        await ours.refresh()
        try await ours.perform { try $0.object(for: ada).email = "a" }
        try await theirs.transaction { try $0.object(for: ada).email = "b" }
        let policy = MergePolicy.custom(.property(\Person.email, PropertyMerge { _, _, _ in "taken" }))
        do {
            try await ours.save(mergePolicy: policy)
            Issue.record("saved")
        } catch {
            guard case .notUnique(let violations) = error else { throw error }
            #expect(violations.map(\.id) == [AnyPersistentID(ada)])
        }
        #expect(coordinator.snapshot.value(for: ada)?.email == "b")
        let email = await ours.perform { $0[ada]?.email }
        #expect(email == "a")
    }
}
