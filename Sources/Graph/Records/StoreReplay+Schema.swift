/// What the file's schema records say, and how that agrees with the program's schema.
extension StoreReplay {
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

    /// What to say of a commit of others that does not fit: if the program has other rules than the file, the commit may be sound.
    func explained(_ error: GraphError) -> GraphError {
        guard case .invalidRecord(_, _, _, let reason) = error, let changes = try? changes(),
            !changes.allSatisfy(\.isNeutral)
        else { return error }
        return (try? mismatch("a commit does not fit the program: \(reason)")) ?? error
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
    func refusal(of entry: JournalEntry, _ reason: String) -> GraphError {
        let refusal = GraphError.invalidRecord(
            path: path, offset: entry.offset, sequence: entry.sequence.number, reason: reason)
        guard agreement == .otherNames else { return refusal }
        return (try? mismatch("record \(entry.sequence) does not fit the program: \(reason)")) ?? refusal
    }

    mutating func applySchema(_ payload: UnsafeRawBufferPointer) throws {
        let record = try SchemaRecord(reading: payload)
        let isFirst = lastRecord == nil
        if let lastRecord, !record.isRecordedLike(lastRecord) {
            throw SchemaRecord.Malformed(reason: "the schema is another one than that of the records before")
        }
        // Only the program's texts may be others.
        let isSame = lastRecord?.entities == record.entities
        lastRecord = record
        guard !isSame else { return }
        guard let program else { return try adopt(record, isFirst: isFirst) }
        guard record.isRecordedLike(program) else { throw try mismatch() }
        agreement = Self.agreement(record, program, snapshot.schema)
    }

    static func agreement(_ record: SchemaRecord, _ program: SchemaRecord, _ schema: Schema) -> Agreement {
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
            schema = try Schema(record, after: isFirst ? nil : snapshot.schema)
        } catch {
            throw SchemaRecord.Malformed(reason: "\(error)".shortened(to: 400))
        }
        guard !isFirst else {
            (snapshot, counters) = (Snapshot(schema: schema), schema.firstRows)
            return
        }
        snapshot = Snapshot(snapshot, of: schema)
        // The indexes may be others.
        indexBase = nil
        if keepsIndexes { _ = snapshot.buildIndexes() }
    }
}
