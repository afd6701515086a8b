/// The last commits of a store in memory, each with its state. What states share takes memory once.
struct KeptCommits: Sendable {
    /// So many commits are kept at most, and some more for a while.
    static let limit = 1_000
    /// So many rows may they have changed together. A commit that changes more is not kept, since what it has replaced would take
    /// memory as long as nothing else happens.
    static let rowLimit = 10_000

    /// The state before the first one.
    private(set) var base: Snapshot
    /// In their order, without gaps.
    private(set) var steps: [PublishedSnapshot.Step] = []
    private var rowCount = 0

    init(base: Snapshot) { self.base = base }

    /// - Returns: the commits that are not kept any more.
    mutating func append(_ step: PublishedSnapshot.Step) -> ArraySlice<PublishedSnapshot.Step> {
        steps.append(step)
        rowCount += step.rowCount
        // Not one by one: what is left moves each time.
        guard steps.count > Self.limit + Self.limit / 4 || rowCount > Self.rowLimit else { return [] }
        var first = max(steps.count - Self.limit, 0)
        rowCount -= steps[..<first].reduce(0) { $0 + $1.rowCount }
        let rows = rowCount > Self.rowLimit ? Self.rowLimit / 4 * 3 : Self.rowLimit
        while rowCount > rows, first < steps.count {
            rowCount -= steps[first].rowCount
            first += 1
        }
        guard first > 0 else { return [] }
        base = steps[first - 1].snapshot
        let dropped = steps[..<first]
        steps = Array(steps[first...])
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
