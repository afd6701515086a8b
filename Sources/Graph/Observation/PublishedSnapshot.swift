/// The newest committed state and the commits that led to it, available without waiting for the coordinator; or, for followers of
/// a context, the newest state that the context has taken over.
///
/// A follower holds the last state that it has seen and asks for the next one at any time. A bounded number of states is kept,
/// and only while there are followers; a late one gets a single difference for all that it has missed. So no follower can delay
/// a commit, or make the memory grow.
final class PublishedSnapshot: Sendable {
    /// One commit and its state.
    struct Step: Sendable {
        let snapshot: Snapshot
        /// nil for several commits in one.
        let origin: ChangeOrigin?
        /// When it was made, in nanoseconds since 1970; of several, the last one.
        let time: UInt64
        /// How many rows it has changed, where commits are kept.
        var rowCount = 0

        /// What it counts where commits are kept.
        var bytesInMemory: Int { max(rowCount, 1) * HistoryRetention.bytesInMemory }
    }

    private struct State {
        var current: Snapshot
        /// Of the last commit that was published.
        var time: UInt64 = 0
        /// The commits of a store in memory, which are nowhere else.
        var kept: KeptCommits?
        /// The newest states, in the order of their commits.
        var recent: [Step] = []
        /// The commit before the first of them.
        var start = CommitNumber.none
        var followerCount = 0
        var isFinished = false
    }

    private static let recentLimit = 64

    private let state: Waitable<State>

    /// - Parameter retention: how many commits are kept that nobody follows; nil for none.
    init(_ snapshot: Snapshot, keeping retention: HistoryRetention? = nil) {
        state = Waitable(State(current: snapshot, kept: retention.map { KeptCommits(base: snapshot, $0) }))
    }

    var value: Snapshot { state.withLock { $0.current } }

    /// Publishes a state and the commits that led to it.
    func publish(_ steps: [Step]) {
        guard let newest = steps.last else { return }
        // States that nobody keeps any more are freed when this returns, and not while readers wait for the lock.
        _ = state.change { state in
            var dropped: [ArraySlice<Step>] = []
            if state.recent.isEmpty { state.start = state.current.commit }
            (state.current, state.time) = (newest.snapshot, newest.time)
            for step in steps {
                if let old = state.kept?.append(step), !old.isEmpty { dropped.append(old) }
            }
            guard state.followerCount > 0 else { return dropped }
            state.recent += steps
            let excess = state.recent.count - Self.recentLimit
            guard excess > 0 else { return dropped }
            state.start = state.recent[excess - 1].snapshot.commit
            state.recent.removeFirst(excess)
            return dropped
        }
    }

    /// Called when there will be no more commits.
    func finish() {
        state.change { $0.isFinished = true }
    }

    // MARK: Following

    /// Whether a task waits for a commit.
    var isWaitedFor: Bool { state.isWaitedFor }

    /// The number of states kept.
    var keptCount: Int { state.withLock { $0.recent.count } }

    func addFollower() -> Snapshot {
        state.withLock { state in
            state.followerCount += 1
            return state.current
        }
    }

    func removeFollower() {
        state.withLock { state in
            state.followerCount -= 1
            if state.followerCount == 0 { state.recent = [] }
        }
    }

    /// The next state after a commit if it is still kept, otherwise the newest, without an origin. nil if there is none yet.
    func step(after commit: CommitNumber) -> Step? {
        state.withLock { state in
            guard state.current.commit > commit else { return nil }
            guard commit >= state.start, let place = state.recent.firstPlace(after: commit) else {
                return Step(snapshot: state.current, origin: nil, time: state.time)
            }
            return state.recent[place]
        }
    }

    // MARK: Looking back

    /// The state after a commit, if it is kept.
    func snapshot(at token: HistoryToken) -> Snapshot? {
        state.withLock { state in
            if state.current.token == token { return state.current }
            let steps = state.kept?.steps ?? state.recent
            let found = CommitNumber(max(token.commit.number, 1) - 1)
            let place = steps.firstPlace(after: found)
            let snapshot = place.map { steps[$0].snapshot } ?? state.kept?.base
            if snapshot?.token == token { return snapshot }
            return state.kept?.base.token == token ? state.kept?.base : nil
        }
    }

    /// The commits that are kept of a store in memory; nil for others.
    var kept: KeptCommits? { state.withLock { $0.kept } }

    /// Keeps none of the commits up to one.
    func deleteKept(through commit: CommitNumber) {
        // Freed when this returns, as in `publish`.
        _ = state.withLock { $0.kept?.delete(through: commit) }
    }

    /// - Parameter commit: the last one that every consumer has read; nil without consumers.
    func keepUnread(since commit: CommitNumber?) {
        _ = state.withLock { $0.kept?.keepUnread(since: commit) }
    }

    /// Waits until there is a commit after this one. Returns false if there will be none, or if the task is cancelled.
    func waitForCommit(after commit: CommitNumber, isolation: isolated (any Actor)?) async -> Bool {
        await state.waitForChange(unless: { $0.current.commit > commit || $0.isFinished }, isolation: isolation)
        return state.withLock { $0.current.commit > commit } && !Task.isCancelled
    }
}

extension [PublishedSnapshot.Step] {
    /// The index of the first one with a later commit.
    fileprivate func firstPlace(after commit: CommitNumber) -> Int? {
        var (place, end) = (0, count)
        while place < end {
            let middle = (place + end) / 2
            if self[middle].snapshot.commit > commit { end = middle } else { place = middle + 1 }
        }
        return place < count ? place : nil
    }
}
