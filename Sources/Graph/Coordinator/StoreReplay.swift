/// Builds the state of a store from its journal's records, and believes none of them: whatever a record says is checked
/// against the schema and the state so far, so that a state that comes out of it keeps every rule.
///
/// Records name things by tag, so old names do no harm as long as the file's last schema record is the program's.
struct StoreReplay: Sendable {
    private(set) var snapshot: Snapshot
    /// By entity, the first row number to hand out.
    private(set) var counters: [RowNumber]
    private let path: String
    private let schemaRecord: SchemaRecord
    /// How the file's last schema record so far compares with the program's.
    private var agreement = SchemaRecord.Agreement.same
    /// That record. What differs is found only when it is asked for, since a file may have many.
    private var fileRecord: [UInt8] = []
    private var scratch = EntryScratch()

    init(schema: Schema, path: String) {
        snapshot = Snapshot(schema: schema)
        counters = schema.entities.map { _ in 1 }
        self.path = path
        schemaRecord = SchemaRecord(schema)
    }

    /// - Throws: `.schemaMismatch` or `.invalidRecord`; the replay is of no use afterwards.
    mutating func apply(_ entry: JournalEntry) throws(GraphError) {
        do {
            switch entry.kind {
            case .schema: applySchema(entry.payload)
            case _ where agreement == .otherSchema: break
            case .commit: try applyCommit(entry.payload)
            case .mark, .close:
                var reader = ByteReader(entry.payload)
                try applyCounters(&reader)
                try reader.expectEnd()
            case .snapshotChunk, .snapshotEnd:
                throw ByteReader.Failure(reason: "compacted files are not supported yet", offset: 0)
            }
        } catch let error as GraphError {
            throw error
        } catch let failure as ByteReader.Failure {
            let reason = "\(failure.reason) (byte \(failure.offset) of the payload)"
            throw refusal(of: entry, reason)
        } catch {
            throw refusal(of: entry, "\(error)")
        }
    }

    /// Ends the replay: gives what the file has to be told before the program may go on with it.
    ///
    /// - Throws: `.schemaMismatch`, if the file's last schema record has names that the program does not know.
    func recordsToAppend() throws(GraphError) -> [Journal.Record] {
        switch agreement {
        case .same:
            return []
        case .originalNames:
            return [Journal.Record(kind: .schema, payload: schemaRecord.bytes)]
        case .otherNames, .otherSchema:
            throw .schemaMismatch(path: path, differences: schemaRecord.differences(from: fileRecord))
        }
    }

    /// Where names are others, the values that do not fit may belong to other properties.
    private func refusal(of entry: JournalEntry, _ reason: String) -> GraphError {
        if agreement == .otherNames {
            let difference = "record \(entry.sequence) does not fit the program: \(reason)"
            return .schemaMismatch(path: path, differences: schemaRecord.differences(from: fileRecord) + [difference])
        }
        return .invalidRecord(path: path, offset: entry.offset, sequence: entry.sequence, reason: reason)
    }

    /// A file of another schema is read to its end nevertheless: what its things are called now, the last record says.
    private mutating func applySchema(_ payload: UnsafeRawBufferPointer) {
        let next = schemaRecord.agreement(with: payload)
        if agreement == .otherSchema {
            // Whatever it says, records between were left out.
            guard next == .otherNames || next == .otherSchema else { return }
        } else {
            agreement = next
        }
        fileRecord = Array(payload)
    }

    private mutating func applyCounters(_ reader: inout ByteReader) throws {
        for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
            let entity = try readEntity(&reader)
            let next = try reader.readVarint()
            guard next >= counters[entity], next <= RowCounters.maximum else {
                throw reader.failure("row counter \(next) after \(counters[entity])")
            }
            counters[entity] = next
        }
    }

    private mutating func applyCommit(_ payload: UnsafeRawBufferPointer) throws {
        var reader = ByteReader(payload)
        let number = CommitNumber(try reader.readVarint())
        guard number == snapshot.commit.next else {
            throw reader.failure("commit \(number) after commit \(snapshot.commit)")
        }
        _ = try reader.readFixed(UInt64.self)
        _ = try reader.readString()
        try applyCounters(&reader)
        var touched: [(entity: Int, written: [RowNumber], deleted: [RowNumber])] = []
        for _ in 0..<(try reader.readCount(minimumBytes: 4)) {
            let entity = try readEntity(&reader)
            guard entity > touched.last?.entity ?? -1 else { throw reader.failure("entities out of order") }
            let inserted = try applyInserts(&reader, entity)
            let updated = try applyUpdates(&reader, entity)
            touched.append((entity, inserted + updated, try applyDeletes(&reader, entity)))
        }
        guard try reader.readVarint() == 0 else { throw reader.failure("links, which this version does not know") }
        try reader.expectEnd()
        for (entity, written, deleted) in touched {
            for row in written { try checkRules(of: row, entity, reader) }
            for row in deleted { try checkUnreferenced(row, entity, reader) }
        }
        snapshot.commit = number
    }

    private mutating func applyInserts(_ reader: inout ByteReader, _ entity: Int) throws -> [RowNumber] {
        try forEachRow(&reader, entity) { replay, reader, row, version in
            guard !replay.snapshot.entities[entity].rows.contains(row) else {
                throw reader.failure("row \(row) is inserted, but exists")
            }
            guard version == RowVersion.none.next else {
                throw reader.failure("row \(row) is inserted at version \(version)")
            }
            let layout = replay.snapshot.schema.entities[entity].layout
            try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
                // There is at least one byte, so the memory has an address.
                let address = memory.baseAddress.unsafelyUnwrapped
                try replay.decodeRow(&reader, entity, into: address)
                replay.snapshot.set(row, of: entity, version: version, moving: address, scratch: &replay.scratch)
            }
        }
    }

    private mutating func applyUpdates(_ reader: inout ByteReader, _ entity: Int) throws -> [RowNumber] {
        try forEachRow(&reader, entity) { replay, reader, row, version in
            let rows = replay.snapshot.entities[entity].rows
            guard let address = rows.address(of: row), version == rows.version(of: row)?.next else {
                throw reader.failure("row \(row) is updated to version \(version), but is not at the one before")
            }
            let description = replay.snapshot.schema.entities[entity]
            try description.layout.withCopy(of: address) { copy in
                for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
                    let tag = try reader.readVarint()
                    guard tag >= 1, tag <= UInt64(description.properties.count) else {
                        throw reader.failure("no property has the tag \(tag)")
                    }
                    let property = description.properties[Int(tag) - 1]
                    guard property.isStored else { throw reader.failure("\(property.name) is not stored") }
                    let place = copy + property.offset
                    try property.decode(&reader, replacing: place)
                    guard property.hasSameValue(at: place, as: address + property.offset) else {
                        throw reader.failure("\(property.name) of row \(row) had another value before")
                    }
                    try property.decode(&reader, replacing: place)
                }
                replay.snapshot.set(row, of: entity, version: version, copying: copy, scratch: &replay.scratch)
            }
        }
    }

    private mutating func applyDeletes(_ reader: inout ByteReader, _ entity: Int) throws -> [RowNumber] {
        try forEachRow(&reader, entity) { replay, reader, row, version in
            guard replay.snapshot.entities[entity].rows.version(of: row) == version else {
                throw reader.failure("row \(row) is deleted at version \(version), which it does not have")
            }
            let description = replay.snapshot.schema.entities[entity]
            let layout = description.layout
            try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
                let address = memory.baseAddress.unsafelyUnwrapped
                try replay.decodeRow(&reader, entity, into: address)
                defer { layout.destroy(address, 1) }
                guard let current = replay.snapshot.entities[entity].rows.address(of: row),
                    description.properties.allSatisfy({
                        $0.hasSameValue(at: current + $0.offset, as: address + $0.offset)
                    })
                else { throw reader.failure("row \(row) is deleted with another value than it has") }
            }
            replay.snapshot.remove(row, of: entity, scratch: &replay.scratch)
        }
    }

    /// Reads a section's rows and gives their numbers back.
    private mutating func forEachRow(
        _ reader: inout ByteReader,
        _ entity: Int,
        _ body: (inout StoreReplay, inout ByteReader, RowNumber, RowVersion) throws -> Void
    ) throws -> [RowNumber] {
        var rows: [RowNumber] = []
        var previous: RowNumber = 0
        for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
            let distance = try reader.readVarint()
            let (row, overflow) = previous.addingReportingOverflow(distance)
            guard distance > 0, !overflow, row < counters[entity] else {
                throw reader.failure("row \(row) is out of order or beyond the row counter")
            }
            let version = try reader.readVarint()
            guard version > 0, version < .max else { throw reader.failure("version \(version) of row \(row)") }
            try body(&self, &reader, row, RowVersion(version))
            rows.append(row)
            previous = row
        }
        return rows
    }

    /// Initialises a row's memory, or throws and leaves none of it initialised.
    private func decodeRow(_ reader: inout ByteReader, _ entity: Int, into address: UnsafeMutableRawPointer) throws {
        let properties = snapshot.schema.entities[entity].properties
        for (number, property) in properties.enumerated() {
            do {
                try property.operations.decode(&reader, address + property.offset)
            } catch {
                for property in properties.prefix(number) {
                    property.operations.deinitialize(address + property.offset)
                }
                throw error
            }
        }
    }

    // MARK: Rules

    private func checkRules(of row: RowNumber, _ entity: Int, _ reader: ByteReader) throws {
        guard let address = snapshot.entities[entity].rows.address(of: row) else { return }
        let description = snapshot.schema.entities[entity]
        for (number, index) in description.indexes.enumerated() where index.isUnique {
            if let other = snapshot.rowSharingKey(of: row, at: address, index: number, of: entity) {
                throw reader.failure("rows \(row) and \(other) of \(description.name) share a unique value")
            }
        }
        for toOne in description.toOnes {
            let target = toOne.target(ofRowAt: address)
            guard target == 0 || snapshot.entities[toOne.target].rows.contains(target) else {
                throw reader.failure("row \(row) of \(description.name) refers to row \(target), which is not there")
            }
        }
    }

    private func checkUnreferenced(_ row: RowNumber, _ entity: Int, _ reader: ByteReader) throws {
        for reference in snapshot.schema.entities[entity].references
        where snapshot.countReferrers(to: row, of: reference.entity, through: reference.toOne) > 0 {
            throw reader.failure("row \(row) is deleted while others refer to it")
        }
    }

    private func readEntity(_ reader: inout ByteReader) throws -> Int {
        let tag = try reader.readVarint()
        guard tag >= 1, tag <= UInt64(counters.count) else { throw reader.failure("no entity has the tag \(tag)") }
        return Int(tag) - 1
    }
}

extension Property {
    /// Whether a record tells the truth about a value that the state has; always true where nobody can tell.
    fileprivate func hasSameValue(at address: UnsafeRawPointer, as other: UnsafeRawPointer) -> Bool {
        !operations.isExact || operations.isIdentical(address, other)
    }

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
