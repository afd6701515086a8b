extension Context: AutosavingContext {
    /// Whether the context takes over others' commits automatically, soon after each one and in order, with its unsaved
    /// changes on top. Off by default; no effect in a nested context or a transaction.
    ///
    /// Unlike after `refresh()`, the program has not seen the others' changes: if they changed a property that is changed here
    /// too, a save still reports the conflict.
    public var automaticallyMergesChanges: Bool {
        get { merging != nil }
        set {
            guard newValue != automaticallyMergesChanges, parent == nil, !state.isBaseFixed else { return }
            merging?.cancel()
            merging = newValue ? followCommits() : nil
        }
    }

    private func followCommits() -> Task<Void, Never> {
        followers.beginMerging()
        return Task(executorPreference: coordinator.taskExecutor) {
            [weak self, followers, published = coordinator.published] in
            defer { followers.endMerging() }
            var last = await self?.mergeCommits()
            while let commit = last, await published.waitForCommit(after: commit, isolation: nil) {
                last = await self?.mergeCommits()
            }
        }
    }

    /// Gives the commit up to which that was.
    private func mergeCommits() async -> CommitNumber {
        await beginSave()
        defer { endSave() }
        let latest = coordinator.snapshot
        // It may have been switched off while it waited.
        if latest.commit > state.base.commit, !Task.isCancelled {
            _ = state.refresh(to: ContextBase(snapshot: latest), keepingBases: true)
        }
        return latest.commit
    }

    /// How long after the first unsaved change the context saves automatically; nil, the default, for never.
    ///
    /// If such a save fails, the changes stay pending, and ``autosaveError`` and ``events`` tell why. After the next change,
    /// refresh or merge the context waits as long and tries again. Closing the coordinator saves first, and fails if that save
    /// fails; a context that is released earlier loses its changes, like any other. No effect in a nested context or a
    /// transaction.
    ///
    /// Complexity: O(1) to read; O(*c*) to write, for *c* contexts of the coordinator that save automatically.
    public var autosave: Duration? {
        get { autosaveDelay }
        set {
            autosaveDelay = parent == nil && !isTransaction ? newValue : nil
            if autosaveDelay != nil { coordinator.autosaving.add(self) } else { coordinator.autosaving.remove(self) }
            let (executor, clock) = (coordinator.taskExecutor, coordinator.clock)
            let startTimer = autosaveDelay.map { delay in
                { [weak self] in
                    Task(executorPreference: executor) { [weak self] in
                        do { try await clock.sleep(for: delay) } catch { return }
                        await self?.saveByItself()
                    }
                }
            }
            state.autosave(startTimer)
        }
    }

    /// Why the last automatic save failed; nil if it succeeded, if a later save has succeeded, or if there is nothing left to
    /// save. Observation tracks it where it tracks objects.
    public var autosaveError: GraphError? { state.isTrue(.autosaveError) ? state.autosaveError : nil }

    /// What `autosave` does. Who wants to know of a failure learns of it by the events or `autosaveError`.
    func saveByItself() async {
        // What it would save may have been saved or dropped after the time was over; what came since has its own.
        if !Task.isCancelled { try? await autosaveNow() }
    }

    /// Saves what there is, if the context saves by itself. A coordinator that closes has it done even if it is told so by a task
    /// that is cancelled.
    func autosaveNow() async throws(GraphError) {
        state.autosaveTimer = nil
        guard autosaveDelay != nil, state.hasChanges else { return }
        try await save(nil, ChangeOrigin(author: author, isAutosave: true), isCancellable: false)
    }

    /// The events of this context from now on: its saves, and what it takes over from others.
    ///
    /// Complexity: O(*c*) for *c* contexts of the coordinator whose commits or events the program follows, and O(*f*) for *f*
    /// sequences of this context's events.
    public var events: ContextEvents {
        coordinator.followed.add(followers)
        return followers.add()
    }
}
