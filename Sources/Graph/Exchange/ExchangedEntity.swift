/// An entity as texts have it: its properties by name, and what kinds of values these have.
struct ExchangedEntity: Sendable {
    enum Role: Sendable {
        case attribute(AttributeKind)
        case toOne(ToOneDescription)
        case toMany(ToManyDescription)
        /// No part of rows.
        case transient

        /// Whether a field of CSV has values without the notation of JSON.
        var isPlain: Bool { if case .attribute(let kind) = self { kind.isPlain } else { true } }
    }

    let number: Int
    let description: EntityDescription
    /// By property.
    let roles: [Role]
    /// What identifiers are called where they stand among properties: `id`, or `$id` if a property has that name.
    let idName: String

    init(_ number: Int, of schema: Schema) {
        self.number = number
        let description = schema.entities[number]
        self.description = description
        idName = description.properties.contains { $0.name == "id" } ? "$id" : "id"
        roles = description.properties.enumerated().map { number, property in
            switch property.role {
            case .attribute: .attribute(AttributeKind(property.operations.kind) ?? .basic("codable"))
            case .toOne: description.toOnes.first { $0.property == number }.map { .toOne($0) } ?? .transient
            case .toMany: description.toManys.first { $0.property == number }.map { .toMany($0) } ?? .transient
            case .transient: .transient
            }
        }
    }

    var name: String { description.name }

    /// The properties that rows hold.
    var storedProperties: [Int] { roles.indices.filter { description.properties[$0].isStored } }

    func property(named name: String) -> Int? { description.properties.firstIndex { $0.name == name } }

    /// The value of a stored property in a row.
    func storedValue(of property: Int, at row: UnsafeRawPointer) throws(GraphError) -> StoredValue {
        switch roles[property] {
        case .attribute(let kind):
            do {
                var writer = ByteWriter()
                try description.properties[property].operations.encode(
                    row + description.properties[property].offset, &writer)
                return try writer.bytes.withUnsafeBytes { bytes in
                    var reader = ByteReader(bytes)
                    return try kind.storedValue(from: &reader)
                }
            } catch {
                let name = description.properties[property].name
                throw .notEncodable(entity: self.name, reason: "\(name): \("\(error)".shortened(to: 300))")
            }
        case .toOne(let toOne):
            let target = toOne.target(ofRowAt: row)
            return target == 0 ? .null : .number("\(target)")
        case .toMany, .transient: return .null
        }
    }
}

extension Schema {
    var exchangedEntities: [ExchangedEntity] { entities.indices.map { ExchangedEntity($0, of: self) } }
}

extension ToManyDescription {
    /// Whether its members are to be written. Those of the other side, or references of the members, may say the same.
    func isExchanged(in schema: Schema) -> Bool {
        guard let number = linkTable else { return false }
        guard !isOrdered, let inverse = schema.linkTables[number].inverse else { return isOrdered }
        return !schema.linkTables[inverse].isOrdered && number <= inverse
    }

    /// Whether each of its links has two owners, of which the one with the lesser number names the other.
    func isSymmetric(in schema: Schema) -> Bool {
        linkTable.map { !isOrdered && schema.linkTables[$0].inverse == $0 } ?? false
    }
}
