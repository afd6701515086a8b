/// Which relationships are the two ends of one, and what follows from that.
extension SchemaAssembly {
    private func index(of type: any Entity.Type) -> Int? {
        entities.firstIndex { $0.type == type }
    }

    mutating func findTargets(of entity: Int) {
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

    var ends: [End] {
        entities.indices.flatMap { entity in
            entities[entity].properties.indices.map { End(entity: entity, property: $0) }
        }
    }

    /// Finds each relationship's other end, wherever the inverse was named.
    mutating func findInverses() {
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

    mutating func joinToOnes(of entity: Int) {
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

    /// - Parameter linked: the to-many relationships with link tables, in the order of their numbers.
    mutating func joinToManys(of entity: Int, _ linked: [End]) {
        for (index, property) in entities[entity].properties.enumerated() {
            let end = End(entity: entity, property: index)
            guard case .toMany(let relationship) = property.role, let other = inverses[end] else { continue }
            let toOne = entities[other.entity].toOnes.firstIndex { $0.property == other.property }
            let linkTable = linked.firstIndex(of: end)
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
            guard let linkTable else { continue }
            linkTables.append(
                LinkTableDescription(
                    entity: entity,
                    property: index,
                    members: other.entity,
                    isOrdered: relationship.isOrdered,
                    rule: relationship.rule,
                    inverse: toOne == nil ? linked.firstIndex(of: other) : nil,
                    toOne: toOne
                )
            )
            noteLinkTable(linkTable, of: entity, other, toOne)
        }
    }

    /// - Parameter toOne: the members' reference that the link table orders; nil if it has the links themselves.
    private mutating func noteLinkTable(_ number: Int, of entity: Int, _ other: End, _ toOne: Int?) {
        if let toOne {
            entities[other.entity].toOnes[toOne].order = number
            entities[other.entity].hasInversesToMaintain = true
        } else {
            entities[entity].linkTables.append(number)
        }
    }

    /// Whether a to-many relationship needs a link table, for its links or their order.
    func hasLinkTable(_ end: End) -> Bool {
        guard case .toMany(let relationship) = property(at: end).role, let other = inverses[end] else { return false }
        if case .toMany = property(at: other).role { return true }
        return relationship.isOrdered
    }

    mutating func collectReferences(of entity: Int) {
        for (position, toOne) in entities[entity].toOnes.enumerated() {
            entities[toOne.target].references.append(Reference(entity: entity, toOne: position))
        }
        entities[entity].hasCounts =
            entities[entity].toOnes.contains(where: \.isRequired)
            || entities[entity].toManys.contains { !$0.counts.isAny }
    }
}

extension AnyKeyPath {
    fileprivate static func areEqual(_ lhs: any AnyKeyPath & Sendable, _ rhs: any AnyKeyPath & Sendable) -> Bool {
        (lhs as AnyKeyPath) == (rhs as AnyKeyPath)
    }
}
