extension Workload {
    static let readWhileWritingWorkloads: [Workload] = [
        Workload(
            "read_while_writing_scan", "the scan of a snapshot while one writer makes durable one-row commits",
            unit: .seconds(per: "row scanned"), targets: [.timesSQLite(8)],
            sqlite: { setting in
                let (path, peer) = try sqliteWriter(setting)
                return ReadWhileWriting(setting.data).scans(
                    open: { try sqliteReader(path) },
                    commit: { balance, index in
                        try peer.setBalance(balance, id: index + 1)
                    })
            },
            native: nil),
        Workload(
            "read_while_writing_commit",
            "durable one-row commits beside such a reader; alone: without the reader",
            unit: .seconds(per: "commit"), targets: [.within(1.5, .alone)], baseline: .alone,
            sqlite: { setting in
                let (path, peer) = try sqliteWriter(setting)
                return ReadWhileWriting(setting.data).commits(
                    open: { try sqliteReader(path) },
                    commit: { balance, index in
                        try peer.setBalance(balance, id: index + 1)
                    })
            },
            native: { setting in try await EngineReadWhileWriting.commits(setting, isRead: false) }),
    ]

    private static func sqliteWriter(_ setting: Setting) throws -> (path: String, peer: SQLitePeer) {
        let path = setting.freshPath("reading.sqlite")
        return (path, try SQLitePeer(at: .file(path), loaded: setting.data))
    }

    /// A connection of the reader's own; each scan is a read transaction.
    private static func sqliteReader(_ path: String) throws -> () throws -> Int {
        let peer = try SQLitePeer(at: .file(path))
        return { try peer.count(olderThan: PeopleData.ageLimit, balanceBelow: PeopleData.balanceLimit) }
    }
}

/// One reader and one writer at the same time, for any store.
struct ReadWhileWriting {
    typealias Commit = (_ balance: Double, _ index: Int) async throws -> Void

    private let rows: Int
    private let toggles: MatchToggles

    init(_ data: PeopleData) {
        rows = data.rows
        toggles = MatchToggles(data)
    }

    /// A trial that times scans while commits go on.
    func scans(open: @escaping ScanThread.Open, commit: @escaping Commit) -> Workload.Trial {
        let count = max(10, 2_000_000 / rows)
        var done = 0
        return { _ in
            let ledger = CommitLedger(done: done)
            let reader = ScanThread(scans: count, toggles: toggles, ledger: ledger, open: open)
            defer { reader.stop() }
            while !reader.isFinished { try await write(ledger, commit) }
            let scans = try await reader.scans()
            done = ledger.done
            // How many commits there were differs: the answer is what it would be without them.
            let difference = try open()() - toggles.matches(after: done)
            return Measurement(
                amount: scans.seconds, count: scans.count * rows, answer: UInt64(toggles.matches + difference))
        }
    }

    /// A trial that times commits while scans go on, if somebody reads.
    func commits(isRead: Bool = true, open: @escaping ScanThread.Open, commit: @escaping Commit) -> Workload.Trial {
        var done = 0
        return { _ in
            let ledger = CommitLedger(done: done)
            let reader =
                isRead ? ScanThread(scans: nil, toggles: toggles, ledger: ledger, open: open) : nil
            defer { reader?.stop() }
            await reader?.ready()
            let stopwatch = Stopwatch()
            for _ in 0..<Workload.Commits.durable { try await write(ledger, commit) }
            let seconds = stopwatch.seconds
            reader?.stop()
            _ = try await reader?.scans()
            done = ledger.done
            return Measurement(amount: seconds, count: Workload.Commits.durable, answer: UInt64(try open()()))
        }
    }

    private func write(_ ledger: CommitLedger, _ commit: Commit) async throws {
        let (index, balance) = toggles.update(after: ledger.done)
        ledger.begin()
        try await commit(balance, index)
        ledger.end()
    }
}
