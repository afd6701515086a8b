/// Joins declared entities into one schema and finds everything that the declarations get wrong.
struct SchemaAssembly {
    private(set) var entities: [EntityDescription]
    private(set) var problems: [SchemaProblem] = []

    init(_ declared: [EntityDescription]) {
        entities = declared.map { EntityDescription(declaredAs: $0) }
    }

    mutating func run() {
        checkNames()
        for entity in entities.indices { placeProperties(of: entity) }
        guard problems.isEmpty else { return }
        for entity in entities.indices { setApartEphemerals(of: entity) }
        for entity in entities.indices { addIndexes(to: entity) }
        for entity in entities.indices { joinToManys(of: entity) }
        for entity in entities.indices { requireInverses(of: entity) }
        for entity in entities.indices { collectReferences(of: entity) }
    }

    private mutating func report(_ entity: Int, _ property: String?, _ reason: String) {
        problems.append(SchemaProblem(entity: entities[entity].name, property: property, reason: reason))
    }

    private mutating func checkNames() {
        var names: Set<String> = []
        for entity in entities.indices where !names.insert(entities[entity].name).inserted {
            let types = entities.filter { $0.name == entities[entity].name }.map { String(reflecting: $0.type) }
            let isSame = Set(types).count < types.count
            report(
                entity, nil,
                "the name occurs twice among the store's entities: \(isSame ? "one type is given twice" : types.joined(separator: " and "))"
            )
        }
        for entity in entities.indices {
            if entities[entity].name.isEmpty { report(entity, nil, "the name is empty") }
            var names: Set<String> = []
            for property in entities[entity].properties where !names.insert(property.name).inserted {
                report(entity, property.name, "the name occurs twice in the schema")
            }
        }
        checkOriginalNames()
    }

    /// What a file calls something must be what one thing is or was called.
    private mutating func checkOriginalNames() {
        let names = entities.map { (name: $0.name, original: $0.originalName) }
        for entity in entities.indices {
            if let reason = Self.problem(ofOriginalNameAt: entity, in: names) { report(entity, nil, reason) }
            let properties = entities[entity].properties
            let names = properties.map { (name: $0.name, original: $0.originalName) }
            for number in properties.indices {
                guard let reason = Self.problem(ofOriginalNameAt: number, in: names) else { continue }
                report(entity, properties[number].name, reason)
            }
        }
    }

    private static func problem(
        ofOriginalNameAt index: Int,
        in names: [(name: String, original: String?)]
    ) -> String? {
        guard let original = names[index].original else { return nil }
        if original.isEmpty { return "the original name is empty" }
        if original == names[index].name { return "the original name is the name itself" }
        for other in names.indices where other != index {
            if original == names[other].name { return "the original name '\(original)' is the name of another" }
            if original == names[other].original {
                return "the original name '\(original)' is also the one of '\(names[other].name)'"
            }
        }
        return nil
    }

    /// Compares the declared properties with the struct's stored ones, by name, offset and type: the engine reads and
    /// writes rows at these offsets, so nothing here is taken on trust.
    private mutating func placeProperties(of entity: Int) {
        guard StoredProperty.isStruct(entities[entity].type) else {
            return report(entity, nil, "\(entities[entity].type) is not a struct")
        }
        let stored = StoredProperty.all(of: entities[entity].type)
        if entities[entity].layout.alignment > RowLeaf.maximumAlignment {
            report(entity, nil, "rows need an alignment of more than \(RowLeaf.maximumAlignment) bytes")
        }
        for index in entities[entity].properties.indices {
            let property = entities[entity].properties[index]
            guard let field = stored.first(where: { $0.name == property.name }) else {
                report(entity, property.name, "\(entities[entity].type) has no stored property of this name")
                continue
            }
            if field.type != property.valueType {
                report(entity, property.name, "declared as \(property.valueType), stored as \(field.type)")
            }
            if !field.isStrong { report(entity, property.name, "a weak or unowned reference cannot be stored") }
            if case .attribute = property.role, containsEntity(property.valueType) {
                report(
                    entity, property.name, "an entity is referred to, not stored in another: declare a ToOne or ToMany")
            }
            if property.isEphemeral, property.valueType is any MembersOfOthers.Type {
                report(entity, property.name, "a to-many relationship cannot be ephemeral")
            }
            if let offset = property.keyPathOffset, offset != field.offset {
                report(entity, property.name, "the key path leads to another property")
            }
            entities[entity].properties[index].offset = field.offset
        }
        let declared = Set(entities[entity].properties.map(\.name))
        for field in stored where !declared.contains(field.name) {
            report(entity, field.name, "a stored property that the schema leaves out would be lost")
        }
    }

    /// Behind all others, ephemeral properties leave the others' numbers, and with them the tags in the file, alone.
    private mutating func setApartEphemerals(of entity: Int) {
        let properties = entities[entity].properties
        entities[entity].properties = properties.filter { !$0.isEphemeral } + properties.filter(\.isEphemeral)
        entities[entity].ephemerals = properties.compactMap { property in
            guard case .ephemeral(let reset) = property.role else { return nil }
            return EphemeralDescription(offset: property.offset, reset: reset, assign: property.operations.assign)
        }
    }

    private mutating func addIndexes(to entity: Int) {
        for (index, property) in entities[entity].properties.enumerated() {
            guard let key = property.operations.key else { continue }
            func description(isUnique: Bool, skipsNil: Bool) -> IndexDescription {
                IndexDescription(
                    property: index,
                    offset: property.offset,
                    key: key,
                    isIdentical: property.operations.isIdentical,
                    isUnique: isUnique,
                    skipsNil: skipsNil
                )
            }
            switch property.role {
            case .attribute(let isUnique, let isIndexed):
                guard isUnique || isIndexed else { continue }
                entities[entity].indexes.append(description(isUnique: isUnique, skipsNil: false))
            case .toOne(let target, _, let rule):
                guard let target = self.index(of: target, for: property, of: entity) else { continue }
                entities[entity].toOnes.append(
                    ToOneDescription(
                        property: index,
                        offset: property.offset,
                        target: target,
                        index: entities[entity].indexes.count,
                        ruleOfOwner: rule
                    )
                )
                entities[entity].indexes.append(description(isUnique: false, skipsNil: true))
            case .toMany, .ephemeral:
                continue
            }
        }
    }

    private mutating func index(of target: any Entity.Type, for property: Property, of entity: Int) -> Int? {
        if let index = entities.firstIndex(where: { $0.type == target }) { return index }
        report(entity, property.name, "leads to \(target), which is not among the store's entities")
        return nil
    }

    /// Finds each to-many relationship's other end, wherever the inverse was named.
    private mutating func joinToManys(of entity: Int) {
        for (index, property) in entities[entity].properties.enumerated() {
            guard case .toMany(let target, let inverse, let rule) = property.role,
                let source = self.index(of: target, for: property, of: entity)
            else { continue }
            let candidates = entities[source].toOnes.indices.filter { position in
                let toOne = entities[source].toOnes[position]
                let other = entities[source].properties[toOne.property]
                let namedHere = inverse.map { AnyKeyPath.areEqual($0.keyPath, other.keyPath) } ?? false
                guard case .toOne(_, let named, _) = other.role else { return false }
                let namedThere = named.map { AnyKeyPath.areEqual($0.keyPath, property.keyPath) } ?? false
                return namedHere || namedThere
            }
            guard let toOne = candidates.first else {
                report(
                    entity, property.name,
                    "no relationship of \(entities[source].name) is its inverse\(advice(of: entity, source))")
                continue
            }
            guard candidates.count == 1 else {
                report(
                    entity, property.name, "several relationships of \(entities[source].name) claim to be its inverse")
                continue
            }
            guard entities[source].toOnes[toOne].inverse == nil else {
                report(entity, property.name, "its inverse already has another inverse")
                continue
            }
            entities[source].toOnes[toOne].inverse = index
            entities[source].toOnes[toOne].ruleOfInverse = rule
            entities[entity].toManys.append(
                ToManyDescription(property: index, offset: property.offset, source: source, toOne: toOne)
            )
        }
    }

    /// What the inverse of an entity's to-many relationship could be.
    private func advice(of entity: Int, _ source: Int) -> String {
        let candidates = entities[source].toOnes.filter { $0.target == entity && $0.inverse == nil }.map { toOne in
            "inverse: \\\(entities[source].name).\(entities[source].properties[toOne.property].name)"
        }
        return candidates.isEmpty ? "" : ": declare it with \(candidates.joined(separator: " or "))"
    }

    /// A to-one relationship that names an inverse must have got it.
    private mutating func requireInverses(of entity: Int) {
        for toOne in entities[entity].toOnes where toOne.inverse == nil {
            let property = entities[entity].properties[toOne.property]
            guard case .toOne(_, .some, _) = property.role else { continue }
            report(
                entity, property.name,
                "the inverse that it names is no declared property of \(entities[toOne.target].name)")
        }
    }

    private mutating func collectReferences(of entity: Int) {
        for (position, toOne) in entities[entity].toOnes.enumerated() {
            entities[toOne.target].references.append(Reference(entity: entity, toOne: position))
        }
    }
}

/// Whether values of a type hold an entity's row, as far as the standard library's own types go.
private func containsEntity(_ type: any Any.Type) -> Bool {
    if type is any Entity.Type { return true }
    return (type as? any Container.Type)?.contents.contains(where: containsEntity) ?? false
}

private protocol Container {
    static var contents: [any Any.Type] { get }
}

extension Optional: Container { fileprivate static var contents: [any Any.Type] { [Wrapped.self] } }
extension Array: Container { fileprivate static var contents: [any Any.Type] { [Element.self] } }
extension Set: Container { fileprivate static var contents: [any Any.Type] { [Element.self] } }
extension Dictionary: Container { fileprivate static var contents: [any Any.Type] { [Key.self, Value.self] } }

/// What a type is that cannot be a value of the program's own: reading it through an object asks for a relationship.
private protocol MembersOfOthers {}

extension ToMany: MembersOfOthers {}

extension AnyKeyPath {
    fileprivate static func areEqual(_ lhs: any AnyKeyPath & Sendable, _ rhs: any AnyKeyPath & Sendable) -> Bool {
        (lhs as AnyKeyPath) == (rhs as AnyKeyPath)
    }
}
