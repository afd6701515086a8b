import Synchronization
import Testing

@testable import Graph

/// R25, R26: transactions that the coordinator runs.
struct CoordinatorTransactionTests {
    private struct Stop: Error {}

    private static func store(ages: Int...) async throws -> (Coordinator, [Person.ID]) {
        let coordinator = try await Coordinator(for: Person.self, Team.self, checksEveryCommit: true)
        let ids = try await coordinator.transaction { context in
            ages.map { context.insert(Person(name: "person \($0)", age: $0)).id }
        }
        return (coordinator, ids)
    }

    @Test func `a transaction is one commit, and its result comes back`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 1, 2)
        #expect(coordinator.snapshot.commit == CommitNumber(1))
        #expect(coordinator.snapshot.value(for: ids[1])?.age == 2)
    }

    @Test func `save() in a transaction saves nothing by itself`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 1)
        let before = coordinator.snapshot.commit
        await #expect(throws: Stop.self) {
            try await coordinator.transaction { context in
                try context.object(for: ids[0]).age = 9
                try await context.save()
                throw Stop()
            }
        }
        #expect(coordinator.snapshot.commit == before)
        #expect(coordinator.snapshot.value(for: ids[0])?.age == 1)
    }

    @Test(arguments: [IsolationLevel.snapshot, .serializable])
    func `a conflict has the closure run again on the newest state`(isolation: IsolationLevel) async throws {
        let (coordinator, ids) = try await Self.store(ages: 10)
        let tries = Counter()
        try await coordinator.transaction(isolation: isolation) { context in
            let person = try context.object(for: ids[0])
            if tries.next() == 1 {
                try await coordinator.transaction { try $0.object(for: ids[0]).age += 100 }
            }
            person.age += 1
        }
        #expect(tries.value == 2)
        #expect(coordinator.snapshot.value(for: ids[0])?.age == 111)
    }

    @Test func `retries are bounded, and the error has the conflicts`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 10)
        let tries = Counter()
        do {
            try await coordinator.transaction(retries: 3) { context in
                _ = tries.next()
                try context.object(for: ids[0]).age += 1
                try await Context(coordinator).transaction { try $0.object(for: ids[0]).age += 100 }
            }
            Issue.record("no error")
        } catch GraphError.retriesExhausted(let attempts, let conflicts) {
            #expect(attempts == 4)
            #expect(conflicts.map(\.id) == [AnyPersistentID(ids[0])])
        } catch {
            throw error
        }
        #expect(tries.value == 4)
        #expect(coordinator.snapshot.value(for: ids[0])?.age == 410)
    }

    @Test func `R26 what was read is validated: rows, misses, members, searches`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 1, 2)
        let (team, other) = try await coordinator.transaction { context in
            (context.insert(Team(name: "team")).id, context.insert(Team(name: "other")).id)
        }
        let reads:
            [(String, @Sendable (isolated Context) throws -> Void, @Sendable (isolated Context) throws -> Void)] = [
                ("row", { _ = $0[ids[0]]?.age }, { $0[ids[0]]?.age += 1 }),
                ("row by reference", { _ = $0[ids[1]]?.team }, { $0[team]?.name += "!" }),
                ("members", { _ = $0[team]?.members.count }, { $0[ids[0]]?.team = $0[team] }),
                ("no members", { _ = $0[other]?.members.isEmpty }, { $0[ids[0]]?.team = $0[other] }),
                ("values of members", { _ = $0[team]?.members.values }, { $0[ids[1]]?.age += 1 }),
                (
                    "search", { _ = try $0.fetchCount(Person.self, where: { $0.age > 1000 }) },
                    { _ = $0.insert(Person(name: "new")) }
                ),
                ("search of values", { _ = try $0.fetchValues(Team.self) }, { $0[other]?.name += "!" }),
            ]
        try await coordinator.transaction { $0[ids[1]]?.team = $0[team] }
        for (name, read, write) in reads {
            let reader = Context(coordinator, isolation: .serializable)
            try await reader.perform { context in
                try read(context)
                context.insert(Person(name: "written by who read"))
            }
            try await coordinator.transaction(write)
            await #expect(throws: GraphError.self, "\(name)") { try await reader.save() }
        }
    }

    @Test func `R26 a row that was looked for in vain is validated`() async throws {
        let (coordinator, _) = try await Self.store()
        let writer = Context(coordinator)
        let id = await writer.perform { $0.insert(Person(name: "late")).id }
        let reader = Context(coordinator, isolation: .serializable)
        await reader.perform { context in
            if context[id] == nil { context.insert(Team(name: "nobody there")) }
        }
        try await writer.save()
        await #expect(throws: GraphError.self) { try await reader.save() }
    }

    @Test func `R26 what others change elsewhere is no conflict`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 1, 2)
        let reader = Context(coordinator, isolation: .serializable)
        try await reader.perform { context in
            let age = try context.object(for: ids[0]).age
            context.insert(Team(name: "team \(age)"))
        }
        try await coordinator.transaction { $0[ids[1]]?.age += 1 }
        try await reader.save()
    }

    @Test func `R26 reads of nested contexts count too`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 1, 2)
        let tries = Counter()
        try await coordinator.transaction(isolation: .serializable) { context in
            let age = try await context.transaction { nested in
                await Task.yield()
                return try nested.object(for: ids[0]).age
            }
            if tries.next() == 1 { try await Context(coordinator).transaction { $0[ids[0]]?.age = 50 } }
            try context.object(for: ids[1]).age = age
        }
        #expect(tries.value == 2)
        #expect(coordinator.snapshot.value(for: ids[1])?.age == 50)
    }

    @Test func `write skew happens at snapshot and not at serializable`() async throws {
        for (isolation, expected) in [(IsolationLevel.snapshot, 0), (.serializable, 1)] {
            let (coordinator, ids) = try await Self.store(ages: 1, 1)
            let contexts = ids.map { _ in Context(coordinator, isolation: isolation) }
            for (context, id) in zip(contexts, ids) {
                try await context.perform { context in
                    let total = ids.reduce(0) { $0 + (context[$1]?.age ?? 0) }
                    if total > 1 { try context.object(for: id).age = 0 }
                }
            }
            for context in contexts { try? await context.save() }
            #expect(ids.reduce(0) { $0 + (coordinator.snapshot.value(for: $1)?.age ?? 0) } == expected)
        }
    }

    @Test func `no update is lost among many that try again`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 0, 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        let id = ids[(number + round) % 2]
                        try await coordinator.transaction(isolation: .serializable) { try $0.object(for: id).age += 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(ids.map { coordinator.snapshot.value(for: $0)?.age } == [200, 200])
    }

    @Test func `R23a a task that is cancelled saves nothing that is not handed over yet`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 0)
        let context = Context(coordinator)
        await context.perform { $0[ids[0]]?.age = 1 }
        let saves = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            do {
                try await context.save()
                return "saved"
            } catch {
                return "\(error)"
            }
        }
        #expect(await saves.value == "\(GraphError.cancelled)")
        #expect(await context.hasChanges)
        try await context.save()
        #expect(coordinator.snapshot.value(for: ids[0])?.age == 1)
    }

    @Test func `a transaction that tries again inside of one that does waits for nobody`() async throws {
        let (coordinator, ids) = try await Self.store(ages: 0, 0)
        let tries = Counter()
        try await coordinator.transaction { context in
            try context.object(for: ids[0]).age += 1
            guard tries.next() <= 2 else { return }
            try await Context(coordinator).transaction { $0[ids[0]]?.age += 10 }
            let inner = Counter()
            try await coordinator.transaction { context in
                try context.object(for: ids[1]).age += 1
                if inner.next() == 1 { try await Context(coordinator).transaction { $0[ids[1]]?.age += 10 } }
            }
        }
        #expect(ids.map { coordinator.snapshot.value(for: $0)?.age } == [21, 22])
    }

    @Test func `a unique value that came meanwhile is seen by the next attempt`() async throws {
        let coordinator = try await Coordinator(for: Person.self, Team.self)
        let tries = Counter()
        let id = try await coordinator.transaction { context -> Person.ID in
            if let ada = try context.first(Person.self, where: { $0.email == "ada@example.com" }) { return ada.id }
            let ada = Person(name: "Ada", email: "ada@example.com")
            if tries.next() == 1 { try await Context(coordinator).transaction { _ = $0.insert(ada) } }
            return context.insert(ada).id
        }
        #expect(tries.value == 1)
        #expect(coordinator.snapshot.count(of: Person.self) == 1)
        #expect(coordinator.snapshot.value(for: id) != nil)
    }
}

/// Counts, wherever it is called.
final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
