import Graph

extension Workload {
    /// How many tasks contend for how many counters, and how often.
    enum Storm {
        static let tasks = 8
        static let counters = 4
        static let perTask = 250
        static var transactions: Int { tasks * perTask }
    }

    /// How often a run takes a snapshot, or refreshes, and how many rows others commit in between.
    enum Refreshes {
        static let snapshots = 1_000_000
        static let rounds = 300
        static let rowsPerCommit = 10
    }

    static let contextWorkloads: [Workload] = [
        Workload(
            "snapshot", "taking a snapshot of the whole store", unit: .seconds(per: "snapshot"),
            targets: [.atMost(1e-6, .seconds)], growthLimit: 1.5, sqlite: nil, native: nil),
        Workload(
            "refresh", "a context moving to the newest state after a commit of 10 rows", unit: .seconds(per: "refresh"),
            targets: [], growthLimit: 2, sqlite: nil, native: nil),
        Workload(
            "retry_storm", "serializable increments of 4 counters, 8 tasks at once; alone: one task",
            unit: .seconds(per: "commit"), targets: [.within(1.5, .alone)], baseline: .alone, sqlite: nil,
            native: { _ in
                let store = try await CounterStore()
                return { _ in try await store.increment(tasks: 1, perTask: Storm.transactions) }
            }),
    ]
}

/// A few counters, each its own row.
@Entity struct Tally {
    var count = 0
}

/// A store of counters that transactions increment.
struct CounterStore {
    private let coordinator: Coordinator
    private let counters: [Tally.ID]

    init() async throws {
        coordinator = try await Coordinator(for: Tally.self)
        counters = try await coordinator.transaction { context in
            context.insert(contentsOf: (0..<Workload.Storm.counters).map { _ in Tally() })
        }
    }

    /// - Returns: the time, with the number of increments that are there afterwards as the answer.
    func increment(tasks: Int, perTask: Int) async throws -> Measurement {
        let before = try total()
        let stopwatch = Stopwatch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                group.addTask {
                    for round in 0..<perTask {
                        let id = counters[(task + round) % counters.count]
                        try await coordinator.transaction(isolation: .serializable, retries: 10_000) { context in
                            try context.object(for: id).count += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let seconds = stopwatch.seconds
        return Measurement(amount: seconds, count: tasks * perTask, answer: UInt64(try total() - before))
    }

    private func total() throws -> Int {
        try coordinator.snapshot.fetchValues(Tally.self).reduce(0) { $0 + $1.count }
    }
}
