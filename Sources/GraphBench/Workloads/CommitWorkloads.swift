extension Workload {
    /// How many commits one run makes, and how many tasks share them where they are concurrent.
    enum Commits {
        static let durable = 1_000
        static let inMemory = 10_000
        static let tasks = 16
        static let perTask = 200
    }

    static let commitWorkloads: [Workload] = [
        Workload(
            "commit_small_durable", "one-row updates, each its own durable commit, one writer",
            unit: .seconds(per: "commit"), targets: [],
            sqlite: { setting in
                let data = setting.data
                let path = setting.freshPath("commit.sqlite")
                setting.afterRuns { run in
                    try SQLitePeer(at: .file(path)).balances(
                        of: data.updates(run: run).prefix(Commits.durable).map { $0 + 1 })
                }
                return sqliteCommits(
                    data, count: Commits.durable, peer: try SQLitePeer(at: .file(path), loaded: data))
            },
            native: { setting in
                let data = setting.data
                let peer = NativePeer(loaded: data)
                let path = setting.freshPath("commit.native")
                let journal = try NativeJournal(creating: path)
                setting.afterRuns { run in
                    try readBack(path, data, data.updates(run: run).prefix(Commits.durable))
                }
                return { run in
                    let ids = data.updates(run: run).prefix(Commits.durable)
                    let stopwatch = Stopwatch()
                    for (position, id) in ids.enumerated() {
                        guard let person = peer.people[id] else { continue }
                        person.balance = PeopleData.updatedBalance(position: position, run: run)
                        journal.append(person.value)
                        try journal.commit()
                    }
                    return Measurement(amount: stopwatch.seconds, count: ids.count, answer: peer.balances(of: ids))
                }
            }),
        Workload(
            "commit_small_durable_sync",
            "the same; bare sync: as many bytes written over blocks that were written before, and synced",
            unit: .seconds(per: "commit"), targets: [.within(1.25, .sync)], baseline: .sync, sqlite: nil,
            native: { setting in
                let data = setting.data
                let file = try LimitFile(creating: setting.freshPath("overwrite"))
                let count = data.updates(run: 0).prefix(Commits.durable).count
                try file.append(count: count * Limits.syncBytes)
                return { run in
                    let stopwatch = Stopwatch()
                    for commit in 0..<count {
                        try file.overwrite(count: Limits.syncBytes, at: commit * Limits.syncBytes)
                    }
                    let seconds = stopwatch.seconds
                    // What the commits come to: here is nothing but time to compare.
                    let people = data.updates(run: run).prefix(count).enumerated().map { position, index in
                        data.person(index, updatedAt: position, run: run)
                    }
                    return Measurement(
                        amount: seconds, count: count, answer: Checksum.rowByRow(people.lazy.map(\.checksum)))
                }
            }),
        Workload(
            "commit_small_concurrent", "one-row durable commits of 16 tasks at once",
            unit: .seconds(per: "commit"), targets: [.within(1.15, .native)],
            sqlite: { setting in
                let data = setting.data
                let path = setting.freshPath("concurrent.sqlite")
                let writer = try SQLiteWriter(path: path, loaded: data)
                setting.afterRuns { run in
                    try SQLitePeer(at: .file(path)).balances(of: concurrentUpdates(data, run: run).map { $0 + 1 })
                }
                return { run in
                    let (seconds, ids) = try await concurrentCommits(data, run: run) { _, balance, index in
                        try await writer.commitBalance(balance, id: index + 1)
                    }
                    let answer = try await writer.balances(of: ids.map { $0 + 1 })
                    return Measurement(amount: seconds, count: ids.count, answer: answer)
                }
            },
            native: { setting in
                let data = setting.data
                let path = setting.freshPath("concurrent.native")
                let writer = try NativeGroupWriter(path: path, loaded: data)
                setting.afterRuns { run in try readBack(path, data, concurrentUpdates(data, run: run)) }
                return { run in
                    let (seconds, ids) = try await concurrentCommits(data, run: run) { _, balance, index in
                        try await writer.commitBalance(balance, id: index)
                    }
                    return Measurement(amount: seconds, count: ids.count, answer: await writer.balances(of: ids))
                }
            }),
        Workload(
            "commit_small_memory", "one-row updates, each its own commit in memory",
            unit: .seconds(per: "commit"), targets: [.timesSQLite(1)],
            sqlite: { setting in
                sqliteCommits(
                    setting.data, count: Commits.inMemory,
                    peer: try SQLitePeer(at: .memory, loaded: setting.data))
            },
            native: { setting in
                let data = setting.data
                let peer = NativePeer(loaded: data)
                return { run in
                    let ids = data.updates(run: run).prefix(Commits.inMemory)
                    let stopwatch = Stopwatch()
                    for (position, id) in ids.enumerated() {
                        peer.people[id]?.balance = PeopleData.updatedBalance(position: position, run: run)
                    }
                    return Measurement(amount: stopwatch.seconds, count: ids.count, answer: peer.balances(of: ids))
                }
            }),
    ]

    /// Gives every task updates of its own and does them all with `commit`, which gets the number of the task, a balance
    /// and an index of the data.
    ///
    /// - Returns: the time and the indices that were updated.
    static func concurrentCommits(
        _ data: PeopleData, run: Int,
        commit: @escaping @Sendable (_ task: Int, _ balance: Double, _ index: Int) async throws -> Void
    ) async throws -> (seconds: Double, indices: [Int]) {
        let indices = concurrentUpdates(data, run: run)
        let perTask = indices.count / Commits.tasks
        let stopwatch = Stopwatch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<Commits.tasks {
                group.addTask {
                    for position in task * perTask..<(task + 1) * perTask {
                        let balance = PeopleData.updatedBalance(position: position, run: run)
                        try await commit(task, balance, indices[position])
                    }
                }
            }
            try await group.waitForAll()
        }
        return (stopwatch.seconds, Array(indices))
    }

    /// The updates that the tasks share, as many for each.
    static func concurrentUpdates(_ data: PeopleData, run: Int) -> ArraySlice<Int> {
        let updates = data.updates(run: run)
        return updates.prefix(min(Commits.perTask, updates.count / Commits.tasks) * Commits.tasks)
    }

    /// Who has which balance after the changes in a native journal.
    private static func readBack(_ path: String, _ data: PeopleData, _ updates: ArraySlice<Int>) throws -> UInt64 {
        let peer = NativePeer(loaded: data)
        try NativeJournal.replay(path, onto: peer)
        return peer.balances(of: updates)
    }

    private static func sqliteCommits(_ data: PeopleData, count: Int, peer: SQLitePeer) -> Trial {
        return { run in
            let ids = data.updates(run: run).prefix(count).map { $0 + 1 }
            let stopwatch = Stopwatch()
            for (position, id) in ids.enumerated() {
                try peer.setBalance(PeopleData.updatedBalance(position: position, run: run), id: id)
            }
            return Measurement(amount: stopwatch.seconds, count: ids.count, answer: try peer.balances(of: ids))
        }
    }
}
