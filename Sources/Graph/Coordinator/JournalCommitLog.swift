/// A ``CommitLog`` over a coordinator's file, for a program that others reach over a connection, or for several stores in one program.
///
/// ```swift
/// let log = JournalCommitLog(coordinator)
/// // For the programs that ask: try await log.append(records, after: commit), try await log.read(after: commit)
/// ```
///
/// What is appended is a commit of the coordinator like its own saves: checked with all rules, durable when it is confirmed, and
/// shown by its feeds. The coordinator goes on saving at the same time. Compaction bounds the file; ``HistoryRetention`` says how
/// far back the log can be read.
public struct JournalCommitLog: CommitLog {
    private let coordinator: Coordinator

    /// - Parameter coordinator: has a file, open for writing, and no log of its own.
    ///
    /// Complexity: O(1).
    public init(_ coordinator: Coordinator) {
        self.coordinator = coordinator
    }

    /// Appends commits; see ``CommitLog/append(_:after:)``.
    ///
    /// - Throws: `.invalidLog`, `.tokenOfOtherStore`, `.schemaMismatch`, `.valueNotReadable`, if the first record is no commit of the
    ///   store, or breaks a rule; `.transactionTooLarge`, `.diskFull`; `.readOnly`, `.unusableFile`, if the coordinator has no file to
    ///   write; `.closed`. Nothing was appended then. Of other errors of the file that is not sure.
    ///
    /// Complexity: that of applying the commits, besides one write and one sync, which saves at the same time share.
    public func append(_ records: [[UInt8]], after commit: UInt64) async throws(GraphError) -> Int {
        try await coordinator.append(records, after: CommitNumber(commit))
    }

    /// The records behind a commit, durable, a mebibyte or one; see ``CommitLog/read(after:)``.
    ///
    /// - Throws: `.historyExpired`; `.unusableFile`, if the coordinator has no file; `.closed`, and errors of the file.
    ///
    /// Complexity: O(bytes of the records). Those that are not among the newest take O(*b*) for *b* bytes of commits in the file.
    public func read(after commit: UInt64) async throws(GraphError) -> [[UInt8]] {
        try await coordinator.records(after: CommitNumber(commit))
    }

    /// Returns when there are records behind a commit.
    ///
    /// - Throws: `.closed`, if there will be none; `.cancelled`.
    ///
    /// Complexity: O(1).
    public func waitForRecords(after commit: UInt64) async throws(GraphError) {
        guard await coordinator.published.waitForCommit(after: CommitNumber(commit), isolation: nil) else {
            throw Task.isCancelled ? .cancelled : .closed(path: coordinator.path)
        }
    }
}
