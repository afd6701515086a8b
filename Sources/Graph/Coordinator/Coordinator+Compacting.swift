/// When a store's file is compacted; see ``Coordinator/compact()``.
public enum CompactionPolicy: Sendable, Hashable {
    /// In the background, when at least half of the file, and 16 MiB, is no longer needed: also after opening, never by closing.
    /// So a file takes at most about twice what its objects need, and during a compaction three times. A failure costs nothing
    /// but the attempt; the next one is made when the file has grown by as much again.
    case automatic
    /// Only when the program calls ``Coordinator/compact()``.
    case manual
}

extension Coordinator {
    /// Writes the newest state into a new file, without the commits that led to it, and puts it in the place of the old one.
    ///
    /// A file grows with each commit, and opening it takes as long as its history; afterwards both depend on what the store has.
    /// Saves and readers go on meanwhile. Only at the end do saves wait, while the commits made last are copied and the files
    /// change places. The new file has all commits that the old one had when they did: a crash at any time leaves one of the
    /// two, complete. Meanwhile the disk needs room for both. Identifiers, versions and commit numbers stay.
    ///
    /// A store in memory has nothing to compact. A call during a compaction waits for that one. ``close(discardingChanges:)``
    /// stops it.
    ///
    /// - Throws: `.diskFull`, `.inputOutput` and the like, `.notEncodable`, or `.corrupt`, if a commit of this session cannot be
    ///   read back: the file is then as before, and saves go on. `.closed`. `.storeFailed` if the disk does not say which of the
    ///   two files the path leads to: either has every commit, and opening it again goes on.
    ///
    /// Complexity: O(*n*) for *n* objects and links, and for the commits made meanwhile.
    public func compact() async throws(GraphError) {
        if let ending = state.ending { throw ending }
        guard journal != nil else { return }
        try await runningCompaction.value.get()
    }

    /// The compaction under way, or a new one. Its task holds the coordinator only for single steps.
    private var runningCompaction: Task<Result<Void, GraphError>, Never> {
        if let compaction { return compaction }
        let task = Task(executorPreference: taskExecutor) { [weak self, path] in
            let result: Result<Void, GraphError>
            do throws(GraphError) {
                guard let (successor, checkpoint) = try await self?.beginSuccessor() else {
                    throw .closed(path: path)
                }
                do throws(GraphError) {
                    try await Self.write(checkpoint, to: successor, path)
                    guard try await self?.copyCommits(to: successor) != nil,
                        try await self?.replaceJournal(by: successor) != nil
                    else { throw .closed(path: path) }
                } catch {
                    await successor.abandon()
                    throw error
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await self?.didCompact(result)
            return result
        }
        compaction = task
        return task
    }

    private func didCompact(_ result: Result<Void, GraphError>) async {
        compaction = nil
        if case .failure(let error) = result, case .storeFailed = error { state.end(error) }
        guard let journal else { return }
        fileBytes = await journal.lengthBytes
        nextEstimateBytes = fileBytes + minimumFreedBytes
    }

    // MARK: Steps

    /// Commits made while the last ones are copied are copied once more, so many times at most.
    private static let copyLimit = 16
    /// So many bytes are left for the turn in which saves wait.
    private static let lastCopyBytes: UInt64 = 256 << 10

    /// Between two groups, so that the state and the end of the file agree.
    private func beginSuccessor() async throws(GraphError) -> (JournalSuccessor, CheckpointWriter)? {
        guard let journal else { return nil }
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
    private static func write(
        _ checkpoint: CheckpointWriter,
        to successor: JournalSuccessor,
        _ path: String
    ) async throws(GraphError) {
        var checkpoint = checkpoint
        try await successor.append([Journal.Record(kind: .schema, payload: checkpoint.schemaRecord)])
        while let payload = try checkpoint.next() {
            try requireGoingOn(path)
            try await successor.append([Journal.Record(kind: .snapshotChunk, payload: payload)])
        }
        try await successor.append([Journal.Record(kind: .snapshotEnd, payload: [])])
        try await successor.sync()
    }

    private func copyCommits(to successor: JournalSuccessor) async throws(GraphError) {
        guard let journal else { return }
        for _ in 0..<Self.copyLimit {
            try Self.requireGoingOn(path)
            let end = await journal.lengthBytes
            try await successor.copyCommits(through: end)
            try await successor.sync()
            if await journal.lengthBytes - end <= Self.lastCopyBytes { return }
        }
    }

    private func replaceJournal(by successor: JournalSuccessor) async throws(GraphError) {
        guard let journal else { return }
        try await takeTurn()
        defer { state.queue.passOn() }
        try Self.requireGoingOn(path)
        try await successor.copyCommits(through: await journal.lengthBytes)
        try await journal.replace(by: try await successor.seal(Self.encode(counters: writtenCounters)))
    }

    private static func requireGoingOn(_ path: String) throws(GraphError) {
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

    // MARK: By itself

    /// Compacts if that frees enough. Looks at the state only when the file has grown by so much that it might.
    func compactIfWorthwhile() {
        guard compactionPolicy == .automatic, journal != nil, compaction == nil, state.ending == nil, !isEstimating,
            fileBytes >= nextEstimateBytes
        else { return }
        isEstimating = true
        Task(executorPreference: taskExecutor) { [weak self, snapshot = published.value] in
            let needed = await Self.neededBytes(for: snapshot)
            await self?.didEstimate(needed)
        }
    }

    func didEstimate(_ needed: UInt64) {
        isEstimating = false
        guard compaction == nil, state.ending == nil else { return }
        let limit = needed + max(needed, minimumFreedBytes)
        if fileBytes >= limit { _ = runningCompaction } else { nextEstimateBytes = limit }
    }

    @concurrent
    private static func neededBytes(for snapshot: Snapshot) async -> UInt64 {
        CheckpointWriter(snapshot, counters: [], time: 0).estimatedBytes
    }
}
