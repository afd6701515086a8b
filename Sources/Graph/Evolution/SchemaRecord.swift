/// What a file says of its schema, in the payload of its schema records: lines of text, so that a file explains itself to people
/// too.
///
/// ```
/// graph schema 1
/// entity 1 "Person"
/// property 1 "name" string
/// property 2 "email" string unique
/// property 3 "team" to-one 2 nullify
/// entity 2 "Team" unique 1 3
/// property 1 "name" string
/// property 2 "members" to-many 1 3 cascade ordered minimum 1
/// property 3 "league" int
/// metadata "lastImport" "2026-11-24"
/// version "SchemaV2"
/// earlier 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// ```
///
/// The first number is a tag. Commit records name entities and properties by tag, never by name. A to-one relationship
/// gives the tag of its target entity and its own delete rule; then, if its inverse is a to-one relationship too, `inverse`
/// and that property. A to-many relationship gives the entity and the property at its other end, and its delete rule; then
/// `ordered`, if it is. Either may end with the numbers of objects that it leads to, where they are limited. Constraints and
/// indexes of several properties stand behind their entity's name. Then come the
/// texts that the program keeps with the file, by their keys, and the version of the program's migration plan that this is,
/// where it has one. The last lines are the fingerprints of schemas that the file had before, the oldest first.
struct SchemaRecord: Sendable, Equatable {
    struct Entity: Sendable, Equatable {
        let name: String
        var properties: [Property] = []
        let compounds: [Compound]
    }

    /// A constraint or an index of several properties.
    struct Compound: Sendable, Equatable {
        let isUnique: Bool
        let properties: [Int]
    }

    struct Property: Sendable, Equatable {
        let name: String
        let role: Role
    }

    /// Entities and properties by their numbers, which are one less than their tags.
    enum Role: Sendable, Equatable {
        case attribute(kind: String, Indexing)
        /// `inverse` is nil unless it is a to-one relationship, too.
        case toOne(target: Int, rule: DeleteRule, inverse: Int?, counts: MemberCounts)
        case toMany(source: Int, inverse: Int, rule: DeleteRule, isOrdered: Bool, counts: MemberCounts)
    }

    enum Indexing: Sendable, Equatable {
        case none
        case indexed
        case unique
    }

    var entities: [Entity]
    /// The texts that a program keeps with the file. Keys are not empty.
    var metadata: [String: String] = [:]
    /// The name of the version of a migration plan that this is, if the program that wrote it had one.
    var version: String?
    /// The fingerprints of schemas that the file had before, the oldest first.
    private(set) var earlier: [String] = []

    /// So many schemas a file remembers.
    static let earlierLimit = 1_000
    static let title = "graph schema 1"

    init(entities: [Entity], version: String? = nil, earlier: [String]) {
        (self.entities, self.version, self.earlier) = (entities, version, earlier)
    }

    init(_ schema: Schema, version: String? = nil) {
        self.version = version
        entities = schema.entities.map { entity in
            Entity(
                name: entity.name,
                properties: entity.properties.enumerated().filter { !$0.element.isTransient }.map { number, property in
                    Property(name: property.name, role: Self.role(of: number, of: entity))
                },
                compounds: entity.indexes.suffix(entity.compounds.count).map {
                    Compound(isUnique: $0.uniqueness != nil, properties: $0.parts.map(\.property))
                }
            )
        }
    }

    private static func role(of number: Int, of entity: EntityDescription) -> Role {
        let property = entity.properties[number]
        if let toOne = entity.toOnes.first(where: { $0.property == number }) {
            return .toOne(
                target: toOne.target,
                rule: toOne.ruleOfOwner,
                inverse: toOne.inverseToOne == nil ? nil : toOne.inverse,
                counts: property.relationship?.counts ?? .any
            )
        }
        if let toMany = entity.toManys.first(where: { $0.property == number }) {
            return .toMany(
                source: toMany.source,
                inverse: toMany.inverse,
                rule: property.relationship?.rule ?? .nullify,
                isOrdered: toMany.isOrdered,
                counts: toMany.counts
            )
        }
        guard case .attribute(let uniqueness, let isIndexed) = property.role else {
            return .attribute(kind: property.operations.kind, .none)
        }
        return .attribute(
            kind: property.operations.kind, uniqueness != nil ? .unique : isIndexed ? .indexed : .none)
    }

    /// Entities and properties are tagged in the order of their declaration, from 1; transient properties, which come last,
    /// are in no record.
    static func tag(_ number: Int) -> UInt64 { UInt64(number) + 1 }

    // MARK: Fingerprints

    /// Identifies what the schema says, in hexadecimal: the SHA-256 of its lines up to the last property.
    var fingerprint: String {
        SHA256.digest(text(withEarlier: false)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The record of a file that takes this schema and had that one before.
    func following(_ last: SchemaRecord) -> SchemaRecord {
        let own = fingerprint
        let all = last.earlier + [last.fingerprint]
        var record = SchemaRecord(
            entities: entities, version: version, earlier: all.filter { $0 != own }.suffix(Self.earlierLimit))
        record.metadata = last.metadata
        return record
    }

    // MARK: Text

    var bytes: [UInt8] { text(withEarlier: true) }

    private func text(withEarlier: Bool) -> [UInt8] {
        var lines = [Self.title]
        for (number, entity) in entities.enumerated() {
            let compounds = entity.compounds.map { compound in
                (compound.isUnique ? " unique" : " index") + compound.properties.map { " \(Self.tag($0))" }.joined()
            }
            lines.append("entity \(Self.tag(number)) \(Self.quoted(entity.name))\(compounds.joined())")
            for (number, property) in entity.properties.enumerated() {
                lines.append("property \(Self.tag(number)) \(Self.quoted(property.name)) \(property.role.text)")
            }
        }
        if withEarlier {
            for (key, text) in metadata.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                lines.append("metadata \(Self.quoted(key)) \(Self.quoted(text))")
            }
            if let version { lines.append("version \(Self.quoted(version))") }
            lines += earlier.map { "earlier \($0)" }
        }
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    /// A text in quotes, without line ends. What is escaped does not depend on what a version of Unicode calls printable.
    private static func quoted(_ text: String) -> String {
        var quoted = "\"".unicodeScalars
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C: quoted.append(contentsOf: ["\\", scalar])
            case 0..<0x20, 0x7F..<0xA0:
                quoted.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        return String(quoted) + "\""
    }
}

extension SchemaRecord.Role {
    fileprivate var text: String {
        switch self {
        case .attribute(let kind, let indexing):
            switch indexing {
            case .none: return kind
            case .indexed: return "\(kind) indexed"
            case .unique: return "\(kind) unique"
            }
        case .toOne(let target, let rule, let inverse, let counts):
            let inverse = inverse.map { " inverse \(SchemaRecord.tag($0))" } ?? ""
            return "to-one \(SchemaRecord.tag(target)) \(rule.rawValue)\(inverse)\(counts.text)"
        case .toMany(let source, let inverse, let rule, let isOrdered, let counts):
            let ends = "\(SchemaRecord.tag(source)) \(SchemaRecord.tag(inverse))"
            return "to-many \(ends) \(rule.rawValue)\(isOrdered ? " ordered" : "")\(counts.text)"
        }
    }

    /// Whether records of commits mean the same under both: the rest is a matter of rules and indexes.
    func isRecordedLike(_ other: Self) -> Bool {
        switch (self, other) {
        case (.attribute(let kind, _), .attribute(let otherKind, _)):
            kind == otherKind
        case (.toOne(let target, _, let inverse, _), .toOne(let otherTarget, _, let otherInverse, _)):
            target == otherTarget && inverse == otherInverse
        case (
            .toMany(let source, let inverse, _, let isOrdered, _),
            .toMany(let otherSource, let otherInverse, _, let isOtherOrdered, _)
        ):
            source == otherSource && inverse == otherInverse && isOrdered == isOtherOrdered
        default:
            false
        }
    }
}

extension MemberCounts {
    fileprivate var text: String {
        (minimum > 0 ? " minimum \(minimum)" : "") + (maximum.map { " maximum \($0)" } ?? "")
    }
}

// MARK: Comparing

extension SchemaRecord {
    /// Whether records of commits mean the same under both schemas, perhaps by other names.
    func isRecordedLike(_ other: SchemaRecord) -> Bool {
        entities.count == other.entities.count
            && zip(entities, other.entities).allSatisfy { own, other in
                own.properties.count == other.properties.count
                    && zip(own.properties, other.properties).allSatisfy { $0.role.isRecordedLike($1.role) }
            }
    }
}
