/// What a new row hands over to the one that replaces it, and what the two release.
extension WorkingState {
    /// Hands a new row's values and relationships over to another row, and removes it as if it had never been inserted.
    mutating func replace(
        _ row: RowNumber,
        by survivor: RowNumber,
        of entity: Int,
        _ policy: UniquenessPolicy,
        _ resolution: inout UniquenessResolution
    ) {
        let takesOver = policy != .keepExisting
        resolution.note(row, givesWayTo: survivor, of: entity)
        if takesOver { resolution.overwritten.insert(RowID(entity: entity, row: survivor)) }
        if policy == .replace {
            releaseOwned(by: survivor, of: entity, thatAreNotOf: row, &resolution)
        } else {
            releaseMembers(of: RowID(entity: entity, row: survivor), &resolution)
        }
        let relatedRows = relatedRows(of: row, survivor, of: entity)
        handOverValues(of: row, to: survivor, of: entity, takesOver: takesOver)
        handOverReferrers(of: row, to: survivor, of: entity, &resolution)
        handOverMembers(of: row, to: survivor, of: entity)
        remove(RowID(entity: entity, row: row))
        for related in relatedRows {
            let target = schema.entities[entity].toOnes[related.toOne].target
            resolution.noteKeys(of: RowID(entity: target, row: related.row), in: self)
            applyDeleteRule(to: related, of: entity, besides: survivor, &resolution)
        }
    }

    /// Hands over a row's own values, references and positions.
    ///
    /// - Parameter takesOver: whether the survivor takes over what it has itself. Otherwise it takes only one-to-one related rows
    ///   where it has none.
    private mutating func handOverValues(of row: RowNumber, to survivor: RowNumber, of entity: Int, takesOver: Bool) {
        let description = schema.entities[entity]
        guard let new = snapshot.entities[entity].rows.address(of: row),
            let old = snapshot.entities[entity].rows.address(of: survivor)
        else { return }
        description.layout.withCopy(of: old) { merged in
            for property in description.properties where property.relationship == nil && takesOver {
                property.copy(from: new, to: merged)
            }
            for toOne in description.toOnes {
                let (mine, own) = (toOne.target(ofRowAt: new), toOne.target(ofRowAt: old))
                // A one-to-one related row comes along unless it would displace another.
                let isWanted = takesOver || (toOne.inverseToOne != nil && own == 0)
                let target = mine != 0 && isWanted ? mine : own
                let isItself = target == row && toOne.target == entity
                (merged + toOne.offset).storeBytes(of: isItself ? survivor : target, as: RowNumber.self)
            }
            // The survivor takes the new row's position among the members of what it refers to.
            var positions: [(table: Int, owner: RowNumber, key: OrderKey)] = []
            for toOne in description.toOnes {
                let (old, target) = (toOne.target(ofRowAt: new), toOne.target(ofRowAt: merged))
                guard takesOver, let table = toOne.order, old != 0,
                    let key = snapshot.linkTables[table].key(of: row, of: old)
                else { continue }
                positions.append((table, target, key))
            }
            for toOne in description.toOnes { setReference(of: RowID(entity: entity, row: row), through: toOne, to: 0) }
            update(RowID(entity: entity, row: survivor), copying: merged)
            for position in positions {
                snapshot.linkTables[position.table].insert(survivor, of: position.owner, key: position.key)
            }
        }
    }

    /// Makes the rows that refer to a row refer to its survivor.
    private mutating func handOverReferrers(
        of row: RowNumber,
        to survivor: RowNumber,
        of entity: Int,
        _ resolution: inout UniquenessResolution
    ) {
        for reference in schema.entities[entity].references {
            let toOne = schema.toOne(reference)
            for referrer in snapshot.referrers(inOrderTo: row, through: reference) {
                let id = RowID(entity: reference.entity, row: referrer)
                setReference(of: id, through: toOne, to: survivor)
                resolution.noteKeys(of: id, in: self)
            }
        }
        resolution.noteKeys(of: RowID(entity: entity, row: survivor), in: self)
    }

    /// Hands over the members of a row's own relationships, also those that the state does not have yet.
    private mutating func handOverMembers(of row: RowNumber, to survivor: RowNumber, of entity: Int) {
        for number in schema.entities[entity].linkTables {
            for member in snapshot.linkTables[number].memberRowsInOrder(of: row) {
                handOver(LinkID(table: number, owner: row, member: member), to: survivor)
            }
        }
        guard !missingMembers.isEmpty else { return }
        for relationship in schema.entities[entity].toManys {
            guard let missing = missingMembers.removeValue(forKey: MemberList(relationship, of: row)) else { continue }
            missingMembers[MemberList(relationship, of: survivor), default: []].formUnion(missing)
        }
    }

    /// Moves a link to another owner. In the member's list, that one takes the former owner's position.
    private mutating func handOver(_ link: LinkID, to owner: RowNumber) {
        let table = schema.linkTables[link.table]
        let key = table.inverse.flatMap { snapshot.linkTables[$0].key(of: link.owner, of: link.member) }
        snapshot.unlink(link.member, from: link.owner, in: link.table)
        if link.member == link.owner, table.members == table.entity {
            snapshot.link(owner, to: owner, in: link.table)
        } else {
            snapshot.link(link.member, to: owner, in: link.table)
            guard let inverse = table.inverse, let key else { return }
            snapshot.linkTables[inverse].insert(owner, of: link.member, key: key)
        }
    }

    // MARK: What loses its other end

    /// A row that was one to one with the survivor or with the row that gives way.
    private struct RelatedRow {
        let toOne: Int
        let row: RowNumber
        let isOfSurvivor: Bool
    }

    private func relatedRows(of row: RowNumber, _ survivor: RowNumber, of entity: Int) -> [RelatedRow] {
        let rows = snapshot.entities[entity].rows
        return schema.entities[entity].toOnes.enumerated().flatMap { number, toOne -> [RelatedRow] in
            guard toOne.inverseToOne != nil else { return [] }
            return [row, survivor].compactMap { owner in
                let target = rows.address(of: owner).map { toOne.target(ofRowAt: $0) } ?? 0
                let isItself = toOne.target == entity && (target == row || target == survivor)
                return target == 0 || isItself
                    ? nil : RelatedRow(toOne: number, row: target, isOfSurvivor: owner == survivor)
            }
        }
    }

    /// A displaced related row follows the delete rule. A survivor that was never saved denies nothing.
    private mutating func applyDeleteRule(
        to related: RelatedRow,
        of entity: Int,
        besides survivor: RowNumber,
        _ resolution: inout UniquenessResolution
    ) {
        let toOne = schema.entities[entity].toOnes[related.toOne]
        guard let inverse = toOne.inverseToOne.map(schema.toOne),
            let address = snapshot.entities[toOne.target].rows.address(of: related.row),
            inverse.target(ofRowAt: address) != survivor
        else { return }
        let owner = RowID(entity: entity, row: survivor)
        switch toOne.ruleOfOwner {
        case .cascade:
            resolution.release(RowID(entity: toOne.target, row: related.row), from: owner, nil)
        case .deny where related.isOfSurvivor && !changes[entity].isNew(survivor):
            resolution.denials.append(.init(row: owner, toOne: related.toOne, related: related.row))
        case .deny, .nullify:
            break
        }
    }

    /// Whether rows of an entity may own others of the same one.
    func ownsItself(_ entity: Int) -> Bool {
        let description = schema.entities[entity]
        return description.references.contains {
            $0.entity == entity && schema.toOne($0).ruleOfInverse == .cascade
        }
            || description.linkTables.contains {
                schema.linkTables[$0].rule == .cascade && schema.linkTables[$0].members == entity
            }
    }

    /// Releases what `owner` refers to and owns, and `row`, which replaces it, does not have. `releaseMembers` handles its
    /// members: of several rows that replace one another, the last one determines which members stay.
    private func releaseOwned(
        by owner: RowNumber,
        of entity: Int,
        thatAreNotOf row: RowNumber,
        _ resolution: inout UniquenessResolution
    ) {
        let both = [RowID(entity: entity, row: owner), RowID(entity: entity, row: row)]
        let kept = Set((ownedTargets(of: both[1]) + ownedMembers(of: both[1])).map(\.id) + both)
        resolution.keep(kept, ofSuccessorOf: both[0])
        for (id, ownership) in ownedTargets(of: both[0]) where !kept.contains(id) {
            resolution.release(id, from: both[0], ownership)
        }
    }

    /// Releases the members that the last row which replaced the owner does not have.
    private func releaseMembers(of owner: RowID, _ resolution: inout UniquenessResolution) {
        guard let isReleased = resolution.takeSuccessor(of: owner) else { return }
        for (id, ownership) in ownedMembers(of: owner) where isReleased(id) {
            resolution.release(id, from: owner, ownership)
        }
    }

    func releaseMembers(_ resolution: inout UniquenessResolution) {
        for owner in resolution.successors.keys { releaseMembers(of: owner, &resolution) }
    }

    private typealias Owned = (id: RowID, ownership: UniquenessResolution.Ownership)

    /// The rows that a row refers to by relationships that cascade.
    private func ownedTargets(of owner: RowID) -> [Owned] {
        var owned: [Owned] = []
        let description = schema.entities[owner.entity]
        for (number, toOne) in description.toOnes.enumerated() where toOne.ruleOfOwner == .cascade {
            let address = snapshot.address(of: owner)
            guard let target = address.map({ toOne.target(ofRowAt: $0) }), target != 0 else { continue }
            owned.append((RowID(entity: toOne.target, row: target), .reference(toOne: number)))
        }
        return owned
    }

    /// The members of a row by relationships that cascade.
    private func ownedMembers(of owner: RowID) -> [Owned] {
        var owned: [Owned] = []
        let description = schema.entities[owner.entity]
        for reference in description.references {
            let toOne = schema.toOne(reference)
            // One to one, the owner's own reference covers it.
            guard toOne.ruleOfInverse == .cascade, toOne.inverseToOne == nil else { continue }
            for member in snapshot.referrers(to: owner.row, through: reference) {
                owned.append((RowID(entity: reference.entity, row: member), .member(toOne: reference.toOne)))
            }
        }
        for number in description.linkTables where schema.linkTables[number].rule == .cascade {
            for member in snapshot.linkTables[number].memberRows(of: owner.row) {
                owned.append(
                    (RowID(entity: schema.linkTables[number].members, row: member), .link(table: number)))
            }
        }
        return owned
    }

    mutating func cut(_ id: RowID, from owner: RowID, _ ownership: UniquenessResolution.Ownership) {
        func cutReference(of from: RowID, _ number: Int, to target: RowNumber) {
            let toOne = schema.entities[from.entity].toOnes[number]
            guard let address = snapshot.address(of: from),
                toOne.target(ofRowAt: address) == target
            else { return }
            setReference(of: from, through: toOne, to: 0)
        }
        switch ownership {
        case .reference(let toOne): cutReference(of: owner, toOne, to: id.row)
        case .member(let toOne): cutReference(of: id, toOne, to: owner.row)
        case .link(let table): snapshot.unlink(id.row, from: owner.row, in: table)
        }
    }
}

extension Snapshot {
    /// The rows that refer to one, in their order among its members.
    fileprivate func referrers(
        inOrderTo target: RowNumber,
        through reference: Reference
    ) -> [RowNumber] {
        schema.toOne(reference).order.map { linkTables[$0].keys(of: target).map(\.member) }
            ?? referrers(to: target, through: reference)
    }
}
