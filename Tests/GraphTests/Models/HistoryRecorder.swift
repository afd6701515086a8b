import Synchronization

@testable import Graph

/// Writes down transactions while they run.
final class HistoryRecorder: Sendable {
    private struct State {
        var time = 0
        var stamp = 0
        var rows = Ledger.Rows()
        var transactions: [History.Transaction] = []
        var contradictions: [String] = []
        var counts: [String: Int] = [:]
        var snapshots: [CommitNumber: Snapshot] = [:]
    }

    private let state: Mutex<State>
    private let allowsCommuting: Bool
    /// Whether transactions sign what they write.
    let hasSignatures: Bool

    /// - Parameter level: of the transactions, where links may tell.
    init(_ rows: Ledger.Rows, level: IsolationLevel = .serializable) {
        state = Mutex(State(rows: rows))
        allowsCommuting = level == .snapshot
        hasSignatures = rows.hasRelations
    }

    /// A committed state that somebody has come by.
    func see(_ snapshot: Snapshot) {
        state.withLock { $0.snapshots[snapshot.commit] = snapshot }
    }

    /// R28. Sees each commit of a feed, until it ends.
    ///
    /// - Parameter first: the commit behind which the feed begins.
    /// - Returns: the last one.
    func follow(_ commits: Commits, after first: CommitNumber) async -> CommitNumber {
        var last = first
        for await change in commits {
            if change.commits != last.next...last.next { note("the feed gives \(change.commits) after \(last)") }
            guard let difference = change.difference else {
                note("the feed has no states of \(change)")
                continue
            }
            if difference.before.commit != last {
                note("the feed goes from \(difference.before.commit), not from \(last)")
            }
            last = difference.after.commit
            see(difference.after)
        }
        return last
    }

    /// The transactions, with the states that were seen.
    ///
    /// - Precondition: all committed states from the first on were seen. In memory, the one who commits sees exactly that commit.
    func history(_ contradictions: inout [String]) -> History {
        history(seenStates, &contradictions)
    }

    /// The transactions, between one that made the first of the committed states and one that reads the last.
    func history(_ states: [LedgerState], _ contradictions: inout [String]) -> History {
        for seen in seenStates {
            let state = states.first { $0.commit == seen.commit }
            if state?.agrees(with: seen) != true {
                contradictions.append("nobody should have seen commit \(seen.commit) so")
            }
        }
        var history = History(
            transactions: [states[0].beginning] + state.withLock { $0.transactions }, allowsCommuting: allowsCommuting)
        contradictions += history.resolve(states)
        history.transactions.append(states[states.count - 1].end(at: now()))
        return history
    }

    private var seenStates: [LedgerState] {
        let snapshots = state.withLock { $0.snapshots }
        return LedgerState.chain(snapshots.sorted { $0.key < $1.key }.map(\.value))
    }

    /// The moment: greater than all moments before.
    func now() -> Int {
        state.withLock { state in
            state.time += 1
            return state.time
        }
    }

    /// What a step chooses from. The rows include those that others have inserted and not committed.
    func choices() -> LedgerChoices {
        state.withLock { state in
            state.stamp += 1
            return LedgerChoices(rows: state.rows, stamp: state.stamp)
        }
    }

    /// - Parameter begin: a moment before the transaction's base was taken.
    func begin(session: Int, at begin: Int, on base: CommitNumber) -> Transaction {
        Transaction(recorder: self, session: session, begin: begin, base: base.number)
    }

    var contradictions: [String] { state.withLock { $0.contradictions } }

    var counts: [String: Int] { state.withLock { $0.counts } }

    func count(_ what: String) {
        state.withLock { $0.counts[what, default: 0] += 1 }
    }

    /// Notes what no outcome of a transaction should be.
    func note(_ contradiction: String) {
        state.withLock { $0.contradictions.append(contradiction) }
    }

    private func note(_ trace: LedgerTrace) {
        state.withLock { state in
            state.contradictions += trace.contradictions
            state.rows.append(trace.inserted)
        }
    }

    private func add(_ transaction: History.Transaction) {
        state.withLock { state in
            var transaction = transaction
            transaction.number = state.transactions.count + 1
            state.transactions.append(transaction)
        }
    }

    /// A transaction under way.
    final class Transaction: Sendable {
        private let recorder: HistoryRecorder
        private let transaction: Mutex<History.Transaction>

        fileprivate init(recorder: HistoryRecorder, session: Int, begin: Int, base: UInt64) {
            self.recorder = recorder
            transaction = Mutex(
                History.Transaction(
                    number: 0, session: session, begin: begin, end: begin, base: base, operations: [],
                    outcome: .rejected))
        }

        func add(_ trace: LedgerTrace) {
            recorder.note(trace)
            transaction.withLock { $0.operations += trace.operations }
        }

        /// The end of what a transaction does, on the context that did it.
        func sign(on context: isolated Context) {
            guard recorder.hasSignatures else { return }
            let stamp = recorder.choices().stamp
            let isSigned = transaction.withLock { transaction in
                guard transaction.hasWrites else { return false }
                transaction.signature = stamp
                transaction.markCommuting { context.onlyNullifies($0) }
                return true
            }
            if isSigned { context.insert(Ledger.Signature(stamp: stamp)) }
        }

        /// R27: a save that has succeeded shows what it deleted as gone, also where another transaction deleted it first.
        func checkDeletes(in snapshot: Snapshot) {
            let operations = transaction.withLock { $0.operations }
            for case .write(let write) in operations where write.to.isDead && snapshot.version(of: write.row) != 0 {
                recorder.note("\(write.row) is there after a delete, in commit \(snapshot.commit)")
            }
        }

        /// - Returns: the moment.
        @discardableResult
        func end(_ outcome: History.Outcome) -> Int {
            let now = recorder.now()
            let ended = transaction.withLock { transaction in
                // What may happen later is never over.
                (transaction.end, transaction.outcome) = (outcome == .unknown ? .max : now, outcome)
                return transaction
            }
            recorder.add(ended)
            return now
        }
    }
}
