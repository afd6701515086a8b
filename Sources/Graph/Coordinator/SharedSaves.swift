/// What a coordinator does that saves to a ``CommitLog``: the saves that wait to be sent, and who has the turn to change the state.
/// Part of its state.
struct SharedSaves {
    struct Save: Sendable {
        let request: SaveRequest
        let trace: CommitTrace?
        let continuation: CheckedContinuation<Result<PreparedCommit, GraphError>, Never>
    }

    let log: any CommitLog
    /// What the fingerprint of the program's schema begins with.
    let schema: UInt64
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

    init(_ log: any CommitLog, _ schema: Schema) {
        (self.log, self.schema) = (log, SharedRecord.schemaNumber(schema))
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

/// What became of records that were sent to a log.
struct SentRecords {
    /// How many of them the log has, from the first one on.
    private(set) var count = 0
    /// What others have appended behind those.
    private(set) var others: [[UInt8]] = []
    /// Why the rest is not known to be in the log.
    private(set) var failure: (any Error)?
    /// Whether the rest may be, or may arrive there.
    private(set) var isInDoubt = false

    /// So often the log is asked again about a record, after pauses that double from 10 milliseconds on: of 5 seconds in all.
    private static let retryLimit = 9

    /// Appends the records, as often as it takes to know what became of them.
    ///
    /// What was sent may arrive late, and an answer not at all. But a record belongs behind one commit, and the log has one record
    /// there: a writer that is refused, or has no answer, reads which. A record is sent again only to where it was sent before, so
    /// that it is never there twice.
    init(
        sending records: [[UInt8]], to log: any CommitLog, after commit: CommitNumber, _ clock: any Clock<Duration>
    ) async {
        var retries = 0
        while count < records.count {
            let rest = Array(records[count...])
            let last = commit.number + UInt64(count)
            do {
                let appended = min(max(try await log.append(rest, after: last), 0), rest.count)
                count += appended
                if appended > 0 {
                    retries = 0
                    continue
                }
            } catch {
                failure = error
                if (error as? GraphError)?.saysThatNothingWasAppended == true { return }
                isInDoubt = true
            }
            do {
                let found = try await log.read(after: last)
                let own = zip(found, rest).prefix { $0 == $1 }.count
                count += own
                if own < found.count, count < records.count {
                    others = Array(found[own...])
                    break
                }
                if own > 0 {
                    retries = 0
                    continue
                }
            } catch {
                failure = error
            }
            guard retries < Self.retryLimit else {
                let reason = "it refuses what follows commit \(last), and has nothing behind that"
                failure = failure ?? GraphError.logUnavailable(reason: reason)
                return
            }
            try? await clock.sleep(for: .milliseconds(10 << retries))
            retries += 1
        }
        (failure, isInDoubt) = (nil, false)
    }
}

extension GraphError {
    /// Whether it is one by which a ``JournalCommitLog`` refuses records for good.
    fileprivate var saysThatNothingWasAppended: Bool {
        switch self {
        case .invalidLog, .schemaMismatch, .tokenOfOtherStore, .valueNotReadable, .transactionTooLarge, .diskFull,
            .readOnly, .unusableFile, .closed:
            true
        default: false
        }
    }
}
