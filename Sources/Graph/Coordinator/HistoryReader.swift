/// What is asked of history.
struct HistoryRequest: Sendable {
    /// nil for all that is kept.
    var token: HistoryToken?
    var isNewestFirst = false
    var isWanted: @Sendable (Commit) -> Bool = { _ in true }

    /// Whether there may be commits after the token. History does not have those that are not written yet.
    func isBehind(_ newest: Snapshot) throws(GraphError) -> Bool {
        guard let token, token.commit >= newest.commit else { return true }
        guard token.commit > newest.commit || token == newest.token else { throw .historyDiverged(token) }
        return false
    }
}

/// Reads history in groups of commits, on a thread of its own.
actor HistoryReader {
    private enum Source {
        case kept(ArraySlice<PublishedSnapshot.Step>, before: Snapshot)
        /// With the state in the last record that the coordinator knows of.
        case file(JournalFile, newest: Snapshot)
        case end
    }

    private nonisolated let executor: any SerialExecutor
    private var source: Source
    /// How many steps have passed that its buffer still has.
    private var passedCount = 0
    /// In the file, once it was read.
    private var walk: CommitWalk?
    /// What ended a group, until that is read.
    private var failure: GraphError?
    private let request: HistoryRequest
    /// Commits after this one are not shown.
    private let last: CommitNumber

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// A group ends with the commit that reaches either.
    private static let (groupLimit, groupBytes) = (64, 256 << 10)

    init(_ kept: KeptCommits, _ request: HistoryRequest) {
        executor = JournalExecutor(label: "graph.history")
        source = .kept(kept.steps[...], before: kept.base)
        last = kept.steps.last?.snapshot.commit ?? kept.base.commit
        self.request = request
    }

    /// - Parameter last: the last durable commit.
    init(_ file: JournalFile, _ newest: Snapshot, through last: CommitNumber, _ request: HistoryRequest) {
        executor = JournalExecutor(label: "graph.history")
        source = .file(file, newest: newest)
        (self.request, self.last) = (request, last)
    }

    /// The next commits; none at the end, or when the task is cancelled.
    func next() throws(GraphError) -> [Commit] {
        if let failure {
            self.failure = nil
            throw failure
        }
        var group: [Commit] = []
        var bytes = 0
        do throws(GraphError) {
            while group.count < Self.groupLimit, bytes < Self.groupBytes, !Task.isCancelled {
                guard let (commit, length) = try step() else { break }
                guard commit.number <= last, request.isWanted(commit) else { continue }
                bytes += length
                group.append(commit)
            }
        } catch {
            guard !group.isEmpty else { throw error }
            failure = error
        }
        return group
    }

    /// Throws unless the token is one that history goes back to.
    func requireToken() throws(GraphError) {
        guard case .file(let file, let newest) = source else { return }
        _ = try RecordedCommits(file, since: request.token, through: newest.token)
    }

    /// The state that the first commit leads away from.
    func firstState() throws(GraphError) -> Snapshot {
        switch source {
        case .kept(_, let before): return before
        case .file(let file, let newest):
            let commits = try RecordedCommits(file, since: request.token, through: newest.token)
            var walk = CommitWalk(commits, from: newest, isWhole: true)
            try walk.goBack(to: commits.start.commit)
            return walk.state.snapshot
        case .end: preconditionFailure("the commits were read")
        }
    }

    private func step() throws(GraphError) -> (Commit, bytes: Int)? {
        do throws(GraphError) {
            let next = try advance()
            if next == nil { end() }
            return next
        } catch {
            end()
            throw error
        }
    }

    private func end() {
        source = .end
        walk = nil
    }

    private func advance() throws(GraphError) -> (Commit, bytes: Int)? {
        switch source {
        case .end: return nil
        case .kept(var steps, var before):
            guard let step = request.isNewestFirst ? steps.last : steps.first else { return nil }
            // To pop one would copy the others, which the source holds. They are copied when as many have passed, which are freed then.
            steps = request.isNewestFirst ? steps.dropLast() : steps.dropFirst()
            passedCount += 1
            if passedCount > steps.count { (steps, passedCount) = (ArraySlice(Array(steps)), 0) }
            let base = request.isNewestFirst ? steps.last?.snapshot ?? before : before
            if !request.isNewestFirst { before = step.snapshot }
            source = .kept(steps, before: before)
            let states = SnapshotDifference(before: base, after: step.snapshot)
            return (Commit(states, origin: step.origin, time: step.time), 0)
        case .file(let file, let newest):
            if walk == nil { try begin(file, newest) }
            let passed = request.isNewestFirst ? try walk?.goBack() : try walk?.goOn()
            guard let passed = passed ?? nil, let changes = passed.changes else { return nil }
            let commit = Commit(changes, origin: ChangeOrigin(passed.head), time: passed.head.time)
            return (commit, passed.bytes)
        }
    }

    private func begin(_ file: JournalFile, _ newest: Snapshot) throws(GraphError) {
        let commits = try RecordedCommits(file, since: request.token, through: newest.token)
        var walk = CommitWalk(commits, from: newest)
        try walk.goBack(to: request.isNewestFirst ? last : commits.start.commit)
        self.walk = consume walk
    }
}
