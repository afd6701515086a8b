extension Workload {
    /// A follower beside a writer.
    enum Following {
        /// Commits of one run, and how many the writer makes in a second.
        static let (commits, rate) = (1_000, 1_000)
    }

    static let followingWorkloads: [Workload] = [
        Workload(
            "follow_delay",
            "from a durable commit's save to the follower's feed, the median at \(Following.rate) commits a second",
            unit: .seconds(per: "commit"), targets: [.atMost(5e-3, .seconds)], sqlite: nil, native: nil),
        Workload(
            "follow_commit", "durable one-row commits beside a follower of the file; alone: without it",
            unit: .seconds(per: "commit"), targets: [.within(1.2, .alone)], baseline: .alone, sqlite: nil,
            native: { setting in try await EngineFollowing.commits(setting, isFollowed: false) }),
    ]
}
