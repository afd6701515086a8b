/// The rules that a commit must keep, checked on the merged state.
extension WorkingState {
    /// Whether rows have detached bases because others had deleted or changed them when the base last moved. The same holds for
    /// required rows.
    var hasDetachedBases: Bool { changes.hasDetachedBases || !areRequirementsOfBase }

    /// Applies each relationship's rule to the references and links that lead to deleted rows, including those from others'
    /// commits, which the deleting context did not know. First deletes all that cascades, then nullifies references and ends
    /// links. References that deny a delete stay, links only in `denyingLinks`; see `deniedDeletes`.
    ///
    /// Returns true if that deleted or changed rows that the changes had left alone.
    ///
    /// - Parameter some: has those of the deleted rows that count; nil for all.
    mutating func applyDeleteRules(of some: ChangeSet? = nil) -> Bool {
        let deletes = some ?? changes
        guard changes.hasDeletes, deletes.hasDeletes else { return false }
        var changedRows = false
        forEachReference(to: deletes, by: .cascade) { state, reference, target, row in
            let owners = state.schema.toOne(reference).target
            state.delete(RowID(entity: reference.entity, row: row), cause: state.changes[owners].delete(of: target))
            changedRows = true
        }
        forEachLink(of: deletes, by: .cascade) { state, link in
            let table = state.schema.linkTables[link.table]
            let cause = state.changes[table.entity].delete(of: link.owner)
            state.delete(RowID(entity: table.members, row: link.member), cause: cause)
            state.endLink(link, denies: false)
            changedRows = true
        }
        forEachReference(to: deletes, by: .nullify) { state, reference, _, row in
            let toOne = state.schema.toOne(reference)
            state.setReference(of: RowID(entity: reference.entity, row: row), through: toOne, to: 0)
            changedRows = true
        }
        // Where both ends are deleted, the one that denies it comes first: the other one may come back.
        for rule in [DeleteRule.deny, .nullify] {
            forEachLink(of: deletes, by: rule) { state, link in
                state.endLink(link, denies: rule == .deny)
                changedRows = true
            }
        }
        return changedRows
    }

    /// Deletes that relationships deny because of rows at their other ends, one for each row and relationship.
    func deniedDeletes() -> ErrorList<DeniedDelete> {
        var denied = ErrorList<DeniedDelete>()
        guard changes.hasDeletes else { return denied }
        appendDeletesDeniedByReferences(to: &denied)
        appendDeletesDeniedByTargets(to: &denied)
        appendDeletesDeniedByLinks(to: &denied)
        return denied
    }

    private func appendDeletesDeniedByReferences(to denied: inout ErrorList<DeniedDelete>) {
        for (entity, changes) in changes.entities where changes.hasDeletes {
            for reference in schema.entities[entity].references {
                let toOne = schema.toOne(reference)
                guard toOne.ruleOfInverse == .deny else { continue }
                for target in deletedRows(of: entity, in: self.changes) {
                    let count = snapshot.countReferrers(to: target, through: reference)
                    guard count > 0 else { continue }
                    denied.append(
                        DeniedDelete(
                            id: schema.id(of: RowID(entity: entity, row: target)),
                            relationship: schema.name(of: toOne, from: reference.entity),
                            remaining: snapshot.firstReferrers(
                                DeniedDelete.remainingLimit, to: target, through: reference
                            ).map { schema.id(of: RowID(entity: reference.entity, row: $0)) },
                            remainingCount: count
                        )
                    )
                }
            }
        }
    }

    /// Rows that are deleted here and there.
    private func deletedRows(of entity: Int, in deletes: ChangeSet) -> [RowNumber] {
        var deleted: [RowNumber] = []
        deletes[entity].forEachChange { row, kind, _ in
            if kind == .deleted, changes[entity].kind(of: row) == .deleted { deleted.append(row) }
        }
        return deleted
    }

    /// Calls the body with each row that refers to a deleted one through a relationship with this rule. The body may delete
    /// rows and change references; cascading further is its own task.
    private mutating func forEachReference(
        to deletes: ChangeSet,
        by rule: DeleteRule,
        _ body: (inout WorkingState, Reference, _ target: RowNumber, _ row: RowNumber) -> Void
    ) {
        var found: [(Reference, RowNumber, RowNumber)] = []
        forEachReference(to: deletes, by: rule) { reference, target, row in found.append((reference, target, row)) }
        for (reference, target, row) in found { body(&self, reference, target, row) }
    }

    /// The same on a state that does not change meanwhile.
    private func forEachReference(
        to deletes: ChangeSet,
        by rule: DeleteRule,
        _ body: (Reference, _ target: RowNumber, _ row: RowNumber) -> Void
    ) {
        for (entity, changes) in deletes.entities where changes.hasDeletes {
            for reference in schema.entities[entity].references
            where schema.toOne(reference).ruleOfInverse == rule {
                for target in deletedRows(of: entity, in: deletes) {
                    snapshot.forEachReferrer(to: target, through: reference) {
                        body(reference, target, $0)
                        return true
                    }
                }
            }
        }
    }

    /// Calls the body with each link that a deleted row still has in link tables with this rule.
    private mutating func forEachLink(
        of deletes: ChangeSet, by rule: DeleteRule, _ body: (inout WorkingState, LinkID) -> Void
    ) {
        for (entity, changes) in deletes.entities where changes.hasDeletes {
            for number in schema.entities[entity].linkTables where schema.linkTables[number].rule == rule {
                for owner in deletedRows(of: entity, in: deletes) {
                    for member in snapshot.linkTables[number].memberRows(of: owner) {
                        body(&self, LinkID(table: number, owner: owner, member: member))
                    }
                }
            }
        }
    }

    private func appendDeletesDeniedByLinks(to denied: inout ErrorList<DeniedDelete>) {
        var members: [MemberList: (link: LinkID, rows: [RowNumber])] = [:]
        for link in denyingLinks.all {
            let table = schema.linkTables[link.table]
            // A row that was never saved leaves no delete.
            guard snapshot.entities[table.members].rows.contains(link.member),
                !snapshot.entities[table.entity].rows.contains(link.owner),
                base.entities[table.entity].rows.contains(link.owner)
            else { continue }
            members[MemberList(link, in: schema), default: (link, [])].rows.append(link.member)
        }
        for (link, rows) in members.values.sorted(by: {
            ($0.link.table, $0.link.owner) < ($1.link.table, $1.link.owner)
        }) {
            let table = schema.linkTables[link.table]
            let description = schema.entities[table.entity]
            denied.append(
                DeniedDelete(
                    id: schema.id(of: RowID(entity: table.entity, row: link.owner)),
                    relationship: "\(description.name).\(description.properties[table.property].name)",
                    remaining: rows.sorted().prefix(DeniedDelete.remainingLimit).map {
                        schema.id(of: RowID(entity: table.members, row: $0))
                    },
                    remainingCount: rows.count
                )
            )
        }
    }

    /// Deleted rows whose own to-one relationship denies the delete while its target exists.
    private func appendDeletesDeniedByTargets(to denied: inout ErrorList<DeniedDelete>) {
        for (entity, changes) in changes.entities {
            let description = schema.entities[entity]
            // One to one, the inverse reference denies it already.
            for toOne in description.toOnes where toOne.ruleOfOwner == .deny && toOne.inverseToOne == nil {
                changes.lastRows.forEachRow { row, _, address in
                    let target = toOne.target(ofRowAt: address)
                    guard target != 0, snapshot.entities[toOne.target].rows.contains(target) else { return }
                    denied.append(
                        DeniedDelete(
                            id: schema.id(of: RowID(entity: entity, row: row)),
                            relationship: schema.name(ofOwnerOf: toOne, entity),
                            remaining: [schema.id(of: RowID(entity: toOne.target, row: target))],
                            remainingCount: 1
                        )
                    )
                }
            }
        }
    }

    /// Nullifies optional references of inserted and updated rows that lead nowhere, and forgets missing members. Returns true
    /// if there were any.
    mutating func dropDanglingReferences() -> Bool {
        var isChanged = !missingMembers.isEmpty
        if isChanged { missingMembers = [:] }
        var dangling: [(id: RowID, toOne: ToOneDescription)] = []
        forEachDanglingReference { id, toOne, _ in
            if !toOne.isRequired { dangling.append((id, toOne)) }
        }
        for (id, toOne) in dangling {
            setReference(of: id, through: toOne, to: 0)
            isChanged = true
        }
        return isChanged
    }

    /// References and links of inserted and updated rows that lead to rows that do not exist.
    func danglingReferences() -> ErrorList<DanglingReference> {
        var dangling = ErrorList(danglingMembers)
        forEachDanglingReference { id, toOne, target in
            dangling.append(schema.danglingReference(from: id, through: toOne, to: target))
        }
        return dangling
    }

    private func forEachDanglingReference(_ body: (RowID, ToOneDescription, _ target: RowNumber) -> Void) {
        for (entity, changes) in changes.entities where changes.hasReferences {
            forEachWritten(of: entity) { row, _, original in
                let id = RowID(entity: entity, row: row)
                snapshot.forEachDanglingReference(of: id) { toOne, target in
                    // A reference that the row had before leads to a row whose delete is denied.
                    if original.map({ toOne.target(ofRowAt: $0) }) != target { body(id, toOne, target) }
                }
            }
        }
    }

    /// Relationships that this commit leaves with fewer or more objects than allowed.
    func countFailures() -> ErrorList<ValidationFailure> {
        var failures = ErrorList<ValidationFailure>()
        guard schema.entities.contains(where: \.hasCounts) else { return failures }
        var touched = [Set<RowNumber>](repeating: [], count: schema.entities.count)
        for (entity, changes) in changes.entities {
            let description = schema.entities[entity]
            let leadsToCounts = description.toOnes.filter { schema.entities[$0.target].hasCounts }
            guard description.hasCounts || !leadsToCounts.isEmpty else { continue }
            changes.forEachChange { row, _, _ in
                touched[entity].insert(row)
                for state in [base, snapshot] {
                    guard let address = state.entities[entity].rows.address(of: row) else { continue }
                    for toOne in leadsToCounts { touched[toOne.target].insert(toOne.target(ofRowAt: address)) }
                }
            }
        }
        difference.forEachLinkTable { _, table, difference in
            guard table.inverse != nil, schema.entities[table.entity].hasCounts else { return }
            for link in difference.removed + difference.added { touched[table.entity].insert(link.owner) }
        }
        for (entity, rows) in touched.enumerated() where schema.entities[entity].hasCounts {
            for row in rows.sorted() {
                for failure in snapshot.countFailures(of: RowID(entity: entity, row: row)) { failures.append(failure) }
            }
        }
        return failures
    }

    /// The errors that `validate()` throws for inserted and updated rows.
    func validationFailures() -> ErrorList<ValidationFailure> {
        var failures = ErrorList<ValidationFailure>()
        for (entity, _) in changes.entities {
            let description = schema.entities[entity]
            guard description.hooks.hasValidate else { continue }
            forEachWritten(of: entity) { row, address, _ in
                do {
                    try description.hooks.validate(address)
                } catch {
                    for failure in description.failures(of: schema.id(of: RowID(entity: entity, row: row)), from: error)
                    {
                        failures.append(failure)
                    }
                }
            }
        }
        return failures
    }

    /// Calls the body with each inserted or updated row and the row that it replaces.
    func forEachWritten(
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
    /// The relationship whose rule governs a reference, as programs declare it: the to-many side where there is one.
    fileprivate func name(of toOne: ToOneDescription, from entity: Int) -> String {
        if let inverse = toOne.inverse {
            return "\(entities[toOne.target].name).\(entities[toOne.target].properties[inverse].name)"
        }
        return name(ofOwnerOf: toOne, entity)
    }
}

extension EntityDescription {
    fileprivate func failures(of id: AnyPersistentID, from error: any Error) -> [ValidationFailure] {
        guard let error = error as? ValidationError else {
            return [ValidationFailure(id: id, property: nil, reason: "\(error)")]
        }
        return error.parts.map { part in
            let name = part.keyPath.map { keyPath -> String in
                let property = properties.first { ($0.keyPath as AnyKeyPath) == (keyPath as AnyKeyPath) }
                return property?.name ?? "\(keyPath)"
            }
            return ValidationFailure(id: id, property: name, reason: part.reason)
        }
    }
}
