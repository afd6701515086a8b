extension Coordinator {
    /// The commits of all contexts from now on.
    ///
    /// Complexity: O(1).
    public nonisolated var commits: Commits { Commits(published) }

    /// The commits from now on that change objects of an entity. Members and links are in other objects, or in none: a commit
    /// that changes nothing else is not among these.
    ///
    /// Complexity: O(1).
    public nonisolated func commits<E: Entity>(changing type: E.Type) -> Commits {
        Commits(published) { $0.hasChanges(of: type) }
    }

    /// The changes of one object from now on, commit by commit.
    ///
    /// Complexity: O(1).
    public nonisolated func changes<E>(of id: PersistentID<E>) -> ObjectChanges<E> {
        ObjectChanges(commits: commits, id: id)
    }
}
