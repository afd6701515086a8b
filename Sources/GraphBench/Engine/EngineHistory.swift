import Graph

/// The engine's side of ``Workload/historyWorkloads``.
enum EngineHistory {
    static let contenders: [String: Workload.Contender] = [
        "history_read": { setting in
            let (path, start, _) = try await updatedFile(setting)
            let coordinator = try await EngineStore.open(path)
            return { _ in
                let stopwatch = Stopwatch()
                var (count, answer) = (0, UInt64(0))
                for try await commit in coordinator.history(since: start) {
                    for change in commit.changes(of: Person.self) {
                        count += 1
                        answer &+= Workload.History.change(
                            from: change.before?.balance ?? 0, to: change.after?.balance ?? 0)
                    }
                }
                return Measurement(amount: stopwatch.seconds, count: count, answer: answer)
            }
        },
        "snapshot_at": { setting in
            let (path, start, witness) = try await updatedFile(setting)
            let coordinator = try await EngineStore.open(path)
            return { _ in
                let stopwatch = Stopwatch()
                let answer = try await coordinator.snapshot(at: start).value(for: witness)?.checksum ?? 0
                return Measurement(amount: stopwatch.seconds, count: 1, answer: answer)
            }
        },
        "snapshot_at_cached": { setting in
            let store = try await EngineStore.inMemory(setting.data)
            let updates = setting.data.updates(run: 0)
            let context = Context(store.coordinator)
            var tokens: [HistoryToken] = []
            for commit in 0..<500 {
                let id = store.people[updates[commit % updates.count]]
                try await context.commit(balance: Double(commit), of: id)
                tokens.append(store.coordinator.snapshot.token)
            }
            return { run in
                var random = SplitMix64(seed: UInt64(run))
                let places = (0..<Workload.History.states).map { _ in Int.random(in: 0..<tokens.count, using: &random) }
                let stopwatch = Stopwatch()
                var found = 0
                for place in places where store.coordinator.cachedSnapshot(at: tokens[place]) != nil { found += 1 }
                return Measurement(amount: stopwatch.seconds, count: places.count, answer: UInt64(found))
            }
        },
    ]

    /// The file with all updates, opened up to the first row.
    static let opening: Workload.Contender = { setting in
        let (path, _, witness) = try await updatedFile(setting)
        return { _ in
            let stopwatch = Stopwatch()
            let coordinator = try await EngineStore.open(path)
            let answer = coordinator.snapshot.value(for: witness)?.checksum ?? 0
            let seconds = stopwatch.seconds
            try await coordinator.close()
            return Measurement(amount: seconds, count: 1, answer: answer)
        }
    }

    /// A file with updates behind its checkpoint, and the token of the state before them.
    private static func updatedFile(
        _ setting: Setting
    ) async throws -> (path: String, start: HistoryToken, witness: Person.ID) {
        let path = setting.freshPath("history.graph")
        let coordinator = try await Coordinator(
            for: Team.self, Person.self, at: path, durability: .relaxed, compaction: .manual)
        let store = try await EngineStore(coordinator, loading: setting.data)
        try await coordinator.compact()
        let start = coordinator.snapshot.token
        let context = Context(coordinator)
        let updates = Array(setting.data.updates(run: 0).enumerated())
        for first in stride(from: 0, to: updates.count, by: Workload.History.commitSize) {
            let changes = updates[first..<min(first + Workload.History.commitSize, updates.count)]
            try await context.setBalances(
                changes.map { (store.people[$0.element], PeopleData.updatedBalance(position: $0.offset, run: 0)) })
        }
        try await coordinator.close()
        return (path, start, store.people[Workload.History.witness(setting.data)])
    }
}
