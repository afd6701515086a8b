/// What a coordinator does that saves to a ``CommitLog``: the saves that wait to be sent, and who has the turn to change the state.
/// Part of its state.
struct SharedSaves {
    struct Save: Sendable {
        let request: SaveRequest
        let trace: CommitTrace?
        let continuation: CheckedContinuation<Result<PreparedCommit, GraphError>, Never>
    }

    /// A record that was sent.
    struct Doubtful: Sendable {
        let token: HistoryToken
        /// nil if nobody asks what became of it.
        var receipt: SaveReceipt?
    }

    let log: SharedLog
    /// In their order.
    var waiting: [Save] = []
    /// Only the task that has the turn sends saves, or takes over what others have saved.
    var turns = TurnQueue()
    /// Sends what waits, while something does.
    var sending: Task<Void, Never>?
    /// Takes over what others save, as it comes.
    var following: Task<Void, Never>?
    /// Records that may still arrive in the log, each list one behind the other.
    private var doubtful: [ArraySlice<Doubtful>] = []
    /// Whether no more saves are taken.
    var isClosing = false

    private static let groupLimit = 256
    /// So many saves are checked and sent together at most.
    private var groupLimit = Self.groupLimit
    /// How many groups in a row came too late.
    private var lateCount = 0

    init(_ log: SharedLog) {
        self.log = log
    }

    mutating func takeGroup() -> [Save] {
        defer { waiting.removeFirst(min(waiting.count, groupLimit)) }
        return Array(waiting.prefix(groupLimit))
    }

    /// Takes note that the log has taken some of a group.
    mutating func didSend() {
        lateCount = 0
        groupLimit = min(2 * groupLimit, Self.groupLimit)
    }

    /// Takes note that others have saved while a group of so many was checked or on its way.
    ///
    /// - Parameter isSlow: whether checking took most of the time. Then a smaller group has a better chance.
    /// - Returns: whether it is to be tried again.
    mutating func wasLate(_ count: Int, isSlow: Bool) -> Bool {
        lateCount += 1
        if isSlow, lateCount > 2, count > 1 { groupLimit = min(groupLimit, count) / 2 }
        guard lateCount == Self.patience else { return true }
        lateCount = 0
        return false
    }

    /// So many groups in a row may come too late. Of fifty programs that save equally often, one is that unlucky once in some hundred
    /// million saves.
    static let patience = 1_000

    mutating func takeAll() -> [Save] {
        defer { waiting = [] }
        return waiting
    }

    var isInDoubt: Bool { !doubtful.isEmpty }

    /// Takes note of records that may still arrive.
    mutating func doubt(_ records: [Doubtful]) { doubtful.append(records[...]) }

    /// Takes note of what the log has at the next place. Where it is another one than was sent, what was sent behind that cannot
    /// arrive.
    mutating func resolveDoubt(by token: HistoryToken) {
        doubtful = doubtful.compactMap { records in
            guard let first = records.first, first.token == token else {
                if let first = records.first, first.token.commit > token.commit { return records }
                for record in records { record.receipt?.settle(isThere: false) }
                return nil
            }
            first.receipt?.settle(isThere: true)
            return records.count > 1 ? records.dropFirst() : nil
        }
    }
}
