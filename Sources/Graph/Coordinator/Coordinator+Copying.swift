extension Coordinator {
    /// Writes the newest committed state into a new file, compacted, while saves and readers go on.
    ///
    /// The copy is a store of its own, of the same schema: identifiers, versions and the commit number are in it as here, with the
    /// consumers of history, and it can be opened at once. It has as much history as a compaction would retain, if the file is open for
    /// writing and its history can be read; otherwise it has none. It belongs to the user whose program makes it, and nobody else may read it. A store in memory, one
    /// that is only read and one that takes no more saves can be copied, too. A crash leaves the whole copy or none.
    ///
    /// - Important: values of `Codable` types are written as this program reads them, as ``compact(progress:)`` does.
    /// - Parameters:
    ///   - path: of a file that is not there yet; `~` is not expanded.
    ///   - progress: is told how much of the copy is written, at most a hundred times; from any task, so keep it brief.
    /// - Throws: `.unusableFile` if anything has that name; `.directoryMissing`, `.permissionDenied`, `.diskFull` and
    ///   `.inputOutput`; `.notEncodable` and `.transactionTooLarge`, of values that no file can hold; `.cancelled`;
    ///   `.schemaMismatch` from an older program, whose copy would lack what it does not know. There is no copy then, unless the
    ///   disk neither keeps nor removes it.
    ///
    /// Complexity: O(*n*) for *n* objects and links, and for the file's commits.
    public func copy(
        to path: String, progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        try await copy(to: path, PosixFileSystem(), JournalOptions(), ProgressMeter(progress))
    }

    func copy(
        to path: String, _ fileSystem: any StoreFileSystem, _ options: JournalOptions, _ meter: ProgressMeter? = nil
    ) async throws(GraphError) {
        if isPartial { throw .schemaMismatch(path: self.path, differences: [SchemaChange.olderProgram]) }
        var (snapshot, consumers, history) = (snapshot, consumers, RetainedCommits?.none)
        // On a full disk the file may lack commits whose saves have returned.
        if let durable = try? await durableState(), durable.snapshot.commit >= snapshot.commit {
            (snapshot, consumers) = (durable.snapshot, durable.consumers)
            // A file whose history cannot be read is one more reason to copy the state.
            history = try? await durable.history?.selected()
        }
        // Behind the snapshot, so that no row of it is beyond the counters, and with all numbers that contexts have been given.
        let checkpoint = CheckpointWriter(
            snapshot, schemaRecord, counters: usedCounters, consumers: consumers,
            time: PosixFileSystem.nanosecondsSince1970())
        try await checkpoint.write(toNewFile: path, of: storeID, with: history, fileSystem, options, meter)
    }

    /// The newest state, which a power cut cannot take back: a log goes on from there.
    private func durableState() async throws(GraphError) -> (
        snapshot: Snapshot, consumers: [String: HistoryToken], history: RetainedCommits?
    ) {
        try await withTurn(isReceiving: true) { () throws(GraphError) in
            guard self.journal != nil else { return (self.snapshot, self.consumers, nil) }
            if self.syncedCommit < self.written.snapshot.commit { try await self.append([]) }
            let snapshot = self.written.snapshot
            return (snapshot, self.consumers, try? await self.retainedCommits(through: snapshot))
        }
    }

    /// Removes a store that no program has open: its file, and the files beside it that belong to it.
    ///
    /// A store that is damaged, or of a newer version of Graph, can be removed, too; but if its header cannot be read, the file
    /// that a migration has kept stays.
    ///
    /// - Parameter path: the file, as for opening it. Of a symbolic link, what it leads to is removed, and the link stays.
    /// - Throws: `.unusableFile` if there is no file, or if the lock file beside it is none; `.notAStore` if it is another one;
    ///   `.alreadyOpen`; `.permissionDenied`, `.directoryMissing`, `.diskFull` and `.inputOutput`.
    ///
    /// Complexity: O(*f*) for *f* files in the folder.
    public static func destroy(at path: String) async throws(GraphError) {
        try await Journal.remove(path, fileSystem: PosixFileSystem(), options: JournalOptions())
    }
}
