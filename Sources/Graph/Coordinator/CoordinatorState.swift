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
        /// Commits go to a log first, and to the file, if there is one, when the log has them.
        case shared(transactionBytes: Int)

        /// Why the program may not write; nil if it may.
        var refusal: GraphError? {
            switch self {
            case .memory, .file, .shared: nil
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
    /// No row counter in a record is higher.
    private var counterLimit = RowCounters.maximum
    /// The highest row counters in the commits of others.
    private var othersCounters: [RowNumber] = []
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
        let proposal = try propose(request, after: commits, at: time(), &trace)
        let commit = proposal.commit
        guard !commit.isEmpty else { return (commit, .nothing) }
        guard let record = proposal.record else {
            commits.accept(commit)
            return (commit, .accepted)
        }
        commits.accept(commit)
        // From here on it is for the leader to report.
        var entry = CommitQueue.Entry(
            step: commit.step, record: record, counters: proposal.counters, trace: trace.take())
        entry.durability = max(request.durability, durability)
        entry.isPublished = entry.durability == .none && isNewestPublished && queue.hasRoom(for: entry)
        let isFirst = !queue.isBusy
        let ticket = queue.append(entry)
        return (commit, entry.isPublished ? .published(isFirst: isFirst) : ticket.map(Admission.waits) ?? .leads)
    }

    /// What a save comes to, and the record of it.
    struct Proposal {
        var commit: PreparedCommit
        /// nil if there is nothing to commit, or if the store is in memory alone.
        var record: [UInt8]?
        /// For the file; the record may have lower ones.
        var counters: [RowNumber] = []
    }

    /// Checks a save, merges it with what others have committed, and encodes it. Nothing else changes.
    ///
    /// - Throws: as `admit`.
    func propose(
        _ request: SaveRequest, after commits: CommitState, at time: @autoclosure () -> UInt64,
        _ trace: inout CommitTrace?
    ) throws(GraphError) -> Proposal {
        var commit = try commits.prepare(request)
        if checksEveryCommit {
            let findings = commit.state.snapshot.check()
            guard findings.isEmpty else { throw .inconsistent(ErrorList(findings)) }
        }
        guard !commit.isEmpty else { return Proposal(commit: commit) }
        trace?.count(commit)
        commit.time = time()
        let limitBytes: Int
        switch storage {
        case .memory:
            commit.state.snapshot.token.add(commit.number.number)
            return Proposal(commit: commit)
        case .readOnly(let path), .received(let path, _): throw .readOnly(path: path)
        case .file(_, let bytes), .shared(let bytes): limitBytes = bytes
        }
        let counters = counters.all
        let record = try CommitRecord.encode(
            commit.state, counters: counters, time: commit.time, author: request.origin.author ?? "")
        if let entity = counters.firstIndex(where: { $0 > counterLimit }) {
            throw .rowNumbersUsedUp(entity: commit.state.snapshot.schema.entities[entity].name)
        }
        guard record.count <= limitBytes else {
            throw .transactionTooLarge(lengthBytes: record.count, limitBytes: limitBytes)
        }
        record.withUnsafeBytes { commit.state.snapshot.token.add($0) }
        trace?.recordBytes = record.count
        return Proposal(commit: commit, record: record, counters: file(counters))
    }

    /// Takes saves from a state on.
    mutating func promote(_ head: Snapshot, durability: Durability) {
        guard case .received(let path, let bytes) = storage else { return }
        (commits, storage) = (CommitState(head: head), .file(path: path, transactionBytes: bytes))
        self.durability = durability
    }

    /// Takes saves to a log from a state on, as a writer that hands out row numbers up to the limit.
    mutating func share(_ head: Snapshot, counterLimit: RowNumber, transactionBytes: Int) {
        (commits, storage) = (CommitState(head: head), .shared(transactionBytes: transactionBytes))
        self.counterLimit = counterLimit
    }

    /// Hands out no row numbers beyond a limit.
    mutating func limitCounters(to limit: RowNumber) { counterLimit = limit }

    /// Takes over a commit that was proposed, once a log has it.
    mutating func accept(_ commit: PreparedCommit) { commits.accept(commit) }

    /// Takes over commits that were made elsewhere.
    mutating func accept(_ steps: [PublishedSnapshot.Step], counters: [RowNumber]) {
        for step in steps { commits.accept(step) }
        othersCounters = counters
    }

    /// Appends a commit to the order of commits that was made elsewhere, if it follows the newest one.
    ///
    /// - Returns: what is left to do; nil if it follows another one.
    /// - Throws: `.invalidLog`, `.schemaMismatch`, `.valueNotReadable`, `.transactionTooLarge`, and why nothing is taken.
    mutating func admit(
        _ record: SharedRecord, _ schema: SchemaRecord, path: String
    ) throws(GraphError) -> (admission: Admission, hasUnreadValues: Bool)? {
        guard case .file(_, let limitBytes) = storage else {
            throw storage.refusal ?? .unusableFile(path: path, reason: "a log of commits needs a file of its own")
        }
        let head = commits.head
        guard record.token.commit == head.commit.next, record.fingerprintBefore == head.token.fingerprint else {
            return nil
        }
        let payload = record.payload
        guard payload.count <= limitBytes else {
            throw .transactionTooLarge(lengthBytes: payload.count, limitBytes: limitBytes)
        }
        var received = ReceivedRecords(
            StoreReplay(from: head, counters: fileCounters, schema, consumers: [:], path: path), at: head.token)
        try received.take(record)
        accept(received.steps, counters: received.replay.counters)
        var entry = CommitQueue.Entry(
            step: received.steps.first, record: payload, counters: fileCounters, trace: nil)
        entry.durability = .full
        let ticket = queue.append(entry)
        return (ticket.map(Admission.waits) ?? .leads, !received.replay.unreadProperties.isEmpty)
    }

    /// What the file says of row counters by now.
    var fileCounters: [RowNumber] { file(counters.all) }

    /// What a file says of row counters: no lower ones than any record of it.
    private func file(_ counters: [RowNumber]) -> [RowNumber] {
        othersCounters.isEmpty ? counters : zip(counters, othersCounters).map(max)
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
