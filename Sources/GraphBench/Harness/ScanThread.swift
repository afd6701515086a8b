import Foundation
import Synchronization

/// A reader in a thread of its own, which scans again and again while somebody else commits, and checks each scan.
final class ScanThread: Sendable {
    /// Makes a reader; the function returned scans once and returns the number of matches. Both are called in the thread.
    typealias Open = @Sendable () throws -> () throws -> Int

    /// A scan whose rows are of no moment between its begin and its end.
    struct TornScan: Error {
        let matches: Int
        /// The numbers of commits that the scan may have seen.
        let commits: ClosedRange<Int>
    }

    /// What was measured.
    struct Scans: Sendable {
        var seconds = 0.0
        var count = 0
    }

    private struct State {
        var isStopped = false
        var isReady = false
        var outcome: Result<Scans, any Error>?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Parameter limit: after how many scans the thread ends, if a commit was made by then; without a limit it goes on
    ///   until ``stop()``.
    init(scans limit: Int?, toggles: MatchToggles, ledger: CommitLedger, open: @escaping Open) {
        let thread = Thread { [self] in
            let outcome = Result { try scan(limit, toggles, ledger, try open()) }
            wake { $0.outcome = outcome }
        }
        thread.start()
    }

    var isFinished: Bool { state.withLock { $0.outcome != nil } }

    /// Returns once scans are counted, or there will be none.
    func ready() async {
        await wait { $0.isReady || $0.outcome != nil }
    }

    /// Has the thread end after the scan that goes on.
    func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Waits for the thread to end.
    func scans() async throws -> Scans {
        await wait { $0.outcome != nil }
        return try state.withLock { try $0.outcome?.get() ?? Scans() }
    }

    private func scan(
        _ limit: Int?, _ toggles: MatchToggles, _ ledger: CommitLedger, _ count: () throws -> Int
    ) throws -> Scans {
        // The first scan warms up.
        try check(toggles, ledger, count)
        wake { $0.isReady = true }
        let commits = ledger.done
        var scans = Scans()
        while !state.withLock({ $0.isStopped }) {
            if let limit, scans.count >= limit, ledger.done > commits { break }
            let stopwatch = Stopwatch()
            try check(toggles, ledger, count)
            scans.seconds += stopwatch.seconds
            scans.count += 1
        }
        return scans
    }

    private func check(_ toggles: MatchToggles, _ ledger: CommitLedger, _ count: () throws -> Int) throws {
        let done = ledger.done
        let matches = try count()
        let commits = done...ledger.begun
        guard commits.contains(where: { toggles.matches(after: $0) == matches }) else {
            throw TornScan(matches: matches, commits: commits)
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private func wait(until condition: @Sendable (borrowing State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if condition(state) { return true }
                state.waiting.append(continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
        // A thread that was woken for something else waits on.
        if !state.withLock({ condition($0) }) { await wait(until: condition) }
    }
}
