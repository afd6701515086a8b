extension Context {
    /// How many groups of changes `undo()` can step back through; 0, the default, or less for none. A change from one positive limit
    /// to another keeps the groups that fit.
    ///
    /// A group is what one `transaction`, one `perform`, one save of a nested context or one explicit group changes; changes
    /// made outside of these, up to the next one, form a group too. What other work changes while a `perform` waits belongs to
    /// the same group, so use a `transaction` for work that should be undone separately. Changes that cancel each other out
    /// form no group. Groups take memory for what they changed, and for what others have replaced since.
    ///
    /// Complexity: O(1) to read; O(*g*) to write, for *g* groups.
    public var undoLimit: Int {
        get { state.undoLimit }
        set {
            state.undoLimit = max(newValue, 0)
            state.tellChanges()
        }
    }

    /// Whether there is a group to undo. A group that a save in flight took is out of reach until the save ends, and all
    /// groups are while an explicit one is open.
    ///
    /// Complexity: O(log *n*) for *n* objects, and O(*d*) if *d* objects were written but have their old values.
    public var canUndo: Bool {
        state.isTrue(.canUndo)
    }

    /// Whether there is a group to redo: one that was undone, with no changes since.
    ///
    /// Complexity: that of ``canUndo``.
    public var canRedo: Bool {
        state.isTrue(.canRedo)
    }

    /// Undoes the last group of changes, saved or not. Does nothing in a transaction, which ends as a whole or not at all.
    ///
    /// Undoing a group that is not saved drops its changes: the context shows what it did before, on top of everything that
    /// others have committed since. A property that returns to what the context read shows its newest value. Undoing a saved
    /// group makes changes that have to be saved again. They touch only what is still as the group left it, and leave alone
    /// what others or later changes have set since.
    ///
    /// - Returns: what could not return to its earlier state, because something else has taken its place. Empty, too, if there
    ///   was no group.
    ///
    /// Complexity: O((*g* + *d*) log *n*) for *g* objects, references and links that the group changed, and *d* unsaved
    /// changes, among *n* objects.
    @discardableResult
    public func undo() -> [UndoConflict] {
        state.undo()
    }

    /// Redoes what the last `undo()` undid, in the same way.
    ///
    /// Complexity: O((*g* + *d*) log *n*) for *g* objects, references and links that the group changed, and *d* unsaved
    /// changes, among *n* objects.
    @discardableResult
    public func redo() -> [UndoConflict] {
        state.redo()
    }

    /// Collects all changes up to `endUndoGroup()` in one group. Groups inside it become part of it.
    ///
    /// Complexity: that of ``canUndo``.
    public func beginUndoGroup() {
        state.beginExplicitUndoGroup()
        state.tellChanges()
    }

    /// Ends the group that the last `beginUndoGroup()` began.
    ///
    /// Complexity: that of ``canUndo``.
    public func endUndoGroup() {
        state.endExplicitUndoGroup()
        state.tellChanges()
    }
}
