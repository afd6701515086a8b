/// Joins declared entities into one schema and finds all errors in the declarations.
struct SchemaAssembly {
    /// One end of a relationship.
    struct End: Hashable {
        let entity: Int
        let property: Int
    }

    var entities: [EntityDraft]
    var linkTables: [LinkTableDescription] = []
    private(set) var problems: [SchemaProblem] = []
    var targets: [End: Int] = [:]
    var inverses: [End: End] = [:]

    init(_ declared: [EntityDescription]) {
        entities = declared.map { EntityDraft($0) }
    }

    /// Entities of which nothing is left to find out: only `join` is to be called.
    ///
    /// - Parameters:
    ///   - entities: their properties have offsets.
    ///   - targets: by relationship, the entity that it leads to.
    ///   - inverses: by relationship, the other end.
    init(placed entities: [EntityDraft], targets: [End: Int], inverses: [End: End]) {
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
        let linked = ends.filter(hasLinkTable)
        for entity in entities.indices { joinToManys(of: entity, linked) }
        for entity in entities.indices { collectReferences(of: entity) }
    }

    mutating func report(_ entity: Int, _ property: String?, _ reason: String) {
        problems.append(SchemaProblem(entity: entities[entity].name, property: property, reason: reason))
    }

    // MARK: Indexes

    private mutating func addIndexes(to entity: Int) {
        for (index, property) in entities[entity].properties.enumerated() {
            switch property.role {
            case .attribute(let uniqueness, let isIndexed):
                guard uniqueness != nil || isIndexed else { continue }
                guard let part = part(index, of: entity) else {
                    report(entity, property.name, "it is to be unique or indexed, but its values have no order")
                    continue
                }
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
}
