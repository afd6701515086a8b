import Testing

@testable import Graph

/// Runs something on many schedules, each fixed by a seed.
///
/// `GRAPH_SCHEDULES` sets how many there are, `GRAPH_SEED` where their seeds begin.
enum Schedules {
    /// What came of one schedule.
    struct Result: Sendable {
        /// Which task had each step.
        var schedule: [Int]
        /// What happened, short: two schedules with the same one came to the same.
        var course = ""
        /// How often something came up.
        var counts: [String: Int] = [:]
        var failures: [String] = []
        /// Printed when there are failures.
        var details = ""
    }

    /// What came of many.
    struct Summary: Sendable {
        var count = 0
        var failed = 0
        var schedules: Set<[Int]> = []
        var courses: Set<String> = []
        var counts: [String: Int] = [:]

        fileprivate mutating func add(_ other: Summary) {
            count += other.count
            failed += other.failed
            schedules.formUnion(other.schedules)
            courses.formUnion(other.courses)
            counts.merge(other.counts, uniquingKeysWith: +)
        }

        fileprivate mutating func add(_ result: Result) {
            count += 1
            if !result.failures.isEmpty { failed += 1 }
            schedules.insert(result.schedule)
            courses.insert(result.course)
            counts.merge(result.counts, uniquingKeysWith: +)
        }
    }

    private static let first = StoreProgramTests.setting("GRAPH_SEED") ?? 1
    static let count = StoreProgramTests.setting("GRAPH_SCHEDULES") ?? 2_000

    /// Two at a time. The first failures are recorded, each with the line that repeats it; what came up is printed, so that
    /// blind spots are seen.
    ///
    /// - Parameter share: one for so many of the schedules that are wanted.
    @discardableResult
    static func run(
        suite: String,
        _ title: String,
        share: UInt64 = 1,
        _ run: @escaping @Sendable (UInt64) async throws -> Result
    ) async -> Summary {
        let seeds = first..<(first + max(count / share, 1))
        let summary = await withTaskGroup(of: Summary.self) { group in
            for remainder in 0..<UInt64(2) {
                group.addTask {
                    var summary = Summary()
                    for seed in seeds where seed % 2 == remainder {
                        var result = Result(schedule: [])
                        do { result = try await run(seed) } catch { result.failures = ["\(error)"] }
                        summary.add(result)
                        if !result.failures.isEmpty, summary.failed <= 2 { record(result, suite, seed) }
                    }
                    return summary
                }
            }
            return await group.reduce(into: Summary()) { $0.add($1) }
        }
        print("\(suite), \(title): \(summary)")
        return summary
    }

    private static func record(_ result: Result, _ suite: String, _ seed: UInt64) {
        Issue.record(
            """
            GRAPH_SEED=\(seed) GRAPH_SCHEDULES=1 swift test --filter \(suite)
            \(result.failures.joined(separator: "\n"))
            \(result.details)
            """)
    }
}

extension Schedules.Summary: CustomStringConvertible {
    var description: String {
        let counts = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let courses = courses.count > 1 ? ["\(courses.count) courses"] : []
        return (["\(count) schedules", "\(schedules.count) different"] + courses + counts).joined(separator: ", ")
    }
}
