/// A group of changes, as the states between which they happened. Several pairs, where the context's base moved in between: what
/// others committed is no part of the group.
struct UndoGroup: Sendable {
    /// At least one, in the order in which they happened.
    var steps: [UndoStep]
}

/// What can be undone, and what can be done again.
///
/// A group begins and ends with a turn of the context; what is changed between turns forms a group too. All that a group
/// holds is two states, so that noting one takes no time, and memory only for what the next group changes.
struct UndoHistory {
    /// How many groups are kept; 0 for none.
    var limit = 0 {
        didSet {
            undone.removeFirst(max(undone.count - limit, 0))
            done.removeFirst(max(done.count - limit, 0))
        }
    }

    /// Groups to undo, the last one at the end.
    private(set) var done: [UndoGroup] = []
    /// Groups to do again.
    private(set) var undone: [UndoGroup] = []
    /// Saved groups that were undone, which is not saved: a rollback has them back, in effect and to be undone.
    private var undoneSaved: [UndoGroup] = []
    /// The pairs so far of the group that is open.
    private var open: [UndoStep] = []
    /// How many explicit groups are open, one inside another.
    private var depth = 0
    /// Up to where changes are in a group.
    private var mark: WorkingState?
    /// New rows that gave way to others when they were saved.
    private(set) var replaced: Set<RowID> = []

    // Steps are told apart by their numbers, which ascend in each list: first come those that are saved, then those that a save in
    // flight has taken with it.

    private var lastNumber: UInt64 = 0
    private var savedThrough: UInt64 = 0
    /// nil if no save is in flight.
    private var takenThrough: UInt64?
    /// The last base that the program moved to itself, the overlaps with it of which refreshes have told the program, and the last
    /// step before that.
    private(set) var refreshed: (base: ContextBase, told: [AnyPersistentID: ToldOverlap], through: UInt64)?
    /// What became of steps that were made while a save ran, when that ended. A step is moved when it is used: each has all changes
    /// up to it, so that moving them all would take the square of their number.
    private var flights: [Flight] = []

    private struct Flight {
        /// Ascends.
        let number: UInt64
        let steps: ClosedRange<UInt64>
        /// Whether new rows gave way to others.
        let hasReplacements: Bool
        let rebase: (WorkingState) -> WorkingState
    }

    var isOn: Bool { limit > 0 }

    /// - Parameter state: what there is now; changes that are in no group yet can be undone, too.
    func canUndo(at state: WorkingState) -> Bool {
        guard isOn, depth == 0 else { return false }
        return !open.isEmpty || step(to: state) != nil || done.last.map(isInReach) ?? false
    }

    /// - Parameter state: what there is now; what was undone cannot be done again after other changes.
    func canRedo(at state: WorkingState) -> Bool {
        depth == 0 && !undone.isEmpty && open.isEmpty && step(to: state) == nil
    }

    /// Whether no part of a group is being saved, and nothing that is saved would be undone meanwhile.
    private func isInReach(_ group: UndoGroup) -> Bool {
        guard let takenThrough else { return true }
        return group.steps.allSatisfy { $0.number > takenThrough }
    }

    /// Whether a step is in the store, or on its way there. Undoing it is then a change of its own.
    func isSaved(_ step: UndoStep) -> Bool { step.number <= takenThrough ?? savedThrough }

    /// Where the groups are that have a step after one. Those that were saved long ago are not looked at.
    private static func places(of groups: [UndoGroup], after number: UInt64) -> Range<Int> {
        let last = groups.lastIndex { $0.steps.allSatisfy { $0.number <= number } }
        return (last ?? -1) + 1..<groups.count
    }

    /// Begins anew, with nothing to undo.
    mutating func start(limit: Int, at state: WorkingState) {
        self = UndoHistory()
        self.limit = limit
        if isOn { mark = state }
    }

    /// Ends a pair at a state: the changes up to there belong to the group that is open.
    mutating func note(_ state: WorkingState) {
        guard isOn else { return }
        if var step = step(to: state) {
            step.number = nextNumber()
            open.append(step)
        }
        mark = state
    }

    /// What happened since the last pair; nil if nothing did.
    private func step(to state: WorkingState) -> UndoStep? {
        guard let before = mark,
            !before.snapshot.isIdentical(to: state.snapshot) || !before.hasSameDetachedRows(as: state)
        else { return nil }
        let step = UndoStep(before: before, after: state)
        return step.isEmpty ? nil : step
    }

    private mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Goes on from another state without any changes in between.
    mutating func move(to state: WorkingState) {
        if isOn { mark = state }
    }

    /// The same after the program itself had the context read a newer state.
    mutating func refresh(to state: WorkingState, on base: ContextBase, telling conflicts: [RefreshConflict]) {
        guard isOn else { return }
        mark = state
        // What is told is for the steps from before, and for no later ones.
        guard let oldest = oldestUnsavedStep else {
            refreshed = nil
            return
        }
        var told: [AnyPersistentID: ToldOverlap] = [:]
        if let refreshed {
            told = refreshed.told.filter { $0.value.through >= oldest }
                .compactMapValues { $0.remaining(from: refreshed.base.snapshot, to: base.snapshot) }
        }
        for conflict in conflicts {
            let overlap = ToldOverlap(conflict, through: lastNumber)
            told[conflict.id] = told[conflict.id].map { overlap.joined(with: $0) } ?? overlap
        }
        refreshed = (base, told, lastNumber)
    }

    /// The number of the first step that undoing or doing again goes back over, and that is not saved; nil if there is none.
    private var oldestUnsavedStep: UInt64? {
        let groups = [done, undone].flatMap { groups in groups[Self.places(of: groups, after: savedThrough)].prefix(1) }
        return (groups.flatMap(\.steps) + open).lazy.map(\.number).filter { $0 > self.savedThrough }.min()
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
        if done.count > limit { done.removeFirst() }
    }

    mutating func takeUndo() -> UndoGroup? {
        guard depth == 0, let group = done.last, isInReach(group) else { return nil }
        done.removeLast()
        let saved = group.steps.filter(isSaved)
        if !saved.isEmpty { undoneSaved.append(UndoGroup(steps: saved)) }
        return UndoGroup(steps: group.steps.map(settled))
    }

    mutating func takeRedo() -> UndoGroup? {
        guard depth == 0, let group = undone.popLast() else { return nil }
        return UndoGroup(steps: group.steps.map(settled))
    }

    /// Notes what an undo did, to be done again.
    mutating func didUndo(from before: WorkingState, to after: WorkingState) {
        undone.append(group(from: before, to: after))
    }

    /// Notes what a redo did, to be undone again.
    mutating func didRedo(from before: WorkingState, to after: WorkingState) {
        append(group(from: before, to: after))
    }

    private mutating func group(from before: WorkingState, to after: WorkingState) -> UndoGroup {
        mark = after
        return UndoGroup(steps: [UndoStep(before: before, after: after, number: nextNumber())])
    }

    /// The last step that the save in flight has taken with it.
    var takenStep: UInt64 { takenThrough ?? savedThrough }

    /// A save that had taken the steps up to one goes on: its end is not known yet.
    mutating func resumeSave(through step: UInt64, goingOnFrom next: WorkingState) {
        takenThrough = max(step, savedThrough)
        move(to: next)
    }

    /// A save has taken a state, and changes count from another one now.
    mutating func didCapture(_ state: WorkingState, goingOnFrom next: WorkingState) {
        takenThrough = lastNumber
        move(to: next)
    }

    /// `willSave()` has made something else of the rows that a save has taken: that belongs to what was done to such a row last.
    mutating func didRunHooks(on captured: Snapshot, _ result: Snapshot) {
        guard isOn, let taken = takenThrough else { return }
        var steps = Self.places(of: done, after: savedThrough).flatMap { group in
            done[group].steps.indices.map { \Self.done[group].steps[$0] }
        }
        steps += Self.places(of: undone, after: savedThrough).flatMap { group in
            undone[group].steps.indices.map { \Self.undone[group].steps[$0] }
        }
        steps += open.indices.map { \Self.open[$0] }
        steps = steps.filter { self[keyPath: $0].number > savedThrough && self[keyPath: $0].number <= taken }
            .sorted { self[keyPath: $0].number > self[keyPath: $1].number }
        // The hooks know new rows that gave way by those that stay.
        for step in steps {
            let number = self[keyPath: step].number
            guard flights.contains(where: { $0.hasReplacements && $0.steps.contains(number) }) else { continue }
            self[keyPath: step] = settled(self[keyPath: step])
        }
        var changed: Set<RowID> = []
        SnapshotDifference(before: captured, after: result).forEachRow { id, old, new in
            if old != nil, new != nil { changed.insert(id) }
        }
        // A reference that a hook changed changes the row at its other end, too. If no step has changed that row, the step with the
        // reference has it then.
        for _ in 0..<2 where !changed.isEmpty {
            let taken = steps.map { step in
                var rows: [RowID] = []
                self[keyPath: step].difference.forEachRow { id, _, new in
                    if new != nil, changed.remove(id) != nil { rows.append(id) }
                }
                return rows
            }
            for (step, rows) in zip(steps, taken) {
                for id in rows { takeChanges(of: id, from: captured, to: result, into: step) }
            }
        }
    }

    /// What the hooks left alone may be others' work, which came after the step.
    private mutating func takeChanges(
        of id: RowID, from captured: Snapshot, to result: Snapshot, into step: WritableKeyPath<Self, UndoStep>
    ) {
        guard let old = captured.address(of: id), let new = result.address(of: id),
            let current = self[keyPath: step].after.snapshot.address(of: id)
        else { return }
        let description = result.schema.entities[id.entity]
        description.layout.withCopy(of: current) { copy in
            description.takeChanges(from: old, to: new, into: copy)
            self[keyPath: step].after.update(id, copying: copy)
        }
    }

    /// - Parameter rebase: puts a state that counts from the one that was saved on top of what became of that.
    mutating func didEndSave(
        isSuccess: Bool,
        replacements: Replacements = [:],
        _ rebase: @escaping (WorkingState) -> WorkingState
    ) {
        guard isOn, let taken = takenThrough else {
            takenThrough = nil
            return
        }
        if isSuccess {
            savedThrough = taken
            undoneSaved = []
        }
        takenThrough = nil
        for (entity, rows) in replacements {
            for row in rows.keys { replaced.insert(RowID(entity: entity, row: row)) }
        }
        let oldest = oldestStep
        flights.removeAll { $0.steps.upperBound < oldest }
        guard taken < lastNumber else { return }
        flights.append(
            Flight(
                number: (flights.last?.number ?? 0) + 1, steps: taken + 1...lastNumber,
                hasReplacements: !replacements.isEmpty, rebase: rebase))
    }

    /// The number of the first step that is kept.
    private var oldestStep: UInt64 {
        let steps = [done.first, undone.first, undoneSaved.last].map { $0?.steps.first } + [open.first]
        return steps.compactMap(\.?.number).min() ?? lastNumber + 1
    }

    /// The step as it is since the saves ended during which it was made.
    private func settled(_ step: UndoStep) -> UndoStep {
        var settled = step
        for flight in flights where flight.steps.contains(step.number) && flight.number > step.settledThrough {
            (settled.before, settled.after) = (flight.rebase(settled.before), flight.rebase(settled.after))
            settled.settledThrough = flight.number
        }
        return settled
    }

    /// Forgets the groups whose changes a rollback dropped.
    mutating func didRollBack(to state: WorkingState) {
        guard isOn else { return }
        let places = Self.places(of: done, after: takenThrough ?? savedThrough)
        let saved = done[places].map { UndoGroup(steps: $0.steps.filter(isSaved)) }
        done.replaceSubrange(places, with: saved.filter { !$0.steps.isEmpty })
        // What a save has taken with it is not dropped, and neither are the undos in it.
        if takenThrough == nil {
            done += undoneSaved.reversed()
            done.removeFirst(max(done.count - limit, 0))
            undoneSaved = []
        }
        (undone, open, mark) = ([], [], state)
    }
}
