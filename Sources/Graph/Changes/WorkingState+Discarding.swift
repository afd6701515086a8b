extension [RowID] {
    /// The index of an ID among ascending ones, or where it would be inserted.
    fileprivate func position(of id: RowID) -> Int {
        var (start, end) = (0, count)
        while start < end {
            let middle = (start + end) / 2
            if self[middle] < id { start = middle + 1 } else { end = middle }
        }
        return start
    }
}

/// Taking back the changes of single rows.
extension WorkingState {
    /// Takes back the changes of these rows, and changes no others beyond what that requires.
    ///
    /// - An inserted row disappears; references and links to it are nullified.
    /// - An updated row is as in the base again, with its links and the order of its members.
    /// - A deleted row comes back with everything that the same delete removed, and with its references and links.
    mutating func discard(_ ids: some Sequence<RowID>) {
        forgetMissingMembers(of: ids)
        for id in ids { changes.removeRequirement(id) }
        discardRows(ids, cascadingIn: base)
        for id in ids { discardLinks(of: id) }
        // A row that comes back may refer to one that stays deleted.
        _ = applyDeleteRules()
    }

    /// The same for rows only: links and the order of members stay as they are here.
    ///
    /// - Parameter state: where to look for other deletes that cascade to a deleted row; these are taken back too.
    mutating func discardRows(_ ids: some Sequence<RowID>, cascadingIn state: Snapshot) {
        var deletes: Set<DeleteNumber> = []
        for id in ids {
            switch changes.kind(of: id) {
            case .inserted: discardInsert(id)
            case .updated: discardUpdate(id)
            case .deleted: deletes.insert(changes.delete(of: id))
            case nil: break
            }
        }
        takeBack(deletes, cascadingIn: state)
    }

    /// Forgets missing members of the rows, and the rows among those of others.
    mutating func forgetMissingMembers(of ids: some Sequence<RowID>) {
        guard !missingMembers.isEmpty else { return }
        let rows = Dictionary(grouping: ids) { $0.entity }.mapValues { Set($0.map(\.row)) }
        for (list, members) in missingMembers {
            guard rows[list.entity]?.contains(list.owner) != true else {
                missingMembers[list] = nil
                continue
            }
            let source = schema.entities[list.entity].toManys.first { $0.property == list.property }?.source
            guard let gone = source.flatMap({ rows[$0] }), !members.isDisjoint(with: gone) else { continue }
            let rest = members.subtracting(gone)
            missingMembers[list] = rest.isEmpty ? nil : rest
        }
    }

    private mutating func discardInsert(_ id: RowID) {
        let description = schema.entities[id.entity]
        for reference in description.references {
            let toOne = schema.toOne(reference)
            for referrer in snapshot.referrers(to: id.row, through: reference) {
                setReference(of: RowID(entity: reference.entity, row: referrer), through: toOne, to: 0)
            }
        }
        for number in description.linkTables {
            for member in snapshot.linkTables[number].memberRows(of: id.row) {
                snapshot.unlink(member, from: id.row, in: number)
            }
        }
        for toOne in description.toOnes where toOne.hasInverseToMaintain {
            setReference(of: id, through: toOne, to: 0)
        }
        remove(id)
    }

    private mutating func discardUpdate(_ id: RowID) {
        guard let original = base.address(of: id) else {
            // Others deleted it: there is nothing to go back to.
            return changes.remove(id)
        }
        // It may be based on an older row, and already equal the base's.
        countFromBase(id)
        update(id, copying: original)
        restoreOrder(of: id)
    }

    /// Has the next save compare a row with the base, if that has it: what was done to it counts from there, and it is required as it
    /// is there.
    mutating func compareWithBase(_ id: RowID) {
        guard base.contains(id) else { return }
        if changes[id.entity].required.contains(id.row) {
            changes.removeRequirement(id)
            require(id)
        }
        if changes.kind(of: id) == .deleted, changes.countsFromDetachedBase(id) {
            let delete = changes.delete(of: id)
            changes.removeDetachedBase(id)
            changes.set(id, .deleted, baseVersion: store.version(of: id) ?? .none, delete: delete)
        }
        countFromBase(id)
    }

    /// Bases a row's changes on the base's row, if there is one; a row that equals it has no changes any more.
    private mutating func countFromBase(_ id: RowID) {
        guard changes.countsFromDetachedBase(id),
            changes.kind(of: id) == .updated,
            let original = base.address(of: id),
            let current = snapshot.address(of: id)
        else { return }
        changes.removeDetachedBase(id)
        let description = schema.entities[id.entity]
        var version = base.version(of: id) ?? .none
        if description.areIdentical(current, original) {
            changes.remove(id)
        } else {
            let baseVersion = store.version(of: id) ?? .none
            changes.set(id, .updated, baseVersion: baseVersion)
            version = baseVersion.next
        }
        // Its version still follows from its former base.
        description.layout.withCopy(of: current) { copy in
            _ = snapshot.entities[id.entity].rows.set(id.row, version: version, copying: copy)
        }
    }

    /// Finds changes that were taken back by hand in rows with detached bases: a property that has the value of its detached
    /// base again takes the value of the base, which others may have changed. A row without properties that both sides changed
    /// is based on the base again.
    ///
    /// Returns true if rows were written.
    ///
    /// Complexity: O(*k* log *k*) for *k* such rows that were written since the last call.
    mutating func endRestoredChanges() -> Bool {
        guard !restorable.isEmpty else { return false }
        var ids = takeRestorable()
        var earlier: [RowID] = []
        var isChanged = false
        var next = 0
        while next < ids.count {
            let id = ids[next]
            next += 1
            guard endRestoredChanges(of: id) else { continue }
            isChanged = true
            // Related rows that it gained or lost. One pass visits each row once, in order; the next pass takes the rest.
            for other in takeRestorable() where other != id {
                let position = ids.position(of: other)
                if other < id {
                    earlier.append(other)
                } else if position == ids.count || ids[position] != other {
                    ids.insert(other, at: position)
                }
            }
        }
        restorable.formUnion(earlier)
        return isChanged
    }

    private mutating func takeRestorable() -> [RowID] {
        var ids: Set<RowID> = []
        swap(&ids, &restorable)
        return ids.sorted()
    }

    private mutating func endRestoredChanges(of id: RowID) -> Bool {
        let description = schema.entities[id.entity]
        guard let current = snapshot.address(of: id),
            let original = base.address(of: id),
            let known = changes[id.entity].detachedBases.address(of: id.row)
        else { return false }
        var restored: [Int] = []
        RowMerge(description, base: known, ours: current, theirs: original).forEachChange { number, _, side in
            if side == .theirs { restored.append(number) }
        }
        guard !restored.isEmpty else { return false }
        let oneToOnes = description.toOnes.filter { $0.inverseToOne != nil && restored.contains($0.property) }
        description.layout.withCopy(of: known) { known in
            for number in restored { description.properties[number].copy(from: original, to: known) }
            if description.areIdentical(known, original) {
                countFromBase(id)
            } else {
                let version = changes.baseVersion(of: id) ?? .none
                setDetachedBase(of: id, version: version, copying: known)
            }
        }
        description.layout.withCopy(of: current) { copy in
            for number in restored where !oneToOnes.contains(where: { $0.property == number }) {
                description.properties[number].copy(from: original, to: copy)
            }
            update(id, copying: copy)
        }
        for toOne in oneToOnes {
            let target = toOne.target(ofRowAt: original)
            // If the related row refers to another one here, that was assigned here, and this row's nil follows from it.
            guard target == 0 || isFree(target, for: id.row, through: toOne) else { continue }
            setReference(of: id, through: toOne, to: target)
        }
        restoreOrder(of: id)
        return true
    }

    /// Restores the row's positions in the base among the members of what it refers to.
    private mutating func restoreOrder(of id: RowID) {
        guard let address = snapshot.address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard let table = toOne.order, target != 0,
                let key = base.linkTables[table].key(of: id.row, of: target)
            else { continue }
            snapshot.linkTables[table].insert(id.row, of: target, key: key)
        }
    }

    /// Restores one row's links as in the base, where the other ends exist.
    private mutating func discardLinks(of id: RowID) {
        for (number, table) in schema.linkTables.enumerated() where table.entity == id.entity {
            let (ours, theirs) = (snapshot.linkTables[number], base.linkTables[number])
            guard !ours.isIdentical(to: theirs) else { continue }
            if table.inverse != nil {
                let known = Set(theirs.memberRows(of: id.row))
                for member in ours.memberRows(of: id.row) where !known.contains(member) {
                    snapshot.unlink(member, from: id.row, in: number)
                }
                for member in known { restoreLink(LinkID(table: number, owner: id.row, member: member)) }
            }
            guard table.isOrdered else { continue }
            for (key, member) in theirs.keys(of: id.row)
            where snapshot.linkTables[number].contains(member, of: id.row) {
                snapshot.linkTables[number].insert(member, of: id.row, key: key)
            }
        }
    }

    /// Restores a link of the base with its positions, if both ends exist. If one is deleted, the link denies that where the
    /// rule says so.
    private mutating func restoreLink(_ link: LinkID) {
        let table = schema.linkTables[link.table]
        let other = link.reversed(in: schema)
        let hasOwner = snapshot.entities[table.entity].rows.contains(link.owner)
        let hasMember = snapshot.entities[table.members].rows.contains(link.member)
        if hasOwner, !hasMember, schema.linkTables[other.table].rule == .deny { denyingLinks.insert(other) }
        if hasMember, !hasOwner, table.rule == .deny { denyingLinks.insert(link) }
        guard hasOwner, hasMember, snapshot.link(link.member, to: link.owner, in: link.table) else { return }
        for link in [link, other] where schema.linkTables[link.table].isOrdered {
            guard let key = base.linkTables[link.table].key(of: link.member, of: link.owner) else { continue }
            snapshot.linkTables[link.table].insert(link.member, of: link.owner, key: key)
        }
        denyingLinks.remove(link)
        denyingLinks.remove(other)
    }

    /// Takes back whole deletes, and those that would cascade to what they removed.
    private mutating func takeBack(_ deletes: Set<DeleteNumber>, cascadingIn state: Snapshot) {
        guard !deletes.isEmpty else { return }
        var removed: [DeleteNumber: [RowID]] = [:]
        for (entity, changes) in changes.entities where changes.hasDeletes {
            changes.forEachChange { row, kind, _ in
                guard kind == .deleted else { return }
                removed[changes.delete(of: row), default: []].append(RowID(entity: entity, row: row))
            }
        }
        var ids = deletes.sorted().flatMap { removed.removeValue(forKey: $0) ?? [] }
        var next = 0
        while next < ids.count {
            for owner in state.owners(cascadingTo: ids[next])
            where changes.kind(of: owner) == .deleted {
                ids += removed.removeValue(forKey: changes.delete(of: owner)) ?? []
            }
            next += 1
        }
        for id in ids { takeBackDelete(of: id) }
        for id in ids {
            restoreReferences(from: id)
            restoreReferences(to: id)
            for number in schema.entities[id.entity].linkTables {
                for member in base.linkTables[number].memberRows(of: id.row) {
                    restoreLink(LinkID(table: number, owner: id.row, member: member))
                }
            }
        }
        linkMissingMembers()
    }

    /// Brings a row back, without references to rows that may have another inverse by now.
    private mutating func takeBackDelete(of id: RowID) {
        changes.remove(id)
        guard let original = base.address(of: id) else { return }
        let description = schema.entities[id.entity]
        description.layout.withCopy(of: original) { copy in
            for toOne in description.toOnes where toOne.hasInverseToMaintain {
                (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self)
            }
            insert(id, copying: copy)
        }
        // A row that denied the delete still refers to it, perhaps only since after the base.
        for toOne in description.toOnes {
            nullifyReferrers(to: id.row, through: toOne, besides: toOne.target(ofRowAt: original))
        }
    }

    /// One to one: nullifies the references to a row, except that of its related row.
    mutating func nullifyReferrers(to row: RowNumber, through toOne: ToOneDescription, besides related: RowNumber) {
        guard let inverse = toOne.inverseToOne else { return }
        for referrer in snapshot.referrers(to: row, through: inverse) where referrer != related {
            setReference(of: RowID(entity: inverse.entity, row: referrer), through: schema.toOne(inverse), to: 0)
        }
    }

    /// Restores the references of a row that came back, where they take nothing from other rows, and its positions in orders.
    private mutating func restoreReferences(from id: RowID) {
        guard let original = base.address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes where toOne.hasInverseToMaintain {
            let target = toOne.target(ofRowAt: original)
            guard target != 0 else { continue }
            if let inverse = toOne.inverseToOne.map(schema.toOne),
                let address = snapshot.entities[toOne.target].rows.address(of: target)
            {
                let other = inverse.target(ofRowAt: address)
                guard other == 0 || other == id.row else { continue }
            }
            setReference(of: id, through: toOne, to: target)
        }
        restoreOrder(of: id)
    }

    /// Restores the references to a row that its delete nullified.
    private mutating func restoreReferences(to id: RowID) {
        for reference in schema.entities[id.entity].references {
            let toOne = schema.toOne(reference)
            guard toOne.ruleOfInverse == .nullify else { continue }
            for referrer in base.referrers(to: id.row, through: reference) {
                guard let address = snapshot.entities[reference.entity].rows.address(of: referrer),
                    toOne.target(ofRowAt: address) == 0
                else { continue }
                setReference(of: RowID(entity: reference.entity, row: referrer), through: toOne, to: id.row)
                restoreOrder(of: RowID(entity: reference.entity, row: referrer))
            }
        }
    }
}

extension Snapshot {
    /// The rows whose delete cascades to this one directly.
    func owners(cascadingTo id: RowID) -> [RowID] {
        let description = schema.entities[id.entity]
        var owners: [RowID] = []
        if let address = address(of: id) {
            for toOne in description.toOnes where toOne.ruleOfInverse == .cascade {
                let target = toOne.target(ofRowAt: address)
                if target != 0 { owners.append(RowID(entity: toOne.target, row: target)) }
            }
        }
        for reference in description.references
        where schema.toOne(reference).ruleOfOwner == .cascade {
            let referrers = referrers(to: id.row, through: reference)
            owners += referrers.map { RowID(entity: reference.entity, row: $0) }
        }
        for number in description.linkTables {
            guard let inverse = schema.linkTables[number].inverse, schema.linkTables[inverse].rule == .cascade else {
                continue
            }
            let members = linkTables[number].memberRows(of: id.row)
            owners += members.map { RowID(entity: schema.linkTables[number].members, row: $0) }
        }
        return owners
    }
}
