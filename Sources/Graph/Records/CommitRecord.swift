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
/// | number of link tables that follow | varint |
/// | each link table: its entity's and its property's tag | varints |
/// | … links removed: count; each: distance to the owner before, member, key | varints, bytes |
/// | … links added: the same | |
///
/// A link table holds the links of a many-to-many relationship, or the order of a one-to-many relationship; of the two sides of
/// a many-to-many relationship the first one is written, and the other one only if it is ordered. Link tables come in the order
/// of their entities and properties, links in ascending order of owner, member and key. A key is a string of bytes, and there
/// only where the link table is ordered; a link whose key changed is removed and added.
///
/// Entities come in ascending order of their tags, rows in ascending order of their numbers; the first distance counts
/// from 0. Stored properties are all that the schema record lists but to-many relationships, in its order.
struct CommitRecord {
    let schema: Schema
    private var writer: ByteWriter

    // MARK: Writing

    /// - Throws: `GraphError.notEncodable`, from a `Codable` value.
    static func encode(
        _ commit: WorkingState,
        counters: [RowNumber],
        time: UInt64,
        author: String
    ) throws(GraphError) -> [UInt8] {
        var record = CommitRecord(schema: commit.schema, writer: ByteWriter(capacity: 256))
        record.writer.append(Head(number: commit.snapshot.commit, time: time, author: author), counters)
        let changed = commit.changes.entities.filter { !$0.changes.isEmpty }
        record.writer.appendVarint(UInt64(changed.count))
        for (entity, _) in changed { try record.append(entity, commit) }
        record.appendLists(commit)
        return record.writer.bytes
    }

    /// The record of a commit that changes nothing.
    static func withoutChanges(_ head: Head, counters: [RowNumber]) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(head, counters)
        // No entities and no link tables.
        writer.appendVarint(0)
        writer.appendVarint(0)
        return writer.bytes
    }

    private mutating func appendLists(_ commit: WorkingState) {
        var tables: [(LinkTableDescription, LinkTable.Difference)] = []
        commit.difference.forEachLinkTable { number, table, difference in
            if table.isRecorded(as: number) { tables.append((table, difference)) }
        }
        writer.appendVarint(UInt64(tables.count))
        for (table, difference) in tables {
            writer.appendVarint(SchemaRecord.tag(table.entity))
            writer.appendVarint(SchemaRecord.tag(table.property))
            writer.appendLinks(difference.removed)
            writer.appendLinks(difference.added)
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

    // MARK: Reading

    /// What a payload begins with.
    struct Head {
        let number: CommitNumber
        let time: UInt64
        let author: String
    }

    static func head(of payload: UnsafeRawBufferPointer) throws -> Head {
        var reader = ByteReader(payload)
        return try reader.readHead()
    }

    static func head(of payload: [UInt8]) throws -> Head { try payload.withUnsafeBytes { try head(of: $0) } }

    /// Hands on what a payload says, in its order. What can be seen without knowing the state is checked; the rest is for the
    /// handler, which reads the values.
    static func decode(
        _ payload: UnsafeRawBufferPointer,
        of schema: Schema,
        into handler: inout some CommitHandler
    ) throws {
        var reader = ByteReader(payload)
        let number = try reader.readHead().number
        try handler.begin(number, counters: try reader.readCounters(of: schema), reader)
        var last = -1
        for _ in 0..<(try reader.readCount(minimumBytes: 4)) {
            let entity = try reader.readEntity(of: schema)
            guard entity > last else { throw reader.failure("entities out of order") }
            last = entity
            try handler.insertRows(of: entity, &reader)
            try forEachRow(of: entity, &reader) { try handler.update($0, version: $1, &$2) }
            try forEachRow(of: entity, &reader) { try handler.delete($0, version: $1, &$2) }
        }
        last = -1
        for _ in 0..<(try reader.readCount(minimumBytes: 4)) {
            let table = try reader.readLinkTable(of: schema)
            guard table > last else { throw reader.failure("link tables out of order") }
            last = table
            try reader.forEachLink(in: schema.linkTables[table]) { try handler.remove($0, from: table, $1) }
            try handler.addLinks(to: table, schema.linkTables[table], &reader)
        }
        try reader.expectEnd()
    }

    static func forEachRow(
        of entity: Int,
        _ reader: inout ByteReader,
        _ body: (RowID, RowVersion, inout ByteReader) throws -> Void
    ) throws {
        var previous: RowNumber = 0
        for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
            let distance = try reader.readVarint()
            let (row, overflow) = previous.addingReportingOverflow(distance)
            guard distance > 0, !overflow else { throw reader.failure("row \(row) is out of order") }
            let version = try reader.readVarint()
            guard version > 0, version < .max else { throw reader.failure("version \(version) of row \(row)") }
            try body(RowID(entity: entity, row: row), RowVersion(version), &reader)
            previous = row
        }
    }
}

extension CommitRecord {
    /// Calls the body with each property of an updated row; its values before and after are next in the reader.
    static func forEachUpdatedProperty(
        among properties: [Property], _ reader: inout ByteReader,
        _ body: (Property, inout ByteReader) throws -> Void
    ) throws {
        for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
            let tag = try reader.readVarint()
            guard tag >= 1, tag <= UInt64(properties.count) else {
                throw reader.failure("no property has the tag \(tag)")
            }
            let property = properties[Int(tag) - 1]
            guard property.isStored else { throw reader.failure("\(property.name) is not stored") }
            try body(property, &reader)
        }
    }
}

/// Takes what a commit record says, part by part, as the handler of LevelDB's write batches does. Rows and links come in the
/// record's order; a row's values, as the record has them, are next in the reader that comes with it. Throws what is wrong.
protocol CommitHandler {
    mutating func begin(
        _ number: CommitNumber,
        counters: [(entity: Int, next: RowNumber)],
        _ reader: ByteReader
    ) throws
    /// Inserts the rows that are next in the reader.
    mutating func insertRows(of entity: Int, _ reader: inout ByteReader) throws
    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws
    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws
    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws
    mutating func remove(_ link: LinkTable.Link, from table: Int, _ reader: ByteReader) throws
    /// Adds the links that are next in the reader.
    mutating func addLinks(to number: Int, _ table: LinkTableDescription, _ reader: inout ByteReader) throws
}

extension CommitHandler {
    mutating func insertRows(of entity: Int, _ reader: inout ByteReader) throws {
        try CommitRecord.forEachRow(of: entity, &reader) { try insert($0, version: $1, &$2) }
    }
}

extension ByteWriter {
    mutating func append(_ head: CommitRecord.Head, _ counters: [RowNumber]) {
        appendVarint(head.number.number)
        appendFixed(head.time)
        appendString(head.author)
        appendCounters(counters)
    }

    /// By entity: the first row number that is not handed out. A varint of their number, then tag and number each.
    mutating func appendCounters(_ counters: [RowNumber]) {
        appendVarint(UInt64(counters.count))
        for (entity, next) in counters.enumerated() {
            appendVarint(SchemaRecord.tag(entity))
            appendVarint(next)
        }
    }

    /// Their number, then each link: distance to the owner before, member, and the key where the link table is ordered.
    mutating func appendLinks(_ links: [LinkTable.Link]) {
        appendVarint(UInt64(links.count))
        var previous: RowNumber = 0
        for link in links {
            appendVarint(link.owner - previous)
            previous = link.owner
            appendVarint(link.member)
            guard let key = link.key else { continue }
            appendVarint(UInt64(key.bytes.count))
            append(contentsOf: key.bytes)
        }
    }
}

extension ByteReader {
    fileprivate mutating func readHead() throws -> CommitRecord.Head {
        CommitRecord.Head(
            number: CommitNumber(try readVarint()), time: try readFixed(), author: try readString())
    }

    mutating func readCounters(of schema: Schema) throws -> [(entity: Int, next: RowNumber)] {
        var counters: [(Int, RowNumber)] = []
        for _ in 0..<(try readCount(minimumBytes: 2)) {
            counters.append((try readEntity(of: schema), try readVarint()))
        }
        return counters
    }

    /// Reads an entity's tag.
    mutating func readEntity(of schema: Schema) throws -> Int {
        let tag = try readVarint()
        guard tag >= 1, tag <= UInt64(schema.entities.count) else { throw failure("no entity has the tag \(tag)") }
        return Int(tag) - 1
    }

    /// Reads the tags of a link table's entity and property.
    mutating func readLinkTable(of schema: Schema) throws -> Int {
        let entity = try readEntity(of: schema)
        let tag = try readVarint()
        let number = schema.linkTables.firstIndex { table in
            table.entity == entity && SchemaRecord.tag(table.property) == tag
        }
        guard let number, schema.linkTables[number].isRecorded(as: number) else {
            throw failure("property \(tag) of entity \(entity) has no link table of its own")
        }
        return number
    }

    mutating func forEachLink(
        in table: LinkTableDescription,
        _ body: (LinkTable.Link, ByteReader) throws -> Void
    ) throws {
        var previous = LinkTable.Link(owner: 0, member: 0)
        for _ in 0..<(try readCount(minimumBytes: table.isOrdered ? 3 : 2)) {
            let (owner, overflow) = previous.owner.addingReportingOverflow(try readVarint())
            let member = try readVarint()
            guard !overflow, owner > 0, member > 0, (owner, member) > (previous.owner, previous.member) else {
                throw failure("member \(member) of row \(owner) is out of order")
            }
            var key: OrderKey?
            if table.isOrdered {
                key = OrderKey(bytes: try take(try readCount(minimumBytes: 1)))
                if key == nil { throw failure("the key of member \(member) of row \(owner)") }
            }
            let link = LinkTable.Link(owner: owner, member: member, key: key)
            try body(link, self)
            previous = link
        }
    }
}

extension ChangeOrigin {
    /// What a record says of it.
    init(_ head: CommitRecord.Head) {
        author = head.author.isEmpty ? nil : head.author
        commit = head.number
    }
}
