/// The schema as the journal's schema records hold it: lines of text, so that a file explains itself to people too.
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
/// ```
///
/// The first number is a tag. Commit records name entities and properties by tag, never by name. A to-one relationship
/// gives the tag of its target entity and its own delete rule; then, if its inverse is a to-one relationship too, `inverse`
/// and that property. A to-many relationship gives the entity and the property at its other end, and its delete rule; then
/// `ordered`, if it is. Either may end with the numbers of objects that it leads to, where they are limited. Constraints and
/// indexes of several properties stand behind their entity's name.
struct SchemaRecord: Sendable {
    let bytes: [UInt8]
    private let entities: [EntityLines]

    init(_ schema: Schema) {
        entities = schema.entities.enumerated().map { number, entity in
            EntityLines(
                own: Line(
                    start: "entity \(Self.tag(number)) ", entity.name, entity.originalName,
                    end: entity.indexes.suffix(entity.compounds.count).map(Self.text).joined()
                ),
                properties: entity.properties.enumerated().filter { !$0.element.isTransient }.map { number, property in
                    Line(
                        start: "property \(Self.tag(number)) ", property.name, property.originalName,
                        end: " " + Self.kind(of: number, of: entity, in: schema)
                    )
                }
            )
        }
        let lines = [Self.title] + entities.flatMap(\.all).map(\.forms[0])
        bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    private static let title = "graph schema 1"

    /// Entities and properties are tagged in the order of their declaration, from 1; transient properties, which come last,
    /// are in no record.
    static func tag(_ number: Int) -> UInt64 { UInt64(number) + 1 }

    private static func kind(of number: Int, of entity: EntityDescription, in schema: Schema) -> String {
        switch entity.properties[number].role {
        case .attribute(let uniqueness, let isIndexed):
            entity.properties[number].operations.kind
                + (uniqueness != nil ? " unique" : isIndexed ? " indexed" : "")
        case .toOne(let declared):
            entity.toOnes.first { $0.property == number }.map { toOne in
                let inverse = toOne.inverseToOne == nil ? "" : toOne.inverse.map { " inverse \(tag($0))" } ?? ""
                return "to-one \(tag(toOne.target)) \(declared.rule.rawValue)\(inverse)\(counts(declared))"
            } ?? ""
        case .toMany(let declared):
            entity.toManys.first { $0.property == number }.map { toMany in
                let order = toMany.isOrdered ? " ordered" : ""
                let ends = "\(tag(toMany.source)) \(tag(toMany.inverse))"
                return "to-many \(ends) \(declared.rule.rawValue)\(order)\(counts(declared))"
            } ?? ""
        case .transient:
            ""
        }
    }

    private static func counts(_ relationship: Property.Relationship) -> String {
        let counts = relationship.counts
        return (counts.minimum > 0 ? " minimum \(counts.minimum)" : "")
            + (counts.maximum.map { " maximum \($0)" } ?? "")
    }

    private static func text(of index: IndexDescription) -> String {
        (index.uniqueness == nil ? " index" : " unique") + index.parts.map { " \(tag($0.property))" }.joined()
    }
}

// MARK: Comparing

extension SchemaRecord {
    /// How a file's schema record compares with the program's.
    enum Agreement: Sendable, Equatable {
        case same
        /// The same but for names, each of which is the name or the original name here.
        case originalNames
        /// The same but for names, some of which the program does not know.
        case otherNames
        case otherSchema
    }

    func agreement(with file: UnsafeRawBufferPointer) -> Agreement {
        guard !file.elementsEqual(bytes) else { return .same }
        let lines = entities.flatMap(\.all)
        let found = file.split(
            separator: UInt8(ascii: "\n"), maxSplits: lines.count + 1, omittingEmptySubsequences: false)
        // The title before the lines, and nothing behind the end of the last one.
        guard found.count == lines.count + 2, found[0].elementsEqual(Self.title.utf8), found[lines.count + 1].isEmpty,
            zip(lines, found.dropFirst()).allSatisfy({ $0.differsInNameOnly(from: $1) })
        else { return .otherSchema }
        let areKnown = zip(lines, found.dropFirst()).allSatisfy { line, found in
            line.forms.contains { found.elementsEqual($0.utf8) }
        }
        return areKnown ? .originalNames : .otherNames
    }

    /// How a file's schema differs from the program's, one line of the file's or the program's record each; at most
    /// twenty, and of each line a thousand characters of Unicode, since the file may say anything.
    func differences(from file: [UInt8]) -> [String] {
        guard let text = String(validating: file, as: UTF8.self) else {
            return ["the file's schema is not text"]
        }
        let fileLines = Self.qualified(text)
        let programLines = [[Self.title]] + entities.flatMap(\.forms)
        let missing = fileLines.filter { line in !programLines.contains { $0.contains(line) } }
        let added = programLines.filter { forms in !forms.contains { fileLines.contains($0) } }.compactMap(\.first)
        let all = missing.map { "only in the file: \($0)" } + added.map { "only in the program: \($0)" }
        guard !all.isEmpty else { return ["the same lines, but in another order or number"] }
        return all.count <= 20 ? all : all.prefix(20) + ["and \(all.count - 20) more"]
    }

    /// Each property's line after its entity's name.
    private static func qualified(_ text: String) -> [String] {
        var entity = ""
        return text.split(separator: "\n", maxSplits: 10_000).prefix(10_000).map { whole in
            let line = whole.beginning
            if line.hasPrefix("entity ") { entity = line }
            return line.hasPrefix("property ") ? "\(entity): \(line)" : line
        }
    }
}

extension StringProtocol {
    /// As much of a line as differences show: what counts as one character to people may be of any length.
    fileprivate var beginning: String { String(String.UnicodeScalarView(unicodeScalars.prefix(1_000))) }
}

/// The lines of one entity.
private struct EntityLines: Sendable {
    let own: Line
    let properties: [Line]

    var all: [Line] { [own] + properties }

    /// What `differences` may find in a file: of each line, all that it may say.
    var forms: [[String]] {
        [own.forms.map(\.beginning)]
            + properties.map { property in
                own.forms.flatMap { entity in
                    property.forms.map { "\(entity.beginning): \($0.beginning)" }
                }
            }
    }
}

/// A line with a name in it.
private struct Line: Sendable {
    private let start: String
    private let end: String
    /// With the name; then, if there is one, with the original name.
    let forms: [String]

    init(start: String, _ name: String, _ originalName: String?, end: String = "") {
        self.start = start + "\""
        self.end = "\"" + end
        // Names cannot contain line ends or quotes, but back-ticked ones may contain anything else.
        forms = [name, originalName].compactMap { $0 }.map { start + $0.debugDescription + end }
    }

    /// Whether a line of a file says the same, perhaps of something with another name.
    func differsInNameOnly(from line: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard line.count >= start.utf8.count + end.utf8.count, line.starts(with: start.utf8),
            line.suffix(end.utf8.count).elementsEqual(end.utf8)
        else { return false }
        let name = line.dropFirst(start.utf8.count).dropLast(end.utf8.count)
        return String(validating: name, as: UTF8.self) != nil
    }
}
