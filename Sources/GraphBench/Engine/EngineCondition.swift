import Graph

/// The engine's side of ``Workload/conditionWorkloads``.
enum EngineCondition {
    static let contenders: [String: Workload.Contender] = [
        "update_where": updatingAll,
        "update_where_rows": updatingAll,
        "delete_where": { setting in
            let data = setting.data
            return Workload.reloading(every: 10) {
                let (store, context) = try await EngineStore.inMemoryWithContext(data)
                return { turn in
                    let before = store.coordinator.snapshot.count(of: Person.self)
                    let stopwatch = Stopwatch()
                    try await context.delete(ages: Workload.deletedAges(turn: turn))
                    let seconds = stopwatch.seconds
                    let deleted = before - store.coordinator.snapshot.count(of: Person.self)
                    return Measurement(amount: seconds, count: deleted, answer: try store.answer())
                }
            }
        },
        "group_by": { setting in
            let snapshot = try await setting.engineStore.coordinator.snapshot
            return Workload.timed(count: setting.data.rows) {
                try snapshot.grouped(Person.self, by: \.age) {
                    AgeGroup(
                        age: 0, count: $0.count, lowest: $0.minimum(\.balance) ?? 0,
                        highest: $0.maximum(\.balance) ?? 0)
                }.reduce(0) { $0 &+ $1.result.with(age: $1.key).checksum }
            }
        },
        "group_by_team": { setting in
            let store = try await setting.engineStore
            let snapshot = store.coordinator.snapshot
            let numbers = Dictionary(uniqueKeysWithValues: store.teams.enumerated().map { ($1, $0 + 1) })
            return Workload.timed(count: setting.data.rows) {
                try snapshot.grouped(Person.self, by: \.team) { (count: $0.count, sum: $0.sum(\.age)) }
                    .reduce(0) { sum, group in
                        let team = group.key.flatMap { numbers[$0] } ?? 0
                        return sum &+ Workload.groupChecksum(team, group.result.count, group.result.sum)
                    }
            }
        },
    ]

    /// One statement for the oldest tenth.
    private static let updatingAll: Workload.Contender = { setting in
        let (store, context) = try await EngineStore.inMemoryWithContext(setting.data)
        let ids = setting.data.oldest.map { store.people[$0] }
        return { run in
            let balance = PeopleData.updatedBalance(position: 0, run: run)
            let stopwatch = Stopwatch()
            try await context.setBalance(balance, ofAges: PeopleData.oldest)
            return Measurement(amount: stopwatch.seconds, count: ids.count, answer: store.balances(of: ids))
        }
    }
}

extension AgeGroup {
    fileprivate func with(age: Int) -> AgeGroup {
        AgeGroup(age: age, count: count, lowest: lowest, highest: highest)
    }
}

extension Context {
    fileprivate func setBalance(_ balance: Double, ofAges ages: Range<Int>) async throws {
        try update(Person.self, where: { ages.contains($0.age) }, { $0.balance = balance })
        try await save()
    }

    fileprivate func delete(ages: Range<Int>) async throws {
        try delete(Person.self, where: { ages.contains($0.age) })
        try await save()
    }
}
