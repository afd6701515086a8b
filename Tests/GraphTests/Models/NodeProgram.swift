import Synchronization

@testable import Graph

/// A save in a task of its own.
private struct RunningSave {
    let task: Task<Void, any Error>
    private let end: End

    private final class End: Sendable {
        let isReached = Atomic(false)
    }

    init(_ body: @escaping @Sendable () async throws -> Void) {
        let end = End()
        self.end = end
        task = Task {
            defer { end.isReached.store(true, ordering: .releasing) }
            try await body()
        }
    }

    var isOver: Bool { end.isReached.load(ordering: .acquiring) }
}

/// Three contexts change nodes at random that are related to each other in every way: sixty steps, all chosen by the seed.
///
/// After each step the context that acted keeps what `WorkingState` promises, and its objects show its working state; every
/// commit is checked; the file holds the state published last.
struct NodeProgram {
    private struct Stop: Error {}

    private let disk = GatedDisk()
    private let schema: Schema
    private let coordinator: Coordinator
    private let contexts: [Context]
    private var random: SeededGenerator

    static func failure(seed: UInt64) async -> String? {
        do {
            var program = try await NodeProgram(seed: seed)
            try await program.run()
            return nil
        } catch {
            return "GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter NodeProgramTests\n\(error)"
        }
    }

    private init(seed: UInt64) async throws {
        let schema = try Schema([EntityDescription(Node.self)])
        let coordinator = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options(),
            checksEveryCommit: true)
        self.schema = schema
        self.coordinator = coordinator
        contexts = (0..<3).map { _ in Context(coordinator) }
        random = SeededGenerator(seed: seed)
    }

    private mutating func run() async throws {
        for number in 0..<60 {
            do {
                try await step()
            } catch {
                throw StoreProgramRun.Mismatch(description: "step \(number): \(error)")
            }
        }
        try await reopen()
    }

    private mutating func step() async throws {
        let context = contexts[Int.random(in: 0..<contexts.count, using: &random)]
        await context.changeNodes(random.next())
        try await check(context)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: try await save(context)
        case 4: if random.chance(2) { await context.refresh() }
        case 5: if random.chance(4) { await context.rollback() }
        case 6: try await transaction(context)
        default: break
        }
        try await check(context)
    }

    private func check(_ context: Context) async throws {
        let findings = await context.nodeFindings()
        try demand(findings.isEmpty) { "\(findings)" }
    }

    /// Every second save has the context go on meanwhile, if the save gets as far as the disk, and another one save too.
    private mutating func save(_ context: Context) async throws {
        let (isHeld, isTransaction, seed) = (random.chance(2), random.chance(3), random.next())
        if random.chance(8) { disk.fill() }
        if isHeld { disk.hold() }
        let save = RunningSave {
            if isTransaction {
                try await context.transaction { $0.changeNodes(seed) }
            } else {
                try await context.save()
            }
        }
        guard isHeld else {
            try await takeOutcome(of: context) { try await save.task.value }
            return disk.disk.stopFailing()
        }
        while !disk.isWaiting, !save.isOver { await Task.yield() }
        await context.changeNodes(random.next())
        if random.chance(5) { await context.rollback() }
        var findings = await context.nodeFindings()
        let other = contexts[Int.random(in: 0..<contexts.count, using: &random)]
        var second: RunningSave?
        if other !== context {
            await other.changeNodes(random.next())
            let save = RunningSave { try await other.save() }
            while await !other.isSaveUnderWay, !save.isOver { await Task.yield() }
            await coordinator.takeTurn()
            await other.changeNodes(random.next())
            findings += await other.nodeFindings()
            second = save
        }
        disk.release()
        try await takeOutcome(of: context) { try await save.task.value }
        if let second { try await takeOutcome(of: other) { try await second.task.value } }
        disk.disk.stopFailing()
        try demand(findings.isEmpty) { "while a save is in flight: \(findings)" }
        try await check(other)
    }

    private mutating func transaction(_ context: Context) async throws {
        let (isAbandoned, seed) = (random.chance(2), random.next())
        try await takeOutcome(of: context) {
            try await context.transaction { context in
                context.changeNodes(seed)
                if isAbandoned { throw Stop() }
            }
        }
    }

    /// A save may fail for what random changes are; afterwards its context goes on from the store's state or from its own.
    private mutating func takeOutcome(of context: Context, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch is Stop {
        } catch let error as GraphError {
            if case .inconsistent = error { throw error }
            try await check(context)
            if random.chance(2) { await context.rollback() } else { await context.refresh() }
        }
    }

    private func reopen() async throws {
        let findings = coordinator.snapshot.checkByHand()
        try demand(findings.isEmpty) { "the store: \(findings)" }
        // It may fail as a save may; the file has the same store all the same.
        if coordinator.snapshot.commit.number.isMultiple(of: 2) { try? await coordinator.compact() }
        try await coordinator.close()
        let reopened = try await Coordinator(
            schema, path: JournalFixture.path, fileSystem: disk, options: JournalFixture.options())
        let (old, new) = (coordinator.snapshot, reopened.snapshot)
        try demand(new.checkByHand().isEmpty) { "reopened: \(new.checkByHand())" }
        let (oldRows, newRows) = (old.entities[0].rows, new.entities[0].rows)
        var differences: [RowNumber] = []
        oldRows.forEachRow { row, version, _ in
            if newRows.version(of: row) != version { differences.append(row) }
        }
        newRows.forEachDifference(from: oldRows) { row, _, _ in differences.append(row) }
        try demand(differences.isEmpty) { "reopened, rows are others: \(differences)" }
        let areSame = zip(old.linkTables, new.linkTables).allSatisfy { $0.isIdentical(to: $1) }
        try demand(areSame) { "reopened, members are others" }
        try await reopened.close()
    }
}
