@testable import Graph

/// What a file has between its checksums: the parts from which a fuzzer's bytes make a file that reaches the decoders.
///
///     offset  size
///          0     1  bit 0: the header names a checkpoint; bits 1 and 2: which lock file; bit 3: the tail damages the file
///          1     1  which program opens the file
///          2     1  the header's base commit; from F0 on, so many before the last one that there may be
///          3     …  records: kind, flags, length of the payload in two bytes, payload
///                   kind 255: the rest is the tail
struct RecordScript: Equatable {
    struct Record: Equatable {
        var kind: UInt8
        /// 0 for a record as a writer makes it.
        var flags: UInt8 = 0
        var payload: [UInt8]

        /// The group before it is not known to be synced.
        static let isUnsynced: UInt8 = 1
        static let skipsSequence: UInt8 = 2
        static let breaksChain: UInt8 = 4
        static let hasWrongChecksum: UInt8 = 8
    }

    static let hasCheckpoint: UInt8 = 1
    static let tailDamages: UInt8 = 8

    var options: UInt8 = 0
    var program: UInt8 = 0
    var baseCommit: UInt8 = 0
    var records: [Record] = []
    var tail: [UInt8] = []

    private static let tailKind: UInt8 = 255
    /// Two bytes have the length.
    static let payloadLimit = 0xFFFF

    init() {}

    /// Any bytes are a script.
    init(reading bytes: [UInt8]) {
        var rest = bytes[...]
        options = rest.popFirst() ?? 0
        program = rest.popFirst() ?? 0
        baseCommit = rest.popFirst() ?? 0
        while let kind = rest.popFirst() {
            if kind == Self.tailKind {
                tail = Array(rest)
                return
            }
            let flags = rest.popFirst() ?? 0
            let length = Int(rest.popFirst() ?? 0) | Int(rest.popFirst() ?? 0) << 8
            records.append(Record(kind: kind, flags: flags, payload: Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
    }

    var bytes: [UInt8] {
        var bytes = [options, program, baseCommit]
        for record in records {
            let payload = record.payload.prefix(Self.payloadLimit)
            bytes += [record.kind, record.flags, UInt8(payload.count & 0xFF), UInt8(payload.count >> 8)] + payload
        }
        return tail.isEmpty ? bytes : bytes + [Self.tailKind] + tail
    }

    /// The script of a file, without what is behind its records.
    init(of file: [UInt8], program: UInt8 = 0) throws {
        let disk = SimulatedDisk()
        disk.setContents(file, at: JournalFixture.path)
        for record in try JournalFixture.read(disk) {
            records.append(Record(kind: record.kind.rawValue, payload: record.payload))
        }
        self.program = program
        guard case .valid(let header, _) = file.prefix(4_096).withUnsafeBytes({ JournalHeader.decode($0) }) else {
            return
        }
        options = header.hasCheckpoint ? Self.hasCheckpoint : 0
        baseCommit = UInt8(truncatingIfNeeded: header.baseCommit.number)
    }
}

extension RecordScript {
    /// Of the header.
    var baseCommitNumber: UInt64 {
        baseCommit < 0xF0 ? UInt64(baseCommit) : RowCounters.maximum - UInt64(0xFF - baseCommit)
    }

    private static let fileID = StoreID(high: 0x0123_4567_89AB_CDEF, low: 7)

    /// The file with right checksums, chain, sequences and header, but for what the flags say.
    var file: [UInt8] {
        let header = JournalHeader(
            storeID: StoreID(high: 1, low: 2), fileID: Self.fileID, generation: 1,
            baseCommit: CommitNumber(baseCommitNumber), previousFileChain: 0,
            schemaFingerprint: SHA256.digest(records.first?.payload ?? []), createdNanoseconds: 3,
            hasCheckpoint: options & Self.hasCheckpoint != 0)
        let encoded = header.encoded()
        var content = ByteWriter()
        content.append(contentsOf: encoded)
        content.append(contentsOf: encoded)
        var (chain, sequence, durable) = (JournalHeader.checksum(of: encoded), UInt64(0), UInt64(0))
        for record in records {
            sequence += record.flags & Record.skipsSequence == 0 ? 1 : 2
            if record.flags & Record.isUnsynced == 0 { durable = sequence - 1 }
            if record.flags & Record.breaksChain != 0 { chain ^= 1 }
            chain = JournalFrame.append(
                record.kind, record.payload, sequence: JournalSequence(sequence),
                durableThrough: JournalSequence(durable), chain: chain, salt: header.salt, to: &content)
            if record.flags & Record.hasWrongChecksum != 0, let last = record.payload.last {
                let end = content.count - (8 - (40 + record.payload.count) % 8) % 8
                content.overwriteFixed(last ^ 1, at: end - 1)
            }
        }
        var file = content.bytes
        guard options & Self.tailDamages != 0 else { return file + tail }
        // Places in three bytes, and what becomes of the byte there.
        for start in stride(from: 0, to: tail.count - 3, by: 4) {
            let place = Int(tail[start]) | Int(tail[start + 1]) << 8 | Int(tail[start + 2]) << 16
            file[place % file.count] ^= tail[start + 3]
        }
        return file
    }

    /// The lock file beside it; nil for none.
    func lock(of file: [UInt8]) -> [UInt8]? {
        let kind = options >> 1 & 3
        guard kind > 0 else { return nil }
        if kind == 3 { return tail }
        // The end of the last record, or of the one before.
        var (offset, last) = (8_192, (sequence: UInt64(0), end: 8_192, chain: UInt32(0)))
        for record in records.dropLast(kind == 2 ? 1 : 0) {
            let start = offset
            offset += JournalFormat.frameBytes(payloadBytes: record.payload.count)
            guard offset <= file.count else { break }
            last = file.withUnsafeBytes { bytes in
                (
                    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 16, as: UInt64.self)), offset,
                    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 36, as: UInt32.self))
                )
            }
        }
        let end = JournalEnd(
            fileID: Self.fileID, sequence: JournalSequence(last.sequence), offset: UInt64(last.end), chain: last.chain,
            isClosed: records.last?.kind == Journal.RecordKind.close.rawValue)
        return JournalLock.header(of: JournalLock.Holder(processID: 1, since: 1)) + end.encoded()
    }
}
