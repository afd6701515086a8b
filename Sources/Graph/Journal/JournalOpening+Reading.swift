/// A journal that was read and not opened.
struct JournalContents: Sendable {
    let path: String
    let storeID: StoreID
    let generation: UInt64
    /// The end of the last record that counts.
    let lengthBytes: UInt64
    let diagnostics: [StoreDiagnostic]
    /// Why no program can open the store until somebody removes the lock file; nil if one can.
    let lockRefusal: String?
    /// Where the records go on that a program adds.
    let tail: JournalTail
}

/// Reading a file without its lock. Nothing is created or changed, and a program may write the file meanwhile.
extension JournalOpening {
    /// So often reading begins again, if what a program writes meanwhile looks like damage each time in another place.
    private static let attemptLimit = 8

    /// Replays all that is durable: what a program is about to write may fail, and never have been in the store.
    ///
    /// - Throws: `.unusableFile` if there is no file, and what opening it throws, except for what concerns the lock.
    func read<State>(
        at path: String, into state: State,
        replay: (inout State, JournalEntry) throws(GraphError) -> Void,
        finish: (inout State) throws(GraphError) -> Void = { _ in }
    ) throws(GraphError) -> (JournalContents, State) {
        let location = try JournalLocation(resolving: path, in: fileSystem)
        var (attempts, last) = (1, "")
        while true {
            do throws(GraphError) {
                var (contents, result) = try readOnce(location, into: state, replay: replay)
                try finish(&result)
                return (contents, result)
            } catch {
                // What follows an unfinished record was perhaps written after that was read. Or a program has cut off a group
                // that did not fit on the disk, and written another one in its place.
                guard attempts < Self.attemptLimit else { throw error }
                switch error {
                // The file was cut off.
                case .inputOutput(_, _, 0): break
                case .corrupt where "\(error)" != last, .invalidRecord where "\(error)" != last: break
                default: throw error
                }
                (attempts, last) = (attempts + 1, "\(error)")
            }
        }
    }

    /// What is durable shows at the end. So the records are read twice, at first without a look at what they say.
    private func readOnce<State>(
        _ location: JournalLocation, into state: State,
        replay: (inout State, JournalEntry) throws(GraphError) -> Void
    ) throws(GraphError) -> (JournalContents, State) {
        // Before the file, which then has at least that.
        let (remembered, lockRefusal) = readLockFile(location)
        // Closed with the last reference.
        let file = try openToRead(location)
        // After the file, since a program may have made both meanwhile. It may be writing, whatever the lock file says.
        let hasLockFile = try statusIfExists(location.lockPath) != nil
        let status = try attempt(location.path) { () throws(IOError) in try file.status() }
        try Self.requireUsable(status, location.path, namesMatter: false)
        let (header, checksum, damagedCopy) = try readHeader(file, status.lengthBytes, location, isReadOnly: true)
        // A compaction may just have renamed it. What the lock file names has a durable name.
        if hasLockFile, remembered?.fileID != header.fileID {
            try? repeatingInterrupted { () throws(IOError) in try fileSystem.syncDirectory(location.directory) }
        }
        func reader(upTo lengthBytes: UInt64, _ remembered: JournalEnd?) -> JournalReader {
            JournalReader(
                file: file, header: header, headerChecksum: checksum, lengthBytes: lengthBytes, path: location.text,
                remembered: remembered)
        }
        var lastChange: UInt64 = 0
        let scan = try reader(upTo: status.lengthBytes, remembered).scan(into: &lastChange) { offset, entry in
            if entry.kind != .mark, entry.kind != .close { offset = entry.offset }
        }
        let end = hasLockFile ? scan.durableEnd(with: remembered) : scan.validEnd
        var result = state
        let durable = try reader(upTo: end, nil).scan(into: &result, replay: replay)
        var diagnostics = Self.diagnostics(of: status)
        // Beside a lock file somebody may be writing.
        diagnostics += Self.diagnostics(of: scan).filter { !hasLockFile || $0.kind != .unknownEnd }
        diagnostics += scan.unread(from: end, lastChange: lastChange).map { [$0] } ?? []
        if let damagedCopy {
            diagnostics.append(
                StoreDiagnostic(
                    .damagedHeader, at: damagedCopy.offset,
                    "the header's \(damagedCopy.name) copy is damaged; opening the file for writing repairs it"))
        }
        let contents = JournalContents(
            path: location.text, storeID: header.storeID, generation: header.generation, lengthBytes: end,
            diagnostics: diagnostics, lockRefusal: lockRefusal,
            tail: try JournalTail(
                file: file, path: location.text, header: header, headerChecksum: checksum, behind: durable))
        return (contents, result)
    }

    func openToRead(_ location: JournalLocation) throws(GraphError) -> any StoreFile {
        let missing = GraphError.unusableFile(
            path: location.text, reason: "there is no file")
        // Opening a device or a FIFO would do something to it.
        guard let status = try statusIfExists(location.path) else { throw missing }
        try Self.requireUsable(status, location.path, namesMatter: false)
        guard let file = try openIfExists(location.path, isReadOnly: true) else { throw missing }
        return file
    }

    /// The end in the lock file, nil if that says none or cannot be read; and why opening would refuse the lock file.
    func readLockFile(_ location: JournalLocation) -> (remembered: JournalEnd?, refusal: String?) {
        let opened = try? repeatingInterrupted { () throws(IOError) in
            try fileSystem.openForReading(location.lockPath)
        }
        guard let file = opened else { return (nil, nil) }
        defer { file.close() }
        guard let content = try? JournalLock.content(of: file) else { return (nil, nil) }
        if case .header = content { return (try? JournalEnd.read(from: file), nil) }
        return (nil, content.refusal(at: location.lockPath).map { "\($0)" })
    }
}

extension JournalScan {
    /// The end of the last record that is known to have been synced, by later records or by the end in the lock file.
    fileprivate func durableEnd(with remembered: JournalEnd?) -> UInt64 {
        guard agreement == .same, let remembered else { return durableEnd }
        return max(durableEnd, remembered.offset)
    }

    /// What is left out behind the durable records. Marks and a close record alone, which change nothing, are not worth a word.
    ///
    /// - Parameter lastChange: where the last other record begins.
    fileprivate func unread(from end: UInt64, lastChange: UInt64) -> StoreDiagnostic? {
        let last = if case .torn(let last, _) = tail { last } else { lastChange >= end ? validEnd : end }
        guard last > end else { return nil }
        return StoreDiagnostic(
            .unfinishedWrite, at: end,
            """
            \(last - end) bytes are left out: a write that is under way or unfinished, or one of which nobody knows whether \
            it is durable; opening the file for writing decides that
            """)
    }
}
