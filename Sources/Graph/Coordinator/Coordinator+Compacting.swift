extension Coordinator {
    /// Writes the newest state into a new file, with the commits that led to it as far as ``HistoryRetention`` says, and puts it in the
    /// place of the old one.
    ///
    /// A file grows with each commit, and opening it takes as long as its history; afterwards both depend on what the store has.
    /// Saves and readers go on meanwhile. Only at the end do saves wait, while the commits made last are copied and the files
    /// change places. The new file has all commits that the old one had when they did: a crash at any time leaves one of the
    /// two, complete. Meanwhile the disk needs room for both. Identifiers, versions and commit numbers stay.
    ///
    /// The coordinator compacts by itself, unless it was opened with ``CompactionPolicy/manual``.
    ///
    /// - Important: values of `Codable` types are written as this program reads them. What its types do not read in the old file,
    ///   such as a property that a newer version of the program has added, is not in the new one. `diagnostics` has
    ///   ``StoreDiagnostic/Kind/unreadValues`` then: compact with the newest version.
    ///
    /// A store in memory has nothing to compact. A call during a compaction waits for that one. ``close(discardingChanges:)``
    /// stops it; cancelling the calling task does not.
    ///
    /// - Parameter progress: is told how much of the new file is written, at most a hundred times; from any task, so keep it brief.
    /// - Throws: `.diskFull`, `.inputOutput` and the like, `.notEncodable`, or `.corrupt`, if a commit of this session cannot be
    ///   read back: the file is then as before, and saves go on. `.closed`, `.readOnly`. `.storeFailed` if the disk does not say
    ///   which of the two files the path leads to: either has every durable commit, and opening it again goes on.
    ///
    /// Complexity: O(*n*) for *n* objects and links, and for the commits made meanwhile.
    public func compact(
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        if let ending = state.ending { throw ending }
        if case .readOnly(let path) = state.storage { throw .readOnly(path: path) }
        guard journal != nil else { return }
        let task = runningCompaction
        if let progress { compactionMeter.add(progress) }
        try await task.value.get()
    }

    /// The compaction under way, or a new one. Its task holds the coordinator only for single steps.
    private var runningCompaction: Task<Result<Void, GraphError>, Never> {
        if let compaction { return compaction }
        let meter = ProgressMeter()
        compactionMeter = meter
        let task = Task(executorPreference: taskExecutor) { [weak self, path] in
            let result: Result<CompactionFigures, GraphError>
            var figures = CompactionFigures()
            do throws(GraphError) {
                guard let (successor, checkpoint, history, pause) = try await self?.beginSuccessor() else {
                    throw .closed(path: path)
                }
                do throws(GraphError) {
                    (figures.firstPause, figures.commit) = (pause, checkpoint.snapshot.commit)
                    figures.checkpoint = try await checkpoint.write(to: successor, with: history, meter)
                    guard try await self?.copyCommits(to: successor) != nil,
                        try await self?.replaceJournal(by: successor, &figures) != nil
                    else { throw .closed(path: path) }
                    await successor.closeSource()
                    result = .success(figures)
                } catch {
                    await successor.abandon()
                    throw error
                }
            } catch {
                result = .failure(error)
            }
            await self?.didCompact(result)
            return result.map { _ in }
        }
        compaction = task
        return task
    }

    private func didCompact(_ result: Result<CompactionFigures, GraphError>) async {
        let fileBytes = await journal?.lengthBytes
        compaction = nil
        switch result {
        case .failure(let error):
            if case .storeFailed = error {
                doubtCommits(error)
                state.end(error)
            }
            compactionFailure = error
        case .success(var figures):
            (compactionFailure, servedFile) = (nil, nil)
            guard let fileBytes else { return }
            figures.ended = .now
            figures.number = (lastCompaction?.number ?? 0) + 1
            lastCompaction = figures
            checkpoint = figures.checkpoint
            // The checkpoint has nothing that the program does not read.
            if let unreadCommit, unreadCommit <= figures.commit { self.unreadCommit = nil }
            automaticCompaction = automaticMinimumBytes.map {
                AutomaticCompaction(fileBytes: fileBytes, checkpoint, minimumBytes: $0)
            }
        }
    }

    // MARK: By itself

    /// Compacts if that frees enough, and there is room.
    func compactIfWorthwhile() {
        guard compaction == nil, state.ending == nil, unreadCommit == nil, automaticCompaction?.beginsEstimate() == true
        else { return }
        let checkpoint = CheckpointWriter(written.snapshot, schemaRecord, counters: written.counters, time: 0)
        Task(executorPreference: taskExecutor) { [weak self] in
            let needed = await Self.estimatedBytes(of: checkpoint)
            await self?.compactIfWorthwhile(needing: needed)
        }
    }

    func compactIfWorthwhile(needing neededBytes: UInt64) async {
        let expected = max(neededBytes, automaticCompaction?.checkpointBytes ?? 0)
        let history = await expectedHistoryBytes
        let hasRoom = await journal?.hasRoom(for: expected * 2 + history) ?? false
        guard automaticCompaction?.didEstimate(neededBytes, hasRoom: hasRoom) == true else { return }
        if compaction == nil, state.ending == nil, unreadCommit == nil { _ = runningCompaction }
    }

    @concurrent
    static func estimatedBytes(of checkpoint: CheckpointWriter) async -> UInt64 { checkpoint.estimatedBytes }

    // MARK: Steps

    /// Commits made while the last ones are copied are copied once more, so many times at most.
    private static let copyLimit = 16
    /// So many bytes are left for the turn in which saves wait.
    private static let lastCopyBytes: UInt64 = 256 << 10

    /// Between two groups, so that the state and the end of the file agree.
    private func beginSuccessor() async throws(GraphError) -> (
        JournalSuccessor, CheckpointWriter, RetainedCommits?, pause: Duration
    )? {
        guard let journal else { return nil }
        try await waitForTurn()
        let start = ContinuousClock.now
        defer { passOn() }
        let (snapshot, counters) = written
        let history = try await retainedCommits(through: snapshot)
        let successor = try await journal.makeSuccessor(
            schema: schemaRecord.bytes,
            baseCommit: snapshot.commit,
            executor: JournalExecutor(label: "graph.compaction")
        )
        let time = PosixFileSystem.nanosecondsSince1970()
        let checkpoint = CheckpointWriter(
            snapshot, schemaRecord, counters: counters, consumers: consumers, time: time)
        return (successor, checkpoint, history, ContinuousClock.now - start)
    }

    /// What a new file retains of the commits that led to the state; nil for nothing.
    func retainedCommits(through snapshot: Snapshot) async throws(GraphError) -> RetainedCommits? {
        guard let journal, retention != .none else { return nil }
        let request = RetentionRequest(
            retention: retention, unreadSince: unreadSince, deletedThrough: historyDeletedThrough,
            now: PosixFileSystem.nanosecondsSince1970())
        return RetainedCommits(try await journal.openToRead(), through: snapshot.token, request)
    }

    /// About how long the commits are that a compaction retains, at most.
    var expectedHistoryBytes: UInt64 {
        get async {
            let tail = await journal?.lengthBytes ?? 0
            let history = checkpoint.historyBytes + tail - min(tail, checkpoint.endOffset)
            let limits = unreadSince == nil ? [retention.bytes] : [retention.bytes, retention.unreadBytes]
            return min(history, limits.map { limit in limit.map { UInt64(max($0, 0)) } ?? .max }.max() ?? .max)
        }
    }

    private func copyCommits(to successor: JournalSuccessor) async throws(GraphError) {
        guard let journal else { return }
        try await successor.syncName()
        for _ in 0..<Self.copyLimit {
            try Self.requireGoingOn(path)
            let end = await journal.lengthBytes
            try await successor.copyCommits(through: end)
            try await successor.sync()
            if await journal.lengthBytes - end <= Self.lastCopyBytes { return }
        }
    }

    private func replaceJournal(
        by successor: JournalSuccessor, _ figures: inout CompactionFigures
    ) async throws(GraphError) {
        guard let journal else { return }
        let generation = await successor.generation
        try await waitForTurn()
        let start = ContinuousClock.now
        defer { passOn() }
        try Self.requireGoingOn(path)
        let seal = RowCounters.encode(written.counters)
        figures.replacement = try await journal.replace(by: generation, sealing: seal)
        syncedCommit = written.snapshot.commit
        figures.lastPause = ContinuousClock.now - start
    }

    private static func requireGoingOn(_ path: String) throws(GraphError) {
        if Task.isCancelled { throw .closed(path: path) }
    }

    /// Waits until nothing is being written, and keeps others from writing until the queue is passed on.
    func waitForTurn() async throws(GraphError) {
        while let ticket = state.queue.append(CommitQueue.Entry(isExclusive: true)),
            case .done(let result) = await ticket.turn()
        {
            // A group before it has failed, and everything behind it with it.
            if let ending = state.ending { throw ending }
            // A full disk refuses a save, and a compaction may be what helps.
            do throws(GraphError) {
                try result.get()
            } catch {
                switch error {
                case .diskFull, .transactionTooLarge: continue
                default: throw error
                }
            }
        }
        _ = state.queue.takeGroup()
    }
}
