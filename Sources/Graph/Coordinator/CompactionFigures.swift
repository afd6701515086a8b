/// What a compaction took, for GraphBench and tests.
package struct CompactionFigures: Sendable {
    /// How many succeeded since the file was opened, with this one.
    package internal(set) var number = 0
    package internal(set) var began = ContinuousClock.now
    package internal(set) var ended = ContinuousClock.now
    /// How long no save was written when it began, and when the files changed places.
    package internal(set) var firstPause = Duration.zero, lastPause = Duration.zero
    /// Of the checkpoint's state.
    var commit = CommitNumber.none
    /// Of the new file.
    var checkpoint = CheckpointFigures()
    var replacement: Journal.Replacement?

    /// How much of the new file is the checkpoint; the rest is commits made meanwhile.
    package var checkpointBytes: UInt64 { checkpoint.endOffset }
    package var duration: Duration { ended - began }
    package var longestPause: Duration { max(firstPause, lastPause) }
    /// How much of the second pause was for the last commits and the seal of the new file, and for the renaming. The rest is
    /// waiting for threads.
    package var sealing: Duration { replacement?.sealing ?? .zero }
    package var renaming: Duration { replacement?.renaming ?? .zero }
    /// The slowest sync meanwhile, of groups and of the new file.
    package var longestSync: Duration {
        replacement.map { max($0.longestGroupSync, $0.longestOwnSync) } ?? .zero
    }
    /// The lengths of both files when they changed places, with what is allocated ahead.
    package var oldFileBytes: UInt64 { replacement?.oldFileBytes ?? 0 }
    package var newFileBytes: UInt64 { replacement?.newFileBytes ?? 0 }
}
