extension Context {
    /// How many groups of changes `undo()` can step back through; 0, as at first, for none. Another number than 0 keeps what
    /// there is, as far as it fits.
    ///
    /// A group is what one `transaction`, one `perform` or one explicit group changes; what is changed outside of these, up to
    /// the next of them, is one too. What other work does on the context while a `perform` waits belongs to the same group: let
    /// work that is to be undone apart be a `transaction`. What changes nothing in the end is no group. Keeping groups costs
    /// memory for what they changed.
    public var undoLimit: Int {
        get { state.undoLimit }
        set {
            state.undoLimit = newValue
            state.tellChanges()
        }
    }

    /// Whether there is a group to undo. What a save in flight has taken is out of reach until it ends, and everything while an
    /// explicit group is open.
    ///
    /// Complexity: O(1), unless *d* objects were written and are as before: O(*d*).
    public var canUndo: Bool {
        state.isTrue(.canUndo)
    }

    /// Whether there is a group to do again: one that was undone, with nothing changed since.
    ///
    /// Complexity: O(1), unless *d* objects were written and are as before: O(*d*).
    public var canRedo: Bool {
        state.isTrue(.canRedo)
    }

    /// Takes back the last group of changes, saved or not. In a transaction, which ends as a whole or not at all, this does
    /// nothing.
    ///
    /// A group that is not saved was never there: the context shows what it did before, on top of all that others have
    /// committed since, and a property that is as the context read it shows its value of now. Taking back a saved group is a
    /// change to be saved again, of what still is as the group left it: what others or later changes have set since, and what
    /// they have made of its objects, is left alone.
    ///
    /// - Returns: what of the group did not become as it was before, since others have put something else in its place. Nothing,
    ///   too, if there was no group.
    ///
    /// Complexity: O((*g* + *d*) log *n*) for *g* objects, references and links that the group changed, and *d* unsaved
    /// changes.
    @discardableResult
    public func undo() -> [UndoConflict] {
        state.undo()
    }

    /// Does again what the last `undo()` took back, in the same way.
    ///
    /// Complexity: O((*g* + *d*) log *n*) for *g* objects, references and links that the group changed, and *d* unsaved
    /// changes.
    @discardableResult
    public func redo() -> [UndoConflict] {
        state.redo()
    }

    /// Makes one group of everything up to `endUndoGroup()`. Groups inside it are part of it.
    ///
    /// Complexity: O(1), unless *d* objects were written and are as before: O(*d*).
    public func beginUndoGroup() {
        state.beginExplicitUndoGroup()
        state.tellChanges()
    }

    /// Ends the group that the last `beginUndoGroup()` began.
    ///
    /// Complexity: O(1), unless *d* objects were written and are as before: O(*d*).
    public func endUndoGroup() {
        state.endExplicitUndoGroup()
        state.tellChanges()
    }
}
