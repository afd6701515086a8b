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

    /// Ends the group of changes made so far.
    func endUndoGroup() {
        guard history.isOn else { return }
        flush()
        history.endGroup(at: working)
    }

    func beginExplicitUndoGroup() {
        flush()
        history.beginGroup(at: working)
    }

    func endExplicitUndoGroup() {
        flush()
        history.endExplicitGroup(at: working)
    }

    func undo() -> [UndoRemainder] {
        endUndoGroup()
        guard let group = history.takeUndo() else { return [] }
        let before = working.snapshot
        let remainders = revert(group)
        history.didUndo(step(from: before))
        return remainders
    }

    func redo() -> [UndoRemainder] {
        endUndoGroup()
        guard let group = history.takeRedo() else { return [] }
        let before = working.snapshot
        let remainders = revert(group)
        history.didRedo(step(from: before))
        return remainders
    }

    private func step(from before: Snapshot) -> UndoStep {
        UndoStep(change: StateChange(before: before, after: working.snapshot), base: working.base)
    }

    private func revert(_ group: UndoGroup) -> [UndoRemainder] {
        var remainders: [UndoRemainder] = []
        for step in group.steps.reversed() { remainders += working.revert(step, replaced: history.replaced) }
        noteChange()
        endEpoch()
        return remainders
    }
}
