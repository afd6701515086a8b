import Graph

/// The engine's side of ``Workload/readWhileWritingWorkloads``.
enum EngineReadWhileWriting {
    static let contenders: [String: Workload.Contender] = [
        "read_while_writing_scan": { setting in
            let store = try await durableStore(setting)
            let context = Context(store.coordinator)
            return ReadWhileWriting(setting.data).scans(
                open: { reader(store.coordinator) },
                commit: { balance, index in
                    try await context.commit(balance: balance, of: store.people[index])
                })
        },
        "read_while_writing_commit": { setting in try await commits(setting, isRead: true) },
    ]

    /// Commits with and without a reader beside them.
    static func commits(_ setting: Setting, isRead: Bool) async throws -> Workload.Trial {
        let store = try await durableStore(setting)
        let context = Context(store.coordinator)
        return ReadWhileWriting(setting.data).commits(
            isRead: isRead, open: { reader(store.coordinator) },
            commit: { balance, index in
                try await context.commit(balance: balance, of: store.people[index])
            })
    }

    private static func durableStore(_ setting: Setting) async throws -> EngineStore {
        try await EngineStore(EngineStore.open(setting.freshPath("reading.graph")), loading: setting.data)
    }

    /// Each scan takes a snapshot of its own.
    private static func reader(_ coordinator: Coordinator) -> () throws -> Int {
        return {
            try coordinator.snapshot.fetchCount(
                Person.self, where: { $0.age > PeopleData.ageLimit && $0.balance < PeopleData.balanceLimit })
        }
    }
}
