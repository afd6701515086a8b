/// A reader of history that the store knows by name, and for which it retains what it has not read: an index, a synchronization, an
/// audit.
///
/// ```swift
/// var consumer = try await coordinator.consumer(named: "search index")
/// for try await commit in coordinator.history(since: consumer.token) {
///     for change in commit.changes(of: Person.self) { index.update(change) }
///     try await consumer.advance(to: commit.token)
/// }
/// ```
///
/// A compaction retains the commits that a consumer has not read, up to ``HistoryRetention/unreadBytes``. One that falls behind further
/// meets `.historyExpired` and begins anew, with the newest state. Remove consumers that are no longer needed.
public struct HistoryConsumer: Sendable {
    /// The name by which the store knows it.
    public let name: String
    /// The last commit that it has read, as far as this value knows.
    public private(set) var token: HistoryToken
    let coordinator: Coordinator

    init(_ name: String, at token: HistoryToken, of coordinator: Coordinator) {
        (self.name, self.token, self.coordinator) = (name, token, coordinator)
    }

    /// Takes note that the consumer has read all commits up to one. It is written at once, and durable with the next save: after a
    /// power cut the consumer may read some commits again. A token before the one that the store has changes nothing.
    ///
    /// - Parameter token: of a ``Commit`` that history has shown, or of a ``Snapshot``.
    /// - Throws: `.tokenOfOtherStore`; `.historyDiverged` of a commit that the store has not got to; `.consumerMissing` if somebody has removed the consumer; `.readOnly`, `.closed`, and what a save
    ///   throws for reasons of the file.
    ///
    /// Complexity: O(1), besides one write.
    public mutating func advance(to token: HistoryToken) async throws(GraphError) {
        self.token = try await coordinator.advance(name, to: token)
    }
}

extension Coordinator {
    /// The consumer with a name, where it has read up to; a new one begins behind the newest commit, at the token that the result
    /// has. Durable when it returns.
    ///
    /// - Parameter name: not empty, and of 1,000 UTF-8 bytes at most.
    /// - Throws: `.readOnly`, if a store that is only read has no such consumer; `.closed`, and what a save throws for reasons of the
    ///   file.
    ///
    /// Complexity: O(1); one write and one sync for a new one.
    public func consumer(named name: String) async throws(GraphError) -> HistoryConsumer {
        precondition(
            !name.isEmpty && name.utf8.count <= ConsumerRecord.nameLimitBytes,
            "the name of a consumer has 1 to 1,000 bytes")
        if let ending = state.ending { throw ending }
        if let token = consumers[name] { return HistoryConsumer(name, at: token, of: self) }
        return try await withTurn { () throws(GraphError) in
            // Somebody else may have made it meanwhile.
            let token = self.consumers[name] ?? self.newestRecorded.token
            if self.consumers[name] == nil { try await self.set(name, to: token, durably: true) }
            return HistoryConsumer(name, at: token, of: self)
        }
    }

    /// Forgets a consumer; history is no longer retained for it. Durable when it returns. Without one of that name nothing happens.
    ///
    /// - Throws: `.readOnly`, `.closed`, and what a save throws for reasons of the file.
    ///
    /// Complexity: O(1), besides one write and one sync.
    public func removeConsumer(named name: String) async throws(GraphError) {
        try await withTurn { () throws(GraphError) in
            guard self.consumers[name] != nil else { return }
            try await self.set(name, to: nil, durably: true)
        }
    }

    /// - Returns: where the consumer is then.
    fileprivate func advance(_ name: String, to token: HistoryToken) async throws(GraphError) -> HistoryToken {
        guard token.store == storeID else { throw .tokenOfOtherStore(token) }
        // What the program has seen may not be written yet, and comes into the file before this.
        if token.commit > written.snapshot.commit { try await writePublished() }
        return try await withTurn { () throws(GraphError) in
            guard let last = self.consumers[name] else { throw .consumerMissing(name: name) }
            let newest = self.newestRecorded.token
            guard token.commit < newest.commit || token == newest else { throw .historyDiverged(token) }
            // One at the newest commit or beyond, and of another history, begins anew.
            let isElsewhere = last.commit >= newest.commit && last != newest
            guard token.commit > last.commit || isElsewhere else { return last }
            try await self.set(name, to: token, durably: false)
            return token
        }
    }

    /// The newest state that history may lead to.
    private var newestRecorded: Snapshot { journal == nil ? published.value : written.snapshot }

    /// The last commit that every consumer has read; nil without consumers. Those that have expired read no more.
    var unreadSince: CommitNumber? {
        let oldest = journal == nil ? published.kept?.base.token : checkpoint.oldest
        return RetentionRequest.unreadSince(consumers.values, oldest: oldest)
    }

    private func set(_ name: String, to token: HistoryToken?, durably: Bool) async throws(GraphError) {
        try await append(
            [Journal.Record(kind: .consumer, payload: ConsumerRecord.encode(name, token))], durably: durably)
        consumers[name] = token
        published.keepUnread(since: unreadSince)
    }
}

extension Coordinator {
    /// Removes from the store's history the commits up to one, with the values that they have replaced and deleted. The state after
    /// that commit is then the oldest one to go back to. For a store on a file that is a compaction, which keeps the rest of what is
    /// retained; consumers that have not read the removed commits meet `.historyExpired`.
    ///
    /// The values are then still in copies of the file, in a file that a migration has kept beside it, and perhaps in blocks that the
    /// disk has not reused.
    ///
    /// - Parameters:
    ///   - token: of a commit that ``history(since:by:during:)`` can go back to; one that has expired changes nothing.
    ///   - progress: as in ``compact(progress:)``.
    /// - Throws: `.historyDiverged`, `.tokenOfOtherStore`, and what a compaction throws.
    ///
    /// Complexity: that of ``compact(progress:)``, and that of the first commit of a ``CommitHistory``.
    public func deleteHistory(
        before token: HistoryToken, progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        if let ending = state.ending { throw ending }
        if let refusal = state.storage.refusal { throw refusal }
        do throws(GraphError) {
            try await historyReader(HistoryRequest(token: token))?.requireToken()
        } catch {
            if case .historyExpired = error { return }
            throw error
        }
        published.deleteKept(through: token.commit)
        guard journal != nil else { return }
        historyDeletedThrough = max(historyDeletedThrough, token.commit)
        // One that has begun retains more.
        _ = await compaction?.value
        try await compact(progress: progress)
    }
}
