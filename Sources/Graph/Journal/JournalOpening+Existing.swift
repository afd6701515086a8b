extension JournalOpening {
    func openExisting<State>(
        _ location: JournalLocation, _ lock: JournalLock, into state: inout State,
        replay: (inout State, JournalEntry) throws(GraphError) -> Void,
        finish: (inout State) throws(GraphError) -> [Journal.Record]
    ) throws(GraphError) -> Opened {
        guard let file = try openIfExists(location.path) else {
            throw .unusableFile(path: location.text, reason: "somebody removed the file meanwhile; open it again")
        }
        do throws(GraphError) {
            // Another program has it by another name, or has had it since before its lock file was removed.
            guard try attempt(location.path, { () throws(IOError) in try file.lock() }) else {
                throw .alreadyOpen(path: location.text, processID: nil)
            }
            let status = try attempt(location.path) { () throws(IOError) in try file.status() }
            try Self.requireUsable(status, location.path)
            let names = try names(of: file, location, lock)
            var (header, checksum, diagnostics) = try readHeader(file, status.lengthBytes, location)
            if status.permissions & 0o022 != 0 {
                diagnostics.append("others than the owner may write the file")
            }
            let reader = JournalReader(
                file: file, header: header, headerChecksum: checksum, lengthBytes: status.lengthBytes,
                path: location.text)
            let scan = try reader.scan(into: &state, replay: replay)
            let addition = try finish(&state)
            removeLeftovers(location)
            let recovery = JournalRecovery(
                fileSystem: fileSystem, path: location.path, directory: location.directory)
            diagnostics += try recovery.repair(file, lengthBytes: status.lengthBytes, after: scan)
            var writer = JournalWriter(
                file: file, names: names, path: location.text, salt: header.salt, end: scan.validEnd,
                lengthFound: status.lengthBytes, lastSequence: scan.lastSequence, chain: scan.chain, options: options)
            try writer.write(addition)
            return Opened(
                location: location, header: header, file: file, lock: lock, writer: writer, wasCreated: false,
                diagnostics: diagnostics)
        } catch {
            file.close()
            throw error
        }
    }

    /// One damaged copy is reported and does no harm; which of two different valid copies is right, nobody knows.
    private func readHeader(
        _ file: any StoreFile, _ lengthBytes: UInt64, _ location: JournalLocation
    ) throws(GraphError) -> (JournalHeader, checksum: UInt32, diagnostics: [String]) {
        let path = location.text
        guard lengthBytes > 0 else { throw .notAStore(path: path, reason: "the file is empty") }
        let size = JournalFormat.headerBytes
        guard lengthBytes >= UInt64(size) * 2 else {
            throw .notAStore(path: path, reason: "the file is shorter than a header")
        }
        var window = JournalWindow(file: file, lengthBytes: lengthBytes)
        let both: UnsafeRawBufferPointer
        do throws(IOError) {
            both = try window.bytes(at: 0, count: size * 2)
        } catch {
            throw error.graphError(path: path)
        }
        let first = JournalHeader.decode(UnsafeRawBufferPointer(rebasing: both[..<size]))
        let second = JournalHeader.decode(UnsafeRawBufferPointer(rebasing: both[size...]))
        switch (first, second) {
        case (.valid(let header, let checksum), .valid):
            guard first == second else {
                throw .corrupt(path: path, offset: UInt64(size), sequence: 0, reason: "the header's copies differ")
            }
            return (header, checksum, [])
        case (.valid(let header, let checksum), _):
            return (header, checksum, ["the header's second copy is damaged"])
        case (_, .valid(let header, let checksum)):
            return (header, checksum, ["the header's first copy is damaged"])
        case (.foreign, .foreign):
            throw .notAStore(path: path, reason: "the file does not begin like a journal")
        case (.unsupported(let found), _), (_, .unsupported(let found)):
            throw unsupported(found, path)
        case (.otherVersion(let major), _) where first == second:
            throw unsupported("version \(major)", path)
        default:
            throw .corrupt(path: path, offset: 0, sequence: 0, reason: "both copies of the header are damaged")
        }
    }

    private func unsupported(_ found: String, _ path: String) -> GraphError {
        let supported = "version \(JournalFormat.majorVersion)"
        return .unsupportedVersion(path: path, found: found, supported: supported)
    }
}
