extension Coordinator {
    /// Takes a commit back in a new commit: objects that it inserted are deleted, those that it deleted come back under their
    /// identifiers, and properties, members and orders are as they were before it. Versions and commit numbers go on.
    ///
    /// It does all of that or nothing, and as any save does: rules hold, hooks run, and deletes cascade. Reverting the new commit
    /// brings back what the first one did.
    ///
    /// - Parameters:
    ///   - commit: of a feed or a history of this store.
    ///   - author: who reverts it.
    /// - Throws: `.revertConflicts`, with the objects and properties that were changed since; then nothing was saved. What
    ///   ``snapshot(at:)`` throws, if the commit comes from a history and its states have to be read; what
    ///   ``Context/save(mergePolicy:durability:fileID:line:)`` throws.
    ///
    /// Complexity: that of ``snapshot(at:)`` for a commit of a history, and of saving what the commit changed.
    public nonisolated func revert(
        _ commit: Commit, author: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) async throws(GraphError) {
        guard commit.token.store == storeID else { throw .tokenOfOtherStore(commit.token) }
        let states = try await indexedStates(of: commit)
        let step = UndoStep(before: WorkingState(base: states.before), after: WorkingState(base: states.after))
        do {
            // What others add to the objects meanwhile counts, too: a delete would take it along.
            try await transaction(isolation: .serializable, author: author, fileID: fileID, line: line) { context in
                context.state.readAll()
                let conflicts = context.state.revert(step)
                guard conflicts.isEmpty else { throw GraphError.revertConflicts(ErrorList(conflicts)) }
            }
        } catch let error as GraphError {
            throw error
        } catch {
            preconditionFailure("\(error) is no error of Graph")
        }
    }

    private nonisolated func indexedStates(of commit: Commit) async throws(GraphError) -> SnapshotDifference {
        // The states of another opening may be of other types, or of a history that this store does not have.
        if let states = commit.difference, states.after.schema === snapshot.schema { return states }
        let after = try await snapshot(at: commit.token)
        let before = try await snapshot(at: commit.changes.tokens.before)
        return SnapshotDifference(before: before, after: after)
    }
}
