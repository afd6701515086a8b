/// Unique values, checked on the merged state.
extension WorkingState {
    /// Makes new rows with a unique value that another row has give way to it, where the constraint says so, and deletes rows
    /// that lose their owner by that.
    ///
    /// - Parameter policy: of all constraints; nil if each has its own.
    /// - Throws: `.notUnique` with all remaining duplicates: new rows that may not give way, or could to several, and updated
    ///   rows that took on another row's value.
    /// - Complexity: O(*n* log *m*) for *n* rows that were written with others' values, and the rows related to them, among
    ///   *m*.
    mutating func resolveUniqueness(_ policy: UniquenessPolicy? = nil) throws(GraphError) -> UniquenessResolution {
        var resolution = UniquenessResolution(policyOfAll: policy)
        resolution.open.formUnion(takeCandidates())
        guard !resolution.open.isEmpty else { return resolution }
        // A row that gives way may make rows alike that referred to it and to the survivor; a deleted row frees its values.
        repeat {
            while replaceNewRows(&resolution) {}
        } while deleteOutgoing(&resolution)
        resolution.closeReplacements()
        let violations = uniquenessViolations(&resolution)
        guard violations.isEmpty else { throw .notUnique(violations) }
        return resolution
    }

    /// Deletes, caused by new rows that replace others, that a relationship denies.
    func deniedReplacements(_ resolution: UniquenessResolution) -> ErrorList<DeniedDelete> {
        var denied = ErrorList<DeniedDelete>()
        for denial in resolution.denials {
            let toOne = schema.entities[denial.row.entity].toOnes[denial.toOne]
            guard snapshot.entities[denial.row.entity].rows.contains(denial.row.row),
                let related = snapshot.entities[toOne.target].rows.address(of: denial.related)
            else { continue }
            // A row that gave way later may have brought the two together again.
            if toOne.inverseToOne.map(schema.toOne)?.target(ofRowAt: related) == denial.row.row { continue }
            denied.append(
                DeniedDelete(
                    id: schema.id(of: denial.row),
                    relationship: schema.name(ofOwnerOf: toOne, denial.row.entity),
                    remaining: [schema.id(of: RowID(entity: toOne.target, row: denial.related))],
                    remainingCount: 1,
                    isReplaced: true
                )
            )
        }
        return denied
    }

    private mutating func takeCandidates() -> Set<RowID> {
        let taken = candidates
        if !taken.isEmpty { candidates = [] }
        return taken
    }

    /// Returns false if there was nothing to replace.
    private mutating func replaceNewRows(_ resolution: inout UniquenessResolution) -> Bool {
        var isChanged = false
        let policyOfAll = resolution.policyOfAll
        let sharing = resolution.rowsSharingValues(in: self) { description in
            description.indexes.contains { $0.uniqueness != nil && (policyOfAll ?? $0.uniqueness) != .reject }
        }
        for (entity, rows) in sharing {
            let ownsItself = ownsItself(entity)
            for row in rows where changes[entity].isNew(row) {
                // A row that is due for deletion is not compared with others.
                let id = RowID(entity: entity, row: row)
                guard !resolution.isLeaving(id),
                    let (survivor, policy) = survivor(of: id, &resolution)
                else { continue }
                replace(row, by: survivor, of: entity, policy, &resolution)
                resolution.open.formUnion(takeCandidates())
                isChanged = true
                if ownsItself { releaseMembers(&resolution) }
            }
            releaseMembers(&resolution)
        }
        return isChanged
    }

    /// The row that survives in place of a new one, if there is exactly one and every constraint involved agrees.
    private func survivor(
        of id: RowID,
        _ resolution: inout UniquenessResolution
    ) -> (RowNumber, UniquenessPolicy)? {
        guard let address = snapshot.address(of: id) else { return nil }
        var survivors: Set<RowNumber> = []
        var policies: Set<UniquenessPolicy> = []
        for (number, index) in schema.entities[id.entity].indexes.enumerated() {
            guard let policy = resolution.policy(of: index) else { continue }
            // Of two new rows the later one gives way.
            let rivals = resolution.rivals(of: id, at: address, index: number, in: self)
            guard !rivals.isEmpty else { continue }
            survivors.formUnion(rivals)
            policies.insert(policy)
        }
        guard survivors.count == 1, let survivor = survivors.first, !policies.contains(.reject) else { return nil }
        // The policy that hands over most.
        let policy: UniquenessPolicy? = [.replace, .upsert].first { policies.contains($0) }
        return (survivor, policy ?? .keepExisting)
    }

    /// Deletes rows that have lost their owners, with all that cascades from them. Returns false if there were none.
    private mutating func deleteOutgoing(_ resolution: inout UniquenessResolution) -> Bool {
        let leaving = resolution.takeOutgoing()
        guard !leaving.isEmpty else { return false }
        // First end all references and links to owners, which stay.
        for (id, ties) in leaving {
            for (owner, ownership) in ties { cut(id, from: owner, ownership) }
        }
        for (id, _) in leaving where snapshot.contains(id) {
            delete(id)
        }
        resolution.open.formUnion(takeCandidates())
        return true
    }

    /// Inserted rows, and updated ones whose unique values changed, that share a value with another row.
    private func uniquenessViolations(_ resolution: inout UniquenessResolution) -> ErrorList<UniquenessViolation> {
        var violations = ErrorList<UniquenessViolation>()
        for (entity, rows) in resolution.rowsSharingValues(in: self) {
            let description = schema.entities[entity]
            let unique = description.indexes.enumerated().filter { $0.element.uniqueness != nil }
            // Constraints that refuse every duplicate come first: they are why the row could not give way by the others.
            let refusing = unique.filter { resolution.policy(of: $0.element) == .reject }
            for (number, index) in refusing + unique.filter({ resolution.policy(of: $0.element) != .reject }) {
                for row in rows {
                    let id = RowID(entity: entity, row: row)
                    guard let address = snapshot.address(of: id) else { continue }
                    let original = base.address(of: id)
                    if let original, index.isIdentical(address, original) { continue }
                    let others = snapshot.rowsSharingKey(of: id, at: address, index: number, limit: 1)
                    guard let other = others.first else { continue }
                    violations.append(violation(of: id, at: address, index, other))
                }
            }
        }
        return violations
    }

    private func violation(
        of id: RowID,
        at address: UnsafeRawPointer,
        _ index: IndexDescription,
        _ other: RowNumber
    ) -> UniquenessViolation {
        let description = schema.entities[id.entity]
        let values = index.parts.map { part in
            description.properties[part.property].operations.describe(address + part.offset).shortened()
        }
        return UniquenessViolation(
            id: schema.id(of: id),
            existing: schema.id(of: RowID(entity: id.entity, row: other)),
            property: description.name(of: index),
            value: values.joined(separator: ", ")
        )
    }
}
