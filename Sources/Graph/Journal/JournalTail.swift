/// A journal that a program may be writing, and the place up to which it was read.
///
/// Each record is checked as at opening: its checksums, its sequence, and that it follows the one before it. It says nothing
/// about what is durable.
struct JournalTail: Sendable {
    let header: JournalHeader
    let identity: FileIdentity
    /// Behind the last record that was read.
    private(set) var offset: UInt64
    private(set) var sequence: JournalSequence
    /// The payload checksum of that record.
    private(set) var chain: UInt32
    /// The last sequence that it says was durable when it was written.
    private(set) var durableThrough = JournalSequence.none
    private let file: any StoreFile
    let path: String

    /// - Parameter scan: of the records that were read; nil for none.
    init(
        file: any StoreFile, path: String, header: JournalHeader, headerChecksum: UInt32,
        behind scan: JournalScan? = nil
    ) throws(GraphError) {
        (self.file, self.path, self.header) = (file, path, header)
        offset = scan?.validEnd ?? JournalFormat.recordsOffset
        sequence = scan?.lastSequence ?? .none
        chain = scan?.chain ?? headerChecksum
        identity = try Self.extent(of: file, path).identity
    }

    /// The same file, of which nothing was read.
    var start: JournalTail {
        var start = self
        start.offset = JournalFormat.recordsOffset
        (start.sequence, start.chain) = (.none, JournalHeader.checksum(of: header.encoded()))
        return start
    }

    /// As far as it was read.
    var readFile: JournalFile { JournalFile(path: path, header: header, lengthBytes: offset, file: file) }

    /// Whether it was read up to an end that the lock file has.
    func isAt(_ end: JournalEnd) -> Bool { offset == end.offset && sequence == end.sequence && chain == end.chain }

    /// What the file has now.
    func window(pieceBytes: Int = JournalWindow.pieceBytes) throws(GraphError) -> JournalWindow {
        JournalWindow(file: file, lengthBytes: try Self.extent(of: file, path).lengthBytes, pieceBytes: pieceBytes)
    }

    enum Next {
        /// Its payload is valid until the window moves.
        case entry(JournalEntry)
        /// No record, or a part of one.
        case none(reason: String)
    }

    /// The next record, which is moved past.
    mutating func next(in window: inout JournalWindow) throws(GraphError) -> Next {
        let found: JournalWindow.Found
        guard offset < window.lengthBytes else { return .none(reason: "the file ends there") }
        do throws(IOError) {
            found = try window.record(at: offset, salt: header.salt)
        } catch {
            // A program has cut it since its length was read.
            if error.reason == .noProgress, error.code == 0 { return .none(reason: "the file ends there") }
            throw error.graphError(path: path)
        }
        switch found {
        case .bad(let reason): return .none(reason: reason)
        case .unknown(let reason): throw corrupt(reason)
        case .record(let frame, let kind, let payload, let end):
            guard frame.sequence == sequence.next, frame.chain == chain else {
                throw corrupt("the record does not follow the one before it")
            }
            defer { move(past: frame, to: end) }
            return .entry(
                JournalEntry(
                    kind: kind, sequence: frame.sequence, offset: offset, baseCommit: header.baseCommit,
                    fileBytes: window.lengthBytes, payload: payload))
        }
    }

    /// Passes over a record of the initial part without its payload, and returns what it is and the payload's first byte.
    mutating func passOver(
        in window: inout JournalWindow
    ) throws(GraphError) -> (kind: Journal.RecordKind, first: UInt8?) {
        let (kind, first, end) = try window.knownRecordHead(at: offset, salt: header.salt, path: path)
        do throws(IOError) {
            let bytes = try window.bytes(at: offset, count: JournalFormat.frameHeaderBytes)
            guard let frame = JournalFrame(bytes, salt: header.salt), frame.sequence == sequence.next,
                frame.chain == chain
            else { throw IOError(operation: .read, reason: .other, code: 0) }
            move(past: frame, to: end)
        } catch {
            throw corrupt("the record does not follow the one before it")
        }
        return (kind, first)
    }

    /// The end of what later records show to be durable, for those who may not read the lock file; nil if they show no more than
    /// was read.
    ///
    /// - Parameter isSealed: whether the initial part was read, which was durable before the file got its name.
    func shownEnd(isSealed: Bool = true) throws(GraphError) -> JournalEnd? {
        var (ahead, ends) = (self, [JournalEnd]())
        var seal: JournalSequence?
        var window = try window()
        // A record may be on its way.
        while case .entry(let entry)? = try? ahead.next(in: &window) {
            if !isSealed, seal == nil, entry.kind == .mark { seal = entry.sequence }
            ends.append(
                JournalEnd(
                    fileID: header.fileID, sequence: ahead.sequence, offset: ahead.offset, chain: ahead.chain,
                    isClosed: false))
        }
        let durable = max(ahead.durableThrough, seal ?? .none)
        return ends.last { $0.sequence <= durable }
    }

    func corrupt(_ reason: String) -> GraphError {
        .corrupt(path: path, offset: offset, sequence: sequence.next.number, reason: reason)
    }

    private mutating func move(past frame: JournalFrame, to end: UInt64) {
        (offset, sequence, chain) = (end, frame.sequence, frame.payloadChecksum)
        durableThrough = frame.durableThrough
    }

    private static func extent(of file: any StoreFile, _ path: String) throws(GraphError) -> FileExtent {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in try file.extent() }
        } catch {
            throw error.graphError(path: path)
        }
    }
}

extension JournalOpening {
    /// Opens a file without its lock; nothing of it is read but its header.
    func openTail(_ location: JournalLocation) throws(GraphError) -> JournalTail {
        let file = try openToRead(location)
        let status = try attempt(location.path) { () throws(IOError) in try file.status() }
        try Self.requireUsable(status, location.path, namesMatter: false)
        let (header, checksum, _) = try readHeader(file, status.lengthBytes, location, isReadOnly: true)
        return try JournalTail(file: file, path: location.text, header: header, headerChecksum: checksum)
    }

    /// What the lock file says is durable.
    func durableEnd(_ location: JournalLocation) -> DurableEnd {
        guard let file = try? fileSystem.openForReading(location.lockPath) else { return .unreadable }
        defer { file.close() }
        for _ in 0..<3 {
            if case .header? = try? JournalLock.content(of: file), let end = try? JournalEnd.read(from: file) {
                return .at(end)
            }
        }
        return .unknown
    }

    enum DurableEnd {
        case at(JournalEnd)
        /// It says none: a program is about to write it, or has not yet.
        case unknown
        /// It is another user's, or is not there.
        case unreadable
    }
}
