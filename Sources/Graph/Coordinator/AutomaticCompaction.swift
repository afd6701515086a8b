/// When a store's file is compacted; see ``Coordinator/compact(progress:)``.
public enum CompactionPolicy: Sendable, Hashable {
    /// In the background, when as much is no longer needed as the file had after its last compaction, and at least 16 MiB: while
    /// the program saves, and after opening. So a file takes about twice what its objects need, and a compaction needs room for
    /// once more. It begins only if the disk has that room. One that fails costs nothing but the attempt, and the next one waits
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
    /// The length of the records in the file.
    private var fileBytes: UInt64
    let checkpointBytes: UInt64
    /// From which length on a look at the state is worth it.
    private var nextBytes: UInt64
    /// While somebody estimates what the state needs: how long the file was when it had that state.
    private var estimatedFileBytes: UInt64?

    /// - Parameter checkpointBytes: where the records after the file's checkpoint begin; 0 without one.
    init(fileBytes: UInt64, checkpointBytes: UInt64, minimumBytes: UInt64) {
        (self.fileBytes, self.checkpointBytes, self.minimumBytes) = (fileBytes, checkpointBytes, minimumBytes)
        nextBytes = Self.length(after: checkpointBytes, minimumBytes)
    }

    /// From which length on a file pays that would have so many bytes without what is no longer needed.
    private static func length(after neededBytes: UInt64, _ minimumBytes: UInt64) -> UInt64 {
        neededBytes + max(neededBytes, minimumBytes)
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
        nextBytes = Self.length(after: base, minimumBytes)
        guard fileBytes >= nextBytes else { return false }
        // If the compaction fails; when it succeeds it says so. There may be room any time.
        nextBytes = fileBytes + (hasRoom ? max(base, minimumBytes) : minimumBytes)
        return hasRoom
    }
}
