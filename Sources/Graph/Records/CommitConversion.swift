/// Writes the records of commits anew for another schema, so that history outlives a migration.
///
/// It does to the values before and after a commit what `SnapshotConversion` does to those of the state, so that the new
/// records lead from any converted state to the next one, and nobody who reads them has to know the old schema. A record with
/// a value that has no counterpart, which no state behind it needs to have, is refused.
struct CommitConversion: Sendable {
    private let old: Schema
    private let new: Schema
    /// By entity of the old schema; nil for one that is gone.
    private var entities: [ConvertedEntity?]
    private let links: [ConvertedLinks]
    /// By entity of the new schema, the number of the old one.
    private let sources: [Int?]
    private let newest: Snapshot
    /// Of added properties whose default is another one each time, by number, in objects that the newest state does not have:
    /// all records of an object have the same.
    private var defaults: [RowID: [Int: [UInt8]]] = [:]

    // Of the record that is being converted:
    private var counters: [RowNumber] = []
    /// By entity of the new schema.
    private var rows: [Int: ChangedRows] = [:]
    /// By link table of the old schema.
    private var differences: [Int: LinkTable.Difference] = [:]

    /// - Parameter newest: what the state that the records lead to has become.
    /// - Returns: nil if links of the past were stored in another way, or something was lost that objects of the past may have
    ///   had.
    init?(_ comparison: SchemaComparison, newest: Snapshot) {
        guard comparison.storesRelationshipsAlike,
            comparison.asIfThereWereObjects.refused.allSatisfy(\.isRemoval)
        else { return nil }
        (old, new, self.newest) = (comparison.old, comparison.new, newest)
        sources = comparison.entities.map(\.number)
        entities = old.entities.map { _ in nil }
        for (number, source) in comparison.entities.enumerated() {
            guard let oldNumber = source.number else { continue }
            entities[oldNumber] = ConvertedEntity(number, source.properties, oldNumber, comparison)
        }
        links = ConvertedLinks.all(comparison)
    }

    /// - Throws: what is wrong with the record, or that a value has no counterpart; what a type throws that cannot encode its
    ///   default.
    mutating func convert(_ record: UnsafeRawBufferPointer) throws -> [UInt8] {
        (counters, rows, differences) = (old.firstRows, [:], [:])
        try CommitRecord.decode(record, of: old, into: &self)
        var writer = ByteWriter(capacity: record.count + 64)
        writer.append(try CommitRecord.head(of: record), sources.map { $0.map { counters[$0] } ?? 1 })
        writer.appendVarint(UInt64(rows.count))
        for (entity, rows) in rows.sorted(by: { $0.key < $1.key }) {
            writer.appendVarint(SchemaRecord.tag(entity))
            rows.append(to: &writer)
        }
        let changed = links.map { ($0.table, $0.difference(in: differences)) }.filter { !$0.1.isEmpty }
        writer.appendVarint(UInt64(changed.count))
        for (table, difference) in changed {
            writer.appendVarint(SchemaRecord.tag(new.linkTables[table].entity))
            writer.appendVarint(SchemaRecord.tag(new.linkTables[table].property))
            writer.appendLinks(difference.removed)
            writer.appendLinks(difference.added)
        }
        return writer.bytes
    }

    /// The value of an added property.
    private mutating func added(_ converted: ConvertedProperty, of id: RowID) throws -> [UInt8] {
        let (number, property) = (converted.number, converted.property)
        if let address = newest.address(of: id) {
            var writer = ByteWriter()
            try property.operations.encode(address + property.offset, &writer)
            return writer.bytes
        }
        if let known = converted.constant ?? defaults[id]?[number] { return known }
        let value = try PropertyConversion.addedValue(of: property)
        defaults[id, default: [:]][number] = value
        return value
    }

    /// All values of a row, which are next in the reader.
    private mutating func row(_ id: RowID, of entity: ConvertedEntity, _ reader: inout ByteReader) throws -> [UInt8] {
        let values = try entity.oldProperties.map { $0.isStored ? try reader.takeValue(of: $0) : nil }
        var writer = ByteWriter()
        for property in entity.stored {
            if let source = property.source, let value = values[source] {
                try property.append(value, to: &writer)
            } else {
                writer.append(contentsOf: try added(property, of: id))
            }
        }
        return writer.bytes
    }
}

extension CommitConversion: CommitHandler {
    mutating func begin(
        _ number: CommitNumber, counters: [(entity: Int, next: RowNumber)], _ reader: ByteReader
    ) throws {
        for (entity, next) in counters { self.counters[entity] = next }
    }

    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let entity = entities[id.entity] else { return try passOver(id, &reader) }
        let row = try row(RowID(entity: entity.number, row: id.row), of: entity, &reader)
        rows[entity.number, default: ChangedRows()].inserts.add(id.row, version, row)
    }

    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let entity = entities[id.entity] else { return try passOver(id, &reader) }
        let row = try row(RowID(entity: entity.number, row: id.row), of: entity, &reader)
        rows[entity.number, default: ChangedRows()].deletes.add(id.row, version, row)
    }

    /// A row of which only removed properties have changed stays in the record, for its version. No change shows it.
    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        let entity = entities[id.entity]
        var changes: [(property: ConvertedProperty, before: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer)] = []
        let properties = old.entities[id.entity].properties
        try CommitRecord.forEachUpdatedProperty(among: properties, &reader) { property, reader in
            let (before, after) = (try reader.takeValue(of: property), try reader.takeValue(of: property))
            if let converted = entity?.byOldName[property.name] { changes.append((converted, before, after)) }
        }
        guard let entity else { return }
        var writer = ByteWriter()
        writer.appendVarint(UInt64(changes.count))
        for (property, before, after) in changes.sorted(by: { $0.property.number < $1.property.number }) {
            writer.appendVarint(SchemaRecord.tag(property.number))
            try property.append(before, to: &writer)
            try property.append(after, to: &writer)
        }
        rows[entity.number, default: ChangedRows()].updates.add(id.row, version, writer.bytes)
    }

    mutating func remove(_ link: LinkTable.Link, from table: Int, _ reader: ByteReader) throws {
        differences[table, default: LinkTable.Difference()].removed.append(link)
    }

    mutating func addLinks(to number: Int, _ table: LinkTableDescription, _ reader: inout ByteReader) throws {
        try reader.forEachLink(in: table) { link, _ in
            differences[number, default: LinkTable.Difference()].added.append(link)
        }
    }

    private func passOver(_ id: RowID, _ reader: inout ByteReader) throws {
        for property in old.entities[id.entity].properties where property.isStored { try property.skip(&reader) }
    }
}

extension ByteReader {
    fileprivate mutating func takeValue(of property: Property) throws -> UnsafeRawBufferPointer {
        var ahead = self
        try property.skip(&ahead)
        return try take(ahead.offset - offset)
    }
}

/// The rows of one entity in a record.
private struct ChangedRows {
    var inserts = Section()
    var updates = Section()
    var deletes = Section()

    struct Section {
        private var count = 0
        private var last: RowNumber = 0
        private var writer = ByteWriter()

        mutating func add(_ row: RowNumber, _ version: RowVersion, _ values: [UInt8]) {
            writer.appendVarint(row - last)
            writer.appendVarint(version.number)
            writer.append(contentsOf: values)
            (count, last) = (count + 1, row)
        }

        func append(to other: inout ByteWriter) {
            other.appendVarint(UInt64(count))
            other.append(contentsOf: writer.bytes)
        }
    }

    func append(to writer: inout ByteWriter) {
        for section in [inserts, updates, deletes] { section.append(to: &writer) }
    }
}

/// A stored property of the new schema.
private struct ConvertedProperty {
    let number: Int
    let property: Property
    /// The number of the old property; nil if there is none.
    private(set) var source: Int?
    /// nil if the type is the same.
    private var conversion: ValueConversion?
    /// What all rows get that did not have the property and are gone; nil if a default is another one each time.
    private(set) var constant: [UInt8]?

    init(_ number: Int, _ property: Property, _ source: SchemaComparison.Source) {
        (self.number, self.property) = (number, property)
        switch source {
        case .attribute(let old, let conversion): (self.source, self.conversion) = (old, conversion)
        case .relationship(let old): self.source = old
        case .nowhere:
            let values = (0..<2).map { _ in try? PropertyConversion.addedValue(of: property) }
            if values[0] == values[1] { constant = values[0] }
        }
    }

    func append(_ value: UnsafeRawBufferPointer, to writer: inout ByteWriter) throws {
        guard let conversion else { return writer.append(contentsOf: value) }
        var (reader, converted) = (ByteReader(value), ByteWriter())
        guard try conversion.run(&reader, &converted) else { throw reader.failure("\(property.name) is nil") }
        // Types of a program's own are of one kind, and may not read what others wrote.
        try converted.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            do {
                try property.skip(&reader)
            } catch {
                guard property.replacesNull, EncodedValue.isNull(converted.bytes) else { throw error }
                throw reader.failure("\(property.name) is nil")
            }
            try reader.expectEnd()
        }
        writer.append(contentsOf: converted.bytes)
    }
}

/// How rows of an entity are converted.
private struct ConvertedEntity {
    /// In the new schema.
    let number: Int
    let oldProperties: [Property]
    /// The stored properties of the new schema.
    let stored: [ConvertedProperty]
    /// Those that come from an old property, by its name.
    let byOldName: [String: ConvertedProperty]

    init(_ number: Int, _ sources: [SchemaComparison.Source], _ oldNumber: Int, _ comparison: SchemaComparison) {
        let oldProperties = comparison.old.entities[oldNumber].properties
        (self.number, self.oldProperties) = (number, oldProperties)
        let properties = comparison.new.entities[number].properties.enumerated()
        stored = zip(properties, sources).filter(\.0.element.isStored).map { property, source in
            ConvertedProperty(property.offset, property.element, source)
        }
        let pairs = stored.compactMap { property in property.source.map { (oldProperties[$0].name, property) } }
        byOldName = Dictionary(uniqueKeysWithValues: pairs)
    }
}

/// Where the links of a recorded link table of the new schema come from.
private struct ConvertedLinks {
    let table: Int
    /// The old link table, and whether it has the links from the other side.
    let source: Int
    let isReversed: Bool

    /// The link tables of the new schema that the old one has, too, in their order. A relationship that is new has had no
    /// links.
    ///
    /// - Precondition: relationships are stored alike.
    static func all(_ comparison: SchemaComparison) -> [ConvertedLinks] {
        let (old, new) = (comparison.old, comparison.new)
        return new.recordedLinkTables.compactMap { table in
            let description = new.linkTables[table]
            guard let end = comparison.oldEnd(description.entity, description.property) else { return nil }
            let found = old.linkTables.firstIndex { $0.entity == end.entity && $0.property == end.property }
            guard let source = found else { return nil }
            if old.linkTables[source].isRecorded(as: source) {
                return ConvertedLinks(table: table, source: source, isReversed: false)
            }
            return old.linkTables[source].inverse.map { ConvertedLinks(table: table, source: $0, isReversed: true) }
        }
    }

    func difference(in differences: [Int: LinkTable.Difference]) -> LinkTable.Difference {
        guard let difference = differences[source], isReversed else {
            return differences[source] ?? LinkTable.Difference()
        }
        // A link that has only moved is removed and added, and has no order on this side.
        let (removed, added) = (difference.removed.map(\.reversed), difference.added.map(\.reversed))
        let moved = Set(removed).intersection(added)
        func sorted(_ links: [LinkTable.Link]) -> [LinkTable.Link] {
            links.filter { !moved.contains($0) }.sorted { ($0.owner, $0.member) < ($1.owner, $1.member) }
        }
        return LinkTable.Difference(removed: sorted(removed), added: sorted(added))
    }
}

extension SchemaComparison {
    /// Whether each relationship that both schemas have is to one, to many or ordered in both of them alike, and none is seen
    /// from an end that is new and has an order.
    fileprivate var storesRelationshipsAlike: Bool {
        new.entities.indices.allSatisfy { entity in
            new.entities[entity].properties.indices.allSatisfy { property in
                guard let end = new.end(entity, property) else { return true }
                if let source = oldEnd(entity, property) {
                    let oldEnd = old.end(source.entity, source.property)
                    return oldEnd?.isToMany == end.isToMany && oldEnd?.isOrdered == end.isOrdered
                }
                return !end.isOrdered || end.inverse.map { oldEnd(end.target, $0) == nil } ?? true
            }
        }
    }

    /// The end of a relationship in the old schema that an end in the new one comes from.
    fileprivate func oldEnd(_ entity: Int, _ property: Int) -> (entity: Int, property: Int)? {
        guard let old = entities[entity].number, case .relationship(let source) = entities[entity].properties[property]
        else { return nil }
        return (old, source)
    }
}
