/// Applies the difference of two states backwards.
extension WorkingState {
    /// What differs from the state before the first of these steps although they were reverted.
    func conflicts(of steps: [UndoStep]) -> [UndoConflict] {
        guard let wanted = steps.first?.before.snapshot else { return [] }
        var found: Set<UndoConflict> = []
        for difference in steps.map(\.difference) {
            difference.forEachRow { id, old, new in
                switch (wanted.address(of: id), snapshot.address(of: id)) {
                case (nil, nil): break
                case (let wanted?, let current?):
                    guard let old, let new else { break }
                    found.formUnion(conflicts(of: id, from: old, to: new, wanted: wanted, current))
                default: found.insert(conflict(id, nil))
                }
            }
            difference.forEachLinkTable { number, table, links in
                guard table.isRecorded(as: number) else { return }
                let (wanted, current) = (wanted.linkTables[number], snapshot.linkTables[number])
                for link in links.added + links.removed
                where wanted.contains(link.member, of: link.owner) != current.contains(link.member, of: link.owner) {
                    found.insert(conflict(RowID(entity: table.entity, row: link.owner), table.property))
                }
                let moved = difference.after.linkTables[number]
                for link in links.removed where table.isOrdered && moved.contains(link.member, of: link.owner) {
                    guard let key = current.key(of: link.member, of: link.owner),
                        key != wanted.key(of: link.member, of: link.owner)
                    else { continue }
                    found.insert(conflict(RowID(entity: table.entity, row: link.owner), table.property))
                }
            }
        }
        func place(_ conflict: UndoConflict) -> (String, RowNumber, String) {
            (conflict.id.entityName, conflict.id.row, conflict.property ?? "")
        }
        return found.sorted { place($0) < place($1) }
    }

    private func conflicts(
        of id: RowID,
        from old: UnsafeRawPointer,
        to new: UnsafeRawPointer,
        wanted: UnsafeRawPointer,
        _ current: UnsafeRawPointer
    ) -> [UndoConflict] {
        schema.entities[id.entity].properties.enumerated().compactMap { number, property in
            let isLeft = !property.isIdentical(in: old, new) && !property.isIdentical(in: wanted, current)
            return isLeft ? conflict(id, number) : nil
        }
    }

    /// Takes back a step that has been saved since, where its result is unchanged.
    ///
    /// - Parameter replaced: rows that gave way to others, which have their values now.
    mutating func revert(_ step: UndoStep, replaced: Set<RowID>) -> [UndoConflict] {
        let change = step.difference
        var conflicts: [UndoConflict] = []
        var (inserted, updated, deleted): ([RowID], [RowID], [RowID]) = ([], [], [])
        change.forEachRow { id, old, new in
            switch (old, new) {
            case (nil, _): inserted.append(id)
            case (_, nil): deleted.append(id)
            default: updated.append(id)
            }
        }
        // Rows come back first, so that references can lead to them.
        var stayed: Set<RowID> = []
        for id in deleted {
            guard let row = change.before.address(of: id) else { continue }
            if let current = snapshot.address(of: id) {
                // Its delete was dropped, or it came back: its values, and the references to it, belong to others by now.
                stayed.insert(id)
                if !schema.entities[id.entity].areIdentical(current, row) {
                    conflicts.append(conflict(id, nil))
                }
            } else {
                let store = step.before.store
                reinsert(id, as: row, lastVersion: store.version(of: id), known: store.address(of: id) ?? row)
            }
        }
        let cleared = clearOneToOneReferences(of: updated, change, &conflicts)
        for id in deleted where !stayed.contains(id) { restoreReferences(of: id, to: change, &conflicts) }
        for (id, toOne, target) in cleared where isFree(target, for: id.row, through: toOne) {
            setReference(of: id, through: toOne, to: target)
        }
        for id in updated { revertProperties(of: id, change, stayed, &conflicts) }
        revertMembers(change, stayed, &conflicts)
        linkMissingMembers()
        var kept: Set<RowID> = []
        for id in inserted where !deleteInserted(id, change, replaced, &kept) {
            conflicts.append(conflict(id, nil))
        }
        _ = applyDeleteRules()
        return conflicts
    }

    private func conflict(_ id: RowID, _ property: Int?) -> UndoConflict {
        UndoConflict(
            id: schema.id(of: id),
            property: property.map { schema.entities[id.entity].properties[$0].name }
        )
    }

    /// Inserts a deleted row again without its references, whose targets may not exist yet.
    ///
    /// - Parameters:
    ///   - lastVersion: nil if the row was never saved, so that it comes back as a new one.
    ///   - known: the row with this version, without the changes that were pending when it was deleted.
    private mutating func reinsert(
        _ id: RowID, as row: UnsafeRawPointer, lastVersion: RowVersion?, known: UnsafeRawPointer
    ) {
        let description = schema.entities[id.entity]
        description.layout.withCopy(of: row) { copy in
            for toOne in description.toOnes { (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self) }
            insert(id, copying: copy, lastVersion: lastVersion ?? .none, known: known)
        }
    }

    private mutating func restoreReferences(
        of id: RowID,
        to change: SnapshotDifference,
        _ conflicts: inout [UndoConflict]
    ) {
        guard let old = change.before.address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: old)
            guard target != 0, let current = snapshot.address(of: id),
                toOne.target(ofRowAt: current) != target
            else { continue }
            guard isFree(target, for: id.row, through: toOne) else {
                conflicts.append(conflict(id, toOne.property))
                forgetReference(from: id, through: toOne, to: target)
                continue
            }
            setReference(of: id, through: toOne, to: target)
            restorePosition(of: id.row, among: target, through: toOne, as: change.before)
        }
    }

    /// A reference that does not come back with its row is no change of the row: what others make of it stays.
    private mutating func forgetReference(from id: RowID, through toOne: ToOneDescription, to target: RowNumber) {
        let bases = changes[id.entity].returnBases
        guard let known = bases.address(of: id.row), let version = bases.version(of: id.row),
            toOne.target(ofRowAt: known) == target
        else { return }
        schema.entities[id.entity].layout.withCopy(of: known) { copy in
            (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self)
            changes[id.entity].returnBases.set(id.row, version: version, copying: copy)
        }
    }

    /// Whether a reference may lead to a row: it exists, and, one to one, refers to no other row.
    func isFree(_ target: RowNumber, for row: RowNumber, through toOne: ToOneDescription) -> Bool {
        guard let address = snapshot.entities[toOne.target].rows.address(of: target) else { return false }
        guard let inverse = toOne.inverseToOne.map(schema.toOne) else { return true }
        return [0, row].contains(inverse.target(ofRowAt: address))
    }

    /// One to one: nullifies the references that the change made and that still exist. Returns the references to restore, whose
    /// targets had to be freed first.
    private mutating func clearOneToOneReferences(
        of ids: [RowID],
        _ change: SnapshotDifference,
        _ conflicts: inout [UndoConflict]
    ) -> [(RowID, ToOneDescription, RowNumber)] {
        var found: [(RowID, ToOneDescription, RowNumber)] = []
        for id in ids {
            let before = change.before.address(of: id)
            let after = change.after.address(of: id)
            guard let before, let after, let row = snapshot.address(of: id)
            else { continue }
            for toOne in schema.entities[id.entity].toOnes {
                let (old, new) = (toOne.target(ofRowAt: before), toOne.target(ofRowAt: after))
                let current = toOne.target(ofRowAt: row)
                guard let inverse = toOne.inverseToOne, old != new, old != current else { continue }
                let wasTaken = change.after.target(of: old, through: inverse)
                let isTaken = snapshot.target(of: old, through: inverse)
                if current == new, old == 0 || isTaken.map({ [0, id.row, wasTaken].contains($0) }) == true {
                    found.append((id, toOne, old))
                } else {
                    conflicts.append(conflict(id, toOne.property))
                }
            }
        }
        for (id, toOne, _) in found { setReference(of: id, through: toOne, to: 0) }
        return found.filter { $0.2 != 0 }
    }

    /// Restores each property that still has the value that the change set.
    private mutating func revertProperties(
        of id: RowID,
        _ change: SnapshotDifference,
        _ stayed: Set<RowID>,
        _ conflicts: inout [UndoConflict]
    ) {
        let description = schema.entities[id.entity]
        guard let old = change.before.address(of: id),
            let new = change.after.address(of: id)
        else { return }
        guard let current = snapshot.address(of: id) else {
            return conflicts.append(conflict(id, nil))
        }
        let targets = description.toOnes.map { $0.target(ofRowAt: current) }
        description.layout.withCopy(of: current) { copy in
            // Undo wants the old row, on top of what others have changed since.
            RowMerge(description, base: new, ours: old, theirs: current).forEachChange { number, property, side in
                guard side != .theirs, !isOneToOne(number, in: description), !property.isIdentical(in: current, old)
                else { return }
                let isPossible = description.toOnes.allSatisfy { toOne in
                    let target = toOne.property == number ? toOne.target(ofRowAt: old) : 0
                    return target == 0
                        || isFree(target, for: id.row, through: toOne)
                            && !stayed.contains(RowID(entity: toOne.target, row: target))
                }
                guard isPossible, side == .ours else { return conflicts.append(conflict(id, number)) }
                property.copy(from: old, to: copy)
            }
            update(id, copying: copy)
        }
        // If the reference never changed, others may have moved the row, which stays.
        for (toOne, target) in zip(description.toOnes, targets) where toOne.target(ofRowAt: old) != target {
            restorePosition(of: id.row, among: toOne.target(ofRowAt: old), through: toOne, as: change.before)
        }
    }

    private func isOneToOne(_ property: Int, in description: EntityDescription) -> Bool {
        description.toOnes.contains { $0.property == property && $0.inverseToOne != nil }
    }

    mutating func restorePosition(
        of row: RowNumber,
        among target: RowNumber,
        through toOne: ToOneDescription,
        as old: Snapshot
    ) {
        guard let table = toOne.order, target != 0, snapshot.linkTables[table].contains(row, of: target),
            let key = old.linkTables[table].key(of: row, of: target)
        else { return }
        snapshot.linkTables[table].insert(row, of: target, key: key)
    }

    /// Makes links that ended, ends links that were made, and moves members back.
    private mutating func revertMembers(
        _ change: SnapshotDifference,
        _ stayed: Set<RowID>,
        _ conflicts: inout [UndoConflict]
    ) {
        change.forEachLinkTable { number, table, difference in
            let (old, new) = (change.before.linkTables[number], change.after.linkTables[number])
            // Of the two link tables of a relationship, the first one determines the links.
            if let inverse = table.inverse, number <= inverse {
                for link in difference.added where !old.contains(link.member, of: link.owner) {
                    snapshot.unlink(link.member, from: link.owner, in: number)
                }
                for link in difference.removed where !new.contains(link.member, of: link.owner) {
                    let ends = [
                        RowID(entity: table.entity, row: link.owner),
                        RowID(entity: table.members, row: link.member),
                    ]
                    guard stayed.isDisjoint(with: ends) else { continue }
                    guard snapshot.entities[table.entity].rows.contains(link.owner),
                        snapshot.entities[table.members].rows.contains(link.member)
                    else {
                        conflicts.append(conflict(RowID(entity: table.entity, row: link.owner), table.property))
                        continue
                    }
                    snapshot.link(link.member, to: link.owner, in: number)
                }
            }
            guard table.isOrdered else { return }
            for link in difference.removed where snapshot.linkTables[number].contains(link.member, of: link.owner) {
                let current = snapshot.linkTables[number].key(of: link.member, of: link.owner)
                // Its reference came back before, and its position with it.
                guard current != link.key else { continue }
                if let result = new.key(of: link.member, of: link.owner), result != current {
                    conflicts.append(conflict(RowID(entity: table.entity, row: link.owner), table.property))
                } else {
                    snapshot.linkTables[number].insert(link.member, of: link.owner, key: link.key)
                }
            }
        }
    }

    /// The owners of links that a difference has ended or moved, and which are not as they were before it.
    func conflictsOfLinks(revertedTo change: SnapshotDifference) -> [UndoConflict] {
        var conflicts: [UndoConflict] = []
        change.forEachLinkTable { number, table, difference in
            let links = snapshot.linkTables[number]
            for link in difference.removed
            where !links.contains(link.member, of: link.owner)
                || table.isOrdered && links.key(of: link.member, of: link.owner) != link.key
            {
                conflicts.append(conflict(RowID(entity: table.entity, row: link.owner), table.property))
            }
        }
        return conflicts
    }

    /// Deletes an inserted row that nobody has changed since, unless that would affect others' rows or changes. One that gave
    /// way to another row is not there to be deleted, unless it has come back.
    ///
    /// - Parameter kept: rows whose delete would affect others', whatever else it deletes. It gets those found here, so that a
    ///   chain of rows is followed once.
    private mutating func deleteInserted(
        _ id: RowID,
        _ change: SnapshotDifference,
        _ replaced: Set<RowID>,
        _ kept: inout Set<RowID>
    ) -> Bool {
        guard snapshot.contains(id) else { return !replaced.contains(id) }
        guard !kept.contains(id) else { return false }
        let closure = snapshot.deleteClosure(of: id)
        var isRefused = false
        var open: [RowID] = []
        for (entity, rows) in closure.enumerated() {
            for row in rows {
                let id = RowID(entity: entity, row: row)
                let referrers = newReferrers(to: id, besides: closure, since: change.after)
                if !referrers.isEmpty { isRefused = true }
                // Two rows of this step that others have linked may still go together.
                if !isAsInserted(id, change) || referrers.contains(where: { !isAsInserted($0, change) }) {
                    open.append(id)
                }
            }
        }
        guard !isRefused, open.isEmpty else {
            while let next = open.popLast() {
                if kept.insert(next).inserted { open += snapshot.owners(cascadingTo: next) }
            }
            return false
        }
        delete(closure)
        return true
    }

    /// The rows that would stay, and that refer or are linked to this one and did not in an earlier state.
    private func newReferrers(to id: RowID, besides closure: [Set<RowNumber>], since state: Snapshot) -> [RowID] {
        let description = schema.entities[id.entity]
        var found: [RowID] = []
        for reference in description.references {
            let known = Set(state.referrers(to: id.row, through: reference))
            for row in snapshot.referrers(to: id.row, through: reference)
            where !known.contains(row) && !closure[reference.entity].contains(row) {
                found.append(RowID(entity: reference.entity, row: row))
            }
        }
        for number in description.linkTables {
            let known = Set(state.linkTables[number].memberRows(of: id.row))
            let entity = schema.linkTables[number].members
            for row in snapshot.linkTables[number].memberRows(of: id.row)
            where !known.contains(row) && !closure[entity].contains(row) {
                found.append(RowID(entity: entity, row: row))
            }
        }
        return found
    }

    private func isAsInserted(_ id: RowID, _ change: SnapshotDifference) -> Bool {
        guard !change.before.contains(id),
            let inserted = change.after.address(of: id),
            let current = snapshot.address(of: id)
        else { return false }
        return schema.entities[id.entity].areIdentical(current, inserted)
            || onlyNullifies(current, sinceRowAt: inserted, of: id.entity)
    }

    /// Whether a row differs from another one only in nullified references.
    private func onlyNullifies(
        _ row: UnsafeRawPointer,
        sinceRowAt other: UnsafeRawPointer,
        of entity: Int
    ) -> Bool {
        let description = schema.entities[entity]
        return description.properties.enumerated().allSatisfy { number, property in
            property.isIdentical(in: row, other)
                || description.toOnes.contains { $0.property == number && $0.target(ofRowAt: row) == 0 }
        }
    }
}
