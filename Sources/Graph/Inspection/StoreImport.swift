/// Objects and links of text, together with what a file has, in a new file, without the program's types.
package struct StoreImport: Sendable {
    /// The new file's, absolute and without symbolic links.
    package let path: String
    package let rowCount: Int
    package let linkCount: Int
    /// Of the new file.
    package let commit: UInt64

    /// Imports into the state of a file as ``Coordinator/importRows(from:onConflict:batchSize:resumingAt:ignoresUnknownTargets:author:progress:fileID:line:)``
    /// does, all or nothing, and writes a new file, without history. The file itself is not changed.
    ///
    /// The rules of the schema hold, and nothing that only the program knows: its hooks, its defaults, and which values its own
    /// types read. That is why the file that the program has is left as it is.
    ///
    /// - Parameters:
    ///   - texts: paths of files.
    ///   - entity: the name of the entity that CSV has; nil for JSON lines.
    ///   - progress: is told how far the writing is.
    /// - Throws: what the import and ``Coordinator/copy(to:progress:)`` throw; `.unusableFile` if anything has the name `output`.
    ///   There is no new file then.
    package init(
        into store: StoreInspection, from texts: [String], csvOf entity: String?, to output: String,
        onConflict: UniquenessPolicy? = nil, ignoresUnknownTargets: Bool = false,
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        let (fileSystem, options) = (PosixFileSystem(), JournalOptions())
        let target = try await Journal.onExecutor { () throws(GraphError) in
            // Before the work, and again at its end.
            let target = try JournalLocation(resolving: output, in: fileSystem)
            let opening = JournalOpening(fileSystem: fileSystem, options: options)
            guard try opening.statusIfExists(target.path) == nil else { throw .nameIsTaken(target.text) }
            return target.text
        }
        let memory = try await Coordinator(store)
        let sources = texts.map { text in
            entity.map { RowSource.csv(ofEntity: $0, at: text) } ?? .jsonLines(at: text)
        }
        let imported: ImportProgress
        do {
            imported = try await memory.importRows(
                from: sources, onConflict: onConflict, ignoresUnknownTargets: ignoresUnknownTargets)
        } catch let error as GraphError {
            throw error
        } catch {
            throw .unusableFile(path: texts.first ?? "", reason: "\(error)".shortened(to: 300))
        }
        try await memory.write(toNewFile: output, with: store.record, fileSystem, options, ProgressMeter(progress))
        (self.path, commit) = (target, memory.snapshot.commit.number)
        (rowCount, linkCount) = (imported.rowCount, imported.linkCount)
    }
}

extension Coordinator {
    /// A store in memory with what a file has.
    fileprivate init(_ store: StoreInspection) async throws(GraphError) {
        let snapshot = store.snapshot
        try await self.init(
            snapshot.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            retention: .none, initial: (snapshot, store.counters, store.id))
    }

    fileprivate func write(
        toNewFile path: String, with record: SchemaRecord, _ fileSystem: any StoreFileSystem, _ options: JournalOptions,
        _ meter: ProgressMeter?
    ) async throws(GraphError) {
        try await CheckpointWriter(
            snapshot, record, counters: usedCounters, time: options.nanosecondsSince1970()
        ).write(toNewFile: path, of: storeID, fileSystem, options, meter)
    }
}
