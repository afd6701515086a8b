/// The order of a store's commits, where several programs agree on it: each with a copy of the store, and each may save.
///
/// ```swift
/// let coordinator = try await Coordinator(for: Photo.self, at: "photos.graph", joining: log)
/// ```
///
/// A save is checked against the copy's newest state, and its record is appended to the log, if nobody else has appended meanwhile;
/// otherwise the coordinator takes over what the others have done, checks the save again, as if it had just been made, and tries
/// once more. So conflicts, policies, rules and serializable transactions are over all programs what they are in one.
///
/// A log is any service that numbers records, keeps them, and can append one on the condition that it is the next: a table of a
/// database with the number as its primary key, a stream that takes the expected sequence, a key-value store with transactions.
/// ``JournalCommitLog`` is one over the file of a coordinator.
///
/// The record of commit *n* is the record with the number *n*. Programs may append at any time, and an answer may be lost: only what the
/// log says matters, and reading tells. A log must never change or lose what it has confirmed or shown, and never confirm two records
/// of one number. It may forget the oldest ones.
public protocol CommitLog: Sendable {
    /// Appends records, the first one behind a commit, if the log has that commit's record and none behind it.
    ///
    /// - Parameters:
    ///   - records: one or more, each of any bytes. They are consecutive commits.
    ///   - commit: 0 before the first one.
    /// - Returns: how many of them are in the log, durable: all, or the first ones; 0 if somebody else was first. A log that appends
    ///   only one record at a time appends the first one.
    /// - Throws: if it is unknown whether records were appended. They may still be, later.
    func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int

    /// The records behind a commit, in their order: all that were confirmed before the call, or the first ones of these; none if
    /// there are none.
    ///
    /// - Throws: any error, if they cannot be read now. ``GraphError/historyExpired(oldest:)``, if the log has forgotten them.
    func read(after commit: UInt64) async throws -> [[UInt8]]

    /// Returns when the log has records behind a commit, or earlier; soon after the task is cancelled.
    ///
    /// Without an implementation of its own a log is asked ten times a second.
    func waitForRecords(after commit: UInt64) async throws
}

extension CommitLog {
    public func waitForRecords(after commit: UInt64) async throws {
        try await Task.sleep(for: .milliseconds(100))
    }
}
