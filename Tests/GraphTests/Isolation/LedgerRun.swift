@testable import Graph

/// Random transactions of several sessions on a schedule that a seed fixes, as a history.
struct LedgerRun: Sendable {
    let history: History
    /// What is wrong before any isolation is looked at.
    let contradictions: [String]
    /// How often each form of transaction had which outcome.
    let counts: [String: Int]
    let schedule: [Int]

    init(seed: UInt64, level: IsolationLevel) async throws {
        let coordinator = try await Coordinator.ledger(checksEveryCommit: seed.isMultiple(of: 8))
        var random = SeededGenerator(seed: seed)
        let accounts = Int.random(in: 3...5, using: &random)
        let rows = try await Context(coordinator).insertLedger(accounts)
        let recorder = HistoryRecorder(rows)
        recorder.see(coordinator.snapshot)
        let sessions = (1...Int.random(in: 3...5, using: &random)).map { number in
            LedgerSession(
                number: number, coordinator: coordinator, recorder: recorder, level: level,
                random: SeededGenerator(seed: random.next()))
        }
        let executor = SeededExecutor(
            seed: random.next(),
            strategy: seed.isMultiple(of: 2) ? .uniform : .priorities(changes: 2, steps: 60 * sessions.count))
        let end: Void? = executor.run {
            await withTaskGroup(of: Void.self) { group in
                for session in sessions {
                    group.addTask {
                        var session = session
                        await session.run()
                    }
                }
            }
        }
        var contradictions = recorder.contradictions + coordinator.check()
        if end == nil { contradictions.append("the sessions hang") }
        let history = recorder.history(&contradictions)
        (self.history, self.contradictions) = (history, contradictions)
        (counts, schedule) = (recorder.counts, executor.trace)
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
