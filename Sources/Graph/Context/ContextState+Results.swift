/// What live results learn of their context.
extension ContextState {
    /// Has observers and followers of results know what they show now. Code of the program may run.
    func tellResults() {
        tellTrackedResults()
        guard followers.hasTurnFollowers else { return }
        followers.turnEnded(flushed, base: base)
    }

    func tellTrackedResults() {
        guard !trackedResults.isEmpty else { return }
        trackedResults.removeAll { $0.results == nil }
        // An observer may read results, and so change the list.
        for reference in trackedResults { reference.results?.tell() }
    }

    /// What is changed outside of turns is told soon.
    func scheduleTurn() {
        guard turnCount == 0, !isTurnScheduled, followers.hasTurnFollowers, let context = reference.context else {
            return
        }
        isTurnScheduled = true
        Task(executorPreference: context.coordinator.taskExecutor) { [weak context] in
            await context?.endScheduledTurn()
        }
    }

    /// The object of a row that a result shows; with its last value if it is gone.
    func object<E: Entity>(of row: RowNumber, shownBy rows: ResultRows<E>) -> ManagedObject<E> {
        let (entity, id) = (rows.entity, PersistentID<E>(row: row))
        if let object = registered(RowID(entity: entity, row: row), in: registry) {
            return unsafeDowncast(object, to: ManagedObject<E>.self)
        }
        if let value: E = working.snapshot.entities[entity].rows.value(of: row) {
            return makeObject(id, entity, value, in: registry)
        }
        return makeObject(id, entity, rows.value(of: row), flags: .deleted, in: registry)
    }
}

extension Context {
    func endScheduledTurn() {
        state.isTurnScheduled = false
        state.tellResults()
    }
}

/// A live result that observers track.
protocol TrackedResults: AnyObject {
    /// Tells observers if other objects are shown than when they read.
    func tell()
}

struct TrackedResultsReference {
    weak var results: (any TrackedResults)?
}
