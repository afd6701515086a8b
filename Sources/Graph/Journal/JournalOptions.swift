/// What may be chosen about a journal, and the effects it takes from outside so that a test can fix them.
struct JournalOptions: Sendable {
    /// The longest payload that is written, at most `JournalFormat.payloadLimitBytes`. Reading has only that one limit: a
    /// file must not become unreadable because the next program chose less.
    var transactionLimitBytes = 64 << 20

    /// A file that has run out of zeros gets as many ahead as it is long, but at least and at most this many.
    ///
    /// Doubling keeps the number of allocations logarithmic. The upper bound keeps the one write that carries the
    /// zeros short, and limits what an open after an unclean stop has to overwrite.
    var allocationMinimumBytes: UInt64 = 256 << 10
    var allocationMaximumBytes = JournalFormat.allocationLimitBytes

    /// How long after the last group a mark shows that it was durable, and at most as long again; nil for never.
    var idleMarkDelay: Duration?

    /// A power of two, at least 2. Each writer that opens the file ends its zeros at another one of so many successive blocks:
    /// two writers that one file has in spite of all locks then see by its length that they are not alone.
    var allocationChoices: UInt64 = 16

    /// For identifiers and salts.
    var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }

    /// The wall clock, for the header's time of creation, which is information only.
    var nanosecondsSince1970: @Sendable () -> UInt64 = { PosixFileSystem.nanosecondsSince1970() }
}
