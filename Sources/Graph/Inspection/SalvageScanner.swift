/// Finds the records of a damaged file: wherever checksums are right, at whatever byte.
///
/// It believes headers and payloads with right checksums and ascending sequences, and nothing that is around them: neither zeros
/// that fill a record up, nor the chain, nor where a record should begin.
///
/// Complexity: O(file). Payloads with wrong checksums are read up to four times the file's length in all, and memory is taken for
/// the longest payload.
struct SalvageScanner: ~Copyable {
    /// A record, and what is missing before it.
    struct Found {
        /// The payload is valid until the next call.
        let entry: JournalEntry
        let loss: Loss
    }

    /// What cannot be read. Either may be empty: bytes may be lost without a trace, and others come in between two records.
    struct Loss {
        let bytes: Range<UInt64>
        let sequences: Range<UInt64>
    }

    /// Far from where adding could overflow.
    private static let sequenceLimit: UInt64 = 1 << 62
    /// A search that takes little of the window at a time, so that the window moves in large pieces.
    private static let pieceBytes = 4_096

    private let salt: UInt32
    private var window: JournalWindow
    private var position: UInt64 = 0
    private var last = JournalSequence.none
    /// The end of the last record.
    private var end = JournalFormat.recordsOffset
    /// The end of the last byte that is no record's and not zero.
    private var dataEnd: UInt64 = 0
    private var wastedBytes: UInt64 = 0
    /// Where the search has ended because it would take too long; nil if it went on to the end of the file.
    private(set) var gaveUp: UInt64?

    init(_ file: any StoreFile, lengthBytes: UInt64, salt: UInt32) {
        window = JournalWindow(file: file, lengthBytes: lengthBytes)
        self.salt = salt
    }

    /// The next record; nil at the end of the file.
    mutating func next() throws(IOError) -> Found? {
        while position < window.lengthBytes {
            if let (entry, nextPosition) = try record(at: position) {
                let loss = Loss(
                    bytes: min(end, position)..<position, sequences: last.next.number..<entry.sequence.number)
                last = entry.sequence
                // Without what fills the record up, in case some of it is lost.
                (position, end) = (nextPosition, (nextPosition + 7) & ~7)
                return Found(entry: entry, loss: loss)
            }
            if wastedBytes / 4 > window.lengthBytes {
                gaveUp = position
                return nil
            }
            position = try nextStart(from: position + 1)
        }
        return nil
    }

    /// What is behind the last record, once `next` has returned nil. Zeros are no loss.
    var rest: Range<UInt64> { end..<max(end, dataEnd) }

    var lengthBytes: UInt64 { window.lengthBytes }

    /// The last record's sequence.
    var lastSequence: JournalSequence { last }

    private mutating func record(at offset: UInt64) throws(IOError) -> (JournalEntry, end: UInt64)? {
        guard window.lengthBytes - offset >= UInt64(JournalFormat.frameHeaderBytes) else { return nil }
        let bytes = try window.bytes(at: offset, count: JournalFormat.frameHeaderBytes)
        guard let frame = JournalFrame(bytes, salt: salt), let kind = Journal.RecordKind(rawValue: frame.kind),
            frame.flags == 0, frame.reserved == 0, frame.payloadBytes <= UInt32(JournalFormat.payloadLimitBytes),
            frame.sequence > last, frame.sequence.number <= Self.sequenceLimit
        else { return nil }
        let count = JournalFormat.frameHeaderBytes + Int(frame.payloadBytes)
        guard window.lengthBytes - offset >= UInt64(count) else { return nil }
        let whole = try window.bytes(at: offset, count: count)
        let payload = UnsafeRawBufferPointer(rebasing: whole[JournalFormat.frameHeaderBytes...])
        guard CRC32C.checksum(payload, seed: frame.headerChecksum) == frame.payloadChecksum else {
            wastedBytes += UInt64(count)
            return nil
        }
        let entry = JournalEntry(kind: kind, sequence: frame.sequence, offset: offset, payload: payload)
        return (entry, offset + UInt64(count))
    }

    /// Where the next four bytes are that a record begins with; the end of the file if there are none.
    private mutating func nextStart(from start: UInt64) throws(IOError) -> UInt64 {
        var start = start
        while start < window.lengthBytes {
            let count = Int(min(UInt64(Self.pieceBytes), window.lengthBytes - start))
            let piece = try window.bytes(at: start, count: count)
            if let index = Self.firstMagic(in: piece) {
                dataEnd = start + UInt64(index + 4)
                return start + UInt64(index)
            }
            let significantBytes = piece.lastIndex { $0 != 0 }.map { $0 + 1 }
            if let significantBytes { dataEnd = start + UInt64(significantBytes) }
            guard start + UInt64(count) < window.lengthBytes else { break }
            // What reaches into the next piece is found there.
            start += UInt64(count - 3)
            if significantBytes == nil { start = max(start, window.dataOffset(from: start) ?? window.lengthBytes) }
        }
        return window.lengthBytes
    }

    private static func firstMagic(in piece: UnsafeRawBufferPointer) -> Int? {
        let first = UInt8(truncatingIfNeeded: JournalFormat.frameMagic)
        var index = 0
        while index + 4 <= piece.count {
            if piece[index] == first,
                UInt32(littleEndian: piece.loadUnaligned(fromByteOffset: index, as: UInt32.self))
                    == JournalFormat.frameMagic
            {
                return index
            }
            index += 1
        }
        return nil
    }

    /// The salt of a file both of whose headers are damaged: the first one with which two headers of records have their
    /// checksums. One header alone has its checksum with some salt, whatever is in it.
    static func salt(of file: any StoreFile, lengthBytes: UInt64) throws(IOError) -> UInt32? {
        var scanner = SalvageScanner(file, lengthBytes: lengthBytes, salt: 0)
        var (found, candidateLimit): (Set<UInt32>, Int) = ([], 1 << 20)
        var position: UInt64 = 0
        while found.count < candidateLimit {
            position = try scanner.nextStart(from: position)
            guard lengthBytes - position >= UInt64(JournalFormat.frameHeaderBytes) else { return nil }
            let bytes = try scanner.window.bytes(at: position, count: JournalFormat.frameHeaderBytes)
            position += 1
            guard Journal.RecordKind(rawValue: bytes[8]) != nil, bytes[9...11].allSatisfy({ $0 == 0 }) else { continue }
            let checksum = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            let salt = CRC32C.seed(of: checksum, UnsafeRawBufferPointer(rebasing: bytes[8..<36]))
            guard found.insert(salt).inserted else { return salt }
        }
        return nil
    }
}
