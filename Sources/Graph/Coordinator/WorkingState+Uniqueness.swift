/// Unique values, judged on the merged state.
extension WorkingState {
    /// Has new rows with a unique value that another row has give way to it, where the constraint says so.
    ///
    /// - Throws: `.notUnique` with all that is left: new rows that may not give way, or could to several, and rows that took on
    ///   a value of another one.
    mutating func resolveUniqueness() throws(GraphError) -> Replacements {
        var replacements: Replacements = [:]
        // One that gives way may make others alike, which referred to it and to the one that stays.
        while replaceNewRows(&replacements) {}
        for (entity, rows) in replacements {
            for (row, var survivor) in rows {
                while let next = rows[survivor] { survivor = next }
                replacements[entity]?[row] = survivor
            }
        }
        let violations = uniquenessViolations()
        guard violations.isEmpty else { throw .notUnique(violations) }
        return replacements
    }

    /// False if there was nothing to replace.
    private mutating func replaceNewRows(_ replacements: inout Replacements) -> Bool {
        var isChanged = false
        let sharing = rowsSharingValues { description in
            description.indexes.contains { $0.uniqueness ?? .reject != .reject }
        }
        for (entity, rows) in sharing {
            for row in rows where changes[entity].kind(of: row) == .inserted {
                guard let (survivor, policy) = survivor(of: row, of: entity) else { continue }
                replace(row, by: survivor, of: entity, policy)
                replacements[entity, default: [:]][row] = survivor
                isChanged = true
            }
        }
        return isChanged
    }

    /// The row that stays in place of a new one, if there is exactly one and every constraint in question agrees.
    private func survivor(of row: RowNumber, of entity: Int) -> (RowNumber, UniquenessPolicy)? {
        guard let address = snapshot.entities[entity].rows.address(of: row) else { return nil }
        var survivors: Set<RowNumber> = []
        var policies: Set<UniquenessPolicy> = []
        for (number, index) in schema.entities[entity].indexes.enumerated() {
            guard let policy = index.uniqueness else { continue }
            // Of two new rows the later one gives way.
            let others = snapshot.rowsSharingKey(of: row, at: address, index: number, of: entity)
                .filter { $0 < row || changes[entity].kind(of: $0) != .inserted }
            guard !others.isEmpty else { continue }
            survivors.formUnion(others)
            policies.insert(policy)
        }
        guard survivors.count == 1, let survivor = survivors.first, !policies.contains(.reject) else { return nil }
        return (survivor, policies.contains(.upsert) ? .upsert : .keepExisting)
    }

    /// Gives everything that a new row has to another one, and removes it as if it had never been inserted.
    private mutating func replace(
        _ row: RowNumber,
        by survivor: RowNumber,
        of entity: Int,
        _ policy: UniquenessPolicy
    ) {
        let description = schema.entities[entity]
        guard let new = snapshot.entities[entity].rows.address(of: row),
            let old = snapshot.entities[entity].rows.address(of: survivor)
        else { return }
        description.layout.withCopy(of: old) { merged in
            for property in description.properties where property.relationship == nil && policy == .upsert {
                property.operations.assign(merged + property.offset, new + property.offset)
            }
            let references = description.toOnes.map { toOne in
                let (mine, own) = (toOne.target(ofRowAt: new), toOne.target(ofRowAt: old))
                // The partner of one to one comes along unless it would drive out another.
                let isWanted = policy == .upsert || (toOne.mate != nil && own == 0)
                return mine != 0 && isWanted ? mine : own
            }
            for (toOne, target) in zip(description.toOnes, references) {
                let isItself = target == row && toOne.target == entity
                (merged + toOne.offset).storeBytes(of: isItself ? survivor : target, as: RowNumber.self)
            }
            // Among the members of what it refers to, the one that stays has the place that the new one had.
            var places: [(list: Int, owner: RowNumber, key: OrderKey)] = []
            for toOne in description.toOnes {
                let (old, target) = (toOne.target(ofRowAt: new), toOne.target(ofRowAt: merged))
                guard policy == .upsert, let list = toOne.order, old != 0,
                    let key = snapshot.adjacencies[list].key(of: row, of: old)
                else { continue }
                places.append((list, target, key))
            }
            for toOne in description.toOnes { setReference(of: row, of: entity, through: toOne, to: 0) }
            update(survivor, of: entity, copying: merged)
            for place in places { snapshot.adjacencies[place.list].insert(survivor, of: place.owner, key: place.key) }
        }
        for reference in description.references {
            let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
            for referrer in snapshot.referrers(inOrderTo: row, through: toOne, of: reference.entity, reference.toOne) {
                setReference(of: referrer, of: reference.entity, through: toOne, to: survivor)
            }
        }
        for number in description.linkLists {
            for member in snapshot.adjacencies[number].memberRowsInOrder(of: row) {
                handOver(Link(list: number, owner: row, member: member), to: survivor)
            }
        }
        for relationship in description.toManys {
            guard !missingMembers.isEmpty,
                let missing = missingMembers.removeValue(forKey: MemberList(relationship, of: row))
            else { continue }
            missingMembers[MemberList(relationship, of: survivor), default: []].formUnion(missing)
        }
        remove(row, of: entity)
    }

    /// Makes a link another owner's. In the member's list that one has the place of the owner before.
    private mutating func handOver(_ link: Link, to owner: RowNumber) {
        let list = schema.adjacencies[link.list]
        let key = list.mate.flatMap { snapshot.adjacencies[$0].key(of: link.owner, of: link.member) }
        snapshot.unlink(link.member, from: link.owner, in: link.list)
        if link.member == link.owner, list.members == list.entity {
            snapshot.link(owner, to: owner, in: link.list)
        } else {
            snapshot.link(link.member, to: owner, in: link.list)
            guard let mate = list.mate, let key else { return }
            snapshot.adjacencies[mate].insert(owner, of: link.member, key: key)
        }
    }

    /// Rows with a unique value that others have too, by entity and in ascending order, as far as they were written here; what
    /// was written when another had the value leads to them, since the base has no such rows.
    private func rowsSharingValues(
        ofEntitiesWhere isWanted: (EntityDescription) -> Bool = { _ in true }
    ) -> [(entity: Int, rows: [RowNumber])] {
        guard !suspects.isEmpty else { return [] }
        var found: [Int: Set<RowNumber>] = [:]
        for place in suspects where isWanted(schema.entities[place.entity]) {
            guard let address = snapshot.entities[place.entity].rows.address(of: place.row) else { continue }
            for (number, index) in schema.entities[place.entity].indexes.enumerated() where index.uniqueness != nil {
                let others = snapshot.rowsSharingKey(of: place.row, at: address, index: number, of: place.entity)
                if !others.isEmpty { found[place.entity, default: []].formUnion([place.row] + others) }
            }
        }
        return found.sorted { $0.key < $1.key }.map { entity, rows in
            (entity, rows.filter { changes[entity].kind(of: $0) != nil }.sorted())
        }
    }

    /// Inserted rows, and updated ones whose unique values changed, that share a value with another row.
    private func uniquenessViolations() -> [UniquenessViolation] {
        var violations: [UniquenessViolation] = []
        for (entity, rows) in rowsSharingValues() {
            let description = schema.entities[entity]
            for (number, index) in description.indexes.enumerated() where index.uniqueness != nil {
                for row in rows {
                    guard let address = snapshot.entities[entity].rows.address(of: row) else { continue }
                    let original = base.entities[entity].rows.address(of: row)
                    if let original, index.isIdentical(address, original) { continue }
                    let others = snapshot.rowsSharingKey(of: row, at: address, index: number, of: entity)
                    guard let other = others.first else { continue }
                    let values = index.parts.map { part in
                        description.properties[part.property].operations.describe(address + part.offset)
                    }
                    violations.append(
                        UniquenessViolation(
                            id: schema.id(of: row, of: entity),
                            existing: schema.id(of: other, of: entity),
                            property: description.name(of: index),
                            value: values.joined(separator: ", ")
                        )
                    )
                }
            }
        }
        return violations
    }
}

extension Snapshot {
    /// The rows that refer to one, in the order that they have among its members.
    fileprivate func referrers(
        inOrderTo target: RowNumber,
        through toOne: ToOneDescription,
        of entity: Int,
        _ position: Int
    ) -> [RowNumber] {
        toOne.order.map { adjacencies[$0].keys(of: target).map(\.member) }
            ?? referrers(to: target, of: entity, through: position)
    }
}
