extension Context {
    /// The commits from now on, each once this context shows it: its own saves, and others' that it takes over by a merge, a
    /// refresh or a save. The context's objects are then at least as new as the element, with the unsaved changes on top.
    ///
    /// A context that never merges (``automaticallyMergesChanges``), saves or refreshes takes nothing over. A nested context
    /// takes over commits after its parent. ``Coordinator/commits`` has each commit at once.
    ///
    /// Complexity: O(*c*) for *c* contexts of the coordinator whose commits or events the program follows.
    public var commits: Commits { commits { _ in true } }

    /// The commits from now on that change objects of an entity, each once this context shows it; see ``commits``.
    ///
    /// Complexity: that of ``commits``.
    public func commits<E: Entity>(changing type: E.Type) -> Commits {
        commits { $0.hasChanges(of: type) }
    }

    private func commits(where isWanted: @escaping @Sendable (SnapshotDifference) -> Bool) -> Commits {
        let feed = state.feed ?? PublishedSnapshot(state.committed ?? state.base)
        state.feed = feed
        followers.finishAtEnd(of: feed)
        coordinator.followed.add(followers)
        return Commits(feed, from: coordinator.published, where: isWanted)
    }

    /// The changes of one object from now on, each once this context shows its commit: the object has the element's values by
    /// then, or unsaved changes of this context. See ``commits``.
    ///
    /// Complexity: that of ``commits``.
    public func changes<E>(of id: PersistentID<E>) -> ObjectChanges<E> {
        ObjectChanges(commits: commits, id: id)
    }
}
