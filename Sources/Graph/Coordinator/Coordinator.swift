/// Owns a store: its newest state, its file, and the order of its commits. Contexts read from it and save to it.
///
/// ```swift
/// let coordinator = try await Coordinator(for: Team.self, Person.self, at: "people.graph")
/// let context = Context(coordinator)
/// ```
///
/// A store without a file keeps every rule, but lives in memory only.
public actor Coordinator {
    let counters: RowCounters
    /// The row counters in the last record of the file. The saves in line may have handed out more, and have lower ones in their
    /// records than `counters` by now; counters in a file never go down.
    var writtenCounters: [RowNumber]
    nonisolated let published: PublishedSnapshot
    nonisolated let autosaving = AutosavingContexts()
    nonisolated let followed = FollowedContexts()
    /// Where the few tasks run that belong to no caller: those of contexts that merge or save by themselves.
    nonisolated let taskExecutor: (any TaskExecutor)?
    nonisolated let clock: any Clock<Duration>
    var state: CoordinatorState
    /// nil if the store has no file, or only reads it.
    let journal: Journal?
    /// Whether the file has more than the program knows of.
    let isPartial: Bool
    /// What the file says of its schema.
    let schemaRecord: SchemaRecord
    nonisolated let path: String
    nonisolated let storeID: StoreID
    /// What opening the file left out, repaired or found odd, in the order in which it found them. Empty without a file, and
    /// for a file in order. It does not change later.
    public nonisolated let diagnostics: [StoreDiagnostic]
    private let tracer: (@Sendable (CommitTrace) -> Void)?
    /// For transactions that have met a conflict.
    var retryLine = RetryLine()
    /// While somebody waits in that line.
    var retryWatch: Task<Void, Never>?
    private var isClosed = false
    /// nil if the coordinator does not compact by itself.
    var automaticCompaction: AutomaticCompaction?
    /// Where the records after the file's checkpoint begin, and when that was written, in nanoseconds since 1970; zeros without
    /// one.
    var checkpoint: (bytes: UInt64, time: UInt64) = (0, 0)
    /// While the file is being compacted.
    var compaction: Task<Result<Void, GraphError>, Never>?
    let idleMarkDelay: Duration?
    var writtenGroups = 0
    /// Waits until nothing was written for a while; nil once a mark shows that the last group was durable.
    var markTimer: Task<Void, Never>?

    /// Opens a store, creating its file if there is none.
    ///
    /// - Parameters:
    ///   - types: all entities of the store.
    ///   - path: the file, `~` not expanded; nil keeps the store in memory only. The coordinator locks the file until
    ///     `close()`, or until it is released.
    ///   - readOnly: whether to read an existing file once and leave it alone, as it is at that moment: nothing is locked, created
    ///     or changed, and another program may have the file open for writing. A schema that differs is converted in memory.
    ///     Contexts can be changed, and saves throw `.readOnly`; so does `close()`, while a context that saves by itself has changes
    ///     that are not discarded.
    ///   - compaction: whether the coordinator compacts the file by itself.
    ///   - migration: how to open files of earlier versions of the program where that does not follow from the schemas alone.
    ///   - dropping: entities of the file with objects, by name, that the program gives up for good; and properties, as
    ///     `Entity.property`, that might have been renamed, and were not.
    ///   - checksEveryCommit: checks every save as ``check()`` does before accepting it; a save that would break the store
    ///     throws `.inconsistent`. For tests: it takes time in proportion to the store.
    ///   - trace: gets a report of each save. It runs on the coordinator, so keep it brief. nil prints the reports if the
    ///     environment has `GRAPH_TRACE=1`.
    /// - Throws: `.invalidSchema`, and for a file `.notAStore`, `.unsupportedVersion`, `.schemaMismatch`, `.migrationFailed`,
    ///   `.migrationStepFailed`, `.corrupt`, `.invalidRecord`, `.valueNotReadable`, `.notUnique`, `.alreadyOpen`,
    ///   `.directoryMissing`, `.permissionDenied`, `.unusableFile`, `.diskFull` or `.inputOutput`. The file is then left
    ///   unchanged. If the file takes note of a change in the schema, also `.outcomeUnknown`: opening it again shows whether it
    ///   has.
    ///
    /// Complexity: O(*s* + *c* log *c*) for *s* bytes and *c* changes of rows and links in the file.
    public init<each E: Entity>(
        for types: repeat (each E).Type,
        at path: String? = nil,
        readOnly: Bool = false,
        compaction: CompactionPolicy = .automatic,
        migration: MigrationPlan? = nil,
        dropping: [String] = [],
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
            readOnly: readOnly,
            compaction: compaction,
            migration: migration,
            dropping: dropping,
            checksEveryCommit: checksEveryCommit,
            trace: trace
        )
    }

    init(
        _ schema: Schema,
        path: String?,
        fileSystem: any StoreFileSystem,
        options: JournalOptions,
        readOnly: Bool = false,
        compaction: CompactionPolicy = .automatic,
        migration: MigrationPlan? = nil,
        dropping: [String] = [],
        checksEveryCommit: Bool = false,
        trace: (@Sendable (CommitTrace) -> Void)? = nil,
        taskExecutor: (any TaskExecutor)? = nil,
        initial: (snapshot: Snapshot, counters: [RowNumber])? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(GraphError) {
        tracer = trace ?? CommitTrace.printer
        self.taskExecutor = taskExecutor
        self.clock = clock
        var snapshot = initial?.snapshot ?? Snapshot(schema: schema)
        var next = initial?.counters ?? schema.firstRows
        var storage = CoordinatorState.Storage.memory
        if let path {
            let opening = StoreOpening(
                path: path, schema: schema, fileSystem: fileSystem, options: options, dropping: dropping,
                plan: migration, isReadOnly: readOnly)
            let opened = try await opening.open()
            journal = opened.source.journal
            self.path = opened.source.path
            storage =
                readOnly
                ? .readOnly(path: self.path)
                : .file(path: self.path, transactionBytes: options.transactionLimitBytes)
            isPartial = opened.isPartial
            storeID = opened.source.storeID
            schemaRecord = opened.record
            diagnostics = opened.diagnostics
            StoreDiagnostic.trace(diagnostics, path: self.path)
            snapshot = opened.snapshot
            next = opened.counters
            checkpoint = opened.checkpoint
            if let journal, compaction == .automatic, !diagnostics.contains(where: { $0.kind == .unreadValues }) {
                automaticCompaction = AutomaticCompaction(
                    fileBytes: await journal.lengthBytes, checkpointBytes: opened.checkpoint.bytes,
                    minimumBytes: options.compactionMinimumBytes)
            }
        } else {
            guard !readOnly else {
                throw .unusableFile(path: "memory", reason: "read-only opening needs a file: name one")
            }
            schemaRecord = SchemaRecord(schema)
            journal = nil
            isPartial = false
            self.path = "memory"
            storeID = StoreID(random: options.random)
            diagnostics = []
        }
        idleMarkDelay = options.idleMarkDelay
        counters = RowCounters(next: next)
        writtenCounters = next
        published = PublishedSnapshot(snapshot)
        state = CoordinatorState(
            snapshot,
            counters: counters,
            storage: storage,
            checksEveryCommit: checksEveryCommit
        )
        compactIfWorthwhile()
    }

    /// A store in memory that begins with this state.
    init(of snapshot: Snapshot, counters: [RowNumber]) async throws(GraphError) {
        try await self.init(
            snapshot.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            initial: (snapshot, counters))
    }

    /// Finds out what opening a file with this program's schema would do to it, and leaves the file alone. It reads all of it,
    /// as read-only opening does, and runs the steps of the plan in memory.
    ///
    /// - Parameters: as for opening the store.
    /// - Throws: `.unusableFile` if there is no file, what a coordinator throws that cannot open it for another reason than its
    ///   schema, and `.migrationStepFailed`.
    ///
    /// Complexity: that of opening the store.
    public static func migrationPreview<each E: Entity>(
        for types: repeat (each E).Type,
        at path: String,
        migration: MigrationPlan? = nil,
        dropping: [String] = []
    ) async throws(GraphError) -> MigrationPreview {
        var entities: [EntityDescription] = []
        repeat entities.append(EntityDescription((each E).self))
        let opening = StoreOpening(
            path: path, schema: try Schema(entities), fileSystem: PosixFileSystem(), options: JournalOptions(),
            dropping: dropping, plan: migration)
        return try await opening.preview()
    }

    /// The newest durable state. Reading it does not wait for the coordinator.
    ///
    /// Complexity: O(1).
    public nonisolated var snapshot: Snapshot { published.value }

    /// Checks every index, inverse, reference, unique value and count of the newest durable state against its rows and links.
    /// Returns one line for each error found, which is a bug in Graph; none if the store is sound.
    ///
    /// Complexity: O(*n* log *n*) for *n* objects and links.
    public nonisolated func check() -> [String] { snapshot.check() }

    /// Stops saving and releases the file, after the saves that are under way. Contexts with ``Context/autosave`` save first.
    /// Snapshots and contexts stay readable; saves throw `.closed`. Closing again only waits until the store is closed.
    ///
    /// - Parameter discardingChanges: whether to close without these automatic saves; the contexts' unsaved changes are then
    ///   lost. Use it to close when a save fails and you cannot correct that.
    /// - Throws: what an automatic save throws, the first of several failures, after all contexts have tried: the coordinator
    ///   is then still open, and the context has its changes. Also an error of the file while closing it: the coordinator is
    ///   then closed.
    ///
    /// Complexity: that of the saves that it waits for and of those that it makes.
    public func close(discardingChanges: Bool = false) async throws(GraphError) {
        if !isClosed, !discardingChanges { try await saveContexts() }
        isClosed = true
        state.end(.closed(path: path))
        markTimer?.cancel()
        compaction?.cancel()
        _ = await compaction?.value
        // The programs that wait for saves learn of failures; the file is released in any case.
        try? await waitForDurability()
        published.finish()
        followed.close()
        try await journal?.close(Self.encode(counters: usedCounters))
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
        compaction?.cancel()
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
        case waiting(CommitTicket, PreparedCommit)
    }

    private func submit(_ request: SaveRequest) async throws(GraphError) -> Submission {
        var trace = tracer.map { _ in CommitTrace(store: path, origin: request.origin) }
        do throws(GraphError) {
            if let ending = state.ending { throw ending }
            return try await submit(request, &trace)
        } catch {
            report(&trace, error)
            throw error
        }
    }

    private func submit(
        _ request: SaveRequest,
        _ trace: inout CommitTrace?
    ) async throws(GraphError) -> Submission {
        let (commit, admission): (PreparedCommit, CoordinatorState.Admission)
        do throws(GraphError) {
            (commit, admission) = try state.admit(request, at: PosixFileSystem.nanosecondsSince1970(), &trace)
        } catch {
            // The answer may rest on a commit that is not durable yet.
            try await waitForDurability()
            throw error
        }
        switch admission {
        case .nothing:
            try await waitForDurability()
            report(&trace)
        case .accepted:
            published.publish([commit.step])
            report(&trace)
        case .leads:
            try await lead().get()
        case .waits(let ticket):
            // The first one behind a group leads the next one. It waits here, since its context may be busy when its turn
            // comes.
            guard state.queue.count == 1 else { return .waiting(ticket, commit) }
            try await turn(of: ticket).get()
        }
        return .done(outcome(of: commit))
    }

    private nonisolated func outcome(of commit: PreparedCommit) -> Outcome {
        let newest = published.value
        return Outcome(
            base: ContextBase(snapshot: newest),
            isAsCaptured: commit.isAsRequested && !commit.isEmpty && newest.commit == commit.number,
            replacements: commit.replacements,
            overwritten: commit.overwritten,
            resolved: commit.resolved,
            commit: commit.isEmpty ? nil : (commit.number, commit.state.difference)
        )
    }

    /// Tells the tracer what became of a save, once.
    private func report(_ trace: inout CommitTrace?, _ error: GraphError? = nil) {
        guard var report = trace.take(), let tracer else { return }
        report.error = error
        tracer(report)
    }

    /// What a save would come to.
    func preview(_ request: SaveRequest) async throws(GraphError) -> PreparedCommit {
        if let ending = state.ending { throw ending }
        // What it is checked against may turn out not to be durable.
        try await waitForDurability()
        return try state.commits.prepare(request)
    }

    /// How many answers wait for the next group.
    var waitingSaveCount: Int { state.queue.count }

    /// Returns when every commit so far is durable; throws what kept one of them from it.
    private func waitForDurability() async throws(GraphError) {
        guard state.queue.isBusy, let ticket = state.queue.append(CommitQueue.Entry()) else { return }
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
        while state.queue.isWorthWaiting() { await Task.yield() }
        var group = state.queue.takeGroup(limitBytes: JournalFormat.groupLimitBytes)
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
            writtenCounters = group.last { $0.counters != nil }?.counters ?? writtenCounters
            published.publish(group.compactMap(\.step))
            for place in group.indices {
                report(&group[place].trace)
                group[place].answer(.success(()))
            }
            if !records.isEmpty {
                startMarkTimer()
                automaticCompaction?.didWrite(
                    records.reduce(0) { $0 + UInt64(JournalFormat.frameBytes(payloadBytes: $1.payload.count)) })
                compactIfWorthwhile()
            }
        }
        state.queue.passOn()
        return failure.map { .failure($0.about(group.first?.step?.snapshot.commit)) } ?? .success(())
    }

    /// The group is not in the store, and neither is what was checked on top of it.
    private func fail(_ group: inout [CommitQueue.Entry], _ error: GraphError) {
        var (followers, errorOfFollowers) = state.fail(error, durable: published.value, path: path)
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
}
