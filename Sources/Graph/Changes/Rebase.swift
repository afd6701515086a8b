/// Puts a save's changes on top of a state that may have moved on since the save's base: a rebase as in git, row by row and
/// property by property where a policy says so.
struct Rebase {
    /// What tells that a row has changed.
    enum Comparison: Sendable {
        /// Versions, between committed states.
        case versions
        /// The rows themselves, between a context and its parent: what is not committed has no versions of its own.
        case rows
    }

    let head: Snapshot
    let comparison: Comparison
    let policy: MergePolicy
    /// Who changed a row last.
    let originOfTheirs: (RowID) -> ChangeOrigin?

    private var schema: Schema { head.schema }

    /// A row that both sides changed, or that others changed and this one depends on.
    private struct Conflict {
        let id: RowID
        /// nil if the row is only required to be unchanged.
        let kind: ChangeKind?
        let versions: (old: RowVersion, new: RowVersion)
        /// The row that this side's changes count from.
        let base: UnsafeRawPointer?
        var ours: UnsafeRawPointer?
        let theirs: UnsafeRawPointer?
        /// What of ours belongs to deletes of other rows.
        var nullified: [ToOneDescription] = []
    }

    /// What is to be done about the conflicts.
    private struct Resolution {
        /// Changes to be dropped.
        var dropped: [RowID] = []
        /// Rows to be written when everything else is, by entity.
        var rows: [RowTable]
        /// Rows to be deleted then.
        var deleted: [RowID] = []
        /// Rows that are only required, and of which nothing becomes.
        var passedOver: Set<RowID> = []
        var failed = ErrorList<MergeConflict>()

        mutating func write(_ row: UnsafeRawPointer, at id: RowID, _ version: RowVersion) {
            rows[id.entity].set(id.row, version: version, copying: row)
        }
    }

    /// The changes of `request`, counted from head, and the rows with conflicts that were resolved on the way.
    ///
    /// - Throws: `.conflicts` with all that the policy does not resolve.
    func run(
        _ request: WorkingState,
        origin: ChangeOrigin
    ) throws(GraphError) -> (merged: WorkingState, resolved: [RowID]) {
        var resolution = Resolution(rows: schema.entities.map { RowTable(layout: $0.layout) })
        // The conflicts' addresses lie in the request and in head, which both outlast them.
        let conflicts = conflicts(of: request)
        for conflict in conflicts { resolve(conflict, in: &resolution, origin) }
        guard resolution.failed.isEmpty else { throw .conflicts(resolution.failed) }
        var ours = request
        ours.discardRows(resolution.dropped, cascadingIn: head)
        var merged = WorkingState(base: head)
        merged.reapply(ours)
        for (entity, rows) in resolution.rows.enumerated() {
            rows.forEachRow { row, lastVersion, address in
                let id = RowID(entity: entity, row: row)
                let known = request.knownRow(id) ?? request.changes[entity].required.address(of: row)
                merged.resolve(id, copying: address, lastVersion: lastVersion, known)
            }
        }
        // Rows that came back may be ends of links that were made here.
        merged.linkMissingMembers()
        for id in resolution.deleted { merged.delete(id) }
        // A parent's save has to see to them too.
        if comparison == .versions { merged.dropRequirements() }
        return (merged, conflicts.map(\.id).filter { !resolution.passedOver.contains($0) })
    }

    // MARK: Finding

    /// In the order of entities and rows. Both sides deleting a row is none, and neither is letting go of a row deleted in the
    /// same save.
    private func conflicts(of request: WorkingState) -> [Conflict] {
        var conflicts: [Conflict] = []
        for (entity, changes) in request.changes.entities {
            var found: Set<RowNumber> = []
            let rows = head.entities[entity].rows
            changes.forEachChange { row, kind, oldVersion in
                let id = RowID(entity: entity, row: row)
                var conflict = Conflict(
                    id: id,
                    kind: kind,
                    versions: (oldVersion, newVersion(of: id, insteadOf: oldVersion)),
                    base: request.knownRow(id),
                    ours: request.snapshot.entities[entity].rows.address(of: row)
                        ?? changes.detachedRows.address(of: row),
                    theirs: rows.address(of: row)
                )
                guard isConflict(conflict, in: request) else { return }
                found.insert(row)
                if let base = conflict.base, let ours = conflict.ours {
                    conflict.nullified = request.nullifiedReferences(from: base, to: ours, of: entity)
                }
                conflicts.append(conflict)
            }
            changes.required.forEachRow { row, oldVersion, address in
                let id = RowID(entity: entity, row: row)
                let conflict = Conflict(
                    id: id,
                    kind: nil,
                    versions: (oldVersion, newVersion(of: id, insteadOf: oldVersion)),
                    base: address,
                    ours: request.snapshot.entities[entity].rows.address(of: row),
                    theirs: rows.address(of: row)
                )
                guard !found.contains(row), isChangedThere(conflict) else { return }
                conflicts.append(conflict)
            }
        }
        return conflicts
    }

    private func newVersion(of id: RowID, insteadOf old: RowVersion) -> RowVersion {
        let version = head.version(of: id)
        switch comparison {
        case .versions: return version ?? .none
        case .rows: return version == nil ? .none : old
        }
    }

    private func isConflict(_ conflict: Conflict, in request: WorkingState) -> Bool {
        switch (conflict.kind, conflict.theirs) {
        case (.inserted, let theirs):
            // Both sides took back the same delete.
            guard let theirs, let ours = conflict.ours else { return false }
            return !schema.entities[conflict.id.entity].areIdentical(ours, theirs)
        case (.deleted, nil):
            return false
        default:
            return isChangedThere(conflict) && !request.onlyNullifies(conflict.id)
        }
    }

    private func isChangedThere(_ conflict: Conflict) -> Bool {
        switch comparison {
        case .versions:
            // A change may count from a row that gave way to another one, and then from no version at all.
            return conflict.theirs == nil || conflict.versions.old != conflict.versions.new
        case .rows:
            guard let base = conflict.base, let theirs = conflict.theirs else { return conflict.theirs == nil }
            return !schema.entities[conflict.id.entity].areIdentical(base, theirs)
        }
    }

    // MARK: Resolving

    private func resolve(_ conflict: Conflict, in resolution: inout Resolution, _ origin: ChangeOrigin) {
        do {
            try resolveWithoutNullify(conflict, in: &resolution)
        } catch {
            resolution.failed.append(report(of: conflict, because: error, origin))
        }
    }

    private func report(of conflict: Conflict, because error: any Error, _ origin: ChangeOrigin) -> MergeConflict {
        var report = schema.entities[conflict.id.entity].conflict(
            of: conflict.id.row,
            versions: reportedVersions(of: conflict),
            base: conflict.base,
            ours: conflict.ours,
            theirs: conflict.theirs
        )
        report.reason = error is Unresolved ? nil : "\(error)"
        report.ourOrigin = origin
        report.theirOrigin = originOfTheirs(conflict.id)
        return report
    }

    /// Rows that were never saved have no versions; in a report 0 stands for a row that is not there.
    private func reportedVersions(of conflict: Conflict) -> (old: RowVersion, new: RowVersion) {
        guard comparison == .rows else { return conflict.versions }
        let version = max(conflict.versions.old, RowVersion.none.next)
        return (conflict.base == nil ? .none : version, conflict.theirs == nil ? .none : version)
    }

    private struct Unresolved: Error {}

    /// A reference that a delete of its target ended is no change of the row: what becomes of it follows from what becomes of
    /// the delete.
    private func resolveWithoutNullify(_ conflict: Conflict, in resolution: inout Resolution) throws {
        guard !conflict.nullified.isEmpty, let base = conflict.base, let ours = conflict.ours else {
            return try resolve(conflict, in: &resolution)
        }
        try schema.entities[conflict.id.entity].layout.withCopy(of: ours) { ours in
            for toOne in conflict.nullified {
                (ours + toOne.offset).storeBytes(of: toOne.target(ofRowAt: base), as: RowNumber.self)
            }
            var conflict = conflict
            conflict.ours = UnsafeRawPointer(ours)
            try resolve(conflict, in: &resolution)
        }
    }

    private func resolve(_ conflict: Conflict, in resolution: inout Resolution) throws {
        if let merge = policy.rule(for: schema.entities[conflict.id.entity].type) {
            return try resolve(conflict, by: merge, in: &resolution)
        }
        guard let kind = conflict.kind else {
            // What is not changed here is not written either, whoever wins.
            guard policy.kind != .error else { throw Unresolved() }
            resolution.passedOver.insert(conflict.id)
            return
        }
        if kind == .updated, conflict.theirs != nil {
            return try resolveUpdates(conflict, in: &resolution)
        }
        switch policy.kind {
        case .error:
            throw Unresolved()
        case .storeTrump, .rollback:
            keep(conflict, in: &resolution)
        case .objectTrump, .overwrite:
            // A delete is one already.
            guard kind != .deleted, let ours = conflict.ours else { return }
            resolution.write(ours, at: conflict.id, conflict.versions.old)
        }
    }

    /// Has the row stay as it is in head.
    private func keep(_ conflict: Conflict, in resolution: inout Resolution) {
        if conflict.kind == .inserted, let theirs = conflict.theirs {
            resolution.write(theirs, at: conflict.id, conflict.versions.new)
        } else {
            resolution.dropped.append(conflict.id)
        }
    }

    /// Both sides changed the row.
    private func resolveUpdates(_ conflict: Conflict, in resolution: inout Resolution) throws {
        guard let base = conflict.base, let ours = conflict.ours, let theirs = conflict.theirs
        else { throw Unresolved() }
        let description = schema.entities[conflict.id.entity]
        let merge = RowMerge(description, base: base, ours: ours, theirs: theirs)
        let rules = policy.rules(forPropertiesOf: description)
        var isCovered = !rules.isEmpty
        merge.forEachChange { number, _, side in
            if side != .theirs, rules[number] == nil { isCovered = false }
        }
        let kind = isCovered ? .objectTrump : policy.kind
        guard kind != .error else { throw Unresolved() }
        guard kind != .rollback || !rules.isEmpty else { return keep(conflict, in: &resolution) }
        try description.layout.withCopy(of: kind == .overwrite ? ours : theirs) { merged in
            try merge.forEachChange { number, property, side in
                let offset = property.offset
                switch (rules[number], side) {
                case (let rule?, .both):
                    try rule(base + offset, ours + offset, theirs + offset, merged + offset)
                case (.some, .ours):
                    property.copy(from: ours, to: merged)
                case (.some, .theirs):
                    property.copy(from: theirs, to: merged)
                case (nil, .ours) where kind == .objectTrump || kind == .storeTrump,
                    (nil, .both) where kind == .objectTrump:
                    property.copy(from: ours, to: merged)
                default:
                    break
                }
            }
            resolution.write(merged, at: conflict.id, conflict.versions.new)
        }
    }

    /// A function of the program decides.
    private func resolve(_ conflict: Conflict, by merge: EntityMerge, in resolution: inout Resolution) throws {
        guard let any = conflict.theirs ?? conflict.ours ?? conflict.base else { throw Unresolved() }
        let description = schema.entities[conflict.id.entity]
        try description.layout.withCopy(of: any) { merged in
            switch try merge(conflict.base, conflict.ours, conflict.theirs, merged) {
            case .keep where conflict.kind != nil:
                keep(conflict, in: &resolution)
            case .keep:
                resolution.passedOver.insert(conflict.id)
            case .delete:
                guard conflict.kind != .deleted else { return }
                if conflict.kind != nil { keep(conflict, in: &resolution) }
                resolution.deleted.append(conflict.id)
            case .merged:
                if conflict.ours == nil { resolution.dropped.append(conflict.id) }
                description.forgetMembers(in: merged)
                description.resetTransients(of: merged)
                resolution.write(merged, at: conflict.id, max(conflict.versions.old, conflict.versions.new))
            }
        }
    }
}

typealias EntityMerge =
    @Sendable (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer) throws ->
    MergeRule.Outcome
typealias ValueMerge =
    @Sendable (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer, UnsafeMutableRawPointer) throws -> Void

extension MergePolicy {
    /// The function that decides about an entity's objects, if there is one. The first one counts.
    fileprivate func rule(for type: any Entity.Type) -> EntityMerge? {
        for rule in rules where rule.entity == type {
            if case .entity(let merge) = rule.scope { return merge }
        }
        return nil
    }

    /// The functions for an entity's properties, by the properties' numbers. The first one for a property counts.
    fileprivate func rules(forPropertiesOf description: EntityDescription) -> [Int: ValueMerge] {
        var merges: [Int: ValueMerge] = [:]
        for rule in rules where rule.entity == description.type {
            guard case .property(let keyPath, let merge) = rule.scope,
                let number = description.number(of: keyPath), merges[number] == nil
            else { continue }
            merges[number] = merge
        }
        return merges
    }

    /// - Precondition: every rule is about an entity of the schema, or about a stored property of one.
    func requireRules(toFit schema: Schema) {
        for rule in rules {
            guard let entity = schema.index(of: rule.entity) else {
                preconditionFailure("a merge rule is for \(rule.entity), which the store was opened without")
            }
            guard case .property(let keyPath, _) = rule.scope else { continue }
            precondition(
                schema.entities[entity].number(of: keyPath) != nil,
                "a merge rule is for \(keyPath), which is no stored property of \(schema.entities[entity].name)"
            )
        }
    }
}

extension EntityDescription {
    /// The number of a property that rows hold.
    fileprivate func number(of keyPath: any AnyKeyPath & Sendable) -> Int? {
        properties.firstIndex { $0.isStored && ($0.keyPath as AnyKeyPath) == (keyPath as AnyKeyPath) }
    }

    /// Empties a row's to-many values.
    fileprivate func forgetMembers(in row: UnsafeMutableRawPointer) {
        for relationship in toManys {
            _ = properties[relationship.property].takeInitialRows?(row + relationship.offset)
        }
    }
}

extension WorkingState {
    /// Writes a row as a policy wants it, whether or not it is there.
    ///
    /// - Parameter known: the row that its changes counted from.
    fileprivate mutating func resolve(
        _ id: RowID,
        copying row: UnsafeRawPointer,
        lastVersion: RowVersion,
        _ known: UnsafeRawPointer?
    ) {
        if snapshot.contains(id) {
            update(id, copying: row)
        } else {
            changes.remove(id)
            insert(id, copying: row, lastVersion: lastVersion, known: known)
        }
    }
}
