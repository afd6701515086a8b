/// Builds the state of a store from its journal's records, and believes none of them: whatever a record says is checked
/// against the schema and the state so far, so that a state that comes out of it keeps every rule.
///
/// The indexes are built when all rows are there, and what needs them is checked then, for the state that comes out. That is
/// faster, but whoever wants to know which record broke a rule has to replay with the indexes kept up.
///
/// Records name things by tag, so old names do no harm as long as the file's last schema record is the program's. Without a
/// program's schema, the state is of the file's own.
struct StoreReplay: Sendable {
    var snapshot: Snapshot
    /// By entity, the first row number to hand out.
    private(set) var counters: [RowNumber]
    private let path: String
    /// The program's schema; nil to read the file by its own.
    private let program: SchemaRecord?
    /// The file's last schema record so far.
    private var lastRecord: SchemaRecord?
    /// How that one compares with the program's.
    private var agreement = Agreement.same
    var scratch = EntryScratch()
    let keepsIndexes: Bool
    var rules: ReplayRules
    /// What is odd about the file and no reason to refuse it; one line for each property at most.
    private(set) var remarks: [String] = []
    private var last: (offset: UInt64, sequence: JournalSequence) = (0, .none)
    /// The commit that the header names.
    private(set) var baseCommit = CommitNumber.none
    /// How many rows and pairs the head of a checkpoint promises, while it is read.
    var promised: (rows: [UInt64], pairs: [UInt64])?

    /// How the file's schema compares with the program's, where records mean the same under both.
    private enum Agreement {
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

    private init(_ snapshot: Snapshot, _ program: SchemaRecord?, path: String, keepsIndexes: Bool) {
        (self.snapshot, self.program, self.path, self.keepsIndexes) = (snapshot, program, path, keepsIndexes)
        rules = ReplayRules(hasIndexes: keepsIndexes)
        counters = snapshot.schema.firstRows
    }

    /// - Throws: `.schemaMismatch`, `.valueNotReadable` or `.invalidRecord`; the replay is of no use afterwards.
    mutating func apply(_ entry: JournalEntry) throws(GraphError) {
        last = (entry.offset, entry.sequence)
        do {
            switch entry.kind {
            case .schema: try applySchema(entry.payload)
            case .commit:
                try CommitRecord.decode(entry.payload, of: snapshot.schema, into: &self)
                try rules.checkRecord(in: snapshot)
                snapshot.commit = snapshot.commit.next
            case .mark, .close:
                var reader = ByteReader(entry.payload)
                let counters = try reader.readCounters(of: snapshot.schema)
                try reader.expectEnd()
                try apply(counters, reader)
            case .snapshotChunk:
                baseCommit = entry.baseCommit
                try CheckpointRecord.decode(entry.payload, of: snapshot.schema, into: &self)
            case .snapshotEnd:
                try endCheckpoint(ByteReader(entry.payload))
            }
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
            let candidates = snapshot.buildIndexes()
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

    /// Whether the program has a migration plan, of whose newest version the file does not say that it is.
    private var isOfOtherVersion: Bool {
        program?.version.map { $0 != fileRecord.version } ?? false
    }

    /// What the file says of its schema.
    var fileRecord: SchemaRecord { lastRecord ?? program ?? SchemaRecord(entities: [], earlier: []) }

    /// The file's schema record from now on.
    var record: SchemaRecord {
        guard let program, agreement != .same || isOfOtherVersion else { return fileRecord }
        return program.following(fileRecord)
    }

    /// What has changed since the file's last schema record, where the file need not be written anew.
    func changes() throws(GraphError) -> [SchemaChange] {
        agreement == .same ? [] : try comparison().changes
    }

    /// What the file has to be told before the program may go on with it.
    ///
    /// - Throws: `.schemaMismatch`, if the file's last schema record has names that the program does not know, or if the program's
    ///   schema is one that the file had before.
    func recordsToAppend() throws(GraphError) -> [Journal.Record] {
        switch agreement {
        case .same:
            return isOfOtherVersion ? [Journal.Record(kind: .schema, payload: record.bytes)] : []
        case .knownNames:
            let changes = try comparison().changes
            // Original names show that the program knows of the newer ones.
            if let program, fileRecord.earlier.contains(program.fingerprint),
                changes.contains(where: { !$0.isNeutral })
            {
                throw .schemaMismatch(path: path, differences: SchemaChange.refusals(ofOlderProgram: changes))
            }
            return [Journal.Record(kind: .schema, payload: record.bytes)]
        case .otherNames:
            throw try mismatch()
        }
    }

    private func comparison() throws(GraphError) -> SchemaComparison {
        let schema: Schema
        do {
            schema = try Schema(fileRecord)
        } catch {
            let reason = "the file's schema is unsound: \(error)".shortened(to: 400)
            throw .invalidRecord(path: path, offset: last.offset, sequence: last.sequence.number, reason: reason)
        }
        return SchemaComparison(
            from: schema, to: snapshot.schema, rowCounts: fileRecord.entities.map { _ in 1 })
    }

    func mismatch(_ reason: String? = nil) throws(GraphError) -> GraphError {
        let differences = try comparison().changes.map(\.description) + [reason].compactMap { $0 }
        return .schemaMismatch(path: path, differences: ErrorList(differences))
    }

    /// Where names are others, the values that do not fit may belong to other properties.
    private func refusal(of entry: JournalEntry, _ reason: String) -> GraphError {
        let refusal = GraphError.invalidRecord(
            path: path, offset: entry.offset, sequence: entry.sequence.number, reason: reason)
        guard agreement == .otherNames else { return refusal }
        return (try? mismatch("record \(entry.sequence) does not fit the program: \(reason)")) ?? refusal
    }

    private mutating func applySchema(_ payload: UnsafeRawBufferPointer) throws {
        let record = try SchemaRecord(reading: payload)
        let isFirst = lastRecord == nil
        if let lastRecord, !record.isRecordedLike(lastRecord) {
            throw SchemaRecord.Malformed(reason: "the schema is another one than that of the records before")
        }
        lastRecord = record
        guard let program else { return try adopt(record, isFirst: isFirst) }
        guard record.isRecordedLike(program) else { throw try mismatch() }
        agreement = Self.agreement(record, program, snapshot.schema)
    }

    private static func agreement(_ record: SchemaRecord, _ program: SchemaRecord, _ schema: Schema) -> Agreement {
        if record.entities == program.entities { return .same }
        let areKnown = zip(record.entities, schema.entities).allSatisfy { recorded, entity in
            entity.knownNames.contains(recorded.name)
                && zip(recorded.properties, entity.properties).allSatisfy { recorded, property in
                    property.knownNames.contains(recorded.name)
                }
        }
        return areKnown ? .knownNames : .otherNames
    }

    /// Goes on with the file's own schema, in which rows have the same layout as before.
    private mutating func adopt(_ record: SchemaRecord, isFirst: Bool) throws {
        let schema: Schema
        do {
            schema = try Schema(record)
        } catch {
            throw SchemaRecord.Malformed(reason: "\(error)".shortened(to: 400))
        }
        guard !isFirst else {
            (snapshot, counters) = (Snapshot(schema: schema), schema.firstRows)
            return
        }
        snapshot = Snapshot(snapshot, of: schema)
        if keepsIndexes { _ = snapshot.buildIndexes() }
    }

    mutating func apply(_ next: [(entity: Int, next: RowNumber)], _ reader: ByteReader) throws {
        for (entity, next) in next {
            guard next >= counters[entity], next <= RowCounters.maximum else {
                throw reader.failure("row counter \(next) after \(counters[entity])")
            }
            counters[entity] = next
        }
    }
}

extension StoreReplay: CommitHandler {
    mutating func begin(
        _ number: CommitNumber,
        counters: [(entity: Int, next: RowNumber)],
        _ reader: ByteReader
    ) throws {
        guard number == snapshot.commit.next else {
            throw reader.failure("commit \(number) after commit \(snapshot.commit)")
        }
        try apply(counters, reader)
    }

    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard id.row < counters[id.entity] else { throw reader.failure("row \(id.row) is beyond the row counter") }
        guard !snapshot.contains(id) else { throw reader.failure("row \(id.row) is inserted, but exists") }
        // Or it was deleted once and came back; see `WorkingState.number`.
        guard version == RowVersion.none.next || version.number == snapshot.commit.next.number else {
            throw reader.failure("row \(id.row) is inserted at version \(version)")
        }
        let layout = snapshot.schema.entities[id.entity].layout
        try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let address = memory.baseAddress.unsafelyUnwrapped
            try decode(id, &reader, into: address)
            rules.didWrite(id, from: nil, to: address, in: snapshot.schema)
            guard keepsIndexes else {
                snapshot.entities[id.entity].rows.set(id.row, version: version, moving: address)
                return
            }
            if snapshot.set(id, version: version, moving: address, scratch: &scratch) {
                rules.mayShareKey(id)
            }
        }
    }

    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let address = snapshot.address(of: id), version == snapshot.version(of: id)?.next else {
            throw reader.failure("row \(id.row) is updated to version \(version), but is not at the one before")
        }
        let description = snapshot.schema.entities[id.entity]
        try description.layout.withCopy(of: address) { copy in
            for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
                let tag = try reader.readVarint()
                guard tag >= 1, tag <= UInt64(description.properties.count) else {
                    throw reader.failure("no property has the tag \(tag)")
                }
                let property = description.properties[Int(tag) - 1]
                guard property.isStored else { throw reader.failure("\(property.name) is not stored") }
                let value = copy + property.offset
                try reading(property, of: id) { try property.decode(&reader, replacing: value) }
                guard hasSameValue(property, of: id.entity, at: value, as: address + property.offset) else {
                    throw reader.failure("\(property.name) of row \(id.row) had another value before")
                }
                try reading(property, of: id) { try property.decode(&reader, replacing: value) }
            }
            rules.didWrite(id, from: address, to: copy, in: snapshot.schema)
            guard keepsIndexes else {
                snapshot.entities[id.entity].rows.set(id.row, version: version, copying: copy)
                return
            }
            if snapshot.set(id, version: version, copying: copy, scratch: &scratch) {
                rules.mayShareKey(id)
            }
        }
    }

    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let current = snapshot.address(of: id), snapshot.version(of: id) == version else {
            throw reader.failure("row \(id.row) is deleted at version \(version), which it does not have")
        }
        let description = snapshot.schema.entities[id.entity]
        let layout = description.layout
        try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
            let address = memory.baseAddress.unsafelyUnwrapped
            try decode(id, &reader, into: address)
            defer { layout.destroy(address, 1) }
            let isSame = description.properties.allSatisfy {
                hasSameValue($0, of: id.entity, at: current + $0.offset, as: address + $0.offset)
            }
            guard isSame else { throw reader.failure("row \(id.row) is deleted with another value than it has") }
        }
        rules.didDelete(id, at: current, in: snapshot.schema)
        if keepsIndexes {
            snapshot.remove(id, scratch: &scratch)
        } else {
            snapshot.entities[id.entity].rows.remove(id.row)
        }
    }

    mutating func remove(_ pair: LinkTable.Pair, from list: Int, _ reader: ByteReader) throws {
        guard snapshot.linkTables[list].key(of: pair.member, of: pair.owner) == pair.key,
            snapshot.linkTables[list].remove(pair.member, of: pair.owner)
        else { throw reader.failure("member \(pair.member) of row \(pair.owner) is removed, but is not there") }
        if let derived = derivedList(of: list) { snapshot.linkTables[derived].remove(pair.owner, of: pair.member) }
        rules.didLink(pair, in: list)
    }

    mutating func add(_ pair: LinkTable.Pair, to list: Int, _ reader: ByteReader) throws {
        guard !snapshot.linkTables[list].contains(pair.member, of: pair.owner) else {
            throw reader.failure("member \(pair.member) of row \(pair.owner) is added, but is there")
        }
        snapshot.linkTables[list].insert(pair.member, of: pair.owner, key: pair.key)
        if let derived = derivedList(of: list) {
            snapshot.linkTables[derived].insert(pair.owner, of: pair.member, key: nil)
        }
        // All of a checkpoint is checked when it is complete.
        if promised == nil { rules.didLink(pair, in: list) }
    }

    /// The other side's list, where it is not in the file but follows from this one.
    private func derivedList(of list: Int) -> Int? {
        let tables = snapshot.schema.linkTables
        return tables[list].inverse.flatMap { tables[$0].isRecorded(as: $0) ? nil : $0 }
    }

    // MARK: Values

    /// Initialises a row's memory, or throws and leaves none of it initialised.
    private func decode(_ id: RowID, _ reader: inout ByteReader, into address: UnsafeMutableRawPointer) throws {
        let properties = snapshot.schema.entities[id.entity].properties
        for (number, property) in properties.enumerated() {
            do {
                try reading(property, of: id) { try property.operations.decode(&reader, address + property.offset) }
            } catch {
                for property in properties.prefix(number) {
                    property.operations.deinitialize(address + property.offset)
                }
                throw error
            }
        }
    }

    /// Says whose value it is that its type cannot read.
    @inline(__always)
    func reading(_ property: Property, of id: RowID, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as UnreadableValue {
            throw GraphError.valueNotReadable(
                path: path,
                object: snapshot.schema.id(of: id),
                property: property.name,
                type: error.type.shortened(to: 200),
                reason: error.reason
            )
        }
    }

    /// Whether a record tells the truth about a value that the state has.
    ///
    /// Of a program's own type nobody can tell for sure: a type that gives a missing key a default, or has learnt a case since,
    /// reads other values from the same records than the program did that wrote them. So it is a remark if a value of such a type
    /// neither has the same bytes nor equals the other; the row's version and the record's checksums were checked all the same.
    private mutating func hasSameValue(
        _ property: Property,
        of entity: Int,
        at address: UnsafeRawPointer,
        as other: UnsafeRawPointer
    ) -> Bool {
        guard let matches = property.operations.matchesRecord else {
            return property.operations.isIdentical(address, other)
        }
        if !matches(address, other) {
            let name = "\(snapshot.schema.entities[entity].name).\(property.name)"
            let remark = "\(name): some values read differently than when they were written"
            if !remarks.contains(remark) { remarks.append(remark) }
        }
        return true
    }
}

extension Property {
    /// Replaces the value at the address by one that is read, or throws and leaves it as it is.
    fileprivate func decode(_ reader: inout ByteReader, replacing address: UnsafeMutableRawPointer) throws {
        try withUnsafeTemporaryAllocation(byteCount: max(sizeBytes, 1), alignment: alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let value = memory.baseAddress.unsafelyUnwrapped
            try operations.decode(&reader, value)
            operations.assign(address, value)
            operations.deinitialize(value)
        }
    }
}
