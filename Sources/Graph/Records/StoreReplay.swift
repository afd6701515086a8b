/// Builds the state of a store from its journal's records, and believes none of them: whatever a record says is checked
/// against the schema and the state so far, so that a state that comes out of it keeps every rule.
///
/// The indexes are built when all rows are there, and what needs them is checked then, for the state that comes out. That is
/// faster, but to find out which record broke a rule takes a replay with the indexes kept up.
///
/// Records name things by tag, so old names do no harm as long as the file's last schema record is the program's. Without a
/// program's schema, the state is of the file's own.
struct StoreReplay: Sendable {
    var snapshot: Snapshot
    /// By entity, the first row number to hand out.
    var counters: [RowNumber]
    let path: String
    /// The program's schema; nil to read the file by its own.
    let program: SchemaRecord?
    /// The file's last schema record so far.
    var lastRecord: SchemaRecord?
    /// How that one compares with the program's.
    var agreement = Agreement.same
    var scratch = EntryScratch()
    private(set) var keepsIndexes: Bool
    var rules: ReplayRules
    /// What is odd about the file and no reason to refuse it; one line for each property at most.
    var remarks: [String] = []
    /// Those with values of which their types have not read everything.
    private(set) var unreadProperties: [String] = []
    /// How many rows the last commit changed.
    private(set) var changedRowCount = 0
    /// Where the records after the checkpoint begin; 0 without one.
    private(set) var checkpointBytes: UInt64 = 0
    /// When the checkpoint was written, in nanoseconds since 1970.
    var compactionTime: UInt64 = 0
    /// By name, the last commit that each consumer of history has read.
    var consumers: [String: HistoryToken] = [:]
    /// How long the records of retained commits are.
    private(set) var historyBytes: UInt64 = 0
    /// The oldest state to which the file leads back; nil without a checkpoint. Neither token has the store.
    var oldest: HistoryToken?
    /// The last retained commit, while the checkpoint is read.
    var retained: HistoryToken?
    private(set) var last: (offset: UInt64, sequence: JournalSequence) = (0, .none)
    /// The commit that the header names.
    private(set) var baseCommit = CommitNumber.none
    /// How many rows and links the head of a checkpoint promises, while it is read.
    var promised: (rows: [UInt64], links: [UInt64])?
    /// Records with rows of a checkpoint, of the group that is being read.
    var waiting: [JournalEntry] = []
    /// Entries of indexes, while a checkpoint is read.
    var storedIndexes: [StoredIndex.Place: StoredIndex] = [:]
    var indexPlaces: [CheckpointRecord.Index: StoredIndex.Place] = [:]
    /// The state of the checkpoint, if that has entries.
    var indexBase: IndexBase?

    /// How the file's schema compares with the program's, where records mean the same under both.
    enum Agreement {
        case same
        /// Each name is the name or an original name in the program.
        case knownNames
        /// Some names are none of the program's.
        case otherNames
    }

    /// - Parameter record: what the program says of the schema, if it says more than the schema does.
    init(schema: Schema, _ record: SchemaRecord? = nil, path: String, keepsIndexes: Bool = true) {
        self.init(Snapshot(schema: schema), record ?? SchemaRecord(schema), path: path, keepsIndexes: keepsIndexes)
    }

    /// Reads a file of any schema, without the program's types.
    init(path: String, keepsIndexes: Bool = true) throws(GraphError) {
        self.init(Snapshot(schema: try Schema([])), nil, path: path, keepsIndexes: keepsIndexes)
    }

    /// Goes on from the state that a file has led to.
    ///
    /// - Parameter record: the last one in the file.
    init(
        from snapshot: Snapshot, counters: [RowNumber], _ record: SchemaRecord, consumers: [String: HistoryToken],
        path: String
    ) {
        let program = SchemaRecord(snapshot.schema)
        self.init(snapshot, program, path: path, keepsIndexes: true)
        (self.counters, self.consumers, lastRecord) = (counters, consumers, record)
        agreement = Self.agreement(record, program, snapshot.schema)
    }

    private init(_ snapshot: Snapshot, _ program: SchemaRecord?, path: String, keepsIndexes: Bool) {
        (self.snapshot, self.program, self.path, self.keepsIndexes) = (snapshot, program, path, keepsIndexes)
        rules = ReplayRules(hasIndexes: keepsIndexes)
        counters = snapshot.schema.firstRows
    }

    /// - Throws: `.schemaMismatch`, `.valueNotReadable` or `.invalidRecord`; the replay is of no use afterwards.
    mutating func apply(_ entry: JournalEntry) throws(GraphError) {
        if canWait(entry) {
            waiting.append(entry)
        } else {
            try insertWaiting()
            try checked(entry) { try $0.applyAlone(entry) }
        }
        if entry.endsGroup { try insertWaiting() }
    }

    /// Applies a record that is in memory.
    mutating func apply(
        _ kind: Journal.RecordKind, _ payload: [UInt8], sequence: JournalSequence = .none, offset: UInt64 = 0
    ) throws(GraphError) {
        try payload.withUnsafeBufferPointer { buffer throws(GraphError) in
            try apply(
                JournalEntry(kind: kind, sequence: sequence, offset: offset, payload: UnsafeRawBufferPointer(buffer)))
        }
    }

    private mutating func applyAlone(_ entry: JournalEntry) throws {
        switch entry.kind {
        case .schema: try applySchema(entry.payload)
        case .commit:
            try CommitRecord.decode(entry.payload, of: snapshot.schema, into: &self)
            changedRowCount = rules.changedRowCount
            try rules.checkRecord(in: snapshot)
            snapshot.token.commit = snapshot.commit.next
            snapshot.token.add(entry.payload)
        case .consumer:
            var reader = ByteReader(entry.payload)
            note(try ConsumerRecord.read(&reader))
        case .mark, .close:
            var reader = ByteReader(entry.payload)
            let counters = try reader.readCounters(of: snapshot.schema)
            try reader.expectEnd()
            try apply(counters, reader)
        case .snapshotChunk:
            baseCommit = entry.baseCommit
            try CheckpointRecord.decode(entry.payload, of: snapshot.schema, into: &self)
            if retained != nil { historyBytes += entry.frameBytes }
        case .snapshotEnd:
            try endCheckpoint(ByteReader(entry.payload))
            checkpointBytes = entry.offset + entry.frameBytes
        }
    }

    /// Runs the body, and says of what is wrong in which record it is.
    mutating func checked(
        _ entry: JournalEntry, _ body: (inout StoreReplay) throws -> Void
    ) throws(GraphError) {
        last = (entry.offset, entry.sequence)
        do {
            try body(&self)
        } catch let error as GraphError {
            throw agreement == .otherNames ? refusal(of: entry, "\(error)") : error
        } catch let failure as ByteReader.Failure {
            let reason = "\(failure.reason) (byte \(failure.offset) of the payload)"
            throw refusal(of: entry, reason)
        } catch let malformed as SchemaRecord.Malformed {
            throw refusal(of: entry, malformed.reason)
        } catch {
            throw refusal(of: entry, "\(error)")
        }
    }

    /// Ends the replay: builds and checks what was put off, and gives what the file has to be told before the program may go on
    /// with it.
    ///
    /// - Throws: `.invalidRecord`, with the last record's place; `.notUnique`, if values were different when they were written, and
    ///   are equal now; `.schemaMismatch`, if the file's last schema record has names that the program does not know.
    mutating func finish() throws(GraphError) -> [Journal.Record] {
        let records = try recordsToAppend()
        if !keepsIndexes {
            let candidates = snapshot.buildIndexes { [snapshot, indexBase] entity, number in
                indexBase?.index(number, of: entity, in: snapshot)
            }
            indexBase = nil
            if agreement == .knownNames {
                // The program's rules may be others than the file's.
                let failures = snapshot.failures(afterIndexing: candidates)
                guard failures.isEmpty else { throw .migrationFailed(path: path, failures: failures) }
            }
            do {
                try rules.checkAll(in: snapshot, candidates)
            } catch {
                throw .invalidRecord(
                    path: path, offset: last.offset, sequence: last.sequence.number, reason: error.reason)
            }
        }
        try rules.checkEquivalents(in: snapshot)
        return records
    }

    /// Has the indexes, which `finish` has built, kept up from here on, and checks each record with all that follows from it.
    mutating func keepIndexes() {
        (keepsIndexes, rules) = (true, ReplayRules(hasIndexes: true))
    }

    /// Remembers a property if its type has passed over something.
    mutating func noteUnread(_ property: Property, of entity: Int, _ reader: inout ByteReader) {
        guard reader.hasUnreadParts else { return }
        reader.hasUnreadParts = false
        noteUnread(property, of: entity)
    }

    mutating func noteUnread(_ property: Property, of entity: Int) {
        let name = name(of: property, of: entity)
        if !unreadProperties.contains(name) { unreadProperties.append(name) }
    }

    var checkpointFigures: CheckpointFigures {
        CheckpointFigures(
            oldest: oldest ?? HistoryToken(), time: compactionTime, historyBytes: historyBytes,
            endOffset: checkpointBytes)
    }

    func name(of property: Property, of entity: Int) -> String {
        "\(snapshot.schema.entities[entity].name).\(property.name)"
    }

    /// Of several records the highest counters count: a copy may have handed out more than the store whose commits it receives.
    mutating func apply(_ next: [(entity: Int, next: RowNumber)], _ reader: ByteReader) throws {
        for (entity, next) in next {
            guard next <= RowCounters.maximum else { throw reader.failure("row counter \(next)") }
            counters[entity] = max(counters[entity], next)
        }
    }
}
