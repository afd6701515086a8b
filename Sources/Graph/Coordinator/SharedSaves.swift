/// What a coordinator does that saves to a ``CommitLog``: the saves that wait to be sent, and who has the turn to change the state.
/// Part of its state.
struct SharedSaves {
    struct Save: Sendable {
        let request: SaveRequest
        let trace: CommitTrace?
        let continuation: CheckedContinuation<Result<PreparedCommit, GraphError>, Never>
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
    /// Records that were sent, each list one behind the other, and may still arrive in the log.
    private var doubtful: [ArraySlice<HistoryToken>] = []
    /// Whether no more saves are taken.
    var isClosing = false

    /// So many saves are checked and sent together at most.
    private static let groupLimit = 256

    init(_ log: SharedLog) {
        self.log = log
    }

    mutating func takeGroup() -> [Save] {
        defer { waiting.removeFirst(min(waiting.count, Self.groupLimit)) }
        return Array(waiting.prefix(Self.groupLimit))
    }

    mutating func takeAll() -> [Save] {
        defer { waiting = [] }
        return waiting
    }

    var isInDoubt: Bool { !doubtful.isEmpty }

    /// Takes note of records that may still arrive.
    mutating func doubt(_ tokens: [HistoryToken]) { doubtful.append(tokens[...]) }

    /// Takes note of what the log has at the next place. Where it is another one than was sent, what was sent behind that cannot
    /// arrive.
    mutating func resolveDoubt(by token: HistoryToken) {
        doubtful = doubtful.compactMap { tokens in
            guard tokens.first == token else {
                return tokens.first.map { $0.commit > token.commit } == true ? tokens : nil
            }
            return tokens.count > 1 ? tokens.dropFirst() : nil
        }
    }
}
