@testable import Graph

/// Saves that are held up while their context goes on.
extension StoreProgramRun {
    /// A save that the disk holds up, while the context goes on.
    mutating func save(_ c: Int, while flight: StoreProgram.Flight) async throws {
        let rival = self.rival(of: c, flight)
        var newHead = rival?.head ?? head
        let rivalHead = newHead
        var captured = models[c]
        var commit: ContextModel.Commit?
        if captured.hasChanges { commit = try? captured.commit(to: &newHead, flight.policy) }
        guard let disk, let commit, newHead.commits > rivalHead.commits else {
            try await save(c, rollsBackOnFailure: false, flight.policy)
            return try await change(flight.changes, in: c)
        }
        disk.hold()
        func start(_ context: Context) -> Task<Void, any Error> {
            Task { try await context.save(mergePolicy: flight.policy.mergePolicy) }
        }
        let rivalSave = rival.map { start(contexts[$0.context]) }
        if rival != nil { await disk.waitForArrival() }
        let save = start(contexts[c])
        if rival == nil {
            await disk.waitForArrival()
        } else {
            while await !contexts[c].isSaveUnderWay { await Task.yield() }
        }
        captured = models[c]
        models[c].move(to: captured.whileSaving)
        models[c].undo.didMove(to: models[c], telling: nil)
        var refreshed: [StoreModel.ID] = []
        do {
            try await change(flight.changes, in: c)
            models[c].undo.endGroup(at: models[c])
            refreshed = models[c].changed(flight.refreshed)
            await refreshObjects(refreshed, in: c)
            switch flight.end {
            case .nothing:
                break
            case .rollback:
                await contexts[c].rollback()
                models[c].move(to: captured.whileSaving)
                models[c].undo.didRollBack(to: models[c], isSaving: captured.undo)
            case .undo:
                await contexts[c].undo()
                if models[c].undo.isInReach(captured.undo) { models[c].undoOrRedo(isUndo: true) }
            }
            try await contexts[c].perform { [model = models[c]] context in
                try context.compare(with: model, held: nil, isSaving: true)
            }
        } catch {
            // Nothing else would end the save.
            disk.release()
            throw error
        }
        if flight.isFailing { disk.fill() }
        let others = contexts.indices.filter { $0 != c && $0 != rival?.context && merging[$0] }
        let late = rival?.isMergedLate == true ? others : []
        for other in late { await contexts[other].beginSave() }
        if let rival, late.isEmpty, !others.isEmpty { await publish(rival, on: disk, seenBy: others) }
        disk.release()
        let results = (await rivalSave?.result, await save.result)
        for other in late { await contexts[other].endSave() }
        do {
            try results.0?.get()
            try results.1.get()
            try demand(!flight.isFailing) { "a save succeeded on a full disk" }
        } catch let error as GraphError {
            guard case .diskFull = error, flight.isFailing else { throw error }
        }
        let oldHead = head
        var later = models[c]
        if flight.isFailing {
            disk.disk.stopFailing()
            func onTop(_ state: ContextModel) -> ContextModel {
                var model = captured
                model.undo = UndoModel()
                model.absorb(state)
                return model
            }
            let undo = later.undo
            later = onTop(later)
            later.undo = undo
            later.undo.didFail(what: captured.undo, as: later, onTop)
        } else {
            let before = rival?.head ?? head
            head = newHead
            // Rows that the commit did not write, as others had done the same to them.
            let changes = captured.changes
            let passedOver = changes.inserted.union(changes.updated).filter { id in
                newHead.versions[id] != nil && newHead.versions[id] == before.versions[id]
            }
            let result = captured.result(of: commit, newHead)
            func onTop(_ state: ContextModel) -> ContextModel {
                var model = state
                if result.rows != model.base.rows { model.refresh(to: result) }
                for id in captured.returning.keys where model.base.rows[id] != nil {
                    model.count(id, from: newHead.versions[id])
                }
                for id in passedOver.union(commit.resolved) where model.base.rows[id] != nil {
                    model.count(id, from: captured.version(id))
                }
                model.refresh(to: newHead, keepingBases: true)
                return model
            }
            let undo = later.undo
            later.undo = UndoModel()
            later = onTop(later)
            later.undo = undo
            later.undo.didRunHooks(on: captured.work.rows, commit.request, through: captured.undo)
            later.undo.didSave(what: captured.undo, as: later, onTop)
        }
        models[c] = later
        for id in refreshed { models[c].refreshObject(id, to: head) }
        let replaced = flight.isFailing ? [:] : commit.replaced
        try await compareOutcome(c, nil, nil, replaced, since: oldHead)
        if let rival {
            models[rival.context] = rival.model
            try await compareOutcome(rival.context, nil, nil, rival.replaced, since: head)
            // One that merges by itself is doing so.
            if !merging[rival.context] { try await compare(rival.context) }
        }
        guard !replaced.isEmpty else { return }
        // What later changes of objects that gave way become is for other tests.
        await contexts[c].reset()
        models[c].rollback(to: head)
        if undoes { models[c].undo.start(at: models[c]) }
    }

    /// What becomes of another context that saves just before, if it can, and of the store by that.
    private func rival(of c: Int, _ flight: StoreProgram.Flight) -> Rival? {
        guard let r = flight.rival, r != c, !flight.isFailing, models[r].hasChanges else { return nil }
        var rival = Rival(context: r, model: models[r], head: head)
        rival.model.undo.endGroup(at: rival.model)
        guard let replaced = try? rival.model.save(to: &rival.head, flight.policy), rival.head.commits > head.commits
        else { return nil }
        rival.replaced = replaced
        return rival
    }

    /// Lets a rival's save be written, and holds up what is written then, until other contexts that merge by themselves have
    /// taken the commit over.
    private mutating func publish(_ rival: Rival, on disk: GatedDisk, seenBy others: [Int]) async {
        while true {
            // What waits when the commit is published is not part of it.
            let isWaiting = disk.isWaiting
            guard coordinator.snapshot.commit.number < rival.head.commits else { break }
            if isWaiting { disk.releaseOne() } else { await Task.yield() }
        }
        for other in others { await catchUp(other, with: rival.head) }
    }

    private struct Rival {
        let context: Int
        var model: ContextModel
        var head: StoreModel
        var replaced: [StoreModel.ID: StoreModel.ID] = [:]

        /// Whether contexts that merge by themselves take over both commits at once, not one after the other. What they see
        /// then may look alike and become different things: a link that has waited for an end comes last in an order, and one
        /// that has not keeps its place.
        var isMergedLate: Bool { head.commits.isMultiple(of: 2) }
    }
}
