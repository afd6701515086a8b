extension Context {
    /// The commits from now on, each once this context has taken it over: its own saves, and those of others that a merge, a
    /// refresh or a save has brought. What the context's objects show is then at least as new as the element, with the unsaved
    /// changes on top.
    ///
    /// A context that neither merges by itself (``automaticallyMergesChanges``) nor saves or refreshes takes nothing over. For a
    /// nested context the commits are those that its parent has taken over before. See ``Coordinator/commits`` for all of them at
    /// once.
    ///
    /// Complexity: O(1).
    public var commits: Commits { commits { _ in true } }

    /// The commits from now on that change objects of an entity, each once this context has taken it over; see ``commits``.
    ///
    /// Complexity: O(1).
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

    /// The changes of one object from now on, each once this context has taken its commit over: the object in hand shows what
    /// the element says, or unsaved changes of this context. See ``commits``.
    ///
    /// Complexity: O(1).
    public func changes<E>(of id: PersistentID<E>) -> ObjectChanges<E> {
        ObjectChanges(commits: commits, id: id)
    }
}
