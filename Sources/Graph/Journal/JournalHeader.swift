/// The first 4,096 bytes of a journal file, which are stored twice and never change.
///
///     offset  size  little-endian
///          0     8  magic
///          8     2  major version, minor version at 10
///         12     4  length of the header, 4096
///         16     4  incompatible features: an unknown bit refuses the file; bit 0: it has a checkpoint
///         20     4  features that forbid writing: an unknown bit refuses the file, unless it is only read
///         24     1  checksum algorithm, 1 = CRC32C
///         25     7  zero
///         32    16  store identifier, in the order of its text
///         48    16  file identifier, in the order of its text; its first four bytes are the salt
///         64     8  generation
///         72     8  base commit
///         80     4  last chain value of the file before; zero at 84
///         88    32  SHA-256 of the payload of record 1
///        120     8  creation, nanoseconds since 1970
///        128  3964  zero
///       4092     4  CRC32C of the bytes before
struct JournalHeader: Sendable, Equatable {
    var storeID: StoreID
    /// Random for every file, also for every generation of a store.
    var fileID: StoreID
    var generation: UInt64
    /// The last commit that the initial part of the file contains.
    var baseCommit: CommitNumber
    /// The last payload checksum of the generation before; 0 in the first.
    var previousFileChain: UInt32
    /// 32 bytes.
    var schemaFingerprint: [UInt8]
    var createdNanoseconds: UInt64
    /// Whether the initial part has a checkpoint; an incompatible feature, since earlier programs cannot read one.
    var hasCheckpoint = false

    private static let checkpointFeature: UInt32 = 1

    /// The seed of record checksums, so that blocks of other files never pass for records of this one.
    var salt: UInt32 { UInt32(truncatingIfNeeded: fileID.high >> 32).byteSwapped }

    enum Copy: Equatable {
        /// The checksum is the first record's link into the chain.
        case valid(JournalHeader, checksum: UInt32)
        case unsupported(found: String)
        /// A different major version, with a checksum this version cannot check.
        case otherVersion(major: UInt16)
        case foreign
        case damaged(String)
    }

    /// The checksum in an encoded header.
    static func checksum(of encoded: [UInt8]) -> UInt32 { CRC32C.checksum(Array(encoded.dropLast(4))) }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: JournalFormat.headerBytes)
        writer.append(contentsOf: JournalFormat.magic)
        writer.appendFixed(JournalFormat.majorVersion)
        writer.appendFixed(JournalFormat.minorVersion)
        writer.appendFixed(UInt32(JournalFormat.headerBytes))
        writer.appendFixed(hasCheckpoint ? Self.checkpointFeature : 0)
        writer.appendFixed(UInt32(0))
        writer.append(JournalFormat.checksumAlgorithm)
        writer.append(contentsOf: [UInt8](repeating: 0, count: 7))
        for identifier in [storeID, fileID] {
            writer.appendBigEndian(identifier.high)
            writer.appendBigEndian(identifier.low)
        }
        writer.appendFixed(generation)
        writer.appendFixed(baseCommit.number)
        writer.appendFixed(previousFileChain)
        writer.appendFixed(UInt32(0))
        writer.append(contentsOf: schemaFingerprint)
        writer.appendFixed(createdNanoseconds)
        writer.append(contentsOf: [UInt8](repeating: 0, count: JournalFormat.headerBytes - 4 - writer.count))
        writer.appendFixed(CRC32C.checksum(writer.bytes))
        return writer.bytes
    }

    /// Checks one copy; the buffer holds exactly `headerBytes`.
    static func decode(_ bytes: UnsafeRawBufferPointer, isReadOnly: Bool = false) -> Copy {
        guard bytes.count == JournalFormat.headerBytes else { return .damaged("\(bytes.count) bytes long") }
        var reader = ByteReader(bytes)
        do {
            return try decode(&reader, checksumOf: bytes, isReadOnly)
        } catch {
            return .damaged(error.reason)
        }
    }

    private static func decode(
        _ reader: inout ByteReader, checksumOf bytes: UnsafeRawBufferPointer, _ isReadOnly: Bool
    ) throws(ByteReader.Failure) -> Copy {
        let magic = try reader.take(JournalFormat.magic.count)
        guard magic.elementsEqual(JournalFormat.magic) else { return .foreign }
        let major = try reader.readFixed(UInt16.self)
        let covered = JournalFormat.headerBytes - 4
        let checksum = CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<covered]))
        let stored = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: covered, as: UInt32.self))
        guard major == JournalFormat.majorVersion else { return .otherVersion(major: major) }
        guard checksum == stored else { return .damaged("wrong checksum") }
        _ = try reader.readFixed(UInt16.self)
        let length = try reader.readFixed(UInt32.self)
        let incompatible = try reader.readFixed(UInt32.self)
        let writeIncompatible = try reader.readFixed(UInt32.self)
        let algorithm = try reader.readByte()
        guard length == JournalFormat.headerBytes else { return .unsupported(found: "header of \(length) bytes") }
        guard incompatible & ~checkpointFeature == 0, writeIncompatible == 0 || isReadOnly else {
            return .unsupported(found: "features \(incompatible) and \(writeIncompatible)")
        }
        guard algorithm == JournalFormat.checksumAlgorithm else {
            return .unsupported(found: "checksum algorithm \(algorithm)")
        }
        var restIsZero = try isZero(reader.take(7))
        let storeID = try identifier(&reader)
        let fileID = try identifier(&reader)
        let generation = try reader.readFixed(UInt64.self)
        let baseCommit = CommitNumber(try reader.readFixed())
        let chain = try reader.readFixed(UInt32.self)
        restIsZero = try isZero(reader.take(4)) && restIsZero
        let fingerprint = Array(try reader.take(32))
        let created = try reader.readFixed(UInt64.self)
        restIsZero = try isZero(reader.take(covered - reader.offset)) && restIsZero
        guard restIsZero else { return .unsupported(found: "undefined bytes in the header") }
        let header = JournalHeader(
            storeID: storeID, fileID: fileID, generation: generation, baseCommit: baseCommit,
            previousFileChain: chain, schemaFingerprint: fingerprint, createdNanoseconds: created,
            hasCheckpoint: incompatible & checkpointFeature != 0)
        return .valid(header, checksum: stored)
    }

    private static func identifier(_ reader: inout ByteReader) throws(ByteReader.Failure) -> StoreID {
        let high = try reader.readFixed(UInt64.self).byteSwapped
        return StoreID(high: high, low: try reader.readFixed(UInt64.self).byteSwapped)
    }

    private static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.allSatisfy { $0 == 0 }
    }
}
