extension SchemaRecord {
    /// So many bytes and lines a record has at most, and so many properties an entity: reading takes time in proportion to the
    /// square of these.
    static let lengthLimit = 16 << 20
    private static let lineLimit = 50_000
    private static let propertyLimit = 4_096

    /// What is wrong with a record.
    struct Malformed: Error {
        let reason: String
    }

    /// Reads a payload and believes none of it: afterwards every number in it leads to something that exists, and the two ends
    /// of each relationship agree.
    ///
    /// - Throws: `Malformed`.
    init(reading payload: UnsafeRawBufferPointer) throws {
        guard payload.count <= Self.lengthLimit, payload.count(where: { $0 == 10 }) <= Self.lineLimit else {
            throw Malformed(reason: "the schema is longer than any that Graph writes")
        }
        guard let text = String(validating: payload, as: UTF8.self) else {
            throw Malformed(reason: "the schema is not text")
        }
        self.init(entities: [], earlier: [])
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)[...]
        guard lines.popFirst()?.elementsEqual(Self.title.unicodeScalars) == true, lines.popLast()?.isEmpty == true
        else {
            throw Malformed(reason: "the schema does not begin with '\(Self.title)', or its last line has no end")
        }
        var earlier: [String] = []
        for (number, content) in lines.enumerated() {
            var line = SchemaLine(content)
            guard read(&line, into: &earlier), line.isAtEnd else {
                let content = String(String.UnicodeScalarView(content.prefix(200)))
                throw Malformed(reason: "line \(number + 2) of the schema cannot be read: \(content)")
            }
        }
        guard earlier.count <= Self.earlierLimit else {
            throw Malformed(reason: "the schema has too many earlier ones")
        }
        let metadata = metadata
        self = SchemaRecord(entities: entities, version: version, earlier: earlier)
        self.metadata = metadata
        try check()
    }

    private mutating func read(_ line: inout SchemaLine, into earlier: inout [String]) -> Bool {
        if line.take("earlier ") {
            guard let fingerprint = line.fingerprint() else { return false }
            earlier.append(fingerprint)
            return true
        }
        guard earlier.isEmpty, version == nil else { return false }
        if line.take("version ") {
            version = line.name()
            return version != nil
        }
        if line.take("metadata ") {
            guard let key = line.quoted(), !key.isEmpty, line.take(" "), let text = line.quoted() else { return false }
            return metadata.updateValue(text, forKey: key) == nil
        }
        guard metadata.isEmpty else { return false }
        if line.take("entity \(Self.tag(entities.count)) ") {
            guard let name = line.name() else { return false }
            var compounds: [Compound] = []
            while !line.isAtEnd {
                let isUnique = line.take(" unique")
                guard isUnique || line.take(" index") else { return false }
                var properties: [Int] = []
                while line.isBeforeNumber, let number = line.number() { properties.append(number) }
                compounds.append(Compound(isUnique: isUnique, properties: properties))
            }
            entities.append(Entity(name: name, compounds: compounds))
            return true
        }
        guard let last = entities.indices.last, entities[last].properties.count < Self.propertyLimit,
            line.take("property \(Self.tag(entities[last].properties.count)) "), let name = line.name(),
            line.take(" "), let role = line.role()
        else { return false }
        entities[last].properties.append(Property(name: name, role: role))
        return true
    }

    private func check() throws {
        guard Set(entities.map(\.name)).count == entities.count else {
            throw Malformed(reason: "an entity is there twice")
        }
        for (number, entity) in entities.enumerated() {
            guard Set(entity.properties.map(\.name)).count == entity.properties.count else {
                throw Malformed(reason: "a property of \(entity.name.shortened()) is there twice")
            }
            for property in entity.properties.indices where !isJoined(property, of: number) {
                let name = "\(entity.name.shortened()).\(entity.properties[property].name.shortened())"
                throw Malformed(reason: "\(name) leads to nothing that leads back")
            }
            for compound in entity.compounds {
                guard compound.properties.allSatisfy(entity.properties.indices.contains),
                    compound.properties.allSatisfy({ entity.properties[$0].role.isOrdered }),
                    Set(compound.properties).count == compound.properties.count, !compound.properties.isEmpty
                else { throw Malformed(reason: "an index of \(entity.name.shortened()) has other properties") }
            }
        }
    }

    /// Whether the other end of a relationship leads back; true for attributes.
    private func isJoined(_ property: Int, of entity: Int) -> Bool {
        switch entities[entity].properties[property].role {
        case .attribute:
            return true
        case .toOne(let target, _, let inverse, let counts):
            guard entities.indices.contains(target), counts.minimum <= 1, counts.maximum == nil else { return false }
            guard let inverse else { return true }
            guard case .toOne(entity, _, property, _)? = role(of: inverse, of: target) else { return false }
            return true
        case .toMany(let source, let inverse, _, _, let counts):
            guard counts.maximum ?? .max >= max(counts.minimum, 1) else { return false }
            switch role(of: inverse, of: source) {
            case .toOne(entity, _, nil, _)?: return isOnlyInverse(property, of: entity, to: inverse, source)
            case .toMany(entity, property, _, _, _)?: return true
            default: return false
            }
        }
    }

    private func role(of property: Int, of entity: Int) -> Role? {
        guard entities.indices.contains(entity), entities[entity].properties.indices.contains(property) else {
            return nil
        }
        return entities[entity].properties[property].role
    }

    /// Whether no other to-many relationship of the entity has the same inverse.
    private func isOnlyInverse(_ property: Int, of entity: Int, to inverse: Int, _ source: Int) -> Bool {
        entities[entity].properties.indices.allSatisfy { other in
            guard other != property, case .toMany(source, inverse, _, _, _) = entities[entity].properties[other].role
            else {
                return true
            }
            return false
        }
    }
}

/// What is left of a line. Scalars, since the first one of a name may join the quotation mark before it to one character.
private struct SchemaLine {
    private var rest: Substring.UnicodeScalarView

    init(_ line: Substring.UnicodeScalarView) {
        rest = line
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.unicodeScalars) else { return false }
        rest = rest.dropFirst(text.unicodeScalars.count)
        return true
    }

    /// Whether a blank and a number follow.
    var isBeforeNumber: Bool { rest.first == " " && rest.dropFirst().first.map { ("0"..."9").contains($0) } ?? false }

    /// A blank and a tag, as the number that it stands for.
    mutating func number() -> Int? {
        guard take(" ") else { return nil }
        return decimal().flatMap { $0 > 0 ? $0 - 1 : nil }
    }

    /// The shortest form of a number.
    private mutating func decimal() -> Int? {
        let digits = rest.prefix { ("0"..."9").contains($0) }
        guard (1...19).contains(digits.count), digits.first != "0" || digits.count == 1 else { return nil }
        rest = rest.dropFirst(digits.count)
        return Int(String(digits))
    }

    mutating func fingerprint() -> String? {
        guard rest.count == 64, rest.allSatisfy({ ("0"..."9").contains($0) || ("a"..."f").contains($0) }) else {
            return nil
        }
        defer { rest = rest.suffix(0) }
        return String(rest)
    }

    /// A text in quotes that is not empty.
    mutating func name() -> String? { quoted().flatMap { $0.isEmpty ? nil : $0 } }

    /// A text in quotes.
    mutating func quoted() -> String? {
        guard rest.first == "\"" else { return nil }
        var text = String.UnicodeScalarView()
        var scalars = rest.dropFirst()
        while let scalar = scalars.popFirst() {
            if scalar == "\"" {
                rest = scalars
                return String(text)
            }
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            guard let (meaning, count) = Self.escaped(scalars) else { return nil }
            text.append(meaning)
            scalars = scalars.dropFirst(count)
        }
        return nil
    }

    /// What stands for one scalar after a backslash, and its length.
    private static func escaped(_ scalars: Substring.UnicodeScalarView) -> (Unicode.Scalar, Int)? {
        switch scalars.first {
        case "\\"?, "\""?, "'"?: return scalars.first.map { ($0, 1) }
        case "0"?: return ("\0", 1)
        case "n"?: return ("\n", 1)
        case "r"?: return ("\r", 1)
        case "t"?: return ("\t", 1)
        case "u"?:
            let digits = scalars.dropFirst(2).prefix { $0 != "}" }
            guard scalars.dropFirst().first == "{", (1...8).contains(digits.count),
                scalars.dropFirst(2 + digits.count).first == "}",
                let scalar = UInt32(String(digits), radix: 16).flatMap(Unicode.Scalar.init)
            else { return nil }
            return (scalar, digits.count + 3)
        default: return nil
        }
    }

    mutating func role() -> SchemaRecord.Role? {
        if take("to-one") {
            guard let target = number(), let rule = rule() else { return nil }
            var inverse: Int?
            if take(" inverse") {
                inverse = number()
                if inverse == nil { return nil }
            }
            return counts().map { .toOne(target: target, rule: rule, inverse: inverse, counts: $0) }
        }
        if take("to-many") {
            guard let source = number(), let inverse = number(), let rule = rule() else { return nil }
            let isOrdered = take(" ordered")
            return counts().map {
                .toMany(source: source, inverse: inverse, rule: rule, isOrdered: isOrdered, counts: $0)
            }
        }
        var (kind, indexing) = (String(rest), SchemaRecord.Indexing.none)
        let suffixes: [(String, SchemaRecord.Indexing)] = [(" unique", .unique), (" indexed", .indexed)]
        if let (suffix, meaning) = suffixes.first(where: { kind.hasSuffix($0.0) }) {
            kind.removeLast(suffix.count)
            indexing = meaning
        }
        guard let read = AttributeKind(kind), indexing == .none || read.isOrdered else { return nil }
        rest = rest.suffix(0)
        return .attribute(kind: kind, indexing)
    }

    private mutating func rule() -> DeleteRule? {
        [.nullify, .cascade, .deny].first { take(" \($0.rawValue)") }
    }

    /// nil if a number cannot be read.
    private mutating func counts() -> MemberCounts? {
        var counts = MemberCounts()
        if take(" minimum ") {
            guard let minimum = decimal(), minimum > 0 else { return nil }
            counts.minimum = minimum
        }
        if take(" maximum ") {
            guard let maximum = decimal() else { return nil }
            counts.maximum = maximum
        }
        return counts
    }
}

extension SchemaRecord.Role {
    /// Whether an index may have it.
    fileprivate var isOrdered: Bool {
        switch self {
        case .attribute(let kind, _): AttributeKind(kind)?.isOrdered ?? false
        case .toOne: true
        case .toMany: false
        }
    }
}
