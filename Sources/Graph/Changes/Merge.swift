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

    var schema: Schema { head.schema }

    /// A row that both sides changed, or that others changed and this side requires.
    struct Conflict {
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
    struct Resolution {
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
            base: request.knownOrReturningRow(id),
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
        guard let known = request.knownOrReturningRow(conflict.id), let ours = conflict.ours else { return [] }
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
            // Both sides took back the same delete, and perhaps made the same change then.
            guard let theirs, let ours = conflict.ours else { return false }
            guard schema.entities[conflict.id.entity].areIdentical(ours, theirs) else { return true }
            guard let base = conflict.base else { return false }
            return isChangedThere(conflict) && request.isWritten(conflict.id, from: base, to: ours)
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
