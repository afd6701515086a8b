extension Context: AutosavingContext {
    /// Whether the context takes over what others commit by itself, soon after each commit and in their order, with its unsaved
    /// changes on top. Off at first; in a nested context and in a transaction it has no effect.
    ///
    /// Unlike `refresh()` this is nothing that the program has looked at: where others have changed a property that is changed
    /// here too, a save reports the conflict as it would have before.
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

    /// How long after the first unsaved change the context saves by itself; nil, as at first, for never.
    ///
    /// A save that fails leaves the changes pending; ``autosaveError`` and ``events`` tell why. The next change has it tried again,
    /// and so has the next refresh or merge, as long after that. Closing the coordinator saves first, and fails if a save does; a
    /// context that is released before loses its changes, as any other does. In a nested context it has no effect, and none in a
    /// transaction, of which nothing is saved before its end.
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

    /// Why the last save that the context began by itself failed; nil if it did not, or if a save has succeeded since, or if there is
    /// nothing to save any more. Observation tracks it where it tracks objects.
    public var autosaveError: GraphError? { state.isTrue(.autosaveError) ? state.autosaveError : nil }

    /// What `autosave` does. Who wants to know of a failure learns of it by the events or `autosaveError`.
    func saveByItself() async {
        try? await autosaveNow()
    }

    /// Saves what there is, if the context saves by itself. A coordinator that closes has it done even if it is told so by a task
    /// that is cancelled.
    func autosaveNow() async throws(GraphError) {
        state.autosaveTimer = nil
        guard autosaveDelay != nil, state.hasChanges else { return }
        do {
            try await save(nil, ChangeOrigin(author: author, isAutosave: true), isCancellable: false)
        } catch {
            state.autosaveError = error
            state.tellChanges()
            throw error
        }
    }

    /// What happens to this context from now on: its saves, and what it takes over from others.
    public var events: ContextEvents {
        coordinator.followed.add(followers)
        return followers.add()
    }
}
