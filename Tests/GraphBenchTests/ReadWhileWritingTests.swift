import Dispatch
import Synchronization
import Testing

@testable import GraphBench

struct ReadWhileWritingTests {
    private static let data = PeopleData(rows: 2_000)
    private static let toggles = MatchToggles(data)

    @Test func `after each update one person more or less matches`() {
        var people = Self.data.people
        #expect(Self.toggles.matches == people.count(where: \.matchesFilter))
        for count in 0..<2_000 {
            #expect(Self.toggles.matches(after: count) == people.count(where: \.matchesFilter))
            let (index, balance) = Self.toggles.update(after: count)
            people[index].balance = balance
        }
        #expect(people.map(\.matchesFilter) != Self.data.people.map(\.matchesFilter))
    }

    @Test func `scans of the states that commits made are accepted`() async throws {
        let matches = Mutex(Self.toggles.matches)
        let work = ReadWhileWriting(Self.data)
        let open: ScanThread.Open = { { matches.withLock { $0 } } }
        var commits = 0
        let commit: ReadWhileWriting.Commit = { _, _ in
            commits += 1
            matches.withLock { $0 = Self.toggles.matches(after: commits) }
        }
        let scans = work.scans(open: open, commit: commit)
        let measurement = try await Self.apart { try await scans(0) }
        #expect(measurement.answer == UInt64(Self.toggles.matches))
        // More, as long as there was no commit.
        #expect(measurement.count >= 2_000_000)
        #expect(measurement.count.isMultiple(of: 2_000))
        #expect(commits > 0)
        let again = try await Self.apart { try await scans(1) }
        #expect(again.answer == UInt64(Self.toggles.matches))
    }

    @Test func `commits are counted and leave what they should`() async throws {
        let matches = Mutex(Self.toggles.matches)
        var commits = 0
        let open: ScanThread.Open = { { matches.withLock { $0 } } }
        let trial = ReadWhileWriting(Self.data).commits(open: open) { _, _ in
            commits += 1
            matches.withLock { $0 = Self.toggles.matches(after: commits) }
        }
        let measurement = try await Self.apart { try await trial(0) }
        #expect(commits == Workload.Commits.durable)
        #expect(measurement.count == commits)
        #expect(measurement.answer == UInt64(Self.toggles.matches(after: commits)))
    }

    @Test func `a scan of no state that was is refused`() async throws {
        for (ahead, isSeen) in [(0, false), (1, true), (2, true), (3, false)] {
            let ledger = CommitLedger(done: 1)
            ledger.begin()
            let matches = Self.toggles.matches(after: ahead)
            let thread = ScanThread(scans: nil, toggles: Self.toggles, ledger: ledger) { { matches } }
            await Self.apart { await thread.ready() }
            thread.stop()
            if isSeen {
                _ = try await thread.scans()
            } else {
                await #expect(throws: ScanThread.TornScan.self) { _ = try await thread.scans() }
            }
        }
    }

    @Test func `a writer that fails ends the trial`() async throws {
        struct Failure: Error {}
        let work = ReadWhileWriting(Self.data)
        let open: ScanThread.Open = { { Self.toggles.matches } }
        let trials = [
            work.scans(open: open) { _, _ in throw Failure() }, work.commits(open: open) { _, _ in throw Failure() },
        ]
        for trial in trials {
            await #expect(throws: Failure.self) { _ = try await Self.apart { try await trial(0) } }
        }
    }

    /// Runs the body where it waits for no other test: its thread scans for as long.
    private static func apart<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await withTaskExecutorPreference(QueueExecutor(), operation: body)
    }

    private final class QueueExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "ReadWhileWritingTests")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
