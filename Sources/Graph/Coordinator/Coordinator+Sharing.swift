/// A store whose commits are those of a log to which others save, too.
///
/// The published state is what the log has confirmed. A save is prepared on a copy of the order of commits, which is a value, and the
/// copy is forgotten if somebody else was first: nothing has to be taken back (optimistic validation over a shared log: Bernstein,
/// Reid and Das 2011, *Hyder*; Balakrishnan et al. 2013, *Tango*).
extension Coordinator {
    /// Opens a copy of a store that several programs change, each with a copy of its own, and becomes one of its writers.
    ///
    /// The file is one that ``copy(to:progress:)`` has made of the store, at any time before, or one that has been in use with the
    /// same log; the first writer's is the store itself. What the log has is taken over first. A save returns when the log has its
    /// commit, whatever its level of durability; the file has it a little later, and what a power cut takes from the file comes from
    /// the log again. Transactions and `.serializable` keep their promises over all writers; that a context sees what another
    /// program has saved before takes ``catchUp()``, as it may not be here yet.
    ///
    /// Joining is a commit without changes, of the author `writer` and a number. Objects that this program inserts have identifiers of
    /// that number, which no other writer uses; there can be 262,143 of them in the life of a store. Hooks run only where an object is
    /// saved. Metadata and consumers of history are this copy's own.
    ///
    /// - Parameters:
    ///   - types: all entities of the store, as all its writers declare them.
    ///   - path: the file, which has to exist.
    ///   - log: begins behind the file's newest commit, or earlier.
    ///   - compaction: whether the file is compacted by itself.
    ///   - retention: how much history a compaction leaves.
    ///   - progress: as in opening any store.
    ///   - trace: as in opening any store.
    /// - Throws: `.schemaMismatch`, if the file or the log is of another schema: nothing is converted. `.historyDiverged` and
    ///   `.tokenOfOtherStore`, if the file has a commit that the log does not have, or is of another store; `.historyExpired`, if the
    ///   log has forgotten what the file lacks; `.invalidLog`. `.logUnavailable`, `.commitInDoubt`, if it does not answer.
    ///   `.rowNumbersUsedUp`, if there were too many writers. Otherwise what opening a store throws.
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

    /// Takes over what a ``CommitLog`` has at the time of the call; contexts see it when they refresh. A store without a log has
    /// everything.
    ///
    /// - Throws: `.logUnavailable`. `.schemaMismatch`, `.historyDiverged`, `.historyExpired`, `.invalidLog`, and what a save throws for
    ///   reasons of the file: the store takes no more saves then. `.closed`.
    ///
    /// Complexity: O(changes) for what is new.
    public func catchUp() async throws(GraphError) {
        if let ending = state.ending { throw ending }
        guard sharing != nil else { return }
        try await withLogTurn { () throws(GraphError) in try await self.takeNews() }
    }

    /// - Parameter isWanted: asked when the turn has come.
    private func catchUp(if isWanted: @Sendable () -> Bool) async throws(GraphError) {
        try await withLogTurn { () throws(GraphError) in
            if isWanted() { try await self.takeNews() }
        }
    }

    // MARK: Beginning and ending

    /// Becomes a writer of the log.
    func join(_ log: any CommitLog, transactionBytes: Int, random: @Sendable () -> UInt64) async throws(GraphError) {
        sharing = SharedSaves(log, snapshot.schema)
        while true {
            try await takeNews()
            let (writer, counters) = try nextWriter()
            var joining = ReceivedRecords(replay, at: snapshot.token)
            // Two programs that want to be the same writer at the same time write different bytes.
            try joining.addEmptyCommit(
                author: "writer \(writer), \(StoreID.hexadecimal(random()))",
                time: sharing?.nextTime() ?? 0, counters: counters)
            guard let payload = joining.records.last?.payload else { return }
            let record = SharedRecord(
                payload, of: snapshot.commit.next, after: snapshot.token, schema: sharing?.schema ?? 0)
            let sent = await SentRecords(sending: [record.bytes], to: log, after: snapshot.commit, clock)
            if let failure = sent.failure { throw Self.error(of: failure, sent.isInDoubt ? record.token : nil) }
            guard sent.count == 1 else { continue }
            try await takeOver(joining)
            self.counters.raise(to: counters)
            state.share(
                snapshot, counterLimit: RowNumber(writer + 1) << RowCounters.countingBits,
                transactionBytes: transactionBytes)
            return follow(log)
        }
    }

    /// Becomes a writer of the store's own file, if there have been others: their row numbers are not this program's.
    func joinOwnFile() async throws(GraphError) {
        guard case .file = state.storage, written.counters.contains(where: { $0 >> RowCounters.countingBits > 0 })
        else { return }
        let (writer, counters) = try nextWriter()
        var joining = ReceivedRecords(replay, at: snapshot.token)
        try joining.addEmptyCommit(
            author: "writer \(writer)", time: PosixFileSystem.nanosecondsSince1970(), counters: counters)
        try await takeOver(joining, durably: true)
        self.counters.raise(to: counters)
    }

    private func nextWriter() throws(GraphError) -> (writer: UInt64, counters: [RowNumber]) {
        let last = written.counters.map { $0 >> RowCounters.countingBits }.max() ?? 0
        let first = (last + 1) << RowCounters.countingBits + 1
        guard first < RowCounters.maximum else {
            throw .rowNumbersUsedUp(entity: snapshot.schema.entities.first?.name ?? "")
        }
        return (last + 1, snapshot.schema.entities.map { _ in first })
    }

    private func follow(_ log: any CommitLog) {
        sharing?.following = Task(executorPreference: taskExecutor) { [weak self, published, clock] in
            while !Task.isCancelled {
                let commit = published.value.commit
                do {
                    try await log.waitForRecords(after: commit.number)
                    guard let self else { return }
                    // A save under way may have brought it.
                    try await self.catchUp { published.value.commit == commit }
                } catch {
                    guard await self?.state.ending == nil else { return }
                    try? await clock.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    /// Returns when what waits has been answered. No more is taken.
    func endSharing() async {
        sharing?.isClosing = true
        await sharing?.sending?.value
        sharing?.following?.cancel()
    }

    // MARK: Saving

    /// Has the log take a save, and returns what came of it.
    func share(_ request: SaveRequest) async throws(GraphError) -> PreparedCommit {
        if let ending = state.ending { throw ending }
        guard sharing?.isClosing == false else { throw .closed(path: path) }
        let trace = tracer.map { _ in CommitTrace(store: path, origin: request.origin) }
        return try await withCheckedContinuation { continuation in
            sharing?.waiting.append(SharedSaves.Save(request: request, trace: trace, continuation: continuation))
            guard sharing?.sending == nil else { return }
            sharing?.sending = Task(executorPreference: taskExecutor) { await self.sendWaiting() }
        }.get()
    }

    private func sendWaiting() async {
        while sharing?.waiting.isEmpty == false {
            try? await withLogTurn { () throws(GraphError) in await self.sendGroup() }
        }
        sharing?.sending = nil
    }

    private func withLogTurn(_ body: () async throws(GraphError) -> Void) async throws(GraphError) {
        if sharing?.turns.take() == false {
            await withCheckedContinuation { sharing?.turns.wait($0) }
        }
        defer { sharing?.turns.pass() }
        try await body()
    }

    /// A save, and what it comes to.
    private struct Proposal {
        var save: SharedSaves.Save
        let result: Result<PreparedCommit, GraphError>
        /// nil if there is nothing to record.
        var record: SharedRecord?
    }

    /// Checks the first saves in line, each on top of those before it, sends them, and answers those that the log has. Saves that
    /// were checked on top of others' places stay in line.
    private func sendGroup() async {
        if let ending = state.ending { return answer(sharing?.takeAll() ?? [], ending) }
        if sharing?.isInDoubt == true {
            do throws(GraphError) { try await takeNews() } catch { return answer(sharing?.takeAll() ?? [], error) }
        }
        guard let group = sharing?.takeGroup(), let log = sharing?.log else { return }
        let proposals = propose(group)
        let records = proposals.compactMap(\.record)
        let sent = await SentRecords(
            sending: records.map(\.bytes), to: log, after: state.commits.head.commit, clock)
        sharing?.isInDoubt = sent.isInDoubt
        let end = proposals.indices.filter { proposals[$0].record != nil }.dropFirst(sent.count).first
        let (known, rest) = (proposals[..<(end ?? proposals.endIndex)], proposals[(end ?? proposals.endIndex)...])
        await accept(known)
        if let failure = sent.failure {
            // The others have not been sent, and may be checked again.
            sharing?.waiting.insert(contentsOf: rest.filter { $0.record == nil }.map(\.save), at: 0)
            for proposal in rest {
                guard let record = proposal.record else { continue }
                answer([proposal.save], Self.error(of: failure, sent.isInDoubt ? record.token : nil))
            }
        } else {
            sharing?.waiting.insert(contentsOf: rest.map(\.save), at: 0)
            try? await takeOver(sent.others)
        }
    }

    /// Changes nothing but row counters and the clock.
    private func propose(_ group: [SharedSaves.Save]) -> [Proposal] {
        var commits = state.commits
        return group.map { save in
            var save = save
            do throws(GraphError) {
                let before = commits.head.token
                let proposal = try state.propose(
                    save.request, after: commits, at: sharing?.nextTime() ?? 0, &save.trace)
                guard let payload = proposal.record else {
                    return Proposal(save: save, result: .success(proposal.commit))
                }
                commits.accept(proposal.commit)
                let record = SharedRecord(
                    payload, of: proposal.commit.number, after: before, schema: sharing?.schema ?? 0)
                return Proposal(save: save, result: .success(proposal.commit), record: record)
            } catch {
                return Proposal(save: save, result: .failure(error))
            }
        }
    }

    /// Takes over what the log has confirmed, and answers. If the file fails, the commits are in the log all the same.
    private func accept(_ proposals: ArraySlice<Proposal>) async {
        let records = proposals.compactMap { $0.record.map { Journal.Record(kind: .commit, payload: $0.payload) } }
        await record(records)
        var steps: [PublishedSnapshot.Step] = []
        for case .success(let commit) in proposals.map(\.result) where !commit.isEmpty {
            state.accept(commit)
            steps.append(commit.step)
        }
        publish(steps, state.fileCounters)
        for proposal in proposals {
            var save = proposal.save
            save.trace?.groupSize = records.count
            switch proposal.result {
            case .success: report(&save.trace)
            case .failure(let error): report(&save.trace, error)
            }
            save.continuation.resume(returning: proposal.result)
        }
    }

    private func answer(_ saves: [SharedSaves.Save], _ error: GraphError) {
        for save in saves {
            var save = save
            report(&save.trace, error)
            save.continuation.resume(returning: .failure(error))
        }
    }

    // MARK: What others have saved

    /// Takes over what the log has by now. The caller has the turn.
    private func takeNews() async throws(GraphError) {
        guard let log = sharing?.log else { return }
        while true {
            let records: [[UInt8]]
            do {
                records = try await log.read(after: snapshot.commit.number)
            } catch {
                let error = Self.error(of: error)
                // Others cannot be made up for.
                if case .historyExpired = error { state.end(error) }
                throw error
            }
            guard !records.isEmpty else { break }
            try await takeOver(records)
        }
        sharing?.isInDoubt = false
    }

    /// Takes over records that follow the newest commit, or begin before it. If that fails, the store takes no more saves: it cannot
    /// be what the log says.
    private func takeOver(_ records: [[UInt8]]) async throws(GraphError) {
        do throws(GraphError) {
            var received = ReceivedRecords(replay, at: snapshot.token)
            for bytes in records {
                let record = try SharedRecord(
                    bytes, of: storeID, schema: sharing?.schema ?? 0, path: path)
                guard record.token.commit > received.position.commit else { continue }
                guard record.fingerprintBefore == received.position.fingerprint else {
                    throw .historyDiverged(received.position)
                }
                try received.take(
                    LogRecord(kind: .commit, payload: record.payload, fingerprint: record.fingerprintBefore))
            }
            try await takeOver(received)
        } catch {
            state.end(error)
            throw error
        }
    }

    private func takeOver(_ received: ReceivedRecords, durably: Bool = false) async throws(GraphError) {
        await record(received.records, durably: durably)
        if durably, let ending = state.ending { throw ending }
        let replay = received.replay
        noteUnread(in: replay)
        state.accept(received.steps, counters: replay.counters)
        publish(received.steps, replay.counters)
    }

    /// Writes commits into the store's own file. After a failure it goes on with the log when it is opened again.
    private func record(_ records: [Journal.Record], durably: Bool = false) async {
        guard journal != nil, !records.isEmpty else { return }
        do throws(GraphError) {
            try await withTurn { () throws(GraphError) in try await self.append(records, durably: durably) }
        } catch {
            state.end(error.asEarlierFailure(path: path))
        }
    }

    private func publish(_ steps: [PublishedSnapshot.Step], _ counters: [RowNumber]) {
        guard let newest = steps.last else { return }
        if state.ending == nil { written = (newest.snapshot, counters) }
        published.publish(steps)
        compactIfWorthwhile()
    }

    private static func error(of failure: any Error, _ token: HistoryToken? = nil) -> GraphError {
        let reason = "\(failure)".shortened(to: 400)
        if let token { return .commitInDoubt(token, reason: reason) }
        return failure as? GraphError ?? .logUnavailable(reason: reason)
    }
}
