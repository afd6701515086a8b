@testable import Graph

/// What undo and redo should lead to, as long as nothing of it is saved: the states that there were, on top of what others have
/// committed since.
struct UndoModel: Sendable {
    private struct Group: Sendable {
        /// One each: an array is a box.
        var before: [ContextModel]
        var after: [ContextModel]
        var number: Int

        mutating func rebase(_ rebase: (ContextModel) -> ContextModel) {
            before = before.map(rebase)
            after = after.map(rebase)
        }
    }

    private var done: [Group] = []
    private var undone: [Group] = []
    private var mark: [ContextModel] = []
    private var lastNumber = 0
    private var savedThrough = 0
    private var refreshed: (base: StoreModel, told: [StoreModel.ID: ContextModel.Overlap], through: Int)?
    var isOn = false

    /// Whether what an undo, or a redo, would take back is not saved.
    var canUndo: Bool { done.last.map { $0.number > savedThrough } ?? false }
    var canRedo: Bool { undone.last.map { $0.number > savedThrough } ?? false }
    /// The states between which the group to undo happened, if that is saved.
    var savedGroup: (before: StoreModel, after: StoreModel)? {
        done.last.map { $0.number <= savedThrough } == true ? group(isUndo: true) : nil
    }

    /// The states between which the group to undo happened, or to redo.
    func group(isUndo: Bool) -> (before: StoreModel, after: StoreModel)? {
        let group = isUndo ? done.last : undone.last
        guard let before = group?.before.first, let after = group?.after.first else { return nil }
        return (before.work, after.work)
    }

    private static func state(_ model: ContextModel) -> ContextModel {
        var model = model
        model.undo = UndoModel()
        return model
    }

    mutating func start(at model: ContextModel) {
        self = UndoModel()
        isOn = true
        mark = [Self.state(model)]
    }

    mutating func endGroup(at model: ContextModel) {
        guard isOn, let before = mark.first else { return }
        let isChanged = before.work.rows != model.work.rows || before.work.lists != model.work.lists
        if isChanged || before.detachedRows.mapValues(\.ours) != model.detachedRows.mapValues(\.ours) {
            lastNumber += 1
            done.append(Group(before: [before], after: [Self.state(model)], number: lastNumber))
            undone = []
        }
        mark = [Self.state(model)]
    }

    /// - Parameter overlaps: what a refresh has told the program; nil if it was none.
    mutating func didMove(to model: ContextModel, telling overlaps: [StoreModel.ID: ContextModel.Overlap]?) {
        guard isOn else { return }
        mark = [Self.state(model)]
        guard var told = overlaps else { return }
        // What an earlier refresh has told is known as long as others have not changed it again.
        if let refreshed {
            for (id, overlap) in refreshed.told {
                guard let rest = overlap.remaining(of: id, from: refreshed.base.rows[id], to: model.base.rows[id])
                else {
                    continue
                }
                let names = told[id]?.properties ?? rest
                told[id] = ContextModel.Overlap(
                    properties: rest.isEmpty || names.isEmpty ? [] : rest.union(names),
                    isDeletedThere: told[id]?.isDeletedThere ?? overlap.isDeletedThere)
            }
        }
        refreshed = (model.base, told, lastNumber)
    }

    /// A save had `willSave()` change rows: that belongs to what was done to a row last.
    mutating func didRunHooks(
        on rows: [StoreModel.ID: StoreModel.Row],
        _ request: [StoreModel.ID: StoreModel.Row],
        through taken: UndoModel? = nil
    ) {
        let last = taken?.lastNumber ?? lastNumber
        for (id, row) in request where rows[id] != row {
            func isTouched(_ group: Group) -> Bool {
                let (old, new) = (group.before.first?.work.rows[id], group.after.first?.work.rows[id])
                return group.number > savedThrough && group.number <= last && new != nil && old != new
            }
            guard let number = (done + undone).filter(isTouched).map(\.number).max() else { continue }
            // What the hook left alone may be others' work, which came after the group.
            let captured = rows[id]?.attributes
            for attribute in row.attributes.indices where captured?[attribute] != row.attributes[attribute] {
                let value = row.attributes[attribute]
                for place in done.indices where done[place].number == number {
                    done[place].after[0].work.rows[id]?.attributes[attribute] = value
                }
                for place in undone.indices where undone[place].number == number {
                    undone[place].after[0].work.rows[id]?.attributes[attribute] = value
                }
            }
        }
    }

    /// All that there is is saved.
    mutating func didSave(as model: ContextModel) {
        savedThrough = lastNumber
        didMove(to: model, telling: nil)
    }

    /// What was there when a save began is saved; what came later counted from that.
    mutating func didSave(what taken: UndoModel, as model: ContextModel, _ rebase: (ContextModel) -> ContextModel) {
        savedThrough = taken.lastNumber
        for place in done.indices where done[place].number > taken.lastNumber {
            done[place].rebase(rebase)
        }
        for place in undone.indices where undone[place].number > taken.lastNumber {
            undone[place].rebase(rebase)
        }
        didMove(to: model, telling: nil)
    }

    /// The same for a save that failed.
    mutating func didFail(what taken: UndoModel, as model: ContextModel, _ rebase: (ContextModel) -> ContextModel) {
        let saved = savedThrough
        didSave(what: taken, as: model, rebase)
        savedThrough = saved
    }

    mutating func didRollBack(to model: ContextModel, isSaving taken: UndoModel? = nil) {
        guard isOn else { return }
        let through = taken?.lastNumber ?? savedThrough
        done.removeAll { $0.number > through }
        (undone, mark) = ([], [Self.state(model)])
    }

    /// Whether a group is in reach while a save has taken what was there when it began.
    func isInReach(_ taken: UndoModel) -> Bool { done.last.map { $0.number > taken.lastNumber } ?? false }

    fileprivate mutating func take(isUndo: Bool, at model: ContextModel) -> ContextModel? {
        guard let group = isUndo ? done.popLast() : undone.popLast(), var state = group.before.first else { return nil }
        if let refreshed, group.number <= refreshed.through, !state.isOn(refreshed.base) || state.hasOverlaps {
            state.refresh(to: refreshed.base, keepingBases: true, besides: refreshed.told)
        }
        if !state.isOn(model.base) { state.refresh(to: model.base, keepingBases: true) }
        state.keepRequirements(of: model, madeAfter: group.after.first)
        lastNumber += 1
        let reverse = Group(before: [Self.state(model)], after: [Self.state(state)], number: lastNumber)
        if isUndo { undone.append(reverse) } else { done.append(reverse) }
        mark = [state]
        return state
    }
}

extension ContextModel {
    mutating func undoOrRedo(isUndo: Bool) {
        var undo = undo
        guard let state = undo.take(isUndo: isUndo, at: self) else { return }
        self = state
        self.undo = undo
    }

    fileprivate func isOn(_ head: StoreModel) -> Bool {
        base.commits == head.commits && base.rows == head.rows && base.lists == head.lists
    }

    /// Whether changes or requirements count from other rows than the base's.
    fileprivate var hasOverlaps: Bool {
        !detachedBases.isEmpty || required.contains { base.versions[$0.key] != $0.value.version }
    }
}
