import Testing

@testable import Graph

@Entity private struct Pair {
    var x = 1
    var y = 1
}

/// One context deletes an object, saves, and takes that back; another one, which has not noticed, brings the object back first.
/// What becomes of it is worked out from three rows: as it was saved before the delete, and as either side has it.
struct ReturningRowProgramTests {
    private enum Way: CaseIterable {
        case save
        case merge
        case refresh
    }

    private enum Policy: CaseIterable {
        case error
        case objectTrump
        case storeTrump
        case overwrite
        case counter

        var mergePolicy: MergePolicy {
            switch self {
            case .error: .error
            case .objectTrump: .mergeByPropertyObjectTrump
            case .storeTrump: .mergeByPropertyStoreTrump
            case .overwrite: .overwrite
            case .counter: .custom(.property(\Pair.x, .counter))
            }
        }
    }

    /// New values of x and y; nil where there is no change.
    private typealias Edit = [Int?]

    private struct Program {
        var (way, policy) = (Way.save, Policy.error)
        var (beforeDelete, afterUndo, others): (Edit, Edit, Edit) = ([], [], [])

        init(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            func edit() -> Edit {
                [0, 1].map { _ in Int.random(in: -3...3, using: &random) }.map { $0 > 0 ? $0 : nil }
            }
            (beforeDelete, afterUndo, others) = (edit(), edit(), edit())
            way = Way.allCases.randomElement(using: &random) ?? .save
            policy = Policy.allCases.randomElement(using: &random) ?? .error
        }

        static let base = [1, 1]
        var ours: [Int] { (0...1).map { afterUndo[$0] ?? beforeDelete[$0] ?? Self.base[$0] } }
        var theirs: [Int] { (0...1).map { others[$0] ?? Self.base[$0] } }

        /// What the store has in the end; nil if the save has to report a conflict.
        var expected: [Int]? {
            // Without a change the other context saves nothing, and the object is not there.
            guard theirs != Self.base else { return ours }
            let (oursChanged, theirsChanged) = ((0...1).map { ours[$0] != 1 }, (0...1).map { theirs[$0] != 1 })
            let isOverlap = (0...1).contains { oursChanged[$0] && theirsChanged[$0] }
            let isConflict =
                switch way {
                case .save: ours != theirs || ours != Self.base
                case .merge: isOverlap
                case .refresh: false
                }
            let merged = (0...1).map { oursChanged[$0] ? ours[$0] : theirs[$0] }
            guard isConflict else { return merged }
            switch policy {
            case .error: return nil
            case .objectTrump: return merged
            case .storeTrump: return (0...1).map { theirsChanged[$0] ? theirs[$0] : ours[$0] }
            case .overwrite: return way == .save ? ours : merged
            case .counter where oursChanged[1]: return nil
            case .counter: return [ours[0] + theirs[0] - 1, theirs[1]]
            }
        }
    }

    private func set(_ edit: Edit, of id: PersistentID<Pair>, in context: Context) async {
        await context.perform { context in
            if let x = edit[0] { context[id]?.x = x }
            if let y = edit[1] { context[id]?.y = y }
        }
    }

    private func result(of program: Program) async throws -> [Int]? {
        let coordinator = try await Coordinator(for: Pair.self, checksEveryCommit: true)
        let context = Context(coordinator, mergePolicy: program.policy.mergePolicy)
        let id = try await context.transaction { $0.insert(Pair()).id }
        await context.perform { $0.undoLimit = 9 }
        let other = Context(coordinator, mergePolicy: .overwrite)
        await set(program.others, of: id, in: other)
        await set(program.beforeDelete, of: id, in: context)
        await context.perform { $0[id]?.delete() }
        try await context.save()
        _ = await context.undo()
        await set(program.afterUndo, of: id, in: context)
        try await other.save()
        switch program.way {
        case .save: break
        case .merge:
            await context.perform { $0.automaticallyMergesChanges = true }
            while await context.perform({ $0.state.base.commit }) < coordinator.snapshot.commit { await Task.yield() }
        case .refresh: _ = await context.refresh()
        }
        do throws(GraphError) {
            try await context.save()
        } catch {
            guard case .conflicts = error else { throw error }
            return nil
        }
        return coordinator.snapshot.value(for: id).map { [$0.x, $0.y] }
    }

    @Test func `R32 an object that two contexts bring back is merged as any other`() async throws {
        for seed in UInt64(0)..<600 {
            let program = Program(seed: seed)
            #expect(try await result(of: program) == program.expected, "seed \(seed): \(program)")
        }
    }
}
