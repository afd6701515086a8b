/// The schema as the journal's first record holds it: lines of text, so that a file explains itself to people too.
///
/// ```
/// graph schema 1
/// entity 1 "Person"
/// property 1 "name" string
/// property 2 "email" string unique
/// property 3 "team" to-one 2 nullify
/// entity 2 "Team"
/// property 1 "name" string
/// property 2 "members" to-many 1 3 cascade
/// ```
///
/// The first number is a tag. Commit records name entities and properties by tag, never by name. A to-one relationship
/// gives the tag of its target entity and its own delete rule; a to-many relationship gives the entity and the property at
/// its other end, and its delete rule.
enum SchemaRecord {
    static func encode(_ schema: Schema) -> [UInt8] {
        var lines = ["graph schema 1"]
        for (number, entity) in schema.entities.enumerated() {
            lines.append("entity \(tag(number)) \(quoted(entity.name))")
            for (number, property) in entity.properties.enumerated() where !property.isEphemeral {
                let kind = kind(of: number, of: entity, in: schema)
                lines.append("property \(tag(number)) \(quoted(property.name)) \(kind)")
            }
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// Entities and properties are tagged in the order of their declaration, from 1; ephemeral properties, which come last,
    /// are in no record.
    static func tag(_ number: Int) -> UInt64 { UInt64(number) + 1 }

    /// How a file's schema differs from the program's, one line of the file's or the program's record each; at most
    /// twenty, and of each line the first thousand characters, since the file may say anything.
    static func differences(file: UnsafeRawBufferPointer, program: [UInt8]) -> [String] {
        guard let text = String(validating: file.bindMemory(to: UInt8.self), as: UTF8.self) else {
            return ["the file's schema is not text"]
        }
        let fileLines = qualified(text)
        let programLines = qualified(String(decoding: program, as: UTF8.self))
        let missing = fileLines.filter { !programLines.contains($0) }.map { "only in the file: \($0)" }
        let added = programLines.filter { !fileLines.contains($0) }.map { "only in the program: \($0)" }
        let all = missing + added
        return all.count <= 20 ? all : all.prefix(20) + ["and \(all.count - 20) more"]
    }

    /// Each property's line after its entity's name.
    private static func qualified(_ text: String) -> [String] {
        var entity = ""
        return text.split(separator: "\n", maxSplits: 10_000).prefix(10_000).map { whole in
            let line = whole.prefix(1_000)
            if line.hasPrefix("entity ") { entity = String(line) }
            return line.hasPrefix("property ") ? "\(entity): \(line)" : String(line)
        }
    }

    private static func kind(of number: Int, of entity: EntityDescription, in schema: Schema) -> String {
        switch entity.properties[number].role {
        case .attribute(let isUnique, let isIndexed):
            entity.properties[number].operations.kind + (isUnique ? " unique" : isIndexed ? " indexed" : "")
        case .toOne:
            entity.toOnes.first { $0.property == number }
                .map { "to-one \(tag($0.target)) \($0.ruleOfOwner.rawValue)" } ?? ""
        case .toMany:
            entity.toManys.first { $0.property == number }.map { relationship in
                let other = schema.entities[relationship.source].toOnes[relationship.toOne]
                return "to-many \(tag(relationship.source)) \(tag(other.property)) \(other.ruleOfInverse.rawValue)"
            } ?? ""
        case .ephemeral:
            ""
        }
    }

    /// Names cannot contain line ends or quotes, but back-ticked ones may contain anything else.
    private static func quoted(_ name: String) -> String { name.debugDescription }
}
