/// Opens a journal file, or creates it: resolve the path, take the lock, then read the file. All of it blocks.
struct JournalOpening {
    let fileSystem: any StoreFileSystem
    let options: JournalOptions

    /// The parts of an open journal.
    struct Opened: Sendable {
        let location: JournalLocation
        let header: JournalHeader
        let file: any StoreFile
        let lock: JournalLock
        let writer: JournalWriter
        let wasCreated: Bool
        let diagnostics: [StoreDiagnostic]
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
            // Another opener may have created the file before the lock was taken.
            if !exists, try !isUsable(location) {
                return try create(location, lock, schema: schema, seal: seal)
            }
            return try openExisting(location, lock, into: &state, replay: replay, finish: finish)
        } catch {
            lock.file.close()
            throw error
        }
    }
}
