extension Context {
    /// Whether the context takes over what others commit by itself, soon after each commit and in their order, with its unsaved
    /// changes on top. Off at first; in a nested context it has no effect.
    ///
    /// Unlike `refresh()` this is nothing that the program has looked at: where others have changed a property that is changed
    /// here too, a save reports the conflict as it would have before.
    public var automaticallyMergesChanges: Bool {
        get { merging != nil }
        set {
            guard newValue != automaticallyMergesChanges, parent == nil else { return }
            merging?.cancel()
            merging = newValue ? followCommits() : nil
        }
    }

    private func followCommits() -> Task<Void, Never> {
        Task(executorPreference: coordinator.taskExecutor) { [weak self, commits = coordinator.commits] in
            await self?.mergeCommits()
            for await _ in commits {
                guard let self else { return }
                await self.mergeCommits()
            }
        }
    }

    private func mergeCommits() async {
        await beginSave()
        defer { endSave() }
        let latest = coordinator.snapshot
        guard latest.commit > state.base.commit else { return }
        _ = state.refresh(to: ContextBase(snapshot: latest), keepingBases: true)
    }

    /// How long after the first unsaved change the context saves by itself; nil, as at first, for never.
    ///
    /// A save that fails leaves the changes pending, and `events` tells why; the next change has it tried again. Closing the
    /// coordinator saves first. In a nested context it has no effect.
    public var autosave: Duration? {
        get { autosaveDelay }
        set {
            autosaveDelay = parent == nil ? newValue : nil
            if autosaveDelay != nil { coordinator.autosaving.add(self) } else { coordinator.autosaving.remove(self) }
            state.onFirstChange = autosaveDelay.map { delay in
                { [weak self, coordinator] in
                    _ = Task(executorPreference: coordinator.taskExecutor) {
                        try? await coordinator.clock.sleep(for: delay)
                        await self?.saveByItself()
                    }
                }
            }
            if state.hasChanges { state.noteChange() }
        }
    }

    /// What `autosave` does.
    func saveByItself() async {
        state.isFirstChangeNoted = false
        guard autosaveDelay != nil, state.hasChanges else { return }
        // Reported to whoever follows the events. A coordinator that closes has it done even if it is told so by a task that
        // is cancelled.
        try? await save(nil, ChangeOrigin(author: author), isCancellable: false)
    }

    /// What happens to this context from now on: its saves, and what it takes over from others.
    public var events: ContextEvents { state.followers.add() }
}
