import Graph

/// The engine's side of ``Workload/conditionWorkloads``.
enum EngineCondition {
    static let contenders: [String: Workload.Contender] = [
        "update_where": { setting in
            let store = try await EngineStore.inMemory(setting.data)
            let ids = setting.data.oldest.map { store.people[$0] }
            let context = Context(store.coordinator)
            return { run in
                let balance = PeopleData.updatedBalance(position: 0, run: run)
                let stopwatch = Stopwatch()
                try await context.setBalance(balance, ofAges: PeopleData.oldest)
                return Measurement(amount: stopwatch.seconds, count: ids.count, answer: store.balances(of: ids))
            }
        },
        "delete_where": { setting in
            let data = setting.data
            return Workload.deletionsOfAges {
                let store = try await EngineStore.inMemory(data)
                return { ages in
                    let before = store.coordinator.snapshot.count(of: Person.self)
                    let stopwatch = Stopwatch()
                    try await Context(store.coordinator).delete(ages: ages)
                    let seconds = stopwatch.seconds
                    let deleted = before - store.coordinator.snapshot.count(of: Person.self)
                    return Measurement(amount: seconds, count: deleted, answer: try store.answer())
                }
            }
        },
    ]
}

extension Context {
    fileprivate func setBalance(_ balance: Double, ofAges ages: Range<Int>) async throws {
        try update(Person.self, where: { ages.contains($0.age) }) { $0.balance = balance }
        try await save()
    }

    fileprivate func delete(ages: Range<Int>) async throws {
        try delete(Person.self, where: { ages.contains($0.age) })
        try await save()
    }
}
