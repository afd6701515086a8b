/// How a file grew while its rows were updated at random.
struct FileHistory: Sendable {
    /// What was found after one commit.
    struct Sample: Sendable {
        /// Since the first update.
        var seconds: Double
        /// How long the commit took.
        var commitSeconds: Double
        /// The length of the store's file.
        var fileBytes: Int
        /// The length of everything that lay in its folder, a new generation that is being written among it.
        var diskBytes: Int
    }

    struct Compaction: Sendable {
        /// Since the first update.
        var begin: Double
        var end: Double
        /// How long no save was written: the longer one of the two times.
        var pauseSeconds: Double
        /// How much of the second time was for sealing the new file and for the renaming.
        var sealSeconds: Double
        var renameSeconds: Double
        /// The slowest sync meanwhile, of commits and of the new file.
        var syncSeconds: Double
        /// Of both files when they changed places.
        var oldBytes: Int
        var newBytes: Int
        /// What the new file has of commits made meanwhile, and what is allocated ahead.
        var copiedBytes: Int
    }

    let rows: Int
    let updates: Int
    let commitSize: Int
    /// The length of the compacted file before the first update, and after the last one.
    var freshBytes = 0
    var finalBytes = 0
    var samples: [Sample] = []
    var compactions: [Compaction] = []
    /// The length of the commits' records.
    var changedBytes = 0
    /// All that the process wrote meanwhile; nil where the system does not tell.
    var writtenBytes: Int?

    /// The most that a journal allocates ahead.
    private static let aheadBytes = 8 << 20
    private static let leastFreedBytes = 16 << 20
    /// Below that length the file may be more than ``sizeFactor`` times as long as a fresh one.
    private static let smallBytes = 160 << 20
    static let sizeFactor = 2.2
    static let diskFactor = 3.3
    static let pauseSeconds = 0.02

    var seconds: Double { samples.last?.seconds ?? 0 }
    /// The length that factors are about.
    var baseBytes: Int { max(freshBytes, finalBytes) }
    var largestBytes: Int { samples.map(\.fileBytes).max() ?? 0 }
    var largestDiskBytes: Int {
        max(samples.map(\.diskBytes).max() ?? 0, compactions.map { $0.oldBytes + $0.newBytes }.max() ?? 0)
    }
    /// How many bytes were written for each one of a record.
    var amplification: Double? { writtenBytes.map { Double($0) / Double(max(1, changedBytes)) } }

    /// A small file is compacted when that frees 16 MiB, a larger one when it frees as much as a fresh one has.
    var sizeLimitBytes: Int {
        baseBytes > Self.smallBytes
            ? Int(Self.sizeFactor * Double(baseBytes))
            : baseBytes + max(baseBytes, Self.leastFreedBytes) + Self.aheadBytes
    }

    /// In proportion to the limit of the file: once more for the new one.
    var diskLimitBytes: Int {
        baseBytes > Self.smallBytes
            ? Int(Self.diskFactor * Double(baseBytes)) : sizeLimitBytes + baseBytes + Self.aheadBytes
    }

    var longestPause: Double { compactions.map(\.pauseSeconds).max() ?? 0 }

    /// The slowest commit during a compaction, or outside of all.
    func slowestCommit(during compaction: Compaction?) -> Double {
        samples.filter { sample in
            let begin = sample.seconds - sample.commitSeconds
            func overlaps(_ compaction: Compaction) -> Bool {
                sample.seconds >= compaction.begin && begin <= compaction.end
            }
            return compaction.map(overlaps) ?? !compactions.contains(where: overlaps)
        }.map(\.commitSeconds).max() ?? 0
    }
}
