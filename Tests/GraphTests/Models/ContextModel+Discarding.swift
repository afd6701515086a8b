@testable import Graph

/// R8: taking back what was done to single rows.
extension ContextModel {
    mutating func discard(_ ids: [StoreModel.ID]) {
        missing = missing.filter { !ids.contains($0.list.ownerID) && !ids.contains($0.list.memberID($0.member)) }
        for id in ids { required[id] = nil }
        discardRows(ids, cascadingIn: base)
        for id in ids { restoreLinks(of: id) }
        applyDeleteRules()
        endRestoredChanges()
    }

    /// Takes back what was done to rows and references, not what was done to links.
    ///
    /// - Parameter state: says which deletes would take along what comes back.
    mutating func discardRows(_ ids: [StoreModel.ID], cascadingIn state: StoreModel) {
        var taken: Set<Int> = []
        for id in ids {
            if detachedRows[id] != nil {
                detachedRows[id] = nil
            } else if work.rows[id] == nil {
                if base.rows[id] != nil, let number = deletes[id] { taken.insert(number) }
            } else if let original = base.rows[id] {
                guard work.rows[id] != original || detachedBases[id] != nil else { continue }
                detachedBases[id] = nil
                work.write(id, original)
                restorePositions(of: id)
            } else {
                missing = missing.filter { $0.list.ownerID != id }
                work.forget(id)
            }
        }
        takeBack(taken, cascadingIn: state)
    }

    private mutating func takeBack(_ numbers: Set<Int>, cascadingIn state: StoreModel) {
        var taken: [StoreModel.ID] = []
        func add(_ number: Int) {
            for (id, other) in deletes.sorted(by: { $0.key < $1.key })
            where other == number && base.rows[id] != nil && work.rows[id] == nil && !taken.contains(id) {
                taken.append(id)
            }
        }
        for number in numbers.sorted() { add(number) }
        var count = 0
        while count < taken.count {
            for owner in state.owners(cascadingTo: taken[count]).sorted() where work.rows[owner] == nil {
                if let number = deletes[owner] { add(number) }
            }
            count += 1
        }
        for id in taken {
            guard var row = base.rows[id] else { continue }
            for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() where toOne.changesOtherRows {
                row.targets[slot] = 0
            }
            work.insert(id, row)
            work.lastRows[id] = nil
            deletes[id] = nil
            detachedBases[id] = nil
            for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() {
                guard case .toOne(let inverse) = toOne.inverse else { continue }
                for related in work.ids(of: toOne.target)
                where work.rows[related]?.targets[inverse] == id.row && related.row != base.rows[id]?.targets[slot] {
                    work.setTarget(of: related, inverse, to: 0)
                }
            }
        }
        for id in taken {
            restoreReferences(of: id)
            for (referrer, slot) in base.referrers(to: id).sorted(by: { ($0.id, $0.slot) < ($1.id, $1.slot) }) {
                let toOne = StoreShape.entities[referrer.entity].toOnes[slot]
                guard StoreShape.rule(ofTargetOf: toOne) == .nullify, work.rows[referrer]?.targets[slot] == 0 else {
                    continue
                }
                work.setTarget(of: referrer, slot, to: id.row)
                restorePositions(of: referrer)
            }
            for link in base.links(of: id) { restore(link) }
        }
        if !taken.isEmpty { linkMissing() }
    }

    /// Restores the references of a row where they take nothing from other rows.
    private mutating func restoreReferences(of id: StoreModel.ID) {
        guard let original = base.rows[id] else { return }
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() where toOne.changesOtherRows {
            if case .toOne(let inverse) = toOne.inverse {
                let related = StoreModel.ID(entity: toOne.target, row: original.targets[slot])
                if let other = work.rows[related]?.targets[inverse], other != 0, other != id.row { continue }
            }
            work.setTarget(of: id, slot, to: original.targets[slot])
        }
        restorePositions(of: id)
    }

    /// Restores the positions of a row in the base among the members of what it refers to.
    mutating func restorePositions(of id: StoreModel.ID) {
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() {
            guard case .toMany(let number) = toOne.inverse, StoreShape.toManys[number].isOrdered,
                let target = work.rows[id]?.targets[slot], target != 0
            else { continue }
            let list = StoreModel.List(relationship: number, owner: target)
            guard let member = base.lists[list]?.first(where: { $0.row == id.row }) else { continue }
            work.enter(list, id.row, key: member.key)
        }
    }

    /// Links a row as in the base, and gives its members their places.
    private mutating func restoreLinks(of id: StoreModel.ID) {
        for number in StoreShape.entities[id.entity].toManys {
            let list = StoreModel.List(relationship: number, owner: id.row)
            if case .toMany = list.shape.inverse {
                for row in work.members(list) where !base.members(list).contains(row) {
                    work.remove(StoreModel.Link(list: list, member: row))
                }
                for row in base.members(list) { restore(StoreModel.Link(list: list, member: row)) }
            }
            guard list.shape.isOrdered else { continue }
            for member in base.lists[list] ?? [] where work.members(list).contains(member.row) {
                work.enter(list, member.row, key: member.key)
            }
        }
    }

    private mutating func restore(_ link: StoreModel.Link) {
        for end in [link, link.reversed].compactMap({ $0 }) where end.list.shape.rule == .deny {
            guard work.rows[end.list.ownerID] == nil, work.rows[end.list.memberID(end.member)] != nil else { continue }
            work.denyingLinks.insert(end)
        }
        guard work.rows[link.list.ownerID] != nil, work.rows[link.list.memberID(link.member)] != nil,
            !work.hasLink(link), let reversed = link.reversed
        else { return }
        work.add(link)
        for link in [link, reversed] {
            if let key = base.lists[link.list]?.first(where: { $0.row == link.member })?.key {
                work.enter(link.list, link.member, key: key)
            }
            work.denyingLinks.remove(link)
        }
    }

    // MARK: Deletes

    /// Deletes a row, and notes which delete that was for all that goes with it.
    mutating func delete(_ id: StoreModel.ID) {
        deleteCount += 1
        noteDeletes(as: deleteCount) { $0.delete(id) }
    }

    /// Has the rows that deleted ones take along now go with the same delete.
    ///
    /// - Parameter some: those of the deleted rows that count; nil for all.
    mutating func applyDeleteRules(of some: Set<StoreModel.ID>? = nil) {
        let before = work
        for id in work.deletedRows(since: base) where some?.contains(id) != false {
            noteDeletes(as: deletes[id] ?? 0) { [base] in $0.cascade(from: id, since: base) }
        }
        // Others are as they were before.
        let uncounted = some.map { some in before.deletedRows(since: base).filter { !some.contains($0) } } ?? []
        work.applyDeleteRules(since: base, besides: Set(uncounted))
    }

    private mutating func noteDeletes(as number: Int, _ body: (inout StoreModel) -> Void) {
        let before = work.rows
        body(&work)
        for id in before.keys where work.rows[id] == nil { deletes[id] = number }
        missing = missing.filter { before[$0.list.ownerID] == nil || work.rows[$0.list.ownerID] != nil }
    }
}

extension StoreModel {
    fileprivate func deletedRows(since head: StoreModel) -> [ID] {
        head.rows.keys.filter { rows[$0] == nil }.sorted()
    }

    /// Deletes what a row that is deleted already takes along.
    fileprivate mutating func cascade(from id: ID, since head: StoreModel) {
        for (referrer, slot) in referrers(to: id).sorted(by: { ($0.id, $0.slot) < ($1.id, $1.slot) })
        where StoreShape.rule(ofTargetOf: StoreShape.entities[referrer.entity].toOnes[slot]) == .cascade {
            delete(referrer)
        }
        for link in links(of: id) where link.list.shape.rule == .cascade {
            delete(link.list.memberID(link.member))
            remove(link)
        }
    }

    /// The rows whose delete takes this one along.
    fileprivate func owners(cascadingTo id: ID) -> Set<ID> {
        var owners: Set<ID> = []
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated()
        where StoreShape.rule(ofTargetOf: toOne) == .cascade {
            if let target = rows[id]?.targets[slot] { owners.insert(ID(entity: toOne.target, row: target)) }
        }
        for (referrer, slot) in referrers(to: id)
        where StoreShape.entities[referrer.entity].toOnes[slot].rule == .cascade {
            owners.insert(referrer)
        }
        for link in links(of: id) {
            guard let reversed = link.reversed, reversed.list.shape.rule == .cascade else { continue }
            owners.insert(reversed.list.ownerID)
        }
        return owners
    }

    /// Removes a row as if it had never been.
    fileprivate mutating func forget(_ id: ID) {
        for (referrer, slot) in referrers(to: id) { setTarget(of: referrer, slot, to: 0) }
        for link in links(of: id) { remove(link) }
        for slot in StoreShape.entities[id.entity].toOnes.indices { setTarget(of: id, slot, to: 0) }
        rows[id] = nil
    }

    /// Nullifies optional references that lead nowhere.
    mutating func dropDanglingReferences(since head: StoreModel) {
        for id in rows.keys.sorted() {
            for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() where !toOne.isRequired {
                guard let target = rows[id]?.targets[slot], target != 0,
                    rows[ID(entity: toOne.target, row: target)] == nil, head.rows[id]?.targets[slot] != target
                else { continue }
                setTarget(of: id, slot, to: 0)
            }
        }
    }
}

extension StoreShape.ToOne {
    /// Whether a write of it may change more than the row.
    fileprivate var changesOtherRows: Bool {
        switch inverse {
        case .none: false
        case .toOne: true
        case .toMany(let number): StoreShape.toManys[number].isOrdered
        }
    }
}
