/// The newest durable state, where everybody can get it without waiting for the coordinator, and the way that led there; or the
/// newest state that a context has taken over, for those who follow the context.
///
/// Whoever follows the commits holds the last state that it has seen and comes for the next one when it likes. The states since
/// are kept only while somebody follows, and only so many; who comes later than that gets one difference for all that it has
/// missed. So no follower can delay a commit, or make the memory grow.
final class PublishedSnapshot: Sendable {
    /// A state on the way.
    struct Step: Sendable {
        let snapshot: Snapshot
        /// nil for several commits in one.
        let origin: ChangeOrigin?
    }

    private struct State {
        var current: Snapshot
        /// The newest states, in the order of their commits.
        var recent: [Step] = []
        /// The commit that the first of them follows.
        var start = CommitNumber.none
        var followerCount = 0
        var isFinished = false
    }

    private static let recentLimit = 64

    private let state: Waitable<State>

    init(_ snapshot: Snapshot) {
        state = Waitable(State(current: snapshot))
    }

    var value: Snapshot { state.withLock { $0.current } }

    /// Moves on to a state, by the commits that led to it.
    func publish(_ steps: [Step]) {
        guard let newest = steps.last else { return }
        state.change { state in
            if state.recent.isEmpty { state.start = state.current.commit }
            state.current = newest.snapshot
            guard state.followerCount > 0 else { return }
            state.recent += steps
            let excess = state.recent.count - Self.recentLimit
            guard excess > 0 else { return }
            state.start = state.recent[excess - 1].snapshot.commit
            state.recent.removeFirst(excess)
        }
    }

    /// There will be no further commit.
    func finish() {
        state.change { $0.isFinished = true }
    }

    // MARK: Following

    /// Whether somebody waits for a commit.
    var isWaitedFor: Bool { state.isWaitedFor }

    /// How many of the states on the way are kept.
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

    /// The state after another one: the next, if it is still kept, otherwise the newest, whose origin is no single one. nil if
    /// there is none yet.
    func step(after commit: CommitNumber) -> (snapshot: Snapshot, origin: ChangeOrigin?)? {
        state.withLock { state in
            guard state.current.commit > commit else { return nil }
            guard commit >= state.start, let place = state.recent.firstPlace(after: commit) else {
                return (state.current, nil)
            }
            return (state.recent[place].snapshot, state.recent[place].origin)
        }
    }

    /// Returns when there is a commit after this one, or when there will be none, or when the task is cancelled. False in the
    /// last two cases.
    func waitForCommit(after commit: CommitNumber, isolation: isolated (any Actor)?) async -> Bool {
        await state.waitForChange(unless: { $0.current.commit > commit || $0.isFinished }, isolation: isolation)
        return state.withLock { $0.current.commit > commit } && !Task.isCancelled
    }
}

extension [PublishedSnapshot.Step] {
    /// Of the first one with a later commit.
    fileprivate func firstPlace(after commit: CommitNumber) -> Int? {
        var (place, end) = (0, count)
        while place < end {
            let middle = (place + end) / 2
            if self[middle].snapshot.commit > commit { end = middle } else { place = middle + 1 }
        }
        return place < count ? place : nil
    }
}
