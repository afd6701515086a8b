/// A file that was opened, made, or only read.
struct StoreSource: Sendable {
    let path: String
    let storeID: StoreID
    let diagnostics: [StoreDiagnostic]
    /// nil if the file is only read.
    let journal: Journal?
    /// The file as far as it was read; nil if it is not only read.
    let readFile: JournalFile?

    init(_ journal: Journal) {
        (path, storeID, diagnostics) = (journal.path, journal.storeID, journal.diagnostics)
        (self.journal, readFile) = (journal, nil)
    }

    init(_ contents: JournalContents) {
        (path, storeID, diagnostics) = (contents.path, contents.storeID, contents.diagnostics)
        (journal, readFile) = (nil, contents.tail.readFile)
    }

    var wasCreated: Bool { journal?.wasCreated ?? false }
}

/// A store, and what is in it.
struct OpenedStore: Sendable {
    let source: StoreSource
    let snapshot: Snapshot
    /// By entity, the first row number to hand out.
    let counters: [RowNumber]
    /// What the file's last schema record says.
    let record: SchemaRecord
    let diagnostics: [StoreDiagnostic]
    var checkpoint = CheckpointFigures()
    /// Of history, by name.
    var consumers: [String: HistoryToken] = [:]
    /// Whether the file has more than the program knows of, which an older program only reads.
    var isPartial = false
    /// Whether the state is not the file's, but was made from it, in a commit of its own.
    var isMigrated = false
    /// Whether the records of the file are of another schema than the state.
    var isConverted = false
}

/// How to open a file.
struct StoreOpening: Sendable {
    let path: String
    let schema: Schema
    let fileSystem: any StoreFileSystem
    var options: JournalOptions
    /// Entities and properties of the file that the program gives up for good.
    let dropping: [String]
    var plan: MigrationPlan?
    /// Of the history that a migration takes along.
    var retention = HistoryRetention()
    var isReadOnly = false
    /// Whether the file is a copy that goes on with what it receives, and is told nothing else.
    var isReceived = false
    var meter: ProgressMeter?

    /// Opens a file, or makes one, and replays it.
    func open() async throws(GraphError) -> OpenedStore {
        if isReceived { try await requireFile() }
        do throws(GraphError) {
            let (source, replay) = try await replay(keepsIndexes: false) {
                (replay: inout StoreReplay) throws(GraphError) in
                // Even if the file could take note of all that has changed, or nothing has, a plan may have something to say.
                let isEmpty = replay.snapshot.entities.allSatisfy { $0.rows.count == 0 }
                if plan != nil, try hasSteps(for: replay.fileRecord, isEmpty: isEmpty) { throw try replay.mismatch() }
                let records = try replay.finish()
                return isReceived ? [] : records
            }
            guard !source.wasCreated else { return empty(source) }
            return OpenedStore(
                source: source,
                snapshot: replay.snapshot,
                counters: replay.counters,
                record: isReceived ? replay.fileRecord : replay.record,
                diagnostics: source.diagnostics + replay.remarks.map { StoreDiagnostic(.otherValues, $0) }
                    + replay.unreadProperties.map { StoreDiagnostic.unreadValues(of: $0) }
                    + StoreDiagnostic.changes(try replay.changes()),
                checkpoint: replay.checkpointFigures,
                consumers: replay.consumers,
                isPartial: isReadOnly && plan?.unknownVersion(of: replay.fileRecord) != nil
            )
        } catch {
            switch error {
            case .invalidRecord: throw await refusal(error)
            case .schemaMismatch where !isReceived: return try await migrate()
            // A step may replace what the program's types no longer read, and a default what was nil.
            case .valueNotReadable
            where plan != nil
                || (!isReceived && schema.entities.contains { $0.properties.contains(where: \.replacesNull) }):
                return try await migrate(unreadable: error)
            default: throw error
            }
        }
    }

    private func requireFile() async throws(GraphError) {
        let opening = JournalOpening(fileSystem: fileSystem, options: options)
        try await Journal.onExecutor { [path] () throws(GraphError) in
            let location = try JournalLocation(resolving: path, in: opening.fileSystem)
            guard try opening.statusIfExists(location.path) == nil else { return }
            throw .unusableFile(
                path: location.text, reason: "there is no file: bring a copy there, which Coordinator.copy(to:) makes")
        }
    }

    func empty(_ source: StoreSource) -> OpenedStore {
        OpenedStore(
            source: source,
            snapshot: Snapshot(schema: schema),
            counters: schema.firstRows,
            record: programRecord,
            diagnostics: source.diagnostics
        )
    }

    /// Which record is wrong shows to a replay that checks each one with all that follows from it. That is all that this is
    /// for: a file that was refused once is not opened because it passes the second time, and never written to.
    private func refusal(_ refusal: GraphError) async -> GraphError {
        do throws(GraphError) {
            _ = try await replay(keepsIndexes: true) { (_: inout StoreReplay) throws(GraphError) in throw refusal }
        } catch {
            if case .invalidRecord = error { return error }
        }
        return refusal
    }

    private func replay(
        keepsIndexes: Bool,
        finish: @escaping @Sendable (inout StoreReplay) throws(GraphError) -> [Journal.Record]
    ) async throws(GraphError) -> (StoreSource, StoreReplay) {
        try await open(
            into: StoreReplay(schema: schema, programRecord, path: path, keepsIndexes: keepsIndexes),
            replay: { (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in try replay.apply(entry) },
            finish: finish
        )
    }

    /// - Parameter finish: what it returns is not appended to a file that is only read.
    func open<State: Sendable>(
        into state: State,
        replay: @escaping @Sendable (inout State, JournalEntry) throws(GraphError) -> Void,
        finish: @escaping @Sendable (inout State) throws(GraphError) -> [Journal.Record]
    ) async throws(GraphError) -> (StoreSource, State) {
        let (replay, finish) = (meter?.measured(replay) ?? replay, meter?.measured(finish) ?? finish)
        guard !isReadOnly else {
            let (contents, result) = try await Journal.read(
                at: path, fileSystem: fileSystem, options: options, into: state, replay: replay,
                finish: { (state: inout State) throws(GraphError) in _ = try finish(&state) })
            return (StoreSource(contents), result)
        }
        let (journal, result) = try await Journal.open(
            at: path,
            schema: programRecord.bytes,
            seal: RowCounters.encode(schema.firstRows),
            fileSystem: fileSystem,
            options: options,
            into: state,
            replay: replay,
            finish: finish
        )
        return (StoreSource(journal), result)
    }
}

extension ProgressMeter {
    /// Replays and tells how much of the file was read.
    func measured<State>(
        _ replay: @escaping @Sendable (inout State, JournalEntry) throws(GraphError) -> Void
    ) -> @Sendable (inout State, JournalEntry) throws(GraphError) -> Void {
        { (state: inout State, entry: JournalEntry) throws(GraphError) in
            try replay(&state, entry)
            self.report(.reading, entry.endOffset, of: entry.fileBytes)
        }
    }

    /// Ends a replay and tells when that begins and ends.
    func measured<State, Result>(
        _ finish: @escaping @Sendable (inout State) throws(GraphError) -> Result
    ) -> @Sendable (inout State) throws(GraphError) -> Result {
        { (state: inout State) throws(GraphError) in
            self.report(.reading, 1, of: 1)
            self.report(.checking, 0, of: 1)
            let result = try finish(&state)
            self.report(.checking, 1, of: 1)
            return result
        }
    }
}

extension Coordinator {
    /// As files may have them. Those of other writers may be higher than what this program has handed out.
    var usedCounters: [RowNumber] {
        zip(counters.all, written.counters).map { min(max($0, $1), RowCounters.maximum) }
    }
}
