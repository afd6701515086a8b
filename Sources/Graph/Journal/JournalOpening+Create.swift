extension JournalOpening {
    /// Writes the whole initial part under another name, syncs it, and gives it its name last: whatever happens, there
    /// is no file or a complete one.
    func create(
        _ location: JournalLocation, _ lock: any StoreLock, schema: [UInt8], seal: [UInt8]
    ) throws(GraphError) -> Opened {
        let limit = min(options.transactionLimitBytes, JournalFormat.payloadLimitBytes)
        for payload in [schema, seal] where payload.count > limit {
            throw .transactionTooLarge(lengthBytes: payload.count, limitBytes: limit)
        }
        removeLeftovers(location)
        let header = JournalHeader(
            storeID: StoreID(random: options.random), fileID: StoreID(random: options.random), generation: 1,
            baseCommit: 0, previousFileChain: 0, schemaFingerprint: SHA256.digest(schema),
            createdNanoseconds: options.nanosecondsSince1970())
        let headerBytes = header.encoded()
        var content = ByteWriter()
        content.append(contentsOf: headerBytes)
        content.append(contentsOf: headerBytes)
        var chain = Self.checksum(ofHeader: headerBytes)
        let records = [Journal.Record(kind: .schema, payload: schema), Journal.Record(kind: .mark, payload: seal)]
        for (index, record) in records.enumerated() {
            chain = JournalFrame.append(
                record, sequence: UInt64(index + 1), durableThrough: 0, chain: chain, salt: header.salt, to: &content)
        }
        let file = try place(content.bytes, location)
        let writer = JournalWriter(
            file: file, path: location.path, salt: header.salt, end: UInt64(content.count),
            lastSequence: UInt64(records.count), chain: chain, options: options)
        return Opened(
            location: location, header: header, file: file, lock: lock, writer: writer, wasCreated: true,
            diagnostics: [])
    }

    /// What earlier programs left that did not live to rename it. Only the holder of the lock makes such files.
    func removeLeftovers(_ location: JournalLocation) {
        let prefix = location.name + ".new-"
        guard let names = try? fileSystem.list(location.directory) else { return }
        for name in names where name.hasPrefix(prefix) {
            let suffix = name.dropFirst(prefix.count)
            guard suffix.utf8.count == 16, UInt64(suffix, radix: 16) != nil else { continue }
            try? fileSystem.unlink(JournalLocation.join(location.directory, name))
        }
    }

    private func place(_ content: [UInt8], _ location: JournalLocation) throws(GraphError) -> any StoreFile {
        let temporaryPath = "\(location.path).new-\(StoreID.hexadecimal(options.random()))"
        do throws(IOError) {
            let file = try fileSystem.create(temporaryPath)
            do throws(IOError) {
                try file.writeFully(content, at: 0)
                try file.sync()
                try fileSystem.rename(temporaryPath, to: location.path)
            } catch {
                file.close()
                try? fileSystem.unlink(temporaryPath)
                throw error
            }
            // If this fails, the file stays: it is complete, and the next open syncs the folder again.
            try fileSystem.syncDirectory(location.directory)
            return file
        } catch {
            throw error.graphError(path: location.path)
        }
    }

    private static func checksum(ofHeader bytes: [UInt8]) -> UInt32 {
        CRC32C.checksum(Array(bytes.dropLast(4)))
    }
}
