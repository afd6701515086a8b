@testable import Graph

/// R36: what the undo of a group that is not saved has to name, or the redo: all of the group that is not as it was before.
struct UnsavedUndo {
    /// Between which states the group happened.
    let before: StoreModel
    let after: StoreModel
    let result: StoreModel
    /// What the engine says that it left alone.
    let conflicts: [UndoConflict]

    func check() throws {
        let named = Set(conflicts.map { StoreModel.ID($0.id) })
        let rows = Set([before, after].flatMap(\.rows.keys)).filter { before.rows[$0] != after.rows[$0] && isLeft($0) }
        for id in rows.sorted() {
            try demand(named.contains(id)) { "\(id) is not as it was before, and nobody says so" }
        }
        let links = changedLinks.filter { before.hasLink($0) != result.hasLink($0) }
        let ends = links.map { [$0.list.ownerID, $0.list.memberID($0.member)] }
        for ends in ends {
            try demand(!named.isDisjoint(with: ends)) {
                "the link of \(ends[0]) and \(ends[1]) is not as it was before, and nobody says so"
            }
        }
        for list in Set([before, after].flatMap(\.lists.keys)) where isMoved(list) {
            try demand(named.contains(list.ownerID)) {
                "\(list.ownerID).\(list.shape.name) is not in the order of before, and nobody says so"
            }
        }
        for id in named.subtracting(rows).subtracting(ends.joined()) {
            try demand(hasOtherMembers(id)) { "the undo names \(id), of which nothing was left" }
        }
    }

    private func isLeft(_ id: StoreModel.ID) -> Bool {
        guard let old = before.rows[id], let then = result.rows[id] else {
            return (before.rows[id] == nil) != (result.rows[id] == nil)
        }
        // A row that the group had deleted is back, with what others have made of it.
        guard let new = after.rows[id] else { return false }
        func isLeft<Value: Equatable>(_ values: (StoreModel.Row) -> [Value]) -> Bool {
            let (old, new, then) = (values(old), values(new), values(then))
            return old.indices.contains { old[$0] != new[$0] && old[$0] != then[$0] }
        }
        return isLeft(\.attributes) || isLeft(\.targets)
    }

    /// Whether the group moved a member that has not returned to its place.
    private func isMoved(_ list: StoreModel.List) -> Bool {
        func keys(_ state: StoreModel) -> [RowNumber: OrderKey] {
            let members = (state.lists[list] ?? []).compactMap { member in member.key.map { (member.row, $0) } }
            return Dictionary(uniqueKeysWithValues: members)
        }
        let (new, then) = (keys(after), keys(result))
        return keys(before).contains { row, old in
            new[row].map { $0 != old } == true && then[row].map { $0 != old } == true
        }
    }

    /// Whether an owner lists others than before, or in another order.
    private func hasOtherMembers(_ id: StoreModel.ID) -> Bool {
        StoreShape.entities[id.entity].toManys.contains { number in
            let list = StoreModel.List(relationship: number, owner: id.row)
            return before.lists[list] ?? [] != result.lists[list] ?? []
        }
    }

    /// What the group linked or unlinked, at one of the two sides.
    private var changedLinks: Set<StoreModel.Link> {
        func links(of state: StoreModel) -> Set<StoreModel.Link> {
            Set(
                state.lists.flatMap { list, members in
                    members.map { StoreModel.Link(list: list, member: $0.row) }.filter { $0.reversed != nil }
                })
        }
        return links(of: before).symmetricDifference(links(of: after))
    }
}
