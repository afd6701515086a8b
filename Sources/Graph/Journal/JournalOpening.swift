/// Opens a journal file, or creates it: resolve the path, take the lock, then look at the file. All of it blocks.
struct JournalOpening {
    let fileSystem: any StoreFileSystem
    let options: JournalOptions

    /// Everything an open journal consists of.
    struct Opened: Sendable {
        let location: JournalLocation
        let header: JournalHeader
        let file: any StoreFile
        let lock: any StoreLock
        let writer: JournalWriter
        let wasCreated: Bool
        let diagnostics: [String]
    }

    /// Before the whole file is scanned and replayed and `finish` agrees, nothing is written but the lock file.
    func open<State>(
        at path: String, schema: [UInt8], seal: [UInt8], into state: inout State,
        replay: (inout State, JournalEntry) throws(GraphError) -> Void,
        finish: (inout State) throws(GraphError) -> [Journal.Record] = { _ in [] }
    ) throws(GraphError) -> Opened {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        let exists = try isUsable(location)
        let lock = try lock(location)
        do throws(GraphError) {
            // Before the lock was taken, somebody else may have created the file.
            if !exists, try !isUsable(location) {
                return try create(location, lock, schema: schema, seal: seal)
            }
            return try openExisting(location, lock, into: &state, replay: replay, finish: finish)
        } catch {
            lock.release()
            throw error
        }
    }

    private func lock(_ location: JournalLocation) throws(GraphError) -> any StoreLock {
        let outcome: LockOutcome
        do throws(IOError) {
            outcome = try fileSystem.lock(location.lockPath)
        } catch {
            throw error.graphError(path: location.path)
        }
        switch outcome {
        case .acquired(let lock): return lock
        case .held(let processID): throw .alreadyOpen(path: location.path, processID: processID)
        }
    }

    /// Whether there is a file; something else of that name is an error.
    private func isUsable(_ location: JournalLocation) throws(GraphError) -> Bool {
        let status: FileStatus
        do throws(IOError) {
            status = try fileSystem.status(location.path)
        } catch {
            if error.reason == .missing { return false }
            throw error.graphError(path: location.path)
        }
        try Self.requireUsable(status, location)
        return true
    }

    static func requireUsable(_ status: FileStatus, _ location: JournalLocation) throws(GraphError) {
        let reason: String
        switch status.kind {
        case .regular:
            if status.linkCount <= 1 { return }
            reason = "the file has \(status.linkCount) hard links"
        case .directory: reason = "a folder"
        case .symbolicLink: reason = "a symbolic link to nothing"
        case .other: reason = "a device, FIFO or socket"
        }
        throw .unusableFile(path: location.path, reason: reason)
    }
}
