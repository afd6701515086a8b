/// The payload of a commit record.
///
/// | field | encoding |
/// |---|---|
/// | commit number | varint |
/// | time, nanoseconds since 1970, for information only | 8 bytes |
/// | author, for information only | string |
/// | row counters | see `appendCounters` |
/// | number of entities that follow | varint |
/// | each entity: its tag | varint |
/// | … inserts: count; each: distance to the row before, version, all stored properties | varints, values |
/// | … updates: count; each: distance, new version, number of properties; each: tag, old value, new value | |
/// | … deletes: count; each: distance, last version, all stored properties | |
/// | number of lists that follow | varint |
/// | each list: its entity's and its property's tag | varints |
/// | … pairs removed: count; each: distance to the owner before, member, key | varints, bytes |
/// | … pairs added: the same | |
///
/// A list holds the links of a many-to-many relationship, or the order of a one-to-many relationship; of the two sides of a
/// many-to-many relationship the first one is listed, and the other one only if it is ordered. Lists come in the order of
/// their entities and properties, pairs in ascending order of owner, member and key. A key is a string of bytes, and there
/// only where the list is ordered; a pair whose key changed is removed and added.
///
/// Entities come in ascending order of their tags, rows in ascending order of their numbers; the first distance counts
/// from 0. Stored properties are all that the schema record lists but to-many relationships, in its order.
struct CommitRecord {
    let schema: Schema
    private var writer: ByteWriter

    /// - Throws: `GraphError.notEncodable`, from a `Codable` value.
    static func encode(
        _ commit: WorkingState,
        counters: [RowNumber],
        time: UInt64,
        author: String
    ) throws(GraphError) -> [UInt8] {
        var record = CommitRecord(schema: commit.schema, writer: ByteWriter(capacity: 256))
        record.writer.appendVarint(commit.snapshot.commit.number)
        record.writer.appendFixed(time)
        record.writer.appendString(author)
        record.writer.appendCounters(counters)
        let changed = commit.changes.entities.filter { !$0.changes.isEmpty }
        record.writer.appendVarint(UInt64(changed.count))
        for (entity, _) in changed { try record.append(entity, commit) }
        record.appendLists(commit)
        return record.writer.bytes
    }

    private mutating func appendLists(_ commit: WorkingState) {
        let numbers = schema.adjacencies.indices.filter { number in
            schema.adjacencies[number].isRecorded(as: number)
                && !commit.snapshot.adjacencies[number].isIdentical(to: commit.base.adjacencies[number])
        }
        writer.appendVarint(UInt64(numbers.count))
        for number in numbers {
            let list = schema.adjacencies[number]
            writer.appendVarint(SchemaRecord.tag(list.entity))
            writer.appendVarint(SchemaRecord.tag(list.property))
            let difference = commit.snapshot.adjacencies[number].difference(from: commit.base.adjacencies[number])
            append(difference.removed)
            append(difference.added)
        }
    }

    private mutating func append(_ pairs: [Adjacency.Pair]) {
        writer.appendVarint(UInt64(pairs.count))
        var previous: RowNumber = 0
        for pair in pairs {
            writer.appendVarint(pair.owner - previous)
            previous = pair.owner
            writer.appendVarint(pair.member)
            guard let key = pair.key else { continue }
            writer.appendVarint(UInt64(key.bytes.count))
            writer.append(contentsOf: key.bytes)
        }
    }

    private mutating func append(_ entity: Int, _ commit: WorkingState) throws(GraphError) {
        var rows: [ChangeKind: [RowNumber]] = [:]
        commit.changes[entity].forEachChange { row, kind, _ in
            rows[kind, default: []].append(row)
        }
        writer.appendVarint(SchemaRecord.tag(entity))
        do {
            try append(rows[.inserted] ?? [], commit.snapshot.entities[entity].rows) { record, _, address in
                try record.appendRow(at: address, of: entity)
            }
            try append(rows[.updated] ?? [], commit.snapshot.entities[entity].rows) { record, row, address in
                guard let original = commit.base.entities[entity].rows.address(of: row) else { return }
                try record.appendUpdate(from: original, to: address, of: entity)
            }
            try append(rows[.deleted] ?? [], commit.base.entities[entity].rows) { record, _, address in
                try record.appendRow(at: address, of: entity)
            }
        } catch {
            throw .notEncodable(entity: schema.entities[entity].name, reason: "\(error)".shortened(to: 400))
        }
    }

    private mutating func append(
        _ rows: [RowNumber],
        _ table: RowTable,
        _ body: (inout CommitRecord, RowNumber, UnsafeRawPointer) throws -> Void
    ) throws {
        writer.appendVarint(UInt64(rows.count))
        var previous: RowNumber = 0
        for row in rows {
            guard let address = table.address(of: row), let version = table.version(of: row) else {
                preconditionFailure("row \(row) is among the changes, but not in the table")
            }
            writer.appendVarint(row - previous)
            previous = row
            writer.appendVarint(version.number)
            try body(&self, row, address)
        }
    }

    private mutating func appendRow(at address: UnsafeRawPointer, of entity: Int) throws {
        for property in schema.entities[entity].properties where property.isStored {
            try property.operations.encode(address + property.offset, &writer)
        }
    }

    private mutating func appendUpdate(from old: UnsafeRawPointer, to new: UnsafeRawPointer, of entity: Int) throws {
        let changed = schema.entities[entity].properties.enumerated().filter { _, property in
            !property.isIdentical(in: old, new)
        }
        writer.appendVarint(UInt64(changed.count))
        for (number, property) in changed {
            writer.appendVarint(SchemaRecord.tag(number))
            try property.operations.encode(old + property.offset, &writer)
            try property.operations.encode(new + property.offset, &writer)
        }
    }
}

extension ByteWriter {
    /// By entity: the first row number that is not handed out. A varint of their number, then tag and number each.
    mutating func appendCounters(_ counters: [RowNumber]) {
        appendVarint(UInt64(counters.count))
        for (entity, next) in counters.enumerated() {
            appendVarint(SchemaRecord.tag(entity))
            appendVarint(next)
        }
    }
}
