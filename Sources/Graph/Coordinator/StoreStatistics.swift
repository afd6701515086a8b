#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// Figures about a store at one moment; see ``Coordinator/statistics``.
public struct StoreStatistics: Sendable, Hashable {
    /// The file of a store that is open for writing.
    public struct File: Sendable, Hashable {
        /// The length of all that is in it, in bytes, without the room that is allocated ahead.
        public let length: UInt64
        /// How much of that the last compaction has written; 0 if there was none.
        public let compactedLength: UInt64
        /// How much of that is commits of before, which the compaction has retained; see ``HistoryRetention``.
        public let historyLength: UInt64
        /// The oldest state that ``Coordinator/snapshot(at:)`` goes back to.
        public let oldest: HistoryToken
        /// About how long the file would be if it were compacted now, estimated by 64 parts of each entity and each index, with all
        /// the history that the bytes of its retention allow: limits of its age and number may leave less.
        public let neededLength: UInt64
        /// When the file was compacted last, by the clock of the machine that did it.
        public let lastCompaction: Date?
        /// Why the last compaction failed, whether the program or the coordinator began it; nil if it succeeded, or if there was none
        /// since the file was opened.
        public let lastCompactionFailure: String?
        /// The last commit that is known to be durable, which on the levels below ``Durability/full`` may not be the newest.
        public let durableCommit: CommitNumber
        /// How many groups of commits were made durable since the coordinator was opened.
        public let syncCount: Int
        /// How long the disk took for all of them.
        public let totalSyncDuration: Duration
        /// How long it took for the slowest one.
        public let longestSyncDuration: Duration
    }

    /// The newest commit.
    public let commit: CommitNumber
    /// How many objects there are, by the name of their entity.
    public let objectCounts: [String: Int]
    /// What history counts in a store in memory, in bytes: about what its commits have replaced and deleted. 0 for a store on a file.
    public let historyLengthInMemory: Int
    /// nil if the store is in memory, or only read.
    public let file: File?
}

extension StoreStatistics: CustomStringConvertible {
    /// A line for each figure.
    public var description: String {
        var lines = ["commit: \(commit.number)"]
        lines += objectCounts.sorted { $0.key < $1.key }.map { "objects of \($0.key): \($0.value)" }
        if historyLengthInMemory > 0 { lines.append("history: \(historyLengthInMemory) bytes in memory") }
        if let file {
            lines += [
                "bytes: \(file.length), \(file.compactedLength) of them compacted; needed about \(file.neededLength)",
                "history: since commit \(file.oldest.commit), \(file.historyLength) bytes of it retained",
                "syncs: \(file.syncCount) in \(file.totalSyncDuration), the longest in \(file.longestSyncDuration)",
            ]
            if let failure = file.lastCompactionFailure { lines.append("the last compaction failed: \(failure)") }
            if file.durableCommit < commit { lines.append("durable commits: \(file.durableCommit.number)") }
        }
        return lines.joined(separator: "\n")
    }
}

extension Coordinator {
    /// How much the store has, how long its file is, and how long the disk takes.
    ///
    /// Complexity: O(log *n*) for *n* objects.
    public var statistics: StoreStatistics {
        get async {
            let snapshot = snapshot
            let objectCounts = zip(snapshot.schema.entities, snapshot.entities).map { ($0.name, $1.rows.count) }
            return StoreStatistics(
                commit: snapshot.commit,
                objectCounts: Dictionary(uniqueKeysWithValues: objectCounts),
                historyLengthInMemory: journal == nil ? published.kept?.lengthBytes ?? 0 : 0,
                file: await fileStatistics(of: snapshot)
            )
        }
    }

    private func fileStatistics(of snapshot: Snapshot) async -> StoreStatistics.File? {
        guard let journal else { return nil }
        let writer = CheckpointWriter(snapshot, schemaRecord, counters: written.counters, time: 0)
        let neededLength = await Self.estimatedBytes(of: writer) + JournalFormat.recordsOffset + expectedHistoryBytes
        let (length, times) = (await journal.lengthBytes, await journal.syncTimes)
        return StoreStatistics.File(
            length: length,
            compactedLength: checkpoint.endOffset,
            historyLength: checkpoint.historyBytes,
            oldest: checkpoint.oldest,
            neededLength: neededLength,
            lastCompaction: checkpoint.time == 0
                ? nil : Date(timeIntervalSince1970: Double(checkpoint.time) / 1_000_000_000),
            lastCompactionFailure: compactionFailure?.description,
            durableCommit: syncedCommit,
            syncCount: times.count,
            totalSyncDuration: times.total,
            longestSyncDuration: times.longest
        )
    }
}
