extension Coordinator {
    /// The commits from now on, those of all contexts.
    ///
    /// Complexity: O(1).
    public nonisolated var commits: StoreChanges { StoreChanges(published) }

    /// The commits from now on that touch an entity.
    ///
    /// Complexity: O(1).
    public nonisolated func changes<E: Entity>(of type: E.Type) -> EntityChanges<E> {
        EntityChanges(commits: commits)
    }

    /// The commits from now on that touch one object.
    ///
    /// Complexity: O(1).
    public nonisolated func changes<E>(of id: PersistentID<E>) -> ObjectChanges<E> {
        ObjectChanges(commits: commits, id: id)
    }
}
