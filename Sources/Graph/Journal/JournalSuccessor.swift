/// Makes records one after the other.
protocol JournalRecordSource: Sendable {
    /// The next ones; nil after the last.
    mutating func next() throws(GraphError) -> [Journal.Record]?
}

/// The next generation of a journal, while it is being written beside the one in use.
///
/// It has a temporary name until everything in it is durable, so that a crash leaves one generation or the other, complete. Its
/// calls block on an executor of its own, so that groups go to the generation in use meanwhile.
actor JournalSuccessor {
    private nonisolated let executor: any SerialExecutor
    private(set) var generation: NextGeneration
    private let fileSystem: any StoreFileSystem
    private nonisolated let location: JournalLocation
    private var isAbandoned = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated var path: String { location.text }
    var end: UInt64 { generation.end }

    /// - Parameters:
    ///   - file: empty, locked, and of the temporary name.
    ///   - source: the generation in use.
    ///   - sourceOffset: the end of the last record whose contents the checkpoint has.
    init(
        _ header: JournalHeader, file: any StoreFile, at temporaryPath: StorePath, of location: JournalLocation,
        fileSystem: any StoreFileSystem, executor: any SerialExecutor,
        source: (file: any StoreFile, salt: UInt32)? = nil, sourceOffset: UInt64 = 0
    ) {
        (self.location, self.fileSystem, self.executor) = (location, fileSystem, executor)
        generation = NextGeneration(
            header, file: file, at: temporaryPath, path: location.text, source: source, sourceOffset: sourceOffset)
    }

    /// Appends records. Nothing is durable before `seal`.
    func append(_ records: [Journal.Record]) throws(GraphError) {
        try requireFile()
        try generation.append(records)
    }

    /// Appends all records of a source, which is read here. Nothing is durable before `seal`.
    ///
    /// - Returns: the source, of which everything was taken.
    func append<Source: JournalRecordSource>(contentsOf source: Source) throws(GraphError) -> Source {
        try requireFile()
        var source = source
        do throws(GraphError) {
            while let records = try source.next() {
                if Task.isCancelled { throw .cancelled }
                try generation.append(records)
            }
        } catch {
            if case .cancelled = error { throw .closed(path: path) }
            throw error
        }
        return source
    }

    /// Takes over the commits, schemas and consumers that the generation in use has up to an offset.
    func copyCommits(through offset: UInt64) throws(GraphError) {
        try requireFile()
        try generation.copyCommits(through: offset)
    }

    /// Makes everything so far durable, so that `seal` has little to sync.
    func sync() throws(GraphError) {
        try requireFile()
        try generation.sync()
    }

    /// Makes the temporary name durable: what would keep the folder from being synced after the renaming shows here, where it costs
    /// nothing, and no save waits.
    func syncName() throws(GraphError) {
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try fileSystem.syncDirectory(location.directory) }
        } catch {
            throw error.graphError(path: path)
        }
    }

    /// Ends the initial part and makes all of it durable.
    func seal(_ payload: [UInt8]) throws(GraphError) -> NextGeneration.Sealed {
        try requireFile()
        return try generation.seal(payload)
    }

    /// Closes the generation that was in use.
    func closeSource() { generation.closeSource() }

    /// Gives a sealed copy its name, and closes it.
    func place() throws(GraphError) {
        do throws(IOError) {
            try fileSystem.rename(generation.temporaryPath, to: location.path)
        } catch {
            // Some systems report an error although they have renamed.
            let own = try? generation.file.extent().identity
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
        generation.file.close()
    }

    /// Removes the file.
    func abandon() {
        guard !isAbandoned else { return }
        isAbandoned = true
        generation.file.close()
        try? fileSystem.unlink(generation.temporaryPath)
    }

    private func requireFile() throws(GraphError) {
        if isAbandoned { throw .closed(path: path) }
    }
}
