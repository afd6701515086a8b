/// A store whose commits are those of a log to which others save, too.
///
/// The published state is what the log has confirmed. A save is proposed on a copy of the order of commits, which is a value, and the
/// copy is forgotten if somebody else was first: nothing has to be taken back (optimistic validation over a shared log: Bernstein,
/// Reid and Das 2011, *Hyder*; Balakrishnan et al. 2013, *Tango*).
extension Coordinator {
    /// Takes over what a ``CommitLog`` has, at least at the time of the call; contexts see it when they refresh. A store without a
    /// log has everything.
    ///
    /// A save that is in doubt (`.commitInDoubt`) is so no more when this returns: it is in the store, or it never will be. To make
    /// sure of that, a commit without changes may take its place.
    ///
    /// - Throws: `.logUnavailable`, and what the log says of itself. `.schemaMismatch`, `.historyDiverged`, `.historyExpired`,
    ///   `.invalidLog` of what it has, and what a save throws for reasons of the file: the store takes no more saves then. `.closed`.
    ///
    /// Complexity: O(changes) for what is new.
    public func catchUp() async throws(GraphError) {
        if let ending = state.ending { throw ending }
        guard let log = sharing?.log else { return }
        try await withLogTurn { () throws(GraphError) in
            try await self.takeNews(of: log, untilClosing: true)
            while self.sharing?.isInDoubt == true {
                let fence = try self.emptyCommit(author: nil, counters: self.counters.all)
                _ = try await self.send(fence, to: log)
            }
        }
    }

    /// Takes over some of what follows a commit, unless somebody has done so.
    func takeWhatFollows(_ commit: CommitNumber) async throws(GraphError) {
        guard let log = sharing?.log else { return }
        try await withLogTurn { () throws(GraphError) in
            guard self.snapshot.commit == commit, self.state.ending == nil else { return }
            let records = try await self.read(log)
            if !records.isEmpty { try await self.takeOver(records, of: log) }
        }
    }

    func withLogTurn(_ body: () async throws(GraphError) -> Void) async throws(GraphError) {
        if sharing?.turns.take() == false {
            await withCheckedContinuation { sharing?.turns.wait($0) }
        }
        defer { sharing?.turns.pass() }
        try await body()
    }

    // MARK: Saving

    /// How many saves wait to be sent.
    var waitingSharedSaveCount: Int { sharing?.waiting.count ?? 0 }

    /// Has the log take a save, and returns what came of it.
    func share(_ request: SaveRequest) async throws(GraphError) -> PreparedCommit {
        var trace = tracer.map { _ in CommitTrace(store: path, origin: request.origin) }
        if let ending = state.ending ?? (sharing?.isClosing == false ? nil : .closed(path: path)) {
            report(&trace, ending)
            throw ending
        }
        return try await withCheckedContinuation { continuation in
            sharing?.waiting.append(
                SharedSaves.Save(request: request, trace: trace, continuation: continuation))
            guard sharing?.sending == nil else { return }
            sharing?.sending = Task(executorPreference: taskExecutor) { await self.sendWaiting() }
        }.get()
    }

    private func sendWaiting() async {
        while let log = sharing?.log, sharing?.waiting.isEmpty == false {
            try? await withLogTurn { () throws(GraphError) in await self.sendGroup(to: log) }
        }
        sharing?.sending = nil
    }

    /// A save, and what it comes to.
    private struct Proposal {
        let save: SharedSaves.Save
        /// Of this attempt.
        var trace: CommitTrace?
        let result: Result<PreparedCommit, GraphError>
        /// nil if there is nothing to record.
        var record: SharedRecord?

        /// Tells the save that it may arrive, and returns what may; nil if nothing was sent.
        func doubt() -> SharedSaves.Doubtful? {
            guard let record, case .success(let commit) = result else { return nil }
            save.request.receipt?.doubt(Outcome(commit, on: commit.state.snapshot))
            return SharedSaves.Doubtful(token: record.token, receipt: save.request.receipt)
        }
    }

    /// Checks the first saves in line, each on top of those before it, sends them, and answers those that the log has. The others
    /// stay in line, and are checked again.
    private func sendGroup(to log: SharedLog) async {
        do throws(GraphError) {
            if let ending = state.ending { throw ending }
            if sharing?.isInDoubt == true { try await takeNews(of: log) }
        } catch {
            for save in sharing?.takeAll() ?? [] { answer(save, .failure(error), save.trace) }
            return
        }
        let checkingStart = ContinuousClock.now
        let proposals = propose(sharing?.takeGroup() ?? [], log.schema)
        let records = proposals.compactMap(\.record)
        let start = ContinuousClock.now
        let sent = await log.append(records.map(\.bytes), after: state.commits.head.commit, clock)
        let duration = ContinuousClock.now - start
        // The first save that the log does not have, and all behind it, which were checked on top of it.
        let firstLeft = proposals.indices.filter { proposals[$0].record != nil }.dropFirst(sent.count).first
        let left = proposals[(firstLeft ?? proposals.endIndex)...]
        await takeOwn(proposals.prefix(proposals.count - left.count), duration)
        if sent.count > 0 { sharing?.didSend() }
        guard let failure = sent.failure else {
            sharing?.waiting.insert(contentsOf: left.map(\.save), at: 0)
            guard !sent.others.isEmpty else { return }
            // If it fails, the store has ended, and says so to who is in line.
            try? await takeOver(sent.others, of: log)
            let isSlow = start - checkingStart > duration
            guard sent.count == 0, sharing?.wasLate(records.count, isSlow: isSlow) == false else { return }
            let reason = "others have saved \(SharedSaves.patience) times in a row before this program could"
            for save in sharing?.takeAll() ?? [] {
                answer(save, .failure(state.ending ?? .logUnavailable(reason: reason)), save.trace)
            }
            return
        }
        if sent.isInDoubt { sharing?.doubt(left.compactMap { $0.doubt() }) }
        // What was not sent, and what is behind a record that the log refuses, was only checked on top of what was.
        let failed = left.prefix(sent.isRefusal ? 1 : left.count)
        let others = failed.filter { $0.record == nil } + left[failed.endIndex...]
        sharing?.waiting.insert(contentsOf: others.map(\.save), at: 0)
        for proposal in failed {
            guard let record = proposal.record else { continue }
            let error = Self.error(of: failure, sent.isInDoubt ? record.token : nil)
            answer(proposal.save, .failure(error), proposal.trace)
        }
    }

    /// So many bytes are sent, and written into the file, together at most, or one record.
    private static let groupBytes = 16 << 20

    /// Checks saves on top of each other. Those that would make too long a group go back in line.
    private func propose(_ group: [SharedSaves.Save], _ schema: UInt64) -> [Proposal] {
        var (commits, bytes, proposals) = (state.commits, 0, [Proposal]())
        for (place, save) in group.enumerated() {
            guard bytes < Self.groupBytes else {
                sharing?.waiting.insert(contentsOf: group[place...], at: 0)
                break
            }
            var trace = save.trace
            do throws(GraphError) {
                if save.request.doubts.contains(where: { $0.arrived != nil }) {
                    throw .commitInDoubt(commits.head.token, reason: "an earlier save of this has arrived")
                }
                let before = commits.head.token
                let proposal = try state.propose(save.request, after: commits, at: nextRecordTime(), &trace)
                var record: SharedRecord?
                if let payload = proposal.record {
                    commits.accept(proposal.commit)
                    record = SharedRecord(payload, commits.head.token, after: before, schema: schema)
                    bytes += payload.count
                }
                proposals.append(
                    Proposal(save: save, trace: trace, result: .success(proposal.commit), record: record))
            } catch {
                proposals.append(Proposal(save: save, trace: trace, result: .failure(error)))
            }
        }
        return proposals
    }

    /// Takes over own commits that the log has, and answers. If the file fails, they are in the log all the same.
    private func takeOwn(_ proposals: ArraySlice<Proposal>, _ duration: Duration) async {
        let records = proposals.compactMap { $0.record.map { Journal.Record(kind: .commit, payload: $0.payload) } }
        await write(records)
        var steps: [PublishedSnapshot.Step] = []
        for case .success(let commit) in proposals.map(\.result) where !commit.isEmpty {
            state.accept(commit)
            steps.append(commit.step)
        }
        publish(steps, state.fileCounters)
        for proposal in proposals {
            if let token = proposal.record?.token { sharing?.resolveDoubt(by: token) }
            var trace = proposal.trace
            trace?.groupSize = records.count
            trace?.writing = duration
            answer(proposal.save, proposal.result, trace)
        }
    }

    private func answer(
        _ save: SharedSaves.Save, _ result: Result<PreparedCommit, GraphError>, _ trace: CommitTrace?
    ) {
        var trace = trace
        if case .failure(let error) = result { report(&trace, error) } else { report(&trace) }
        save.continuation.resume(returning: result)
    }

    /// Of a record. Those of one writer ascend, so that no two of them are the same.
    private func nextRecordTime() -> UInt64 {
        lastRecordTime = max(PosixFileSystem.nanosecondsSince1970(), lastRecordTime + 1)
        return lastRecordTime
    }

    // MARK: Commits without changes

    /// Behind the newest commit.
    func emptyCommit(author: String?, counters: [RowNumber]) throws(GraphError) -> ReceivedRecords {
        var received = ReceivedRecords(replay, at: snapshot.token)
        try received.addEmptyCommit(author: author, time: nextRecordTime(), counters: counters)
        return received
    }

    /// Sends a commit that does not come from a save. Returns whether the log has it; otherwise it has others, which are taken over.
    func send(_ commit: ReceivedRecords, to log: SharedLog) async throws(GraphError) -> Bool {
        guard let payload = commit.records.last?.payload else { return false }
        let record = SharedRecord(payload, commit.position, after: snapshot.token, schema: log.schema)
        let sent = await log.append([record.bytes], after: snapshot.commit, clock)
        // Nobody minds whether it arrives late.
        if let failure = sent.failure { throw Self.error(of: failure) }
        guard sent.count == 1 else {
            try await takeOver(sent.others, of: log)
            return false
        }
        await write(commit.records)
        publish(commit)
        if let ending = state.ending { throw ending }
        return true
    }

    // MARK: What others have saved

    /// Takes over what the log has by now. The caller has the turn.
    func takeNews(of log: SharedLog, untilClosing: Bool = false) async throws(GraphError) {
        while true {
            if let ending = state.ending { throw ending }
            if untilClosing, sharing?.isClosing == true { throw .closed(path: path) }
            let records = try await read(log)
            guard !records.isEmpty else { return }
            try await takeOver(records, of: log)
        }
    }

    private func read(_ log: SharedLog) async throws(GraphError) -> [[UInt8]] {
        do {
            return try await log.commits.read(after: snapshot.commit.number)
        } catch {
            let error = Self.error(of: error)
            // What is gone does not come back.
            if case .historyExpired = error { state.end(error) }
            throw error
        }
    }

    /// Takes over records that follow the newest commit. If that fails, the store takes no more saves: it cannot be what the log
    /// says.
    private func takeOver(_ records: [[UInt8]], of log: SharedLog) async throws(GraphError) {
        var rest = records[...]
        do throws(GraphError) {
            while !rest.isEmpty {
                var (received, bytes) = (ReceivedRecords(replay, at: snapshot.token), 0)
                while let next = rest.first, bytes < Self.groupBytes {
                    try received.take(SharedRecord(next, of: storeID, schema: log.schema, path: path))
                    bytes += next.count
                    rest.removeFirst()
                }
                await write(received.records)
                publish(received)
                if let ending = state.ending { throw ending }
            }
        } catch {
            state.end(error)
            throw error
        }
    }

    /// Writes commits into the store's own file. After a failure it goes on with the log when it is opened again.
    private func write(_ records: [Journal.Record]) async {
        guard journal != nil, !records.isEmpty else { return }
        do throws(GraphError) {
            try await withTurn { () throws(GraphError) in try await self.append(records, durably: false) }
        } catch {
            state.end(error.asEarlierFailure(path: path))
        }
    }

    /// Publishes commits that do not come from saves.
    func publish(_ received: ReceivedRecords) {
        noteUnread(in: received.replay)
        state.accept(received.steps, counters: received.replay.counters)
        for step in received.steps { sharing?.resolveDoubt(by: step.snapshot.token) }
        publish(received.steps, received.replay.counters)
    }

    private func publish(_ steps: [PublishedSnapshot.Step], _ counters: [RowNumber]) {
        guard let newest = steps.last else { return }
        // The file does not have them once it has failed.
        if state.ending == nil { written = (newest.snapshot, counters) }
        published.publish(steps)
        compactIfWorthwhile()
    }

    /// What to say of an error of the log.
    ///
    /// - Parameter token: of a commit that may be there.
    static func error(of failure: any Error, _ token: HistoryToken? = nil) -> GraphError {
        if let token { return .commitInDoubt(token, reason: "\(failure)".shortened(to: 400)) }
        if let error = failure as? GraphError, error.isOfLog { return error }
        return .logUnavailable(reason: "\(failure)".shortened(to: 400))
    }
}

extension GraphError {
    /// Whether it says what a log has, has forgotten, or refuses; other errors are about files and programs elsewhere.
    fileprivate var isOfLog: Bool {
        switch self {
        case .historyExpired, .historyDiverged, .tokenOfOtherStore, .schemaMismatch, .invalidLog, .valueNotReadable,
            .transactionTooLarge, .logUnavailable, .cancelled:
            true
        default: false
        }
    }
}

extension ReceivedRecords {
    /// Takes the next record of a log of commits.
    ///
    /// - Throws: `.historyExpired`, if records are missing before it, `.historyDiverged`; `.invalidLog`.
    mutating func take(_ record: SharedRecord) throws(GraphError) {
        let expected = position.commit.next
        guard record.token.commit == expected else {
            guard record.token.commit > expected else {
                throw .invalidLog(reason: "it has commit \(record.token.commit) where commit \(expected) should be")
            }
            throw .historyExpired(oldest: record.tokenBefore)
        }
        guard record.fingerprintBefore == position.fingerprint else { throw .historyDiverged(position) }
        // A new writer has the next number.
        let last = RowCounters.lastWriter(replay.counters)
        try take(LogRecord(kind: .commit, payload: record.payload, fingerprint: record.fingerprintBefore))
        guard replay.counters.allSatisfy({ ($0 - 1) >> RowCounters.countingBits <= last + 1 }) else {
            throw .invalidLog(reason: "commit \(expected) uses up row numbers")
        }
    }
}
