import Foundation
import Testing

@testable import Graph

/// A state as text, whatever its schema: what each row has, and where each relationship leads.
struct PlainState: Equatable {
    /// By `entity/row`, then by property.
    var rows: [String: [String: String]] = [:]
    /// By `entity.property`, the pairs of owner and member, in the members' order where they have one.
    var links: [String: [String]] = [:]
    var versions: [String: UInt64] = [:]

    init(_ snapshot: Snapshot) {
        for (number, entity) in snapshot.schema.entities.enumerated() {
            snapshot.entities[number].rows.forEachRow { row, version, address in
                let name = "\(entity.name)/\(row)"
                var values: [String: String] = [:]
                for property in entity.properties where property.isStored && property.relationship == nil {
                    values[property.name] = Self.text(of: property, at: address)
                }
                rows[name] = values
                versions[name] = version.number
                for toOne in entity.toOnes {
                    let target = toOne.target(ofRowAt: address)
                    let key = "\(entity.name).\(entity.properties[toOne.property].name)"
                    if target != 0 { links[key, default: []].append("\(row) → \(target)") }
                }
                for toMany in entity.toManys {
                    let key = "\(entity.name).\(entity.properties[toMany.property].name)"
                    let members = snapshot.members(of: row, through: toMany)
                    if !members.isEmpty { links[key, default: []] += members.map { "\(row) → \($0)" } }
                }
            }
        }
    }

    private static func text(of property: Property, at row: UnsafeRawPointer) -> String {
        guard property.operations.kind == "codable" else { return property.operations.describe(row + property.offset) }
        var writer = ByteWriter()
        try? property.operations.encode(row + property.offset, &writer)
        return "\(writer.bytes)"
    }

    /// The values of a property by row.
    subscript(entity: String, property: String) -> [String: String] {
        rows.filter { $0.key.hasPrefix("\(entity)/") }.compactMapValues { $0[property] }
    }
}

extension GoldenStore {
    /// What the file says of its schema: its last schema record.
    var record: SchemaRecord {
        get throws {
            let payload = try records.last { $0.kind == .schema }?.payload ?? []
            return try payload.withUnsafeBytes { try SchemaRecord(reading: $0) }
        }
    }

    /// The file's contents by its own schema.
    func plainState() async throws -> PlainState {
        let folder = try copy()
        let coordinator = try await Coordinator.open(try Schema(try record), folder.file())
        defer { withExtendedLifetime(folder) {} }
        let state = PlainState(coordinator.snapshot)
        try await coordinator.close()
        return state
    }
}

extension Coordinator {
    /// Opens a file with a schema of any kind.
    static func open(
        _ schema: Schema, _ path: String, readOnly: Bool = false, dropping: [String] = []
    ) async throws(GraphError) -> Coordinator {
        try await Coordinator(
            schema, path: path, fileSystem: PosixFileSystem(), options: JournalOptions(), readOnly: readOnly,
            dropping: dropping)
    }
}

extension SchemaRecord {
    /// What a change looks for.
    struct NotThere: Error {
        let text: String
    }

    private func found<Value>(_ value: Value?, _ text: String) throws -> Value {
        guard let value else { throw NotThere(text: text) }
        return value
    }

    /// The same schema with some of its lines changed, as a file would say it.
    ///
    /// - Parameter edits: texts, each of which occurs, and what takes their place.
    func editing(_ edits: [(String, String)]) throws -> SchemaRecord {
        var text = String(decoding: bytes, as: UTF8.self)
        for (old, new) in edits {
            guard text.contains(old) else { throw NotThere(text: old) }
            text = text.replacing(old, with: new)
        }
        return try Array(text.utf8).withUnsafeBytes { try SchemaRecord(reading: $0) }
    }

    func number(of name: String) throws -> Int { try found(entities.firstIndex { $0.name == name }, name) }

    /// Adds a property at the end of an entity, where no tag of another one changes.
    mutating func add(_ name: String, _ role: Role, to entity: String) throws {
        entities[try number(of: entity)].properties.append(Property(name: name, role: role))
    }

    /// Gives a property another role.
    mutating func change(_ name: String, of entity: String, to role: Role) throws {
        let number = try number(of: entity)
        let place = try place(of: name, of: entity)
        entities[number].properties[place] = Property(name: name, role: role)
    }

    func role(of name: String, of entity: String) throws -> Role {
        try found(entities[try number(of: entity)].properties.first { $0.name == name }, name).role
    }

    func place(of name: String, of entity: String) throws -> Int {
        try found(entities[try number(of: entity)].properties.firstIndex { $0.name == name }, name)
    }
}
