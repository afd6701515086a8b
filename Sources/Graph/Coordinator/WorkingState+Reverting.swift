/// Applying the difference of two states backwards.
extension WorkingState {
    /// What of some changes did not become as it was before the first of them.
    func remainders(of steps: [UndoStep]) -> [UndoRemainder] {
        guard let wanted = steps.first?.before.snapshot else { return [] }
        var found: Set<UndoRemainder> = []
        for step in steps {
            let (before, after) = (step.before.snapshot, step.after.snapshot)
            for entity in schema.entities.indices {
                after.forEachChange(of: entity, since: before) { row, old, new in
                    let place = RowPlace(entity: entity, row: row)
                    let rows = (wanted.entities[entity].rows, snapshot.entities[entity].rows)
                    switch (rows.0.address(of: row), rows.1.address(of: row)) {
                    case (nil, nil): break
                    case (let wanted?, let current?):
                        guard let old, let new else { break }
                        found.formUnion(remainders(of: place, from: old, to: new, wanted: wanted, current))
                    default: found.insert(remainder(place, nil))
                    }
                }
            }
            for (number, list) in schema.adjacencies.enumerated() where list.isRecorded(as: number) {
                let difference = after.adjacencies[number].difference(from: before.adjacencies[number])
                for pair in difference.added + difference.removed
                where wanted.adjacencies[number].contains(pair.member, of: pair.owner)
                    != snapshot.adjacencies[number].contains(pair.member, of: pair.owner)
                {
                    found.insert(remainder(RowPlace(entity: list.entity, row: pair.owner), list.property))
                }
            }
        }
        func place(_ remainder: UndoRemainder) -> (String, RowNumber, String) {
            (remainder.id.entityName, remainder.id.row, remainder.property ?? "")
        }
        return found.sorted { place($0) < place($1) }
    }

    private func remainders(
        of place: RowPlace,
        from old: UnsafeRawPointer,
        to new: UnsafeRawPointer,
        wanted: UnsafeRawPointer,
        _ current: UnsafeRawPointer
    ) -> [UndoRemainder] {
        schema.entities[place.entity].properties.enumerated().compactMap { number, property in
            let (offset, operations) = (property.offset, property.operations)
            guard !operations.isIdentical(old + offset, new + offset),
                !operations.isIdentical(wanted + offset, current + offset)
            else { return nil }
            return remainder(place, number)
        }
    }

    /// Takes back what happened between two states and has been saved since, where the result is still there.
    ///
    /// - Parameter replaced: rows that gave way to others, which have their values now.
    mutating func revert(_ step: UndoStep, replaced: Set<RowPlace>) -> [UndoRemainder] {
        let change = StateChange(before: step.before.snapshot, after: step.after.snapshot)
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
        var stayed: Set<RowPlace> = []
        for place in deleted {
            guard let row = change.before.entities[place.entity].rows.address(of: place.row) else { continue }
            if let current = snapshot.entities[place.entity].rows.address(of: place.row) {
                // Its delete was dropped, or it came back: what it has, and what refers to it, is others' by now.
                stayed.insert(place)
                if !schema.entities[place.entity].areIdentical(current, row) {
                    remainders.append(remainder(place, nil))
                }
            } else {
                comeBack(
                    place, as: row, lastVersion: step.before.store.entities[place.entity].rows.version(of: place.row))
            }
        }
        let partners = partPartners(of: updated, change, &remainders)
        for place in deleted where !stayed.contains(place) { restoreReferences(of: place, to: change, &remainders) }
        for (place, toOne, partner) in partners where isFree(partner, for: place.row, through: toOne) {
            setReference(of: place.row, of: place.entity, through: toOne, to: partner)
        }
        for place in updated { revertProperties(of: place, change, stayed, &remainders) }
        revertMembers(change, stayed, &remainders)
        linkMissingMembers()
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
    ///
    /// - Parameter lastVersion: nil if the row was never saved, so that it comes as a new one.
    private mutating func comeBack(_ place: RowPlace, as row: UnsafeRawPointer, lastVersion: RowVersion?) {
        let description = schema.entities[place.entity]
        description.layout.withCopy(of: row) { copy in
            for toOne in description.toOnes { (copy + toOne.offset).storeBytes(of: 0, as: RowNumber.self) }
            insert(place.row, of: place.entity, copying: copy, lastVersion: lastVersion ?? .none, known: row)
        }
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
    func isFree(_ target: RowNumber, for row: RowNumber, through toOne: ToOneDescription) -> Bool {
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
        _ stayed: Set<RowPlace>,
        _ remainders: inout [UndoRemainder]
    ) {
        let description = schema.entities[place.entity]
        guard let old = change.before.entities[place.entity].rows.address(of: place.row),
            let new = change.after.entities[place.entity].rows.address(of: place.row)
        else { return }
        guard let current = snapshot.entities[place.entity].rows.address(of: place.row) else {
            return remainders.append(remainder(place, nil))
        }
        let targets = description.toOnes.map { $0.target(ofRowAt: current) }
        description.layout.withCopy(of: current) { copy in
            for (number, property) in description.properties.enumerated() {
                let (offset, operations) = (property.offset, property.operations)
                guard property.isStored, !isPartner(number, in: description),
                    !operations.isIdentical(old + offset, new + offset),
                    !operations.isIdentical(UnsafeRawPointer(copy) + offset, old + offset)
                else { continue }
                let isPossible = description.toOnes.allSatisfy { toOne in
                    let target = toOne.property == number ? toOne.target(ofRowAt: old) : 0
                    return target == 0
                        || isFree(target, for: place.row, through: toOne)
                            && !stayed.contains(RowPlace(entity: toOne.target, row: target))
                }
                guard isPossible, operations.isIdentical(UnsafeRawPointer(copy) + offset, new + offset) else {
                    remainders.append(remainder(place, number))
                    continue
                }
                operations.assign(copy + offset, old + offset)
            }
            update(place.row, of: place.entity, copying: copy)
        }
        // Where it has been all the time others may have moved it.
        for (toOne, target) in zip(description.toOnes, targets) where toOne.target(ofRowAt: old) != target {
            restorePlace(of: place.row, among: toOne.target(ofRowAt: old), through: toOne, as: change.before)
        }
    }

    private func isPartner(_ property: Int, in description: EntityDescription) -> Bool {
        description.toOnes.contains { $0.property == property && $0.mate != nil }
    }

    mutating func restorePlace(
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
    private mutating func revertMembers(
        _ change: StateChange,
        _ stayed: Set<RowPlace>,
        _ remainders: inout [UndoRemainder]
    ) {
        for (number, list) in schema.adjacencies.enumerated() {
            let (old, new) = (change.before.adjacencies[number], change.after.adjacencies[number])
            let difference = new.difference(from: old)
            // Of the two sides of a link the first one says whether it is there.
            if let mate = list.mate, number <= mate {
                for pair in difference.added where !old.contains(pair.member, of: pair.owner) {
                    snapshot.unlink(pair.member, from: pair.owner, in: number)
                }
                for pair in difference.removed where !new.contains(pair.member, of: pair.owner) {
                    let ends = [
                        RowPlace(entity: list.entity, row: pair.owner),
                        RowPlace(entity: list.members, row: pair.member),
                    ]
                    guard stayed.isDisjoint(with: ends) else { continue }
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

    /// Deletes an inserted row that nobody has changed since, unless others would go with it, or lose what they have made of
    /// it.
    private mutating func goAgain(_ place: RowPlace, _ change: StateChange) -> Bool {
        guard snapshot.entities[place.entity].rows.contains(place.row) else { return true }
        let closure = snapshot.deleteClosure(of: place.row, of: place.entity)
        for (entity, rows) in closure.enumerated() {
            for row in rows {
                let place = RowPlace(entity: entity, row: row)
                guard isAsInserted(place, change), !hasNewReferrers(place, besides: closure, since: change.after) else {
                    return false
                }
            }
        }
        delete(place.row, of: place.entity)
        return true
    }

    /// Whether rows refer or are linked to one that were not in an earlier state, others than those that are to be deleted too.
    private func hasNewReferrers(
        _ place: RowPlace,
        besides closure: [Set<RowNumber>],
        since state: Snapshot
    ) -> Bool {
        let description = schema.entities[place.entity]
        for reference in description.references {
            let known = Set(state.referrers(to: place.row, of: reference.entity, through: reference.toOne))
            let referrers = snapshot.referrers(to: place.row, of: reference.entity, through: reference.toOne)
            if referrers.contains(where: { !known.contains($0) && !closure[reference.entity].contains($0) }) {
                return true
            }
        }
        return description.linkLists.contains { number in
            let known = Set(state.adjacencies[number].memberRows(of: place.row))
            let members = closure[schema.adjacencies[number].members]
            return snapshot.adjacencies[number].memberRows(of: place.row)
                .contains { !known.contains($0) && !members.contains($0) }
        }
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
