/// The beginning and the end of being one of several writers.
extension Coordinator {
    /// Opens a copy of a store that several programs change, each with a copy of its own, and becomes one of its writers.
    ///
    /// The file is one that ``copy(to:progress:)`` has made of the store, at any time before, or one that has been in use with the
    /// same log; the first writer's is the store itself. What the log has is taken over first. A save returns when the log has its
    /// commit, whatever its level of durability; the file has it a little later, and what a power cut takes from the file comes from
    /// the log again. If the file cannot be written, the coordinator takes no more saves, and nothing is lost. Transactions and
    /// `.serializable` keep their promises over all writers; that a context sees what another program has saved before takes
    /// ``catchUp()``, as it may not be here yet.
    ///
    /// Joining is a commit without changes, of the author `writer` and a number. Objects that this coordinator inserts have
    /// identifiers of that number, which no other one uses. Each opening takes one, and there are 262,143 in the life of a store.
    /// Hooks run only where an object is saved. Metadata and consumers of history are this copy's own.
    ///
    /// - Parameters:
    ///   - types: all entities of the store, as all its writers declare them.
    ///   - path: the file, which has to exist.
    ///   - log: is empty, or has the commits behind the file's newest one.
    ///   - compaction: whether the file is compacted by itself.
    ///   - retention: how much history a compaction leaves.
    ///   - progress: as in opening any store.
    ///   - trace: as in opening any store.
    /// - Throws: `.schemaMismatch`, if the file or the log is of another schema: nothing is converted. `.historyDiverged` and
    ///   `.tokenOfOtherStore`, if the file has a commit that the log does not have, or is of another store; `.historyExpired`, if the
    ///   log has forgotten what the file lacks; `.invalidLog`. `.logUnavailable`, if it does not answer.
    ///   `.rowNumbersUsedUp`, if there were too many openings. Otherwise what opening a store throws.
    ///
    /// Complexity: that of opening the store, and of applying what the log has.
    public init<each E: Entity>(
        for types: repeat (each E).Type,
        at path: String,
        joining log: any CommitLog,
        compaction: CompactionPolicy = .automatic,
        retention: HistoryRetention = HistoryRetention(),
        progress: (@Sendable (StoreProgress) -> Void)? = nil,
        trace: (@Sendable (CommitTrace) -> Void)? = nil
    ) async throws(GraphError) {
        var entities: [EntityDescription] = []
        repeat entities.append(EntityDescription((each E).self))
        try await self.init(
            try Schema(entities), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(idleMarkDelay: .seconds(1)), compaction: compaction, retention: retention,
            progress: progress, trace: trace, log: log)
    }

    /// Becomes a writer of the log.
    func join(_ log: any CommitLog, transactionBytes: Int, random: @Sendable () -> UInt64) async throws(GraphError) {
        let shared = SharedLog(commits: log, schema: SharedRecord.schemaNumber(snapshot.schema))
        sharing = SharedSaves(shared)
        try await requireOwnHistory(in: shared)
        while true {
            try await takeNews(of: shared)
            let (writer, counters) = try nextWriter()
            // Two programs that want to be the same writer at the same time write different bytes.
            let joining = try emptyCommit(
                author: "writer \(writer), \(StoreID.hexadecimal(random()))", counters: counters)
            guard try await send(joining, to: shared) else { continue }
            self.counters.raise(to: counters)
            state.share(
                snapshot, counterLimit: RowNumber(writer + 1) << RowCounters.countingBits,
                transactionBytes: transactionBytes)
            return follow(log)
        }
    }

    /// Throws unless the newest commit of the file is one of the log, or the one behind which that begins.
    ///
    /// A log that has no fingerprints would take what follows another commit of the same number, and nobody could go on.
    private func requireOwnHistory(in log: SharedLog) async throws(GraphError) {
        let own = snapshot.token
        var bytes: [UInt8]?
        do {
            bytes = try await log.commits.read(after: max(own.commit.number, 1) - 1).first
            if bytes == nil, own.commit > .none, try await !isEmpty(log) { throw GraphError.historyDiverged(own) }
        } catch GraphError.historyExpired(let oldest) where oldest.commit == own.commit {
            guard oldest == own else { throw .historyDiverged(own) }
            return
        } catch {
            throw Self.error(of: error)
        }
        guard let bytes else { return }
        let record = try SharedRecord(bytes, of: storeID, schema: log.schema, path: path)
        let isKnown =
            switch record.token.commit {
            case own.commit: record.token == own
            case own.commit.next: record.fingerprintBefore == own.fingerprint
            // It may begin too late, which shows when it is read.
            default: record.token.commit > own.commit
            }
        guard isKnown else { throw .historyDiverged(own) }
    }

    private func isEmpty(_ log: SharedLog) async throws -> Bool {
        do {
            return try await log.commits.read(after: 0).isEmpty
        } catch GraphError.historyExpired {
            return false
        }
    }

    /// Becomes a writer of the store's own file, if there have been others: their row numbers are not this program's. If no numbers
    /// are left, the store can be read, and takes no saves.
    func joinOwnFile() async throws(GraphError) {
        guard case .file = state.storage, RowCounters.lastWriter(written.counters) > 0 else { return }
        guard let (writer, counters) = try? nextWriter() else { return state.limitCounters(to: 0) }
        let joining = try emptyCommit(author: "writer \(writer)", counters: counters)
        try await append(joining.records)
        publish(joining)
        syncedCommit = written.snapshot.commit
        self.counters.raise(to: counters)
    }

    func nextWriter() throws(GraphError) -> (writer: UInt64, counters: [RowNumber]) {
        let last = RowCounters.lastWriter(written.counters)
        let first = (last + 1) << RowCounters.countingBits + 1
        guard first < RowCounters.maximum else {
            throw .rowNumbersUsedUp(entity: snapshot.schema.entities.first?.name ?? "")
        }
        return (last + 1, snapshot.schema.entities.map { _ in first })
    }

    /// Takes over what others save, as it comes.
    private func follow(_ log: any CommitLog) {
        sharing?.following = Task(executorPreference: taskExecutor) { [weak self, published, clock] in
            while !Task.isCancelled {
                let commit = published.value.commit
                do {
                    try await log.waitForRecords(after: commit.number)
                    // A save under way may have brought them.
                    if published.value.commit == commit { try await self?.takeWhatFollows(commit) }
                    if published.value.commit > commit { continue }
                } catch {
                    guard let self, await self.state.ending == nil else { return }
                }
                // It fails, or had nothing to wake for.
                try? await clock.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Returns when what waits has been answered, and nothing is taken over any more. No more is taken.
    func endSharing() async {
        guard sharing != nil else { return }
        sharing?.isClosing = true
        await sharing?.sending?.value
        sharing?.following?.cancel()
        // The task that had the turn has taken over what it read.
        try? await withLogTurn { () throws(GraphError) in self.state.end(.closed(path: self.path)) }
    }
}
