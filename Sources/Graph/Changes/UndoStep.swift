/// Two states of one context, before and after a step.
struct UndoStep: Sendable {
    /// Both have the same base.
    var before: WorkingState
    var after: WorkingState
    /// Ascends from step to step of a context.
    var number: UInt64 = 0
    /// The last save whose end the states count from, if the step was made while it ran.
    var settledThrough: UInt64 = 0

    var difference: SnapshotDifference { SnapshotDifference(before: before.snapshot, after: after.snapshot) }

    /// Whether the step has no effect, as when an object was inserted and deleted again.
    var isEmpty: Bool { difference.isEmpty && before.hasSameDetachedRows(as: after) }
}
