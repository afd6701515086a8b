extension Context {
    /// How many groups of changes `undo()` can step back through; 0, as at first, for none. Another number than 0 keeps what
    /// there is, as far as it fits.
    ///
    /// A group is what one `transaction`, one `perform` or one explicit group changes; what is changed outside of these, up to
    /// the next of them, is one too. Keeping groups costs memory for what they changed.
    public var undoLimit: Int {
        get { state.undoLimit }
        set {
            state.undoLimit = newValue
            state.tellChanges()
        }
    }

    /// Whether there is a group to undo. What a save in flight has taken is out of reach until it ends, and everything while an
    /// explicit group is open.
    public var canUndo: Bool {
        state.endUndoGroup()
        return state.isTrue(.canUndo)
    }

    /// Whether there is a group to do again: one that was undone, with nothing changed since.
    public var canRedo: Bool {
        state.endUndoGroup()
        return state.isTrue(.canRedo)
    }

    /// Takes back the last group of changes, saved or not; taking back what was saved is a change to be saved again.
    ///
    /// It is applied to what is there now: a property that no longer has the value that the group gave it, because others or
    /// later changes set it since, is left alone.
    ///
    /// - Returns: what was left alone. Nothing, too, if there was no group.
    @discardableResult
    public func undo() -> [UndoRemainder] {
        state.undo()
    }

    /// Does again what the last `undo()` took back, in the same way.
    @discardableResult
    public func redo() -> [UndoRemainder] {
        state.redo()
    }

    /// Makes one group of everything up to `endUndoGroup()`. Groups inside it are part of it.
    public func beginUndoGroup() {
        state.beginExplicitUndoGroup()
        state.tellChanges()
    }

    /// Ends the group that the last `beginUndoGroup()` began.
    public func endUndoGroup() {
        state.endExplicitUndoGroup()
        state.tellChanges()
    }
}
