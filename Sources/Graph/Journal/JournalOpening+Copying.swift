/// Making a copy of a store, and removing one.
extension JournalOpening {
    /// Where a new file is to be.
    ///
    /// - Throws: `.unusableFile` if anything has the name.
    func freeLocation(_ path: String) throws(GraphError) -> JournalLocation {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        guard try statusIfExists(location.path) == nil else { throw .nameIsTaken(location.text) }
        return location
    }

    /// Begins a file that gets its name when it is complete. It is locked, so that nobody opens it before it is closed.
    ///
    /// - Parameter schema: The payload of record 1.
    /// - Throws: `.unusableFile` if anything has the name.
    func makeCopy(
        at path: String, of storeID: StoreID, schema: [UInt8], baseCommit: CommitNumber, executor: any SerialExecutor
    ) throws(GraphError) -> JournalSuccessor {
        let location = try freeLocation(path)
        let header = JournalHeader(
            storeID: storeID, fileID: StoreID(random: options.random), generation: 1, baseCommit: baseCommit,
            previousFileChain: 0, schemaFingerprint: SHA256.digest(schema),
            createdNanoseconds: options.nanosecondsSince1970(), hasCheckpoint: true)
        let (file, temporaryPath) = try makeTemporaryFile(location)
        do throws(IOError) {
            try lock(file)
        } catch {
            file.close()
            try? fileSystem.unlink(temporaryPath)
            throw error.graphError(path: location.text)
        }
        return JournalSuccessor(
            header, file: file, at: temporaryPath, of: location, fileSystem: fileSystem, executor: executor)
    }

    /// Removes a store, with the files beside it that belong to it. An interruption leaves all of the store, or nothing that
    /// opens.
    ///
    /// - Throws: `.unusableFile` if there is no file; `.notAStore`; `.alreadyOpen`.
    func remove(_ path: String) throws(GraphError) {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        let missing = GraphError.unusableFile(
            path: location.text, reason: "there is no file")
        guard try isUsable(location), let unlocked = try openIfExists(location.path, isReadOnly: true) else {
            throw missing
        }
        defer { unlocked.close() }
        // Beside a file that is no store not even a lock file is made.
        _ = try storeID(of: unlocked, location)
        let lock = try lock(location)
        defer { lock.file.close() }
        guard let file = try openIfExists(location.path) else { throw missing }
        defer { file.close() }
        guard try attempt(location.path, { () throws(IOError) in try file.lock() }) else {
            throw .alreadyOpen(path: location.text, processID: nil)
        }
        let (_, secondName) = try status(of: file, location)
        if let storeID = try storeID(of: file, location) { removeKept(location, of: storeID, before: .max) }
        removeLeftovers(location)
        JournalRecovery(fileSystem: fileSystem, path: location.path, directory: location.directory).removeCopies()
        if let secondName { try? fileSystem.unlink(secondName) }
        // That it is still the file that was looked at.
        _ = try names(of: file, location, lock)
        try attempt(location.path) { () throws(IOError) in try fileSystem.unlink(location.path) }
        try attempt(location.path) { () throws(IOError) in try fileSystem.syncDirectory(location.directory) }
        // A lock file that stays does no harm.
        try? fileSystem.unlink(location.lockPath)
    }

    /// nil if the store is damaged, or of a newer version.
    private func storeID(of file: any StoreFile, _ location: JournalLocation) throws(GraphError) -> StoreID? {
        let lengthBytes = try attempt(location.path) { () throws(IOError) in try file.extent().lengthBytes }
        do throws(GraphError) {
            return try readHeader(file, lengthBytes, location, isReadOnly: true).0.storeID
        } catch {
            switch error {
            case .corrupt, .unsupportedVersion: return nil
            default: throw error
            }
        }
    }
}

extension GraphError {
    static func nameIsTaken(_ path: String) -> GraphError {
        .unusableFile(
            path: path, reason: "something has this name already, and a copy replaces nothing: choose another name")
    }
}
