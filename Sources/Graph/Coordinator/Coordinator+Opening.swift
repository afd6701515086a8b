extension Coordinator {
    /// Opens a file, or makes one, and replays it.
    static func open(
        _ path: String,
        _ schema: Schema,
        _ counters: [RowNumber],
        _ fileSystem: any StoreFileSystem,
        _ options: JournalOptions
    ) async throws(GraphError) -> (Journal, StoreReplay) {
        do throws(GraphError) {
            return try await open(path, schema, counters, fileSystem, options, keepsIndexes: false) {
                (replay: inout StoreReplay) throws(GraphError) in try replay.finish()
            }
        } catch {
            guard case .invalidRecord = error else { throw error }
            // Which record it is shows to whoever checks each one with all that follows from it. That is all that this is
            // for: a file that was refused once is not opened because it passes the second time, and never written to.
            let refusal = error
            do throws(GraphError) {
                _ = try await open(path, schema, counters, fileSystem, options, keepsIndexes: true) {
                    (_: inout StoreReplay) throws(GraphError) in throw refusal
                }
            } catch {
                if case .invalidRecord = error { throw error }
            }
            throw refusal
        }
    }

    private static func open(
        _ path: String,
        _ schema: Schema,
        _ counters: [RowNumber],
        _ fileSystem: any StoreFileSystem,
        _ options: JournalOptions,
        keepsIndexes: Bool,
        finish: @escaping @Sendable (inout StoreReplay) throws(GraphError) -> [Journal.Record]
    ) async throws(GraphError) -> (Journal, StoreReplay) {
        try await Journal.open(
            at: path,
            schema: SchemaRecord(schema).bytes,
            seal: encode(counters: counters),
            fileSystem: fileSystem,
            options: options,
            into: StoreReplay(schema: schema, path: path, keepsIndexes: keepsIndexes),
            replay: { (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in
                try replay.apply(entry)
            },
            finish: finish
        )
    }

    /// As files may have them.
    var usedCounters: [RowNumber] { counters.all.map { min($0, RowCounters.maximum) } }

    /// What a mark and the end of a file hold.
    static func encode(counters: [RowNumber]) -> [UInt8] {
        var writer = ByteWriter()
        writer.appendCounters(counters)
        return writer.bytes
    }
}
