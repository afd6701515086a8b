@testable import Graph

/// A random program over several contexts of one store. Arguments are plain numbers, read modulo what exists when the step
/// runs, so that a program stays meaningful when steps are taken out of it.
///
/// Each program uses some of the entities and relationships only, so that what it does meets.
struct StoreProgram: CustomStringConvertible, Sendable {
    struct Step: Sendable {
        let context: Int
        let action: Action

        /// Whether it makes changes and nothing else.
        var isChange: Bool { if case .change = action { true } else { false } }
    }

    enum Action: Sendable {
        /// Several changes are made without looking at the context in between.
        case change([Change])
        case transaction(Transaction)
        /// Work in a nested context, while this one goes on.
        case nested(Nested)
        case save(rollsBackOnFailure: Bool, StorePolicy)
        /// A save during which the context goes on.
        case saveInFlight(Flight)
        /// On a fresh context, while another one does something during the first attempt.
        case onCoordinator(OnCoordinator)
        /// The numbers are read modulo the count of changed objects.
        case discard([Int])
        /// The last group, saved or not.
        case undo
        /// After another context has committed something, and this one has read it.
        case undoOverOthers(other: Int, [Change])
        /// A group, after another context has changed the same objects.
        case undoShared(SharedGroup)
        case redo
        /// Whether the context takes over others' commits by itself.
        case setMerging(Bool)
        case rollback
        case rollbackToLatest
        case refresh
        /// Of objects, one after the other. The numbers are read as those of discards are.
        case refreshObjects([Int])
        case reopen
    }

    enum Change: Sendable {
        case insert(entity: Int, attributes: [Int], targets: [Int], members: [Members])
        case set(entity: Int, row: Int, attribute: Int, value: Int)
        /// Numbers divisible by 5 stand for no target, as values those from 900 on for any row number ever given.
        case refer(entity: Int, row: Int, slot: Int, target: Int, asValue: Bool)
        case change(relationship: Int, owner: Int, MemberChange)
        case delete(entity: Int, row: Int)
        /// The row must be unchanged when the context saves.
        case require(entity: Int, row: Int)
    }

    struct Transaction: Sendable {
        /// What comes first, and is rolled back in the transaction.
        var rolledBack: [Change] = []
        var changes: [Change]
        let isAbandoned: Bool
        let policy: StorePolicy
    }

    struct Nested: Sendable {
        var changes: [Change]
        /// What happens here before the nested context saves.
        var meanwhile: [Action]
        let policy: StorePolicy
        /// Work in a context nested in this one, which may take it over.
        var inner: Inner?
        /// What comes first in a transaction, and is rolled back in it.
        var rolledBack: [Change] = []
        /// Whether this is a transaction that waits meanwhile.
        let isTransaction: Bool
        let isAbandoned: Bool
    }

    /// Work in a context that is nested in a nested one.
    struct Inner: Sendable {
        var steps: [InnerStep]
        /// What happens in the context around it before it saves.
        var meanwhile: [InnerStep]
        let policy: StorePolicy
        let isAbandoned: Bool
    }

    enum InnerStep: Sendable {
        case change([Change])
        /// The numbers are read modulo the count of changed objects.
        case discard([Int])
        case rollback
        case rollbackToLatest
        case refresh
        case save(StorePolicy)
        indirect case nested(Inner)
    }

    struct Flight: Sendable {
        let policy: StorePolicy
        /// Whether the disk is full.
        let isFailing: Bool
        var changes: [Change]
        /// How the context ends what it does meanwhile.
        let end: End
        /// The objects that it refreshes before that.
        let refreshed: [Int]
        /// A context whose save is on its way before.
        var rival: Int?

        enum End { case nothing, rollback, undo }
    }

    struct OnCoordinator: Sendable {
        var changes: [Change]
        let isSerializable: Bool
        let isAbandoned: Bool
        let policy: StorePolicy
        let other: Int
        let meanwhile: [Change]
    }

    struct SharedGroup: Sendable {
        var ours: [Change]
        let other: Int
        var theirs: [Change]
        let save: Save

        /// When the group is saved: before the other context makes its changes, after that, or not at all; or it is undone
        /// meanwhile, and done again after that.
        enum Save: CaseIterable { case before, after, never, undone }
    }

    struct Members: Sendable {
        let relationship: Int
        let rows: [RowNumber]
    }

    /// Whether there are saves in flight.
    var hasFlights: Bool { steps.contains { if case .saveInFlight = $0.action { true } else { false } } }

    var hasUndo: Bool {
        steps.contains {
            switch $0.action {
            case .undo, .undoOverOthers, .undoShared, .redo: true
            case .saveInFlight(let flight): flight.end == .undo
            default: false
            }
        }
    }

    static let contextCount = 3
    var steps: [Step]
    /// Of the store, if it has a file of its own. What is closed in order has all commits on every level.
    var durability = Durability.full

    init(steps: [Step]) {
        self.steps = steps
    }

    init(length: Int, seed: UInt64) {
        var generator = StoreProgramGenerator(seed: seed)
        steps = generator.steps(length)
        durability = [.full, .relaxed, .none][Int(seed % 3)]
    }

    var description: String {
        let text = steps.enumerated().map { "  \($0): context \($1.context) \($1.action)" }.joined(separator: "\n")
        return ["GraphTests.", "StoreProgram.", "MemberChange", "Change.", "Action."].reduce(text) {
            $0.replacing($1, with: "")
        }
    }

    /// The shortest program found that still fails, by taking out ever smaller parts (Zeller's ddmin, without its
    /// complements).
    func shrunk(while fails: (StoreProgram) async -> Bool) async -> StoreProgram {
        var program = self
        var length = max(1, steps.count / 2)
        while length > 0 {
            var start = 0
            while start < program.steps.count {
                var shorter = program
                shorter.steps.removeSubrange(start..<min(start + length, shorter.steps.count))
                if await fails(shorter) { program = shorter } else { start += length }
            }
            length /= 2
        }
        return await program.withFewerChanges(while: fails)
    }

    /// The same for the changes within steps.
    private func withFewerChanges(while fails: (StoreProgram) async -> Bool) async -> StoreProgram {
        var program = self
        for number in program.steps.indices {
            var position = 0
            while let shorter = program.removing(change: position, from: number) {
                if await fails(shorter) { program = shorter } else { position += 1 }
            }
        }
        return program
    }

    /// nil if there is no such change.
    private func removing(change position: Int, from number: Int) -> StoreProgram? {
        var program = self
        switch steps[number].action {
        case .change(var changes) where changes.indices.contains(position):
            changes.remove(at: position)
            program.steps[number] = Step(context: steps[number].context, action: .change(changes))
        case .transaction(var transaction) where transaction.changes.indices.contains(position):
            transaction.changes.remove(at: position)
            program.steps[number] = Step(context: steps[number].context, action: .transaction(transaction))
        case .nested(var nested) where position < nested.partCount:
            nested.remove(position)
            program.steps[number] = Step(context: steps[number].context, action: .nested(nested))
        case .saveInFlight(var flight) where flight.changes.indices.contains(position):
            flight.changes.remove(at: position)
            program.steps[number] = Step(context: steps[number].context, action: .saveInFlight(flight))
        case .undoOverOthers(let other, var changes) where changes.indices.contains(position):
            changes.remove(at: position)
            program.steps[number] = Step(
                context: steps[number].context, action: .undoOverOthers(other: other, changes))
        case .undoShared(var group) where position < group.ours.count + group.theirs.count:
            if group.ours.indices.contains(position) {
                group.ours.remove(at: position)
            } else {
                group.theirs.remove(at: position - group.ours.count)
            }
            program.steps[number] = Step(context: steps[number].context, action: .undoShared(group))
        case .onCoordinator(var transaction) where transaction.changes.indices.contains(position):
            transaction.changes.remove(at: position)
            program.steps[number] = Step(context: steps[number].context, action: .onCoordinator(transaction))
        default:
            return nil
        }
        return program
    }
}

extension StoreProgram.Nested {
    fileprivate var partCount: Int { changes.count + meanwhile.count + (inner?.partCount ?? 0) }

    /// Takes one of the parts out.
    fileprivate mutating func remove(_ position: Int) {
        if position < changes.count {
            changes.remove(at: position)
        } else if position < changes.count + meanwhile.count {
            meanwhile.remove(at: position - changes.count)
        } else {
            inner = inner?.removing(position - changes.count - meanwhile.count)
        }
    }
}

extension StoreProgram.Inner {
    /// All of it is one part, and each of its steps is one.
    fileprivate var partCount: Int { 1 + Self.partCount(of: steps) + Self.partCount(of: meanwhile) }

    private static func partCount(of steps: [StoreProgram.InnerStep]) -> Int {
        steps.reduce(0) { count, step in
            switch step {
            case .nested(let inner): count + inner.partCount
            case .change(let changes): count + 1 + changes.count
            default: count + 1
            }
        }
    }

    /// nil if the part is all there is.
    fileprivate func removing(_ position: Int) -> Self? {
        guard position > 0 else { return nil }
        var (inner, position) = (self, position - 1)
        let count = Self.partCount(of: steps)
        if position < count {
            Self.remove(position, from: &inner.steps)
        } else {
            position -= count
            Self.remove(position, from: &inner.meanwhile)
        }
        return inner
    }

    private static func remove(_ position: Int, from steps: inout [StoreProgram.InnerStep]) {
        var first = 0
        for index in steps.indices {
            let next = first + partCount(of: [steps[index]])
            guard position >= next else {
                switch steps[index] {
                case .nested(let inner):
                    if let shorter = inner.removing(position - first) {
                        steps[index] = .nested(shorter)
                        return
                    }
                case .change(var changes) where position > first:
                    changes.remove(at: position - first - 1)
                    steps[index] = .change(changes)
                    return
                default:
                    break
                }
                steps.remove(at: index)
                return
            }
            first = next
        }
    }
}
