/// A record as the reader finds it.
///
/// The reader passes records in groups, one after the other. The payloads of a group are valid until its last record was passed;
/// the reader never goes on to a next group, and never throws, in the middle of one.
///
/// Sendable without the compiler's proof: nothing writes to a payload while it is valid.
struct JournalEntry: @unchecked Sendable {
    let kind: Journal.RecordKind
    let sequence: JournalSequence
    /// Where the record starts in the file, for messages.
    let offset: UInt64
    /// The commit that the file's checkpoint, if it has one, must be of.
    var baseCommit = CommitNumber.none
    /// The length of the file, zeros ahead included.
    var fileBytes: UInt64 = 0
    let payload: UnsafeRawBufferPointer
    /// Whether it is the last record of its group.
    var endsGroup = true

    /// The length of the record, with its padding.
    var frameBytes: UInt64 { UInt64(JournalFormat.frameBytes(payloadBytes: payload.count)) }

    /// Where the record ends, but for its padding.
    var endOffset: UInt64 { offset + UInt64(JournalFormat.frameHeaderBytes + payload.count) }
}

/// The result of a complete scan of a file.
struct JournalScan: Sendable, Equatable {
    /// The end of the last valid record.
    var validEnd: UInt64
    /// The end of the last record that is known to have been synced; what follows was perhaps only in memory.
    var durableEnd: UInt64
    var lastSequence: JournalSequence
    /// The last record's payload checksum.
    var chain: UInt32
    var tail: Tail
    var lastKind: Journal.RecordKind
    var agreement: Agreement
    /// See ``JournalFormat``.
    var endsLikeAWriters: Bool

    /// How the file compares with the end in the lock file.
    enum Agreement: Sendable, Equatable {
        /// The lock file has no end.
        case unknown
        /// The remembered end is in the file.
        case same
        /// The file was closed before the remembered end.
        case older(JournalEnd)
        /// Another record is at the remembered end.
        case diverged(JournalEnd)
    }

    enum Tail: Sendable, Equatable {
        /// Nothing but zeros, if anything.
        case clean
        /// The rest of a write that was never acknowledged; its last byte that is not zero lies before `end`.
        case torn(end: UInt64, reason: String)
    }
}
