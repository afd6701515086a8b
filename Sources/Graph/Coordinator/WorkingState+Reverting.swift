/// Applying the difference of two states backwards.
extension WorkingState {
    /// Takes back what happened between two states, where the result is still there.
    ///
    /// - Parameter replaced: rows that gave way to others, which have their values now.
    mutating func revert(_ step: UndoStep, replaced: Set<RowPlace>) -> [UndoRemainder] {
        let change = step.change
        var remainders: [UndoRemainder] = []
        var (inserted, updated, deleted): ([RowPlace], [RowPlace], [RowPlace]) = ([], [], [])
        for entity in schema.entities.indices {
            change.after.forEachChange(of: entity, since: change.before) { row, old, new in
                let place = RowPlace(entity: entity, row: row)
                switch (old, new) {
                case (nil, _): inserted.append(place)
                case (_, nil): deleted.append(place)
                default: updated.append(place)
                }
            }
        }
        // Rows come back first, so that references can lead to them.
        for place in deleted where !comeBack(place, step) { remainders.append(remainder(place, nil)) }
        let partners = partPartners(of: updated, change, &remainders)
        for place in deleted { restoreReferences(of: place, to: change, &remainders) }
        for (place, toOne, partner) in partners where isFree(partner, for: place.row, through: toOne) {
            setReference(of: place.row, of: place.entity, through: toOne, to: partner)
        }
        for place in updated { revertProperties(of: place, change, &remainders) }
        revertMembers(change, &remainders)
        for place in inserted where replaced.contains(place) || !goAgain(place, change) {
            remainders.append(remainder(place, nil))
        }
        _ = applyDeleteRules()
        return remainders
    }

    private func remainder(_ place: RowPlace, _ property: Int?) -> UndoRemainder {
        UndoRemainder(
            id: schema.id(of: place.row, of: place.entity),
            property: property.map { schema.entities[place.entity].properties[$0].name }
        )
    }

    /// Writes a deleted row as it was, but for its references, whose targets may not be there yet.
    private mutating func comeBack(_ place: RowPlace, _ step: UndoStep) -> Bool {
        guard let row = step.change.before.entities[place.entity].rows.address(of: place.row) else { return false }
        let description = schema.entities[place.entity]
        if let current = snapshot.entities[place.entity].rows.address(of: place.row) {
            return description.areIdentical(current, row)
        }
        description.layout.withCopy(of: row) { copy in
            for toOne in description.toOnes { (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self) }
            // A row that was never saved comes as a new one.
            let lastVersion = step.base.entities[place.entity].rows.version(of: place.row) ?? .none
            insert(place.row, of: place.entity, copying: copy, lastVersion: lastVersion)
        }
        return true
    }

    private mutating func restoreReferences(
        of place: RowPlace,
        to change: StateChange,
        _ remainders: inout [UndoRemainder]
    ) {
        guard let old = change.before.entities[place.entity].rows.address(of: place.row) else { return }
        for toOne in schema.entities[place.entity].toOnes {
            let target = toOne.target(ofRowAt: old)
            guard target != 0, let current = snapshot.entities[place.entity].rows.address(of: place.row),
                toOne.target(ofRowAt: current) != target
            else { continue }
            guard isFree(target, for: place.row, through: toOne) else {
                remainders.append(remainder(place, toOne.property))
                continue
            }
            setReference(of: place.row, of: place.entity, through: toOne, to: target)
            restorePlace(of: place.row, among: target, through: toOne, as: change.before)
        }
    }

    /// Whether a row can be referred to: it is there, and, one to one, it has no other partner.
    private func isFree(_ target: RowNumber, for row: RowNumber, through toOne: ToOneDescription) -> Bool {
        guard let address = snapshot.entities[toOne.target].rows.address(of: target) else { return false }
        guard let mate = toOne.mate.map({ schema.entities[toOne.target].toOnes[$0] }) else { return true }
        return [0, row].contains(mate.target(ofRowAt: address))
    }

    /// One to one: parts the rows that the change made partners and that are so still. Gives those that are to meet again, which
    /// had to be parted from others for that.
    private mutating func partPartners(
        of places: [RowPlace],
        _ change: StateChange,
        _ remainders: inout [UndoRemainder]
    ) -> [(RowPlace, ToOneDescription, RowNumber)] {
        var found: [(RowPlace, ToOneDescription, RowNumber)] = []
        for place in places {
            let before = change.before.entities[place.entity].rows.address(of: place.row)
            let after = change.after.entities[place.entity].rows.address(of: place.row)
            guard let before, let after, let row = snapshot.entities[place.entity].rows.address(of: place.row)
            else { continue }
            for toOne in schema.entities[place.entity].toOnes {
                let (old, new) = (toOne.target(ofRowAt: before), toOne.target(ofRowAt: after))
                let current = toOne.target(ofRowAt: row)
                guard let mate = toOne.mate, old != new, old != current else { continue }
                let wasTaken = partner(of: old, toOne.target, mate, in: change.after)
                let isTaken = partner(of: old, toOne.target, mate, in: snapshot)
                if current == new, old == 0 || isTaken.map({ [0, place.row, wasTaken].contains($0) }) == true {
                    found.append((place, toOne, old))
                } else {
                    remainders.append(remainder(place, toOne.property))
                }
            }
        }
        for (place, toOne, _) in found { setReference(of: place.row, of: place.entity, through: toOne, to: 0) }
        return found.filter { $0.2 != 0 }
    }

    private func partner(of row: RowNumber, _ entity: Int, _ toOne: Int, in state: Snapshot) -> RowNumber? {
        state.entities[entity].rows.address(of: row).map { schema.entities[entity].toOnes[toOne].target(ofRowAt: $0) }
    }

    /// Puts back each property that still has the value that the change gave it.
    private mutating func revertProperties(
        of place: RowPlace,
        _ change: StateChange,
        _ remainders: inout [UndoRemainder]
    ) {
        let description = schema.entities[place.entity]
        guard let old = change.before.entities[place.entity].rows.address(of: place.row),
            let new = change.after.entities[place.entity].rows.address(of: place.row)
        else { return }
        guard let current = snapshot.entities[place.entity].rows.address(of: place.row) else {
            return remainders.append(remainder(place, nil))
        }
        description.layout.withCopy(of: current) { copy in
            for (number, property) in description.properties.enumerated() {
                let (offset, operations) = (property.offset, property.operations)
                guard property.isStored, !isPartner(number, in: description),
                    !operations.isIdentical(old + offset, new + offset),
                    !operations.isIdentical(UnsafeRawPointer(copy) + offset, old + offset)
                else { continue }
                let isPossible = description.toOnes.allSatisfy { toOne in
                    let target = toOne.property == number ? toOne.target(ofRowAt: old) : 0
                    return target == 0 || isFree(target, for: place.row, through: toOne)
                }
                guard isPossible, operations.isIdentical(UnsafeRawPointer(copy) + offset, new + offset) else {
                    remainders.append(remainder(place, number))
                    continue
                }
                operations.assign(copy + offset, old + offset)
            }
            update(place.row, of: place.entity, copying: copy)
        }
        for toOne in description.toOnes {
            restorePlace(of: place.row, among: toOne.target(ofRowAt: old), through: toOne, as: change.before)
        }
    }

    private func isPartner(_ property: Int, in description: EntityDescription) -> Bool {
        description.toOnes.contains { $0.property == property && $0.mate != nil }
    }

    private mutating func restorePlace(
        of row: RowNumber,
        among target: RowNumber,
        through toOne: ToOneDescription,
        as old: Snapshot
    ) {
        guard let list = toOne.order, target != 0, snapshot.adjacencies[list].contains(row, of: target),
            let key = old.adjacencies[list].key(of: row, of: target)
        else { return }
        snapshot.adjacencies[list].insert(row, of: target, key: key)
    }

    /// Makes links that ended, ends links that were made, and moves members back.
    private mutating func revertMembers(_ change: StateChange, _ remainders: inout [UndoRemainder]) {
        for (number, list) in schema.adjacencies.enumerated() {
            let (old, new) = (change.before.adjacencies[number], change.after.adjacencies[number])
            let difference = new.difference(from: old)
            // Of the two sides of a link the first one says whether it is there.
            if let mate = list.mate, number <= mate {
                for pair in difference.added where !old.contains(pair.member, of: pair.owner) {
                    snapshot.unlink(pair.member, from: pair.owner, in: number)
                }
                for pair in difference.removed where !new.contains(pair.member, of: pair.owner) {
                    guard snapshot.entities[list.entity].rows.contains(pair.owner),
                        snapshot.entities[list.members].rows.contains(pair.member)
                    else {
                        remainders.append(remainder(RowPlace(entity: list.entity, row: pair.owner), list.property))
                        continue
                    }
                    snapshot.link(pair.member, to: pair.owner, in: number)
                }
            }
            guard list.isOrdered else { continue }
            for pair in difference.removed where snapshot.adjacencies[number].contains(pair.member, of: pair.owner) {
                let current = snapshot.adjacencies[number].key(of: pair.member, of: pair.owner)
                // Its reference came back before, and with it its place.
                guard current != pair.key else { continue }
                if let result = new.key(of: pair.member, of: pair.owner), result != current {
                    remainders.append(remainder(RowPlace(entity: list.entity, row: pair.owner), list.property))
                } else {
                    snapshot.adjacencies[number].insert(pair.member, of: pair.owner, key: pair.key)
                }
            }
        }
    }

    /// Deletes an inserted row that nobody has changed since, unless others would go with it.
    private mutating func goAgain(_ place: RowPlace, _ change: StateChange) -> Bool {
        guard snapshot.entities[place.entity].rows.contains(place.row) else { return true }
        let closure = snapshot.deleteClosure(of: place.row, of: place.entity)
        for (entity, rows) in closure.enumerated() {
            for row in rows where !isAsInserted(RowPlace(entity: entity, row: row), change) { return false }
        }
        delete(place.row, of: place.entity)
        return true
    }

    private func isAsInserted(_ place: RowPlace, _ change: StateChange) -> Bool {
        guard !change.before.entities[place.entity].rows.contains(place.row),
            let inserted = change.after.entities[place.entity].rows.address(of: place.row),
            let current = snapshot.entities[place.entity].rows.address(of: place.row)
        else { return false }
        return schema.entities[place.entity].areIdentical(current, inserted)
            || letsGoOnly(current, sinceRowAt: inserted, of: place.entity)
    }

    /// Whether a row differs from another one only in references that ended.
    private func letsGoOnly(
        _ row: UnsafeRawPointer,
        sinceRowAt other: UnsafeRawPointer,
        of entity: Int
    ) -> Bool {
        let description = schema.entities[entity]
        return description.properties.enumerated().allSatisfy { number, property in
            property.operations.isIdentical(row + property.offset, other + property.offset)
                || description.toOnes.contains { $0.property == number && $0.target(ofRowAt: row) == 0 }
        }
    }
}
