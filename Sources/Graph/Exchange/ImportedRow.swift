/// The memory of a row that is made from text.
final class ImportedRow {
    let address: UnsafeMutableRawPointer
    private let entity: ExchangedEntity
    /// So many properties have values, the first ones.
    private var filledCount = 0

    init(_ entity: ExchangedEntity) {
        self.entity = entity
        let layout = entity.description.layout
        address = .allocate(byteCount: max(layout.stride, 1), alignment: layout.alignment)
    }

    deinit {
        for property in entity.description.properties[..<filledCount] {
            property.operations.deinitialize(address + property.offset)
        }
        address.deallocate()
    }

    /// Gives each property its value.
    ///
    /// - Parameters:
    ///   - values: by property; nil for those that are to have defaults.
    ///   - targets: by property, the rows that references lead to.
    func fill(_ values: [StoredValue?], _ targets: [Int: RowNumber]) throws(InvalidRecord) {
        var writer = ByteWriter()
        for (number, property) in entity.description.properties.enumerated() {
            do {
                try fill(property, entity.roles[number], values[number], targets[number], &writer)
            } catch {
                throw InvalidRecord(entity: entity.name, property: property.name, reason: Self.reason(of: error))
            }
            filledCount += 1
        }
    }

    private func fill(
        _ property: Property, _ role: ExchangedEntity.Role, _ value: StoredValue?, _ target: RowNumber?,
        _ writer: inout ByteWriter
    ) throws {
        writer.removeAll()
        switch role {
        case .toMany, .transient: break
        case .toOne: writer.appendVarint(target ?? 0)
        case .attribute(let kind):
            guard let value else {
                if let initialize = property.initializeDefault { return initialize(address + property.offset) }
                guard property.isNullable || property.valueType is any OptionalValue.Type else {
                    throw InvalidValue("it has no value, and no default")
                }
                return try fill(property, role, .null, nil, &writer)
            }
            if kind == .basic("codable") { return try fillOwnType(property, kind, value) }
            try kind.encode(value, to: &writer)
        }
        try decode(writer, as: property)
    }

    private func decode(_ writer: ByteWriter, as property: Property) throws {
        try writer.bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            try property.operations.decode(&reader, address + property.offset)
        }
    }

    /// A type may have one form in JSON and another one in CBOR, as dates and bytes do. People write the first.
    private func fillOwnType(_ property: Property, _ kind: AttributeKind, _ value: StoredValue) throws {
        do {
            var writer = ByteWriter()
            try kind.encode(value, to: &writer)
            try decode(writer, as: property)
        } catch {
            // Without the type nobody would read that form now.
            guard property.valueType != EncodedValue.self else { throw error }
            var writer = ByteWriter()
            writer.appendString(value.description)
            do { try decode(writer, as: property) } catch _ { throw error }
        }
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let error as InvalidValue: error.reason
        case let error as ByteReader.Failure: error.reason
        case let error as UnreadableValue: error.reason
        default: "\(error)"
        }
    }
}
