import Foundation
import Graph

/// The engine's side of ``Workload/liveWorkloads``: only the reads of the result are timed, which bring it up to date.
enum EngineLive {
    static let contenders: [String: Workload.Contender] = [
        "live_result_apart": contender(isChanged: false),
        "live_result_changed": contender(isChanged: true),
    ]

    private static func contender(isChanged: Bool) -> Workload.Contender {
        { setting in
            let data = setting.data
            let store = try await EngineStore.inMemory(data)
            let size = min(Workload.LiveResults.rows, data.rows / 2)
            // The richest ones: their balances are out of everybody else's reach.
            let (members, others) = (store.people.prefix(size), store.people.dropFirst(size))
            try await store.coordinator.transaction { context in
                for (place, id) in members.enumerated() { context[id]?.balance = Double(1_000_000_000 + place) }
            }
            let context = Context(store.coordinator)
            return { run in
                await context.refresh()
                return try await context.keepResult(
                    run: run, isChanged ? Array(members) : Array(others), count: size,
                    commits: Workload.LiveResults.commits(rows: data.rows), isChanged)
            }
        }
    }
}

extension Context {
    /// Has others commit changes of people, and reads a result after each.
    fileprivate func keepResult(
        run: Int, _ people: [Person.ID], count: Int, commits: Int, _ isChanged: Bool
    ) async throws -> Measurement {
        let results = try results(
            FetchDescriptor<Person>(
                predicate: #Predicate { $0.balance >= 1_000_000_000 }, sortBy: [.ascending(\.balance)]))
        let step = max(1, people.count / commits)
        var (seconds, answer) = (0.0, UInt64(0))
        for commit in 0..<commits {
            let id = people[(commit &* step + run) % people.count]
            let balance = Double(isChanged ? 1_000_000_000 + (commit &* 7_919) % 10_000_000 : commit % 10_000)
            // Whoever lets go of a state last frees its memory: not the result here.
            let before = coordinator.snapshot
            defer { withExtendedLifetime(before) {} }
            try await coordinator.transaction { $0[id]?.balance = balance }
            await refresh()
            let stopwatch = Stopwatch()
            let shown = results.count
            seconds += stopwatch.seconds
            if shown == count { answer += 1 }
        }
        return Measurement(amount: seconds, count: commits, answer: answer)
    }
}
