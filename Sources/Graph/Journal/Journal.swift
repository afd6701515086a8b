/// One open journal file; blocking I/O happens on its own executor.
///
/// Releasing it without `close` frees the descriptor and the lock and writes nothing: the file then looks as after a kill.
actor Journal {
    enum RecordKind: UInt8, Sendable {
        case schema = 1
        case commit = 2
        case snapshotChunk = 3
        case snapshotEnd = 4
        case close = 5
        case mark = 6
        case consumer = 7
    }

    /// A record to be written.
    struct Record: Sendable, Equatable {
        var kind: RecordKind
        var payload: [UInt8]

        /// Its length in a file.
        var frameBytes: UInt64 { UInt64(JournalFormat.frameBytes(payloadBytes: payload.count)) }
    }

    /// Absolute and without symbolic links.
    nonisolated let path: String
    nonisolated let storeID: StoreID
    /// Whether this open created the file; nothing was replayed then.
    nonisolated let wasCreated: Bool
    /// What was unusual about the file when it was opened.
    nonisolated let diagnostics: [StoreDiagnostic]

    private nonisolated let executor: any SerialExecutor
    private let opening: JournalOpening
    private let processID: Int32
    private let location: JournalLocation
    private let lock: JournalLock
    private var header: JournalHeader
    private var file: any StoreFile
    private var writer: JournalWriter

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The length of everything written, without the zeros ahead.
    var lengthBytes: UInt64 { writer.end }

    /// Whether the disk has room for another file of this length, and for what saves write meanwhile. Yes, if it does not say.
    func hasRoom(for bytes: UInt64) -> Bool {
        guard let available = opening.fileSystem.availableBytes(in: location.directory) else { return true }
        return available >= bytes && available - bytes >= UInt64(opening.options.transactionLimitBytes)
    }

    /// The syncs of groups since the file was opened.
    var syncTimes: SyncTimes { writer.syncTimes }

    /// How often the file was compacted, and one more.
    var generation: UInt64 { header.generation }

    private init(_ opened: JournalOpening.Opened, _ opening: JournalOpening, executor: any SerialExecutor) {
        path = opened.location.text
        storeID = opened.header.storeID
        wasCreated = opened.wasCreated
        diagnostics = opened.diagnostics
        self.executor = executor
        self.opening = opening
        processID = opening.fileSystem.processID
        location = opened.location
        lock = opened.lock
        header = opened.header
        file = opened.file
        writer = opened.writer
    }

    /// Also if somebody else still has the file, as a compaction that was stopped may. Commits that were to be synced within a
    /// second are synced here.
    deinit {
        if writer.phase == .open, writer.unsyncedBytes > 0 { try? file.dataSync() }
        file.close()
        lock.file.close()
    }

    /// Opens a journal, or creates it if there is none of that name.
    ///
    /// - Parameters:
    ///   - schema: The payload of record 1 of a new file; the header holds its SHA-256.
    ///   - seal: The payload of the mark that ends the initial part of a new file.
    ///   - state: What `replay` works on. A new file leaves it as it is.
    ///   - replay: Called on the executor with every record of an existing file in order. If it throws, the file stays
    ///     exactly as it was. The payload is good only during the call.
    ///   - finish: Called on the executor after the last record of an existing file. If it throws, the file stays exactly
    ///     as it was. What it returns is appended, and durable when this returns.
    static func open<State: Sendable>(
        at path: String, schema: [UInt8], seal: [UInt8],
        fileSystem: any StoreFileSystem = PosixFileSystem(),
        executor: any SerialExecutor = JournalExecutor(),
        options: JournalOptions = JournalOptions(),
        into state: State,
        replay: @escaping @Sendable (inout State, JournalEntry) throws(GraphError) -> Void,
        finish: @escaping @Sendable (inout State) throws(GraphError) -> [Record] = { _ in [] }
    ) async throws(GraphError) -> (journal: Journal, state: State) {
        let opening = JournalOpening(fileSystem: fileSystem, options: options)
        let opener = JournalOpener(executor: executor)
        let (opened, result) = try await opener.open(opening, path, schema, seal, state, replay, finish)
        return (Journal(opened, opening, executor: executor), result)
    }

    /// Reads a file without its lock, and changes nothing; parameters as for `open`. A program may write it meanwhile: the state
    /// is that of what was durable at one moment.
    static func read<State: Sendable>(
        at path: String, fileSystem: any StoreFileSystem, options: JournalOptions, into state: State,
        replay: @escaping @Sendable (inout State, JournalEntry) throws(GraphError) -> Void,
        finish: @escaping @Sendable (inout State) throws(GraphError) -> Void
    ) async throws(GraphError) -> (JournalContents, State) {
        let opening = JournalOpening(fileSystem: fileSystem, options: options)
        return try await JournalOpener(executor: JournalExecutor()).run { () throws(GraphError) in
            try opening.read(at: path, into: state, replay: replay, finish: finish)
        }
    }

    /// Opens a file without its lock, for a body that only reads it; parameters as for `open`.
    static func withFile<Result: Sendable>(
        at path: String, fileSystem: any StoreFileSystem, options: JournalOptions,
        _ body: @escaping @Sendable (any StoreFile, JournalLocation, JournalOpening) throws(GraphError) -> Result
    ) async throws(GraphError) -> Result {
        let opening = JournalOpening(fileSystem: fileSystem, options: options)
        return try await JournalOpener(executor: JournalExecutor()).run { () throws(GraphError) in
            let location = try JournalLocation(resolving: path, in: fileSystem)
            let file = try opening.openToRead(location)
            defer { file.close() }
            return try body(file, location, opening)
        }
    }

    /// Runs blocking work on an executor of its own.
    static func onExecutor<Result: Sendable>(
        _ body: @escaping @Sendable () throws(GraphError) -> Result
    ) async throws(GraphError) -> Result {
        try await JournalOpener(executor: JournalExecutor()).run(body)
    }

    /// The header of the file, and the file opened once more by its name, which may have come to lead elsewhere.
    func openAgain() throws(GraphError) -> (header: JournalHeader, file: any StoreFile, isOwn: Bool) {
        let again = try opening.openToRead(location)
        let identity = try opening.attempt(location.path) { () throws(IOError) in try file.extent().identity }
        let found = try opening.attempt(location.path) { () throws(IOError) in try again.extent().identity }
        return (header, again, found == identity)
    }

    /// Begins a file that is to be a copy; parameters as for `open`.
    static func makeCopy(
        at path: String, of storeID: StoreID, schema: [UInt8], baseCommit: CommitNumber,
        fileSystem: any StoreFileSystem, options: JournalOptions
    ) async throws(GraphError) -> JournalSuccessor {
        let opening = JournalOpening(fileSystem: fileSystem, options: options)
        let executor = JournalExecutor(label: "graph.copy")
        return try await JournalOpener(executor: executor).run { () throws(GraphError) in
            try opening.makeCopy(at: path, of: storeID, schema: schema, baseCommit: baseCommit, executor: executor)
        }
    }

    /// Removes a file and what belongs to it.
    static func remove(
        _ path: String, fileSystem: any StoreFileSystem, options: JournalOptions
    ) async throws(GraphError) {
        let opening = JournalOpening(fileSystem: fileSystem, options: options)
        try await JournalOpener(executor: JournalExecutor()).run { () throws(GraphError) in try opening.remove(path) }
    }

    /// Writes the records as one group. Without any it only syncs.
    ///
    /// - Parameter durably: whether it is durable when this returns, with everything before.
    /// - Returns: whether it is, which it may be in any case.
    /// - Throws: `outcomeUnknown` if the group may or may not be found when the file is opened again. Every other error
    ///   means that it was not and will not be applied: `diskFull` and `transactionTooLarge` leave the journal usable,
    ///   any other has made it fail for good.
    @discardableResult
    func write(_ records: [Record], durably: Bool = true) throws(GraphError) -> Bool {
        try requireOwnProcess()
        if records.isEmpty {
            try writer.sync()
        } else {
            try writer.write(records, durably: durably)
        }
        return writer.unsyncedBytes == 0
    }

    /// Appends a mark without waiting for the disk, meant for idle times.
    ///
    /// It shows the next open that the group before it was durable, so that damage to that group is not taken for an unfinished
    /// write.
    func mark(_ payload: [UInt8]) throws(GraphError) {
        try requireOwnProcess()
        try writer.write([Record(kind: .mark, payload: payload)], durably: false)
    }

    /// Writes the close record, cuts off the zeros ahead and releases file and lock, these two even if it throws.
    ///
    /// A second call does nothing; after a failure nothing more is written.
    func close(_ payload: [UInt8]) throws(GraphError) {
        guard writer.phase != .closed else { return }
        defer {
            file.close()
            lock.file.close()
        }
        if opening.fileSystem.processID == processID { try writer.close(payload) }
    }

    // MARK: Compacting

    /// Begins the next generation, whose checkpoint is to have what this one has at the moment.
    ///
    /// - Parameters:
    ///   - schema: as for `open`.
    ///   - executor: where the new file is written.
    func makeSuccessor(
        schema: [UInt8], baseCommit: CommitNumber, executor: any SerialExecutor
    ) throws(GraphError) -> JournalSuccessor {
        try requireOwnProcess()
        try writer.requireUsable()
        let next = JournalHeader(
            storeID: storeID, fileID: StoreID(random: opening.options.random), generation: header.generation + 1,
            baseCommit: baseCommit, previousFileChain: writer.chain, schemaFingerprint: SHA256.digest(schema),
            createdNanoseconds: opening.options.nanosecondsSince1970(), hasCheckpoint: true)
        let (file, temporaryPath) = try opening.makeTemporaryFile(location)
        do throws(IOError) {
            try opening.lock(file)
            let permissions = try repeatingInterrupted { () throws(IOError) in try self.file.status().permissions }
            if permissions != 0o600 {
                try repeatingInterrupted { () throws(IOError) in try file.setPermissions(permissions) }
            }
        } catch {
            file.close()
            try? opening.fileSystem.unlink(temporaryPath)
            throw error.graphError(path: path)
        }
        writer.syncTimes.mark()
        return JournalSuccessor(
            next, file: file, at: temporaryPath, of: location, fileSystem: opening.fileSystem, executor: executor,
            source: (self.file, header.salt), sourceOffset: writer.end)
    }

    /// What the change of generations took.
    struct Replacement: Sendable {
        /// The lengths of both files, with the zeros ahead.
        let oldFileBytes, newFileBytes: UInt64
        let longestGroupSync, longestOwnSync: Duration
        /// For the last commits and the seal of the next generation, and for the renaming.
        let sealing, renaming: Duration
    }

    /// Has the next generation take over the last commits and seals it, then puts it in the place of this one. The caller closes the
    /// old file.
    ///
    /// - Throws: as `replace(by:keepsOld:)`.
    func replace(by next: NextGeneration, sealing payload: [UInt8]) throws(GraphError) -> Replacement {
        let start = ContinuousClock.now
        var next = next
        let sealed = try next.finish(payload, through: writer.end)
        let sealing = ContinuousClock.now - start
        let (oldFileBytes, longestGroupSync) = (writer.fileEnd, writer.syncTimes.longestSinceMark)
        try replace(by: sealed, keepsOld: false)
        return Replacement(
            oldFileBytes: oldFileBytes, newFileBytes: sealed.end, longestGroupSync: longestGroupSync,
            longestOwnSync: sealed.longestSync, sealing: sealing, renaming: ContinuousClock.now - start - sealing)
    }

    /// Puts the next generation, which has everything that this one has, in its place, and leaves this one's name to a migration.
    func replace(byMigrated next: NextGeneration.Sealed) throws(GraphError) {
        let old = file
        try replace(by: next, keepsOld: true)
        old.close()
    }

    /// Puts the next generation, which has everything that this one has, in its place.
    ///
    /// - Throws: if the journal goes on as before, the error of the call that failed, and the caller abandons the next
    ///   generation. `storeFailed` if nobody can know which of the two the path will lead to: either has all groups, but the
    ///   journal takes no more.
    /// - Parameter keepsOld: whether the file that is replaced stays, as `….schema-N` for its generation N. Such files of earlier
    ///   generations are removed.
    private func replace(by next: NextGeneration.Sealed, keepsOld: Bool) throws(GraphError) {
        try requireOwnProcess()
        try writer.requireUsable()
        let identity = try opening.attempt(location.path) { () throws(IOError) in try next.file.extent().identity }
        let kept = keepsOld ? opening.keptPath(location, generation: header.generation) : nil
        try prepareRename(of: next, identity, keptAs: kept)
        try rename(next, identity, keptAs: kept)
        go(on: next, identity)
        if kept != nil { opening.removeKept(location, of: storeID, before: header.generation - 1) }
    }

    /// Has what would fail after the rename fail here, where it costs nothing. For a
    /// compaction the next generation has synced the folder.
    ///
    /// - Parameter kept: the second name of the file that is replaced, if it is to stay.
    private func prepareRename(
        of next: NextGeneration.Sealed, _ identity: FileIdentity, keptAs kept: StorePath?
    ) throws(GraphError) {
        do throws(IOError) {
            let temporary = try repeatingInterrupted { () throws(IOError) in
                try opening.fileSystem.extent(next.temporaryPath)
            }
            guard temporary.identity == identity, temporary.linkCount == 1 else {
                throw IOError(operation: .rename, reason: .other, code: 0)
            }
            if let kept { try opening.keep(location, as: kept) }
        } catch {
            throw error.graphError(path: path)
        }
        guard let kept else { return }
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try opening.fileSystem.syncDirectory(location.directory) }
        } catch {
            try? opening.fileSystem.unlink(kept)
            throw error.graphError(path: path)
        }
    }

    /// Renames the next generation, durably.
    private func rename(
        _ next: NextGeneration.Sealed, _ identity: FileIdentity, keptAs kept: StorePath?
    ) throws(GraphError) {
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in
                try opening.fileSystem.rename(next.temporaryPath, over: location.path)
            }
        } catch {
            // Some systems report an error although they have renamed.
            let extent = try? repeatingInterrupted { () throws(IOError) in
                try opening.fileSystem.extent(location.path)
            }
            guard extent?.identity == identity else {
                let own = try? repeatingInterrupted { () throws(IOError) in try file.extent() }
                guard let own, own.identity == extent?.identity else {
                    throw writer.endForGood(error.summary)
                }
                if let kept { try? opening.fileSystem.unlink(kept) }
                throw error.graphError(path: path)
            }
        }
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try opening.fileSystem.syncDirectory(location.directory) }
            let extent = try repeatingInterrupted { () throws(IOError) in try opening.fileSystem.extent(location.path) }
            guard extent.identity == identity else { throw IOError(operation: .rename, reason: .other, code: 0) }
        } catch {
            throw writer.endForGood(error.summary)
        }
    }

    /// Writes to the next generation from here on.
    private func go(on next: NextGeneration.Sealed, _ identity: FileIdentity) {
        let names = JournalNames(
            fileSystem: opening.fileSystem, journal: JournalName(path: location.path, identity: identity),
            lock: lock.name)
        let syncTimes = writer.syncTimes
        (header, file) = (next.header, next.file)
        writer = JournalWriter(
            file: file, names: names, path: path, header: header, end: next.end, lengthFound: next.end,
            lastSequence: next.lastSequence, chain: next.chain, lockFile: lock.endFile, options: opening.options)
        writer.syncTimes = syncTimes
        // All of it is durable by now, and so is its name: followers go on in it.
        writer.rememberEnd()
    }

    /// A child of `fork` shares the open file, but only the parent may write the journal.
    private func requireOwnProcess() throws(GraphError) {
        guard opening.fileSystem.processID == processID else {
            throw .storeFailed(
                path: path, reason: "process \(processID) opened it, and only that process may save, not its children")
        }
    }
}

/// Runs the blocking work of opening on the executor, before there is a journal that could be isolated to it.
private actor JournalOpener {
    private nonisolated let executor: any SerialExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(executor: any SerialExecutor) {
        self.executor = executor
    }

    func open<State: Sendable>(
        _ opening: JournalOpening, _ path: String, _ schema: [UInt8], _ seal: [UInt8], _ state: State,
        _ replay: @Sendable (inout State, JournalEntry) throws(GraphError) -> Void,
        _ finish: @Sendable (inout State) throws(GraphError) -> [Journal.Record]
    ) throws(GraphError) -> (JournalOpening.Opened, State) {
        var state = state
        let opened = try opening.open(
            at: path, schema: schema, seal: seal, into: &state, replay: replay, finish: finish)
        return (opened, state)
    }

    func run<Result: Sendable>(
        _ body: @Sendable () throws(GraphError) -> Result
    ) throws(GraphError) -> Result {
        try body()
    }
}
