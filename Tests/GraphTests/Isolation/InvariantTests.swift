import Testing

@testable import Graph

private enum Bank {
    @Entity struct Account {
        var balance = 0
        var holder: ToOne<Holder> = nil
    }

    @Entity struct Holder {
        @Relationship(inverse: \Account.holder) var accounts: ToMany<Account> = []
    }
}

private enum Ring {
    @Entity struct Node {
        var next: ToOne<Node> = nil
    }
}

private enum Duty {
    @Entity struct Doctor {
        var isOnCall = true
    }
}

/// Programs that keep something as long as their transactions are isolated, on many schedules.
struct InvariantTests {
    // MARK: Bank

    private static let total = 400

    /// R25. Money is moved, split off into new accounts and taken over from closed ones; every reader sees all of it.
    @Test(arguments: [IsolationLevel.snapshot, .serializable])
    func `transfers keep the total, and every reader sees it`(level: IsolationLevel) async throws {
        await Schedules.check(suite: "InvariantTests", "bank, \(level)", share: 4) { seed in
            let executor = SeededExecutor(seed: seed, sessions: 5)
            let entities = [EntityDescription(Bank.Account.self), EntityDescription(Bank.Holder.self)]
            let coordinator = try await Coordinator(
                Schema(entities), path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
                taskExecutor: executor)
            try await Context(coordinator).transaction { context in
                let holders = (0..<2).map { _ in context.insert(Bank.Holder()) }
                for number in 0..<4 {
                    context.insert(Bank.Account(balance: Self.total / 4, holder: ToOne(holders[number % 2].id)))
                }
            }
            return await InvariantRun(seed: seed, sessions: 5, executor) { session, random in
                if session == 0 { return try await Self.watch(coordinator) }
                for _ in 0..<4 {
                    if session == 1 {
                        try await Self.audit(coordinator, &random)
                    } else {
                        try await Self.transfer(coordinator, level, &random)
                    }
                }
            } check: {
                try Self.check(coordinator.snapshot.fetchValues(Bank.Account.self).reduce(0) { $0 + $1.balance })
            }.result
        }
    }

    private static func check(_ total: Int) throws {
        if total != Self.total { throw Violation(text: "the total is \(total)") }
    }

    private static func transfer(
        _ coordinator: Coordinator,
        _ level: IsolationLevel,
        _ random: inout SeededGenerator
    ) async throws {
        let choices = (0..<4).map { _ in Int.random(in: 0..<60, using: &random) }
        try await coordinator.transaction(isolation: level) { context in
            let ids = try context.fetchIDs(Bank.Account.self)
            let from = try context.object(for: ids[choices[0] % ids.count])
            await Task.yield()
            let to = try context.object(for: ids[choices[1] % ids.count])
            guard from.id != to.id else { return }
            await Task.yield()
            switch choices[2] % 4 {
            case 0:
                to.balance += from.balance
                // At this level two deletes of one account are no conflict, and both would have its money (R6).
                if level == .snapshot { context.require(unchanged: from) }
                from.delete()
            case 1:
                from.balance -= 7
                context.insert(Bank.Account(balance: 7, holder: ToOne(to.holder?.id)))
            default:
                from.balance -= choices[3]
                to.balance += choices[3]
            }
        }
    }

    /// R23. A context that keeps up by itself goes from one committed state to the next.
    private static func watch(_ coordinator: Coordinator) async throws {
        let context = Context(coordinator)
        await context.perform { $0.automaticallyMergesChanges = true }
        var last = CommitNumber.none
        for _ in 0..<12 {
            let base = try await context.perform { context in
                try check(context.fetch(Bank.Account.self).reduce(0) { $0 + $1.balance })
                try check(context.fetch(Bank.Holder.self).flatMap(\.accounts).reduce(0) { $0 + $1.balance })
                return context.baseState.commit
            }
            if base < last { throw Violation(text: "back from commit \(last) to \(base)") }
            last = base
            await Task.yield()
        }
        await context.perform { $0.automaticallyMergesChanges = false }
    }

    private static func audit(_ coordinator: Coordinator, _ random: inout SeededGenerator) async throws {
        try check(coordinator.snapshot.fetchValues(Bank.Account.self).reduce(0) { $0 + $1.balance })
        let context = Context(coordinator)
        var total = 0
        if Bool.random(using: &random) {
            for id in try await context.perform({ try $0.fetchIDs(Bank.Account.self) }) {
                total += try await context.perform { try $0.object(for: id).balance }
                await Task.yield()
            }
        } else {
            for id in try await context.perform({ try $0.fetchIDs(Bank.Holder.self) }) {
                total += try await context.perform { try $0.object(for: id).accounts.reduce(0) { $0 + $1.balance } }
                await Task.yield()
            }
        }
        try check(total)
    }

    // MARK: Ring

    private static let nodes = 6

    /// The cycle test of FoundationDB: rotating three links of a ring gives a ring again, unless two rotations are mixed.
    @Test func `rotations keep one ring`() async throws {
        await Schedules.check(suite: "InvariantTests", "ring", share: 4) { seed in
            let coordinator = try await Coordinator(for: Ring.Node.self)
            let nodes = try await Context(coordinator).transaction { context in
                let nodes = (0..<Self.nodes).map { _ in context.insert(Ring.Node()) }
                for (node, next) in zip(nodes, nodes.dropFirst() + nodes.prefix(1)) { node.next = next }
                return nodes.map(\.id)
            }
            return await InvariantRun(seed: seed, sessions: 4, SeededExecutor(seed: seed, sessions: 4)) {
                session, random in
                for _ in 0..<4 {
                    let start = nodes[Int.random(in: nodes.indices, using: &random)]
                    if session == 0 {
                        try await Self.walk(coordinator, from: start)
                    } else {
                        try await Self.rotate(coordinator, at: start)
                    }
                }
            } check: {
                var seen: Set<Ring.Node.ID> = []
                var node = nodes[0]
                while seen.insert(node).inserted, let next = coordinator.snapshot.value(for: node)?.next.id {
                    node = next
                }
                if seen.count != Self.nodes { throw Violation(text: "a ring of \(seen.count)") }
            }.result
        }
    }

    private static func rotate(_ coordinator: Coordinator, at start: Ring.Node.ID) async throws {
        try await coordinator.transaction { context in
            let first = try context.object(for: start)
            await Task.yield()
            guard let second = first.next else { throw Violation(text: "an end") }
            await Task.yield()
            guard let third = second.next else { throw Violation(text: "an end") }
            await Task.yield()
            let fourth = third.next
            (first.next, second.next, third.next) = (third, fourth, second)
        }
    }

    private static func walk(_ coordinator: Coordinator, from start: Ring.Node.ID) async throws {
        let context = Context(coordinator)
        var node = start
        for step in 1...nodes {
            let here = node
            guard let next = try await context.perform({ try $0.object(for: here).next?.id }) else {
                throw Violation(text: "an end")
            }
            await Task.yield()
            if (next == start) != (step == nodes) { throw Violation(text: "back at the start after \(step) steps") }
            node = next
        }
    }

    // MARK: Duty

    /// R26. Who goes off duty sees to it that somebody else is on call. Snapshot isolation lets the last two go at once.
    @Test(arguments: [IsolationLevel.snapshot, .serializable])
    func `somebody stays on call among serializable transactions`(level: IsolationLevel) async throws {
        let summary = await Schedules.check(suite: "InvariantTests", "duty, \(level)", share: 4) { seed in
            let coordinator = try await Coordinator(for: Duty.Doctor.self)
            let doctors = try await Context(coordinator).transaction { context in
                (0..<3).map { _ in context.insert(Duty.Doctor()).id }
            }
            let run = await InvariantRun(seed: seed, sessions: 3, SeededExecutor(seed: seed, sessions: 3)) {
                session, _ in
                try await coordinator.transaction(isolation: level) { context in
                    await Task.yield()
                    guard try context.fetchCount(Duty.Doctor.self, where: { $0.isOnCall }) > 1 else { return }
                    await Task.yield()
                    try context.object(for: doctors[session]).isOnCall = false
                }
            } check: {
                let count = try coordinator.snapshot.fetchCount(Duty.Doctor.self, where: { $0.isOnCall })
                if count == 0 { throw Violation(text: "nobody is on call") }
            }
            var result = run.result
            if level == .snapshot {
                result.counts["nobody on call"] = result.failures.isEmpty ? 0 : 1
                result.failures = []
            }
            return result
        }
        if level == .snapshot && summary.count >= 100 { #expect(summary.counts["nobody on call", default: 0] > 0) }
    }
}

private struct Violation: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

/// Sessions on one schedule, and what is looked at when they are over.
private struct InvariantRun {
    var result: Schedules.Result

    init(
        seed: UInt64,
        sessions: Int,
        _ executor: SeededExecutor,
        _ session: @escaping @Sendable (Int, inout SeededGenerator) async throws -> Void,
        check: () throws -> Void
    ) async {
        var failures =
            executor.run {
                await withTaskGroup(of: String?.self) { group in
                    for number in 0..<sessions {
                        group.addTask {
                            var random = SeededGenerator(seed: seed &* 100 &+ UInt64(number))
                            do {
                                try await session(number, &random)
                                return nil
                            } catch {
                                return "session \(number): \(error)"
                            }
                        }
                    }
                    return await group.reduce(into: []) { failures, failure in failure.map { failures.append($0) } }
                }
            } ?? ["the sessions hang"]
        do { try check() } catch { failures.append("\(error)") }
        result = Schedules.Result(schedule: executor.trace, failures: failures)
    }
}
