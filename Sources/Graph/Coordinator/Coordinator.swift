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
    /// Where the few tasks run that belong to no caller: those of contexts that merge or save by themselves.
    nonisolated let taskExecutor: (any TaskExecutor)?
    nonisolated let clock: any Clock<Duration>
    private var state: CommitState
    private let journal: Journal?
    private nonisolated let path: String
    nonisolated let storeID: StoreID
    private var queue = CommitQueue()
    private let transactionLimitBytes: Int
    private let checksEveryCommit: Bool
    private let tracer: (@Sendable (CommitTrace) -> Void)?
    /// For transactions that have met a conflict.
    private var retryTurns = TurnQueue()
    /// Why no further save is taken, once that is so.
    private var ending: GraphError?

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
            options: JournalOptions(),
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
            snapshot = replay.snapshot
            next = replay.counters
        } else {
            journal = nil
            self.path = "memory"
            storeID = StoreID(random: options.random)
        }
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
        _ options: JournalOptions,
        keepsIndexes: Bool = false
    ) async throws(GraphError) -> (Journal, StoreReplay) {
        do throws(GraphError) {
            return try await Journal.open(
                at: path,
                schema: SchemaRecord(schema).bytes,
                seal: encode(counters: counters),
                fileSystem: fileSystem,
                options: options,
                into: StoreReplay(schema: schema, path: path, keepsIndexes: keepsIndexes)
            ) { (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in
                try replay.apply(entry)
            } finish: { (replay: inout StoreReplay) throws(GraphError) in
                try replay.finish()
            }
        } catch {
            guard case .invalidRecord = error, !keepsIndexes else { throw error }
            // Which record it is shows to whoever checks each one with all that follows from it.
            return try await open(path, schema, counters, fileSystem, options, keepsIndexes: true)
        }
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
        guard findings.isEmpty else { throw .inconsistent(findings) }
    }

    /// Ends saving and releases the file, after the saves that are under way; contexts that save by themselves do so first. Snapshots and contexts can be read on; saves
    /// throw `.closed`. Closing again only waits until that is done.
    public func close() async throws(GraphError) {
        if ending == nil {
            for context in autosaving.all { await context.saveByItself() }
        }
        ending = ending ?? .closed(path: path)
        // Whoever waits for a save learns of its failure; the file is released in any case.
        try? await waitForDurability()
        published.finish()
        try await journal?.close(Self.encode(counters: counters.all.map { min($0, RowCounters.maximum) }))
    }

    deinit {
        published.finish()
    }

    // MARK: Retrying

    /// Waits until no other transaction is trying again. Instead of backing off for a time that is a guess, they stand in line: the
    /// one in front meets only those that try for the first time.
    func beginRetry() async {
        if !retryTurns.take() { await withCheckedContinuation { retryTurns.wait($0) } }
    }

    func endRetry() {
        retryTurns.pass()
    }

    // MARK: Committing

    /// Judges, records and publishes a save.
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

    /// From the judgement to the place in the queue nothing suspends, so that the order of judgement is the order of the file.
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
            replacements: commit.replacements
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
        // What it is judged against may turn out not to be durable.
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
        var group = queue.takeGroup()
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
        }
        queue.passOn()
        return failure.map { .failure($0.about(group.first?.step?.snapshot.commit)) } ?? .success(())
    }

    /// The group is not in the store, and neither is what was judged on top of it.
    private func fail(_ group: inout [CommitQueue.Entry], _ error: GraphError) {
        state.reset(to: published.value)
        var errorOfFollowers = error
        switch error {
        case .diskFull, .transactionTooLarge: break
        default:
            errorOfFollowers = .storeFailed(path: path, reason: error.description)
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

    private static func encode(counters: [RowNumber]) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendCounters(counters)
        return writer.bytes
    }
}
