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
            let found = try examine(file, location, lock)
            let header = found.header
            let reader = JournalReader(
                file: file, header: header, headerChecksum: found.headerChecksum,
                lengthBytes: found.status.lengthBytes, path: location.text, remembered: found.remembered)
            let scan = try reader.scan(into: &state, replay: replay)
            let addition = try finish(&state)
            var diagnostics = Self.diagnostics(of: scan)
            if !diagnostics.isEmpty || found.damagedCopy != nil || scan.tail != .clean { try options.willRepair?() }
            diagnostics = Self.diagnostics(of: found.status) + diagnostics
            diagnostics += try putInOrder(file, found, scan, lock, location)
            var writer = JournalWriter(
                file: file, names: found.names, path: location.text, header: header, end: scan.validEnd,
                lengthFound: found.status.lengthBytes, lastSequence: scan.lastSequence, chain: scan.chain,
                lockFile: lock.endFile, options: options)
            try writer.write(addition)
            return Opened(
                location: location, header: header, file: file, lock: lock, writer: writer, wasCreated: false,
                diagnostics: diagnostics)
        } catch {
            file.close()
            throw error
        }
    }

    /// A file as it was found.
    private struct Found {
        let status: FileStatus
        /// A second name that a migration has given it.
        let secondName: StorePath?
        let names: JournalNames
        let header: JournalHeader
        let headerChecksum: UInt32
        let damagedCopy: DamagedCopy?
        /// The end in the lock file.
        let remembered: JournalEnd?
    }

    /// Locks a file and reads what is needed to read its records; changes nothing.
    private func examine(
        _ file: any StoreFile, _ location: JournalLocation, _ lock: JournalLock
    ) throws(GraphError) -> Found {
        // Another program opened it by another name, or before its lock file was removed.
        guard try attempt(location.path, { () throws(IOError) in try file.lock() }) else {
            throw .alreadyOpen(path: location.text, processID: nil)
        }
        let (status, secondName) = try status(of: file, location)
        let names = try names(of: file, location, lock)
        let (header, checksum, damagedCopy) = try readHeader(file, status.lengthBytes, location)
        if let secondName, secondName != keptPath(location, generation: header.generation),
            !isTemporary(secondName.split().name, of: location)
        {
            throw .unusableFile(
                path: location.text, reason: "the file has 2 hard links: remove the others, or open a copy of it")
        }
        return Found(
            status: status, secondName: secondName, names: names, header: header, headerChecksum: checksum,
            damagedCopy: damagedCopy, remembered: try rememberedEnd(lock, location))
    }

    /// Ends what earlier programs began, and repairs what can be repaired, now that the whole file is known to be good.
    private func putInOrder(
        _ file: any StoreFile, _ found: Found, _ scan: JournalScan, _ lock: JournalLock, _ location: JournalLocation
    ) throws(GraphError) -> [StoreDiagnostic] {
        if let secondName = found.secondName {
            try attempt(location.path) { () throws(IOError) in try fileSystem.unlink(secondName) }
        }
        removeLeftovers(location)
        let recovery = JournalRecovery(fileSystem: fileSystem, path: location.path, directory: location.directory)
        var diagnostics = try recovery.repair(file, lengthBytes: found.status.lengthBytes, after: scan)
        if let damagedCopy = found.damagedCopy { diagnostics.append(try repair(damagedCopy, file, location)) }
        try remember(scan, of: found.header, insteadOf: found.remembered, lock, location)
        return diagnostics
    }

    /// The status of a file that can be a store, and a second name that a migration may have given it.
    func status(
        of file: any StoreFile, _ location: JournalLocation
    ) throws(GraphError) -> (FileStatus, secondName: StorePath?) {
        var status = try attempt(location.path) { () throws(IOError) in try file.status() }
        var secondName: StorePath?
        if status.linkCount == 2 {
            let identity = try attempt(location.path) { () throws(IOError) in try file.extent().identity }
            secondName = try self.secondName(of: identity, location)
            if secondName != nil { status.linkCount = 1 }
        }
        try Self.requireUsable(status, location.path)
        return (status, secondName)
    }

    static func diagnostics(of status: FileStatus) -> [StoreDiagnostic] {
        guard status.permissions & 0o022 != 0 else { return [] }
        let permissions = String(status.permissions, radix: 8)
        return [
            StoreDiagnostic(
                .writableByOthers,
                "others than its owner may write the file (permissions \(permissions)); remove that permission")
        ]
    }

    /// The end in the lock file, of this file or of another one.
    private func rememberedEnd(_ lock: JournalLock, _ location: JournalLocation) throws(GraphError) -> JournalEnd? {
        guard let lockFile = lock.endFile else { return nil }
        return try attempt(location.path) { () throws(IOError) in try JournalEnd.read(from: lockFile) }
    }

    /// Stores the end that was found, all of which is durable by now.
    ///
    /// If the lock file had another file's end, this is made durable before anything is appended: otherwise, after a power cut,
    /// the old end would make this file look truncated.
    private func remember(
        _ scan: JournalScan, of header: JournalHeader, insteadOf remembered: JournalEnd?, _ lock: JournalLock,
        _ location: JournalLocation
    ) throws(GraphError) {
        guard let lockFile = lock.endFile else { return }
        let end = JournalEnd(
            fileID: header.fileID, sequence: scan.lastSequence, offset: scan.validEnd, chain: scan.chain,
            isClosed: scan.lastKind == .close)
        switch scan.agreement {
        case .unknown, .same:
            if end != remembered { try? end.write(to: lockFile) }
        case .older, .diverged:
            try attempt(location.path) { () throws(IOError) in
                try end.write(to: lockFile)
                try lockFile.dataSync()
            }
        }
    }

    static func diagnostics(of scan: JournalScan) -> [StoreDiagnostic] {
        switch scan.agreement {
        case .same:
            return []
        case .older(let end):
            return [
                StoreDiagnostic(
                    .olderCopy, at: scan.validEnd,
                    """
                    the file was closed after record \(scan.lastSequence), but the file of this name had \(end.sequence) \
                    records before: somebody put back an older copy, which lacks the later ones
                    """)
            ]
        case .diverged(let end):
            return [
                StoreDiagnostic(
                    .divergedCopy, at: scan.validEnd,
                    """
                    record \(end.sequence) differs from the one that the file of this name had before: somebody put back \
                    another copy, which was continued separately
                    """)
            ]
        case .unknown:
            guard scan.tail == .clean, !scan.endsLikeAWriters else { return [] }
            return [
                StoreDiagnostic(
                    .unknownEnd, at: scan.validEnd,
                    """
                    the file was not closed after record \(scan.lastSequence), and no lock file remembers its end: nobody \
                    can know whether there were more records
                    """)
            ]
        }
    }

    /// Writes a damaged copy of the header again. If that fails, the other copy suffices; but after a failed sync the file must
    /// not be written to.
    private func repair(
        _ damaged: DamagedCopy, _ file: any StoreFile, _ location: JournalLocation
    ) throws(GraphError) -> StoreDiagnostic {
        do throws(IOError) {
            try repeatingInterrupted { () throws(IOError) in
                try file.writeFully(damaged.goodBytes, at: damaged.offset)
                try file.dataSync()
            }
        } catch {
            if error.operation == .sync { throw error.graphError(path: location.text) }
            return StoreDiagnostic(
                .damagedHeader, at: damaged.offset,
                "the header's \(damaged.name) copy is damaged and rewriting it failed (\(error.summary)); copy the file"
            )
        }
        return StoreDiagnostic(
            .repairedHeader, at: damaged.offset, "the header's \(damaged.name) copy was damaged and has been rewritten")
    }

    /// A copy of the header that must be restored from the other one.
    struct DamagedCopy {
        let offset: UInt64
        let goodBytes: [UInt8]

        var name: String { offset == 0 ? "first" : "second" }
    }

    /// One damaged copy does no harm; but of two different valid copies either may be right.
    func readHeader(
        _ file: any StoreFile, _ lengthBytes: UInt64, _ location: JournalLocation, isReadOnly: Bool = false
    ) throws(GraphError) -> (JournalHeader, checksum: UInt32, DamagedCopy?) {
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
        let first = JournalHeader.decode(UnsafeRawBufferPointer(rebasing: both[..<size]), isReadOnly: isReadOnly)
        let second = JournalHeader.decode(UnsafeRawBufferPointer(rebasing: both[size...]), isReadOnly: isReadOnly)
        switch (first, second) {
        case (.valid(let header, let checksum), .valid):
            guard first == second else {
                throw .corrupt(path: path, offset: UInt64(size), sequence: 0, reason: "the header's copies differ")
            }
            return (header, checksum, nil)
        // Its checksum is right, so this is no damage.
        case (.unsupported(let found), _), (_, .unsupported(let found)):
            throw unsupported(found, path)
        case (.valid(let header, let checksum), _):
            return (header, checksum, DamagedCopy(offset: UInt64(size), goodBytes: Array(both[..<size])))
        case (_, .valid(let header, let checksum)):
            return (header, checksum, DamagedCopy(offset: 0, goodBytes: Array(both[size...])))
        case (.foreign, .foreign):
            throw .notAStore(path: path, reason: "the file does not begin like a journal")
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
