/// The rules that a commit must keep, judged on the merged state.
extension WorkingState {
    /// Whether rows were changed that others had deleted by the time the base last moved.
    var hasLostRows: Bool { changes.entities.contains { $0.lostRows.count > 0 } }

    /// Lets go of the references that lead to deleted rows as each relationship says: references that came with others'
    /// commits, which the deleting context did not know, included. Gives back the deletes that are denied: judged last,
    /// because a cascade may delete rows that others may not lose, or rows that stood in the way.
    mutating func applyDeleteRules() -> [DeniedDelete] {
        for (entity, row, _, _) in references(toDeletedRowsUnder: .cascade) {
            // Unless an earlier one of these has taken it along.
            if snapshot.entities[entity].rows.contains(row) { delete(row, of: entity) }
        }
        for (entity, row, toOne, _) in references(toDeletedRowsUnder: .nullify) {
            setReference(of: row, of: entity, through: toOne, to: 0, asNullified: true)
        }
        return references(toDeletedRowsUnder: .deny).map { entity, row, toOne, target in
            DeniedDelete(
                id: AnyPersistentID(entityName: schema.entities[toOne.target].name, row: target),
                relationship: schema.name(of: toOne, from: entity),
                remaining: AnyPersistentID(entityName: schema.entities[entity].name, row: row)
            )
        } + deletesDeniedByOwners()
    }

    /// Deleted rows that may not go while what they refer to is there.
    private func deletesDeniedByOwners() -> [DeniedDelete] {
        var denied: [DeniedDelete] = []
        for (entity, description) in schema.entities.enumerated() {
            for toOne in description.toOnes where toOne.ruleOfOwner == .deny {
                changes[entity].forEachChange { row, kind, _ in
                    guard kind == .deleted, let address = base.entities[entity].rows.address(of: row) else { return }
                    let target = toOne.target(ofRowAt: address)
                    guard snapshot.entities[toOne.target].rows.contains(target) else { return }
                    denied.append(
                        DeniedDelete(
                            id: AnyPersistentID(entityName: description.name, row: row),
                            relationship: "\(description.name).\(description.properties[toOne.property].name)",
                            remaining: AnyPersistentID(entityName: schema.entities[toOne.target].name, row: target)
                        )
                    )
                }
            }
        }
        return denied
    }

    /// The rows that refer to deleted ones through relationships with a rule, by the order of their targets.
    private func references(
        toDeletedRowsUnder rule: DeleteRule
    ) -> [(entity: Int, row: RowNumber, toOne: ToOneDescription, target: RowNumber)] {
        var found: [(Int, RowNumber, ToOneDescription, RowNumber)] = []
        for (entity, description) in schema.entities.enumerated() where !description.references.isEmpty {
            changes[entity].forEachChange { target, kind, _ in
                guard kind == .deleted else { return }
                for reference in description.references {
                    let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
                    guard toOne.ruleOfInverse == rule else { continue }
                    for row in referrers(to: target, of: reference.entity, through: reference.toOne) {
                        found.append((reference.entity, row, toOne, target))
                    }
                }
            }
        }
        return found
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
    /// The relationship whose rule governs a reference, as people write it: the to-many side where there is one.
    fileprivate func name(of toOne: ToOneDescription, from entity: Int) -> String {
        if let inverse = toOne.inverse {
            return "\(entities[toOne.target].name).\(entities[toOne.target].properties[inverse].name)"
        }
        return "\(entities[entity].name).\(entities[entity].properties[toOne.property].name)"
    }
}
