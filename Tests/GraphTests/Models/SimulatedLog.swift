import Synchronization

@testable import Graph

/// A log in memory that several writers reach by bad connections: requests and answers come late, twice or never, and a connection
/// may be cut for a while. What it says it has, it keeps.
final class SimulatedLog: Sendable {
    private struct State {
        /// The commit behind which it begins.
        var start: UInt64
        var records: [[UInt8]] = []
        var random: SeededGenerator
        var isFaulty = false
        /// For each connection, how many calls fail until it is back.
        var cuts: [Int: Int] = [:]
        var counts: [String: Int] = [:]

        var end: UInt64 { start + UInt64(records.count) }

        mutating func append(_ new: some Sequence<[UInt8]>, after commit: UInt64) -> Int {
            guard commit == end else { return 0 }
            let count = records.count
            records += new
            return records.count - count
        }
    }

    private let state: Waitable<State>

    /// - Parameter start: the commit that all stores have in the beginning.
    init(seed: UInt64, start: UInt64) {
        state = Waitable(State(start: start, random: SeededGenerator(seed: seed)))
    }

    var records: [[UInt8]] { state.withLock { $0.records } }
    var counts: [String: Int] { state.withLock { $0.counts } }

    /// From here on connections are bad, or good again.
    func setFaulty(_ isFaulty: Bool) {
        state.change { state in
            state.isFaulty = isFaulty
            state.cuts = [:]
        }
    }

    struct TimedOut: Error {}

    /// What happens to a request to append.
    private enum Fate: String, CaseIterable {
        case answered
        case lost
        case answerLost = "answers lost"
        case late
        case twice
        case partial = "in part"
        case refused = "refused without a reason"
    }

    /// How one writer reaches the log.
    struct Connection: CommitLog {
        let log: SimulatedLog
        let number: Int
        /// Where requests arrive that come late.
        let executor: SeededExecutor?

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            try await log.delay(number)
            let fate = log.fate()
            defer { log.count("appends \(fate.rawValue)") }
            switch fate {
            case .answered: break
            case .lost: throw TimedOut()
            case .refused: return 0
            case .late, .twice:
                let (log, yields) = (log, log.random(1...60))
                Task(executorPreference: executor) {
                    for _ in 0..<yields { await Task.yield() }
                    log.arrive(records, commit)
                }
                if fate == .late { throw TimedOut() }
            case .partial:
                let count = log.arrive(records.prefix(1), commit)
                try await log.delay(number)
                return count
            case .answerLost:
                log.arrive(records, commit)
                throw TimedOut()
            }
            let count = log.arrive(records, commit)
            try await log.delay(number)
            return count
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] {
            try await log.delay(number)
            let found = log.read(after: commit)
            try await log.delay(number)
            return found
        }

        func waitForRecords(after commit: UInt64) async throws {
            try await log.delay(number)
            await log.state.waitForChange(unless: { $0.end > commit }, isolation: nil)
        }
    }

    func connection(_ number: Int, executor: SeededExecutor? = nil) -> Connection {
        Connection(log: self, number: number, executor: executor)
    }

    @discardableResult
    private func arrive(_ records: some Sequence<[UInt8]> & Sendable, _ commit: UInt64) -> Int {
        state.change { $0.append(records, after: commit) }
    }

    private func read(after commit: UInt64) -> [[UInt8]] {
        state.withLock { state in
            guard commit < state.end else { return [] }
            let found = state.records[Int(max(commit, state.start) - state.start)...]
            return Array(found.prefix(state.isFaulty ? Int.random(in: 1...8, using: &state.random) : .max))
        }
    }

    private func fate() -> Fate {
        state.withLock { state in
            guard state.isFaulty, Int.random(in: 0..<3, using: &state.random) == 0 else { return .answered }
            return Fate.allCases.randomElement(using: &state.random) ?? .answered
        }
    }

    private func random(_ range: ClosedRange<Int>) -> Int {
        state.withLock { Int.random(in: range, using: &$0.random) }
    }

    private func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }

    /// Takes a while, or fails while the connection is cut.
    private func delay(_ number: Int) async throws {
        let yields = state.withLock { state -> Int? in
            guard state.isFaulty else { return 0 }
            if let calls = state.cuts[number] {
                state.cuts[number] = calls > 1 ? calls - 1 : nil
                return nil
            }
            if Int.random(in: 0..<60, using: &state.random) == 0 {
                state.cuts[number] = Int.random(in: 1...30, using: &state.random)
            }
            return Int.random(in: 0..<6, using: &state.random)
        }
        guard let yields else {
            await Task.yield()
            throw TimedOut()
        }
        for _ in 0..<yields { await Task.yield() }
    }
}
