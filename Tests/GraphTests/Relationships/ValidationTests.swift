import Testing

@testable import Graph

/// R9, R11, R13: what `willSave()` does, what `validate()` and counts refuse.
struct ValidationTests {
    struct Account: Entity {
        var owner: String
        var balance = 0
        var touched = 0
        var entries: ToMany<Posting> = []

        static let schema = EntitySchema<Account>("Account") {
            $0.attribute("owner", \.owner)
            $0.attribute("balance", \.balance)
            $0.attribute("touched", \.touched)
            $0.toMany("entries", \.entries, inverse: \Posting.account, minimum: 0, maximum: 2)
        }

        mutating func willSave() { touched += 1 }

        func validate() throws {
            var errors: [ValidationError] = []
            if owner.isEmpty { errors.append(ValidationError(\Self.owner, "must not be empty")) }
            if balance < 0 { errors.append(ValidationError(\Self.balance, "must not be negative")) }
            if !errors.isEmpty { throw ValidationError(errors) }
        }
    }

    struct Posting: Entity {
        struct TooLarge: Error {}

        var amount: Int
        var account: ToOne<Account> = nil

        static let schema = EntitySchema<Posting>("Posting") {
            $0.attribute("amount", \.amount)
            $0.toOne("account", \.account)
        }

        func validate() throws {
            if amount > 1_000 { throw TooLarge() }
            if amount == 0 { throw ValidationError("says nothing") }
        }
    }

    let coordinator: Coordinator
    let context: Context

    init() async throws {
        coordinator = try await Coordinator(for: Account.self, Posting.self, checksEveryCommit: true)
        context = Context(coordinator)
    }

    private static func failures(of context: Context) async throws -> [String] {
        do {
            try await context.save()
            return []
        } catch {
            guard case .validationFailed(let failures) = error else { throw error }
            return failures.map(\.description)
        }
    }

    @Test func `R11 all failures come in one error, and nothing is saved`() async throws {
        await context.perform { context in
            context.insert(contentsOf: [
                Account(owner: "", balance: -1), Account(owner: "Ada"), Account(owner: "", balance: 1),
            ])
            context.insert(contentsOf: [Posting(amount: 2_000), Posting(amount: 0), Posting(amount: 1)])
        }
        for _ in 1...2 {
            #expect(
                try await Self.failures(of: context) == [
                    "Account/p1.owner: must not be empty", "Account/p1.balance: must not be negative",
                    "Account/p3.owner: must not be empty", "Posting/p1: TooLarge()", "Posting/p2: says nothing",
                ])
        }
        #expect(try coordinator.snapshot.fetchCount(Account.self) == 0)
        await context.rollback()
    }

    @Test func `R9 validate sees the merged row`() async throws {
        let id = try await context.transaction { $0.insert(Account(owner: "Ada", balance: 5)).id }
        let other = Context(coordinator)
        try await context.perform { try $0.object(for: id).balance = -5 }
        try await other.transaction { try $0.object(for: id).owner = "Eve" }
        await context.refresh()
        #expect(try await Self.failures(of: context) == ["Account/p1.balance: must not be negative"])
        try await context.perform { try $0.object(for: id).balance = 6 }
        try await context.save()
        #expect(
            coordinator.snapshot.value(for: id)?.owner == "Eve" && coordinator.snapshot.value(for: id)?.balance == 6)
    }

    @Test func `R11 willSave runs once for each row and save, and objects show it when the save succeeds`() async throws
    {
        let id = await context.perform { context in
            let account = context.insert(Account(owner: "", balance: 1))
            return account.id
        }
        #expect(try await Self.failures(of: context) == ["Account/p1.owner: must not be empty"])
        try await context.perform { context in
            let account = try context.object(for: id)
            #expect(account.touched == 0, "a failed save leaves no trace")
            account.owner = "Ada"
        }
        try await context.save()
        try await context.perform { context in
            let account = try context.object(for: id)
            #expect(account.touched == 1)
            account.balance = 2
        }
        try await context.save()
        #expect(
            coordinator.snapshot.value(for: id)?.touched == 2 && coordinator.snapshot.version(of: id) == RowVersion(2))
        try await context.transaction { try $0.object(for: id).balance = 2 }
        #expect(coordinator.snapshot.value(for: id)?.touched == 2, "nothing changed, nothing runs")
    }

    @Test func `R11 rows without a hook are not asked again`() async throws {
        _ = try await context.transaction { $0.insert(Posting(amount: 1)).id }
        #expect(!Posting.schema.hooks.hasWillSave && Posting.schema.hooks.hasValidate)
        #expect(Account.schema.hooks.hasValidate)
    }

    @Test func `R13 counts are checked on the merged commit`() async throws {
        let id = try await context.transaction { context in
            let account = context.insert(Account(owner: "Ada"))
            account.entries.append(context.insert(Posting(amount: 1)))
            return account.id
        }
        let contexts = [context, Context(coordinator), Context(coordinator)]
        for context in contexts {
            try await context.perform { context in
                try context.object(for: id).entries.append(context.insert(Posting(amount: 2)))
            }
        }
        try await contexts[0].save()
        #expect(
            try await Self.failures(of: contexts[1]) == [
                "Account/p1.entries: has 3 objects, where there must be at most 2"
            ])
        try await contexts[1].transaction { context in
            for entry in try context.fetch(Posting.self, where: { $0.amount == 1 }) { entry.delete() }
        }
        #expect(coordinator.check() == [])
    }

    @Test func `R13 a required reference is not nil when it is saved`() async throws {
        let school = try await Coordinator.school()
        let context = Context(school)
        await context.perform { context in
            let course = context.insert(Course(title: "Logic"))
            context.insert(Lecture(title: "First", course: ToOne(course.id)))
            context.insert(Lecture(title: "Second"))
        }
        #expect(try await Self.failures(of: context) == ["Lecture/p2.course: must not be nil"])
        try await context.transaction { context in
            for lecture in try context.fetch(Lecture.self, where: { $0.course.id == nil }) { lecture.delete() }
        }
        try await context.perform { context in
            for lecture in try context.fetch(Lecture.self) { lecture.course = nil }
        }
        #expect(try await Self.failures(of: context) == ["Lecture/p1.course: must not be nil"])
    }

    @Test func `R13 a required reference without an inverse denies the delete of its target`() async throws {
        let school = try await Coordinator.school()
        let context = Context(school)
        let (hall, key) = try await context.transaction { context in
            let hall = context.insert(Hall(house: "A"))
            return (hall.id, context.insert(Key(room: ToOne(hall.id))).id)
        }
        try await context.perform { try $0.object(for: hall).delete() }
        do {
            try await context.save()
            Issue.record("saved")
        } catch {
            guard case .deleteDenied(let denied) = error else { throw error }
            #expect(denied.map(\.description) == ["Hall/p1 may not be deleted while Key.room leads to Key/p1"])
        }
        try await context.perform { try $0.object(for: key).delete() }
        try await context.save()
        #expect(try school.snapshot.fetchCount(Hall.self) == 0)
    }

    @Test func `willSave reaches other rows by what it assigns`() async throws {
        let coordinator = try await Coordinator(for: Leader.self, Follower.self, checksEveryCommit: true)
        let context = Context(coordinator)
        let ids = try await context.transaction { context in
            let follower = context.insert(Follower())
            let id = context.insert(Leader(next: follower.id)).id
            return (id, follower.id)
        }
        #expect(coordinator.snapshot.value(for: ids.1)?.leader.id == ids.0)
        try await context.perform { context in
            let follower = try context.object(for: ids.1)
            #expect(follower.leader?.id == ids.0 && follower.saves == 1)
        }
    }

    struct Leader: Entity {
        var next: Follower.ID?
        var followers: ToMany<Follower> = []

        static let schema = EntitySchema<Leader>("Leader") {
            $0.attribute("next", \.next)
            $0.toMany("followers", \.followers, inverse: \Follower.leader)
        }

        mutating func willSave() {
            if let next { followers = [next] }
        }
    }

    struct Follower: Entity {
        var saves = 0
        var leader: ToOne<Leader> = nil

        static let schema = EntitySchema<Follower>("Follower") {
            $0.attribute("saves", \.saves)
            $0.toOne("leader", \.leader)
        }

        mutating func willSave() { saves += 1 }
    }
}
