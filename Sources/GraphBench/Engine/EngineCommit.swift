import Graph

/// The engine's side of ``Workload/commitWorkloads``.
enum EngineCommit {
    static let contenders: [String: Workload.Contender] = [
        "commit_small_durable": durable,
        "commit_small_durable_sync": durable,
        "commit_small_concurrent": { setting in
            let data = setting.data
            let path = setting.freshPath("concurrent.graph")
            let coordinator = try await EngineStore.open(path)
            let store = try await EngineStore(coordinator, loading: data)
            setting.afterRuns { run in
                try await readBack(path, store, Workload.concurrentUpdates(data, run: run))
            }
            let contexts = (0..<Workload.Commits.tasks).map { _ in Context(coordinator) }
            return { run in
                let (seconds, indices) = try await Workload.concurrentCommits(data, run: run) { task, balance, index in
                    try await contexts[task].commit(balance: balance, of: store.people[index])
                }
                let answer = store.balances(of: indices.map { store.people[$0] })
                return Measurement(amount: seconds, count: indices.count, answer: answer)
            }
        },
        "commit_small_memory": { setting in
            commits(setting.data, count: Workload.Commits.inMemory, try await .inMemory(setting.data))
        },
    ]

    private static let durable: Workload.Contender = { setting in
        let data = setting.data
        let path = setting.freshPath("commit.graph")
        let store = try await EngineStore(EngineStore.open(path), loading: data)
        setting.afterRuns { run in
            try await readBack(path, store, data.updates(run: run).prefix(Workload.Commits.durable))
        }
        return commits(data, count: Workload.Commits.durable, store)
    }

    /// Who has which balance in the file, which is closed before, as one program at a time has it.
    private static func readBack(
        _ path: String, _ store: EngineStore, _ updates: ArraySlice<Int>
    ) async throws -> UInt64 {
        try await store.coordinator.close()
        let reopened = try await EngineStore.open(path)
        let answer = EngineStore.balances(of: updates.map { store.people[$0] }, in: reopened)
        try await reopened.close()
        return answer
    }

    private static func commits(_ data: PeopleData, count: Int, _ store: EngineStore) -> Workload.Trial {
        let context = Context(store.coordinator)
        return { run in
            let ids = data.updates(run: run).prefix(count).map { store.people[$0] }
            let seconds = try await context.commitBalances(of: ids, run: run)
            return Measurement(amount: seconds, count: ids.count, answer: store.balances(of: ids))
        }
    }
}

extension Context {
    /// Sets one balance and saves.
    func commit(balance: Double, of id: Person.ID) async throws {
        self[id]?.balance = balance
        try await save()
    }

    /// Sets the balances of one run, each in a commit of its own.
    func commitBalances(of ids: [Person.ID], run: Int) async throws -> Double {
        let stopwatch = Stopwatch()
        for (position, id) in ids.enumerated() {
            self[id]?.balance = PeopleData.updatedBalance(position: position, run: run)
            try await save()
        }
        return stopwatch.seconds
    }
}
