/// What was changed, backwards.
extension ContextState {
    var undoLimit: Int {
        get { history.limit }
        set {
            if history.isOn, newValue > 0 {
                history.limit = newValue
            } else {
                flush()
                history.start(limit: newValue, at: working)
            }
        }
    }

    /// A transaction is one change, of which no part is undone.
    var allowsUndo: Bool { !isTransaction && transactionStarts.isEmpty }

    /// Ends the group of changes made so far, unless they belong to a turn that goes on.
    func endUndoGroup() {
        guard history.isOn else { return }
        flush()
        if turnCount == 0 { history.endGroup(at: working) } else { history.note(working) }
    }

    func beginExplicitUndoGroup() {
        flush()
        history.beginGroup(at: working)
    }

    func endExplicitUndoGroup() {
        flush()
        history.endExplicitGroup(at: working)
    }

    func undo() -> [UndoConflict] {
        takeBack({ $0.takeUndo() }, { $0.didUndo(from: $1, to: $2) })
    }

    func redo() -> [UndoConflict] {
        takeBack({ $0.takeRedo() }, { $0.didRedo(from: $1, to: $2) })
    }

    /// Notes that the transaction depends on everything, so that it commits only on the state that it began with.
    func readAll() {
        let schema = working.schema
        reads?.note { reads in
            for entity in schema.entities.indices { reads.readAll(of: entity) }
            for table in schema.linkTables.indices { reads.readLinks(in: table) }
        }
    }

    /// Takes back what a commit did, where its result is unchanged, in a context without changes.
    ///
    /// - Returns: all that is not as it was before, also where an undo says nothing: of links that others have ended since.
    func revert(_ step: UndoStep) -> [UndoConflict] {
        flush()
        var conflicts = working.revert(step, replaced: [])
        if conflicts.isEmpty { conflicts = working.conflictsOfLinks(revertedTo: step.difference) }
        noteChange()
        endEpoch()
        return conflicts
    }

    private func takeBack(
        _ take: (inout UndoHistory) -> UndoGroup?,
        _ didTakeBack: (inout UndoHistory, WorkingState, WorkingState) -> Void
    ) -> [UndoConflict] {
        guard history.isOn, allowsUndo else { return [] }
        flush()
        history.endGroup(at: working)
        guard let group = take(&history) else { return [] }
        let before = working
        var conflicts: [UndoConflict] = []
        let unsaved = group.steps.filter { !history.isSaved($0) }
        if let first = unsaved.first {
            // The state before is a value. All that has happened since is in the group, or came from others.
            working = current(first.before, since: first.number)
            // A requirement alone is no group: one that was made later belongs to none that are taken back.
            if let last = unsaved.last { working.requireAgain(before, keeping: .all, besides: last.after) }
            conflicts = working.conflicts(of: unsaved)
        }
        for step in group.steps.reversed() where history.isSaved(step) {
            conflicts += working.revert(step, replaced: history.replaced)
        }
        keepLastValues(of: before.snapshot)
        showDetachedRows(since: before)
        didTakeBack(&history, before, working)
        noteChange()
        endEpoch()
        return conflicts
    }

    /// An earlier state's changes, on the base that the context has now.
    private func current(_ state: WorkingState, since step: UInt64) -> WorkingState {
        var state = state
        func isOn(_ base: ContextBase) -> Bool {
            state.base.commit == base.snapshot.commit && state.base.isIdentical(to: base.snapshot)
        }
        func move(onto base: ContextBase, keeping overlaps: KeptOverlaps) {
            state = state.moved(onto: WorkingState(base, reads: reads), keeping: overlaps)
        }
        // A refresh resolves also the overlaps of states that the context had moved to its base by itself.
        if let refreshed = history.refreshed, step <= refreshed.through,
            !isOn(refreshed.base) || state.hasDetachedBases
        {
            move(onto: refreshed.base, keeping: .untold(refreshed.told))
        }
        let base = ContextBase(snapshot: working.base, committed: committed)
        if !isOn(base) { move(onto: base, keeping: .all) }
        return state
    }
}
