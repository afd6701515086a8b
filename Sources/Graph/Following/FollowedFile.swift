/// A store's file beside the program that writes it, and the state that is durable there, as far as this one has gone.
///
/// If the file no longer has the commits since that state, it is read as a whole, and what happened since is one step.
struct FollowedFile: Sendable {
    /// One commit.
    struct Step: Sendable {
        let before: Snapshot
        let after: Snapshot
        /// nil for several commits in one.
        let head: CommitRecord.Head?
        /// When the last one was made, in nanoseconds since 1970.
        let time: UInt64
        /// The length of its record; 0 for several commits.
        let bytes: Int
    }

    private let opening: JournalOpening
    /// nil to read the file by its own schema.
    private let schema: Schema?
    private var records: DurableRecords
    private var replay: StoreReplay
    /// What ended reading, once the steps before it are taken.
    private var failure: GraphError?

    /// Reads all that is durable.
    init(
        _ path: String, schema: Schema?, fileSystem: any StoreFileSystem, options: JournalOptions
    ) throws(GraphError) {
        opening = JournalOpening(fileSystem: fileSystem, options: options)
        let location = try JournalLocation(resolving: path, in: fileSystem)
        self.schema = schema
        let found = try Self.read(location, schema, opening)
        (records, replay) = (found.records, found.replay)
    }

    var location: JournalLocation { records.location }
    var snapshot: Snapshot { replay.snapshot }
    /// As far as it was read.
    var readFile: JournalFile { records.readFile }

    private struct Reading: Sendable {
        var replay: StoreReplay
        /// Of the last commit.
        var time: UInt64 = 0
    }

    private static func read(
        _ location: JournalLocation, _ schema: Schema?, _ opening: JournalOpening
    ) throws(GraphError) -> (records: DurableRecords, replay: StoreReplay, time: UInt64) {
        let path = location.text
        let empty: StoreReplay
        if let schema {
            empty = StoreReplay(schema: schema, path: path, keepsIndexes: false)
        } else {
            empty = try StoreReplay(path: path, keepsIndexes: false)
        }
        var (contents, reading) = try opening.read(
            at: path, into: Reading(replay: empty),
            replay: { (reading: inout Reading, entry: JournalEntry) throws(GraphError) in
                try reading.replay.apply(entry)
                if entry.kind == .commit { reading.time = (try? CommitRecord.head(of: entry.payload).time) ?? 0 }
            },
            finish: { (reading: inout Reading) throws(GraphError) in _ = try reading.replay.finish() })
        reading.replay.snapshot.token.store = contents.storeID
        reading.replay.keepIndexes()
        let records = try DurableRecords(
            opening, location, behind: contents.tail, at: reading.replay.snapshot.token)
        return (records, reading.replay, reading.time > 0 ? reading.time : reading.replay.compactionTime)
    }

    // MARK: Going on

    /// Takes over the next commits that are durable; none if there are no more.
    ///
    /// - Throws: what ``DurableRecords/next()`` throws, but for commits that are not there any more; `.schemaMismatch`;
    ///   `.invalidRecord`, `.valueNotReadable` and the like. The state stays the last one.
    mutating func advance() throws(GraphError) -> [Step] {
        if let failure { throw failure }
        while true {
            let batch: DurableRecords.Batch
            do throws(GraphError) {
                batch = try records.next()
            } catch {
                if case .historyExpired = error { return try readAnew() }
                throw error
            }
            if let entered = batch.entered, try !take(entered.schema) { return try readAnew() }
            let steps = try steps(of: batch)
            if batch.isEmpty || !steps.isEmpty { return steps }
        }
    }

    private mutating func steps(of batch: DurableRecords.Batch) throws(GraphError) -> [Step] {
        var steps: [Step] = []
        do throws(GraphError) {
            for record in batch.records {
                if let step = try apply(record) { steps.append(step) }
            }
        } catch {
            guard !steps.isEmpty else { throw error }
            failure = error
        }
        return steps
    }

    private mutating func apply(_ record: DurableRecords.Record) throws(GraphError) -> Step? {
        let before = snapshot
        do throws(GraphError) {
            try replay.apply(record.kind, record.payload, sequence: record.sequence, offset: record.offset)
        } catch {
            throw replay.explained(error)
        }
        if record.kind == .schema { _ = try replay.recordsToAppend() }
        guard record.kind == .commit, let head = try? CommitRecord.head(of: record.payload) else { return nil }
        return Step(before: before, after: snapshot, head: head, time: head.time, bytes: record.payload.count)
    }

    // MARK: Another file

    /// Takes over what a file says of its schema. Returns false if it is another one.
    private mutating func take(_ schema: [UInt8]) throws(GraphError) -> Bool {
        let record = schema.withUnsafeBytes { try? SchemaRecord(reading: $0) }
        guard let record, record.isRecordedLike(replay.fileRecord) else { return false }
        try replay.apply(.schema, schema)
        _ = try replay.recordsToAppend()
        return true
    }

    private mutating func readAnew() throws(GraphError) -> [Step] {
        let before = snapshot
        let found = try Self.read(location, schema, opening)
        let after = found.replay.snapshot
        guard after.token.store == before.token.store, after.commit > before.commit || after.token == before.token
        else {
            throw .historyDiverged(before.token)
        }
        (records, replay) = (found.records, found.replay)
        guard after.commit > before.commit else { return [] }
        // Without commits behind its checkpoint the file says when that was written.
        return [Step(before: before, after: after, head: nil, time: found.time, bytes: 0)]
    }
}
