/// What a file has and what is imported, in a new file, without the program's types.
package struct StoreImport: Sendable {
    /// A file that is imported.
    package struct Source: Sendable, Equatable {
        package let path: String
        /// The name of the entity that CSV has; nil for JSON lines.
        package let entity: String?

        package init(_ path: String, csvOf entity: String? = nil) { (self.path, self.entity) = (path, entity) }

        fileprivate var rows: RowSource { entity.map { .csv(ofEntity: $0, at: path) } ?? .jsonLines(at: path) }
    }

    /// The new file's, absolute and without symbolic links.
    package let path: String
    /// How many rows and links were read.
    package let rowCount: Int
    package let linkCount: Int
    /// Of the new file.
    package let commit: UInt64
    /// In the file, and in the new one.
    package let objectCounts: (before: Int, now: Int)

    /// The path of a new file, absolute and without symbolic links. To be asked before the work; it is asked again at its end.
    ///
    /// - Throws: `.unusableFile` if anything has the name.
    @discardableResult
    package static func free(_ output: String) async throws(GraphError) -> String {
        try await Journal.onExecutor { () throws(GraphError) in
            try JournalOpening(fileSystem: PosixFileSystem(), options: JournalOptions()).freeLocation(output).text
        }
    }

    /// Imports into the state of a file as ``Coordinator/importRows(from:onConflict:batchSize:resumingAt:ignoresUnknownTargets:author:progress:fileID:line:)``
    /// does, all or nothing, and writes a new file, without history. The file itself is not changed.
    ///
    /// The rules of the schema hold, and nothing that only the program knows: its hooks, its defaults, its policies for unique
    /// values, and which values its own types read. That is why the file that the program has is left as it is.
    ///
    /// - Parameters:
    ///   - reading: is told how many rows and links have been read.
    ///   - progress: is told how far the writing is.
    /// - Throws: what the import and ``Coordinator/copy(to:progress:)`` throw; `.unusableFile` if anything has the name `output`, or
    ///   if several programs have written the store through a log, since none would know of the numbers of the new rows.
    ///   There is no new file then.
    package init(
        into store: StoreInspection, from sources: [Source], to output: String, onConflict: UniquenessPolicy? = nil,
        ignoresUnknownTargets: Bool = false, reading: (@Sendable (ImportProgress) -> Void)? = nil,
        progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        let (fileSystem, options) = (PosixFileSystem(), JournalOptions())
        guard RowCounters.lastWriter(store.counters) == 0 else {
            throw .unusableFile(
                path: store.path,
                reason: "several programs have written this store through a log: import with one of them")
        }
        path = try await Self.free(output)
        let memory = try await Coordinator(
            store.snapshot.schema, path: nil, fileSystem: fileSystem, options: options, retention: .none,
            initial: (store.snapshot, store.counters, store.id, nil))
        do {
            let imported = try await memory.importRows(
                from: sources.map(\.rows), onConflict: onConflict, ignoresUnknownTargets: ignoresUnknownTargets,
                progress: reading)
            (rowCount, linkCount) = (imported.rowCount, imported.linkCount)
        } catch {
            throw error as? GraphError ?? .unusableFile(path: store.path, reason: "\(error)".shortened(to: 300))
        }
        var snapshot = memory.snapshot
        // So that it is not taken for another commit of that number.
        if snapshot.commit != store.snapshot.commit { snapshot.token.add(options.nanosecondsSince1970()) }
        commit = snapshot.commit.number
        let count = { (snapshot: Snapshot) in snapshot.entities.reduce(0) { $0 + $1.rows.count } }
        objectCounts = (count(store.snapshot), count(snapshot))
        // Their commits are not in the new file, so that they learn that history is missing.
        try await CheckpointWriter(
            snapshot, store.record, counters: memory.usedCounters, consumers: store.consumerTokens,
            time: options.nanosecondsSince1970()
        ).write(toNewFile: output, of: store.id, fileSystem, options, ProgressMeter(progress))
    }
}
