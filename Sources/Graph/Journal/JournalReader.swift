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
/// 8. More behind the last record than a writer can have left there, zeros or not, refuses the file (`corrupt`).
/// 9. Fewer records than the lock file remembers refuse it (`corrupt`), unless it ends with a close record.
struct JournalReader: ~Copyable {
    private let header: JournalHeader
    private let path: String
    /// The end of this file in the lock file.
    private let remembered: JournalEnd?
    private var hasRememberedRecord = false
    private var lastKind = Journal.RecordKind.schema
    private var sealSequence = JournalSequence.none
    private var window: JournalWindow
    private var offset = JournalFormat.recordsOffset
    private var lastSequence = JournalSequence.none
    private var chain: UInt32
    private var durableThrough = JournalSequence.none
    private var part = Part.beginning
    /// Ends of the records from the seal on, without gaps. Those before `lastKnown` are not needed any more; the one there
    /// belongs to the last record that a later one, or the seal, shows to be durable.
    private var ends: [(sequence: JournalSequence, end: UInt64)] = []
    private var lastKnown = 0
    /// Where the window was last filled anew, since what is there seemed to be no record.
    private var freshOffset: UInt64?

    private enum Part {
        case beginning
        case schema
        case snapshot
        case snapshotEnded
        case sealed
    }

    /// A group of records has at most as many bytes, if it has more than one, and as many records: enough for several threads, and
    /// few enough for the processor's caches.
    private static let groupBytes = 2 << 20
    private static let groupLimit = 256

    /// - Parameter remembered: the end in the lock file, perhaps another file's.
    init(
        file: any StoreFile, header: JournalHeader, headerChecksum: UInt32, lengthBytes: UInt64, path: String,
        remembered: JournalEnd?
    ) {
        self.header = header
        self.path = path
        self.remembered = remembered?.fileID == header.fileID ? remembered : nil
        window = JournalWindow(file: file, lengthBytes: lengthBytes, pieceBytes: Self.groupBytes)
        chain = headerChecksum
    }

    consuming func scan<State>(
        into state: inout State, replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) -> JournalScan {
        var group: [JournalEntry] = []
        while true {
            // The payloads are valid until the window moves.
            if group.count == Self.groupLimit || !window.holdsRecord(at: offset) {
                try Self.pass(&group, into: &state, replay)
            }
            let next: Next
            do throws(GraphError) {
                next = try self.next()
            } catch {
                // What is wrong with a record before counts.
                try Self.pass(&group, into: &state, replay)
                throw error
            }
            switch next {
            case .entry(let entry): group.append(entry)
            case .bad(let reason):
                try Self.pass(&group, into: &state, replay)
                // A program may have written since. What is read together is compared.
                guard freshOffset == offset else {
                    freshOffset = offset
                    window.forget()
                    continue
                }
                return try finish(reason)
            }
        }
    }

    private static func pass<State>(
        _ group: inout [JournalEntry], into state: inout State,
        _ replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) {
        for (number, entry) in group.enumerated() {
            var entry = entry
            entry.endsGroup = number == group.count - 1
            try replay(&state, entry)
        }
        group.removeAll(keepingCapacity: true)
    }

    private enum Next {
        case entry(JournalEntry)
        /// No record, or a part of one.
        case bad(String)
    }

    /// The next record, which is moved past.
    private mutating func next() throws(GraphError) -> Next {
        let found: JournalWindow.Found
        do throws(IOError) {
            found = try window.record(at: offset, salt: header.salt)
        } catch {
            throw error.graphError(path: path)
        }
        switch found {
        case .record(let frame, let kind, let payload, let end):
            try accept(frame, kind, payload, end)
            defer { offset = end }
            return .entry(
                JournalEntry(
                    kind: kind, sequence: frame.sequence, offset: offset, baseCommit: header.baseCommit,
                    fileBytes: window.lengthBytes, payload: payload))
        case .unknown(let reason):
            throw corrupt(reason)
        case .bad(let reason):
            return .bad(reason)
        }
    }

    /// Checks a valid record's position in the file and moves past it.
    private mutating func accept(
        _ frame: JournalFrame, _ kind: Journal.RecordKind, _ payload: UnsafeRawBufferPointer, _ end: UInt64
    ) throws(GraphError) {
        let expected = lastSequence.next
        guard frame.sequence == expected else { throw corrupt("a record has the sequence \(frame.sequence)") }
        guard frame.chain == chain else { throw corrupt("the record does not follow the one before it") }
        guard frame.durableThrough >= durableThrough, frame.durableThrough < expected else {
            throw corrupt("the record claims to follow a sync of record \(frame.durableThrough)")
        }
        try place(kind, payload)
        lastSequence = expected
        lastKind = kind
        chain = frame.payloadChecksum
        if let remembered, remembered.sequence == expected {
            hasRememberedRecord = remembered.chain == chain && remembered.offset == end
        }
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

    /// Checks the order of the initial part: a schema, perhaps a snapshot, any commits, and the seal that ends it.
    private mutating func place(_ kind: Journal.RecordKind, _ payload: UnsafeRawBufferPointer) throws(GraphError) {
        switch (part, kind) {
        case (.beginning, .schema):
            guard SHA256.digest(Array(payload)) == header.schemaFingerprint else {
                throw corrupt("the schema is not the one that the header names")
            }
            part = .schema
        case (.beginning, _):
            throw corrupt("the first record is not a schema")
        case (.schema, .snapshotChunk) where header.hasCheckpoint:
            part = .snapshot
        case (.snapshot, .snapshotChunk):
            break
        case (.snapshot, .snapshotEnd):
            part = .snapshotEnded
        case (.snapshot, _), (_, .snapshotChunk), (_, .snapshotEnd):
            throw invalid("a record of the kind \(kind) in the wrong place")
        case (.schema, _) where header.hasCheckpoint:
            throw invalid("a record of the kind \(kind) instead of the checkpoint that the header names")
        case (.schema, .mark), (.snapshotEnded, .mark):
            part = .sealed
            sealSequence = lastSequence.next
        case (.schema, _), (.snapshotEnded, _), (.sealed, _):
            break
        }
    }

    /// Decides what the bytes from `offset` to the end of the file are.
    private mutating func finish(_ reason: String) throws(GraphError) -> JournalScan {
        let expected = lastSequence.next
        let rest = try examineRest(after: expected)
        let isClean = rest.end == offset
        guard part == .sealed else {
            throw corrupt(isClean ? "the file ends before its initial part does" : reason)
        }
        let known = max(rest.durableThrough, ends[lastKnown].sequence)
        guard isClean || known < expected else {
            let witness = rest.nextOffset.map { ", the next readable record is at \($0)" } ?? ""
            throw corrupt("\(reason), but it was durable (through \(known))\(witness)")
        }
        let restBytes = window.lengthBytes - offset
        guard restBytes <= JournalFormat.unfinishedLimitBytes else {
            throw corrupt(
                """
                \(reason), and the \(restBytes) bytes from here on are more than any unfinished write leaves; to go on \
                with the records before, cut a copy off here
                """)
        }
        return JournalScan(
            validEnd: offset,
            durableEnd: ends[lastKnown].end,
            lastSequence: lastSequence,
            chain: chain,
            tail: isClean ? .clean : .torn(end: rest.end, reason: "record \(expected): \(reason)"),
            lastKind: lastKind,
            agreement: try agreement(isClean ? "the file has nothing but zeros from here on" : reason),
            endsLikeAWriters: endsLikeAWriters)
    }

    /// Compares the file with its end in the lock file, which is never ahead of the durable records.
    private func agreement(_ reason: String) throws(GraphError) -> JournalScan.Agreement {
        guard let remembered else { return .unknown }
        guard remembered.sequence > lastSequence else {
            return hasRememberedRecord ? .same : .diverged(remembered)
        }
        // A program closed the file like this, so nothing is missing at its end: it is an earlier copy.
        if lastKind == .close, offset == window.lengthBytes { return .older(remembered) }
        throw corrupt(
            """
            \(reason), but the records up to \(remembered.sequence), which ends at byte \(remembered.offset), were durable, \
            says the lock file beside it; to go on with the records before, remove the lock file while no program has the \
            store open
            """)
    }

    private var endsLikeAWriters: Bool {
        JournalFormat.endsLikeAWriters(
            window.lengthBytes, behind: offset, isClosed: lastKind == .close || lastSequence == sealSequence)
    }

    private struct Rest {
        /// The position behind the last byte that is not zero.
        var end: UInt64
        /// The highest value in the headers of records after the expected one, and the position of the first such header. The
        /// search ends at the first that shows the expected record to have been durable.
        var durableThrough = JournalSequence.none
        var nextOffset: UInt64?
    }

    /// One pass over the rest of the file, up to the limit of an unfinished write, without its holes.
    ///
    /// It searches for headers at every byte: where bytes were lost or inserted, the records behind begin anywhere.
    private mutating func examineRest(after expected: JournalSequence) throws(GraphError) -> Rest {
        var rest = Rest(end: offset)
        let limit = offset + min(window.lengthBytes - offset, JournalFormat.unfinishedLimitBytes)
        var position = offset
        while let start = window.dataOffset(from: position), start < limit {
            position = max(start, position)
            let count = Int(min(UInt64(JournalWindow.pieceBytes), limit - position))
            let piece = try bytes(at: position, count: count)
            let reachesEnd = position + UInt64(count) == limit
            // Headers that reach into the next piece are found there.
            let starts = reachesEnd ? count : count - (JournalFormat.frameHeaderBytes - 1)
            examine(piece, at: position, starts: starts, after: expected, &rest)
            if rest.durableThrough >= expected { break }
            position += UInt64(starts)
        }
        return rest
    }

    /// Searches for headers that begin in the first bytes of a piece, eight bytes at a time.
    private func examine(
        _ piece: UnsafeRawBufferPointer, at position: UInt64, starts: Int, after expected: JournalSequence,
        _ rest: inout Rest
    ) {
        var index = 0
        while index < starts {
            defer { index += 8 }
            let word = Self.word(piece, at: index)
            guard word != 0 else { continue }
            let significantBytes = (64 - word.leadingZeroBitCount + 7) / 8
            rest.end = position + UInt64(index + significantBytes)
            guard Self.hasFirstByteOfMagic(word) else { continue }
            for start in index..<min(index + 8, starts) {
                guard
                    let frame = JournalFrame(UnsafeRawBufferPointer(rebasing: piece[start...]), salt: header.salt),
                    frame.sequence > expected
                else { continue }
                rest.durableThrough = max(rest.durableThrough, frame.durableThrough)
                rest.nextOffset = rest.nextOffset ?? (position + UInt64(start))
                if rest.durableThrough >= expected { return }
            }
        }
    }

    /// Whether one of eight bytes is the first one of a frame (Mycroft's test for a zero byte).
    private static func hasFirstByteOfMagic(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let difference = word ^ (ones &* UInt64(truncatingIfNeeded: JournalFormat.frameMagic & 0xFF))
        return (difference &- ones) & ~difference & (ones << 7) != 0
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
        .corrupt(path: path, offset: offset, sequence: lastSequence.next.number, reason: reason)
    }

    private func invalid(_ reason: String) -> GraphError {
        .invalidRecord(path: path, offset: offset, sequence: lastSequence.next.number, reason: reason)
    }
}
