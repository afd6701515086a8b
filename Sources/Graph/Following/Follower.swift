#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// A store that another program writes: its newest durable state, and the commits as they become durable.
///
/// ```swift
/// let follower = try await Follower(for: Photo.self, at: "photos.graph")
/// for await commit in follower.commits {
///     for change in commit.changes(of: Photo.self) { index.update(change) }
/// }
/// ```
///
/// It has what a ``Coordinator`` shows, and nothing that saves. It opens the file read-only, and takes no lock: any number of
/// followers may be beside the one program that writes, which neither waits for them nor knows of them. They show what that
/// program's ``Coordinator/sync()`` and saves of the level ``Durability/full`` have made durable, never what a loss of power may
/// take back.
///
/// The writer may compact the file, end, be killed, and open it again. If a follower falls behind by more than a file, it shows
/// all that it has missed as one element. It ends when it cannot go on, with ``failure``: the file was removed, or replaced by
/// an earlier copy or another store; its schema has become another one than this program's; it is damaged. Snapshots stay
/// readable.
public final class Follower: Sendable {
    /// The absolute path of the file.
    public let path: String
    private let published: PublishedSnapshot
    private let follower: FileFollower
    private let ending: Waitable<GraphError?>
    private let task: Task<Void, Never>?

    /// Reads a file, and follows it.
    ///
    /// - Parameters:
    ///   - types: all entities of the store, in any order, as the writer declares them.
    ///   - path: the file, which has to exist.
    /// - Throws: `.unusableFile` if there is no file. `.schemaMismatch` if its schema is another one: a follower converts
    ///   nothing, and runs no migration plan. Otherwise what opening a store read-only throws.
    ///
    /// Complexity: that of opening the store read-only.
    public convenience init<each E: Entity>(
        for types: repeat (each E).Type, at path: String
    ) async throws(GraphError) {
        var entities: [EntityDescription] = []
        repeat entities.append(EntityDescription((each E).self))
        try await self.init(
            try Schema(entities), path: path, fileSystem: PosixFileSystem(), options: JournalOptions(), isAwake: true)
    }

    /// - Parameter isAwake: whether it shows commits by itself, and not only when ``catchUp()`` is called.
    init(
        _ schema: Schema, path: String, fileSystem: any StoreFileSystem, options: JournalOptions, isAwake: Bool
    ) async throws(GraphError) {
        let file = try await Journal.onExecutor { () throws(GraphError) in
            try FollowedFile(path, schema: schema, fileSystem: fileSystem, options: options)
        }
        let location = file.location
        let published = PublishedSnapshot(file.snapshot)
        let ending = Waitable<GraphError?>(nil)
        let follower = FileFollower(
            file,
            show: { published.publish($0.map(PublishedSnapshot.Step.init)) },
            didEnd: { error in
                ending.change { $0 = error }
                published.finish()
            })
        task = isAwake ? Task { await follower.run(location, fileSystem) } : nil
        (self.path, self.published, self.follower, self.ending) = (location.text, published, follower, ending)
    }

    deinit {
        task?.cancel()
        published.finish()
    }

    /// Why it shows no more commits; nil while it follows the file, and after ``close()``.
    ///
    /// Complexity: O(1).
    public var failure: GraphError? {
        let ending = ending.withLock { $0 }
        if case .closed = ending { return nil }
        return ending
    }

    /// Shows all that is durable when this is called, without waiting until the system tells of it.
    ///
    /// - Throws: ``failure``, once there is one; `.closed`; `.cancelled`, if the task is.
    ///
    /// Complexity: that of reading and applying the commits since the last one; O(1) without any.
    public func catchUp() async throws(GraphError) { try await follower.catchUp() }

    /// Releases the file. Feeds and results end; snapshots stay readable. Closing again does nothing.
    ///
    /// Complexity: O(1), after what is being read.
    public func close() async {
        task?.cancel()
        await follower.end(.closed(path: path))
    }
}

/// What it shows.
extension Follower {
    /// The newest state that is known to be durable. Reading it does not wait for anything.
    ///
    /// Complexity: O(1).
    public var snapshot: Snapshot { published.value }

    /// The commits from now on, each once and in their order; see ``Commits``. The sequence ends when the follower does:
    /// ``failure`` says why.
    ///
    /// Complexity: O(1).
    public var commits: Commits { Commits(published) }

    /// The commits from now on that change objects of an entity; otherwise as ``Coordinator/commits(changing:)``.
    ///
    /// Complexity: O(1).
    public func commits<E: Entity>(changing type: E.Type) -> Commits {
        Commits(published) { $0.hasChanges(of: type) }
    }

    /// The changes of one object from now on, commit by commit.
    ///
    /// Complexity: O(1).
    public func changes<E>(of id: PersistentID<E>) -> ObjectChanges<E> { ObjectChanges(commits: commits, id: id) }

    /// The result of a descriptor, and then how commits change it; see ``Coordinator/results(_:)``.
    ///
    /// Complexity: O(1). An update takes as long as that of a coordinator.
    public func results<E: Entity>(_ descriptor: FetchDescriptor<E>) -> ResultUpdates<E> {
        ResultUpdates(.commits(published, ResultDefinition(descriptor)), from: nil)
    }

    /// What a computation over the store comes to, and each time that commits make it another value; see
    /// ``Coordinator/values(_:)``.
    ///
    /// - Parameter compute: takes everything from the snapshot; see ``ComputedValues``.
    ///
    /// Complexity: O(1).
    public func values<Value: Equatable & Sendable>(
        _ compute: @escaping @Sendable (Snapshot) throws -> Value
    ) -> ComputedValues<Value> {
        ComputedValues(published: published, compute: compute)
    }

    /// The commits since a token up to the newest durable one, the oldest first; otherwise as
    /// ``Coordinator/history(since:by:during:)``. Ask for ``commits`` before, to go on from there without a gap.
    ///
    /// - Parameters:
    ///   - token: of this store; nil for all commits that the file has.
    ///   - author: of the contexts whose commits are wanted; nil for all.
    ///   - time: when they were made, by the clock of the machine that made them; nil for any time.
    ///
    /// Complexity: O(1); see ``CommitHistory/Iterator/next(isolation:)``.
    public func history(
        since token: HistoryToken? = nil, by author: String? = nil, during time: Range<Date>? = nil
    ) -> CommitHistory {
        let follower = follower
        return CommitHistory(
            request: HistoryRequest(token: token, isWanted: HistoryRequest.condition(author, time))
        ) { (request) async throws(GraphError) in try await follower.historyReader(request) }
    }
}

extension PublishedSnapshot.Step {
    init(_ step: FollowedFile.Step) {
        self.init(snapshot: step.after, origin: step.head.map(ChangeOrigin.init), time: step.time)
    }
}
