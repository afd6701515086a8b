/// Joins declared entities into one schema and finds all errors in the declarations.
struct SchemaAssembly {
    private(set) var entities: [EntityDescription]
    private(set) var linkTables: [LinkTableDescription] = []
    private(set) var problems: [SchemaProblem] = []
    private var targets: [End: Int] = [:]
    private var inverses: [End: End] = [:]

    init(_ declared: [EntityDescription]) {
        entities = declared.map { EntityDescription(declaredAs: $0) }
    }

    /// Entities of which nothing is left to find out: only `join` is to be called.
    ///
    /// - Parameters:
    ///   - entities: their properties have offsets.
    ///   - targets: by relationship, the entity that it leads to.
    ///   - inverses: by relationship, the other end.
    init(placed entities: [EntityDescription], targets: [End: Int], inverses: [End: End]) {
        (self.entities, self.targets, self.inverses) = (entities, targets, inverses)
    }

    mutating func run() {
        checkNames()
        for entity in entities.indices { placeProperties(of: entity) }
        guard problems.isEmpty else { return }
        for entity in entities.indices { setApartTransients(of: entity) }
        for entity in entities.indices { findTargets(of: entity) }
        for entity in entities.indices { checkCounts(of: entity) }
        findInverses()
        join()
    }

    /// Adds what follows from declarations that are complete.
    mutating func join() {
        for entity in entities.indices { addIndexes(to: entity) }
        for entity in entities.indices { addCompoundIndexes(to: entity) }
        guard problems.isEmpty else { return }
        for entity in entities.indices { joinToOnes(of: entity) }
        let listed = ends.filter(hasLinkTable)
        for entity in entities.indices { joinToManys(of: entity, listed) }
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
        let names = entities.map(\.knownNames)
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
    private mutating func placeProperties(of entity: Int) {
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
    private mutating func setApartTransients(of entity: Int) {
        let properties = entities[entity].properties
        entities[entity].properties = properties.filter { !$0.isTransient } + properties.filter(\.isTransient)
        entities[entity].transients = properties.compactMap { property in
            guard case .transient(let reset) = property.role else { return nil }
            return TransientDescription(offset: property.offset, reset: reset, assign: property.operations.assign)
        }
    }

    private mutating func addIndexes(to entity: Int) {
        for (index, property) in entities[entity].properties.enumerated() {
            switch property.role {
            case .attribute(let uniqueness, let isIndexed):
                guard uniqueness != nil || isIndexed, let part = part(index, of: entity) else { continue }
                entities[entity].indexes.append(IndexDescription(first: part, uniqueness: uniqueness))
            case .toOne(let relationship):
                guard let target = targets[End(entity: entity, property: index)], let part = part(index, of: entity)
                else { continue }
                entities[entity].toOnes.append(
                    ToOneDescription(
                        property: index,
                        offset: property.offset,
                        target: target,
                        index: entities[entity].indexes.count,
                        ruleOfOwner: relationship.rule,
                        isRequired: relationship.counts.minimum > 0
                    )
                )
                entities[entity].indexes.append(IndexDescription(first: part, uniqueness: nil, skipsNil: true))
            case .toMany, .transient:
                continue
            }
        }
    }

    /// A property as part of an index's key; nil for one without an order.
    private func part(_ property: Int, of entity: Int) -> IndexDescription.Part? {
        let declared = entities[entity].properties[property]
        return declared.operations.key.map { key in
            IndexDescription.Part(
                property: property,
                offset: declared.offset,
                key: key,
                isIdentical: declared.operations.isIdentical
            )
        }
    }

    /// Adds them behind the indexes of single properties.
    private mutating func addCompoundIndexes(to entity: Int) {
        for compound in entities[entity].compounds {
            let list = "(\(compound.properties.joined(separator: ", ")))"
            let what = compound.uniqueness == nil ? "the index" : "the unique constraint"
            var parts: [IndexDescription.Part] = []
            for name in compound.properties {
                guard let number = entities[entity].properties.firstIndex(where: { $0.name == name }) else {
                    report(entity, name, "\(what) \(list) names it, but there is no such property")
                    continue
                }
                guard !parts.contains(where: { $0.property == number }) else {
                    report(entity, name, "\(what) \(list) names it twice")
                    continue
                }
                if let part = part(number, of: entity) {
                    parts.append(part)
                } else {
                    report(entity, name, "\(what) \(list) names it, but its values have no order")
                }
            }
            if compound.properties.isEmpty { report(entity, nil, "\(what) names no properties") }
            guard let first = parts.first else { continue }
            entities[entity].indexes.append(
                IndexDescription(first: first, rest: Array(parts.dropFirst()), uniqueness: compound.uniqueness)
            )
        }
    }

    private mutating func checkCounts(of entity: Int) {
        for property in entities[entity].properties {
            guard let counts = property.relationship?.counts else { continue }
            let limit = if case .toOne = property.role { 1 } else { counts.maximum ?? .max }
            if counts.minimum < 0 || limit < max(counts.minimum, 1) {
                report(
                    entity, property.name, "it cannot lead to at least \(counts.minimum) and at most \(limit) objects")
            }
        }
    }

    private func index(of type: any Entity.Type) -> Int? {
        entities.firstIndex { $0.type == type }
    }

    private mutating func findTargets(of entity: Int) {
        for (number, property) in entities[entity].properties.enumerated() {
            guard let relationship = property.relationship else { continue }
            if let target = index(of: relationship.target) {
                targets[End(entity: entity, property: number)] = target
            } else {
                let reason = "leads to \(relationship.target), which is not among the store's entities"
                report(entity, property.name, reason)
            }
        }
    }

    // MARK: Relationships

    /// One end of a relationship.
    struct End: Hashable {
        let entity: Int
        let property: Int
    }

    private var ends: [End] {
        entities.indices.flatMap { entity in
            entities[entity].properties.indices.map { End(entity: entity, property: $0) }
        }
    }

    /// Finds each relationship's other end, wherever the inverse was named.
    private mutating func findInverses() {
        for end in ends {
            let property = property(at: end)
            guard let relationship = property.relationship, let target = index(of: relationship.target) else {
                continue
            }
            let candidates = entities[target].properties.indices.map { End(entity: target, property: $0) }
                .filter { areInverses(end, $0) }
            if candidates.count == 1 {
                inverses[end] = candidates[0]
            } else if let problem = problem(of: end, whoseInversesAre: candidates, in: target) {
                report(end.entity, property.name, problem)
            }
        }
        for end in ends {
            // Several claims to be the inverse have been reported already.
            guard let other = inverses[end], let another = inverses[other], another != end else { continue }
            report(end.entity, property(at: end).name, "its inverse already has another inverse")
        }
    }

    private func problem(of end: End, whoseInversesAre candidates: [End], in target: Int) -> String? {
        let property = property(at: end)
        guard candidates.isEmpty else {
            let names = candidates.map { self.property(at: $0).name }.joined(separator: ", ")
            return "several relationships of \(entities[target].name) claim to be its inverse: \(names)"
        }
        if property.relationship?.inverse != nil {
            return "the inverse that it names is not a declared property of \(entities[target].name)"
        }
        guard case .toMany = property.role else { return nil }
        return "no relationship of \(entities[target].name) is its inverse\(advice(of: end.entity, target))"
    }

    private func areInverses(_ end: End, _ other: End) -> Bool {
        let (property, candidate) = (property(at: end), property(at: other))
        guard let there = candidate.relationship, index(of: there.target) == end.entity,
            let here = property.relationship
        else { return false }
        return here.inverse.map { AnyKeyPath.areEqual($0, candidate.keyPath) } ?? false
            || there.inverse.map { AnyKeyPath.areEqual($0, property.keyPath) } ?? false
    }

    /// Suggests an inverse for an entity's to-many relationship.
    private func advice(of entity: Int, _ target: Int) -> String {
        let candidates = entities[target].properties.filter { property in
            guard let relationship = property.relationship, index(of: relationship.target) == entity else {
                return false
            }
            return relationship.inverse == nil
        }
        let names = candidates.map { "inverse: \\\(entities[target].name).\($0.name)" }
        return names.isEmpty ? "" : ": declare it with \(names.joined(separator: " or "))"
    }

    private mutating func joinToOnes(of entity: Int) {
        for position in entities[entity].toOnes.indices {
            let toOne = entities[entity].toOnes[position]
            guard let other = inverses[End(entity: entity, property: toOne.property)] else {
                // A required reference cannot be nullified.
                if toOne.isRequired { entities[entity].toOnes[position].ruleOfInverse = .deny }
                continue
            }
            entities[entity].toOnes[position].inverse = other.property
            entities[entity].toOnes[position].ruleOfInverse = property(at: other).relationship?.rule ?? .nullify
            if let inverse = entities[other.entity].toOnes.firstIndex(where: { $0.property == other.property }) {
                entities[entity].toOnes[position].inverseToOne = Reference(entity: other.entity, toOne: inverse)
                entities[entity].hasInversesToMaintain = true
            }
        }
    }

    private func property(at end: End) -> Property { entities[end.entity].properties[end.property] }

    /// - Parameter listed: the to-many relationships with link tables, in the order of their numbers.
    private mutating func joinToManys(of entity: Int, _ listed: [End]) {
        for (index, property) in entities[entity].properties.enumerated() {
            guard case .toMany(let relationship) = property.role,
                let other = inverses[End(entity: entity, property: index)]
            else { continue }
            let toOne = entities[other.entity].toOnes.firstIndex { $0.property == other.property }
            let linkTable = listed.firstIndex(of: End(entity: entity, property: index))
            if let linkTable {
                let inverse = toOne == nil ? listed.firstIndex(of: other) : nil
                linkTables.append(
                    LinkTableDescription(
                        entity: entity,
                        property: index,
                        members: other.entity,
                        isOrdered: relationship.isOrdered,
                        rule: relationship.rule,
                        inverse: inverse,
                        toOne: toOne
                    )
                )
                if let toOne {
                    entities[other.entity].toOnes[toOne].order = linkTable
                    entities[other.entity].hasInversesToMaintain = true
                } else {
                    entities[entity].linkLists.append(linkTable)
                }
            }
            entities[entity].toManys.append(
                ToManyDescription(
                    entity: entity,
                    property: index,
                    offset: property.offset,
                    source: other.entity,
                    inverse: other.property,
                    toOne: toOne,
                    linkTable: linkTable,
                    isOrdered: relationship.isOrdered,
                    counts: relationship.counts
                )
            )
        }
    }

    /// Whether a to-many relationship needs a link table, for its links or their order.
    private func hasLinkTable(_ end: End) -> Bool {
        guard case .toMany(let relationship) = property(at: end).role, let other = inverses[end] else { return false }
        if case .toMany = property(at: other).role { return true }
        return relationship.isOrdered
    }

    private mutating func collectReferences(of entity: Int) {
        for (position, toOne) in entities[entity].toOnes.enumerated() {
            entities[toOne.target].references.append(Reference(entity: entity, toOne: position))
        }
        entities[entity].hasCounts =
            entities[entity].toOnes.contains(where: \.isRequired)
            || entities[entity].toManys.contains { !$0.counts.isAny }
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

extension AnyKeyPath {
    fileprivate static func areEqual(_ lhs: any AnyKeyPath & Sendable, _ rhs: any AnyKeyPath & Sendable) -> Bool {
        (lhs as AnyKeyPath) == (rhs as AnyKeyPath)
    }
}
