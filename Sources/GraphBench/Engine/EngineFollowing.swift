import Graph

/// The engine's side of ``Workload/followingWorkloads``. The follower is in the same process, and shares nothing with the
/// writer but the file.
enum EngineFollowing {
    static let contenders: [String: Workload.Contender] = [
        "follow_delay": { setting in
            let (store, path) = try await store(setting)
            let follower = try await Follower(for: Team.self, Person.self, at: path)
            let context = Context(store.coordinator)
            return { run in
                let count = Workload.Following.commits
                let feed = follower.commits
                let arriving = Task {
                    var times: [ContinuousClock.Instant] = []
                    for await commit in feed {
                        let steps = commit.commits.upperBound.number - commit.commits.lowerBound.number + 1
                        times += Array(repeating: .now, count: Int(steps))
                        if times.count >= count { break }
                    }
                    return times
                }
                var saved: [ContinuousClock.Instant] = []
                let start = ContinuousClock.now
                for number in 0..<count {
                    try await ContinuousClock().sleep(
                        until: start + .seconds(1) * number / Workload.Following.rate)
                    try await context.commit(
                        balance: balance(run, number), of: store.people[number % store.people.count])
                    saved.append(.now)
                }
                let delays = zip(saved, await arriving.value).map { max($1 - $0, .zero) }.sorted()
                precondition(!delays.isEmpty, "the follower ended: \(follower.failure.map { "\($0)" } ?? "")")
                return Measurement(
                    amount: delays[delays.count / 2] / .seconds(1), count: 1, answer: UInt64(delays.count))
            }
        },
        "follow_commit": { setting in try await commits(setting, isFollowed: true) },
    ]

    /// Commits with and without a follower beside them.
    static func commits(_ setting: Setting, isFollowed: Bool) async throws -> Workload.Trial {
        let (store, path) = try await store(setting)
        let follower = isFollowed ? try await Follower(for: Team.self, Person.self, at: path) : nil
        let context = Context(store.coordinator)
        return { run in
            let stopwatch = Stopwatch()
            for number in 0..<Workload.Following.commits {
                try await context.commit(balance: balance(run, number), of: store.people[number % store.people.count])
            }
            let seconds = stopwatch.seconds
            try await follower?.catchUp()
            let isBehind = follower.map { $0.snapshot.token != store.coordinator.snapshot.token } ?? false
            return Measurement(amount: seconds, count: Workload.Following.commits, answer: isBehind ? 1 : 0)
        }
    }

    /// Another one each time, so that each save commits.
    private static func balance(_ run: Int, _ number: Int) -> Double {
        Double(run * Workload.Following.commits + number) + 0.5
    }

    private static func store(_ setting: Setting) async throws -> (EngineStore, path: String) {
        let path = setting.freshPath("followed.graph")
        return (try await EngineStore(EngineStore.open(path), loading: setting.data), path)
    }
}
