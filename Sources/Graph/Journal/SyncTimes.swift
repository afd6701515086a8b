/// How long syncs took.
struct SyncTimes: Sendable {
    private(set) var count = 0
    private(set) var total = Duration.zero
    private(set) var longest = Duration.zero
    /// The longest one since `mark()`.
    private(set) var longestSinceMark = Duration.zero

    mutating func add(_ duration: Duration) {
        count += 1
        total += duration
        longest = max(longest, duration)
        longestSinceMark = max(longestSinceMark, duration)
    }

    mutating func mark() { longestSinceMark = .zero }
}
