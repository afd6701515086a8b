/// What is wrong with declarations, each for itself and against the struct's stored properties.
extension SchemaAssembly {
    mutating func checkNames() {
        var names: Set<String> = []
        for entity in entities.indices where !names.insert(entities[entity].name).inserted {
            let types = entities.filter { $0.name == entities[entity].name }.map { String(reflecting: $0.type) }
            let isSame = Set(types).count < types.count
            report(
                entity, nil,
                "two of the store's entities have this name: \(isSame ? "one type is given twice" : types.joined(separator: " and "))"
            )
        }
        for entity in entities.indices {
            if entities[entity].name.isEmpty { report(entity, nil, "the name is empty") }
            var names: Set<String> = []
            for property in entities[entity].properties where !names.insert(property.name).inserted {
                report(entity, property.name, "the schema has this name twice")
            }
        }
        checkOriginalNames()
    }

    /// A name in a file must be the current or former name of exactly one thing.
    private mutating func checkOriginalNames() {
        let names = entities.map { [$0.name] + $0.originalNames }
        for entity in entities.indices {
            if let reason = Self.problem(ofNamesAt: entity, in: names) { report(entity, nil, reason) }
            let properties = entities[entity].properties
            let names = properties.map(\.knownNames)
            for number in properties.indices {
                guard let reason = Self.problem(ofNamesAt: number, in: names) else { continue }
                report(entity, properties[number].name, reason)
            }
        }
    }

    /// - Parameter names: of each thing, its name and then the original ones.
    private static func problem(ofNamesAt index: Int, in names: [[String]]) -> String? {
        let (name, originals) = (names[index][0], names[index].dropFirst())
        if originals.contains("") { return "the original name is empty" }
        if originals.contains(name) { return "the original name is the same as the name" }
        if Set(originals).count < originals.count { return "an original name is there twice" }
        for other in names.indices where other != index {
            for original in originals {
                if original == names[other][0] { return "the original name '\(original)' is the name of another one" }
                if names[other].contains(original) {
                    return "the original name '\(original)' is also that of '\(names[other][0])'"
                }
            }
        }
        return nil
    }

    /// Compares the declared properties with the struct's stored ones, by name, offset and type: the engine reads and writes
    /// rows at these offsets, so it trusts no declaration.
    mutating func placeProperties(of entity: Int) {
        guard StoredProperty.isStruct(entities[entity].type) else {
            return report(entity, nil, "\(entities[entity].type) is not a struct")
        }
        let stored = StoredProperty.all(of: entities[entity].type)
        if entities[entity].layout.alignment > RowLayout.maximumAlignment {
            report(entity, nil, "its rows need an alignment of more than \(RowLayout.maximumAlignment) bytes")
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
                    entity, property.name, "an entity cannot be stored in another one: declare a ToOne or ToMany")
            }
            if property.isTransient, property.valueType is any MembersOfOthers.Type {
                report(entity, property.name, "a to-many relationship cannot be transient")
            }
            if let offset = property.keyPathOffset, offset != field.offset {
                report(entity, property.name, "the key path leads to another property")
            }
            entities[entity].properties[index] = Property(entities[entity].properties[index], at: field.offset)
        }
        let declared = Set(entities[entity].properties.map(\.name))
        for field in stored where !declared.contains(field.name) {
            report(entity, field.name, "the schema leaves out this stored property, which would be lost")
        }
    }

    /// Moves transient properties behind all others, so that they do not affect the others' numbers and tags in the file.
    mutating func setApartTransients(of entity: Int) {
        let properties = entities[entity].properties
        entities[entity].properties = properties.filter { !$0.isTransient } + properties.filter(\.isTransient)
        entities[entity].transients = properties.compactMap { property in
            guard case .transient(let reset) = property.role else { return nil }
            return TransientDescription(offset: property.offset, reset: reset, assign: property.operations.assign)
        }
    }

    mutating func checkCounts(of entity: Int) {
        for property in entities[entity].properties {
            guard let counts = property.relationship?.counts else { continue }
            let limit = if case .toOne = property.role { 1 } else { counts.maximum ?? .max }
            if counts.minimum < 0 || limit < max(counts.minimum, 1) {
                report(
                    entity, property.name, "it cannot lead to at least \(counts.minimum) and at most \(limit) objects")
            }
        }
    }
}

/// Whether values of a type contain an entity's row, as far as the standard library's own types show.
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

/// A type that cannot be a program's own value: reading it through an object needs a relationship.
private protocol MembersOfOthers {}

extension ToMany: MembersOfOthers {}
