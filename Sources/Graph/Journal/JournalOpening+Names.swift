/// Shared by opening the journal and opening its lock file.
extension JournalOpening {
    /// Repeats an interrupted call, and reports every other failure.
    func attempt<Result>(_ path: StorePath, _ body: () throws(IOError) -> Result) throws(GraphError) -> Result {
        do throws(IOError) {
            return try repeatingInterrupted(body)
        } catch {
            throw error.graphError(path: path.text)
        }
    }

    /// Whether there is a file; anything else with that name is an error.
    func isUsable(_ path: StorePath) throws(GraphError) -> Bool {
        let status: FileStatus
        do throws(IOError) {
            status = try repeatingInterrupted { () throws(IOError) in try fileSystem.status(path) }
        } catch {
            if error.reason == .missing { return false }
            throw error.graphError(path: path.text)
        }
        try Self.requireUsable(status, path)
        return true
    }

    static func requireUsable(_ status: FileStatus, _ path: StorePath) throws(GraphError) {
        let reason: String
        switch status.kind {
        case .regular:
            if status.linkCount <= 1 { return }
            reason = "the file has \(status.linkCount) hard links"
        case .directory: reason = "a folder"
        case .symbolicLink: reason = "a symbolic link to nothing"
        case .other: reason = "a device, FIFO or socket"
        }
        throw .unusableFile(path: path.text, reason: reason)
    }

    func openIfExists(_ path: StorePath) throws(GraphError) -> (any StoreFile)? {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in try fileSystem.open(path) }
        } catch {
            switch error.reason {
            case .missing: return nil
            case .symbolicLink: throw .unusableFile(path: path.text, reason: "a symbolic link")
            default: throw error.graphError(path: path.text)
            }
        }
    }

    /// The file's identity; nil if the name does not lead to it any more.
    func identity(of file: any StoreFile, at path: StorePath) throws(GraphError) -> FileIdentity? {
        let identity = try attempt(path) { () throws(IOError) in try file.extent().identity }
        do throws(IOError) {
            let extent = try repeatingInterrupted { () throws(IOError) in try fileSystem.extent(path) }
            return extent.identity == identity ? identity : nil
        } catch {
            if error.reason == .missing { return nil }
            throw error.graphError(path: path.text)
        }
    }

    /// The names of an open and locked journal and of its lock file, with the files that they must lead to from now on.
    func names(
        of file: any StoreFile, _ location: JournalLocation, _ lock: JournalLock
    ) throws(GraphError) -> JournalNames {
        guard let identity = try identity(of: file, at: location.path) else {
            throw .unusableFile(
                path: location.text, reason: "somebody moved or replaced the file meanwhile; open it again")
        }
        return JournalNames(
            fileSystem: fileSystem, journal: JournalName(path: location.path, identity: identity), lock: lock.name)
    }
}
