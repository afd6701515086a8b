/// A record of a source, understood by the schema.
enum ImportedRecord {
    /// Values by property; nil for those that the record leaves out.
    case row(entity: Int, id: UInt64?, values: [StoredValue?])
    /// - toMany: the number of the relationship among the entity's `toManys`.
    case links(entity: Int, toMany: Int, owner: UInt64, members: [UInt64])
}

/// Why a record cannot be imported.
struct InvalidRecord: Error {
    var entity: String?
    var property: String?
    let reason: String

    /// The failure of a record on a line.
    func failure(in source: RowSource, line: Int?) -> ImportFailure {
        ImportFailure(source: source.name, line: line, entity: entity, property: property, reason: reason)
    }
}

/// Understands the records of one source.
struct RecordReader {
    private let entities: [ExchangedEntity]
    /// The entity of CSV, and what its columns are.
    private let csv: ExchangedEntity?
    private var columns: [Column]?
    var hasOneColumn: Bool { columns?.count == 1 }

    private enum Column: Equatable {
        case id
        case property(Int)
        /// The relationship's number among the entity's `toManys`.
        case member(Int)
    }

    init(_ entities: [ExchangedEntity], csv: ExchangedEntity?) { (self.entities, self.csv) = (entities, csv) }

    /// What a record says: nothing, if it is the first line of CSV; at most a row, and then links.
    mutating func read(_ bytes: ArraySlice<UInt8>) throws(InvalidRecord) -> [ImportedRecord] {
        do throws(InvalidValue) {
            guard let csv else { return try records(of: try JSONReader.read(bytes)) }
            let fields = try CSVField.read(bytes)
            guard let columns else {
                columns = try Self.columns(named: fields.map(\.text), of: csv)
                return []
            }
            return try [Self.record(of: fields, columns, csv)]
        } catch {
            throw InvalidRecord(entity: csv?.name, reason: error.reason)
        }
    }

    // MARK: JSON

    private func records(of line: StoredValue) throws(InvalidValue) -> [ImportedRecord] {
        guard case .map(let entries) = line else {
            throw InvalidValue("a line is to be an object with entity, id and values")
        }
        var (name, identifier, values, links): (String?, StoredValue?, StoredValue?, StoredValue?)
        var other: String?
        for entry in entries {
            switch entry.key.text ?? "" {
            case "entity": name = entry.value.text
            case "id": identifier = entry.value
            case "values": values = entry.value
            case "links": links = entry.value
            case let key: other = other ?? key
            }
        }
        guard let name else { throw InvalidValue("entity is missing") }
        guard let entity = entities.first(where: { $0.name == name }) else {
            throw InvalidValue("the store has no entity \(name.shortened().debugDescription)")
        }
        let id = try identifier.flatMap { (id) throws(InvalidValue) in try Self.identifier(id) }
        if let other {
            throw InvalidValue("\(other.shortened().debugDescription) is none of entity, id, values and links")
        }
        var records: [ImportedRecord] = []
        if let values {
            records.append(.row(entity: entity.number, id: id, values: try Self.values(values, of: entity)))
        }
        if let links {
            guard let id else { throw InvalidValue("links need an id, which says whose they are") }
            records += try Self.links(links, of: entity, id)
        }
        guard !records.isEmpty else { throw InvalidValue("it has neither values nor links") }
        return records
    }

    private static func values(
        _ object: StoredValue, of entity: ExchangedEntity
    ) throws(InvalidValue) -> [StoredValue?] {
        guard case .map(let entries) = object else { throw InvalidValue("values are to be an object") }
        var values = [StoredValue?](repeating: nil, count: entity.roles.count)
        for entry in entries {
            let name = entry.key.text ?? ""
            guard let property = entity.property(named: name), entity.description.properties[property].isStored else {
                throw InvalidValue("\(entity.name) has no attribute or reference \(name.shortened().debugDescription)")
            }
            values[property] = entry.value
        }
        return values
    }

    private static func links(
        _ object: StoredValue, of entity: ExchangedEntity, _ owner: UInt64
    ) throws(InvalidValue) -> [ImportedRecord] {
        guard case .map(let entries) = object else { throw InvalidValue("links are to be an object") }
        var records: [ImportedRecord] = []
        for entry in entries {
            let name = entry.key.text ?? ""
            let toMany = entity.description.toManys.firstIndex {
                entity.description.properties[$0.property].name == name
            }
            guard let toMany, case .list(let list) = entry.value else {
                throw InvalidValue(
                    "\(entity.name) has no to-many relationship \(name.shortened().debugDescription), or it has no list"
                )
            }
            var members: [UInt64] = []
            for member in list {
                guard let id = try identifier(member) else { throw InvalidValue("null is no member") }
                members.append(id)
            }
            records.append(.links(entity: entity.number, toMany: toMany, owner: owner, members: members))
        }
        return records
    }

    /// nil for null.
    static func identifier(_ value: StoredValue) throws(InvalidValue) -> UInt64? {
        if value == .null { return nil }
        guard let id: UInt64 = value.integer(), id > 0 else {
            throw InvalidValue(
                "\(value.description.shortened()) is no identifier: identifiers are whole numbers from 1")
        }
        return id
    }

    // MARK: CSV

    private static func columns(
        named names: [String], of entity: ExchangedEntity
    ) throws(InvalidValue) -> [Column] {
        var columns: [Column] = []
        for name in names {
            let property = entity.property(named: name)
            let toMany = entity.description.toManys.firstIndex { $0.property == property }
            let column: Column
            if name == entity.idName {
                column = .id
            } else if let toMany {
                column = .member(toMany)
            } else if let property, entity.description.properties[property].isStored {
                column = .property(property)
            } else {
                throw InvalidValue("there is no property \(name.shortened().debugDescription)")
            }
            guard !columns.contains(column) else {
                throw InvalidValue("the column \(name.shortened().debugDescription) comes twice")
            }
            columns.append(column)
        }
        let hasMembers = columns.contains { if case .member = $0 { true } else { false } }
        guard !hasMembers || (columns.count == 2 && columns.contains(.id)) else {
            throw InvalidValue("beside a column of members there is one of identifiers, and no other one")
        }
        return columns
    }

    private static func record(
        of fields: [CSVField], _ columns: [Column], _ entity: ExchangedEntity
    ) throws(InvalidValue) -> ImportedRecord {
        guard fields.count == columns.count else {
            throw InvalidValue("it has \(fields.count) fields, and the first line \(columns.count)")
        }
        var (id, link): (UInt64?, (toMany: Int, member: UInt64?)?) = (nil, nil)
        var values = [StoredValue?](repeating: nil, count: entity.roles.count)
        for (field, column) in zip(fields, columns) {
            switch column {
            case .id: id = try identifier(field.text.isEmpty ? .null : .text(field.text))
            case .member(let toMany):
                link = (toMany, try identifier(field.text.isEmpty ? .null : .text(field.text)))
            case .property(let property): values[property] = try value(of: field, entity.roles[property])
            }
        }
        guard let link else { return .row(entity: entity.number, id: id, values: values) }
        guard let id, let member = link.member else { throw InvalidValue("a link needs two identifiers") }
        return .links(entity: entity.number, toMany: link.toMany, owner: id, members: [member])
    }

    static func value(
        of field: CSVField, _ role: ExchangedEntity.Role
    ) throws(InvalidValue) -> StoredValue {
        guard case .attribute(let kind) = role else { return field.text.isEmpty ? .null : .text(field.text) }
        if field.text.isEmpty, !field.isQuoted { return kind.emptyField }
        // A URL with a base is a list, and none without begins with a quotation mark in brackets.
        let isList = field.text.hasPrefix("[\"") && (kind == .basic("url") || kind == .optional(.basic("url")))
        return kind.isPlain && !isList ? .text(field.text) : try JSONReader.read(field.text.utf8)
    }
}
