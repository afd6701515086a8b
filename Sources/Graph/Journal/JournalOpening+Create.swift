extension JournalOpening {
    /// Writes the whole initial part under another name, syncs it, and renames it last: at any time there is no file or a
    /// complete one.
    func create(
        _ location: JournalLocation, _ lock: JournalLock, schema: [UInt8], seal: [UInt8]
    ) throws(GraphError) -> Opened {
        let limit = min(options.transactionLimitBytes, JournalFormat.payloadLimitBytes)
        for payload in [schema, seal] where payload.count > limit {
            throw .transactionTooLarge(lengthBytes: payload.count, limitBytes: limit)
        }
        removeLeftovers(location)
        let header = JournalHeader(
            storeID: StoreID(random: options.random), fileID: StoreID(random: options.random), generation: 1,
            baseCommit: .none, previousFileChain: 0, schemaFingerprint: SHA256.digest(schema),
            createdNanoseconds: options.nanosecondsSince1970())
        let records = [Journal.Record(kind: .schema, payload: schema), Journal.Record(kind: .mark, payload: seal)]
        let (content, chain) = Self.content(header, records)
        guard let file = try place(content, at: location.path, of: location) else {
            throw .unusableFile(path: location.text, reason: "somebody created the file meanwhile; open it again")
        }
        do throws(GraphError) {
            // If this fails, the file stays: it is complete, and the next open syncs the folder again.
            try attempt(location.path) { () throws(IOError) in try fileSystem.syncDirectory(location.directory) }
            let names = try names(of: file, location, lock)
            let writer = JournalWriter(
                file: file, names: names, path: location.text, header: header, end: UInt64(content.count),
                lengthFound: UInt64(content.count), lastSequence: JournalSequence(UInt64(records.count)), chain: chain,
                lockFile: lock.endFile, options: options)
            return Opened(
                location: location, header: header, file: file, lock: lock, writer: writer, wasCreated: true,
                diagnostics: [])
        } catch {
            file.close()
            throw error
        }
    }

    /// The bytes of a new file, and the chain at their end.
    private static func content(
        _ header: JournalHeader, _ records: [Journal.Record]
    ) -> (bytes: [UInt8], chain: UInt32) {
        let headerBytes = header.encoded()
        var content = ByteWriter()
        content.append(contentsOf: headerBytes)
        content.append(contentsOf: headerBytes)
        var chain = JournalHeader.checksum(of: headerBytes)
        for (index, record) in records.enumerated() {
            chain = JournalFrame.append(
                record, sequence: JournalSequence(UInt64(index + 1)), durableThrough: .none, chain: chain,
                salt: header.salt, to: &content)
        }
        return (content.bytes, chain)
    }

    /// Removes temporary files that earlier programs left. Only lock files are created without the lock; if one of these is
    /// removed here, its maker finds that there is a lock file now.
    func removeLeftovers(_ location: JournalLocation) {
        guard let names = try? fileSystem.list(location.directory) else { return }
        for name in names where isTemporary(name, of: location) {
            try? fileSystem.unlink(location.directory.appending(component: name))
        }
    }

    func isTemporary(_ name: StorePath, of location: JournalLocation) -> Bool {
        guard let suffix = name.suffix(after: location.name.appending(Self.temporarySuffix)) else { return false }
        return suffix.count == 16
            && suffix.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    func temporaryPath(_ location: JournalLocation) -> StorePath {
        location.path.appending(Self.temporarySuffix + StoreID.hexadecimal(options.random()))
    }

    /// Writes a new file under another name, locked from the beginning, makes it durable, and renames it last: at any time
    /// there is no file of that name or a complete one. nil if the name was taken meanwhile.
    ///
    /// The folder is not synced.
    func place(
        _ content: [UInt8], at path: StorePath, of location: JournalLocation
    ) throws(GraphError) -> (any StoreFile)? {
        let (file, temporaryPath) = try makeTemporaryFile(location)
        do throws(IOError) {
            try lock(file)
            try repeatingInterrupted { () throws(IOError) in
                try file.writeFully(content, at: 0)
                try file.sync()
            }
            try fileSystem.rename(temporaryPath, to: path)
            return file
        } catch {
            file.close()
            try? fileSystem.unlink(temporaryPath)
            // Another opener created the lock file meanwhile, and removed this one as a leftover.
            if error.reason == .exists || error.reason == .missing { return nil }
            throw error.graphError(path: location.text)
        }
    }

    /// Locks a file that nobody else knows.
    func lock(_ file: any StoreFile) throws(IOError) {
        guard try repeatingInterrupted({ () throws(IOError) in try file.lock() }) else {
            throw IOError(operation: .lock, reason: .other, code: 0)
        }
    }

    /// Leftovers stay until the lock is taken, so that a name may be taken.
    func makeTemporaryFile(_ location: JournalLocation) throws(GraphError) -> (any StoreFile, StorePath) {
        var attempts = 100
        while true {
            let path = temporaryPath(location)
            do throws(IOError) {
                return (try repeatingInterrupted { () throws(IOError) in try fileSystem.create(path) }, path)
            } catch {
                attempts -= 1
                guard error.reason == .exists, attempts > 0 else { throw error.graphError(path: location.text) }
            }
        }
    }

    private static let temporarySuffix = ".new-"
}
