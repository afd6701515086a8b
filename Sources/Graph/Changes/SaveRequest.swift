/// What a context hands over to be saved.
struct SaveRequest: Sendable {
    var state: WorkingState
    var policy = MergePolicy.error
    var origin = ChangeOrigin()
    /// What the transaction has read, if that is to count.
    var reads: ReadSet?
}

/// What became of a save.
struct Outcome: Sendable {
    /// The newest state, the save in it.
    let base: ContextBase
    /// Whether that state is exactly what the save contained.
    let isAsCaptured: Bool
    /// New rows that gave way to others.
    let replacements: Replacements
    /// Rows that have taken over what those had.
    var overwritten: Set<RowID> = []
    /// Rows of which the save may contain something else than was captured, since a policy resolved a conflict.
    var resolved: [RowID] = []
    /// What the commit made of the store, and its number; nil in a nested context, and if there was nothing to commit.
    var commit: (number: CommitNumber, change: SnapshotDifference)?
}

/// What a context starts from.
struct ContextBase: Sendable {
    let snapshot: Snapshot
    /// The committed state below it, if the snapshot is an outer context's, with its unsaved changes.
    var committed: Snapshot?
}
