/// How much of a store's history is retained: by a file when it is compacted or migrated, and by a store in memory all the time.
///
/// All limits hold together. The newest commits are retained, without gaps; ``Coordinator/history(since:by:during:)`` shows them, and
/// ``Coordinator/snapshot(at:)`` goes back through them. A file also has the commits since its last compaction.
///
/// ```swift
/// let month = HistoryRetention(age: .seconds(30 * 86_400), bytes: 1 << 30)
/// let coordinator = try await Coordinator(for: Team.self, Person.self, at: "people.graph", retention: month)
/// ```
public struct HistoryRetention: Sendable, Hashable {
    /// So many commits at most; nil for no limit.
    public var commits: Int?
    /// Those of so long at most, by the clock of the machine that made them; nil for no limit.
    public var age: Duration?
    /// So many bytes of records at most; nil for no limit. In memory, each row that a commit has changed counts as 1,600 bytes,
    /// whatever its values take, and links do not count: where values are long, limit ``commits`` too.
    public var bytes: Int?
    /// So many bytes at most for commits that a ``HistoryConsumer`` has not read, whatever the other limits say; nil for no limit.
    public var unreadBytes: Int?

    /// Complexity: O(1).
    public init(commits: Int? = nil, age: Duration? = nil, bytes: Int? = 16 << 20, unreadBytes: Int? = 256 << 20) {
        (self.commits, self.age, self.bytes, self.unreadBytes) = (commits, age, bytes, unreadBytes)
    }

    /// No commits.
    public static let none = HistoryRetention(commits: 0, bytes: 0, unreadBytes: 0)
    /// All commits, for good.
    public static let all = HistoryRetention(bytes: nil, unreadBytes: nil)

    /// What a changed row counts in memory: a row that is changed alone keeps its leaf and the branches above it.
    static let bytesInMemory = 1_600

    /// One commit, for what is retained.
    struct Candidate {
        let number: CommitNumber
        let lengthBytes: Int
    }

    /// How many of the newest commits are retained, whatever their age.
    ///
    /// - Parameters:
    ///   - unread: the last commit that every consumer has read; nil without consumers.
    ///   - candidate: the commit at an index, of which the oldest has 0; nil for one that cannot be retained.
    func retainedCount(of count: Int, unreadSince unread: CommitNumber?, _ candidate: (Int) -> Candidate?) -> Int {
        var (retained, bytes) = (0, 0)
        while retained < count, let next = candidate(count - 1 - retained) {
            bytes += next.lengthBytes
            let isUnread = unread.map { next.number > $0 } ?? false
            let isWithinLimits = retained < commits ?? .max && bytes <= self.bytes ?? .max
            guard isWithinLimits || isUnread && bytes <= unreadBytes ?? .max else { break }
            retained += 1
        }
        return retained
    }

    /// How many of the newest commits are retained however old they are, since consumers have not read them. Parameters as before.
    func unreadCount(of count: Int, unreadSince unread: CommitNumber?, _ candidate: (Int) -> Candidate?) -> Int {
        var limits = self
        limits.commits = 0
        return limits.retainedCount(of: count, unreadSince: unread, candidate)
    }

    /// Before this time, in nanoseconds since 1970, commits are too old; nil if none is.
    func oldestTime(at now: UInt64) -> UInt64? {
        guard let age else { return nil }
        let (seconds, attoseconds) = age.components
        guard seconds >= 0 else { return now }
        let (nanoseconds, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let length = nanoseconds.addingReportingOverflow(UInt64(max(attoseconds, 0) / 1_000_000_000))
        return overflow || length.overflow || length.partialValue > now ? 0 : now - length.partialValue
    }
}
