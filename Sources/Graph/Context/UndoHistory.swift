/// A group of changes, as the states between which they happened. Several pairs, where the context's base moved in between: what
/// others committed is no part of the group.
struct UndoGroup: Sendable {
    var steps: [UndoStep]
}

struct UndoStep: Sendable {
    let change: StateChange
    /// The context's base at that time.
    let base: Snapshot
}

/// What can be undone, and what can be done again.
///
/// A group begins and ends with a visit to the context; what is changed between visits forms a group too. All that a group
/// holds is two states, so that noting one takes no time, and memory only for what the next group changes.
struct UndoHistory {
    /// How many groups are kept; 0 for none.
    var limit = 0 {
        didSet {
            undone.removeFirst(max(undone.count - limit, 0))
            while done.count > limit { dropFirst() }
        }
    }

    /// Groups to undo, the last one at the end.
    private(set) var done: [UndoGroup] = []
    /// Groups to do again.
    private(set) var undone: [UndoGroup] = []
    /// How many of the groups to undo a save in flight has taken with it.
    private var lockedCount = 0
    /// How many of them are saved, and survive a rollback.
    private var savedCount = 0
    /// Saved groups that were undone, which is not saved: a rollback has them back, in effect and to be undone.
    private var undoneSaved: [UndoGroup] = []
    private var isSaving = false
    /// New rows that gave way to others when they were saved.
    private(set) var replaced: Set<RowPlace> = []
    /// The pairs so far of the group that is open.
    private var open: [UndoStep] = []
    /// How many explicit groups are open, one inside another.
    private var depth = 0
    /// Up to where changes are in a group.
    private var mark: Snapshot?

    var isOn: Bool { limit > 0 }
    var canUndo: Bool { depth == 0 && done.count > lockedCount }
    var canRedo: Bool { depth == 0 && !undone.isEmpty }

    /// Begins anew, with nothing to undo.
    mutating func start(limit: Int, at state: WorkingState) {
        self = UndoHistory()
        self.limit = limit
        if isOn { mark = state.snapshot }
    }

    /// Ends a pair at a state: the changes up to there belong to the group that is open.
    mutating func note(_ state: WorkingState) {
        guard isOn, let before = mark else { return }
        mark = state.snapshot
        guard !before.isIdentical(to: state.snapshot) else { return }
        open.append(UndoStep(change: StateChange(before: before, after: state.snapshot), base: state.base))
    }

    /// Goes on from another state without any changes in between.
    mutating func move(to state: WorkingState) {
        if isOn { mark = state.snapshot }
    }

    mutating func beginGroup(at state: WorkingState) {
        endGroup(at: state)
        depth += 1
    }

    mutating func endExplicitGroup(at state: WorkingState) {
        depth = max(depth - 1, 0)
        endGroup(at: state)
    }

    /// Ends the group that is open, unless it is inside another one. What was undone cannot be done again after it.
    mutating func endGroup(at state: WorkingState) {
        note(state)
        guard isOn, depth == 0, !open.isEmpty else { return }
        append(UndoGroup(steps: open))
        open = []
        undone = []
    }

    private mutating func append(_ group: UndoGroup) {
        done.append(group)
        if done.count > limit { dropFirst() }
    }

    private mutating func dropFirst() {
        done.removeFirst()
        lockedCount = max(lockedCount - 1, 0)
        savedCount = max(savedCount - 1, 0)
    }

    mutating func takeUndo() -> UndoGroup? {
        guard canUndo else { return nil }
        let group = done.removeLast()
        if done.count < savedCount { undoneSaved.append(group) }
        return group
    }

    mutating func takeRedo() -> UndoGroup? { canRedo ? undone.removeLast() : nil }

    /// Notes what an undo did, to be done again.
    mutating func didUndo(_ step: UndoStep) {
        undone.append(UndoGroup(steps: [step]))
        savedCount = min(savedCount, done.count)
        mark = step.change.after
    }

    /// Notes what a redo did, to be undone again.
    mutating func didRedo(_ step: UndoStep) {
        append(UndoGroup(steps: [step]))
        mark = step.change.after
    }

    mutating func didCapture(_ state: WorkingState) {
        endGroup(at: state)
        lockedCount = done.count
        isSaving = true
    }

    mutating func didEndSave(isSuccess: Bool, replacements: Replacements = [:]) {
        if isSuccess {
            savedCount = lockedCount
            undoneSaved = []
        }
        (lockedCount, isSaving) = (0, false)
        guard isOn else { return }
        for (entity, rows) in replacements {
            for row in rows.keys { replaced.insert(RowPlace(entity: entity, row: row)) }
        }
    }

    /// Forgets the groups whose changes a rollback dropped.
    mutating func didRollBack(to state: WorkingState) {
        guard isOn else { return }
        done.removeLast(done.count - max(savedCount, lockedCount))
        // What a save has taken with it is not dropped, and neither are the undos in it.
        if !isSaving {
            done += undoneSaved.reversed()
            (savedCount, undoneSaved) = (done.count, [])
        }
        (undone, open, mark) = ([], [], state.snapshot)
    }
}

/// A change that `undo()` or `redo()` left alone, because others, or a later change, have put something else in its place.
public struct UndoRemainder: Sendable, Hashable {
    /// The object.
    public let id: AnyPersistentID
    /// The property, a to-many relationship where members are meant; nil where the object as a whole is.
    public let property: String?
}
