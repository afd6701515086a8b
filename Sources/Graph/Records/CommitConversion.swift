/// Writes the records of commits anew for another schema, so that history outlives a migration.
///
/// It does to the values before and after a commit what `SnapshotConversion` does to those of the state. Where all of them have
/// a counterpart, and relationships are stored as they were, the new records lead from any converted state to the next one, and
/// nobody who reads them has to know the old schema. Records are given in their order, the oldest first.
struct CommitConversion: Sendable {
    private let old: Schema
    private let new: Schema
    /// By entity of the old schema; nil for one that is gone.
    private var entities: [ConvertedEntity?]
    private let links: [ConvertedLinks]
    /// By entity of the new schema, the number of the old one.
    private let sources: [Int?]
    private let newest: Snapshot
    /// Of added properties, by number, in objects that the newest state does not have: from the record that inserts such an object
    /// to the one that deletes it.
    private var defaults: [RowID: [Int: [UInt8]]] = [:]

    // Of the record that is being converted:
    private var counters: [RowNumber] = []
    /// By entity of the new schema.
    private var rows: [Int: ChangedRows] = [:]
    /// By link table of the old schema.
    private var differences: [Int: LinkTable.Difference] = [:]

    /// - Parameter newest: what the state that the records lead to has become.
    /// - Returns: nil if states of the past may have values or links without a counterpart.
    init?(_ comparison: SchemaComparison, newest: Snapshot) {
        (old, new, self.newest) = (comparison.old, comparison.new, newest)
        sources = comparison.entities.map(\.number)
        entities = old.entities.map { _ in nil }
        for (number, source) in comparison.entities.enumerated() {
            guard let oldNumber = source.number else { continue }
            guard let entity = ConvertedEntity(number, source.properties, oldNumber, comparison) else { return nil }
            entities[oldNumber] = entity
        }
        guard let links = ConvertedLinks.all(comparison) else { return nil }
        self.links = links
    }

    /// - Throws: what is wrong with the record; what a type throws that cannot encode its default.
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
    private mutating func added(_ number: Int, of id: RowID) throws -> [UInt8] {
        let property = new.entities[id.entity].properties[number]
        if let address = newest.address(of: id) {
            var writer = ByteWriter()
            try property.operations.encode(address + property.offset, &writer)
            return writer.bytes
        }
        if let known = defaults[id]?[number] { return known }
        let value = try PropertyConversion.addedValue(of: property)
        if property.initializeDefault != nil { defaults[id, default: [:]][number] = value }
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
                writer.append(contentsOf: try added(property.number, of: id))
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
        let newID = RowID(entity: entity.number, row: id.row)
        let row = try row(newID, of: entity, &reader)
        defaults[newID] = nil
        rows[entity.number, default: ChangedRows()].deletes.add(id.row, version, row)
    }

    /// A row of which only removed properties have changed stays in the record, for its version. No change shows it.
    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        let properties = old.entities[id.entity].properties
        var changes: [(property: ConvertedProperty, before: UnsafeRawBufferPointer, after: UnsafeRawBufferPointer)] = []
        try CommitRecord.forEachUpdatedProperty(among: properties, &reader) { property, reader in
            let (before, after) = (try reader.takeValue(of: property), try reader.takeValue(of: property))
            guard let converted = entities[id.entity]?.byOldName[property.name] else { return }
            changes.append((converted, before, after))
        }
        guard let entity = entities[id.entity] else { return }
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
    /// The number of the old property; nil if there is none.
    let source: Int?
    /// nil if the bytes stay.
    let conversion: ValueConversion?

    func append(_ value: UnsafeRawBufferPointer, to writer: inout ByteWriter) throws {
        guard let conversion else { return writer.append(contentsOf: value) }
        var reader = ByteReader(value)
        _ = try conversion.run(&reader, &writer)
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

    /// - Returns: nil if there may be values without a counterpart.
    init?(_ number: Int, _ sources: [SchemaComparison.Source], _ oldNumber: Int, _ comparison: SchemaComparison) {
        let oldProperties = comparison.old.entities[oldNumber].properties
        (self.number, self.oldProperties) = (number, oldProperties)
        var stored: [ConvertedProperty] = []
        let properties = comparison.new.entities[number].properties
        for (property, source) in sources.enumerated() where properties[property].isStored {
            switch source {
            case .attribute(_, let conversion?) where !conversion.isTotal: return nil
            case .attribute(let old, let conversion):
                stored.append(ConvertedProperty(number: property, source: old, conversion: conversion))
            case .relationship(let old):
                stored.append(ConvertedProperty(number: property, source: old, conversion: nil))
            case .nowhere: stored.append(ConvertedProperty(number: property, source: nil, conversion: nil))
            }
        }
        self.stored = stored
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

    /// The link tables of the new schema that the old one has, too, in their order. A relationship that is new has had no links.
    ///
    /// - Returns: nil if links of the past were stored in another way.
    static func all(_ comparison: SchemaComparison) -> [ConvertedLinks]? {
        let (old, new) = (comparison.old, comparison.new)
        var result: [ConvertedLinks] = []
        for table in new.recordedLinkTables {
            let description = new.linkTables[table]
            let inverse = new.end(description.entity, description.property)?.inverse
            guard let end = comparison.oldEnd(description.entity, description.property) else {
                if let inverse, comparison.oldEnd(description.members, inverse) != nil { return nil }
                continue
            }
            let source = old.linkTables.firstIndex { $0.entity == end.entity && $0.property == end.property }
            guard let source, old.linkTables[source].isOrdered == description.isOrdered else { return nil }
            if old.linkTables[source].isRecorded(as: source) {
                result.append(ConvertedLinks(table: table, source: source, isReversed: false))
            } else if let other = old.linkTables[source].inverse {
                result.append(ConvertedLinks(table: table, source: other, isReversed: true))
            } else {
                return nil
            }
        }
        return result
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
    /// The end of a relationship in the old schema that an end in the new one comes from.
    fileprivate func oldEnd(_ entity: Int, _ property: Int) -> (entity: Int, property: Int)? {
        guard let old = entities[entity].number, case .relationship(let source) = entities[entity].properties[property]
        else { return nil }
        return (old, source)
    }
}
