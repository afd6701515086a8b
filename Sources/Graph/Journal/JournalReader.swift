/// Reads a journal from its first record to its end and tells a torn tail from damage.
///
/// It never writes.
/// For the record at `offset`, expected to have the sequence *s*:
///
/// 1. A read error refuses the file.
/// 2. A valid header with an unknown kind or flag, or an impossible length, refuses it (`corrupt`).
/// 3. A valid record with another sequence or chain, or a durableThrough that falls or reaches *s*, refuses it.
/// 4. A valid record that `replay` does not understand refuses it, with the error of `replay`.
/// 5. Nothing but zeros from `offset` on is the end.
/// 6. Anything else is a bad record. *D* is the highest durableThrough in any valid header before or after it. If *D*
///    reaches *s*, the record was acknowledged: `corrupt`. Otherwise it is what a write left that was never synced.
/// 7. Before the seal (the first mark) there is no torn tail: that part was synced before the file got its name.
struct JournalReader: ~Copyable {
    private let header: JournalHeader
    private let path: String
    private var window: JournalWindow
    private var offset = JournalFormat.recordsOffset
    private var lastSequence: UInt64 = 0
    private var chain: UInt32
    private var durableThrough: UInt64 = 0
    private var part = Part.beginning
    /// Ends of the records from the seal on, without gaps; those before `lastKnown` are of no more interest, and the
    /// one there belongs to the last record that a later one, or the seal, shows to be durable.
    private var ends: [(sequence: UInt64, end: UInt64)] = []
    private var lastKnown = 0

    private enum Part {
        case beginning
        case schema
        case snapshot
        case snapshotEnded
        case sealed
    }

    private enum Step {
        case record(JournalFrame, Journal.RecordKind, payload: UnsafeRawBufferPointer, end: UInt64)
        case bad(reason: String)
    }

    init(file: any StoreFile, header: JournalHeader, headerChecksum: UInt32, lengthBytes: UInt64, path: String) {
        self.header = header
        self.path = path
        window = JournalWindow(file: file, lengthBytes: lengthBytes)
        chain = headerChecksum
    }

    consuming func scan<State>(
        into state: inout State, replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) -> JournalScan {
        while true {
            switch try step() {
            case .record(let frame, let kind, let payload, let end):
                try accept(frame, kind, payload, end)
                let entry = JournalEntry(kind: kind, sequence: frame.sequence, offset: offset, payload: payload)
                try replay(&state, entry)
                offset = end
            case .bad(let reason):
                return try finish(reason)
            }
        }
    }

    /// Reads the record at `offset` without believing anything that no checksum vouches for.
    private mutating func step() throws(GraphError) -> Step {
        let remaining = window.lengthBytes - offset
        guard remaining >= UInt64(JournalFormat.frameHeaderBytes) else { return .bad(reason: "its header is cut off") }
        let headerBytes = try bytes(at: offset, count: JournalFormat.frameHeaderBytes)
        guard let frame = JournalFrame(headerBytes, salt: header.salt) else {
            return .bad(reason: "its header has a wrong checksum")
        }
        guard let kind = Journal.RecordKind(rawValue: frame.kind) else {
            throw corrupt("record of the unknown kind \(frame.kind)")
        }
        guard frame.flags == 0, frame.reserved == 0 else { throw corrupt("record with unknown flags") }
        guard frame.payloadBytes <= UInt32(JournalFormat.payloadLimitBytes) else {
            throw corrupt("record with a payload of \(frame.payloadBytes) bytes")
        }
        let payloadBytes = Int(frame.payloadBytes)
        let frameBytes = JournalFormat.frameBytes(payloadBytes: payloadBytes)
        guard UInt64(frameBytes) <= remaining else { return .bad(reason: "its payload is cut off") }
        let whole = try bytes(at: offset, count: frameBytes)
        let payloadEnd = JournalFormat.frameHeaderBytes + payloadBytes
        let payload = UnsafeRawBufferPointer(rebasing: whole[JournalFormat.frameHeaderBytes..<payloadEnd])
        guard CRC32C.checksum(payload, seed: frame.headerChecksum) == frame.payloadChecksum else {
            return .bad(reason: "its payload has a wrong checksum")
        }
        guard whole[payloadEnd...].allSatisfy({ $0 == 0 }) else { return .bad(reason: "its padding is not zero") }
        return .record(frame, kind, payload: payload, end: offset + UInt64(frameBytes))
    }

    /// Checks a valid record's place in the file and moves past it.
    private mutating func accept(
        _ frame: JournalFrame, _ kind: Journal.RecordKind, _ payload: UnsafeRawBufferPointer, _ end: UInt64
    ) throws(GraphError) {
        let expected = lastSequence + 1
        guard frame.sequence == expected else { throw corrupt("a record has the sequence \(frame.sequence)") }
        guard frame.chain == chain else { throw corrupt("the record does not follow the one before it") }
        guard frame.durableThrough >= durableThrough, frame.durableThrough < expected else {
            throw corrupt("the record claims to follow a sync of record \(frame.durableThrough)")
        }
        try place(kind, payload)
        lastSequence = expected
        chain = frame.payloadChecksum
        durableThrough = frame.durableThrough
        if part == .sealed {
            ends.append((expected, end))
            while ends[lastKnown].sequence < durableThrough { lastKnown += 1 }
            if lastKnown > 1_024, lastKnown > ends.count / 2 {
                ends.removeFirst(lastKnown)
                lastKnown = 0
            }
        }
    }

    /// The order of the initial part: a schema, perhaps a snapshot, any commits, and the seal that ends it.
    private mutating func place(_ kind: Journal.RecordKind, _ payload: UnsafeRawBufferPointer) throws(GraphError) {
        switch (part, kind) {
        case (.beginning, .schema):
            guard SHA256.digest(Array(payload)) == header.schemaFingerprint else {
                throw corrupt("the schema is not the one that the header names")
            }
            part = .schema
        case (.beginning, _):
            throw corrupt("the first record is no schema")
        case (.schema, .snapshotChunk):
            part = .snapshot
        case (.snapshot, .snapshotChunk):
            break
        case (.schema, .snapshotEnd), (.snapshot, .snapshotEnd):
            part = .snapshotEnded
        case (.snapshot, _), (_, .snapshotChunk), (_, .snapshotEnd):
            throw invalid("a record of the kind \(kind) in the wrong place")
        case (.schema, .mark), (.snapshotEnded, .mark):
            part = .sealed
        case (.schema, _), (.snapshotEnded, _), (.sealed, _):
            break
        }
    }

    /// Decides what the bytes from `offset` to the end of the file are.
    private mutating func finish(_ reason: String) throws(GraphError) -> JournalScan {
        let expected = lastSequence + 1
        let rest = try examineRest(after: expected)
        let isClean = rest.end == offset
        guard part == .sealed else {
            throw corrupt(isClean ? "the file ends before its initial part does" : "record \(expected): \(reason)")
        }
        let known = max(rest.durableThrough, ends[lastKnown].sequence)
        guard isClean || known < expected else {
            let witness = rest.nextOffset.map { ", the next readable record is at \($0)" } ?? ""
            throw corrupt("record \(expected): \(reason), but it was durable (through \(known))\(witness)")
        }
        return JournalScan(
            validEnd: offset,
            durableEnd: ends[lastKnown].end,
            lastSequence: lastSequence,
            chain: chain,
            tail: isClean ? .clean : .torn(end: rest.end, reason: "record \(expected): \(reason)"))
    }

    private struct Rest {
        /// Behind the last byte that is not zero.
        var end: UInt64
        /// The highest in any header of a record after the expected one, and where the first such header is.
        var durableThrough: UInt64 = 0
        var nextOffset: UInt64?
    }

    /// One pass over the rest of the file, in steps of 8 bytes, where every record starts.
    private mutating func examineRest(after expected: UInt64) throws(GraphError) -> Rest {
        var rest = Rest(end: offset)
        var position = offset
        while position < window.lengthBytes {
            let count = Int(min(UInt64(JournalWindow.pieceBytes), window.lengthBytes - position))
            let piece = try bytes(at: position, count: count)
            let reachesEnd = position + UInt64(count) == window.lengthBytes
            // Headers that reach into the next piece are looked at there.
            let starts = reachesEnd ? count : count - JournalFormat.frameHeaderBytes
            var index = 0
            while index < starts {
                let word = Self.word(piece, at: index)
                if word != 0 {
                    let significantBytes = (64 - word.leadingZeroBitCount + 7) / 8
                    rest.end = position + UInt64(index + significantBytes)
                }
                if UInt32(truncatingIfNeeded: word) == JournalFormat.frameMagic,
                    let frame = JournalFrame(UnsafeRawBufferPointer(rebasing: piece[index...]), salt: header.salt),
                    frame.sequence > expected
                {
                    rest.durableThrough = max(rest.durableThrough, frame.durableThrough)
                    rest.nextOffset = rest.nextOffset ?? (position + UInt64(index))
                }
                index += JournalFormat.alignment
            }
            position += UInt64(index)
        }
        return rest
    }

    /// Eight bytes as a little-endian number, with zeros for those beyond the end.
    private static func word(_ bytes: UnsafeRawBufferPointer, at index: Int) -> UInt64 {
        if bytes.count - index >= 8 {
            return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        }
        return bytes[index...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func bytes(at offset: UInt64, count: Int) throws(GraphError) -> UnsafeRawBufferPointer {
        do throws(IOError) {
            return try window.bytes(at: offset, count: count)
        } catch {
            throw error.graphError(path: path)
        }
    }

    private func corrupt(_ reason: String) -> GraphError {
        .corrupt(path: path, offset: offset, sequence: lastSequence + 1, reason: reason)
    }

    private func invalid(_ reason: String) -> GraphError {
        .invalidRecord(path: path, offset: offset, sequence: lastSequence + 1, reason: reason)
    }
}
