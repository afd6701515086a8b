import Synchronization

/// What a context hands over for a save.
struct SaveRequest: Sendable {
    var state: WorkingState
    var policy = MergePolicy.error
    var origin = ChangeOrigin()
    /// What a serializable transaction has read; otherwise nil.
    var reads: ReadSet?
    /// What it waits for, if that is more than the store's level.
    var durability = Durability.none
    /// What new rows with others' unique values do, whatever the schema says; nil if that decides.
    var uniqueness: UniquenessPolicy?
    /// Is told what becomes of the save if its answer is lost; nil if nobody would ask.
    var receipt: SaveReceipt?
    /// Of earlier saves of these changes, which may be in the log, and then must not be saved again.
    var doubts: [SaveReceipt] = []
}

/// The result of a save.
struct Outcome: Sendable {
    /// The newest state, including the save.
    let base: ContextBase
    /// Whether that state contains exactly what the save captured.
    var isAsCaptured: Bool
    /// New rows that gave way to others.
    let replacements: Replacements
    /// Rows that took over the values of those.
    var overwritten: Set<RowID> = []
    /// Rows whose conflicts a policy resolved, so that their saved values may differ from what was captured.
    var resolved: [RowID] = []
    /// What the commit changed in the store, and its number; nil in a nested context, and if there was nothing to commit.
    var commit: (number: CommitNumber, change: SnapshotDifference)?
}

/// The state that a context starts from.
struct ContextBase: Sendable {
    let snapshot: Snapshot
    /// The committed state below the snapshot, if that is an outer context's with its unsaved changes.
    var committed: Snapshot?
}

/// What becomes of a save that is sent to a log. Its context asks, if it was told that nobody knows.
final class SaveReceipt: Sendable {
    private enum Fate {
        case unknown
        case doubtful(Outcome)
        case arrived(Outcome)
        case lost
    }

    private let fate = Mutex(Fate.unknown)

    /// What the save came to, once it has turned out to be in the log.
    var arrived: Outcome? { fate.withLock { if case .arrived(let outcome) = $0 { outcome } else { nil } } }
    /// Whether it can no longer arrive.
    var isLost: Bool { fate.withLock { if case .lost = $0 { true } else { false } } }

    /// Takes note that the save may be in the log.
    func doubt(_ outcome: Outcome) { fate.withLock { $0 = .doubtful(outcome) } }

    /// Takes note of whether it is.
    func settle(isThere: Bool) {
        fate.withLock { fate in
            guard case .doubtful(let outcome) = fate else { return }
            fate = isThere ? .arrived(outcome) : .lost
        }
    }
}
