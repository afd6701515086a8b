@testable import Graph

/// Makes the steps of a program from a seed.
///
/// Which entities and relationships occur, and how often which kind of change, is drawn for each program: programs that do
/// a few things often find more than those that do all a little (Groce and others, *Swarm testing*, ISSTA 2012).
struct StoreProgramGenerator {
    private var random: SeededGenerator
    private var entities: [Int] = []
    private var references: [(entity: Int, slot: Int)] = []
    private var relationships: [Int] = []
    /// Of inserting, setting, referring, changing members and deleting.
    private var weights: [Int] = []
    private var valueCount = 6
    /// Whether contexts merge by themselves, undo, and go on while they save; of programs without, most things of others are the
    /// first to find out.
    private var (merges, undoes, flies) = (false, false, false)
    /// One in how many changes requires a row; 0 for none.
    private var requirements = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var chosen = Set(StoreShape.entities.indices.filter { _ in chance(1, in: 2) })
        chosen.insert(chance(1, in: 2) ? StoreShape.author : StoreShape.tag)
        if chance(1, in: 2) { chosen.remove(StoreShape.room) }
        if chosen.contains(StoreShape.room) { chosen.insert(StoreShape.shelf) }
        if chosen.contains(StoreShape.shelf) { chosen.formUnion([StoreShape.author, StoreShape.book]) }
        if chosen.contains(StoreShape.chapter) || chosen.contains(StoreShape.cover) { chosen.insert(StoreShape.book) }
        entities = chosen.sorted()
        for entity in entities {
            for (slot, toOne) in StoreShape.entities[entity].toOnes.enumerated()
            where chosen.contains(toOne.target) && chance(2, in: 3) {
                references.append((entity, slot))
            }
        }
        relationships = StoreShape.toManys.indices.filter {
            chosen.contains(StoreShape.toManys[$0].owners) && chosen.contains(StoreShape.toManys[$0].members)
                && chance(2, in: 3)
        }
        weights = [20, 14, 16, 34, 10].map { $0 * [1, 2, 4][number(below: 3)] }
        valueCount = 4 + number(below: 6)
        (merges, undoes, flies) = (chance(1, in: 2), chance(1, in: 2), chance(1, in: 3))
        requirements = [0, 30, 10][number(below: 3)]
    }

    mutating func steps(_ length: Int) -> [StoreProgram.Step] {
        // Something to work on, which all contexts know.
        var inserts: [StoreProgram.Change] = []
        for entity in entities {
            // Several rooms would take each other's only shelf.
            for number in 0..<(entity == StoreShape.room ? 1 : 2 + number(below: 4)) {
                inserts.append(insert(entity, values: [2 * number + 2, 2 * number + 2, 2 * number + 2]))
            }
        }
        var steps = [
            StoreProgram.Step(
                context: 0, action: .transaction(.init(changes: inserts, isAbandoned: false, policy: .error)))
        ]
        for context in 1..<StoreProgram.contextCount {
            steps.append(StoreProgram.Step(context: context, action: .refresh))
        }
        while steps.count < length {
            steps.append(StoreProgram.Step(context: number(below: StoreProgram.contextCount), action: action()))
        }
        return steps
    }

    private mutating func action() -> StoreProgram.Action {
        if merges, chance(1, in: 12) { return .setMerging(chance(3, in: 4)) }
        if undoes, chance(1, in: 6) {
            guard chance(3, in: 5) else { return .redo }
            guard chance(1, in: 2) else { return .undo }
            if chance(1, in: 2) { return .undoShared(sharedGroup()) }
            return .undoOverOthers(other: number(below: StoreProgram.contextCount), changes() + changes())
        }
        if flies, chance(1, in: 10) { return .saveInFlight(flight()) }
        if chance(1, in: 30) { return .onCoordinator(onCoordinator()) }
        return switch number(below: 100) {
        case ..<46: .change([change()])
        case ..<60: .change(chance(1, in: 6) ? inserts() : (0..<(2 + number(below: 3))).map { _ in change() })
        case ..<62: .transaction(transaction(isAbandoned: true))
        case ..<65: .transaction(transaction(isAbandoned: false))
        case ..<71: .nested(nested())
        case ..<74: .discard([any()] + (0..<number(below: 3)).map { _ in any() })
        case ..<86: .save(rollsBackOnFailure: chance(1, in: 2), policy())
        case ..<92: .refresh
        case ..<94: .refreshObjects([any()] + (0..<number(below: 3)).map { _ in any() })
        case ..<96: .rollbackToLatest
        case ..<98: .rollback
        default: .reopen
        }
    }

    private mutating func changes() -> [StoreProgram.Change] { (0..<(1 + number(below: 3))).map { _ in change() } }

    private mutating func transaction(isAbandoned: Bool) -> StoreProgram.Transaction {
        StoreProgram.Transaction(
            rolledBack: chance(1, in: 3) ? changes() : [],
            changes: changes(),
            isAbandoned: isAbandoned,
            policy: policy()
        )
    }

    private mutating func flight() -> StoreProgram.Flight {
        StoreProgram.Flight(
            policy: policy(),
            isFailing: chance(1, in: 4),
            // Many: few rows are among those that the save does something about.
            changes: (requirements > 0 ? (0..<number(below: 8)).map { _ in requirement() } : []) + changes(),
            end: chance(2, in: 3) ? .nothing : chance(1, in: 2) ? .undo : .rollback,
            refreshed: chance(1, in: 3) ? [any(), any()] : [],
            rival: chance(1, in: 3) ? number(below: StoreProgram.contextCount) : nil
        )
    }

    private mutating func sharedGroup() -> StoreProgram.SharedGroup {
        let ours = changes()
        return StoreProgram.SharedGroup(
            ours: ours,
            other: number(below: StoreProgram.contextCount),
            theirs: ours.map { chance(3, in: 4) ? change(like: $0) : change() },
            save: StoreProgram.SharedGroup.Save.allCases[number(below: 4)]
        )
    }

    /// Of the same object, if there is one.
    private mutating func change(like other: StoreProgram.Change) -> StoreProgram.Change {
        switch other {
        case .set(let entity, let row, _, _), .delete(let entity, let row):
            if let reference = references.first(where: { $0.entity == entity }), chance(1, in: 2) {
                return .refer(entity: entity, row: row, slot: reference.slot, target: any(), asValue: false)
            }
            let attribute = number(below: StoreShape.entities[entity].attributeCount)
            return .set(entity: entity, row: row, attribute: attribute, value: value())
        case .refer(let entity, let row, let slot, _, let asValue):
            return .refer(entity: entity, row: row, slot: slot, target: any(), asValue: asValue)
        case .change(let relationship, let owner, .move(let index, _)) where chance(1, in: 2):
            return .change(relationship: relationship, owner: owner, .move(from: index, to: any()))
        case .change(let relationship, let owner, _):
            return .change(relationship: relationship, owner: owner, memberChange())
        case .insert, .require:
            return change()
        }
    }

    private mutating func onCoordinator() -> StoreProgram.OnCoordinator {
        StoreProgram.OnCoordinator(
            changes: changes(),
            isSerializable: chance(1, in: 2),
            isAbandoned: chance(1, in: 6),
            policy: policy(),
            other: number(below: StoreProgram.contextCount),
            meanwhile: chance(1, in: 4) ? [] : changes()
        )
    }

    private mutating func nested() -> StoreProgram.Nested {
        StoreProgram.Nested(
            changes: changes(),
            meanwhile: chance(1, in: 2) ? [] : (0..<(1 + number(below: 2))).map { _ in meanwhile() },
            policy: policy(),
            inner: chance(1, in: 2) ? inner(depth: 2) : nil,
            rolledBack: chance(1, in: 4) ? changes() : [],
            isTransaction: chance(1, in: 2),
            isAbandoned: chance(1, in: 5)
        )
    }

    private mutating func inner(depth: Int) -> StoreProgram.Inner {
        StoreProgram.Inner(
            steps: [.change(changes())] + (0..<number(below: 3)).map { _ in innerStep(depth: depth) },
            meanwhile: (0..<number(below: 3)).map { _ in innerStep(depth: 3) },
            policy: policy(),
            isAbandoned: chance(1, in: 5)
        )
    }

    /// Work in a context of its own starts in contexts up to the second level below those of the store.
    private mutating func innerStep(depth: Int) -> StoreProgram.InnerStep {
        switch number(below: 12) {
        case ..<6: .change(changes())
        case 6: .save(policy())
        case 7: .refresh
        case 8: .discard([any()] + (0..<number(below: 2)).map { _ in any() })
        case 9: chance(1, in: 2) ? .rollback : .rollbackToLatest
        default: depth < 3 ? .nested(inner(depth: depth + 1)) : .change(changes())
        }
    }

    private mutating func meanwhile() -> StoreProgram.Action {
        switch number(below: 10) {
        case ..<6: .change((0..<(1 + number(below: 2))).map { _ in change() })
        case 6: .save(rollsBackOnFailure: false, policy())
        case 7: .refresh
        case 8: .discard([any()])
        default: chance(1, in: 2) ? .rollback : .rollbackToLatest
        }
    }

    private mutating func policy() -> StorePolicy {
        chance(2, in: 5) ? .error : StorePolicy.allCases[number(below: StorePolicy.allCases.count)]
    }

    private mutating func requirement() -> StoreProgram.Change { .require(entity: anyEntity(), row: any()) }

    private mutating func change() -> StoreProgram.Change {
        if requirements > 0, chance(1, in: requirements) { return requirement() }
        var kind = number(below: weights.reduce(0, +))
        let position = weights.firstIndex { weight in
            kind -= weight
            return kind < 0
        }
        switch position {
        case 1:
            let entity = anyEntity()
            let attribute = number(below: StoreShape.entities[entity].attributeCount)
            return .set(entity: entity, row: any(), attribute: attribute, value: value())
        case 2 where !references.isEmpty:
            let (entity, slot) = references[number(below: references.count)]
            return .refer(entity: entity, row: any(), slot: slot, target: any(), asValue: chance(1, in: 3))
        case 3 where !relationships.isEmpty:
            let relationship = relationships[number(below: relationships.count)]
            return .change(relationship: relationship, owner: any(), memberChange())
        case 4:
            return .delete(entity: anyEntity(), row: any())
        default:
            return insert(anyEntity(), values: [value(), chance(1, in: 2) ? 0 : value(), value()])
        }
    }

    /// Of one entity.
    private mutating func inserts() -> [StoreProgram.Change] {
        let entity = anyEntity()
        return (0..<(2 + number(below: 5))).map { _ in insert(entity, values: [value(), value(), value()]) }
    }

    private mutating func insert(_ entity: Int, values: [Int]) -> StoreProgram.Change {
        let shape = StoreShape.entities[entity]
        var members: [StoreProgram.Members] = []
        for number in shape.toManys where StoreShape.toManys[number].minimum > 0 || chance(1, in: 4) {
            members.append(StoreProgram.Members(relationship: number, rows: [row()] + rows()))
        }
        return .insert(
            entity: entity,
            attributes: Array(values.prefix(shape.attributeCount)),
            targets: shape.toOnes.map { $0.isRequired ? any() / 5 * 5 + 1 : chance(2, in: 5) ? any() : 0 },
            members: members
        )
    }

    private mutating func memberChange() -> MemberChange {
        switch number(below: 16) {
        case ..<2: .insert(row())
        case ..<5: .append(chance(1, in: 2) ? [row()] : rows())
        case ..<7: .insertAt(row(), any())
        case ..<9: .move(from: any(), to: any())
        case ..<11: .remove(row())
        case 11: .removeAt(any())
        case 12: chance(1, in: 2) ? .removeAll : .copy(row())
        case 13: .assignValue(rows())
        default: .assign(rows())
        }
    }

    // MARK: Numbers

    private mutating func number(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
    private mutating func chance(_ count: Int, in all: Int) -> Bool { number(below: all) < count }
    private mutating func any() -> Int { number(below: 1000) }
    private mutating func row() -> RowNumber { RowNumber(any()) }
    private mutating func rows() -> [RowNumber] { (0..<number(below: 5)).map { _ in row() } }
    private mutating func value() -> Int { chance(19, in: 20) ? 1 + number(below: valueCount) : 0 }
    private mutating func anyEntity() -> Int { entities[number(below: entities.count)] }
}
