extension Coordinator {
    /// Writes the newest state into a new file, without the commits that led to it, and puts it in the place of the old one.
    ///
    /// A file grows with each commit, and opening it takes as long as its history; afterwards both depend on what the store has.
    /// Saves and readers go on meanwhile. Only at the end do saves wait, while the commits made last are copied and the files
    /// change places. The new file has all commits that the old one had when they did: a crash at any time leaves one of the
    /// two, complete. Meanwhile the disk needs room for both. Identifiers, versions and commit numbers stay.
    ///
    /// A store in memory has nothing to compact. A second call waits for the first one. ``close(discardingChanges:)`` stops it.
    ///
    /// - Throws: `.diskFull`, `.inputOutput` and the like, `.notEncodable`, or `.corrupt`, if a commit of this session cannot be
    ///   read back: the file is then as before, and saves go on. `.closed`. `.storeFailed` if the disk does not say which of the
    ///   two files the path leads to: either has every commit, and opening it again goes on.
    ///
    /// Complexity: O(*n*) for *n* objects and links, and for the commits made meanwhile.
    public func compact() async throws(GraphError) {
        if let ending = state.ending { throw ending }
        guard let journal else { return }
        let task = compaction ?? Task(executorPreference: taskExecutor) { await self.compacted(journal) }
        compaction = task
        try await task.value.get()
    }

    /// Commits made while the last ones are copied are copied once more, so many times at most.
    private static let copyLimit = 16
    /// So many bytes are left for the turn in which saves wait.
    private static let lastCopyBytes: UInt64 = 256 << 10

    private func compacted(_ journal: Journal) async -> Result<Void, GraphError> {
        defer { compaction = nil }
        do throws(GraphError) {
            let (successor, checkpoint) = try await beginSuccessor(of: journal)
            do throws(GraphError) {
                try await write(checkpoint, to: successor)
                try await copyCommits(of: journal, to: successor)
                try await replace(journal, by: successor)
            } catch {
                await successor.abandon()
                throw error
            }
            return .success(())
        } catch {
            if case .storeFailed = error { state.end(error) }
            return .failure(error)
        }
    }

    /// Between two groups, so that the state and the end of the file agree.
    private func beginSuccessor(
        of journal: Journal
    ) async throws(GraphError) -> (JournalSuccessor, CheckpointWriter) {
        try await takeTurn()
        defer { state.queue.passOn() }
        let snapshot = published.value
        let successor = try await journal.makeSuccessor(
            schema: SchemaRecord(snapshot.schema).bytes,
            baseCommit: snapshot.commit.number,
            executor: JournalExecutor(label: "graph.compaction")
        )
        let time = PosixFileSystem.nanosecondsSince1970()
        return (successor, CheckpointWriter(snapshot, counters: writtenCounters, time: time))
    }

    @concurrent
    private nonisolated func write(
        _ checkpoint: CheckpointWriter,
        to successor: JournalSuccessor
    ) async throws(GraphError) {
        var checkpoint = checkpoint
        try await successor.append([Journal.Record(kind: .schema, payload: checkpoint.schemaRecord)])
        while let payload = try checkpoint.next() {
            try requireGoingOn()
            try await successor.append([Journal.Record(kind: .snapshotChunk, payload: payload)])
        }
        try await successor.append([Journal.Record(kind: .snapshotEnd, payload: [])])
        try await successor.sync()
    }

    private func copyCommits(of journal: Journal, to successor: JournalSuccessor) async throws(GraphError) {
        for _ in 0..<Self.copyLimit {
            try requireGoingOn()
            let end = await journal.lengthBytes
            try await successor.copyCommits(through: end)
            try await successor.sync()
            if await journal.lengthBytes - end <= Self.lastCopyBytes { return }
        }
    }

    private func replace(_ journal: Journal, by successor: JournalSuccessor) async throws(GraphError) {
        try await takeTurn()
        defer { state.queue.passOn() }
        try requireGoingOn()
        try await successor.copyCommits(through: await journal.lengthBytes)
        try await journal.replace(by: try await successor.seal(Self.encode(counters: writtenCounters)))
    }

    private nonisolated func requireGoingOn() throws(GraphError) {
        if Task.isCancelled { throw .closed(path: path) }
    }

    /// Waits until nothing is being written, and keeps others from writing until the queue is passed on.
    private func takeTurn() async throws(GraphError) {
        if let ticket = state.queue.append(CommitQueue.Entry(isExclusive: true)),
            case .done(.failure(let error)) = await ticket.turn()
        {
            // A group before it has failed, and everything behind it with it.
            throw error
        }
        _ = state.queue.takeGroup()
    }
}
