/// What can be had of a damaged file, written into a new one, without the program's types.
package struct StoreSalvage: Sendable {
    /// The new file's, absolute and without symbolic links.
    package let path: String
    /// What is odd about the file and has cost nothing, a line each.
    package let remarks: [String]
    /// What is lost, a line each; so many of each kind, and then how many more there are.
    package let losses: [String]
    /// By entity, in the schema's order.
    package let objectCounts: [(entity: String, count: Int)]
    /// Of the new file: one more than the last that could be read, if anything is lost.
    package let commit: UInt64

    /// Reads what can be read, drops what breaks rules without the rest, and writes a new file. The file is not changed, and needs
    /// no lock; no program should write it meanwhile.
    ///
    /// - Throws: `.notAStore`, and `.corrupt` if no schema can be read; `.unsupportedVersion`; `.unusableFile` if there is no
    ///   file, or if anything has the name `output`; and what reading a file and ``Coordinator/copy(to:progress:)`` throw. There is no new
    ///   file then.
    ///
    /// - Parameter progress: is told how far it is: of reading the file, and of writing the new one.
    package init(
        of path: String, to output: String, progress: (@Sendable (StoreProgress) -> Void)? = nil
    ) async throws(GraphError) {
        try await self.init(of: path, to: output, PosixFileSystem(), JournalOptions(), ProgressMeter(progress))
    }

    init(
        of path: String, to output: String, _ fileSystem: any StoreFileSystem, _ options: JournalOptions,
        _ meter: ProgressMeter? = nil
    ) async throws(GraphError) {
        let result = try await Journal.withFile(at: path, fileSystem: fileSystem, options: options) {
            (file, location, opening) throws(GraphError) in
            // Before the work, and again at its end.
            let target = try opening.freeLocation(output)
            let salvage = try DamagedStore(file, location, opening, meter)
            return (path: target.text, store: salvage)
        }
        let (store, snapshot) = (result.store, result.store.snapshot)
        try await CheckpointWriter(
            snapshot, store.record, counters: store.counters, consumers: store.consumers,
            time: options.nanosecondsSince1970()
        ).write(toNewFile: output, of: store.storeID, fileSystem, options, meter)
        self.path = result.path
        remarks = store.report.remarks
        losses = store.report.losses
        objectCounts = zip(snapshot.schema.entities, snapshot.entities).map { ($0.name, $1.rows.count) }
        commit = snapshot.commit.number
    }
}
