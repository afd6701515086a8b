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
            try secondName(of: identity, location) != nil
        }
    }

    /// Whether there is a file; anything else with that name is an error.
    ///
    /// - Parameter mayHaveTwoNames: asked about a file with two names.
    func isUsable(
        _ path: StorePath, mayHaveTwoNames: (FileIdentity) throws(GraphError) -> Bool = { _ in false }
    ) throws(GraphError) -> Bool {
        guard let status = try statusIfExists(path) else { return false }
        if status.kind == .regular, status.linkCount == 2 {
            let extent = try attempt(path) { () throws(IOError) in try fileSystem.extent(path) }
            if try mayHaveTwoNames(extent.identity) { return true }
        }
        try Self.requireUsable(status, path)
        return true
    }

    /// The status of what has the name; nil if nothing has.
    func statusIfExists(_ path: StorePath) throws(GraphError) -> FileStatus? {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in try fileSystem.status(path) }
        } catch {
            if error.reason == .missing { return nil }
            throw error.graphError(path: path.text)
        }
    }

    // MARK: Files that a migration replaces

    /// The beginning of the name under which a migration keeps the file that it replaces.
    private static let keptSuffix = ".schema-"

    func keptPath(_ location: JournalLocation, generation: UInt64) -> StorePath {
        location.path.appending("\(Self.keptSuffix)\(generation)")
    }

    /// The second name of a file whose migration was interrupted before the new file took the first one: its kept name, or the
    /// temporary one before that.
    func secondName(of identity: FileIdentity, _ location: JournalLocation) throws(GraphError) -> StorePath? {
        let names = try attempt(location.path) { () throws(IOError) in try fileSystem.list(location.directory) }
        for name in names where keptGeneration(name, location) != nil || isTemporary(name, of: location) {
            let path = location.directory.appending(component: name)
            let extent = try? repeatingInterrupted { () throws(IOError) in try fileSystem.extent(path) }
            if extent?.identity == identity { return path }
        }
        return nil
    }

    /// Gives the journal a second name, by way of a temporary one: another file of that name stays until this one has it.
    func keep(_ location: JournalLocation, as kept: StorePath) throws(IOError) {
        let temporary = temporaryPath(location)
        try repeatingInterrupted { () throws(IOError) in try fileSystem.link(location.path, to: temporary) }
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in try fileSystem.rename(temporary, over: kept) }
        } catch {
            try? fileSystem.unlink(temporary)
            throw error
        }
    }

    /// Removes the files that earlier migrations of this store have kept, and no others: a file counts as one if it has the
    /// store's identifier, the generation that its name says, and nobody has it open. That may fail: it is no reason to refuse the
    /// store.
    func removeKept(_ location: JournalLocation, of storeID: StoreID, before generation: UInt64) {
        for name in (try? fileSystem.list(location.directory)) ?? [] {
            guard let number = keptGeneration(name, location), number < generation else { continue }
            let path = location.directory.appending(component: name)
            guard let file = try? fileSystem.open(path) else { continue }
            defer { file.close() }
            guard let length = try? file.extent().lengthBytes, length >= UInt64(JournalFormat.headerBytes) else {
                continue
            }
            var window = JournalWindow(file: file, lengthBytes: length)
            guard let bytes = try? window.bytes(at: 0, count: JournalFormat.headerBytes),
                case .valid(let header, _) = JournalHeader.decode(bytes), header.storeID == storeID,
                header.generation == number, (try? file.lock()) == true
            else { continue }
            try? fileSystem.unlink(path)
        }
    }

    /// The generation that a kept file's name says; nil for any other name.
    private func keptGeneration(_ name: StorePath, _ location: JournalLocation) -> UInt64? {
        guard let digits = name.suffix(after: location.name.appending(Self.keptSuffix)), digits.first != 0x30 else {
            return nil
        }
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self))
    }

    /// - Parameter namesMatter: whether a file with several names is refused: renaming it would divide them.
    static func requireUsable(
        _ status: FileStatus, _ path: StorePath, namesMatter: Bool = true
    ) throws(GraphError) {
        let reason: String
        switch status.kind {
        case .regular:
            if status.linkCount <= 1 || !namesMatter { return }
            reason = "the file has \(status.linkCount) hard links: remove the others, or open a copy of it"
        case .directory: reason = "this is a folder: name a file"
        case .symbolicLink: reason = "this is a symbolic link to nothing: remove it, or correct where it leads"
        case .other: reason = "this is a device, FIFO or socket: name a regular file"
        }
        throw .unusableFile(path: path.text, reason: reason)
    }

    func openIfExists(_ path: StorePath, isReadOnly: Bool = false) throws(GraphError) -> (any StoreFile)? {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in
                isReadOnly ? try fileSystem.openForReading(path) : try fileSystem.open(path)
            }
        } catch {
            switch error.reason {
            case .missing: return nil
            case .symbolicLink:
                throw .unusableFile(path: path.text, reason: "a symbolic link took the file's place; open it again")
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
