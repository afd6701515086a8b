import Synchronization
import Testing

@testable import Graph

/// What a program makes of a log's answers: every course of a few requests.
struct SharedLogTests {
    /// What happens to one request to append, and to the answer.
    private enum Fate: CaseIterable {
        case answered
        /// The first record alone is appended.
        case partial
        case lost
        case answerLost
        /// It arrives before the next request does.
        case late
        /// It arrives once more before the next one.
        case twice
        /// Somebody else is first.
        case tooLate
        case refused
        case refusedForGood
    }

    private struct TimedOut: Error {}

    private final class Log: CommitLog {
        private let state: Mutex<(records: [[UInt8]], fates: [Fate], late: [(records: [[UInt8]], after: UInt64)])>
        private let isReadable: Bool

        init(_ fates: [Fate], isReadable: Bool) {
            state = Mutex(([], fates.reversed(), []))
            self.isReadable = isReadable
        }

        var records: [[UInt8]] { state.withLock { $0.records } }

        /// Whatever is on its way arrives.
        func settle() {
            state.withLock { state in
                for request in state.late { Self.append(request.records, after: request.after, to: &state.records) }
                state.late = []
            }
        }

        @discardableResult
        private static func append(_ new: [[UInt8]], after commit: UInt64, to records: inout [[UInt8]]) -> Int {
            guard commit == records.count else { return 0 }
            records += new
            return new.count
        }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            settle()
            return try state.withLock { state in
                let fate = state.fates.popLast() ?? .answered
                switch fate {
                case .answered: break
                case .partial: return Self.append(Array(records.prefix(1)), after: commit, to: &state.records)
                case .lost: throw TimedOut()
                case .answerLost:
                    Self.append(records, after: commit, to: &state.records)
                    throw TimedOut()
                case .late:
                    state.late.append((records, commit))
                    throw TimedOut()
                case .twice: state.late.append((records, commit))
                case .tooLate: state.records.append([99])
                case .refused: return 0
                case .refusedForGood: throw GraphError.invalidLog(reason: "")
                }
                return Self.append(records, after: commit, to: &state.records)
            }
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] {
            guard isReadable else { throw TimedOut() }
            return state.withLock { commit < $0.records.count ? Array($0.records[Int(commit)...]) : [] }
        }
    }

    /// Each course of up to four requests.
    private static let courses: [[Fate]] = (0..<4).reduce(into: [[]]) { courses, _ in
        courses = [[]] + courses.flatMap { course in Fate.allCases.map { [$0] + course } }
    }

    @Test(arguments: [1, 2, 3], [true, false])
    func `a record is in the log once, or not at all, and that is what the program believes`(
        count: Int, isReadable: Bool
    ) async {
        let own = (1...count).map { [UInt8($0)] }
        var (confirmed, failures, doubts) = (0, 0, 0)
        for course in Self.courses {
            let log = Log(course, isReadable: isReadable)
            let sent = await SharedLog(commits: log, schema: 0).append(own, after: .none, StepClock())
            let known = log.records
            log.settle()
            let found = log.records.filter { $0 != [99] }
            // In their order, from the first one on, and once.
            let isRight =
                found == Array(own.prefix(found.count)) && known.starts(with: own.prefix(sent.count))
                && (sent.isInDoubt ? found.count >= sent.count : found.count == sent.count)
                && (sent.failure != nil || sent.count == count || sent.others.first == [99])
                && (!sent.isInDoubt || sent.failure != nil)
            if !isRight { Issue.record("\(course): \(sent), and the log has \(log.records)") }
            if sent.count == count { confirmed += 1 }
            if sent.failure != nil, !course.contains(.refusedForGood) { failures += 1 }
            if sent.isInDoubt, !course.contains(.refusedForGood) { doubts += 1 }
        }
        #expect(confirmed > 100)
        // Where the log can be read, it is asked until everything is known.
        #expect(isReadable ? failures == 0 && doubts == 0 : failures > 100 && doubts > 100)
    }
}
