/// A journal that was read and not opened.
struct JournalContents: Sendable {
    let path: String
    let storeID: StoreID
    let generation: UInt64
    /// The end of the last record.
    let lengthBytes: UInt64
    let diagnostics: [StoreDiagnostic]
}

/// Reading a file without its lock. Nothing is created or changed, and a program may write the file meanwhile.
extension JournalOpening {
    /// So often reading begins again, if what a program writes meanwhile looks like damage each time in another place.
    private static let attemptLimit = 8

    /// Replays all that is durable.
    ///
    /// - Throws: `.unusableFile` if there is no file, and what opening it throws, except for what concerns the lock.
    func read<State>(
        at path: String, into state: State,
        replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) -> (JournalContents, State) {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        var (attempts, last) = (1, "")
        while true {
            do throws(GraphError) {
                return try readOnce(location, into: state, replay: replay)
            } catch {
                // What follows an unfinished record was perhaps written after that was read. Or a program has cut off a group
                // that did not fit on the disk, and written another one in its place.
                switch error {
                case .corrupt, .invalidRecord, .inputOutput: break
                default: throw error
                }
                guard "\(error)" != last, attempts < Self.attemptLimit else { throw error }
                (attempts, last) = (attempts + 1, "\(error)")
            }
        }
    }

    private func readOnce<State>(
        _ location: JournalLocation, into state: State,
        replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) -> (JournalContents, State) {
        // Before the file, which then has at least that.
        let (hasLockFile, remembered) = rememberedEnd(location)
        let file = try openForReading(location)
        defer { file.close() }
        var status = try attempt(location.path) { () throws(IOError) in try file.status() }
        // Several names matter only to who writes.
        status.linkCount = 1
        try Self.requireUsable(status, location.path)
        let (header, checksum, damagedCopy) = try readHeader(file, status.lengthBytes, location)
        let reader = JournalReader(
            file: file, header: header, headerChecksum: checksum, lengthBytes: status.lengthBytes, path: location.text,
            remembered: remembered)
        let remembersThis = remembered?.fileID == header.fileID
        var durable = DurableReplay(
            state: state,
            rememberedSequence: hasLockFile ? remembersThis ? remembered?.sequence : JournalSequence.none : nil)
        let scan = try reader.scan(into: &durable) { (durable: inout _, entry) throws(GraphError) in
            try durable.take(entry, replay)
        }
        var diagnostics = Self.diagnostics(of: scan)
        if case .torn(let end, let reason) = scan.tail {
            diagnostics.append(
                StoreDiagnostic(
                    .unfinishedWrite, at: scan.validEnd,
                    "\(end - scan.validEnd) bytes of a write that is unfinished, or under way, are left out (\(reason))"
                ))
        }
        if let damagedCopy {
            diagnostics.append(
                StoreDiagnostic(
                    .damagedHeader, at: damagedCopy.offset,
                    "the header's \(damagedCopy.name) copy is damaged; opening the file for writing repairs it"))
        }
        let contents = JournalContents(
            path: location.text, storeID: header.storeID, generation: header.generation, lengthBytes: scan.validEnd,
            diagnostics: diagnostics)
        return (contents, durable.state)
    }

    private func openForReading(_ location: JournalLocation) throws(GraphError) -> any StoreFile {
        do throws(IOError) {
            return try repeatingInterrupted { () throws(IOError) in try fileSystem.openForReading(location.path) }
        } catch {
            switch error.reason {
            case .missing: throw .unusableFile(path: location.text, reason: "there is no file")
            case .symbolicLink: throw .unusableFile(path: location.text, reason: "a symbolic link")
            default: throw error.graphError(path: location.text)
            }
        }
    }

    /// The end in the lock file, and whether there is one that can be read.
    private func rememberedEnd(_ location: JournalLocation) -> (hasLockFile: Bool, end: JournalEnd?) {
        guard let file = try? fileSystem.openForReading(location.lockPath) else { return (false, nil) }
        defer { file.close() }
        guard case .header = try? JournalLock.content(of: file) else { return (false, nil) }
        return (true, try? JournalEnd.read(from: file))
    }
}

/// A replay that waits with each record until it is known to be durable: what a program is about to write may fail, and never
/// have been in the store.
///
/// The lock file remembers the end of the last group. Without one the file is a copy that nobody writes, and all of it counts.
private struct DurableReplay<State> {
    private struct Waiting {
        /// Its payload is gone.
        let entry: JournalEntry
        let payload: [UInt8]
    }

    var state: State
    /// nil without a lock file.
    private let rememberedSequence: JournalSequence?
    /// Whether the initial part is over, which was synced before the file got its name.
    private var isSealed = false
    private var waiting: [Waiting] = []

    init(state: State, rememberedSequence: JournalSequence?) {
        (self.state, self.rememberedSequence) = (state, rememberedSequence)
    }

    mutating func take(
        _ entry: JournalEntry, _ replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) {
        guard isSealed, let rememberedSequence else {
            isSealed = isSealed || entry.kind == .mark
            return try replay(&state, entry)
        }
        let durable = max(rememberedSequence, entry.durableThrough)
        for record in waiting.prefix(while: { $0.entry.sequence <= durable }) {
            try record.payload.withUnsafeBufferPointer { bytes throws(GraphError) in
                try replay(&state, record.entry.at(UnsafeRawBufferPointer(bytes)))
            }
        }
        waiting.removeAll { $0.entry.sequence <= durable }
        if entry.sequence <= durable {
            try replay(&state, entry)
        } else {
            waiting.append(Waiting(entry: entry, payload: Array(entry.payload)))
        }
    }
}
