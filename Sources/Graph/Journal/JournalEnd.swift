/// The last end of a journal that a sync is known to have covered, kept in the lock file, where no damage to the journal
/// reaches it.
///
///     offset  size  little-endian; the slot begins at byte 512 of the lock file
///          0     4  E7 47 52 45
///          4     4  CRC32C of the bytes 8..<64
///          8    16  file identifier, in the order of its text
///         24     8  sequence of the last record
///         32     8  where that record ends, padding included
///         40     4  its payload checksum
///         44     1  1 if it is the close record, otherwise 0
///         45    19  zero
///
/// It is written after the journal's sync and without one of its own: exact after a kill, and after a power cut perhaps
/// older than what the journal holds, but never ahead of it. It lies within one sector.
struct JournalEnd: Sendable, Equatable {
    static let slotOffset: UInt64 = 512
    static let slotBytes = 64
    /// E7 47 52 45 in the file.
    private static let magic: UInt32 = 0x4552_47E7

    var fileID: StoreID
    var sequence: JournalSequence
    var offset: UInt64
    var chain: UInt32
    var isClosed: Bool

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: Self.slotBytes)
        writer.appendFixed(Self.magic)
        writer.appendFixed(UInt32(0))
        writer.appendBigEndian(fileID.high)
        writer.appendBigEndian(fileID.low)
        writer.appendFixed(sequence.number)
        writer.appendFixed(offset)
        writer.appendFixed(chain)
        writer.append(isClosed ? 1 : 0)
        while writer.count < Self.slotBytes { writer.append(0) }
        let checksum = writer.bytes.withUnsafeBytes { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: $0[8...])) }
        writer.overwriteFixed(checksum, at: 4)
        return writer.bytes
    }

    /// The contents of a slot; nil if it is damaged, or was never written.
    init?(slot bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.slotBytes else { return nil }
        func field<Value: FixedWidthInteger>(_ offset: Int, _ type: Value.Type = Value.self) -> Value {
            Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
        }
        guard field(0) == Self.magic,
            field(4) == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[8...])),
            bytes[44] <= 1, bytes[45...].allSatisfy({ $0 == 0 })
        else { return nil }
        fileID = StoreID(high: field(8, UInt64.self).byteSwapped, low: field(16, UInt64.self).byteSwapped)
        sequence = JournalSequence(field(24))
        offset = field(32)
        chain = field(40)
        isClosed = bytes[44] == 1
    }

    init(fileID: StoreID, sequence: JournalSequence, offset: UInt64, chain: UInt32, isClosed: Bool) {
        self.fileID = fileID
        self.sequence = sequence
        self.offset = offset
        self.chain = chain
        self.isClosed = isClosed
    }

    /// Reads the slot; nil if it is missing or damaged.
    static func read(from lockFile: any StoreFile) throws(IOError) -> JournalEnd? {
        var bytes = [UInt8](repeating: 0, count: slotBytes)
        do throws(IOError) {
            try bytes.withUnsafeMutableBufferPointer { buffer throws(IOError) in
                try lockFile.readFully(into: UnsafeMutableRawBufferPointer(buffer), at: slotOffset)
            }
        } catch {
            // The file ends before the slot does.
            guard error.reason == .noProgress else { throw error }
            return nil
        }
        return bytes.withUnsafeBytes { JournalEnd(slot: $0) }
    }

    func write(to lockFile: any StoreFile) throws(IOError) {
        try lockFile.writeFully(encoded(), at: Self.slotOffset)
    }
}
