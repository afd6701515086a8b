/// The bytes of a log: its head, and frames as a journal has them, each of which has one ``LogRecord``.
///
///     offset  size  little-endian
///          0     8  89 47 52 4C 4F 47 0D 0A
///          8     2  version, 1
///         10     6  zero
///         16    16  store identifier, in the order of its text
///         32     8  number of the commit behind which the log begins
///         40     8  fingerprint of that commit
///         48     4  salt, random
///         52     8  zero
///         60     4  CRC32C of the bytes 0..<60
///         64     …  frames: of sequence 1, 2, 3 …; the first one's chain value is the head's checksum. durableThrough is 0. The
///                   payload of a commit begins with the 8 bytes of the fingerprint of the commit before
enum LogFormat {
    static let headBytes = 64
    static let version: UInt16 = 1
    private static let magic: [UInt8] = [0x89, 0x47, 0x52, 0x4C, 0x4F, 0x47, 0x0D, 0x0A]

    /// What a log begins with.
    struct Head: Sendable, Equatable {
        let start: HistoryToken
        let salt: UInt32

        func encoded() -> (bytes: [UInt8], checksum: UInt32) {
            var writer = ByteWriter(capacity: headBytes)
            writer.append(contentsOf: magic)
            writer.appendFixed(version)
            while writer.count < 16 { writer.append(0) }
            writer.appendBigEndian(start.store.high)
            writer.appendBigEndian(start.store.low)
            writer.appendFixed(start.commit.number)
            writer.appendFixed(start.fingerprint)
            writer.appendFixed(salt)
            writer.appendFixed(UInt64(0))
            let checksum = CRC32C.checksum(writer.bytes)
            writer.appendFixed(checksum)
            return (writer.bytes, checksum)
        }
    }

    /// - Parameter bytes: as many as a head has.
    static func head(_ bytes: UnsafeRawBufferPointer) throws(GraphError) -> (head: Head, checksum: UInt32) {
        func field<Value: FixedWidthInteger>(_ offset: Int, _ type: Value.Type = Value.self) -> Value {
            Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
        }
        guard bytes.prefix(8).elementsEqual(magic) else { throw .invalidLog(reason: "it does not begin as a log does") }
        guard field(8) == version else {
            throw .invalidLog(
                reason: "a newer version of Graph sends it (\(field(8, UInt16.self)); this one reads \(version))")
        }
        let checksum: UInt32 = field(60)
        guard checksum == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<60])),
            bytes[10..<16].allSatisfy({ $0 == 0 }),
            bytes[52..<60].allSatisfy({ $0 == 0 })
        else { throw .invalidLog(reason: "its head is damaged") }
        let store = StoreID(high: field(16, UInt64.self).byteSwapped, low: field(24, UInt64.self).byteSwapped)
        let start = HistoryToken(commit: CommitNumber(field(32)), store: store, fingerprint: field(40))
        return (Head(start: start, salt: field(48)), checksum)
    }
}

/// Writes a log.
struct LogWriter {
    private let salt: UInt32
    private var sequence = JournalSequence.none
    private var chain: UInt32
    /// What is written so far.
    private var writer = ByteWriter()

    init(since start: HistoryToken, salt: UInt32) {
        let (bytes, checksum) = LogFormat.Head(start: start, salt: salt).encoded()
        (self.salt, chain) = (salt, checksum)
        writer.append(contentsOf: bytes)
    }

    mutating func append(_ record: LogRecord) {
        var payload = record.payload
        if record.kind == .commit {
            payload.insert(contentsOf: withUnsafeBytes(of: record.fingerprint.littleEndian, Array.init), at: 0)
        }
        sequence = sequence.next
        chain = JournalFrame.append(
            record.kind.rawValue, payload, sequence: sequence, durableThrough: .none, chain: chain, salt: salt,
            to: &writer)
    }

    /// Takes what is written.
    mutating func take() -> [UInt8] {
        defer { writer = ByteWriter() }
        return writer.bytes
    }
}

/// Reads a log, in pieces of any length. It holds one frame, of which it has room for what has arrived.
struct LogReader {
    private(set) var head: LogFormat.Head?
    private var sequence = JournalSequence.none
    private var chain: UInt32 = 0
    /// What has arrived; what was read is before the offset.
    private var bytes: [UInt8] = []
    private var offset = 0

    /// The longest commit, and the fingerprint before it.
    private static let payloadLimitBytes = JournalFormat.payloadLimitBytes + 8

    mutating func append(_ piece: some Sequence<UInt8>) {
        bytes.removeFirst(offset)
        offset = 0
        bytes.append(contentsOf: piece)
    }

    /// The next record; nil until more has arrived.
    ///
    /// - Throws: `.invalidLog`.
    mutating func next() throws(GraphError) -> LogRecord? {
        if head == nil {
            guard bytes.count - offset >= LogFormat.headBytes else { return nil }
            let read = try withRest { rest throws(GraphError) in
                try LogFormat.head(UnsafeRawBufferPointer(rebasing: rest.prefix(LogFormat.headBytes)))
            }
            (head, chain) = (read.head, read.checksum)
            offset += LogFormat.headBytes
        }
        guard let head, bytes.count - offset >= JournalFormat.frameHeaderBytes else { return nil }
        let (chain, sequence) = (chain, sequence.next)
        let found = try withRest { rest throws(GraphError) in
            try Self.frame(rest, salt: head.salt, chain: chain, sequence: sequence)
        }
        guard let found else { return nil }
        (self.chain, self.sequence) = (found.frame.payloadChecksum, sequence)
        offset += found.frameBytes
        return found.record
    }

    private func withRest<Result>(
        _ body: (UnsafeRawBufferPointer) throws(GraphError) -> Result
    ) throws(GraphError) -> Result {
        try bytes.withUnsafeBufferPointer { buffer throws(GraphError) in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[offset...]))
        }
    }

    private static func frame(
        _ rest: UnsafeRawBufferPointer, salt: UInt32, chain: UInt32, sequence: JournalSequence
    ) throws(GraphError) -> (record: LogRecord, frame: JournalFrame, frameBytes: Int)? {
        guard let frame = JournalFrame(rest, salt: salt), frame.flags == 0, frame.reserved == 0,
            frame.payloadBytes <= payloadLimitBytes
        else { throw .invalidLog(reason: "bytes of it are damaged or missing") }
        guard frame.sequence == sequence, frame.chain == chain else {
            throw .invalidLog(reason: "a part of it is missing or came twice")
        }
        guard let kind = LogRecord.Kind(rawValue: frame.kind) else {
            throw .invalidLog(reason: "a newer version of Graph sends it (record of kind \(frame.kind))")
        }
        let frameBytes = JournalFormat.frameBytes(payloadBytes: Int(frame.payloadBytes))
        guard rest.count >= frameBytes else { return nil }
        let end = JournalFormat.frameHeaderBytes + Int(frame.payloadBytes)
        let payload = UnsafeRawBufferPointer(rebasing: rest[JournalFormat.frameHeaderBytes..<end])
        guard frame.payloadChecksum == CRC32C.checksum(payload, seed: frame.headerChecksum),
            rest[end..<frameBytes].allSatisfy({ $0 == 0 }), kind != .commit || payload.count >= 8
        else { throw .invalidLog(reason: "bytes of it are damaged or missing") }
        guard kind == .commit else { return (LogRecord(kind: kind, payload: Array(payload)), frame, frameBytes) }
        let record = LogRecord(
            kind: kind, payload: Array(payload[8...]),
            fingerprint: UInt64(littleEndian: payload.loadUnaligned(as: UInt64.self)))
        return (record, frame, frameBytes)
    }
}
