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

    /// Whether there is a journal; anything else with that name is an error.
    func isUsable(_ location: JournalLocation) throws(GraphError) -> Bool {
        try isUsable(location.path) { (identity) throws(GraphError) in
            try keptName(of: identity, location) != nil
        }
    }

    /// Whether there is a file; anything else with that name is an error.
    ///
    /// - Parameter mayHaveTwoNames: asked about a file with two names.
    func isUsable(
        _ path: StorePath, mayHaveTwoNames: (FileIdentity) throws(GraphError) -> Bool = { _ in false }
    ) throws(GraphError) -> Bool {
        let status: FileStatus
        do throws(IOError) {
            status = try repeatingInterrupted { () throws(IOError) in try fileSystem.status(path) }
        } catch {
            if error.reason == .missing { return false }
            throw error.graphError(path: path.text)
        }
        if status.kind == .regular, status.linkCount == 2 {
            let extent = try attempt(path) { () throws(IOError) in try fileSystem.extent(path) }
            if try mayHaveTwoNames(extent.identity) { return true }
        }
        try Self.requireUsable(status, path)
        return true
    }

    // MARK: Files that a migration replaces

    /// The beginning of the name under which a migration keeps the file that it replaces.
    private static let keptSuffix = ".schema-"

    func keptPath(_ location: JournalLocation, generation: UInt64) -> StorePath {
        location.path.appending("\(Self.keptSuffix)\(generation)")
    }

    /// The names of files that migrations have replaced.
    private func keptNames(_ location: JournalLocation) throws(GraphError) -> [StorePath] {
        let prefix = location.name.appending(Self.keptSuffix)
        return try attempt(location.path) { () throws(IOError) in try fileSystem.list(location.directory) }
            .filter { name in
                guard let number = name.suffix(after: prefix) else { return false }
                return !number.isEmpty && number.allSatisfy { (0x30...0x39).contains($0) }
            }
    }

    /// The second name of a file whose migration was interrupted before the new file took the first one.
    func keptName(of identity: FileIdentity, _ location: JournalLocation) throws(GraphError) -> StorePath? {
        for name in try keptNames(location) {
            let path = location.directory.appending(component: name)
            if let extent = try? fileSystem.extent(path), extent.identity == identity { return path }
        }
        return nil
    }

    /// Gives the journal a second name. Another file of that name is that of an earlier migration, from a copy that was put back.
    func keep(_ location: JournalLocation, as kept: StorePath) throws(IOError) {
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try fileSystem.link(location.path, to: kept) }
        } catch {
            guard error.reason == .exists else { throw error }
            try repeatingInterrupted { () throws(IOError) in try fileSystem.unlink(kept) }
            try repeatingInterrupted { () throws(IOError) in try fileSystem.link(location.path, to: kept) }
        }
    }

    /// Removes the files that earlier migrations have kept. That may fail: it is no reason to refuse the store.
    func removeKept(_ location: JournalLocation, except kept: StorePath) {
        for name in (try? keptNames(location)) ?? [] {
            let path = location.directory.appending(component: name)
            if path != kept { try? fileSystem.unlink(path) }
        }
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
