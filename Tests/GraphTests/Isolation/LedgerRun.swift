@testable import Graph

/// Random transactions of several sessions on a schedule that a seed fixes, as a history.
struct LedgerRun: Sendable {
    let history: History
    /// What is wrong before any isolation is looked at.
    let contradictions: [String]
    /// How often each form of transaction had which outcome.
    let counts: [String: Int]
    let schedule: [Int]

    enum Medium: Sendable {
        case memory
        case disk
    }

    init(seed: UInt64, level: IsolationLevel, on medium: Medium) async throws {
        var random = SeededGenerator(seed: seed)
        let disk = medium == .disk ? LedgerDisk(seed: random.next()) : nil
        let coordinator =
            if let disk { try await disk.open() } else {
                try await Coordinator.ledger(checksEveryCommit: seed % 8 == 0)
            }
        let accounts = Int.random(in: 3...5, using: &random)
        let rows = try await Context(coordinator).insertLedger(accounts)
        disk?.activateFaults()
        let recorder = HistoryRecorder(rows)
        recorder.see(coordinator.snapshot)
        let sessions = (1...Int.random(in: 3...5, using: &random)).map { number in
            LedgerSession(
                number: number, coordinator: coordinator, recorder: recorder, level: level, mayFail: disk != nil,
                random: SeededGenerator(seed: random.next()))
        }
        let executor = SeededExecutor(seed: random.next() << 1 | seed & 1, sessions: sessions.count)
        let disturbance = Disturbance(&random, mayClose: disk != nil)
        let queue = disk?.hold(coordinator)
        let commits = Int.random(in: 0..<3, using: &random) == 0 ? coordinator.commits : nil
        let settle: () -> Void = { queue?.run() }
        let end: Void? = executor.run(settle: settle) {
            let follower = commits.map { commits in
                Task(executorPreference: executor) { await recorder.follow(commits) }
            }
            let tasks = sessions.map { session in
                Task(executorPreference: executor) {
                    var session = session
                    await session.run()
                }
            }
            await disturbance.disturb(tasks, coordinator)
            for task in tasks { await task.value }
            try? await coordinator.close()
            let last = await follower?.value
            if let last, last != coordinator.snapshot.commit { recorder.note("the feed of commits ends with \(last)") }
        }
        queue?.release()
        var contradictions = recorder.contradictions + coordinator.check()
        if end == nil {
            contradictions.append("the sessions hang")
            history = History()
        } else if let disk {
            history = recorder.history(try disk.states(), &contradictions)
        } else {
            history = recorder.history(&contradictions)
        }
        self.contradictions = contradictions
        (counts, schedule) = (recorder.counts, executor.trace)
    }

    /// What happens to sessions from outside.
    private struct Disturbance: Sendable {
        /// After so many yields.
        private var cancelled: (session: Int, yields: Int)?
        private var closed: Int?

        init(_ random: inout SeededGenerator, mayClose: Bool) {
            let yields = Int.random(in: 0...60, using: &random)
            switch Int.random(in: 0..<16, using: &random) {
            case 0, 1: cancelled = (Int.random(in: 0..<3, using: &random), yields)
            case 2 where mayClose: closed = yields
            default: break
            }
        }

        func disturb(_ tasks: [Task<Void, Never>], _ coordinator: Coordinator) async {
            for _ in 0..<(cancelled?.yields ?? closed ?? 0) { await Task.yield() }
            if let cancelled { tasks[cancelled.session].cancel() }
            if closed != nil { try? await coordinator.close() }
        }
    }
}

extension Context {
    func insertLedger(_ count: Int) async throws -> Ledger.Rows {
        let branches = (0..<2).map { _ in insert(Ledger.Branch()).id }
        let accounts = (0..<count).map { number in
            let branch = ToOne(branches[number % 2])
            let account = insert(Ledger.Account(balance: number / 2, stamp: -1 - number, branch: branch))
            account.name = account.id.name
            return account.id
        }
        try await save()
        return Ledger.Rows(branches: branches, accounts: accounts)
    }
}
