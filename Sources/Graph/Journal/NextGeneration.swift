/// What a file has that is to be the next generation of a journal, and how it gets more.
///
/// `JournalSuccessor` writes it beside the groups of the generation in use. At the end the journal itself takes it over, to write the
/// last commits and seal it on its own executor: saves wait for that, and each change of threads would add to it.
struct NextGeneration: Sendable {
    /// What the generation in use has to know to go on with this one.
    struct Sealed: Sendable {
        let header: JournalHeader
        let file: any StoreFile
        let temporaryPath: StorePath
        let end: UInt64
        let lastSequence: JournalSequence
        let chain: UInt32
        let longestSync: Duration
    }

    /// After so many bytes a sync: one sync of everything would keep the disk from the groups that are written meanwhile.
    private static let syncIntervalBytes = 8 << 20

    let file: any StoreFile
    let temporaryPath: StorePath
    private let header: JournalHeader
    private let path: String
    private(set) var end = JournalFormat.recordsOffset
    private var lastSequence = JournalSequence.none
    private var chain: UInt32
    private var unsyncedBytes = 0
    private var syncTimes = SyncTimes()
    /// The generation in use, and up to where its commits are here; nil for a copy, which takes none over.
    private let source: (file: any StoreFile, salt: UInt32)?
    private var sourceOffset: UInt64

    init(
        _ header: JournalHeader, file: any StoreFile, at temporaryPath: StorePath, path: String,
        source: (file: any StoreFile, salt: UInt32)?, sourceOffset: UInt64
    ) {
        (self.header, self.file, self.temporaryPath, self.path) = (header, file, temporaryPath, path)
        (self.source, self.sourceOffset) = (source, sourceOffset)
        chain = JournalHeader.checksum(of: header.encoded())
    }

    /// Appends records. Nothing is durable before `seal`.
    mutating func append(_ records: [Journal.Record]) throws(GraphError) {
        var bytes = ByteWriter(
            capacity: records.reduce(0) { $0 + JournalFormat.frameBytes(payloadBytes: $1.payload.count) })
        for record in records {
            guard record.payload.count <= JournalFormat.payloadLimitBytes else {
                throw .transactionTooLarge(
                    lengthBytes: record.payload.count, limitBytes: JournalFormat.payloadLimitBytes)
            }
            lastSequence = lastSequence.next
            chain = JournalFrame.append(
                record, sequence: lastSequence, durableThrough: .none, chain: chain, salt: header.salt, to: &bytes)
        }
        try attempt { next throws(IOError) in
            try next.file.writeFully(bytes.bytes, at: next.end)
            next.unsyncedBytes += bytes.count
            if next.unsyncedBytes >= Self.syncIntervalBytes { try next.syncData() }
        }
        end += UInt64(bytes.count)
    }

    /// Takes over the commits, schemas and consumers that the generation in use has up to an offset.
    mutating func copyCommits(through offset: UInt64) throws(GraphError) {
        guard let source else { return }
        var window = JournalWindow(file: source.file, lengthBytes: offset)
        var (records, bytes): ([Journal.Record], Int) = ([], 0)
        while sourceOffset < offset {
            let record: Journal.Record?
            (record, sourceOffset) = try self.record(at: sourceOffset, in: &window, salt: source.salt)
            guard let record else { continue }
            records.append(record)
            bytes += record.payload.count
            // In pieces, not commit by commit: saves may be waiting.
            guard bytes >= JournalWindow.pieceBytes else { continue }
            try append(records)
            (records, bytes) = ([], 0)
        }
        if !records.isEmpty { try append(records) }
    }

    /// Makes everything so far durable, so that `seal` has little to sync.
    mutating func sync() throws(GraphError) {
        try attempt { next throws(IOError) in try next.syncData() }
    }

    /// Ends the initial part and makes all of it durable.
    mutating func seal(_ payload: [UInt8]) throws(GraphError) -> Sealed {
        try append([Journal.Record(kind: .mark, payload: payload)])
        let bytes = header.encoded()
        try attempt { next throws(IOError) in
            try next.file.writeFully(bytes + bytes, at: 0)
            let start = ContinuousClock.now
            try next.file.sync()
            next.syncTimes.add(ContinuousClock.now - start)
        }
        return Sealed(
            header: header, file: file, temporaryPath: temporaryPath, end: end, lastSequence: lastSequence,
            chain: chain,
            longestSync: syncTimes.longest
        )
    }

    /// Takes over the last commits, up to an offset, and seals.
    mutating func finish(_ payload: [UInt8], through offset: UInt64) throws(GraphError) -> Sealed {
        try copyCommits(through: offset)
        return try seal(payload)
    }

    /// Closes the generation that was in use. Its name is gone, so the disk frees its blocks, which takes a while.
    func closeSource() { source?.file.close() }

    /// Reads a record of the generation in use; nil for a mark. What is read was written by this program, and is checked
    /// like everything that comes from a disk.
    private func record(
        at offset: UInt64, in window: inout JournalWindow, salt: UInt32
    ) throws(GraphError) -> (Journal.Record?, end: UInt64) {
        let (kind, payload, end) = try window.knownRecord(at: offset, salt: salt, path: path, "while compacting")
        guard kind == .commit || kind == .schema || kind == .consumer else { return (nil, end) }
        return (Journal.Record(kind: kind, payload: Array(payload)), end)
    }

    private mutating func syncData() throws(IOError) {
        let start = ContinuousClock.now
        try file.dataSync()
        syncTimes.add(ContinuousClock.now - start)
        unsyncedBytes = 0
    }

    /// Whatever fails, an interrupted sync included, the caller abandons the file.
    private mutating func attempt(
        _ body: (inout NextGeneration) throws(IOError) -> Void
    ) throws(GraphError) {
        do throws(IOError) {
            try body(&self)
        } catch {
            throw error.graphError(path: path)
        }
    }
}
