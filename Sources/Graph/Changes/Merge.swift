/// Merges a save's changes with what others committed since the save's base: row by row, and property by property where a policy
/// says so. What the policy leaves of the changes is rebased onto the newer state.
struct Merge {
    /// How to find out whether a row has changed.
    enum Comparison: Sendable {
        /// By versions, between committed states.
        case versions
        /// By the rows themselves, between a context and its parent: uncommitted changes have no versions of their own.
        case rows
    }

    let head: Snapshot
    let comparison: Comparison
    let policy: MergePolicy
    /// The origin of the last commit that changed a row.
    let originOfTheirs: (RowID) -> ChangeOrigin?

    private var schema: Schema { head.schema }

    /// A row that both sides changed, or that others changed and this side requires.
    private struct Conflict {
        let id: RowID
        /// What this side did to the row; nil for nothing, and for what others did, too, or what belongs to a delete.
        let kind: ChangeKind?
        /// Whether the requirement alone conflicts: what this side did to the row counts from theirs.
        var isRequirement = false
        let versions: (old: RowVersion, new: RowVersion)
        /// The row that this side's changes are based on.
        let base: UnsafeRawPointer?
        var ours: UnsafeRawPointer?
        let theirs: UnsafeRawPointer?
        /// References that this side changed only because it deleted their targets, with these.
        var nullified: [(toOne: ToOneDescription, target: RowNumber)] = []
    }

    /// How to resolve the conflicts.
    private struct Resolution {
        /// Rows whose changes are dropped.
        var dropped: [RowID] = []
        /// Rows, by entity, that are written after everything else.
        var rows: [RowTable]
        /// Rows that are deleted after that.
        var deleted: [RowID] = []
        /// Rows whose requirement alone conflicts, and of which nothing becomes.
        var passedOver: Set<RowID> = []
        var failed = ErrorList<MergeConflict>()

        mutating func write(_ row: UnsafeRawPointer, at id: RowID, _ version: RowVersion) {
            rows[id.entity].set(id.row, version: version, copying: row)
        }
    }

    /// The changes of `request` on top of head, and the rows whose conflicts were resolved.
    ///
    /// - Throws: `.conflicts` with all conflicts that the policy does not resolve.
    func run(
        _ request: WorkingState,
        origin: ChangeOrigin
    ) throws(GraphError) -> (merged: WorkingState, resolved: [RowID]) {
        var resolution = Resolution(rows: schema.entities.map { RowTable(layout: $0.layout) })
        // The conflicts hold addresses in the request and in head, which both outlive them.
        let conflicts = conflicts(of: request)
        for conflict in conflicts { resolve(conflict, in: &resolution, origin) }
        guard resolution.failed.isEmpty else { throw .conflicts(resolution.failed) }
        var ours = request
        ours.discardRows(resolution.dropped, cascadingIn: head)
        var merged = WorkingState(base: head)
        merged.rebase(ours)
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
        // A parent's own save has to check them too.
        if comparison == .versions { merged.dropRequirements() }
        return (merged, conflicts.map(\.id).filter { !resolution.passedOver.contains($0) })
    }

    // MARK: Finding

    /// In the order of entities and rows. It is no conflict if both sides delete a row, or if this side only nullifies
    /// references to rows that it deletes.
    private func conflicts(of request: WorkingState) -> [Conflict] {
        var conflicts: [Conflict] = []
        for (entity, changes) in request.changes.entities {
            var found: Set<RowNumber> = []
            changes.forEachChange { row, kind, oldVersion in
                let conflict = self.conflict(RowID(entity: entity, row: row), kind, oldVersion, in: request)
                guard isConflict(conflict, in: request) else { return }
                found.insert(row)
                conflicts.append(conflict)
            }
            changes.required.forEachRow { row, oldVersion, address in
                let conflict = requirement(RowID(entity: entity, row: row), address, oldVersion, in: request)
                guard !found.contains(row), isChangedThere(conflict) else { return }
                conflicts.append(conflict)
            }
        }
        for index in conflicts.indices {
            conflicts[index].nullified = nullifiedReferences(of: conflicts[index], in: request)
        }
        return conflicts
    }

    /// What both sides did to a row that this one changed; perhaps no conflict.
    private func conflict(
        _ id: RowID,
        _ kind: ChangeKind,
        _ oldVersion: RowVersion,
        in request: WorkingState
    ) -> Conflict {
        Conflict(
            id: id,
            kind: kind,
            versions: (oldVersion, newVersion(of: id, insteadOf: oldVersion)),
            base: request.knownRow(id),
            ours: request.snapshot.address(of: id) ?? request.changes[id.entity].detachedRows.address(of: id.row),
            theirs: head.address(of: id)
        )
    }

    /// The same of a row that this side requires.
    private func requirement(
        _ id: RowID,
        _ required: UnsafeRawPointer,
        _ oldVersion: RowVersion,
        in request: WorkingState
    ) -> Conflict {
        let (ours, theirs) = (request.snapshot.address(of: id), head.address(of: id))
        let isNoChange = ours == nil && theirs == nil || request.onlyNullifies(id)
        return Conflict(
            id: id,
            kind: isNoChange ? nil : request.changes.kind(of: id),
            isRequirement: true,
            versions: (oldVersion, newVersion(of: id, insteadOf: oldVersion)),
            base: required,
            ours: ours,
            theirs: theirs
        )
    }

    private func nullifiedReferences(
        of conflict: Conflict,
        in request: WorkingState
    ) -> [(toOne: ToOneDescription, target: RowNumber)] {
        // Not the conflict's base: what is required may be older than what the changes count from.
        guard let known = request.knownRow(conflict.id), let ours = conflict.ours else { return [] }
        return request.nullifiedReferences(from: known, to: ours, of: conflict.id.entity)
            .map { ($0, $0.target(ofRowAt: known)) }
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
            // A change may be based on a row that gave way to another one, and then has no version.
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

    /// Rows that were never saved have no versions; a report uses 0 for a row that does not exist.
    private func reportedVersions(of conflict: Conflict) -> (old: RowVersion, new: RowVersion) {
        guard comparison == .rows else { return conflict.versions }
        let version = max(conflict.versions.old, RowVersion.none.next)
        return (conflict.base == nil ? .none : version, conflict.theirs == nil ? .none : version)
    }

    private struct Unresolved: Error {}

    /// A reference that was nullified by a delete does not count as a change of its row: it is dropped or kept with the delete.
    private func resolveWithoutNullify(_ conflict: Conflict, in resolution: inout Resolution) throws {
        guard !conflict.nullified.isEmpty, let ours = conflict.ours else {
            return try resolve(conflict, in: &resolution)
        }
        try schema.entities[conflict.id.entity].layout.withCopy(of: ours) { ours in
            for (toOne, target) in conflict.nullified {
                (ours + toOne.offset).storeBytes(of: target, as: RowNumber.self)
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
        guard !conflict.isRequirement, let kind = conflict.kind else {
            // Whichever side wins, a row that is not changed here is not written, and changes that count from theirs stay.
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
            // A delete needs nothing more.
            guard kind != .deleted, let ours = conflict.ours else { return }
            resolution.write(ours, at: conflict.id, conflict.versions.old)
        }
    }

    /// Keeps the row as head has it.
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

    /// The program's merge function decides, also about what this side did to a row whose requirement alone conflicts.
    ///
    /// A delete here that it agrees to stands or is dropped as a whole, with that of the rows it went with.
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
    /// The first rule for an entity's objects.
    fileprivate func rule(for type: any Entity.Type) -> EntityMerge? {
        for rule in rules where rule.entity == type {
            if case .entity(let merge) = rule.scope { return merge }
        }
        return nil
    }

    /// The first rule for each of an entity's properties, by property number.
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

    /// - Precondition: every rule is for an entity of the schema, or for a stored property of one.
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
    /// The number of a stored property.
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
    /// Writes the row that a policy decided on, whether or not it exists.
    ///
    /// - Parameter known: the row that its changes are based on.
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
