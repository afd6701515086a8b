/// The last commits of a store in memory, each with its state. What states share takes memory once.
struct KeptCommits: Sendable {
    private let retention: HistoryRetention
    /// The state before the first one.
    private(set) var base: Snapshot
    /// In their order, without gaps.
    private(set) var steps: [PublishedSnapshot.Step] = []
    /// The last commit that every consumer has read; nil without consumers.
    private var unreadSince: CommitNumber?
    /// What the steps count together.
    private(set) var lengthBytes = 0
    /// From how many bytes and commits on some may have to go, and from how many commits on old ones may.
    private var next: (bytes: Int, commits: Int, old: Int)

    init(base: Snapshot, _ retention: HistoryRetention) {
        (self.base, self.retention) = (base, retention)
        next = (retention.bytes ?? .max, Self.withSlack(retention.commits), 0)
    }

    /// Commits go some at a time, since those that stay move each time.
    private static func withSlack(_ count: Int?) -> Int { count.map { min($0, .max / 2) }.map { $0 + $0 / 4 } ?? .max }

    /// - Returns: the commits that are not kept any more. One that counts more than all may together is not kept at all, since what
    ///   it has replaced would take memory as long as nothing else happens.
    mutating func append(_ step: PublishedSnapshot.Step) -> ArraySlice<PublishedSnapshot.Step> {
        steps.append(step)
        lengthBytes += step.bytesInMemory
        let oldestTime = retention.oldestTime(at: step.time) ?? 0
        guard
            lengthBytes > next.bytes || steps.count > next.commits
                || steps.count > next.old && steps[steps.count / 4].time < oldestTime
        else { return [] }
        return trim(oldestTime)
    }

    /// - Parameter commit: the last one that every consumer has read; nil without consumers.
    /// - Returns: the commits that are not kept any more.
    mutating func keepUnread(since commit: CommitNumber?) -> ArraySlice<PublishedSnapshot.Step> {
        unreadSince = commit
        guard let last = steps.last else { return [] }
        return trim(retention.oldestTime(at: last.time) ?? 0)
    }

    /// Drops what is not retained, commits before a time among them.
    private mutating func trim(_ oldestTime: UInt64) -> ArraySlice<PublishedSnapshot.Step> {
        var limits = retention
        if let bytes = limits.bytes, lengthBytes > bytes { limits.bytes = bytes / 4 * 3 }
        let candidate = { [steps] index in
            HistoryRetention.Candidate(number: steps[index].snapshot.commit, lengthBytes: steps[index].bytesInMemory)
        }
        let retained = limits.retainedCount(of: steps.count, unreadSince: unreadSince, candidate)
        let unread = limits.unreadCount(of: steps.count, unreadSince: unreadSince, candidate)
        let young = steps.firstIndex { $0.time >= oldestTime } ?? steps.count
        let dropped = drop(max(steps.count - retained, min(young, steps.count - unread)))
        next.commits = retention.commits.map { max(Self.withSlack($0), Self.withSlack(steps.count)) } ?? .max
        // If old ones stay, a consumer has not read them.
        next.old = steps.first.map { $0.time < oldestTime } == true ? Self.withSlack(steps.count) : 0
        let bytes = retention.bytes ?? (next.old > 0 ? retention.unreadBytes : nil)
        next.bytes = bytes.map { max($0, lengthBytes + lengthBytes / 4) } ?? .max
        return dropped
    }

    /// Drops the commits up to one.
    mutating func delete(through commit: CommitNumber) -> ArraySlice<PublishedSnapshot.Step> {
        drop(steps.firstIndex { $0.snapshot.commit > commit } ?? steps.count)
    }

    private mutating func drop(_ count: Int) -> ArraySlice<PublishedSnapshot.Step> {
        guard count > 0 else { return [] }
        base = steps[count - 1].snapshot
        let dropped = steps[..<count]
        lengthBytes -= dropped.reduce(0) { $0 + $1.bytesInMemory }
        steps = Array(steps[count...])
        next.old = 0
        return dropped
    }

    /// The commits after a token.
    ///
    /// - Parameter token: nil for all.
    /// - Throws: `.historyExpired`, `.historyDiverged`.
    func commits(since token: HistoryToken?) throws(GraphError) -> KeptCommits {
        guard let token else { return self }
        guard token.commit >= base.commit else { throw .historyExpired(oldest: base.token) }
        let index = token.commit.number - base.commit.number
        guard index <= UInt64(steps.count) else { throw .historyDiverged(token) }
        var rest = self
        if index > 0 { rest.base = steps[Int(index) - 1].snapshot }
        rest.steps.removeFirst(Int(index))
        guard rest.base.token == token else { throw .historyDiverged(token) }
        return rest
    }
}
