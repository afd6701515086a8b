extension Workload {
    enum LiveResults {
        /// How large a live result is.
        static let rows = 1_000

        /// How many commits of one row a run makes.
        static func commits(rows: Int) -> Int { min(10_000, 2 * rows) }
    }

    static let liveWorkloads: [Workload] = [
        Workload(
            "live_result_apart", "a live result of 1,000 people, read after each commit of a person that is not in it",
            note: "without what freeing the state before takes",
            unit: .seconds(per: "commit"), targets: [.atMost(1e-6, .seconds)], growthLimit: 1.5, sqlite: nil,
            native: nil),
        Workload(
            "live_result_changed", "the same after each commit of a person that moves in it",
            note: "without what freeing the state before takes",
            unit: .seconds(per: "commit"), targets: [.atMost(20e-6, .seconds)], growthLimit: 1.5, sqlite: nil,
            native: nil),
    ]
}
