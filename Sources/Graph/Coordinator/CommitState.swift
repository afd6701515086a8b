/// Decides what becomes of a save: judges it against the newest state and merges it. A value without clock, file or
/// suspension, so that every decision can be tested as a function.
struct CommitState: Sendable {
    /// The newest state. Ahead of the published one while a sync is under way.
    private(set) var head: Snapshot

    /// What a save comes to.
    struct Commit: Sendable {
        /// The state after the commit, on the state before it, with the changes that lead from one to the other.
        let state: WorkingState
        /// Whether the save stands in it exactly as it was made: nobody else committed in between, and the delete rules
        /// had nothing to add.
        let isAsRequested: Bool
        /// New rows that gave way to others.
        let replacements: Replacements
        /// Whether nothing of the save is left to do; then it takes no number.
        let isEmpty: Bool

        var number: CommitNumber { state.snapshot.commit }
    }

    /// Judges a save and merges it with what others committed since its base. Head does not move until `accept`.
    ///
    /// - Throws: all offenders of the first stage that finds any: conflicts, then uniqueness, then references, then
    ///   denied deletes, then counts, then what `validate()` refuses.
    func prepare(_ request: WorkingState) throws(GraphError) -> Commit {
        let isFastForward = request.base.commit == head.commit && !request.hasLostBases
        var merged = request
        if !isFastForward {
            let conflicts = conflicts(of: request)
            guard conflicts.isEmpty else { throw .conflicts(conflicts) }
            merged = WorkingState(base: head)
            merged.reapply(request)
        }
        let rulesChangedRows = merged.applyDeleteRules()
        let replacements = try merged.resolveUniqueness()
        let dangling = merged.danglingReferences()
        guard dangling.isEmpty else { throw .danglingReferences(dangling) }
        let denied = merged.deniedDeletes()
        guard denied.isEmpty else { throw .deleteDenied(denied) }
        var failures = merged.countFailures()
        if failures.isEmpty { failures = merged.validationFailures() }
        guard failures.isEmpty else { throw .validationFailed(failures) }
        let isEmpty = merged.isUnchanged
        if !isEmpty { merged.number(head.commit.next) }
        return Commit(
            state: merged,
            isAsRequested: isFastForward && !rulesChangedRows && replacements.isEmpty,
            replacements: replacements,
            isEmpty: isEmpty
        )
    }

    mutating func accept(_ commit: Commit) {
        head = commit.state.snapshot
    }

    /// Takes back the commits after a state that turned out to be the last durable one.
    mutating func reset(to durable: Snapshot) {
        head = durable
    }

    /// Rows that were updated or deleted since a version that head does not have any more. Both sides deleting a row is
    /// none, and neither is letting go of a row deleted in the same save.
    private func conflicts(of request: WorkingState) -> [MergeConflict] {
        var conflicts: [MergeConflict] = []
        for (entity, description) in head.schema.entities.enumerated() {
            request.changes[entity].forEachChange { row, kind, oldVersion in
                let newVersion = head.entities[entity].rows.version(of: row)
                guard kind != .inserted, newVersion ?? .none != oldVersion, kind != .deleted || newVersion != nil,
                    !request.letsGoOnly(row, of: entity)
                else { return }
                conflicts.append(
                    description.conflict(
                        of: row,
                        versions: (oldVersion, newVersion ?? .none),
                        cached: request.changes[entity].lostBases.address(of: row)
                            ?? request.base.entities[entity].rows.address(of: row),
                        store: head.entities[entity].rows.address(of: row),
                        yours: request.snapshot.entities[entity].rows.address(of: row)
                            ?? request.changes[entity].lostRows.address(of: row)
                    )
                )
            }
        }
        return conflicts
    }
}

extension EntityDescription {
    fileprivate func conflict(
        of row: RowNumber,
        versions: (old: RowVersion, new: RowVersion),
        cached: UnsafeRawPointer?,
        store: UnsafeRawPointer?,
        yours: UnsafeRawPointer?
    ) -> MergeConflict {
        func text(_ address: UnsafeRawPointer?) -> String { address.map { describe($0) } ?? "deleted" }
        return MergeConflict(
            id: AnyPersistentID(entityName: name, row: row),
            oldVersion: versions.old,
            newVersion: versions.new,
            cachedRow: cached.map { value(at: $0) },
            storeRow: store.map { value(at: $0) },
            yourRow: yours.map { value(at: $0) },
            printedRows: (text(cached), text(store), text(yours))
        )
    }

    private func value(at row: UnsafeRawPointer) -> any Entity {
        read(self.type, row)
    }

    private func read<E: Entity>(_ type: E.Type, _ row: UnsafeRawPointer) -> any Entity {
        row.assumingMemoryBound(to: E.self).pointee
    }
}
