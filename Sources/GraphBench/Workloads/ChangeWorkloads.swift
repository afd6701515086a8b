extension Workload {
    static let changeWorkloads: [Workload] = [
        Workload(
            "update_many",
            "up to 100,000 random people, others in each run, updated in one commit by the context that has loaded all",
            unit: .seconds(per: "row"), targets: [.timesSQLite(2)],
            sqlite: sqliteUpdates, native: nativeUpdates),
        Workload(
            "update_many_new_context", "the same, each run in a new context", unit: .seconds(per: "row"),
            targets: [.timesSQLite(2)], sqlite: sqliteUpdates, native: nativeUpdates),
        Workload(
            "delete_cascade",
            "up to 100 random teams with their members deleted in one commit by the context that has loaded them",
            unit: .seconds(per: "person"), targets: [.timesSQLite(1.5)],
            sqlite: { setting in
                let deletions = setting.data.deletions
                return reloading(every: deletions.count) {
                    let peer = try SQLitePeer(at: .memory, loaded: setting.data)
                    return { turn in
                        let before = try peer.count(olderThan: -1, balanceBelow: .infinity)
                        let stopwatch = Stopwatch()
                        try peer.transaction {
                            for team in deletions[turn] { try peer.deleteCascading(team: team + 1) }
                        }
                        let seconds = stopwatch.seconds
                        let deleted = before - (try peer.count(olderThan: -1, balanceBelow: .infinity))
                        return Measurement(amount: seconds, count: deleted, answer: try peer.answer())
                    }
                }
            },
            native: { setting in
                let deletions = setting.data.deletions
                return reloading(every: deletions.count) {
                    let peer = NativePeer(loaded: setting.data)
                    return { turn in
                        let stopwatch = Stopwatch()
                        let deleted = deletions[turn].reduce(0) { $0 + peer.deleteCascading(team: $1) }
                        return Measurement(amount: stopwatch.seconds, count: deleted, answer: peer.answer)
                    }
                }
            }),
    ]

    private static let sqliteUpdates: Contender = { setting in
        let data = setting.data
        let peer = try SQLitePeer(at: .memory, loaded: data)
        return { run in
            let ids = data.updates(run: run).map { $0 + 1 }
            let stopwatch = Stopwatch()
            try peer.transaction {
                for (position, id) in ids.enumerated() {
                    try peer.setBalance(PeopleData.updatedBalance(position: position, run: run), id: id)
                }
            }
            return Measurement(amount: stopwatch.seconds, count: ids.count, answer: try peer.balances(of: ids))
        }
    }

    private static let nativeUpdates: Contender = { setting in
        let data = setting.data
        let peer = NativePeer(loaded: data)
        return { run in
            let ids = data.updates(run: run)
            let stopwatch = Stopwatch()
            for (position, id) in ids.enumerated() {
                peer.people[id]?.balance = PeopleData.updatedBalance(position: position, run: run)
            }
            return Measurement(amount: stopwatch.seconds, count: ids.count, answer: peer.balances(of: ids))
        }
    }

    /// A trial on a store that `load` makes anew before so many runs: its trial is told which one of them it is.
    static func reloading(every runs: Int, load: @escaping () async throws -> Trial) -> Trial {
        var trial: Trial?
        return { run in
            let turn = run % runs
            if turn == 0 { trial = nil }
            let current: Trial
            if let trial { current = trial } else { current = try await load() }
            trial = current
            return try await current(turn)
        }
    }
}
