extension Workload {
    /// Looking back over updates of people, in commits of ``History/commitSize``.
    enum History {
        static let commitSize = 100
        /// How many states are asked for in one run where that is fast.
        static let states = 100_000

        /// What one change adds to the answer.
        static func change(from before: Double, to after: Double) -> UInt64 {
            before.bitPattern &* 31 &+ after.bitPattern
        }

        /// Somebody whom the updates leave alone.
        static func witness(_ data: PeopleData) -> Int { data.updates(run: 1)[0] }
    }

    static let historyWorkloads: [Workload] = [
        Workload(
            "history_read", "updates read from the file, commit by commit, with the values before and after",
            unit: .seconds(per: "change"), targets: [.atMost(2e-6, .seconds)], sqlite: nil, native: nil),
        Workload(
            "snapshot_at", "the state before those updates, up to the first row; opening: the file after them",
            unit: .seconds(per: "state"), targets: [.within(1.2, .opening)], baseline: .opening, sqlite: nil,
            native: EngineHistory.opening),
        Workload(
            "snapshot_at_cached", "a state that a store without a file has kept, at random",
            unit: .seconds(per: "state"), targets: [.atMost(1e-6, .seconds)], sqlite: nil, native: nil),
    ]
}
