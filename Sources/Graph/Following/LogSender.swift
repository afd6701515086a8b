/// The commits of a store's file as bytes, for a copy of the store on another machine, which a ``LogReceiver`` keeps.
///
/// ```swift
/// for try await bytes in LogSender(at: "photos.graph", since: token) {
///     try await connection.send(bytes)
/// }
/// ```
///
/// The token is the receiver's: a connection has to bring it here, and the bytes there, in their order. It begins behind that
/// commit, and sends what is durable, as a ``Follower`` shows it: it may run in the program that writes the file or in any other
/// one, and takes no lock. Of a file that a compaction has replaced it sends the commits that the new one retains; a
/// ``HistoryConsumer`` for each copy keeps them as long as they are needed.
///
/// Every iteration begins anew. Pieces have some 256 KiB at most, or one commit. Nothing is read ahead, so a slow connection delays
/// nobody but its copy.
public struct LogSender: AsyncSequence, Sendable {
    private let path: String
    private let token: HistoryToken
    private let waits: Bool
    private let fileSystem: any StoreFileSystem
    private let options: JournalOptions

    /// - Parameters:
    ///   - path: the file, which has to exist.
    ///   - token: of the newest commit that the copy has, ``LogReceiver/token``.
    ///   - waits: whether to go on with commits that are yet to come, until the task is cancelled; otherwise it ends behind the
    ///     newest durable one.
    ///
    /// Complexity: O(1).
    public init(at path: String, since token: HistoryToken, waitingForMore waits: Bool = true) {
        self.init(path, token, waits, PosixFileSystem(), JournalOptions())
    }

    init(
        _ path: String, _ token: HistoryToken, _ waits: Bool, _ fileSystem: any StoreFileSystem,
        _ options: JournalOptions
    ) {
        (self.path, self.token, self.waits, self.fileSystem, self.options) = (path, token, waits, fileSystem, options)
    }

    /// Begins behind the token.
    public func makeAsyncIterator() -> Iterator {
        Iterator(feed: LogFeed(path, token, waits, fileSystem, options))
    }

    /// Goes from piece to piece.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let feed: LogFeed

        /// The next piece; nil at the end, or when the task is cancelled.
        ///
        /// - Throws: `.tokenOfOtherStore`; `.historyDiverged`, if the file does not have the token's commit: the copy has commits
        ///   that were never in this file, or are no longer, and has to be made anew. `.historyExpired`, if the commits since are no
        ///   longer retained: likewise. `.unusableFile`, if the file is not there or was removed; errors of the file. The iteration
        ///   has ended then.
        ///
        /// Complexity: O(*b*) for *b* bytes of the piece. The first one also takes O(*c*) for the bytes of commits in the file
        /// before the token.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(GraphError) -> [UInt8]? {
            try await feed.next()
        }

        /// The same from no particular isolation.
        public mutating func next() async throws(GraphError) -> [UInt8]? { try await feed.next() }
    }
}

/// Reads a log's records on a thread of its own.
private actor LogFeed {
    private nonisolated let executor: any SerialExecutor
    private let path: String
    /// Where the log begins.
    private let token: HistoryToken
    /// Of the last commit that was sent.
    private var fingerprint: UInt64
    private let waits: Bool
    private let opening: JournalOpening
    /// nil until the first piece is asked for.
    private var open: (records: DurableRecords, log: LogWriter, changes: FileChanges?)?
    private var hasEnded = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        _ path: String, _ token: HistoryToken, _ waits: Bool, _ fileSystem: any StoreFileSystem,
        _ options: JournalOptions
    ) {
        executor = JournalExecutor(label: "graph.sender")
        (self.path, self.token, self.waits, fingerprint) = (path, token, waits, token.fingerprint)
        opening = JournalOpening(fileSystem: fileSystem, options: options)
    }

    func next() async throws(GraphError) -> [UInt8]? {
        while !hasEnded, !Task.isCancelled {
            let changes: (FileChanges, UInt64)?
            do throws(GraphError) {
                // What changes from here on is looked for again.
                changes = try begin().map { ($0, $0.count) }
                if let piece = try piece() { return piece }
            } catch {
                end()
                throw error
            }
            guard let (changes, count) = changes else { break }
            await changes.wait(after: count)
        }
        end()
        return nil
    }

    private func begin() throws(GraphError) -> FileChanges? {
        if let open { return open.changes }
        let location = try JournalLocation(resolving: path, in: opening.fileSystem)
        let changes = waits ? FileChanges(of: location, in: opening.fileSystem) : nil
        let log = LogWriter(since: token, salt: UInt32(truncatingIfNeeded: opening.options.random()))
        open = (try DurableRecords(opening, location, since: token), log, changes)
        return changes
    }

    private func piece() throws(GraphError) -> [UInt8]? {
        guard let batch = try open?.records.next(), !batch.isEmpty else { return nil }
        if let entered = batch.entered {
            open?.log.append(LogRecord(kind: .schema, payload: entered.schema))
            open?.log.append(.consumers(entered.consumers))
            if let counters = entered.counters { open?.log.append(LogRecord(kind: .counters, payload: counters)) }
        }
        for record in batch.records {
            guard let kind = LogRecord.Kind(record.kind) else { continue }
            var sent = LogRecord(kind: kind, payload: record.payload)
            if kind == .commit {
                sent.fingerprint = fingerprint
                fingerprint = record.payload.withUnsafeBytes { XXH64.hash($0, seed: fingerprint) }
            }
            open?.log.append(sent)
        }
        return open?.log.take()
    }

    private func end() { (open, hasEnded) = (nil, true) }
}

extension LogRecord.Kind {
    /// What a record of a file is in a log; nil for parts of a checkpoint, which none has.
    fileprivate init?(_ kind: Journal.RecordKind) {
        switch kind {
        case .schema: self = .schema
        case .commit: self = .commit
        case .mark, .close: self = .counters
        case .consumer: self = .consumer
        case .snapshotChunk, .snapshotEnd: return nil
        }
    }
}
