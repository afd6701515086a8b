@testable import Graph

/// Undo, also of what is saved, over what others have done since.
extension StoreProgramRun {
    /// Takes back a group that is not saved, or does it again.
    mutating func undoUnsaved(_ c: Int, isUndo: Bool) async throws {
        guard let (before, after) = models[c].undo.group(isUndo: isUndo) else { return }
        models[c].undoOrRedo(isUndo: isUndo)
        let conflicts = isUndo ? await contexts[c].undo() : await contexts[c].redo()
        try UnsavedUndo(before: before, after: after, result: models[c].work, conflicts: conflicts).check()
    }

    /// Has another context change what a group of this one has changed, and takes the group back then.
    mutating func undo(_ group: StoreProgram.SharedGroup, in c: Int) async throws {
        func run(_ actions: [StoreProgram.Action], in context: Int) async throws {
            for action in actions { try await perform(StoreProgram.Step(context: context, action: action)) }
        }
        let save = StoreProgram.Action.save(rollsBackOnFailure: true, .error)
        let other = group.other == c ? (c + 1) % StoreProgram.contextCount : group.other
        let (before, after): ([StoreProgram.Action], [StoreProgram.Action]) =
            switch group.save {
            case .before: ([save], [.undo])
            case .after: ([], [save, .undo])
            case .never: ([], [.undo])
            // What is done again comes over what the others have done, of which the refresh could not tell.
            case .undone: ([.undo], [.redo, save, .undo])
            }
        try await run([.rollbackToLatest, .change(group.ours)] + before, in: c)
        try await run([.rollbackToLatest, .change(group.theirs), save], in: other)
        try await run([.refresh] + after, in: c)
    }

    /// Takes back a saved group, which is a change of its own, does it again, and takes it back again to save that or not. What
    /// that leads to depends on what others have done; then the context begins anew.
    mutating func undoSaved(_ c: Int) async throws {
        let model = models[c]
        guard let (before, after) = model.undo.savedGroup, !model.hasChanges else { return }
        let (current, result, conflicts) = await contexts[c].perform { context in
            let current = context.storeModel()
            let conflicts = context.undo()
            return (current, context.storeModel(), conflicts)
        }
        try SavedUndo(before: before, after: after, current: current, result: result, conflicts: conflicts).check()
        await contexts[c].redo()
        try await compare(c)
        await contexts[c].undo()
        try await contexts[c].perform { context in
            let again = context.storeModel()
            try demand(again.rows == result.rows && again.lists == result.lists) { "undone again, it is another" }
            try context.compareStructures()
        }
        if next.reduce(0, +) % 2 == 0 {
            await contexts[c].rollback()
            try await compare(c)
            // What was dropped was the undo.
            await contexts[c].undo()
            let again = await contexts[c].perform { $0.storeModel() }
            try demand(again.rows == result.rows && again.lists == result.lists) { "undone after all, it is another" }
        } else {
            try await saveUndo(of: c, current, result)
        }
        await contexts[c].rollback(to: .latest)
        models[c].rollback(to: head)
        await contexts[c].perform { $0.undoLimit = 0 }
        await contexts[c].perform { $0.undoLimit = 1_000 }
        models[c].undo.start(at: models[c])
    }

    /// - Parameters:
    ///   - before: what there was before the undo.
    ///   - after: what it led to.
    mutating func saveUndo(of c: Int, _ before: StoreModel, _ after: StoreModel) async throws {
        do {
            try await contexts[c].save(mergePolicy: .error)
        } catch {
            // What follows from rows that are there again, or not any more, others may deny.
            return
        }
        let saved = StoreModel(coordinator.snapshot)
        try checkSaved(undo: after, saved, isCurrent: models[c].base.commits == head.commits)
        head = saved
        try await compareStore()
        let (current, result, conflicts) = await contexts[c].perform { context in
            let current = context.storeModel()
            let conflicts = context.redo()
            return (current, context.storeModel(), conflicts)
        }
        // What the hooks did to what was undone belongs to that. A hook that takes back all that the undo did to a row leaves
        // nothing of it to save: the row is then as others have left it, and there is nothing to do again.
        var undone = after
        for (id, row) in after.rows where row != before.rows[id] {
            var row = row
            StoreShape.willSave(&row, of: id.entity)
            guard row == before.rows[id] || row.attributes == saved.rows[id]?.attributes else { continue }
            undone.rows[id]?.attributes = row.attributes
        }
        try SavedUndo(before: before, after: undone, current: current, result: result, conflicts: conflicts).check()
        try await contexts[c].perform { try $0.compareStructures() }
    }

    /// Nothing that comes back takes anything over, or away: a row is as it was shown, or as others have left it.
    ///
    /// - Parameter isCurrent: whether nobody had committed what was not shown. What that cascades from may be deleted.
    private func checkSaved(undo shown: StoreModel, _ saved: StoreModel, isCurrent: Bool) throws {
        // New rows give way, and hand over what they have.
        guard shown.rows.keys.allSatisfy({ saved.rows[$0] != nil || everSaved.contains($0) }) else { return }
        for (id, row) in saved.rows {
            var ours = shown.rows[id]
            var expected = [ours?.attributes, head.rows[id]?.attributes]
            if ours != nil { StoreShape.willSave(&ours!, of: id.entity) }
            expected.append(ours?.attributes)
            try demand(expected.contains(row.attributes)) {
                "saving an undo made \(row) of \(id), not one of \(expected)"
            }
        }
        for id in shown.rows.keys where isCurrent && head.rows[id] != nil {
            try demand(saved.rows[id] != nil) { "saving an undo deleted \(id)" }
        }
    }
}
