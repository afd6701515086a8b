/// The numbers of the file format. `Docs/Design/JournalFormat.md` is the specification.
///
///     offset  size
///          0  4096  header, copy A
///       4096  4096  header, copy B, the same bytes
///       8192     …  records, each starting at a multiple of 8
///                   zeros to the end of the file, only while it is open or after an unclean stop
enum JournalFormat {
    static let majorVersion: UInt16 = 1
    static let minorVersion: UInt16 = 0
    static let headerBytes = 4_096
    static let recordsOffset: UInt64 = 8_192
    static let frameHeaderBytes = 40
    static let alignment = 8

    /// Up to this length CRC32C finds every error of three bits; nothing longer is written or read.
    static let payloadLimitBytes = 256 << 20

    /// The limit of a group; one record of the largest size is a group by itself.
    static let groupLimitBytes = frameBytes(payloadBytes: payloadLimitBytes)

    /// The limit of a writer's allocation ahead.
    static let allocationLimitBytes: UInt64 = 8 << 20

    /// Files end at a multiple of this once zeros were allocated ahead.
    static let allocationAlignment: UInt64 = 4_096

    /// Groups are synced at the latest when this much would wait for it.
    static let unsyncedLimitBytes: UInt64 = 64 << 20

    /// What a stopped writer leaves behind the last record that can be read is shorter: what was not synced, one group and the
    /// zeros ahead. More than this is no unfinished write.
    static let unfinishedLimitBytes: UInt64 = 512 << 20

    /// The eighth bit, the line ends and the end-of-text mark show what a text-mode transfer did to the file.
    static let magic: [UInt8] = [0x89, 0x47, 0x52, 0x46, 0x0D, 0x0A, 0x1A, 0x0A]

    /// E7 47 52 4A in the file.
    static let frameMagic: UInt32 = 0x4A52_47E7

    /// CRC32C.
    static let checksumAlgorithm: UInt8 = 1

    /// Whether a running or closed writer leaves such an end: closed, created and never written to, or with zeros ahead.
    ///
    /// - Parameters:
    ///   - end: of the last record; nothing but zeros follows.
    ///   - isClosed: whether that record says that the file is closed, or is the first one behind which a writer writes.
    static func endsLikeAWriters(_ lengthBytes: UInt64, behind end: UInt64, isClosed: Bool) -> Bool {
        guard lengthBytes > end else { return isClosed }
        return lengthBytes.isMultiple(of: allocationAlignment) && lengthBytes - end <= 2 * allocationLimitBytes
    }

    /// The length of a record in the file; a payload within the limit cannot overflow it.
    static func frameBytes(payloadBytes: Int) -> Int {
        (frameHeaderBytes + payloadBytes + alignment - 1) & ~(alignment - 1)
    }
}
