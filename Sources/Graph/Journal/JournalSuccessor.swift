/// The next generation of a journal, while it is being written beside the one in use.
///
/// It has a temporary name until everything in it is durable, so that a crash leaves one generation or the other, complete. Its
/// calls block on an executor of its own, so that groups go to the generation in use meanwhile.
actor JournalSuccessor {
    /// What the generation in use has to know to go on with this one.
    struct Sealed: Sendable {
        let header: JournalHeader
        let file: any StoreFile
        let temporaryPath: StorePath
        let end: UInt64
        let lastSequence: JournalSequence
        let chain: UInt32
    }

    /// After so many bytes a sync: one sync of everything would keep the disk from the groups that are written meanwhile.
    private static let syncIntervalBytes = 8 << 20

    private nonisolated let executor: any SerialExecutor
    private let header: JournalHeader
    private let file: any StoreFile
    private let temporaryPath: StorePath
    private let fileSystem: any StoreFileSystem
    private nonisolated let location: JournalLocation
    private(set) var end: UInt64
    private var lastSequence = JournalSequence.none
    private var chain: UInt32
    private var unsyncedBytes = 0
    private var isAbandoned = false
    /// The generation in use, and up to where its commits are here; nil for a copy, which takes none over.
    private let source: (file: any StoreFile, salt: UInt32)?
    private(set) var sourceOffset: UInt64

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated var path: String { location.text }

    /// - Parameters:
    ///   - file: empty, locked, and of the temporary name.
    ///   - source: the generation in use.
    ///   - sourceOffset: the end of the last record whose contents the checkpoint has.
    init(
        _ header: JournalHeader, file: any StoreFile, at temporaryPath: StorePath, of location: JournalLocation,
        fileSystem: any StoreFileSystem, executor: any SerialExecutor,
        source: (file: any StoreFile, salt: UInt32)? = nil, sourceOffset: UInt64 = 0
    ) {
        let bytes = header.encoded()
        (self.header, self.file, self.temporaryPath, self.location) = (header, file, temporaryPath, location)
        (self.fileSystem, self.executor) = (fileSystem, executor)
        (self.source, self.sourceOffset) = (source, sourceOffset)
        end = JournalFormat.recordsOffset
        chain = JournalHeader.checksum(of: bytes)
    }

    /// Appends records. Nothing is durable before `seal`.
    func append(_ records: [Journal.Record]) throws(GraphError) {
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
        try attempt { () throws(IOError) in
            try file.writeFully(bytes.bytes, at: end)
            unsyncedBytes += bytes.count
            if unsyncedBytes >= Self.syncIntervalBytes { try syncData() }
        }
        end += UInt64(bytes.count)
    }

    /// Takes over the commits and schemas that the generation in use has up to an offset.
    func copyCommits(through offset: UInt64) throws(GraphError) {
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
    func sync() throws(GraphError) {
        try attempt { () throws(IOError) in try syncData() }
    }

    /// Ends the initial part and makes all of it durable.
    func seal(_ payload: [UInt8]) throws(GraphError) -> Sealed {
        try append([Journal.Record(kind: .mark, payload: payload)])
        let bytes = header.encoded()
        try attempt { () throws(IOError) in
            try file.writeFully(bytes + bytes, at: 0)
            try file.sync()
        }
        return Sealed(
            header: header, file: file, temporaryPath: temporaryPath, end: end, lastSequence: lastSequence, chain: chain
        )
    }

    /// Gives a sealed copy its name, and closes it.
    func place() throws(GraphError) {
        do throws(IOError) {
            try fileSystem.rename(temporaryPath, to: location.path)
        } catch {
            // Some systems report an error although they have renamed.
            let own = try? file.extent().identity
            let found = try? fileSystem.extent(location.path).identity
            guard let found, found == own else {
                // A program that has made a store of that name has removed the temporary file.
                throw error.reason == .exists || found != nil ? .nameIsTaken(path) : error.graphError(path: path)
            }
            try? fileSystem.unlink(location.path)
            throw error.graphError(path: path)
        }
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try fileSystem.syncDirectory(location.directory) }
        } catch {
            // Nobody knows whether a power cut leaves the name.
            try? fileSystem.unlink(location.path)
            throw error.graphError(path: path)
        }
        file.close()
    }

    /// Removes the file.
    func abandon() {
        guard !isAbandoned else { return }
        isAbandoned = true
        file.close()
        try? fileSystem.unlink(temporaryPath)
    }

    /// Reads a record of the generation in use; nil for a mark. What is read was written by this program, and is checked
    /// like everything that comes from a disk.
    private func record(
        at offset: UInt64, in window: inout JournalWindow, salt: UInt32
    ) throws(GraphError) -> (Journal.Record?, end: UInt64) {
        let found: JournalWindow.Found
        do throws(IOError) {
            found = try window.record(at: offset, salt: salt)
        } catch {
            throw error.graphError(path: path)
        }
        switch found {
        case .record(_, let kind, let payload, let end) where kind == .commit || kind == .schema:
            return (Journal.Record(kind: kind, payload: Array(payload)), end)
        case .record(_, _, _, let end):
            return (nil, end)
        case .bad(let reason), .unknown(let reason):
            throw .corrupt(path: path, offset: offset, sequence: 0, reason: "while compacting: \(reason)")
        }
    }

    private func syncData() throws(IOError) {
        try file.dataSync()
        unsyncedBytes = 0
    }

    /// Whatever fails, an interrupted sync included, the caller abandons the file.
    private func attempt(_ body: () throws(IOError) -> Void) throws(GraphError) {
        guard !isAbandoned else { throw .closed(path: path) }
        do throws(IOError) {
            try body()
        } catch {
            throw error.graphError(path: path)
        }
    }
}
