/// Runs something on many schedules, each fixed by a seed.
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
        /// The first of those that failed, each with the line that repeats it.
        var failures: [String] = []
        var schedules: Set<[Int]> = []
        var courses: Set<String> = []
        var counts: [String: Int] = [:]

        fileprivate mutating func add(_ other: Summary) {
            count += other.count
            failures += other.failures
            schedules.formUnion(other.schedules)
            courses.formUnion(other.courses)
            counts.merge(other.counts, uniquingKeysWith: +)
        }

        fileprivate mutating func add(_ result: Result) {
            count += 1
            schedules.insert(result.schedule)
            courses.insert(result.course)
            counts.merge(result.counts, uniquingKeysWith: +)
        }
    }

    /// What came up is printed, so that blind spots are seen.
    static func run(
        _ seeds: Range<UInt64>,
        suite: String,
        _ title: String,
        _ run: @escaping @Sendable (UInt64) async throws -> Result
    ) async -> Summary {
        let summary = await Seeds.each(seeds, into: Summary()) { seed, summary in
            var result = Result(schedule: [])
            do { result = try await run(seed) } catch { result.failures = ["\(error)"] }
            summary.add(result)
            guard !result.failures.isEmpty, summary.failures.count < 2 else { return }
            let repeating = "GRAPH_SEED=\(seed) GRAPH_SCHEDULES=1 swift test --filter \(suite)"
            summary.failures.append(([repeating] + result.failures + [result.details]).joined(separator: "\n"))
        } joining: {
            $0.add($1)
        }
        print("\(suite), \(title): \(summary)")
        return summary
    }
}

extension Schedules.Summary: CustomStringConvertible {
    var description: String {
        let counts = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let courses = courses.count > 1 ? ["\(courses.count) courses"] : []
        return (["\(count) schedules", "\(schedules.count) different"] + courses + counts).joined(separator: ", ")
    }
}
