/// When a store's file is compacted; see ``Coordinator/compact(progress:)``.
public enum CompactionPolicy: Sendable, Hashable {
    /// In the background, when as much is no longer needed as the file had after its last compaction, and at least 16 MiB: while
    /// the program saves, and after opening. So a file takes about twice what its objects need, besides its ``HistoryRetention``, and a
    /// compaction needs room for once more. It begins only if the disk has that room. One that fails costs nothing but the attempt, and the next one waits
    /// until the file has grown by as much again.
    ///
    /// A file with values of which the program's types do not read everything, as ``StoreDiagnostic/Kind/unreadValues`` says, is
    /// not compacted by itself.
    case automatic
    /// Only when the program calls ``Coordinator/compact(progress:)``.
    case manual
}

/// What the coordinator knows about its file's growth, to compact it when that pays.
///
/// The file is a checkpoint, and the records since. It is looked at when these are as long as the checkpoint: then some rows tell
/// about how long the next checkpoint would be. That the last one counts, too, keeps a wrong estimate from compacting again and
/// again.
struct AutomaticCompaction {
    private let minimumBytes: UInt64
    /// How long the commits are that the last compaction retained. An opening only passes over them, and the next compaction writes
    /// them again.
    let historyBytes: UInt64
    /// The length of all other records in the file.
    private var fileBytes: UInt64
    /// Where the records after the file's checkpoint begin, without history; 0 without one.
    let checkpointBytes: UInt64
    /// From which length on a look at the state is worth it.
    private var nextBytes: UInt64
    /// While somebody estimates what the state needs: how long the file was when it had that state.
    private var estimatedFileBytes: UInt64?

    /// - Parameter fileBytes: the length of all records.
    init(fileBytes: UInt64, _ checkpoint: CheckpointFigures, minimumBytes: UInt64) {
        historyBytes = checkpoint.historyBytes
        self.fileBytes = fileBytes - min(fileBytes, historyBytes)
        checkpointBytes = checkpoint.endOffset - min(checkpoint.endOffset, historyBytes)
        self.minimumBytes = minimumBytes
        nextBytes = 0
        nextBytes = length(after: checkpointBytes)
    }

    /// From which length on a compaction pays that would leave so many bytes besides history. As much again is freed, and what is
    /// written twice is less than what saves have written.
    private func length(after neededBytes: UInt64) -> UInt64 {
        neededBytes + max(neededBytes, minimumBytes, historyBytes)
    }

    var isEstimating: Bool { estimatedFileBytes != nil }

    mutating func didWrite(_ bytes: UInt64) { fileBytes += bytes }

    /// Whether to estimate what the state needs; `didEstimate` has to follow.
    mutating func beginsEstimate() -> Bool {
        guard !isEstimating, fileBytes >= nextBytes else { return false }
        estimatedFileBytes = fileBytes
        return true
    }

    /// Whether a compaction pays.
    mutating func didEstimate(_ neededBytes: UInt64, hasRoom: Bool) -> Bool {
        let fileBytes = estimatedFileBytes ?? 0
        estimatedFileBytes = nil
        let base = max(neededBytes, checkpointBytes)
        nextBytes = length(after: base)
        guard fileBytes >= nextBytes else { return false }
        // If the compaction fails; when it succeeds it says so. There may be room any time.
        nextBytes = fileBytes + (hasRoom ? max(base, minimumBytes, historyBytes) : minimumBytes)
        return hasRoom
    }
}
