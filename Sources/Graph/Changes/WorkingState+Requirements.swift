/// Rows that a save depends on without changing them.
extension WorkingState {
    var hasRequirements: Bool { changes.entities.contains(where: \.changes.hasRequirements) }

    /// Whether the base has the required rows unchanged.
    var areRequirementsOfBase: Bool {
        for (entity, changes) in changes.entities where changes.hasRequirements {
            var areSame = true
            changes.required.forEachRow { row, version, _ in
                if base.entities[entity].rows.version(of: row) != version { areSame = false }
            }
            guard areSame else { return false }
        }
        return true
    }

    /// Notes that the store must have a row as the base has it. A row that the base does not have is new and needs no check;
    /// one that only an outer context has was never saved, and has no version.
    mutating func require(_ id: RowID) {
        guard !changes[id.entity].required.contains(id.row),
            let address = base.address(of: id)
        else { return }
        let version = store.version(of: id) ?? .none
        changes[id.entity].required.set(id.row, version: version, copying: address)
    }

    /// Takes over what another state requires.
    ///
    /// - Parameters:
    ///   - overlaps: whether to require a row as that state knew it; otherwise as the base has it now, if it does. A row that is
    ///     new here is not required.
    ///   - before: this state before the other one's changes, which may have deleted rows that were new here.
    ///   - other: a state whose requirements are left out.
    mutating func requireAgain(
        _ later: WorkingState,
        keeping overlaps: KeptOverlaps,
        before: Snapshot? = nil,
        besides other: WorkingState? = nil
    ) {
        for (entity, later) in later.changes.entities where later.hasRequirements {
            later.required.forEachRow { row, version, address in
                if let other, other.changes[entity].required.contains(row) { return }
                let theirs = base.entities[entity].rows.address(of: row)
                let isHere =
                    snapshot.entities[entity].rows.contains(row) || before?.entities[entity].rows.contains(row) == true
                let id = RowID(entity: entity, row: row)
                if let theirs, !overlaps.contain(id, address, theirs, schema) {
                    require(id)
                } else if !changes[entity].required.contains(row), theirs != nil || !isHere {
                    changes[entity].required.set(row, version: version, copying: address)
                }
            }
        }
    }

    /// Forgets required rows that were never saved and that a context's base does not have: they were required of that context,
    /// which has been checked.
    mutating func dropRequirements(unknownTo base: Snapshot) {
        for (entity, theirs) in changes.entities where theirs.hasRequirements {
            theirs.required.forEachRow { row, version, _ in
                guard version == .none, !base.entities[entity].rows.contains(row) else { return }
                changes[entity].removeRequirement(row)
            }
        }
    }

    /// Called once they have been checked.
    mutating func dropRequirements() {
        for (entity, theirs) in changes.entities where theirs.hasRequirements {
            changes[entity].removeRequirements()
        }
    }
}
