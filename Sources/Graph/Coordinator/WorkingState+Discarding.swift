/// An object of any entity, as the engine names it.
struct RowPlace: Hashable, Comparable, Sendable {
    let entity: Int
    let row: RowNumber

    static func < (lhs: RowPlace, rhs: RowPlace) -> Bool { (lhs.entity, lhs.row) < (rhs.entity, rhs.row) }
}

extension [RowPlace] {
    /// Where a place is in ascending ones, or would be.
    fileprivate func position(of place: RowPlace) -> Int {
        var (start, end) = (0, count)
        while start < end {
            let middle = (start + end) / 2
            if self[middle] < place { start = middle + 1 } else { end = middle }
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
    mutating func discard(_ places: some Sequence<RowPlace>) {
        for place in places {
            forgetMissingMembers(of: place)
            changes[place.entity].removeRequirement(place.row)
        }
        discardRows(places, judgedOn: base)
        for place in places { discardLinks(of: place) }
        // A row that comes back may refer to one whose delete stays.
        _ = applyDeleteRules()
    }

    /// The same for rows alone: links and the order of members stay as they are here.
    ///
    /// - Parameter state: says which other deletes would take a deleted row along; these are taken back with it.
    mutating func discardRows(_ places: some Sequence<RowPlace>, judgedOn state: Snapshot) {
        var deletes: Set<DeleteNumber> = []
        for place in places {
            switch changes[place.entity].kind(of: place.row) {
            case .inserted: discardInsert(place)
            case .updated: discardUpdate(place)
            case .deleted: deletes.insert(changes[place.entity].delete(of: place.row))
            case nil: break
            }
        }
        takeBack(deletes, judgedOn: state)
    }

    /// Forgets links that lead nowhere and have this row at one of their ends.
    mutating func forgetMissingMembers(of place: RowPlace) {
        guard !missingMembers.isEmpty else { return }
        for (list, members) in missingMembers {
            if list.entity == place.entity, list.owner == place.row { missingMembers[list] = nil }
            let source = schema.entities[list.entity].toManys.first { $0.property == list.property }?.source
            guard source == place.entity, members.contains(place.row) else { continue }
            missingMembers[list] = members.count == 1 ? nil : members.subtracting([place.row])
        }
    }

    private mutating func discardInsert(_ place: RowPlace) {
        let description = schema.entities[place.entity]
        for reference in description.references {
            let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
            for referrer in snapshot.referrers(to: place.row, of: reference.entity, through: reference.toOne) {
                setReference(of: referrer, of: reference.entity, through: toOne, to: 0)
            }
        }
        for number in description.linkLists {
            for member in snapshot.adjacencies[number].memberRows(of: place.row) {
                snapshot.unlink(member, from: place.row, in: number)
            }
        }
        for toOne in description.toOnes where toOne.isCoupled {
            setReference(of: place.row, of: place.entity, through: toOne, to: 0)
        }
        remove(place.row, of: place.entity)
    }

    private mutating func discardUpdate(_ place: RowPlace) {
        guard let original = base.entities[place.entity].rows.address(of: place.row) else {
            // Deleted elsewhere: there is nothing to go back to.
            return changes[place.entity].remove(place.row)
        }
        // It may count from an older base, and be as it is in this one.
        _ = countFromBase(place)
        update(place.row, of: place.entity, copying: original)
        restoreOrder(of: place)
    }

    /// Has a row's changes count from the base's row, if there is one; a row that is as it is there is none any more. False if they
    /// did already.
    mutating func countFromBase(_ place: RowPlace) -> Bool {
        guard changes[place.entity].countsFromLostBase(place.row),
            changes[place.entity].kind(of: place.row) == .updated,
            let original = base.entities[place.entity].rows.address(of: place.row),
            let current = snapshot.entities[place.entity].rows.address(of: place.row)
        else { return false }
        changes[place.entity].removeLostBase(place.row)
        let description = schema.entities[place.entity]
        var version = base.entities[place.entity].rows.version(of: place.row) ?? .none
        if description.areIdentical(current, original) {
            changes[place.entity].remove(place.row)
        } else {
            let baseVersion = store.entities[place.entity].rows.version(of: place.row) ?? .none
            changes[place.entity].set(place.row, .updated, baseVersion: baseVersion)
            version = baseVersion.next
        }
        // It has the version that followed from where its changes counted from.
        description.layout.withCopy(of: current) { copy in
            _ = snapshot.entities[place.entity].rows.set(place.row, version: version, copying: copy)
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
        var places = takeRestorable()
        var earlier: [RowPlace] = []
        var isChanged = false
        var next = 0
        while next < places.count {
            let place = places[next]
            next += 1
            guard endRestoredChanges(of: place) else { continue }
            isChanged = true
            // Partners that it found or lost. Each row is looked at once, in the order of rows; those before it the next time.
            for other in takeRestorable() where other != place {
                let position = places.position(of: other)
                if other < place {
                    earlier.append(other)
                } else if position == places.count || places[position] != other {
                    places.insert(other, at: position)
                }
            }
        }
        restorable.formUnion(earlier)
        return isChanged
    }

    private mutating func takeRestorable() -> [RowPlace] {
        var places: Set<RowPlace> = []
        swap(&places, &restorable)
        return places.sorted()
    }

    private mutating func endRestoredChanges(of place: RowPlace) -> Bool {
        let description = schema.entities[place.entity]
        guard let current = snapshot.entities[place.entity].rows.address(of: place.row),
            let original = base.entities[place.entity].rows.address(of: place.row),
            let known = changes[place.entity].lostBases.address(of: place.row)
        else { return false }
        let restored = description.properties.indices.filter { number in
            let (offset, operations) = (
                description.properties[number].offset, description.properties[number].operations
            )
            return operations.isIdentical(current + offset, known + offset)
                && !operations.isIdentical(original + offset, known + offset)
        }
        guard !restored.isEmpty else { return false }
        let coupled = description.toOnes.filter { $0.mate != nil && restored.contains($0.property) }
        description.layout.withCopy(of: known) { known in
            for number in restored {
                let property = description.properties[number]
                property.operations.assign(known + property.offset, original + property.offset)
            }
            if description.areIdentical(known, original) {
                _ = countFromBase(place)
            } else {
                let version = changes[place.entity].baseVersion(of: place.row) ?? .none
                setLostBase(of: place, version: version, copying: known)
            }
        }
        description.layout.withCopy(of: current) { copy in
            for number in restored where !coupled.contains(where: { $0.property == number }) {
                let property = description.properties[number]
                property.operations.assign(copy + property.offset, original + property.offset)
            }
            update(place.row, of: place.entity, copying: copy)
        }
        for toOne in coupled {
            let target = toOne.target(ofRowAt: original)
            // A partner that has another one here was given it here: this row's being without one follows from that.
            guard target == 0 || isFree(target, for: place.row, through: toOne) else { continue }
            setReference(of: place.row, of: place.entity, through: toOne, to: target)
        }
        restoreOrder(of: place)
        return true
    }

    /// Gives a row the places again that the base gave it among the members of what it refers to.
    private mutating func restoreOrder(of place: RowPlace) {
        guard let address = snapshot.entities[place.entity].rows.address(of: place.row) else { return }
        for toOne in schema.entities[place.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard let list = toOne.order, target != 0,
                let key = base.adjacencies[list].key(of: place.row, of: target)
            else { continue }
            snapshot.adjacencies[list].insert(place.row, of: target, key: key)
        }
    }

    /// Links and ends links of one row until they are as in the base, as far as the other ends are there.
    private mutating func discardLinks(of place: RowPlace) {
        for (number, list) in schema.adjacencies.enumerated() where list.entity == place.entity {
            let (ours, theirs) = (snapshot.adjacencies[number], base.adjacencies[number])
            guard !ours.isIdentical(to: theirs) else { continue }
            if list.mate != nil {
                let known = Set(theirs.memberRows(of: place.row))
                for member in ours.memberRows(of: place.row) where !known.contains(member) {
                    snapshot.unlink(member, from: place.row, in: number)
                }
                for member in known { restoreLink(Link(list: number, owner: place.row, member: member)) }
            }
            guard list.isOrdered else { continue }
            for (key, member) in theirs.keys(of: place.row)
            where snapshot.adjacencies[number].contains(member, of: place.row) {
                snapshot.adjacencies[number].insert(member, of: place.row, key: key)
            }
        }
    }

    /// Makes a link of the base again, with its places, if both ends are there.
    private mutating func restoreLink(_ link: Link) {
        let list = schema.adjacencies[link.list]
        guard snapshot.entities[list.entity].rows.contains(link.owner),
            snapshot.entities[list.members].rows.contains(link.member),
            snapshot.link(link.member, to: link.owner, in: link.list)
        else { return }
        let other = link.reversed(in: schema)
        for link in [link, other] where schema.adjacencies[link.list].isOrdered {
            guard let key = base.adjacencies[link.list].key(of: link.member, of: link.owner) else { continue }
            snapshot.adjacencies[link.list].insert(link.member, of: link.owner, key: key)
        }
        denyingLinks.remove(link)
        denyingLinks.remove(other)
    }

    /// Takes back whole deletes, and those that would take along what they removed.
    private mutating func takeBack(_ deletes: Set<DeleteNumber>, judgedOn state: Snapshot) {
        guard !deletes.isEmpty else { return }
        var removed: [DeleteNumber: [RowPlace]] = [:]
        for (entity, changes) in changes.entities where changes.hasDeletes {
            changes.forEachChange { row, kind, _ in
                guard kind == .deleted else { return }
                removed[changes.delete(of: row), default: []].append(RowPlace(entity: entity, row: row))
            }
        }
        var places = deletes.sorted().flatMap { removed.removeValue(forKey: $0) ?? [] }
        var next = 0
        while next < places.count {
            for owner in state.owners(cascadingTo: places[next])
            where changes[owner.entity].kind(of: owner.row) == .deleted {
                places += removed.removeValue(forKey: changes[owner.entity].delete(of: owner.row)) ?? []
            }
            next += 1
        }
        for place in places { takeBackDelete(of: place) }
        for place in places {
            restoreReferences(from: place)
            restoreReferences(to: place)
            for number in schema.entities[place.entity].linkLists {
                for member in base.adjacencies[number].memberRows(of: place.row) {
                    restoreLink(Link(list: number, owner: place.row, member: member))
                }
            }
        }
        linkMissingMembers()
    }

    /// Brings a row back that refers to nobody else's partner yet.
    private mutating func takeBackDelete(of place: RowPlace) {
        changes[place.entity].remove(place.row)
        guard let original = base.entities[place.entity].rows.address(of: place.row) else { return }
        let description = schema.entities[place.entity]
        description.layout.withCopy(of: original) { copy in
            for toOne in description.toOnes where toOne.isCoupled {
                (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self)
            }
            insert(place.row, of: place.entity, copying: copy)
        }
        // Who denied the delete still refers to it, and may have come to do so after the base.
        for toOne in description.toOnes {
            partReferrers(of: place.row, through: toOne, besides: toOne.target(ofRowAt: original))
        }
    }

    /// One to one: what refers to a row does not any more, but for its partner.
    mutating func partReferrers(of row: RowNumber, through toOne: ToOneDescription, besides partner: RowNumber) {
        guard let mate = toOne.mate else { return }
        for referrer in snapshot.referrers(to: row, of: toOne.target, through: mate) where referrer != partner {
            let reference = schema.entities[toOne.target].toOnes[mate]
            setReference(of: referrer, of: toOne.target, through: reference, to: 0)
        }
    }

    /// Gives a row that came back its partners, where they have no others, and its places in orders.
    private mutating func restoreReferences(from place: RowPlace) {
        guard let original = base.entities[place.entity].rows.address(of: place.row) else { return }
        for toOne in schema.entities[place.entity].toOnes where toOne.isCoupled {
            let target = toOne.target(ofRowAt: original)
            guard target != 0 else { continue }
            if let mate = toOne.mate.map({ schema.entities[toOne.target].toOnes[$0] }),
                let partner = snapshot.entities[toOne.target].rows.address(of: target)
            {
                let other = mate.target(ofRowAt: partner)
                guard other == 0 || other == place.row else { continue }
            }
            setReference(of: place.row, of: place.entity, through: toOne, to: target)
        }
        restoreOrder(of: place)
    }

    /// Has rows that let go of a deleted one refer to it again.
    private mutating func restoreReferences(to place: RowPlace) {
        for reference in schema.entities[place.entity].references {
            let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
            guard toOne.ruleOfInverse == .nullify else { continue }
            for referrer in base.referrers(to: place.row, of: reference.entity, through: reference.toOne) {
                guard let address = snapshot.entities[reference.entity].rows.address(of: referrer),
                    toOne.target(ofRowAt: address) == 0
                else { continue }
                setReference(of: referrer, of: reference.entity, through: toOne, to: place.row)
                restoreOrder(of: RowPlace(entity: reference.entity, row: referrer))
            }
        }
    }
}

extension Snapshot {
    /// The rows whose delete takes this one along at once.
    fileprivate func owners(cascadingTo place: RowPlace) -> [RowPlace] {
        let description = schema.entities[place.entity]
        var owners: [RowPlace] = []
        if let address = entities[place.entity].rows.address(of: place.row) {
            for toOne in description.toOnes where toOne.ruleOfInverse == .cascade {
                let target = toOne.target(ofRowAt: address)
                if target != 0 { owners.append(RowPlace(entity: toOne.target, row: target)) }
            }
        }
        for reference in description.references
        where schema.entities[reference.entity].toOnes[reference.toOne].ruleOfOwner == .cascade {
            let referrers = referrers(to: place.row, of: reference.entity, through: reference.toOne)
            owners += referrers.map { RowPlace(entity: reference.entity, row: $0) }
        }
        for number in description.linkLists {
            guard let mate = schema.adjacencies[number].mate, schema.adjacencies[mate].rule == .cascade else {
                continue
            }
            let members = adjacencies[number].memberRows(of: place.row)
            owners += members.map { RowPlace(entity: schema.adjacencies[number].members, row: $0) }
        }
        return owners
    }
}
