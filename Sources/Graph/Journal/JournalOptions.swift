/// The choices for a journal, and its outside effects, which a test can replace.
struct JournalOptions: Sendable {
    /// The longest payload that is written, at most `JournalFormat.payloadLimitBytes`. Reading has only that one limit: a file
    /// must not become unreadable because the next program chose less.
    var transactionLimitBytes = 64 << 20

    /// The least that is allocated ahead. A file that has run out of zeros gets as many as it is long, within limits.
    ///
    /// Doubling keeps the number of allocations logarithmic. The maximum keeps the one write that carries the zeros short, and
    /// limits what an open after an unclean stop overwrites.
    var allocationMinimumBytes: UInt64 = 256 << 10
    var allocationMaximumBytes = JournalFormat.allocationLimitBytes

    /// How long after the last group a mark shows that it was durable, up to twice this; nil for never.
    var idleMarkDelay: Duration?

    /// The least that a compaction must free for the coordinator to make one by itself.
    var compactionMinimumBytes: UInt64 = 16 << 20

    /// A power of two, at least 2. Each writer that opens the file ends its zeros at another one of this many successive
    /// blocks: two writers that share a file in spite of all locks then notice each other by its length.
    var allocationChoices: UInt64 = 16

    /// Is told before an opening repairs a file, or forgets what it was to be, of which `diagnostics` then tells; nil to go on.
    var willRepair: (@Sendable () throws(GraphError) -> Void)?

    /// For identifiers and salts.
    var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }

    /// The wall clock, for the header's time of creation, which is information only.
    var nanosecondsSince1970: @Sendable () -> UInt64 = { PosixFileSystem.nanosecondsSince1970() }
}
