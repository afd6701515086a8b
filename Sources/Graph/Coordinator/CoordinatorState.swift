/// All that a coordinator decides by: the newest state, the saves that wait for the disk, and why it takes no more of them.
///
/// Nothing in here suspends or touches the file, so that the order in which saves are checked is that of the file.
struct CoordinatorState {
    /// Where commits go.
    enum Storage {
        case memory
        /// Records may have so many bytes.
        case file(path: String, transactionBytes: Int)
        case readOnly(path: String)
        /// The file has the commits of another store, until it is promoted.
        case received(path: String, transactionBytes: Int)

        /// Why the program may not write; nil if it may.
        var refusal: GraphError? {
            switch self {
            case .memory, .file: nil
            case .readOnly(let path), .received(let path, _): .readOnly(path: path)
            }
        }
    }

    /// What follows from a save, for the coordinator to do.
    enum Admission {
        /// Nothing is left to do, which may rest on commits that are not durable yet.
        case nothing
        /// The store has no file: the coordinator publishes the commit at once.
        case accepted
        /// The coordinator publishes the commit at once, and it is written later.
        ///
        /// - Parameter isFirst: whether nobody is writing, so that somebody has to begin.
        case published(isFirst: Bool)
        /// The commit is the first of a group, and nobody is writing: the save writes it.
        case leads
        /// The commit is in line.
        case waits(CommitTicket)
    }

    private(set) var commits: CommitState
    var queue = CommitQueue()
    /// Why no further save is taken, once that is so.
    private(set) var ending: GraphError?
    private let checksEveryCommit: Bool
    private let counters: RowCounters
    private(set) var storage: Storage
    /// The least that saves wait for.
    private var durability: Durability

    init(
        _ snapshot: Snapshot, counters: RowCounters, storage: Storage, durability: Durability = .full,
        checksEveryCommit: Bool
    ) {
        commits = CommitState(head: snapshot)
        self.counters = counters
        self.storage = storage
        self.durability = durability
        self.checksEveryCommit = checksEveryCommit
    }

    /// Checks a save, merges it with what others have committed, and appends it to the order of commits.
    ///
    /// - Parameters:
    ///   - time: in nanoseconds since 1970; asked for if there is something to commit.
    ///   - isNewestPublished: whether readers see all commits so far, so that they may see the next one before it is written.
    ///   - trace: goes into the queue with the commit.
    /// - Throws: what ``CommitState/prepare(_:)`` throws; `.inconsistent`; `.readOnly`; of a record, `.notEncodable`,
    ///   `.rowNumbersUsedUp` and `.transactionTooLarge`. Nothing has changed then.
    mutating func admit(
        _ request: SaveRequest,
        at time: @autoclosure () -> UInt64,
        isNewestPublished: Bool = false,
        _ trace: inout CommitTrace?
    ) throws(GraphError) -> (commit: PreparedCommit, admission: Admission) {
        var commit = try commits.prepare(request)
        if checksEveryCommit {
            let findings = commit.state.snapshot.check()
            guard findings.isEmpty else { throw .inconsistent(ErrorList(findings)) }
        }
        guard !commit.isEmpty else { return (commit, .nothing) }
        trace?.count(commit)
        commit.time = time()
        let limitBytes: Int
        switch storage {
        case .memory:
            commit.state.snapshot.token.add(commit.number.number)
            commits.accept(commit)
            return (commit, .accepted)
        case .readOnly(let path), .received(let path, _): throw .readOnly(path: path)
        case .file(_, let bytes): limitBytes = bytes
        }
        let counters = counters.all
        let record = try CommitRecord.encode(
            commit.state, counters: counters, time: commit.time, author: request.origin.author ?? "")
        if let entity = counters.firstIndex(where: { $0 > RowCounters.maximum }) {
            throw .rowNumbersUsedUp(entity: commit.state.snapshot.schema.entities[entity].name)
        }
        guard record.count <= limitBytes else {
            throw .transactionTooLarge(lengthBytes: record.count, limitBytes: limitBytes)
        }
        record.withUnsafeBytes { commit.state.snapshot.token.add($0) }
        commits.accept(commit)
        trace?.recordBytes = record.count
        // From here on it is for the leader to report.
        var entry = CommitQueue.Entry(step: commit.step, record: record, counters: counters, trace: trace.take())
        entry.durability = max(request.durability, durability)
        entry.isPublished = entry.durability == .none && isNewestPublished && queue.hasRoom(for: entry)
        let isFirst = !queue.isBusy
        let ticket = queue.append(entry)
        return (commit, entry.isPublished ? .published(isFirst: isFirst) : ticket.map(Admission.waits) ?? .leads)
    }

    /// Takes saves from a state on.
    mutating func promote(_ head: Snapshot, durability: Durability) {
        guard case .received(let path, let bytes) = storage else { return }
        (commits, storage) = (CommitState(head: head), .file(path: path, transactionBytes: bytes))
        self.durability = durability
    }

    /// Takes no more saves, for the first reason that there is.
    mutating func end(_ reason: GraphError) {
        ending = ending ?? reason
    }

    /// A group has failed: but for what is published, neither it nor what was checked on top of it is in the store. A full disk
    /// ends nothing: what is published stays in line.
    ///
    /// - Returns: the saves that were checked on top of it, and the error for these.
    mutating func fail(
        _ group: [CommitQueue.Entry],
        _ error: GraphError,
        published: Snapshot,
        path: String
    ) -> (followers: [CommitQueue.Entry], error: GraphError) {
        commits.reset(to: published)
        switch error {
        case .diskFull, .transactionTooLarge:
            return (queue.takeWaiting(keeping: group.filter(\.isPublished)), error)
        default:
            let errorOfFollowers = error.asEarlierFailure(path: path)
            end(errorOfFollowers)
            return (queue.takeAll(), errorOfFollowers)
        }
    }
}
