extension Workload {
    static let changeWorkloads: [Workload] = [
        Workload(
            "update_many", "up to 100,000 random people, others in each run, updated in one commit",
            note: "in the context that has loaded them", unit: .seconds(per: "row"), targets: [.timesSQLite(2)],
            sqlite: sqliteUpdates, native: nativeUpdates),
        Workload(
            "update_many_new_context", "the same, each run in a new context", unit: .seconds(per: "row"),
            targets: [.timesSQLite(2)], sqlite: sqliteUpdates, native: nativeUpdates),
        Workload(
            "delete_cascade", "up to 100 random teams with their members deleted in one commit",
            note: "in the context that has loaded them", unit: .seconds(per: "person"), targets: [.timesSQLite(1.5)],
            sqlite: { setting in
                deletions(setting.data) {
                    let peer = try SQLitePeer(at: .memory, loaded: setting.data)
                    return { teams in
                        let before = try peer.count(olderThan: -1, balanceBelow: .infinity)
                        let stopwatch = Stopwatch()
                        try peer.transaction {
                            for team in teams { try peer.deleteCascading(team: team + 1) }
                        }
                        let seconds = stopwatch.seconds
                        let deleted = before - (try peer.count(olderThan: -1, balanceBelow: .infinity))
                        return Measurement(amount: seconds, count: deleted, answer: try peer.answer())
                    }
                }
            },
            native: { setting in
                deletions(setting.data) {
                    let peer = NativePeer(loaded: setting.data)
                    return { teams in
                        let stopwatch = Stopwatch()
                        let deleted = teams.reduce(0) { $0 + peer.deleteCascading(team: $1) }
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

    /// Deletes the teams of some indices.
    typealias Deletion = (_ teams: ArraySlice<Int>) async throws -> Measurement

    /// A trial that deletes other teams in every run, from a store that `load` makes anew when all are gone.
    static func deletions(_ data: PeopleData, load: @escaping () async throws -> Deletion) -> Trial {
        let deletions = data.deletions
        var delete: Deletion?
        return { run in
            let turn = run % deletions.count
            if turn == 0 { delete = nil }
            let current: Deletion
            if let delete { current = delete } else { current = try await load() }
            delete = current
            return try await current(deletions[turn])
        }
    }
}
