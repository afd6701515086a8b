extension [RowID] {
    /// Where a place is in ascending ones, or would be.
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
    /// Takes back what was done to these rows; what was done to others stays as far as it can.
    ///
    /// - An inserted row goes as if it had never been; what referred or was linked to it lets go.
    /// - An updated row is as in the base again, its links and the order of its members too.
    /// - A deleted row comes back with everything that the same delete removed, and with the references and links that it ended.
    mutating func discard(_ ids: some Sequence<RowID>) {
        for id in ids {
            forgetMissingMembers(of: id)
            changes.removeRequirement(id)
        }
        discardRows(ids, cascadingIn: base)
        for id in ids { discardLinks(of: id) }
        // A row that comes back may refer to one whose delete stays.
        _ = applyDeleteRules()
    }

    /// The same for rows alone: links and the order of members stay as they are here.
    ///
    /// - Parameter state: says which other deletes would take a deleted row along; these are taken back with it.
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

    /// Forgets links that lead nowhere and have this row at one of their ends.
    mutating func forgetMissingMembers(of id: RowID) {
        guard !missingMembers.isEmpty else { return }
        for (list, members) in missingMembers {
            guard list.entity != id.entity || list.owner != id.row else {
                missingMembers[list] = nil
                continue
            }
            let source = schema.entities[list.entity].toManys.first { $0.property == list.property }?.source
            guard source == id.entity, members.contains(id.row) else { continue }
            missingMembers[list] = members.count == 1 ? nil : members.subtracting([id.row])
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
        for number in description.linkLists {
            for member in snapshot.linkTables[number].memberRows(of: id.row) {
                snapshot.unlink(member, from: id.row, in: number)
            }
        }
        for toOne in description.toOnes where toOne.isCoupled {
            setReference(of: id, through: toOne, to: 0)
        }
        remove(id)
    }

    private mutating func discardUpdate(_ id: RowID) {
        guard let original = base.address(of: id) else {
            // Deleted elsewhere: there is nothing to go back to.
            return changes.remove(id)
        }
        // It may count from an older base, and be as it is in this one.
        _ = countFromBase(id)
        update(id, copying: original)
        restoreOrder(of: id)
    }

    /// Has a row's changes count from the base's row, if there is one; a row that is as it is there is none any more. False if they
    /// did already.
    mutating func countFromBase(_ id: RowID) -> Bool {
        guard changes.countsFromDetachedBase(id),
            changes.kind(of: id) == .updated,
            let original = base.address(of: id),
            let current = snapshot.address(of: id)
        else { return false }
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
        // It has the version that followed from where its changes counted from.
        description.layout.withCopy(of: current) { copy in
            _ = snapshot.entities[id.entity].rows.set(id.row, version: version, copying: copy)
        }
        return true
    }

    /// Has what was taken back by hand be no change any more, in rows that count from a base of their own: a property that is as
    /// it was there again shows the value that the base has now, though others have changed it meanwhile. A row of which both
    /// sides have changed nothing alike counts from the base again.
    ///
    /// True if rows were written.
    ///
    /// Complexity: O(*k* log *k*) for *k* such rows that were written since the last time, and not for all that there are.
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
            // Partners that it found or lost. Each row is looked at once, in the order of rows; those before it the next time.
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
        let coupled = description.toOnes.filter { $0.inverseToOne != nil && restored.contains($0.property) }
        description.layout.withCopy(of: known) { known in
            for number in restored { description.properties[number].copy(from: original, to: known) }
            if description.areIdentical(known, original) {
                _ = countFromBase(id)
            } else {
                let version = changes.baseVersion(of: id) ?? .none
                setDetachedBase(of: id, version: version, copying: known)
            }
        }
        description.layout.withCopy(of: current) { copy in
            for number in restored where !coupled.contains(where: { $0.property == number }) {
                description.properties[number].copy(from: original, to: copy)
            }
            update(id, copying: copy)
        }
        for toOne in coupled {
            let target = toOne.target(ofRowAt: original)
            // A partner that has another one here was given it here: this row's being without one follows from that.
            guard target == 0 || isFree(target, for: id.row, through: toOne) else { continue }
            setReference(of: id, through: toOne, to: target)
        }
        restoreOrder(of: id)
        return true
    }

    /// Gives a row the places again that the base gave it among the members of what it refers to.
    private mutating func restoreOrder(of id: RowID) {
        guard let address = snapshot.address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard let list = toOne.order, target != 0,
                let key = base.linkTables[list].key(of: id.row, of: target)
            else { continue }
            snapshot.linkTables[list].insert(id.row, of: target, key: key)
        }
    }

    /// Links and ends links of one row until they are as in the base, as far as the other ends are there.
    private mutating func discardLinks(of id: RowID) {
        for (number, list) in schema.linkTables.enumerated() where list.entity == id.entity {
            let (ours, theirs) = (snapshot.linkTables[number], base.linkTables[number])
            guard !ours.isIdentical(to: theirs) else { continue }
            if list.inverse != nil {
                let known = Set(theirs.memberRows(of: id.row))
                for member in ours.memberRows(of: id.row) where !known.contains(member) {
                    snapshot.unlink(member, from: id.row, in: number)
                }
                for member in known { restoreLink(Link(list: number, owner: id.row, member: member)) }
            }
            guard list.isOrdered else { continue }
            for (key, member) in theirs.keys(of: id.row)
            where snapshot.linkTables[number].contains(member, of: id.row) {
                snapshot.linkTables[number].insert(member, of: id.row, key: key)
            }
        }
    }

    /// Makes a link of the base again, with its places, if both ends are there. If one is deleted, the link denies that where
    /// the rule says so.
    private mutating func restoreLink(_ link: Link) {
        let list = schema.linkTables[link.list]
        let other = link.reversed(in: schema)
        let hasOwner = snapshot.entities[list.entity].rows.contains(link.owner)
        let hasMember = snapshot.entities[list.members].rows.contains(link.member)
        if hasOwner, !hasMember, schema.linkTables[other.list].rule == .deny { denyingLinks.insert(other) }
        if hasMember, !hasOwner, list.rule == .deny { denyingLinks.insert(link) }
        guard hasOwner, hasMember, snapshot.link(link.member, to: link.owner, in: link.list) else { return }
        for link in [link, other] where schema.linkTables[link.list].isOrdered {
            guard let key = base.linkTables[link.list].key(of: link.member, of: link.owner) else { continue }
            snapshot.linkTables[link.list].insert(link.member, of: link.owner, key: key)
        }
        denyingLinks.remove(link)
        denyingLinks.remove(other)
    }

    /// Takes back whole deletes, and those that would take along what they removed.
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
            for number in schema.entities[id.entity].linkLists {
                for member in base.linkTables[number].memberRows(of: id.row) {
                    restoreLink(Link(list: number, owner: id.row, member: member))
                }
            }
        }
        linkMissingMembers()
    }

    /// Brings a row back that refers to nobody else's partner yet.
    private mutating func takeBackDelete(of id: RowID) {
        changes.remove(id)
        guard let original = base.address(of: id) else { return }
        let description = schema.entities[id.entity]
        description.layout.withCopy(of: original) { copy in
            for toOne in description.toOnes where toOne.isCoupled {
                (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self)
            }
            insert(id, copying: copy)
        }
        // Who denied the delete still refers to it, and may have come to do so after the base.
        for toOne in description.toOnes {
            partReferrers(of: id.row, through: toOne, besides: toOne.target(ofRowAt: original))
        }
    }

    /// One to one: what refers to a row does not any more, but for its partner.
    mutating func partReferrers(of row: RowNumber, through toOne: ToOneDescription, besides partner: RowNumber) {
        guard let inverse = toOne.inverseToOne else { return }
        for referrer in snapshot.referrers(to: row, through: inverse) where referrer != partner {
            setReference(of: RowID(entity: inverse.entity, row: referrer), through: schema.toOne(inverse), to: 0)
        }
    }

    /// Gives a row that came back its partners, where they have no others, and its places in orders.
    private mutating func restoreReferences(from id: RowID) {
        guard let original = base.address(of: id) else { return }
        for toOne in schema.entities[id.entity].toOnes where toOne.isCoupled {
            let target = toOne.target(ofRowAt: original)
            guard target != 0 else { continue }
            if let inverse = toOne.inverseToOne.map(schema.toOne),
                let partner = snapshot.entities[toOne.target].rows.address(of: target)
            {
                let other = inverse.target(ofRowAt: partner)
                guard other == 0 || other == id.row else { continue }
            }
            setReference(of: id, through: toOne, to: target)
        }
        restoreOrder(of: id)
    }

    /// Has rows that let go of a deleted one refer to it again.
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
    /// The rows whose delete takes this one along at once.
    fileprivate func owners(cascadingTo id: RowID) -> [RowID] {
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
        for number in description.linkLists {
            guard let inverse = schema.linkTables[number].inverse, schema.linkTables[inverse].rule == .cascade else {
                continue
            }
            let members = linkTables[number].memberRows(of: id.row)
            owners += members.map { RowID(entity: schema.linkTables[number].members, row: $0) }
        }
        return owners
    }
}
