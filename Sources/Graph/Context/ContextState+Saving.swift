/// Saves, and everything else that moves the state under the objects.
extension ContextState {
    /// Whether a save has taken changes with it and is not answered yet.
    var isSaveUnderWay: Bool { inFlight != nil }

    /// Takes the changes for a save, and has `willSave()` see to them; nil if there are none. What is changed from here on
    /// counts from the state taken, without what `willSave()` did to it.
    func capture(runningHooks: Bool) -> WorkingState? {
        flush()
        guard !working.isUnchanged else {
            _ = registry?.release()
            return nil
        }
        endUndoGroup()
        let captured = working
        let objects = registry?.release() ?? []
        working = WorkingState(base: captured.snapshot, store: committed, reads: reads)
        history.didCapture(captured, goingOnFrom: working)
        var request = captured
        willSaveChangedRows = runningHooks && request.runWillSave()
        inFlight = (captured, request, objects)
        return request
    }

    /// What a save would take now.
    func stateToSave(runningHooks: Bool) -> WorkingState {
        flush()
        var request = working
        if runningHooks { _ = request.runWillSave() }
        return request
    }

    /// The save taken last is in the new base.
    ///
    /// - Parameter count: makes states of the history count from what the save took, if they do not.
    func didSave(_ outcome: Outcome, countingFrom count: ((WorkingState) -> WorkingState)? = nil) {
        let (captured, request) = (inFlight?.state, inFlight?.request)
        // Turns that ended meanwhile have looked at them in vain.
        registry?.didRelease((inFlight?.objects ?? []).map(\.rowID))
        inFlight = nil
        flush()
        history.note(working)
        let base = WorkingState(outcome.base, reads: reads)
        let counted = recounting(after: outcome, of: captured, request)
        if let captured, let request, willSaveChangedRows {
            history.didRunHooks(on: captured.snapshot, request.snapshot)
        }
        history.didEndSave(isSuccess: true, replacements: outcome.replacements) { state in
            counted(count?(state) ?? state).moved(onto: base, keeping: .all, replacements: outcome.replacements)
        }
        working = counted(working)
        history.move(to: working)
        // What a nested context has read counts until the transaction ends.
        if published != nil { reads?.removeAll() }
        note(outcome.replacements)
        committed = outcome.base.committed
        let before = outcome.isAsCaptured ? nil : flushed
        let isRebased = rebase(
            onto: base,
            keeping: .all,
            replacements: outcome.replacements
        )
        if let before { keepLastValues(of: before) }
        if let captured { showDroppedRows(of: outcome.resolved, in: captured) }
        if isRebased || !outcome.isAsCaptured || willSaveChangedRows { endEpoch() }
    }

    /// How changes made during a save count after it.
    private func recounting(
        after outcome: Outcome,
        of captured: WorkingState?,
        _ request: WorkingState?
    ) -> (WorkingState) -> WorkingState {
        guard let captured else { return { $0 } }
        let saved = outcome.commit?.change.after ?? outcome.base.snapshot
        let before = published == nil ? nil : outcome.commit?.change.before ?? saved
        // What the save itself made of its rows is nothing that others did.
        let isChanged = willSaveChangedRows || !outcome.overwritten.isEmpty
        let result = (isChanged ? request?.result(savedAs: saved, outcome.overwritten) : nil)
            .map { WorkingState(base: $0, store: committed, reads: reads) }
        // A parent's rows have no versions of their own to count from.
        let resolved = published == nil ? [] : outcome.resolved
        return { state in
            (result.map { state.moved(onto: $0) } ?? state).counted(
                from: captured, savedAs: saved, before, resolved)
        }
    }

    /// Objects that somebody holds know what replaced them.
    private func note(_ replacements: Replacements) {
        func isHeld(_ entity: Int, _ row: RowNumber) -> Bool {
            registry?.heldObject(for: RowID(entity: entity, row: row)) != nil
        }
        for (entity, rows) in replacements {
            for (row, survivor) in rows where isHeld(entity, row) {
                self.replacements[entity, default: [:]][row] = survivor
            }
            // Those that nobody holds any more go each time that there are twice as many.
            guard let count = self.replacements[entity]?.count, count > replacementLimit else { continue }
            self.replacements[entity] = self.replacements[entity]?.filter { isHeld(entity, $0.key) }
            replacementLimit = max(replacementLimit, 2 * (self.replacements[entity]?.count ?? 0))
        }
    }

    /// The save taken last failed; its changes are pending as before, with what was changed meanwhile on top.
    func saveFailed() {
        guard let inFlight else { return }
        self.inFlight = nil
        flush()
        history.note(working)
        history.didEndSave(isSuccess: false) { $0.moved(onto: inFlight.state) }
        registry?.keep(inFlight.objects)
        if rebase(onto: inFlight.state) { endEpoch() }
    }

    /// Puts the working state's changes on top of another state. False if there were none: links alone may end references, too,
    /// which this state has to rows that are gone. The epoch is to end, if it is, when all else is done.
    private func rebase(
        onto state: WorkingState,
        keeping overlaps: KeptOverlaps = .none,
        replacements: Replacements = [:]
    ) -> Bool {
        flush()
        history.note(working)
        let later = working
        working = later.moved(onto: state, keeping: overlaps, replacements: replacements)
        history.move(to: working)
        return !later.isUnchanged
    }

    // MARK: Moving

    /// Drops what was changed since the base, or since a save in flight took the rest.
    func rollback(to base: ContextBase?) {
        if let start = transactionStarts.last { return restore(start) }
        if inFlight == nil { doubts = [] }
        dropDirty()
        let before = working
        if let base, inFlight == nil {
            working = WorkingState(base, reads: reads)
            committed = base.committed
            keepLastValues(of: before.base)
            let merged = SnapshotDifference(before: before.base, after: base.snapshot)
            if !base.snapshot.isIdentical(to: before.base) { followers.send(.didMerge(merged)) }
        } else {
            working = WorkingState(base: working.base, store: committed, reads: reads)
        }
        showDetachedRows(since: before)
        history.didRollBack(to: working)
        forgetChanges()
        stopAutosaveTimerIfUnchanged()
    }

    /// The same, and nothing can be undone any more.
    func reset(to base: ContextBase) {
        rollback(to: base)
        history.start(limit: history.limit, at: working)
    }

    /// What both sides changed, if the base moved.
    func refreshConflicts(with base: ContextBase) -> [RefreshConflict] {
        flush()
        return working.refreshConflicts(with: base.snapshot)
    }

    /// Moves the base, puts the changes on top, and returns what both sides changed.
    ///
    /// - Parameters:
    ///   - keepingBases: whether changes go on counting from what this side knew, as the program has not been told.
    ///   - told: rows of which it is told even then.
    func refresh(
        to base: ContextBase, keepingBases: Bool = false, besides told: Set<RowID> = []
    ) -> [RefreshConflict] {
        flush()
        let (before, oldBase) = (working.snapshot, working.base)
        settleDoubts(before: base.snapshot)
        let conflicts = working.refreshConflicts(with: base.snapshot)
        committed = base.committed
        _ = rebase(onto: WorkingState(base, reads: reads), keeping: .all(if: keepingBases))
        for number in doubts.indices {
            let captured = doubts[number].captured[doubts[number].captured.count - 1]
            doubts[number].captured.append(
                captured.moved(onto: WorkingState(base, reads: reads), keeping: .all(if: keepingBases)))
        }
        for id in told { working.compareWithBase(id) }
        if !keepingBases {
            history.refresh(to: working, on: base, telling: conflicts)
        } else if !told.isEmpty {
            let ids = Set(told.map { schema.id(of: $0) })
            history.refresh(to: working, on: base, telling: conflicts.filter { ids.contains($0.id) })
        }
        keepLastValues(of: before)
        followers.send(.didMerge(SnapshotDifference(before: before, after: working.snapshot)), since: oldBase)
        // What others committed may have been what was in its way.
        if autosaveError != nil, !working.isUnchanged { noteChange() }
        endEpoch()
        return conflicts
    }

    /// Moves the base for an object: of all others the program has not been told. During a save that waits for its end.
    func refreshObject(_ id: RowID, mergeChanges: Bool) {
        if !mergeChanges { discard([id]) }
        guard inFlight != nil else { return refreshToPublished(telling: [id]) }
        // What the save took, and may bring back, is no change that the program wants to keep.
        refreshedInFlight = (refreshedInFlight ?? []).union(mergeChanges ? [id] : [])
    }

    /// Does what objects asked for while a save was under way.
    func refreshAfterSave() {
        guard inFlight == nil, let told = refreshedInFlight else { return }
        refreshedInFlight = nil
        refreshToPublished(telling: told)
    }

    private func refreshToPublished(telling told: Set<RowID>) {
        guard let published, registry != nil, !isBaseFixed else { return }
        _ = refresh(to: ContextBase(snapshot: published.value), keepingBases: true, besides: told)
    }

    // MARK: Nested contexts

    var stateForChildren: ContextBase {
        flush()
        return ContextBase(snapshot: working.snapshot, committed: committed ?? base)
    }

    /// A nested context's changes, on top of the working state.
    ///
    /// - Returns: these, and the rows with conflicts that were resolved on the way.
    func rebase(_ request: SaveRequest) throws(GraphError) -> (merged: WorkingState, resolved: [RowID]) {
        flush()
        let merge = Merge(head: working.snapshot, comparison: .rows, policy: request.policy) { _ in nil }
        var result: (merged: WorkingState, resolved: [RowID])
        do {
            result = try merge.run(request.state, origin: request.origin)
        } catch {
            throw error.withParent
        }
        try result.merged.checkReferences(isForgiving: request.policy.kind != .error)
        result.merged.dropRequirements(unknownTo: working.base)
        return result
    }

    /// Makes a nested context's changes this one's own. All other rules are for this one's save to check.
    func absorb(_ request: SaveRequest) throws(GraphError) -> Outcome {
        let (changes, resolved) = try rebase(request)
        let before = working.snapshot
        // A row that comes back does so with what was changed of it here, which may lead to what is deleted here. Nothing that is
        // left of the changes does.
        let deletes = working.changes.hasDetachedRows ? nil : changes.changes
        working.rebase(changes)
        // Links that deny their owner's delete are checked here again, and are in no list meanwhile.
        if !changes.isUnchanged {
            _ = working.applyDeleteRules(of: deletes)
            _ = working.endRestoredChanges()
            keepLastValues(of: before)
            noteChange()
        }
        let outcome = Outcome(base: stateForChildren, isAsCaptured: false, replacements: [:], resolved: resolved)
        endEpoch()
        return outcome
    }

    /// A state to come back to.
    struct Savepoint {
        let working: WorkingState
        fileprivate let committed: Snapshot?
        fileprivate let history: UndoHistory
    }

    /// - Parameter endingUndoGroup: whether what was changed before forms a group to undo.
    func savepoint(endingUndoGroup: Bool = true) -> Savepoint {
        settleDoubts()
        flush()
        if endingUndoGroup { endUndoGroup() }
        return Savepoint(working: working, committed: committed, history: history)
    }

    /// Undoes everything since a savepoint.
    func restore(_ savepoint: Savepoint) {
        dropDirty()
        let before = working
        (working, committed) = (savepoint.working, savepoint.committed)
        history = savepoint.history
        showDetachedRows(since: before)
        if working.isUnchanged { _ = registry?.release() }
        endEpoch()
    }

    /// Undoes a save that failed and whose changes began at a savepoint; keeps what was changed while it ran.
    func saveFailed(restoring savepoint: Savepoint) {
        guard let inFlight else { return restore(savepoint) }
        self.inFlight = nil
        if !savepoint.working.isUnchanged { registry?.keep(inFlight.objects) }
        flush()
        history = savepoint.history
        history.move(to: savepoint.working)
        if working.isUnchanged {
            working = savepoint.working
        } else {
            working.forgetChanges(ofRowsInsertedIn: inFlight.state, since: savepoint.working)
            // What was changed meanwhile forms a group, from the savepoint on.
            working = working.moved(onto: savepoint.working)
        }
        showDetachedRows(since: inFlight.state)
        endEpoch()
    }

    private func dropDirty() {
        needsFlush = false
        guard let registry else { return }
        let all = registry.takeDirty()
        registry.didRelease(all.map(\.id))
        for dirty in all {
            (dirty.object.isDirty, dirty.object.flags) = (false, dirty.object.flags.subtracting(.new))
        }
    }

    private func forgetChanges() {
        _ = registry?.release()
        endEpoch()
    }
}
