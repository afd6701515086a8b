/// A log to which a coordinator saves.
struct SharedLog: Sendable {
    let commits: any CommitLog
    /// What the fingerprint of the program's schema begins with.
    let schema: UInt64

    /// So often the log is asked again about a record, after pauses that double from 10 milliseconds on: of 5 seconds in all.
    private static let retryLimit = 9

    /// Appends the records, as often as it takes to know what became of them.
    ///
    /// What was sent may arrive late, and an answer not at all. But a record belongs behind one commit, and the log has one record
    /// there: a writer that is refused, or has no answer, reads which. A record is sent again only to where it was sent before, so
    /// that it is never there twice.
    func append(
        _ records: [[UInt8]], after commit: CommitNumber, _ clock: any Clock<Duration>
    ) async -> SentRecords {
        var (sent, retries) = (SentRecords(), 0)
        while sent.count < records.count {
            let rest = Array(records[sent.count...])
            let last = commit.number + UInt64(sent.count)
            do {
                let appended = min(max(try await commits.append(rest, after: last), 0), rest.count)
                sent.count += appended
                if appended > 0 {
                    retries = 0
                    continue
                }
            } catch {
                sent.failure = error
                let error = error as? GraphError
                if error?.isRefusal == true || error?.saysThatNothingWasAppended == true {
                    sent.isRefusal = error?.isRefusal == true && !sent.isInDoubt
                    return sent
                }
                sent.isInDoubt = true
            }
            do {
                let found = try await commits.read(after: last)
                let own = zip(found, rest).prefix { $0 == $1 }.count
                sent.count += own
                if own < found.count, sent.count < records.count {
                    sent.others = Array(found[own...])
                    break
                }
                if own > 0 {
                    retries = 0
                    continue
                }
            } catch {
                sent.failure = error
            }
            guard retries < Self.retryLimit else {
                let reason = "it refuses what follows commit \(last), and has nothing behind that"
                sent.failure = sent.failure ?? GraphError.logUnavailable(reason: reason)
                return sent
            }
            try? await clock.sleep(for: .milliseconds(10 << retries))
            retries += 1
        }
        (sent.failure, sent.isInDoubt) = (nil, false)
        return sent
    }
}

/// What became of records that were sent to a log.
struct SentRecords {
    /// How many of them the log has, from the first one on.
    fileprivate(set) var count = 0
    /// What others have appended behind those.
    fileprivate(set) var others: [[UInt8]] = []
    /// Why the rest is not known to be in the log.
    fileprivate(set) var failure: (any Error)?
    /// Whether that is about the first record of the rest, and those behind it were not looked at.
    fileprivate(set) var isRefusal = false
    /// Whether the rest may be, or may arrive there.
    fileprivate(set) var isInDoubt = false
}

extension GraphError {
    /// Whether it is one by which a ``JournalCommitLog`` refuses a record for good.
    fileprivate var isRefusal: Bool {
        switch self {
        case .invalidLog, .schemaMismatch, .tokenOfOtherStore, .valueNotReadable, .transactionTooLarge: true
        default: false
        }
    }

    /// Whether it is one by which it refuses all records for now.
    fileprivate var saysThatNothingWasAppended: Bool {
        switch self {
        case .diskFull, .readOnly, .unusableFile, .closed: true
        default: false
        }
    }
}
