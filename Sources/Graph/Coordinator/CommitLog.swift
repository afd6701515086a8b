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
/// The record of commit *n* has the number *n*. Programs may append at any time, and an answer may be lost: only what the log has
/// matters, and reading tells. A log must never change or lose what it has confirmed or shown, and never have two records of one
/// number. It may forget the oldest ones, never the newest. Each call has to end, with an error if it must: saves wait for it, and
/// so does closing.
public protocol CommitLog: Sendable {
    /// Appends records behind a commit, all in one or one after the other, if the log has that commit's record and none behind it.
    /// An empty log may begin anywhere: with the first one that is appended.
    ///
    /// - Parameters:
    ///   - records: one or more, each of any bytes. They are consecutive commits.
    ///   - commit: 0 before the first one.
    /// - Returns: how many of them are in the log, durable: all, or the first ones; 0 if somebody else was first. A log that appends
    ///   only one record at a time appends the first one.
    /// - Throws: if it is unknown whether records were appended. They may still be, later. The errors of
    ///   ``JournalCommitLog/append(_:after:)`` that say so mean that nothing was appended, nor will be: throw them only then.
    func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int

    /// The first records behind a commit that the log has, in their order, as many of them as it likes; none if there are none. All that
    /// was confirmed before the call is there. Where the log has forgotten the next ones, it gives the first that it has.
    ///
    /// - Throws: any error, if they cannot be read now.
    func read(after commit: UInt64) async throws -> [[UInt8]]

    /// Returns when the log has records behind a commit, or earlier; soon after the task is cancelled.
    ///
    /// A log without an implementation of its own is asked ten times a second.
    func waitForRecords(after commit: UInt64) async throws
}

extension CommitLog {
    /// Returns at once, so that the log is asked ten times a second.
    ///
    /// Complexity: O(1).
    public func waitForRecords(after commit: UInt64) async throws {}
}
