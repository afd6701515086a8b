/// The rules that a commit must keep, judged on the merged state.
extension WorkingState {
    /// Whether rows were changed that others had deleted by the time the base last moved.
    var hasLostRows: Bool { changes.entities.contains { $0.lostRows.count > 0 } }

    /// Lets go of the references that lead to deleted rows as each relationship says: references that came with others'
    /// commits, which the deleting context did not know, included. Gives back the deletes that are denied.
    mutating func applyDeleteRules() -> [DeniedDelete] {
        while true {
            var denied: [DeniedDelete] = []
            var hasCascaded = false
            for entity in schema.entities.indices where !schema.entities[entity].references.isEmpty {
                var deleted: [RowNumber] = []
                changes[entity].forEachChange { row, kind, _ in if kind == .deleted { deleted.append(row) } }
                for row in deleted { denied += applyDeleteRules(to: row, of: entity, &hasCascaded) }
            }
            // The rows that a cascade has deleted are judged as well, whichever entity they belong to.
            if !hasCascaded { return denied }
        }
    }

    private mutating func applyDeleteRules(
        to row: RowNumber,
        of entity: Int,
        _ hasCascaded: inout Bool
    ) -> [DeniedDelete] {
        var denied: [DeniedDelete] = []
        for reference in schema.entities[entity].references {
            let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
            for referrer in referrers(to: row, of: reference.entity, through: reference.toOne) {
                switch toOne.ruleOfInverse {
                case .nullify: setReference(of: referrer, of: reference.entity, through: toOne, to: 0)
                case .cascade:
                    delete(referrer, of: reference.entity)
                    hasCascaded = true
                case .deny:
                    denied.append(
                        DeniedDelete(
                            id: AnyPersistentID(entityName: schema.entities[entity].name, row: row),
                            relationship: schema.name(of: toOne, from: reference.entity),
                            remaining: AnyPersistentID(
                                entityName: schema.entities[reference.entity].name,
                                row: referrer
                            )
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
    /// The relationship whose rule governs a reference, as people write it: the to-many side where there is one.
    fileprivate func name(of toOne: ToOneDescription, from entity: Int) -> String {
        if let inverse = toOne.inverse {
            return "\(entities[toOne.target].name).\(entities[toOne.target].properties[inverse].name)"
        }
        return "\(entities[entity].name).\(entities[entity].properties[toOne.property].name)"
    }
}
