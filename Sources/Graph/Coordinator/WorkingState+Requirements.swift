/// Rows that a save depends on without changing them.
extension WorkingState {
    var hasRequirements: Bool { changes.entities.contains(where: \.changes.hasRequirements) }

    /// Whether the required rows are those of the base.
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

    /// Notes that a row is to be in the store as the base has it. One that the base does not have is new, and nobody else's.
    mutating func require(_ row: RowNumber, of entity: Int) {
        guard !changes[entity].required.contains(row),
            let address = base.entities[entity].rows.address(of: row),
            let version = base.entities[entity].rows.version(of: row)
        else { return }
        changes[entity].required.set(row, version: version, copying: address)
    }

    /// Takes over what another state requires.
    ///
    /// - Parameters:
    ///   - keepingBases: whether the rows are to be as that state knew them; otherwise as the base has them now, if it
    ///     has them. A row that has come to be new here is nobody else's.
    ///   - other: a state whose requirements are left out.
    mutating func requireAgain(_ later: WorkingState, _ keepingBases: Bool, besides other: WorkingState? = nil) {
        for (entity, theirs) in later.changes.entities where theirs.hasRequirements {
            theirs.required.forEachRow { row, version, address in
                if let other, other.changes[entity].required.contains(row) { return }
                if !keepingBases, base.entities[entity].rows.contains(row) {
                    require(row, of: entity)
                } else if !changes[entity].required.contains(row),
                    base.entities[entity].rows.contains(row) || !snapshot.entities[entity].rows.contains(row)
                {
                    changes[entity].required.set(row, version: version, copying: address)
                }
            }
        }
    }

    /// They have been judged.
    mutating func dropRequirements() {
        for (entity, theirs) in changes.entities where theirs.hasRequirements {
            changes[entity].removeRequirements()
        }
    }
}
