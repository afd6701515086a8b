#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// A copy of a store, kept up to date by a log of its commits, which may take the store's place.
///
/// ```swift
/// let receiver = try await LogReceiver(for: Photo.self, at: "photos.graph")
/// while needsCopy {
///     let connection = try await connect(sending: receiver.token)
///     try await receiver.receive(connection.bytes)
/// }
/// let coordinator = try await receiver.promote()
/// ```
///
/// It begins with a file that ``Coordinator/copy(to:progress:)`` has made, at any time before and on any machine, and goes on with
/// what a ``LogSender`` sends. Every commit is in its file, durable, before it is shown; the file is an ordinary one, with the
/// identifiers, versions, history, consumers and metadata of the store. The receiver shows it as a ``Follower`` shows another
/// program's.
///
/// Only one store may go on. A copy that was promoted, or opened with a ``Coordinator`` and saved to, has another history from there
/// on: a log of the old store ends with `.historyDiverged`, and never mixes with it.
public final class LogReceiver: Sendable {
    let store: Coordinator
    /// How many logs have begun. Only the last one goes on.
    private let logs = Waitable(0)

    /// Opens a copy of a store. The file is locked as by a ``Coordinator``.
    ///
    /// - Parameters:
    ///   - types: all entities of the store, in any order, as the sender declares them.
    ///   - path: the file, which has to exist.
    ///   - compaction: whether the file is compacted by itself.
    ///   - retention: how much history a compaction leaves.
    ///   - progress: as in opening a coordinator.
    /// - Throws: `.unusableFile` if there is no file. `.schemaMismatch` if its schema is another one: a receiver converts nothing.
    ///   Otherwise what opening a store throws.
    ///
    /// Complexity: that of opening the store.
    public convenience init<each E: Entity>(
        for types: repeat (each E).Type, at path: String, compaction: CompactionPolicy = .automatic,
        retention: HistoryRetention = HistoryRetention(), progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        var entities: [EntityDescription] = []
        repeat entities.append(EntityDescription((each E).self))
        try await self.init(
            try Schema(entities), path: path, fileSystem: PosixFileSystem(),
            options: JournalOptions(idleMarkDelay: .seconds(1)), compaction: compaction, retention: retention,
            progress: progress)
    }

    init(
        _ schema: Schema, path: String, fileSystem: any StoreFileSystem, options: JournalOptions,
        compaction: CompactionPolicy = .automatic, retention: HistoryRetention = HistoryRetention(),
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        store = try await Coordinator(
            schema, path: path, fileSystem: fileSystem, options: options, compaction: compaction,
            retention: retention, progress: progress, isReceived: true)
    }

    /// The newest commit that the copy has, durable. A log has to begin there.
    ///
    /// Complexity: O(1).
    public var token: HistoryToken { snapshot.token }

    /// Commits that arrive together are written together, up to so many bytes.
    private static let groupBytes = 1 << 20

    /// Takes over the commits of a log, until it ends. A part of a record at the end is left out: begin a new log at ``token``.
    /// Commits that the copy has already are passed over. A log that waits for bytes goes on waiting when the receiver is promoted
    /// or closed: cancel its task. When another log begins, this one ends with its next bytes.
    ///
    /// - Parameter bytes: what a ``LogSender`` has sent, in pieces of any length.
    /// - Throws: what the stream throws. `.tokenOfOtherStore`; `.historyDiverged`, if the copy and the sender's store have different
    ///   commits, or the copy was promoted: make the copy anew. `.historyExpired`, if the log begins so far before ``token`` that
    ///   the copy does not know whether it is of the same commits. `.invalidLog`, if bytes are damaged, missing or came twice, if
    ///   commits are missing or do not fit, or if another log has begun. `.schemaMismatch` and `.valueNotReadable`, if the sender's
    ///   program has become another one. `.cancelled`, if the task is, after what was written; what a save throws for reasons of
    ///   the file. All commits before are in the copy.
    ///
    /// Complexity: that of applying the commits, and one write and one sync for those that arrive together. A log that begins before
    /// ``token`` also takes O(*b*) for *b* bytes of commits in the copy's file.
    public func receive<Bytes: AsyncSequence>(_ bytes: Bytes) async throws where Bytes.Element: Sequence<UInt8> {
        let number = logs.withLock { count in
            count += 1
            return count
        }
        var (log, position): (LogReader, HistoryToken?) = (LogReader(), nil)
        for try await piece in bytes {
            if Task.isCancelled { throw GraphError.cancelled }
            log.append(piece)
            try await takeRecords(of: &log, number, &position)
        }
        if Task.isCancelled { throw GraphError.cancelled }
        // What was passed over may have been of another history.
        if let position, position.commit < token.commit { try await requireHistory(of: position) }
    }

    /// Takes over all records that are complete.
    private func takeRecords(
        of log: inout LogReader, _ number: Int, _ position: inout HistoryToken?
    ) async throws(GraphError) {
        while true {
            var (group, bytes, failure): ([LogRecord], Int, GraphError?) = ([], 0, nil)
            do throws(GraphError) {
                while bytes < Self.groupBytes, let record = try log.next() {
                    bytes += record.payload.count
                    group.append(record)
                }
            } catch {
                failure = error
            }
            if position == nil, let start = log.head?.start {
                try await requireHistory(of: start)
                position = start
            }
            if let place = position, !group.isEmpty {
                position = try await store.receive(group, at: place) { self.logs.withLock { $0 == number } }
            }
            if let failure { throw failure }
            if group.isEmpty { return }
        }
    }

    /// Throws unless a log that begins there belongs to this copy.
    private func requireHistory(of start: HistoryToken) async throws(GraphError) {
        let own = token
        guard start.store == own.store else { throw .tokenOfOtherStore(start) }
        guard start.commit <= own.commit else {
            throw .invalidLog(reason: "it begins behind commit \(start.commit), and the copy has commit \(own.commit)")
        }
        if start != own { try await store.historyReader(HistoryRequest(token: start))?.requireToken() }
    }

    /// Ends receiving, and has the copy be the store. It takes saves from here on.
    ///
    /// A commit without changes, of this author, records it. Logs of the store of which this was a copy, and other copies that have
    /// received more of it, have other commits from there on, which ends them with `.historyDiverged`. Other copies may go on with
    /// a ``LogSender`` of this file. A second call returns the same coordinator.
    ///
    /// - Parameters:
    ///   - author: who says so, for the commit's origin.
    ///   - durability: what saves wait for, unless they ask for more.
    /// - Returns: the coordinator, with this receiver's snapshots and feeds. Closing it closes the receiver, too.
    /// - Throws: `.closed`, and what a save throws for reasons of the file. The copy is then as before, unless it is
    ///   `.outcomeUnknown`.
    ///
    /// Complexity: O(1), besides one write and one sync.
    public func promote(
        author: String? = nil, durability: Durability = .full
    ) async throws(GraphError) -> Coordinator {
        try await store.promote(author: author, durability: durability)
        return store
    }

    /// Releases the file. Feeds and results end; snapshots stay readable. Closing again does nothing.
    ///
    /// - Throws: as ``Coordinator/close(discardingChanges:)``.
    ///
    /// Complexity: O(1), after what is being received.
    public func close() async throws(GraphError) { try await store.close() }
}

/// What it shows.
extension LogReceiver {
    /// The newest state, durable. Reading it does not wait for anything.
    ///
    /// Complexity: O(1).
    public var snapshot: Snapshot { store.snapshot }

    /// The commits from now on, each once and in their order; see ``Commits``. The sequence ends when the receiver is closed.
    ///
    /// Complexity: O(1).
    public var commits: Commits { store.commits }

    /// The result of a descriptor, and then how commits change it; see ``Coordinator/results(_:)``.
    ///
    /// Complexity: O(1). An update takes as long as that of a coordinator.
    public func results<E: Entity>(_ descriptor: FetchDescriptor<E>) -> ResultUpdates<E> { store.results(descriptor) }

    /// What a computation over the store comes to, and each time that commits make it another value; see
    /// ``Coordinator/values(_:)``.
    ///
    /// - Parameter compute: takes everything from the snapshot; see ``ComputedValues``.
    ///
    /// Complexity: O(1).
    public func values<Value: Equatable & Sendable>(
        _ compute: @escaping @Sendable (Snapshot) throws -> Value
    ) -> ComputedValues<Value> {
        store.values(compute)
    }

    /// The commits since a token, the oldest first; see ``Coordinator/history(since:by:during:)``.
    ///
    /// - Parameters:
    ///   - token: of this store; nil for all commits that are kept.
    ///   - author: of the contexts whose commits are wanted; nil for all.
    ///   - time: when they were made, by the clock of the machine that made them; nil for any time.
    ///
    /// Complexity: O(1); see ``CommitHistory/Iterator/next(isolation:)``.
    public func history(
        since token: HistoryToken? = nil, by author: String? = nil, during time: Range<Date>? = nil
    ) -> CommitHistory {
        store.history(since: token, by: author, during: time)
    }
}
