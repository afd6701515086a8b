@testable import Graph

/// Changes of nodes that are related to each other in every way, in the steps that a seed chooses, undone and done again.
///
/// With nobody else about, an undo gives back the state before the group and leaves nothing over, and a redo the state after
/// it, whatever the group did and whether or not it was saved.
struct UndoProgram {
    private let context: Context
    private var random: SeededGenerator
    /// Before the first group, and after each of them.
    private var states: [[String]]
    /// How many of the groups are in effect.
    private var position = 0

    static func failure(seed: UInt64) async -> String? {
        do {
            var program = try await UndoProgram(seed: seed)
            try await program.run()
            return nil
        } catch {
            return "GRAPH_SEED=\(seed) GRAPH_PROGRAMS=1 swift test --filter UndoProgramTests\n\(error)"
        }
    }

    private init(seed: UInt64) async throws {
        let coordinator = try await Coordinator(
            Schema([EntityDescription(Node.self)]), path: nil, fileSystem: SimulatedDisk(), options: JournalOptions(),
            checksEveryCommit: true)
        context = Context(coordinator)
        random = SeededGenerator(seed: seed)
        states = [await context.nodeLines]
        await context.beginHistory()
    }

    private mutating func run() async throws {
        for number in 0..<40 {
            do {
                try await step()
            } catch {
                throw StoreProgramRun.Mismatch(description: "step \(number): \(error)")
            }
        }
    }

    private mutating func step() async throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<4: try await change()
        case 4..<7: try await move(by: -1)
        case 7..<10: try await move(by: 1)
        case 10: try await save()
        default: for _ in 0..<states.count { try await move(by: random.chance(3) ? 1 : -1) }
        }
        let findings = await context.nodeFindings()
        try demand(findings.isEmpty) { "\(findings)" }
    }

    private mutating func change() async throws {
        let (seed, isTransaction) = (random.next(), random.chance(4))
        let count = await context.groupCount
        if isTransaction {
            struct Stop: Error {}
            let isAbandoned = random.chance(2)
            let before = await context.nodeLines
            try? await context.transaction { context in
                context.changeNodes(seed)
                if isAbandoned { throw Stop() }
            }
            if isAbandoned {
                let after = await context.nodeLines
                try demand(before == after) { "an abandoned transaction has changed\n\(before)\ninto\n\(after)" }
                return
            }
            // Its save may have been refused, and may have had objects give way.
            return await beginAnew()
        }
        await context.perform { $0.changeNodes(seed) }
        // A reference to a node that is gone ends with the next delete or undo, whatever that is about.
        guard await !context.refersToNothing else {
            await context.rollback()
            return await beginAnew()
        }
        guard await context.groupCount > count else { return }
        states.removeLast(states.count - 1 - position)
        states.append(await context.nodeLines)
        position += 1
    }

    private mutating func move(by distance: Int) async throws {
        guard states.indices.contains(position + distance) else { return }
        let conflicts = distance < 0 ? await context.undo() : await context.redo()
        position += distance
        let (found, expected) = (await context.nodeLines, states[position])
        let what = distance < 0 ? "undo" : "redo"
        try demand(conflicts.isEmpty) { "\(what) leaves \(conflicts)" }
        try demand(found == expected) {
            "\(what) gives\n\(found.joined(separator: "\n"))\nnot\n\(expected.joined(separator: "\n"))"
        }
    }

    /// A save that is refused changes nothing; one in which objects give way ends what can be expected.
    private mutating func save() async throws {
        let before = await context.nodeLines
        try? await context.save()
        if await context.nodeLines != before { await beginAnew() }
    }

    private mutating func beginAnew() async {
        await context.beginHistory()
        (states, position) = ([await context.nodeLines], 0)
    }
}

extension Context {
    fileprivate func beginHistory() {
        undoLimit = 0
        undoLimit = 1000
    }

    fileprivate var groupCount: Int {
        endTurn()
        return state.history.done.count
    }

    fileprivate var refersToNothing: Bool {
        let (snapshot, rows) = (state.flushed, state.flushed.entities[0].rows)
        var found = !state.working.missingMembers.isEmpty
        rows.forEachRow { _, _, address in
            let targets = snapshot.schema.entities[0].toOnes.map { $0.target(ofRowAt: address) }
            if targets.contains(where: { $0 != 0 && !rows.contains($0) }) { found = true }
        }
        return found
    }

    /// Every node with its members.
    fileprivate var nodeLines: [String] {
        let snapshot = state.flushed
        let entity = snapshot.schema.entities[0]
        var lines: [String] = []
        snapshot.entities[0].rows.forEachRow { row, _, address in
            let members = entity.toManys.map { snapshot.members(of: row, through: $0) }
            lines.append("\(row) \(entity.describe(address)) \(members)")
        }
        return lines
    }
}
