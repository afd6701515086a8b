/// Owns a store: its newest state, its file, and the order of its commits. Contexts read from it and save to it.
///
/// ```swift
/// let coordinator = try await Coordinator(for: Team.self, Person.self, at: "people.graph")
/// let context = Context(coordinator)
/// ```
///
/// A store without a file keeps every rule but survives nothing.
public actor Coordinator {
    let counters: RowCounters
    nonisolated let published: PublishedSnapshot
    nonisolated let autosaving = AutosavingContexts()
    nonisolated let followed = FollowedContexts()
    /// Where the few tasks run that belong to no caller: those of contexts that merge or save by themselves.
    nonisolated let taskExecutor: (any TaskExecutor)?
    nonisolated let clock: any Clock<Duration>
    private var state: CommitState
    private let journal: Journal?
    private nonisolated let path: String
    nonisolated let storeID: StoreID
    private var queue = CommitQueue()
    /// What opening the file left out, repaired or found odd, in the order in which it was found; empty without a file, and
    /// for a file in order. It does not change later.
    public nonisolated let diagnostics: [StoreDiagnostic]
    private let transactionLimitBytes: Int
    private let checksEveryCommit: Bool
    private let tracer: (@Sendable (CommitTrace) -> Void)?
    /// For transactions that have met a conflict.
    private var retryLine = RetryLine()
    /// While somebody waits in that line.
    private var retryWatch: Task<Void, Never>?
    /// Why no further save is taken, once that is so.
    private var ending: GraphError?
    private var isClosed = false
    private let idleMarkDelay: Duration?
    private var writtenGroups = 0
    /// Waits until nothing was written for a while; nil once a mark shows that the last group was durable.
    private var markTimer: Task<Void, Never>?

    /// Opens a store, creating its file if there is none.
    ///
    /// - Parameters:
    ///   - types: all entities of the store.
    ///   - path: the file, `~` not expanded; nil keeps the store in memory only. The file is locked until `close()`, or until the
    ///     coordinator is released.
    ///   - checksEveryCommit: has every save checked as ``check()`` does before it is accepted; one that would break the
    ///     store fails with `.inconsistent`. For tests: it takes time in proportion to the store.
    ///   - trace: told what becomes of each save, on the coordinator: to be brief. nil prints it where the environment has
    ///     `GRAPH_TRACE=1`.
    /// - Throws: `.invalidSchema`, and for a file `.notAStore`, `.unsupportedVersion`, `.schemaMismatch`, `.corrupt`,
    ///   `.invalidRecord`, `.valueNotReadable`, `.notUnique`, `.alreadyOpen`, `.directoryMissing`, `.permissionDenied`, `.unusableFile`, `.diskFull` or
    ///   `.inputOutput`. The file is left as it is then. If the file has original names, also `.outcomeUnknown`: whether it
    ///   has the new ones shows when it is opened again.
    ///
    /// Complexity: O(size of the file).
    public init<each E: Entity>(
        for types: repeat (each E).Type,
        at path: String? = nil,
        checksEveryCommit: Bool = false,
        trace: (@Sendable (CommitTrace) -> Void)? = nil
    ) async throws(GraphError) {
        var entities: [EntityDescription] = []
        repeat entities.append(EntityDescription((each E).self))
        try await self.init(
            Schema(entities),
            path: path,
            fileSystem: PosixFileSystem(),
            options: JournalOptions(idleMarkDelay: .seconds(1)),
            checksEveryCommit: checksEveryCommit,
            trace: trace
        )
    }

    init(
        _ schema: Schema,
        path: String?,
        fileSystem: any StoreFileSystem,
        options: JournalOptions,
        checksEveryCommit: Bool = false,
        trace: (@Sendable (CommitTrace) -> Void)? = nil,
        taskExecutor: (any TaskExecutor)? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(GraphError) {
        self.checksEveryCommit = checksEveryCommit
        tracer = trace ?? CommitTrace.printer
        self.taskExecutor = taskExecutor
        self.clock = clock
        var snapshot = Snapshot(schema: schema)
        var next = schema.entities.map { _ in RowNumber(1) }
        if let path {
            let (journal, replay) = try await Self.open(path, schema, next, fileSystem, options)
            self.journal = journal
            self.path = journal.path
            storeID = journal.storeID
            diagnostics = journal.diagnostics + replay.remarks.map { StoreDiagnostic(.otherValues, $0) }
            StoreDiagnostic.trace(diagnostics, path: journal.path)
            snapshot = replay.snapshot
            next = replay.counters
        } else {
            journal = nil
            self.path = "memory"
            storeID = StoreID(random: options.random)
            diagnostics = []
        }
        idleMarkDelay = options.idleMarkDelay
        transactionLimitBytes = options.transactionLimitBytes
        counters = RowCounters(next: next)
        published = PublishedSnapshot(snapshot)
        state = CommitState(head: snapshot)
    }

    private static func open(
        _ path: String,
        _ schema: Schema,
        _ counters: [RowNumber],
        _ fileSystem: any StoreFileSystem,
        _ options: JournalOptions
    ) async throws(GraphError) -> (Journal, StoreReplay) {
        do throws(GraphError) {
            return try await open(path, schema, counters, fileSystem, options, keepsIndexes: false) {
                (replay: inout StoreReplay) throws(GraphError) in try replay.finish()
            }
        } catch {
            guard case .invalidRecord = error else { throw error }
            // Which record it is shows to whoever checks each one with all that follows from it. That is all that this is
            // for: a file that was refused once is not opened because it passes the second time, and never written to.
            let refusal = error
            do throws(GraphError) {
                _ = try await open(path, schema, counters, fileSystem, options, keepsIndexes: true) {
                    (_: inout StoreReplay) throws(GraphError) in throw refusal
                }
            } catch {
                if case .invalidRecord = error { throw error }
            }
            throw refusal
        }
    }

    private static func open(
        _ path: String,
        _ schema: Schema,
        _ counters: [RowNumber],
        _ fileSystem: any StoreFileSystem,
        _ options: JournalOptions,
        keepsIndexes: Bool,
        finish: @escaping @Sendable (inout StoreReplay) throws(GraphError) -> [Journal.Record]
    ) async throws(GraphError) -> (Journal, StoreReplay) {
        try await Journal.open(
            at: path,
            schema: SchemaRecord(schema).bytes,
            seal: encode(counters: counters),
            fileSystem: fileSystem,
            options: options,
            into: StoreReplay(schema: schema, path: path, keepsIndexes: keepsIndexes),
            replay: { (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in
                try replay.apply(entry)
            },
            finish: finish
        )
    }

    /// The newest durable state. Takes no turn on the coordinator.
    ///
    /// Complexity: O(1).
    public nonisolated var snapshot: Snapshot { published.value }

    /// Verifies every index, inverse, reference, unique value and count of the newest durable state against its rows and links
    /// alone; gives one line for each thing that does not hold, which is an error in Graph.
    ///
    /// Complexity: O(size of the store).
    public nonisolated func check() -> [String] { snapshot.check() }

    private func check(_ commit: CommitState.Commit) throws(GraphError) {
        let findings = commit.state.snapshot.check()
        guard findings.isEmpty else { throw .inconsistent(ErrorList(findings)) }
    }

    /// Ends saving and releases the file, after the saves that are under way; contexts that save by themselves do so first.
    /// Snapshots and contexts can be read on; saves throw `.closed`. Closing again only waits until that is done.
    ///
    /// - Parameter discardingChanges: whether to close without having those contexts save: their unsaved changes are not in the
    ///   store then. It is the way to close when a save fails and cannot be mended.
    /// - Throws: what the save of a context that saves by itself throws, after all of them have been tried; of several failures the
    ///   first. The coordinator is open then, and the context has its changes. Also what the store's file makes of its end: then
    ///   the coordinator is closed.
    ///
    /// Complexity: that of the saves that it waits for and of those that it makes.
    public func close(discardingChanges: Bool = false) async throws(GraphError) {
        if !isClosed, !discardingChanges { try await saveContexts() }
        isClosed = true
        ending = ending ?? .closed(path: path)
        markTimer?.cancel()
        // Whoever waits for a save learns of its failure; the file is released in any case.
        try? await waitForDurability()
        published.finish()
        followed.close()
        try await journal?.close(encodedCounters)
    }

    /// Has the contexts save that do so by themselves.
    private func saveContexts() async throws(GraphError) {
        var failure: GraphError?
        for context in autosaving.all {
            do throws(GraphError) {
                try await context.autosaveNow()
            } catch {
                failure = failure ?? error
            }
        }
        // Somebody else may have closed it meanwhile.
        if let failure, !isClosed { throw failure }
    }

    deinit {
        published.finish()
        markTimer?.cancel()
    }

    // MARK: Retrying

    /// A place in the line of transactions that have met a conflict.
    func retryTicket() -> RetryLine.Ticket { retryLine.nextTicket() }

    /// Waits until no other transaction is trying again. Instead of backing off for a time that is a guess, they stand in line: the
    /// one in front meets only those that try for the first time. Returns at once while the turn lasts.
    func beginRetry(_ ticket: RetryLine.Ticket) async {
        guard !retryLine.take(ticket) else { return }
        await withCheckedContinuation { continuation in
            retryLine.wait(ticket, continuation)
            watchRetries()
        }
    }

    func endRetry(_ ticket: RetryLine.Ticket) {
        retryLine.end(ticket)
    }

    /// Has turns end that last too long, for as long as somebody waits for that.
    private func watchRetries() {
        guard retryWatch == nil else { return }
        retryWatch = Task(executorPreference: taskExecutor) { [weak self, clock] in
            while let turn = await self?.retryTurnToWatch() {
                try? await clock.sleep(for: RetryLine.longestTurn)
                await self?.endRetryTurn(turn)
            }
        }
    }

    private func retryTurnToWatch() -> RetryLine.Turn? {
        let turn = retryLine.contendedTurn
        if turn == nil { retryWatch = nil }
        return turn
    }

    private func endRetryTurn(_ turn: RetryLine.Turn) {
        retryLine.end(turn)
    }

    // MARK: Committing

    /// Checks, records and publishes a save.
    nonisolated(nonsending) func commit(_ request: SaveRequest) async throws(GraphError) -> Outcome {
        switch try await submit(request) {
        case .done(let outcome):
            return outcome
        case .waiting(let ticket, let commit):
            try await turn(of: ticket).get()
            return outcome(of: commit)
        }
    }

    private enum Submission {
        case done(Outcome)
        case waiting(CommitTicket, CommitState.Commit)
    }

    private func submit(_ request: SaveRequest) async throws(GraphError) -> Submission {
        var trace = tracer.map { _ in CommitTrace(store: path, origin: request.origin) }
        do throws(GraphError) {
            return try await submit(request, &trace)
        } catch {
            report(&trace, error)
            throw error
        }
    }

    /// From the check to the place in the queue nothing suspends, so that the order of the checks is that of the file.
    private func submit(
        _ request: SaveRequest,
        _ trace: inout CommitTrace?
    ) async throws(GraphError) -> Submission {
        if let ending { throw ending }
        let commit: CommitState.Commit
        do throws(GraphError) {
            commit = try state.prepare(request)
            if checksEveryCommit { try check(commit) }
        } catch {
            // The answer may rest on a commit that is not durable yet; so may the one that nothing is left to do.
            try await waitForDurability()
            throw error
        }
        guard !commit.isEmpty else {
            try await waitForDurability()
            report(&trace)
            return .done(outcome(of: commit))
        }
        trace?.count(commit)
        guard journal != nil else {
            state.accept(commit)
            published.publish([commit.step])
            report(&trace)
            return .done(outcome(of: commit))
        }
        let record = try CommitRecord.encode(
            commit.state,
            counters: counters.all,
            time: PosixFileSystem.nanosecondsSince1970(),
            author: request.origin.author ?? ""
        )
        guard counters.all.allSatisfy({ $0 <= RowCounters.maximum }) else {
            throw .storeFailed(path: path, reason: "its row numbers are used up")
        }
        guard record.count <= transactionLimitBytes else {
            throw .transactionTooLarge(lengthBytes: record.count, limitBytes: transactionLimitBytes)
        }
        state.accept(commit)
        trace?.recordBytes = record.count
        // From here on it is for the leader to report.
        let entry = CommitQueue.Entry(step: commit.step, record: record, trace: trace.take())
        guard let ticket = queue.append(entry) else {
            try await lead().get()
            return .done(outcome(of: commit))
        }
        // The first one behind a group leads the next one. It waits here, since its context may be busy when its turn comes.
        guard queue.count == 1 else { return .waiting(ticket, commit) }
        try await turn(of: ticket).get()
        return .done(outcome(of: commit))
    }

    private nonisolated func outcome(of commit: CommitState.Commit) -> Outcome {
        let newest = published.value
        return Outcome(
            base: ContextBase(snapshot: newest),
            isAsCaptured: commit.isAsRequested && !commit.isEmpty && newest.commit == commit.number,
            replacements: commit.replacements,
            overwritten: commit.overwritten,
            resolved: commit.resolved,
            commit: commit.isEmpty
                ? nil
                : (commit.number, commit.state.difference)
        )
    }

    /// Tells the tracer what became of a save, once.
    private func report(_ trace: inout CommitTrace?, _ error: GraphError? = nil) {
        guard var report = trace.take(), let tracer else { return }
        report.error = error
        tracer(report)
    }

    /// What a save would come to.
    func preview(_ request: SaveRequest) async throws(GraphError) -> CommitState.Commit {
        if let ending { throw ending }
        // What it is checked against may turn out not to be durable.
        try await waitForDurability()
        return try state.prepare(request)
    }

    /// How many answers wait for the next group.
    var waitingSaveCount: Int { queue.count }

    /// Returns when every commit so far is durable; throws what kept one of them from it.
    private func waitForDurability() async throws(GraphError) {
        guard queue.isBusy, let ticket = queue.append(CommitQueue.Entry()) else { return }
        try await turn(of: ticket).get()
    }

    /// What became of a save that stood in line.
    private nonisolated(nonsending) func turn(of ticket: CommitTicket) async -> Result<Void, GraphError> {
        switch await ticket.turn() {
        case .lead: await lead()
        case .done(let result): result
        }
    }

    /// Writes the group whose first save calls this, and answers all others of it.
    private func lead() async -> Result<Void, GraphError> {
        while queue.isWorthWaiting() { await Task.yield() }
        var group = queue.takeGroup(limitBytes: JournalFormat.groupLimitBytes)
        let records = group.compactMap(\.record).map { Journal.Record(kind: .commit, payload: $0) }
        let start = ContinuousClock.now
        var failure: GraphError?
        if !records.isEmpty, let journal {
            do throws(GraphError) {
                try await journal.write(records)
            } catch {
                failure = error
            }
        }
        let duration = ContinuousClock.now - start
        for place in group.indices {
            group[place].trace?.groupSize = records.count
            group[place].trace?.writing = duration
        }
        if let failure {
            fail(&group, failure)
        } else {
            published.publish(group.compactMap(\.step))
            for place in group.indices {
                report(&group[place].trace)
                group[place].answer(.success(()))
            }
            if !records.isEmpty { startMarkTimer() }
        }
        queue.passOn()
        return failure.map { .failure($0.about(group.first?.step?.snapshot.commit)) } ?? .success(())
    }

    /// The group is not in the store, and neither is what was checked on top of it.
    private func fail(_ group: inout [CommitQueue.Entry], _ error: GraphError) {
        state.reset(to: published.value)
        var errorOfFollowers = error
        switch error {
        case .diskFull, .transactionTooLarge: break
        default:
            errorOfFollowers = error.asEarlierFailure(path: path)
            ending = ending ?? errorOfFollowers
        }
        var followers = queue.takeGroup()
        for place in group.indices {
            let error = error.about(group[place].step?.snapshot.commit)
            report(&group[place].trace, error)
            group[place].answer(.failure(error))
        }
        for place in followers.indices {
            report(&followers[place].trace, errorOfFollowers)
            followers[place].answer(.failure(errorOfFollowers))
        }
    }

    // MARK: Marking

    /// Has the last group marked once nothing was written for a while, so that the file itself shows that the group was durable.
    ///
    /// One timer serves all groups of a busy time: it looks back when the delay is over, and waits once more if there was a
    /// group meanwhile. While nothing is written there is none.
    private func startMarkTimer() {
        writtenGroups += 1
        guard markTimer == nil, ending == nil, journal != nil, let idleMarkDelay else { return }
        markTimer = Task(executorPreference: taskExecutor) { [weak self, clock, writtenGroups] in
            var groups = writtenGroups
            while true {
                do { try await clock.sleep(for: idleMarkDelay) } catch { return }
                guard let now = await self?.markUnlessWritten(since: groups) else { return }
                groups = now
            }
        }
    }

    /// Writes a mark, unless there was a group since, or one is under way; then returns how many there are by now.
    private func markUnlessWritten(since groups: Int) async -> Int? {
        guard ending == nil, let journal else { return nil }
        guard writtenGroups == groups, !queue.isBusy else { return writtenGroups }
        // The mark takes its place in the order of the file as a save does: counters in a file never go down.
        _ = queue.append(CommitQueue.Entry())
        _ = queue.takeGroup()
        markTimer = nil
        // After a failure that is more than a full disk the journal takes no more groups, and the next save says so.
        try? await journal.mark(encodedCounters)
        queue.passOn()
        return nil
    }

    private var encodedCounters: [UInt8] { Self.encode(counters: counters.all.map { min($0, RowCounters.maximum) }) }

    private static func encode(counters: [RowNumber]) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendCounters(counters)
        return writer.bytes
    }
}
