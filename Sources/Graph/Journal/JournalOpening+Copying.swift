/// Making a copy of a store, and removing one.
extension JournalOpening {
    /// Begins a file that gets its name when it is complete.
    ///
    /// - Parameter schema: The payload of record 1.
    /// - Throws: `.unusableFile` if anything has the name.
    func makeCopy(
        at path: String, of storeID: StoreID, schema: [UInt8], baseCommit: CommitNumber, executor: any SerialExecutor
    ) throws(GraphError) -> JournalSuccessor {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        var isTaken = true
        do throws(IOError) {
            _ = try repeatingInterrupted { () throws(IOError) in try fileSystem.status(location.path) }
        } catch {
            guard error.reason == .missing else { throw error.graphError(path: location.text) }
            isTaken = false
        }
        guard !isTaken else { throw .nameIsTaken(location.text) }
        let header = JournalHeader(
            storeID: storeID, fileID: StoreID(random: options.random), generation: 1, baseCommit: baseCommit,
            previousFileChain: 0, schemaFingerprint: SHA256.digest(schema),
            createdNanoseconds: options.nanosecondsSince1970(), hasCheckpoint: true)
        let (file, temporaryPath) = try makeTemporaryFile(location)
        return JournalSuccessor(
            header, file: file, at: temporaryPath, of: location, fileSystem: fileSystem, executor: executor)
    }

    /// Removes a store, with the files beside it that belong to it. An interruption leaves all of the store, or nothing that
    /// opens.
    ///
    /// - Throws: `.unusableFile` if there is no file; `.notAStore`; `.alreadyOpen`.
    func remove(_ path: String) throws(GraphError) {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        let missing = GraphError.unusableFile(path: location.text, reason: "there is no file")
        guard try isUsable(location) else { throw missing }
        let lock = try lock(location)
        defer { lock.file.close() }
        guard let file = try openIfExists(location.path) else { throw missing }
        defer { file.close() }
        guard try attempt(location.path, { () throws(IOError) in try file.lock() }) else {
            throw .alreadyOpen(path: location.text, processID: nil)
        }
        let lengthBytes = try attempt(location.path) { () throws(IOError) in try file.extent().lengthBytes }
        do throws(GraphError) {
            let storeID = try readHeader(file, lengthBytes, location).0.storeID
            removeKept(location, of: storeID, before: .max)
        } catch {
            // A damaged store can be removed, and so can one of a newer version.
            if case .notAStore = error { throw error }
        }
        removeLeftovers(location)
        JournalRecovery(fileSystem: fileSystem, path: location.path, directory: location.directory).removeCopies()
        for path in [location.path, location.lockPath] {
            try attempt(path) { () throws(IOError) in try fileSystem.unlink(path) }
        }
        try attempt(location.path) { () throws(IOError) in try fileSystem.syncDirectory(location.directory) }
    }
}

extension GraphError {
    static func nameIsTaken(_ path: String) -> GraphError {
        .unusableFile(path: path, reason: "there is something of that name, which a copy does not replace")
    }
}
