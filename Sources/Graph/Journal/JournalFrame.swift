/// The 40 bytes in front of a record's payload.
///
///     offset  size  little-endian
///          0     4  frame magic
///          4     4  header checksum: CRC32C of the bytes 8..<36, seeded with the file's salt
///          8     1  kind
///          9     1  flags, zero
///         10     2  zero
///         12     4  length of the payload
///         16     8  sequence: 1, 2, 3 … within the file
///         24     8  durableThrough: the last sequence known to be on the disk when this record was written
///         32     4  chain: the payload checksum before, for record 1 the checksum of the file's header
///         36     4  payload checksum: CRC32C of the payload, seeded with the header checksum
///         40     …  payload, then zeros to a multiple of 8
///
/// Header checksums cover the chain and payload checksums start from header checksums, so each one depends on every record
/// before. That finds accidents, but no forgery with recomputed checksums.
struct JournalFrame: Sendable, Equatable {
    let kind: UInt8
    let flags: UInt8
    let reserved: UInt16
    let payloadBytes: UInt32
    let sequence: JournalSequence
    let durableThrough: JournalSequence
    let chain: UInt32
    let headerChecksum: UInt32
    let payloadChecksum: UInt32

    /// The header at the start of the bytes, or nil if these are fewer than 40 or not a header of this file.
    init?(_ bytes: UnsafeRawBufferPointer, salt: UInt32) {
        guard bytes.count >= JournalFormat.frameHeaderBytes else { return nil }
        func field<Value: FixedWidthInteger>(_ offset: Int, _ type: Value.Type = Value.self) -> Value {
            Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
        }
        guard field(0) == JournalFormat.frameMagic else { return nil }
        headerChecksum = field(4)
        guard headerChecksum == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[8..<36]), seed: salt) else {
            return nil
        }
        kind = field(8)
        flags = field(9)
        reserved = field(10)
        payloadBytes = field(12)
        sequence = JournalSequence(field(16))
        durableThrough = JournalSequence(field(24))
        chain = field(32)
        payloadChecksum = field(36)
    }

    /// Appends a whole record and returns its payload checksum, the chain value of the next one.
    static func append(
        _ record: Journal.Record, sequence: JournalSequence, durableThrough: JournalSequence, chain: UInt32,
        salt: UInt32, to writer: inout ByteWriter
    ) -> UInt32 {
        append(
            record.kind.rawValue, record.payload, sequence: sequence, durableThrough: durableThrough, chain: chain,
            salt: salt, to: &writer)
    }

    /// The same for a record of any kind.
    static func append(
        _ kind: UInt8, _ payload: [UInt8], sequence: JournalSequence, durableThrough: JournalSequence, chain: UInt32,
        salt: UInt32, to writer: inout ByteWriter
    ) -> UInt32 {
        let start = writer.count
        writer.appendFixed(JournalFormat.frameMagic)
        writer.appendFixed(UInt32(0))
        writer.append(kind)
        writer.append(0)
        writer.appendFixed(UInt16(0))
        writer.appendFixed(UInt32(payload.count))
        writer.appendFixed(sequence.number)
        writer.appendFixed(durableThrough.number)
        writer.appendFixed(chain)
        let headerChecksum = writer.bytes.withUnsafeBytes { bytes in
            CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[(start + 8)..<(start + 36)]), seed: salt)
        }
        writer.overwriteFixed(headerChecksum, at: start + 4)
        let payloadChecksum = CRC32C.checksum(payload, seed: headerChecksum)
        writer.appendFixed(payloadChecksum)
        writer.append(contentsOf: payload)
        while writer.count % JournalFormat.alignment != 0 { writer.append(0) }
        return payloadChecksum
    }
}
