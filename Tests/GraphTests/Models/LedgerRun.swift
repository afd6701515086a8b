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
        /// In memory, without a schedule: on as many threads as there are.
        case threads
        /// Five stores in memory, which save to one log by bad connections.
        case log
    }

    init(seed: UInt64, level: IsolationLevel, on medium: Medium) async throws {
        var random = SeededGenerator(seed: seed)
        let disk = medium == .disk ? LedgerDisk(seed: random.next()) : nil
        let sessionCount = Int.random(in: medium == .log ? 5...7 : 3...5, using: &random)
        let executor = SeededExecutor(seed: random.next() << 1 | seed & 1, sessions: sessionCount)
        let ownExecutor = medium == .threads ? nil : executor
        let accounts = Int.random(in: 3...5, using: &random)
        let hasRelations = seed % 5 < 2
        let coordinator: Coordinator
        let rows: Ledger.Rows
        if let disk, seed % 4 < 2 {
            // The file is another version's, perhaps with another order of properties.
            let first = try await disk.open(as: 1 + seed % 7)
            rows = try await Context(first).insertLedger(accounts, hasRelations: hasRelations)
            try await first.close()
            coordinator = try await disk.open(on: executor)
        } else {
            coordinator =
                if let disk { try await disk.open(on: executor) } else {
                    try await Coordinator.ledger(checksEveryCommit: seed % 8 == 0, on: ownExecutor)
                }
            rows = try await Context(coordinator).insertLedger(accounts, hasRelations: hasRelations)
        }
        disk?.activateFaults()
        let recorder = HistoryRecorder(rows, level: level)
        recorder.see(coordinator.snapshot)
        let shared =
            medium == .log
            ? try await SharedLedger(coordinator, writers: 5, seed: random.next(), on: executor) : nil
        let sessions = (1...sessionCount).map { number in
            let writer = shared.map { $0.writers[number % $0.writers.count] }
            return LedgerSession(
                number: number, coordinator: writer?.coordinator ?? coordinator, recorder: recorder, level: level,
                mayFail: disk != nil || writer != nil, freshness: writer?.freshness, executor: ownExecutor,
                random: SeededGenerator(seed: random.next()))
        }
        let coordinators = shared?.writers.map(\.coordinator) ?? [coordinator]
        let disturbance = Disturbance(&random, mayClose: disk != nil || shared != nil)
        let queue = disk?.hold(coordinator)
        let first = coordinators[0].snapshot.commit
        let commits = Int.random(in: 0..<3, using: &random) == 0 ? coordinators[0].commits : nil
        let drain: () -> Void = { queue?.run() }
        let run: @Sendable () async -> Void = {
            let follower = commits.map { commits in
                Task(executorPreference: ownExecutor) { await recorder.follow(commits, after: first) }
            }
            let tasks = sessions.map { session in
                Task(executorPreference: ownExecutor) {
                    var session = session
                    await session.run()
                }
            }
            await disturbance.disturb(tasks, coordinators[0])
            for task in tasks { await task.value }
            await shared?.catchUp(recorder)
            for coordinator in coordinators {
                if await coordinator.isRetryTurnTaken { recorder.note("a turn to retry outlasts its transaction") }
                await coordinator.closeWhenThereIsRoom()
            }
            let last = await follower?.value
            if let last, last != coordinators[0].snapshot.commit {
                recorder.note("the feed of commits ends with \(last)")
            }
        }
        let end: Void?
        if medium == .threads { end = await run() } else { end = executor.run(drain: drain, run) }
        queue?.release()
        var contradictions = recorder.contradictions + coordinators.flatMap { $0.snapshot.checkByHand() }
        if end == nil {
            contradictions.append("the sessions hang")
            history = History()
        } else if let shared {
            history = recorder.history(try shared.states(), &contradictions)
        } else if let disk {
            history = recorder.history(try disk.states(), &contradictions)
            do {
                if seed % 2 == 0 {
                    let conversions = try await disk.reopen(as: [1 + seed / 2 % 7, 1 + seed / 14 % 7, 0])
                    recorder.count("reopened, converted \(conversions) times")
                }
            } catch {
                contradictions.append("another version of the program: \(error)")
            }
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

extension Coordinator {
    /// A disk that is full is so for some writes only.
    fileprivate func closeWhenThereIsRoom() async {
        for _ in 0..<100 {
            do throws(GraphError) {
                return try await close()
            } catch {
                guard case .diskFull = error else { return }
            }
        }
    }

    fileprivate var isRetryTurnTaken: Bool { retryLine.holder != nil }
}

extension Context {
    /// - Parameter hasRelations: whether there are owners of all kinds.
    func insertLedger(_ count: Int, hasRelations: Bool = false) async throws -> Ledger.Rows {
        var rows = Ledger.Rows()
        let branches = (0..<2).map { insert(Ledger.Branch(stamp: -100 - $0, kind: $0)) }
        rows.branches = branches.map(\.id)
        let accounts = (0..<count).map { number in
            let branch = ToOne(branches[number % 2].id)
            let account = insert(
                Ledger.Account(balance: number / 2, grade: number % 3, stamp: -1 - number, branch: branch))
            account.name = account.id.name
            return account
        }
        rows.accounts = accounts.map(\.id)
        if hasRelations {
            let shelves = (0..<2).map { insert(Ledger.Shelf(stamp: -200 - $0)) }
            let vaults = (0..<2).map { insert(Ledger.Vault(stamp: -300 - $0)) }
            let tags = (0..<3).map { insert(Ledger.Tag(stamp: -400 - $0)) }
            let cards = (0..<2).map { insert(Ledger.Card(stamp: -500 - $0)) }
            for (number, account) in accounts.enumerated() {
                account.shelf = shelves[number % 3 == 0 ? 1 : 0]
                if number % 2 == 1 { account.vault = vaults[number % 3 == 0 ? 1 : 0] }
                account.tags.insert(tags[number % 3])
            }
            accounts[0].card = cards[0]
            rows.shelves = shelves.map(\.id)
            rows.vaults = vaults.map(\.id)
            rows.tags = tags.map(\.id)
            rows.cards = cards.map(\.id)
            rows.keys = Ledger.KeyKind.allCases.enumerated().map { number, kind in
                insert(kind.key(0, stamp: -600 - number)).id
            }
        }
        try await save()
        return rows
    }
}

extension LedgerRun {
    static func result(
        seed: UInt64,
        _ level: HistoryChecker.Level,
        on medium: Medium
    ) async throws -> Schedules.Result {
        let run = try await LedgerRun(seed: seed, level: level == .snapshot ? .snapshot : .serializable, on: medium)
        let anomalies = HistoryChecker.anomalies(of: run.history, at: .serializable)
        var counts = run.counts
        for anomaly in anomalies where !level.forbids(anomaly.kind) {
            counts[anomaly.kind.rawValue, default: 0] += 1
        }
        return Schedules.Result(
            schedule: run.schedule,
            course: run.history.course,
            counts: counts,
            failures: run.contradictions + anomalies.filter { level.forbids($0.kind) }.map(\.description),
            details: "\(level), \(medium)\n\(run.history)"
        )
    }
}
