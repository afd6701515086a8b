import Graph

/// The engine's side of ``Workload/changeWorkloads``.
enum EngineChange {
    static let contenders: [String: Workload.Contender] = [
        "update_many": { setting in
            let (store, context) = try await EngineStore.inMemoryWithContext(setting.data)
            return updates(setting.data, store) { context }
        },
        "update_many_new_context": { setting in
            let store = try await EngineStore.inMemory(setting.data)
            return updates(setting.data, store) { Context(store.coordinator) }
        },
        "delete_cascade": { setting in
            let data = setting.data
            let deletions = data.deletions
            return Workload.reloading(every: deletions.count) {
                let (store, context) = try await EngineStore.inMemoryWithContext(data)
                return { turn in
                    let before = store.coordinator.snapshot.count(of: Person.self)
                    let seconds = try await context.deleteTeams(deletions[turn].map { store.teams[$0] })
                    let deleted = before - store.coordinator.snapshot.count(of: Person.self)
                    return Measurement(amount: seconds, count: deleted, answer: try store.answer())
                }
            }
        },
    ]

    private static func updates(
        _ data: PeopleData, _ store: EngineStore, in context: @escaping () -> Context
    ) -> Workload.Trial {
        return { run in
            let ids = data.updates(run: run).map { store.people[$0] }
            let seconds = try await context().updateBalances(of: ids, run: run)
            return Measurement(amount: seconds, count: ids.count, answer: store.balances(of: ids))
        }
    }
}

extension Context {
    /// Sets the balances of one run in one commit.
    func updateBalances(of ids: [Person.ID], run: Int) async throws -> Double {
        let stopwatch = Stopwatch()
        for (position, id) in ids.enumerated() {
            self[id]?.balance = PeopleData.updatedBalance(position: position, run: run)
        }
        try await save()
        return stopwatch.seconds
    }

    /// Deletes teams, and with them their members, in one commit.
    func deleteTeams(_ ids: [Team.ID]) async throws -> Double {
        let stopwatch = Stopwatch()
        for id in ids {
            self[id]?.delete()
        }
        try await save()
        return stopwatch.seconds
    }
}
