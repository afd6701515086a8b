import Testing

extension Schedules {
    /// - Parameter share: one for so many of the schedules that are wanted.
    @discardableResult
    static func check(
        suite: String,
        _ title: String,
        share: UInt64,
        _ run: @escaping @Sendable (UInt64) async throws -> Result
    ) async -> Summary {
        let summary = await Self.run(Seeds.schedules(share: share), suite: suite, title, run)
        for failure in summary.failures { Issue.record("\(failure)") }
        return summary
    }
}
