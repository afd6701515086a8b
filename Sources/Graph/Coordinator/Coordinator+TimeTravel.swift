/// States of the past.
extension Coordinator {
    /// The state after a commit, if it is still in memory: the newest one; in a store without a file, also one that
    /// ``history(since:by:during:)`` can go back to; and one that a feed of commits has yet to deliver. Otherwise nil. It does not wait
    /// for the coordinator.
    ///
    /// Complexity: O(log *c*) for *c* commits that are kept in memory.
    public nonisolated func cachedSnapshot(at token: HistoryToken) -> Snapshot? { published.snapshot(at: token) }

    /// The state after a commit, which is a ``Snapshot`` like any other: with queries, relationships, and
    /// ``Snapshot/difference(from:)``. It shares with the newest state what has not changed since.
    ///
    /// - Parameter token: of a commit that ``history(since:by:during:)`` can go back to.
    /// - Throws: what a ``CommitHistory`` throws.
    ///
    /// Complexity: O(log *c*) if it is in memory, as ``cachedSnapshot(at:)`` says. Otherwise O(*b*) for *b* bytes of commits in
    /// the file, and O(*d* log *n*) for *d* changes of rows and links since the commit, or O(*n* log *n*) if that is
    /// less, among *n* objects.
    public func snapshot(at token: HistoryToken) async throws(GraphError) -> Snapshot {
        if let snapshot = cachedSnapshot(at: token) { return snapshot }
        if token.store == storeID, token.commit > written.snapshot.commit { try await writePublished() }
        // Readers may see a later one that is not written yet.
        if written.snapshot.token == token { return written.snapshot }
        guard let reader = try await historyReader(HistoryRequest(token: token)) else {
            // Between the check and here others may have saved.
            guard let snapshot = cachedSnapshot(at: token) else { throw .historyDiverged(token) }
            return snapshot
        }
        return try await reader.firstState()
    }

    /// A store in memory that begins with the state after a commit, and then goes its own way: for what-ifs, tests and previews.
    /// Objects have the identifiers that they have here, and new ones get numbers that this store has not given out so far. It has a
    /// store identifier, and so tokens, of its own, and none of this store's metadata.
    ///
    /// - Parameter token: as for ``snapshot(at:)``.
    /// - Throws: what a ``CommitHistory`` throws; `.schemaMismatch` from an older program, whose store would lack what it does not
    ///   know.
    ///
    /// Complexity: that of ``snapshot(at:)``.
    public func fork(at token: HistoryToken) async throws(GraphError) -> Coordinator {
        if isPartial { throw .schemaMismatch(path: path, differences: [SchemaChange.olderProgram]) }
        let snapshot = try await snapshot(at: token)
        // Its copies have the version of the plan, and the schemas to which no older program may convert them back.
        var record = schemaRecord
        record.metadata = [:]
        return try await Coordinator(of: snapshot, counters: usedCounters, record: record)
    }
}
