/// What becomes of changes made during a save when it ends: they count from what it wrote or, if it failed, do without it.
extension WorkingState {
    /// The same changes, recounted where a save gave rows other versions than expected.
    ///
    /// - A policy resolved a conflict: the expected version is another commit's, so later changes count from the save's own
    ///   base version.
    /// - The row came back: its version is the commit's number.
    /// - The commit did not write the row, because others had ended the same reference, or had brought it back, too: its version
    ///   may be the expected one, and is theirs.
    ///
    /// - Parameters:
    ///   - saved: the store after the save's commit.
    ///   - before: the store before it; nil in a nested context, whose rows have no versions of their own.
    func counted(
        from captured: WorkingState,
        savedAs saved: Snapshot,
        _ before: Snapshot?,
        _ resolved: [RowID]
    ) -> WorkingState {
        var (state, passedOver) = (self, [RowID]())
        for (entity, captured) in captured.changes.entities
        where !changes[entity].isEmpty || changes[entity].hasRequirements {
            captured.forEachChange { row, kind, _ in
                let id = RowID(entity: entity, row: row)
                guard kind != .deleted, let version = saved.version(of: id) else { return }
                if before?.version(of: id) == version {
                    passedOver.append(id)
                } else if captured.isComingBack(row) {
                    state.count(id, from: version)
                }
            }
        }
        for id in resolved + passedOver {
            guard let version = captured.changes.baseVersion(of: id) else { continue }
            state.count(id, from: version)
        }
        return state
    }

    /// Sets the base version of what is changed and required of a row.
    private mutating func count(_ id: RowID, from version: RowVersion) {
        if let kind = changes.kind(of: id) {
            changes.set(id, kind, baseVersion: version, delete: changes.delete(of: id))
        }
        guard changes[id.entity].hasRequirements else { return }
        let required = changes[id.entity].required
        if let address = required.address(of: id.row) {
            changes[id.entity].required.set(id.row, version: version, copying: address)
        }
    }

    /// The effect of saving this state alone: its own rows, with what survivors take over from the new rows that give way to
    /// them.
    ///
    /// - Parameter saved: the store after the save's commit.
    func result(savedAs saved: Snapshot, _ overwritten: Set<RowID>) -> Snapshot {
        var state = self
        for id in overwritten {
            let description = schema.entities[id.entity]
            guard let row = saved.address(of: id),
                let current = snapshot.address(of: id)
            else { continue }
            description.layout.withCopy(of: current) { copy in
                for property in description.properties where property.isStored && property.relationship == nil {
                    property.copy(from: row, to: copy)
                }
                state.update(id, copying: copy)
            }
        }
        return state.snapshot
    }

    // MARK: After a failure

    /// Forgets changes to rows that `state`, the base of this one, inserted after the savepoint, and references and links to
    /// them.
    mutating func forgetChanges(ofRowsInsertedIn state: WorkingState, since savepoint: WorkingState) {
        var ids: [RowID] = []
        for (entity, changes) in state.changes.entities {
            changes.forEachChange { row, kind, _ in
                guard kind == .inserted, savepoint.changes[entity].kind(of: row) == nil else { return }
                ids.append(RowID(entity: entity, row: row))
            }
        }
        forgetMissingMembers(of: ids)
        for id in ids {
            changes.remove(id)
            changes.removeRequirement(id)
            forgetReferences(to: id, since: savepoint.snapshot)
            for number in schema.entities[id.entity].linkTables {
                for member in snapshot.linkTables[number].memberRows(of: id.row) {
                    snapshot.unlink(member, from: id.row, in: number)
                }
            }
        }
    }

    /// Forgets references that were set to a row after the base. Those that they replaced are not nullified because of a row that
    /// was never saved.
    private mutating func forgetReferences(to id: RowID, since savepoint: Snapshot) {
        for reference in schema.entities[id.entity].references {
            let toOne = schema.toOne(reference)
            let known = Set(base.referrers(to: id.row, through: reference))
            for referrer in snapshot.referrers(to: id.row, through: reference) where !known.contains(referrer) {
                let target = savepoint.target(of: referrer, through: reference) ?? 0
                let isPossible = isFree(target, for: referrer, through: toOne)
                setReference(
                    of: RowID(entity: reference.entity, row: referrer), through: toOne, to: isPossible ? target : 0)
                restorePosition(of: referrer, among: target, through: toOne, as: savepoint)
            }
        }
    }
}
