import Testing

@testable import Graph

/// R26: transactions on the coordinator whose contexts do more than read and write.
struct LongTransactionTests {
    private static func store() async throws -> (Coordinator, [Person.ID]) {
        let coordinator = try await Coordinator(for: Person.self, Team.self, checksEveryCommit: true)
        let ids = try await coordinator.transaction { context in
            (0..<3).map { context.insert(Person(name: "\($0)")).id }
        }
        return (coordinator, ids)
    }

    @Test func `R26 the save of a nested context forgets nothing of what was read`() async throws {
        let (coordinator, ids) = try await Self.store()
        let tries = Counter()
        try await coordinator.transaction(isolation: .serializable) { context in
            let age = context[ids[0]]?.age ?? 0
            let child = await Context(parent: context)
            try await child.transaction { $0[ids[2]]?.age = 1 }
            if tries.next() == 1 { try await coordinator.transaction { $0[ids[0]]?.age = 50 } }
            context[ids[1]]?.age = age
        }
        #expect(tries.value == 2)
        #expect(coordinator.snapshot.value(for: ids[1])?.age == 50)
    }

    @Test(arguments: 0..<5, [true, false]) func `R25, R26 a transaction reads one state, however it is asked to move`(
        way: Int, writes: Bool
    ) async throws {
        let (coordinator, ids) = try await Self.store()
        let tries = Counter()
        try await coordinator.transaction(isolation: .serializable) { context in
            let age = context[ids[0]]?.age ?? 0
            if tries.next() == 1 { try await coordinator.transaction { $0[ids[0]]?.age = 50 } }
            switch way {
            case 0: await context.refresh()
            case 1: context[ids[1]]?.refresh(mergeChanges: true)
            case 2: await context.rollback(to: .latest)
            case 3: await context.reset()
            default:
                context.automaticallyMergesChanges = true
                for _ in 0..<100 { await Task.yield() }
            }
            #expect(context[ids[0]]?.age == age)
            if writes { context[ids[1]]?.name = "\(age)" }
        }
        // One that writes nothing may have happened before the other one.
        #expect(tries.value == (writes ? 2 : 1))
        #expect(coordinator.snapshot.value(for: ids[1])?.name == (writes ? "50" : "1"))
    }

    @Test func `a transaction that tries again may contain another one that does`() async throws {
        let (coordinator, ids) = try await Self.store()
        let tries = Counter()
        try await coordinator.transaction { context in
            let round = tries.next()
            context[ids[0]]?.age += 1
            if round == 1 {
                try await coordinator.transaction { $0[ids[0]]?.age += 1 }
            } else {
                let inner = Counter()
                try await coordinator.transaction { nested in
                    nested[ids[1]]?.age += 1
                    if inner.next() == 1 { try await Context(coordinator).transaction { $0[ids[1]]?.age += 1 } }
                }
            }
        }
        #expect(ids.prefix(2).map { coordinator.snapshot.value(for: $0)?.age } == [2, 2])
    }
}
