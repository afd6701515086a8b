/// The rules that a commit must keep, judged on the merged state.
extension WorkingState {
    /// Whether rows count from a base of their own, because others had deleted or changed them by the time the base last
    /// moved.
    var hasLostBases: Bool { changes.entities.contains { $0.lostBases.count > 0 } }

    /// What delete rules made of a save.
    struct RuleOutcome {
        var denied: [DeniedDelete] = []
        /// Whether rows were deleted or let go that the save had left alone.
        var changedRows = false
    }

    /// Lets go of the references that lead to deleted rows as each relationship says: references that came with others'
    /// commits, which the deleting context did not know, included. First all that cascades is deleted, then references
    /// are nullified, then what is left may deny.
    mutating func applyDeleteRules() -> RuleOutcome {
        var outcome = RuleOutcome()
        forEachReference(toDeleted: .cascade) { state, _, entity, row in
            state.delete(row, of: entity)
            outcome.changedRows = true
        }
        forEachReference(toDeleted: .nullify) { state, reference, entity, row in
            let toOne = state.schema.entities[entity].toOnes[reference.toOne]
            state.setReference(of: row, of: entity, through: toOne, to: 0)
            outcome.changedRows = true
        }
        forEachReference(toDeleted: .deny) { state, reference, entity, row in
            let toOne = state.schema.entities[entity].toOnes[reference.toOne]
            guard let address = state.snapshot.entities[entity].rows.address(of: row) else { return }
            outcome.denied.append(
                DeniedDelete(
                    id: state.schema.id(of: toOne.target(ofRowAt: address), of: toOne.target),
                    relationship: state.schema.name(of: toOne, from: entity),
                    remaining: state.schema.id(of: row, of: entity)
                )
            )
        }
        outcome.denied += deletesDeniedByTargets()
        return outcome
    }

    /// Calls the body with each row that refers to a deleted one through a relationship of this rule. The body may delete
    /// rows and change references; what cascades from that it has to see to itself.
    private mutating func forEachReference(
        toDeleted rule: DeleteRule,
        _ body: (inout WorkingState, Reference, _ entity: Int, _ row: RowNumber) -> Void
    ) {
        for (entity, description) in schema.entities.enumerated() {
            for reference in description.references
            where schema.entities[reference.entity].toOnes[reference.toOne].ruleOfInverse == rule {
                var deleted: [RowNumber] = []
                changes[entity].forEachChange { row, kind, _ in if kind == .deleted { deleted.append(row) } }
                for target in deleted {
                    for row in referrers(to: target, of: reference.entity, through: reference.toOne) {
                        body(&self, reference, reference.entity, row)
                    }
                }
            }
        }
    }

    /// Deleted rows whose own to-one relationship denies the delete while its target is there.
    private func deletesDeniedByTargets() -> [DeniedDelete] {
        var denied: [DeniedDelete] = []
        for (entity, description) in schema.entities.enumerated() {
            for toOne in description.toOnes where toOne.ruleOfOwner == .deny {
                changes[entity].lastRows.forEachRow { row, _, address in
                    let target = toOne.target(ofRowAt: address)
                    guard target != 0, snapshot.entities[toOne.target].rows.contains(target) else { return }
                    denied.append(
                        DeniedDelete(
                            id: schema.id(of: row, of: entity),
                            relationship: "\(description.name).\(description.properties[toOne.property].name)",
                            remaining: schema.id(of: target, of: toOne.target)
                        )
                    )
                }
            }
        }
        return denied
    }

    /// Inserted rows, and updated ones whose unique properties changed, that share a value with another row.
    func uniquenessViolations() -> [UniquenessViolation] {
        var violations: [UniquenessViolation] = []
        for (entity, description) in schema.entities.enumerated() {
            for (number, index) in description.indexes.enumerated() where index.isUnique {
                forEachWritten(of: entity) { row, address, original in
                    if let original, index.isIdentical(address + index.offset, original + index.offset) { return }
                    let other = snapshot.rowSharingKey(of: row, at: address, index: number, of: entity)
                    guard let other else { return }
                    let property = description.properties[index.property]
                    violations.append(
                        UniquenessViolation(
                            id: AnyPersistentID(entityName: description.name, row: row),
                            existing: AnyPersistentID(entityName: description.name, row: other),
                            property: property.name,
                            value: property.operations.describe(address + property.offset)
                        )
                    )
                }
            }
        }
        return violations
    }

    /// References that inserted and updated rows make to rows that do not exist.
    func danglingReferences() -> [DanglingReference] {
        var dangling: [DanglingReference] = []
        for (entity, description) in schema.entities.enumerated() {
            for toOne in description.toOnes {
                forEachWritten(of: entity) { row, address, original in
                    let target = toOne.target(ofRowAt: address)
                    guard target != 0, original.map({ toOne.target(ofRowAt: $0) }) != target,
                        !snapshot.entities[toOne.target].rows.contains(target)
                    else { return }
                    dangling.append(
                        DanglingReference(
                            id: AnyPersistentID(entityName: description.name, row: row),
                            property: description.properties[toOne.property].name,
                            target: AnyPersistentID(entityName: schema.entities[toOne.target].name, row: target)
                        )
                    )
                }
            }
        }
        return dangling
    }

    /// Calls the body with each inserted or updated row and the row that it replaces.
    private func forEachWritten(
        of entity: Int,
        _ body: (RowNumber, UnsafeRawPointer, _ original: UnsafeRawPointer?) -> Void
    ) {
        changes[entity].forEachChange { row, kind, _ in
            guard kind != .deleted, let address = snapshot.entities[entity].rows.address(of: row) else { return }
            body(row, address, base.entities[entity].rows.address(of: row))
        }
    }
}

extension Schema {
    fileprivate func id(of row: RowNumber, of entity: Int) -> AnyPersistentID {
        AnyPersistentID(entityName: entities[entity].name, row: row)
    }

    /// The relationship whose rule governs a reference, as people write it: the to-many side where there is one.
    fileprivate func name(of toOne: ToOneDescription, from entity: Int) -> String {
        if let inverse = toOne.inverse {
            return "\(entities[toOne.target].name).\(entities[toOne.target].properties[inverse].name)"
        }
        return "\(entities[entity].name).\(entities[entity].properties[toOne.property].name)"
    }
}
