import Graph

/// The engine's side of ``Workload/contextWorkloads``.
enum EngineContexts {
    static let contenders: [String: Workload.Contender] = [
        "snapshot": { setting in
            let store = try await EngineStore.inMemory(setting.data)
            return { _ in
                let stopwatch = Stopwatch()
                var count = 0
                for _ in 0..<Workload.Refreshes.snapshots { count += store.coordinator.snapshot.count(of: Person.self) }
                let seconds = stopwatch.seconds
                return Measurement(amount: seconds, count: Workload.Refreshes.snapshots, answer: UInt64(count))
            }
        },
        "refresh": { setting in
            let data = setting.data
            let store = try await EngineStore.inMemory(data)
            let coordinator = store.coordinator
            let (reader, writer) = (Context(coordinator), Context(coordinator))
            return { run in
                let updates = data.updates(run: run)
                var seconds = 0.0
                var answer: UInt64 = 0
                for round in 0..<Workload.Refreshes.rounds {
                    let ids = (0..<Workload.Refreshes.rowsPerCommit).map { row in
                        store.people[updates[(round * Workload.Refreshes.rowsPerCommit + row) % updates.count]]
                    }
                    let balance = Double(round + run)
                    try await writer.transaction { context in
                        for id in ids { context[id]?.balance = balance }
                    }
                    let stopwatch = Stopwatch()
                    await reader.refresh()
                    seconds += stopwatch.seconds
                    answer += await reader.perform { context in
                        ids.allSatisfy { context[$0]?.balance == balance } ? 1 : 0
                    }
                }
                guard answer == Workload.Refreshes.rounds else { throw StaleRead() }
                return Measurement(amount: seconds, count: Workload.Refreshes.rounds, answer: answer)
            }
        },
        "retry_storm": { _ in
            let store = try await CounterStore()
            return { _ in try await store.increment(tasks: Workload.Storm.tasks, perTask: Workload.Storm.perTask) }
        },
    ]

    /// A refresh after which the context does not show what was committed before it.
    struct StaleRead: Error {}
}
