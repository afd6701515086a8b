/// Two states of one context, before and after a step.
struct UndoStep: Sendable {
    /// Both have the same base.
    var before: WorkingState
    var after: WorkingState
    /// Ascends from step to step of a context.
    var number: UInt64 = 0

    var difference: SnapshotDifference { SnapshotDifference(before: before.snapshot, after: after.snapshot) }

    /// Whether the step has no effect, as when an object was inserted and deleted again.
    var isEmpty: Bool { difference.isEmpty && before.hasSameDetachedRows(as: after) }

    func hasChanged(_ id: RowID) -> Bool {
        guard let new = after.snapshot.address(of: id) else { return false }
        guard let old = before.snapshot.address(of: id) else { return true }
        return !after.schema.entities[id.entity].areIdentical(old, new)
    }
}

/// A change that `undo()` or `redo()` left alone, because others, or a later change, have put something else in its place.
public struct UndoConflict: Sendable, Hashable {
    /// The object.
    public let id: AnyPersistentID
    /// The property, a to-many relationship where members are meant; nil where the object as a whole is.
    public let property: String?
}
