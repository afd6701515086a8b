@testable import Graph

/// What one context should see.
struct ContextModel: Sendable {
    /// A row changed here that others had deleted by the last refresh.
    struct Lost: Sendable {
        let version: UInt64
        let base: StoreModel.Row
        let ours: StoreModel.Row
    }

    /// A member that is pending and leads nowhere.
    struct Missing: Hashable, Sendable {
        let list: StoreModel.List
        let member: RowNumber
    }

    struct Changes {
        var inserted: Set<StoreModel.ID> = []
        var updated: Set<StoreModel.ID> = []
        var deleted: Set<StoreModel.ID> = []
    }

    var base: StoreModel
    var work: StoreModel
    var lost: [StoreModel.ID: Lost] = [:]
    var missing: Set<Missing> = []
    /// Which of the context's deletes removed a row.
    var deletes: [StoreModel.ID: Int] = [:]
    var deleteCount = 0
    /// Rows that were in the store before, and were deleted there, and that this context inserts again.
    var returning: Set<StoreModel.ID> = []

    init(base: StoreModel) {
        self.base = base
        work = base
    }

    /// By comparing all rows, lost ones included.
    var changes: Changes {
        var changes = Changes(updated: Set(lost.keys))
        for (id, row) in work.rows {
            guard let original = base.rows[id] else {
                changes.inserted.insert(id)
                continue
            }
            if row != original { changes.updated.insert(id) }
        }
        for id in base.rows.keys where work.rows[id] == nil && lost[id] == nil { changes.deleted.insert(id) }
        return changes
    }

    var hasChanges: Bool {
        work.rows != base.rows || work.lists != base.lists || !lost.isEmpty
            || missing.contains { work.rows[$0.list.ownerID] != nil }
    }

    mutating func rollback(to state: StoreModel) {
        self = ContextModel(base: state)
    }

    mutating func refresh(to head: StoreModel) {
        reapply(to: head)
        applyDeleteRules()
    }

    /// Gives an owner these members and no others; ones that do not exist stay pending.
    mutating func assign(_ rows: [RowNumber], to list: StoreModel.List) {
        missing = missing.filter { $0.list != list }
        for row in rows where work.rows[list.memberID(row)] == nil { missing.insert(Missing(list: list, member: row)) }
        work.assign(rows, to: list)
    }

    // MARK: Moving the base

    /// Puts the changes on top of another base: a property that was not changed here is as it is there.
    mutating func reapply(to head: StoreModel) {
        let changes = changes
        var merged = head
        var lost = lost
        merged.denyingLinks = []
        merged.lastRows = work.lastRows.filter { changes.deleted.contains($0.key) }
        // What is deleted here is taken from nobody.
        for id in changes.deleted.sorted() { merged.removeForReapplying(id) }
        for id in changes.inserted.union(changes.updated).sorted() {
            if let ours = lost[id]?.ours ?? work.rows[id] {
                guard let original = lost[id]?.base ?? base.rows[id] else {
                    if merged.rows[id] == nil { merged.insert(id, ours) } else { merged.write(id, ours) }
                    continue
                }
                if let theirs = merged.rows[id] {
                    merged.write(id, self.merged(id, ours: ours, original: original, theirs: theirs))
                    lost[id] = nil
                } else if lost[id] == nil, !letsGoOnly(id) {
                    lost[id] = Lost(version: base.versions[id] ?? 0, base: original, ours: ours)
                }
            }
        }
        reapplyLists(to: &merged)
        for link in work.denyingLinks where !base.hasLink(link) { merged.denyingLinks.insert(link) }
        (base, work, self.lost) = (head, merged, lost)
    }

    private func merged(
        _ id: StoreModel.ID,
        ours: StoreModel.Row,
        original: StoreModel.Row,
        theirs: StoreModel.Row
    ) -> StoreModel.Row {
        var row = theirs
        for (number, value) in ours.attributes.enumerated() where value != original.attributes[number] {
            row.attributes[number] = value
        }
        for (slot, target) in ours.targets.enumerated() where target != original.targets[slot] {
            if letsGo(id, slot), theirs.targets[slot] != original.targets[slot] { continue }
            row.targets[slot] = target
        }
        return row
    }

    /// Whether a reference ended because its target was deleted here.
    private func letsGo(_ id: StoreModel.ID, _ slot: Int) -> Bool {
        guard let original = base.rows[id]?.targets[slot], original != 0, work.rows[id]?.targets[slot] == 0 else {
            return false
        }
        let toOne = StoreShape.entities[id.entity].toOnes[slot]
        let target = StoreModel.ID(entity: toOne.target, row: original)
        return StoreShape.rule(ofTargetOf: toOne) == .nullify && base.rows[target] != nil && work.rows[target] == nil
    }

    /// Whether that is all that happened to a row.
    func letsGoOnly(_ id: StoreModel.ID) -> Bool {
        guard let ours = work.rows[id], let original = base.rows[id], ours != original,
            ours.attributes == original.attributes
        else { return false }
        return ours.targets.indices.allSatisfy { ours.targets[$0] == original.targets[$0] || letsGo(id, $0) }
    }

    private mutating func reapplyLists(to merged: inout StoreModel) {
        // Both sides list a link. The relationship with the smaller number says whether it is one.
        func saysLinks(_ list: StoreModel.List) -> Bool {
            if case .toMany(let mate) = list.shape.inverse { list.relationship <= mate } else { false }
        }
        for (list, members) in base.lists where saysLinks(list) {
            for member in members {
                let link = StoreModel.Link(list: list, member: member.row)
                let isDenying = [link, link.reversed].contains { $0.map(work.denyingLinks.contains) ?? false }
                if !work.hasLink(link), !isDenying { merged.remove(link) }
            }
        }
        for (list, members) in work.lists.sorted(by: { $0.key.comesBefore($1.key) }) where saysLinks(list) {
            for member in members {
                let link = StoreModel.Link(list: list, member: member.row)
                guard !base.hasLink(link), !merged.hasLink(link), let reversed = link.reversed else { continue }
                switch (merged.rows[list.ownerID] != nil, merged.rows[list.memberID(member.row)] != nil) {
                case (true, true): merged.add(link)
                case (true, false): missing.insert(Missing(list: list, member: member.row))
                case (false, true): missing.insert(Missing(list: reversed.list, member: reversed.member))
                case (false, false): break
                }
            }
        }
        for (list, members) in work.lists where list.shape.isOrdered {
            for member in members where base.lists[list]?.contains(member) != true {
                guard merged.members(list).contains(member.row) else { continue }
                merged.enter(list, member.row, key: member.key)
            }
        }
    }
}

extension StoreModel {
    /// Replaces a row that exists, and what its changed references entail at their other ends.
    mutating func write(_ id: ID, _ row: Row) {
        guard let old = rows.updateValue(Row(attributes: row.attributes, targets: rows[id]?.targets ?? []), forKey: id)
        else { return }
        for (slot, target) in row.targets.enumerated() where target != old.targets[slot] {
            setTarget(of: id, slot, to: target)
        }
    }

    /// Removes a row, remembering what it was like before.
    fileprivate mutating func removeForReapplying(_ id: ID) {
        let last = lastRows[id]
        remove(id)
        if let last { lastRows[id] = last }
    }
}

extension StoreModel.List {
    fileprivate func comesBefore(_ other: Self) -> Bool {
        (relationship, owner) < (other.relationship, other.owner)
    }
}
