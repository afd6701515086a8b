/// Writes what objects and hooks have, which is more than rows hold.
extension WorkingState {
    /// Writes a row. `applyAssignments` applies its to-many values later, when the rows that they name are written too. The
    /// stored row has defaults for transient values; at the address those stay, and to-many values are emptied.
    ///
    /// Returns false if there was nothing to write and the row has no earlier changes.
    mutating func write(_ id: RowID, at address: UnsafeMutableRawPointer, isNew: Bool) -> Bool {
        var batch: IndexBatch?
        return write(id, at: address, isNew: isNew, &batch)
    }

    /// The same; with a batch the row must be a new one.
    mutating func write(
        _ id: RowID,
        at address: UnsafeMutableRawPointer,
        isNew: Bool,
        _ batch: inout IndexBatch?
    ) -> Bool {
        let description = schema.entities[id.entity]
        for relationship in description.toManys {
            let property = description.properties[relationship.property]
            guard let members = property.takeInitialRows?(address + property.offset), !isNew || !members.isEmpty,
                isNew || snapshot.contains(id)
            else { continue }
            assignments.append(ToManyAssignment(owner: id.row, relationship: relationship, members: members))
        }
        guard !description.transients.isEmpty else {
            return put(id, at: address, isNew: isNew, &batch)
        }
        return description.layout.withCopy(of: address) { copy in
            description.resetTransients(of: copy)
            return put(id, at: copy, isNew: isNew, &batch)
        }
    }

    private mutating func put(
        _ id: RowID,
        at address: UnsafeRawPointer,
        isNew: Bool,
        _ batch: inout IndexBatch?
    ) -> Bool {
        guard !isNew else {
            insert(id, copying: address, lastVersion: .none, &batch)
            return true
        }
        if update(id, copying: address) { return true }
        updateDetachedRow(id, copying: address)
        return changes.kind(of: id) != nil
    }

    /// Updates the pending change of a row that others deleted. If it equals the known row, nothing is pending any more.
    private mutating func updateDetachedRow(_ id: RowID, copying value: UnsafeRawPointer) {
        guard changes[id.entity].hasDetachedRows, let ours = changes[id.entity].detachedRows.address(of: id.row),
            let known = changes[id.entity].detachedBases.address(of: id.row)
        else { return }
        let description = schema.entities[id.entity]
        if description.areIdentical(known, value) {
            changes.remove(id)
        } else if !description.areIdentical(ours, value) {
            let version = changes[id.entity].detachedRows.version(of: id.row) ?? .none
            changes[id.entity].detachedRows.set(id.row, version: version, copying: value)
        }
    }

    /// Starts a new pending change of a row that others deleted, on top of the one that a save has captured.
    ///
    /// - Parameter captured: what the save captured, which this state is based on.
    mutating func changeDetachedRow(_ id: RowID, since captured: WorkingState) {
        guard !changes[id.entity].detachedRows.contains(id.row),
            let ours = captured.changes[id.entity].detachedRows.address(of: id.row),
            let version = captured.changes[id.entity].detachedRows.version(of: id.row)
        else { return }
        changes.set(id, .updated, baseVersion: version)
        changes[id.entity].detachedBases.set(id.row, version: version, copying: ours)
        changes[id.entity].detachedRows.set(id.row, version: version.next, copying: ours)
    }

    /// Whether the pending changes of rows that others deleted are the same.
    func hasSameDetachedRows(as other: WorkingState) -> Bool {
        guard changes.hasDetachedRows || other.changes.hasDetachedRows else { return true }
        return schema.entities.indices.allSatisfy { entity in
            let (ours, theirs) = (changes[entity].detachedRows, other.changes[entity].detachedRows)
            guard ours.count == theirs.count else { return false }
            var areSame = true
            ours.forEachRow { row, _, address in
                let other = theirs.address(of: row)
                if other.map({ schema.entities[entity].areIdentical($0, address) }) != true { areSame = false }
            }
            return areSame
        }
    }

    /// Runs `willSave()` once on each inserted or updated row, and on the rows that it changes in turn. Returns true if that
    /// changed anything.
    mutating func runWillSave() -> Bool {
        var done = [Set<RowNumber>](repeating: [], count: schema.entities.count)
        var changedRows = false
        while true {
            let waiting = rowsForWillSave(besides: done)
            guard !waiting.isEmpty else { return changedRows }
            for (entity, row) in waiting {
                done[entity].insert(row)
                let description = schema.entities[entity]
                guard let address = snapshot.entities[entity].rows.address(of: row) else { continue }
                let isChanged = description.layout.withCopy(of: address) { copy in
                    description.hooks.willSave(copy)
                    guard description.hooks.hasWillSave else { return false }
                    let isSame = description.areIdentical(copy, address)
                    _ = write(RowID(entity: entity, row: row), at: copy, isNew: false)
                    return !isSame
                }
                changedRows = changedRows || isChanged
            }
            if applyAssignments() { changedRows = true }
        }
    }

    private func rowsForWillSave(besides done: [Set<RowNumber>]) -> [(entity: Int, row: RowNumber)] {
        var rows: [(Int, RowNumber)] = []
        for (entity, changes) in changes.entities where schema.entities[entity].hooks.hasWillSave {
            changes.forEachChange { row, kind, _ in
                guard kind != .deleted, !done[entity].contains(row), !onlyNullifies(RowID(entity: entity, row: row))
                else {
                    return
                }
                rows.append((entity, row))
            }
        }
        return rows
    }
}
