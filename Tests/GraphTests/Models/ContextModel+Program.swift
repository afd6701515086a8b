@testable import Graph

/// A change with what it means in a given state.
enum ModelChange: Sendable {
    case insert(StoreModel.ID, StoreModel.Row, members: [StoreModel.List: [RowNumber]])
    case set(StoreModel.ID, attribute: Int, value: Int)
    case refer(StoreModel.ID, slot: Int, target: RowNumber, asValue: Bool)
    case change(StoreModel.List, MemberChange)
    case delete(StoreModel.ID)
    case require(StoreModel.ID)

    /// Whether this and `first`, which comes before, may be inserted at once: what one says of the other would come too early.
    func isInsert(alongside first: ModelChange) -> Bool {
        guard case .insert(let id, let row, let members) = self, case .insert(let start, _, _) = first,
            id.entity == start.entity
        else { return false }
        let toOnes = zip(StoreShape.entities[id.entity].toOnes, row.targets)
        return toOnes.allSatisfy { $0.target != start.entity || $1 < start.row }
            && members.allSatisfy { list, rows in
                list.shape.members != start.entity || rows.allSatisfy { $0 < start.row }
            }
    }
}

extension ContextModel {
    /// Says what a change means here, and makes it; nil if it means nothing.
    ///
    /// - Parameter next: for each entity the row number that comes next.
    mutating func perform(_ change: StoreProgram.Change, next: inout [RowNumber]) -> ModelChange? {
        guard let change = resolved(change, next: next) else { return nil }
        switch change {
        case .insert(let id, let row, let members):
            next[id.entity] += 1
            work.insert(id, row)
            for (list, rows) in members.sorted(by: { $0.key.relationship < $1.key.relationship }) {
                assign(rows, to: list)
            }
        case .set(let id, let attribute, let value):
            work.rows[id]?.attributes[attribute] = value
            detachedRows[id]?.ours.attributes[attribute] = value
            if let row = detachedRows[id], row.ours == row.base { detachedRows[id] = nil }
        case .refer(let id, let slot, let target, _):
            work.setTarget(of: id, slot, to: target)
        case .change(let list, let change):
            perform(change, on: list)
        case .delete(let id):
            delete(id)
        case .require(let id):
            require(id)
        }
        endRestoredChanges()
        return change
    }

    private mutating func perform(_ change: MemberChange, on list: StoreModel.List) {
        switch change {
        case .insert(let row): work.insertMember(row, list)
        case .append(let rows):
            // In an order each is looked at: the first time may take back what the second one does anew.
            for row in rows {
                work.insertMember(row, list)
                if list.shape.isOrdered { endRestoredChanges() }
            }
        case .insertAt(let row, let index): work.place(row, list, at: index)
        case .move(let index, let other): work.place(work.members(list)[index], list, at: other)
        case .remove(let row): work.removeMember(row, list)
        case .removeAt(let index): work.removeMember(work.members(list)[index], list)
        case .removeAll: assign([], to: list)
        case .assign(let rows), .assignValue(let rows): assign(rows, to: list)
        case .copy(let owner):
            guard owner != list.owner else { return }
            assign(work.members(StoreModel.List(relationship: list.relationship, owner: owner)), to: list)
        }
    }

    // MARK: Resolving numbers

    private func resolved(_ change: StoreProgram.Change, next: [RowNumber]) -> ModelChange? {
        switch change {
        case .insert(let entity, let attributes, let targets, let members):
            let id = StoreModel.ID(entity: entity, row: next[entity])
            let toOnes = StoreShape.entities[entity].toOnes
            let row = StoreModel.Row(
                attributes: attributes,
                targets: zip(toOnes, targets).map { toOne, number in
                    target(number, toOne.target, next, mayBeMissing: !toOne.isRequired)
                }
            )
            var lists: [StoreModel.List: [RowNumber]] = [:]
            for members in members {
                let list = StoreModel.List(relationship: members.relationship, owner: id.row)
                let rows = members.rows.compactMap { pick($0, list.shape.members) }
                if !rows.isEmpty { lists[list] = rows }
            }
            return .insert(id, row, members: lists)
        case .set(let entity, let row, let attribute, let value):
            // What others deleted, and is changed here, is written as well.
            let detached = detachedRows.keys.filter { $0.entity == entity }.sorted()
            if !detached.isEmpty, row % 2 == 0 {
                return .set(detached[row / 2 % detached.count], attribute: attribute, value: value)
            }
            return id(row, entity).map { .set($0, attribute: attribute, value: value) }
        case .refer(let entity, let row, let slot, let number, let asValue):
            let target = target(number, StoreShape.entities[entity].toOnes[slot].target, next, mayBeMissing: asValue)
            return id(row, entity).map { .refer($0, slot: slot, target: target, asValue: asValue) }
        case .change(let relationship, let owner, let change):
            let owner = pick(RowNumber(owner), StoreShape.toManys[relationship].owners)
            return owner.flatMap { owner in
                let list = StoreModel.List(relationship: relationship, owner: owner)
                return resolved(change, on: list, next: next).map { .change(list, $0) }
            }
        case .delete(let entity, let row):
            return id(row, entity).map { .delete($0) }
        case .require(let entity, let row):
            return id(row, entity).map { .require($0) }
        }
    }

    private func resolved(_ change: MemberChange, on list: StoreModel.List, next: [RowNumber]) -> MemberChange? {
        let members = work.members(list)
        func row(_ number: RowNumber) -> RowNumber? { pick(number, list.shape.members) }
        switch change {
        case .insert(let number): return row(number).map { .insert($0) }
        case .append(let numbers): return .append(numbers.compactMap(row))
        case .insertAt(let number, let index):
            guard let row = row(number) else { return nil }
            guard list.shape.isOrdered else { return .insert(row) }
            // A reference of the member's own entity may make it a member of what it was no member of before.
            return .insertAt(row, index % (members.count + (members.contains(row) ? 0 : 1)))
        case .move(let index, let other):
            guard list.shape.isOrdered, !members.isEmpty else { return nil }
            return .move(from: index % members.count, to: other % members.count)
        case .remove(let number):
            if number % 4 == 0 || members.isEmpty { return row(number).map { .remove($0) } }
            return .remove(members[Int(number) % members.count])
        case .removeAt(let index): return members.isEmpty ? nil : .removeAt(index % members.count)
        case .removeAll: return .removeAll
        case .assign(let numbers): return .assign(numbers.compactMap(row))
        case .assignValue(let numbers):
            return .assignValue(numbers.compactMap { $0 >= 950 ? given($0, next[list.shape.members]) : row($0) })
        case .copy(let number): return pick(number, list.shape.owners).map { .copy($0) }
        }
    }

    private func id(_ number: Int, _ entity: Int) -> StoreModel.ID? {
        pick(RowNumber(number), entity).map { StoreModel.ID(entity: entity, row: $0) }
    }

    /// What a reference is to lead to, 0 for nothing; perhaps any row ever given.
    private func target(_ number: Int, _ entity: Int, _ next: [RowNumber], mayBeMissing: Bool) -> RowNumber {
        guard number % 5 != 0 else { return 0 }
        let isAny = mayBeMissing && number >= 900
        return (isAny ? given(RowNumber(number), next[entity]) : pick(RowNumber(number), entity)) ?? 0
    }

    /// Any row number ever given, whether this context has the row or not.
    private func given(_ number: RowNumber, _ next: RowNumber) -> RowNumber? {
        next == 1 ? nil : 1 + number % (next - 1)
    }

    private func pick(_ number: RowNumber, _ entity: Int) -> RowNumber? {
        let ids = work.ids(of: entity)
        return ids.isEmpty ? nil : ids[Int(number) % ids.count].row
    }
}
