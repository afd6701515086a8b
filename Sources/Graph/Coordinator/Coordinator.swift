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
    /// The last state in the file, which may be behind the published one, and the row counters in its last record. The saves in
    /// line may have handed out more, and have lower ones in their records than `counters` by now; counters in a file never go
    /// down.
    var written: (snapshot: Snapshot, counters: [RowNumber])
    /// The last commit that is known to be durable.
    var syncedCommit: CommitNumber
    /// Names the first of the commits whose saves have returned, and which may not be in the file.
    var commitsInDoubt: GraphError?
    nonisolated let published: PublishedSnapshot
    nonisolated let autosaving = AutosavingContexts()
    nonisolated let followed = FollowedContexts()
    /// Where the few tasks run that belong to no caller: those of contexts that merge or save by themselves.
    nonisolated let taskExecutor: (any TaskExecutor)?
    nonisolated let clock: any Clock<Duration>
    var state: CoordinatorState
    /// nil unless others save to the same log.
    var sharing: SharedSaves?
    /// Whether it saves to a log, whose answers may be lost.
    nonisolated let hasLog: Bool
    /// Of a record for a log.
    var lastRecordTime: UInt64 = 0
    /// The newest commits, once others read them as a log, and the file, while one reads further back.
    var servedRecords: ServedRecords?
    var servedFile: RecordedCommits?
    /// Of programs that save to this store's file as a log.
    var lateAppends = LateAppends()
    /// nil if the store has no file, or only reads it.
    let journal: Journal?
    private(set) var historySource: HistorySource
    /// Whether the file has more than the program knows of.
    let isPartial: Bool
    /// What the file says of its schema.
    var schemaRecord: SchemaRecord
    nonisolated let path: String
    nonisolated let storeID: StoreID
    /// What opening the file left out, repaired or found odd, in the order in which it found them. Empty without a file, and
    /// for a file in order. It does not change later.
    public nonisolated let diagnostics: [StoreDiagnostic]
    let tracer: (@Sendable (CommitTrace) -> Void)?
    /// For transactions that have met a conflict.
    var retryLine = RetryLine()
    /// While somebody waits in that line.
    var retryWatch: Task<Void, Never>?
    private(set) var isClosed = false
    /// The last commit so far with values of which the program's types do not read everything: a compaction would lose that.
    var unreadCommit: CommitNumber?
    /// nil if the coordinator does not compact by itself, or not before the program does.
    var automaticCompaction: AutomaticCompaction?
    /// The least that a compaction must free for the coordinator to make it by itself; nil if it makes none.
    let automaticMinimumBytes: UInt64?
    /// Why the last compaction failed, if it did.
    var compactionFailure: GraphError?
    /// Of the file.
    var checkpoint: CheckpointFigures
    /// Of history, by name, the last commit that each has read.
    public internal(set) var consumers: [String: HistoryToken]
    /// How much history is retained.
    let retention: HistoryRetention
    /// Compactions retain no commit up to this one.
    var historyDeletedThrough = CommitNumber.none
    /// What the last compaction took that succeeded.
    package internal(set) var lastCompaction: CompactionFigures?
    /// While the file is being compacted.
    var compaction: Task<Result<Void, GraphError>, Never>?
    /// Tells how far that one is.
    var compactionMeter = ProgressMeter()
    /// Also how long a commit waits for a sync at most.
    let idleMarkDelay: Duration?
    var writtenGroups = 0
    /// Waits until nothing was written for a while; nil once a mark shows that the last group was durable.
    var markTimer: Task<Void, Never>?

    /// Opens a store, creating its file if there is none. A store that has had several writers (``CommitLog``) gets a commit without
    /// changes, which gives this one row numbers of its own.
    ///
    /// - Parameters:
    ///   - types: all entities of the store.
    ///   - path: the file, `~` not expanded; nil keeps the store in memory only. The coordinator locks the file until
    ///     `close()`, or until it is released.
    ///   - readOnly: whether to read an existing file as it is at that moment and leave it alone: nothing is locked, created
    ///     or changed, and another program may have the file open for writing. A schema that differs is converted in memory.
    ///     Contexts can be changed, and saves throw `.readOnly`; so does `close()`, while a context that saves by itself has changes
    ///     that are not discarded.
    ///   - durability: what saves wait for, unless they ask for more.
    ///   - compaction: whether the coordinator compacts the file by itself.
    ///   - retention: how much history a compaction leaves, and how much a store in memory keeps. It is not in the file: each program
    ///     that opens it for writing says so itself.
    ///   - migration: how to open files of earlier versions of the program where that does not follow from the schemas alone.
    ///   - dropping: entities of the file with objects, by name, that the program gives up for good; and properties, as
    ///     `Entity.property`, that might have been renamed, and were not.
    ///   - progress: is told how far the opening is, at most a hundred times for each stage; from any task, so keep it brief.
    ///   - checksEveryCommit: checks every save as ``check()`` does before accepting it; a save that would break the store
    ///     throws `.inconsistent`. For tests: it takes time in proportion to the store.
    ///   - trace: gets a report of each save. It runs on the coordinator, so keep it brief. nil prints the reports if the
    ///     environment has `GRAPH_TRACE=1`.
    /// - Throws: `.invalidSchema`, and for a file `.notAStore`, `.unsupportedVersion`, `.schemaMismatch`, `.migrationFailed`,
    ///   `.migrationStepFailed`, `.corrupt`, `.invalidRecord`, `.valueNotReadable`, `.notUnique`, `.alreadyOpen`,
    ///   `.directoryMissing`, `.permissionDenied`, `.unusableFile`, `.diskFull` or `.inputOutput`. The file is then left
    ///   unchanged. `.outcomeUnknown` if recording a change of the schema failed: opening the file again shows whether it was
    ///   recorded.
    ///
    /// Complexity: O(*s* + *c* log *c*) for *s* bytes and *c* changes of rows and links in the file.
    public init<each E: Entity>(
        for types: repeat (each E).Type,
        at path: String? = nil,
        readOnly: Bool = false,
        durability: Durability = .full,
        compaction: CompactionPolicy = .automatic,
        retention: HistoryRetention = HistoryRetention(),
        migration: MigrationPlan? = nil,
        dropping: [String] = [],
        progress: (@Sendable (StoreProgress) -> Void)? = nil,
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
            durability: durability,
            compaction: compaction,
            retention: retention,
            migration: migration,
            dropping: dropping,
            progress: progress,
            checksEveryCommit: checksEveryCommit,
            trace: trace
        )
    }

    /// - Parameter insertsObjects: whether the program needs row numbers of its own.
    init(
        _ schema: Schema,
        path: String?,
        fileSystem: any StoreFileSystem,
        options: JournalOptions,
        readOnly: Bool = false,
        durability: Durability = .full,
        compaction: CompactionPolicy = .automatic,
        retention: HistoryRetention = HistoryRetention(),
        migration: MigrationPlan? = nil,
        dropping: [String] = [],
        progress: (@Sendable (StoreProgress) -> Void)? = nil,
        checksEveryCommit: Bool = false,
        trace: (@Sendable (CommitTrace) -> Void)? = nil,
        taskExecutor: (any TaskExecutor)? = nil,
        initial: (snapshot: Snapshot, counters: [RowNumber], storeID: StoreID?, record: SchemaRecord?)? = nil,
        isReceived: Bool = false,
        insertsObjects: Bool = true,
        log: (any CommitLog)? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(GraphError) {
        tracer = trace ?? CommitTrace.printer
        hasLog = log != nil
        self.taskExecutor = taskExecutor
        self.clock = clock
        self.retention = retention
        idleMarkDelay = options.idleMarkDelay
        automaticMinimumBytes = compaction == .automatic ? options.compactionMinimumBytes : nil
        _ = try migration?.schemas(endingWith: schema)
        let opened: OpenedStore
        if let path {
            opened = try await StoreOpening(
                path: path, schema: schema, fileSystem: fileSystem, options: options, dropping: dropping,
                plan: migration, retention: retention, isReadOnly: readOnly, isReceived: isReceived || log != nil,
                meter: progress.map { ProgressMeter($0) }
            ).open()
        } else {
            guard !readOnly else {
                throw .unusableFile(path: "memory", reason: "read-only opening needs a file: name one")
            }
            let initial = initial ?? (Snapshot(schema: schema), schema.firstRows, nil, nil)
            opened = OpenedStore(
                inMemory: (initial.snapshot, initial.counters), initial.storeID ?? StoreID(random: options.random),
                initial.record ?? SchemaRecord(schema, version: migration?.newestVersion))
        }
        (self.path, storeID, journal) = (opened.source.path, opened.source.storeID, opened.source.journal)
        (schemaRecord, isPartial, checkpoint) = (opened.record, opened.isPartial, opened.checkpoint)
        diagnostics = opened.diagnostics
        counters = RowCounters(next: opened.counters)
        var snapshot = opened.snapshot
        snapshot.token.store = storeID
        checkpoint.oldest.store = storeID
        let store = storeID
        consumers = opened.consumers.mapValues { $0.of(store) }
        written = (snapshot, opened.counters)
        syncedCommit = snapshot.commit
        historySource = HistorySource(opened)
        published = PublishedSnapshot(snapshot, keeping: path == nil ? retention : nil)
        state = CoordinatorState(
            snapshot,
            counters: counters,
            storage: .init(opened.source, isInMemory: path == nil, isReceived: isReceived, options),
            durability: durability,
            checksEveryCommit: checksEveryCommit
        )
        report(opened)
        if let log {
            try await join(log, transactionBytes: options.transactionLimitBytes, random: options.random)
        } else if insertsObjects {
            try await joinOwnFile()
        }
        // A file that was just converted has nothing more that the program's types do not read.
        if !opened.isMigrated, diagnostics.contains(where: { $0.kind == .unreadValues }) {
            unreadCommit = written.snapshot.commit
        }
        await startAutomaticCompaction()
    }

    /// Tells what opening the store has found and done.
    private func report(_ opened: OpenedStore) {
        StoreDiagnostic.trace(diagnostics, path: path)
        guard opened.isMigrated, let tracer else { return }
        var origin = ChangeOrigin()
        (origin.commit, origin.isMigration) = (opened.snapshot.commit, true)
        tracer(CommitTrace(store: path, origin: origin))
    }

    private func startAutomaticCompaction() async {
        guard let journal, let automaticMinimumBytes, unreadCommit == nil else { return }
        automaticCompaction = AutomaticCompaction(
            fileBytes: await journal.lengthBytes, checkpoint, minimumBytes: automaticMinimumBytes)
        compactIfWorthwhile()
    }

    /// A store in memory that begins with this state.
    init(of snapshot: Snapshot, counters: [RowNumber], record: SchemaRecord? = nil) async throws(GraphError) {
        try await self.init(
            snapshot.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            initial: (snapshot, counters, nil, record))
    }

    /// Finds out what opening a file with this program's schema would do to it, and leaves the file alone. It reads all of it,
    /// as read-only opening does, and runs the steps of the plan in memory.
    ///
    /// - Parameters: as for opening the store.
    /// - Throws: `.unusableFile` if there is no file; what opening the store throws for reasons other than the schema;
    ///   `.migrationStepFailed`; `.schemaMismatch` if the file has the program's schema but a version that the plan lacks.
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

    /// The newest committed state. Reading it does not wait for the coordinator.
    ///
    /// Complexity: O(1).
    public nonisolated var snapshot: Snapshot { published.value }

    /// Checks every index, inverse, reference, unique value and count of the newest committed state against its rows and links.
    /// Returns one line for each error found, which is a bug in Graph; none if the store is sound.
    ///
    /// Complexity: O(*n* log *n*) for *n* objects and links.
    public nonisolated func check() -> [String] { snapshot.check() }

    /// Stops saving and releases the file, after the saves that are under way. Contexts with ``Context/autosave`` save first.
    /// Every commit is durable then, whatever its level. Snapshots and contexts stay readable; saves throw `.closed`. Closing again
    /// only waits until the store is closed.
    ///
    /// - Parameter discardingChanges: whether to close without these automatic saves; the contexts' unsaved changes are then
    ///   lost. Use it to close when a save fails and you cannot correct that.
    /// - Throws: what an automatic save throws. All contexts try to save first, and if several fail, the first error is thrown; the
    ///   coordinator then stays open, and the contexts keep their changes. `.diskFull`: commits of the level `.none` could not be
    ///   written yet, and the coordinator stays open too. Any other error of the file: the coordinator is closed. `.outcomeUnknown`
    ///   names the first commit whose save has returned and which may be missing when the file is opened again.
    ///
    /// Complexity: that of the saves that it waits for and of those that it makes.
    public func close(discardingChanges: Bool = false) async throws(GraphError) {
        let wasClosed = isClosed
        state.queue.closingCount += 1
        defer { state.queue.closingCount -= 1 }
        if !isClosed, !discardingChanges {
            try await saveContexts()
            await endGivingWay()
            try await writePublished()
        }
        isClosed = true
        await endSharing()
        state.end(.closed(path: path))
        markTimer?.cancel()
        compaction?.cancel()
        _ = await compaction?.value
        do throws(GraphError) {
            try await writePublished()
        } catch {
            doubtCommits(error)
        }
        published.finish()
        followed.close()
        // Closes a file that was only read.
        historySource = .nothing
        do throws(GraphError) {
            try await journal?.close(RowCounters.encode(usedCounters))
        } catch {
            throw commitsInDoubt ?? (hasUnsyncedCommits && sharing == nil ? error.about(syncedCommit.next) : error)
        }
        if !wasClosed, let commitsInDoubt { throw commitsInDoubt }
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
        sharing?.following?.cancel()
        markTimer?.cancel()
        compaction?.cancel()
    }
}
