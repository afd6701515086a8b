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
        return history.takeUndo().map { revert($0) { $0.didUndo($1) } } ?? []
    }

    func redo() -> [UndoRemainder] {
        endUndoGroup()
        return history.takeRedo().map { revert($0) { $0.didRedo($1) } } ?? []
    }

    private func revert(
        _ group: UndoGroup,
        _ didRevert: (inout UndoHistory, UndoStep) -> Void
    ) -> [UndoRemainder] {
        let before = working.snapshot
        var remainders: [UndoRemainder] = []
        for step in group.steps.reversed() { remainders += working.revert(step, replaced: history.replaced) }
        let change = StateChange(before: before, after: working.snapshot)
        didRevert(&history, UndoStep(change: change, base: working.base))
        noteChange()
        endEpoch()
        return remainders
    }
}
