/// New rows that lost to others by a unique value, by entity: which row stands for them.
typealias Replacements = [Int: [RowNumber: RowNumber]]

/// Moving changes onto another base.
extension WorkingState {
    /// The changes of `later`, which count from `later.base`, on top of this state: property by property, a property that
    /// `later` did not change stays as it is here.
    ///
    /// - Parameters:
    ///   - keepingBases: whether a row that was changed on both sides goes on counting from its base in `later`, so that a
    ///     save reports the conflict.
    ///   - replacements: rows of `later.base` that have become others here.
    mutating func reapply(_ later: WorkingState, keepingBases: Bool = false, replacements: Replacements = [:]) {
        let deleteCount = changes.deleteCount
        changes.deleteCount += later.changes.deleteCount
        // Deletes come first: whoever refers to a row that is deleted here takes it from nobody any more.
        for isDeleting in [true, false] {
            for (entity, changes) in later.changes.entities where changes.hasDeletes || !isDeleting {
                changes.forEachChange { row, kind, baseVersion in
                    guard (kind == .deleted) == isDeleting else { return }
                    let change = Change(
                        row: row,
                        entity: entity,
                        kind: kind,
                        baseVersion: baseVersion,
                        delete: deleteCount + changes.delete(of: row)
                    )
                    if let survivor = replacements[entity]?[row] {
                        reapply(change, of: later, to: survivor, replacements)
                    } else {
                        reapply(change, of: later, keepingBases, replacements)
                    }
                }
            }
        }
        for number in schema.adjacencies.indices { reapplyMembers(number, of: later, replacements) }
        for (list, members) in later.missingMembers where snapshot.entities[list.entity].rows.contains(list.owner) {
            missingMembers[list, default: []].formUnion(members)
        }
        requireAgain(later, keepingBases)
        for link in later.denyingLinks where !later.base.adjacencies[link.list].contains(link.member, of: link.owner) {
            denyingLinks.insert(link)
        }
    }

    private struct Change {
        let row: RowNumber
        let entity: Int
        let kind: ChangeKind
        let baseVersion: RowVersion
        let delete: DeleteNumber
    }

    private mutating func reapply(
        _ change: Change,
        of later: WorkingState,
        _ keepingBases: Bool,
        _ replacements: Replacements
    ) {
        let (row, entity, baseVersion) = (change.row, change.entity, change.baseVersion)
        let description = schema.entities[entity]
        let theirs = snapshot.entities[entity].rows.address(of: row)
        let ours =
            later.snapshot.entities[entity].rows.address(of: row) ?? later.changes[entity].lostRows.address(of: row)
        let kept = later.changes[entity].lostBases.address(of: row)
        let original = later.base.entities[entity].rows.address(of: row) ?? kept
        // What a conflict is judged by: the base may have moved past it, with the change on top.
        let known = kept ?? original
        switch (change.kind, ours, original) {
        case (.inserted, let ours?, _):
            description.layout.withCopy(of: ours) { copy in
                description.redirect(copy, by: replacements)
                guard theirs == nil else {
                    _ = update(row, of: entity, copying: copy)
                    return
                }
                insert(row, of: entity, copying: copy, lastVersion: baseVersion)
            }
        case (.deleted, _, _) where theirs != nil:
            let isConflict = keepingBases && snapshot.entities[entity].rows.version(of: row) != baseVersion
            remove(row, of: entity, by: change.delete)
            // One that was never saved is not deleted either.
            if changes[entity].kind(of: row) == .deleted, let last = later.changes[entity].lastRows.address(of: row) {
                changes[entity].lastRows.set(row, version: .none, copying: last)
            }
            guard isConflict, let known else { break }
            changes[entity].set(row, .deleted, baseVersion: baseVersion, delete: change.delete)
            changes[entity].lostBases.set(row, version: baseVersion, copying: known)
        case (.updated, _?, _?) where theirs == nil && later.letsGoOnly(row, of: entity):
            break
        case (.updated, let ours?, let original?) where theirs == nil:
            changes[entity].set(row, .updated, baseVersion: baseVersion)
            changes[entity].lostBases.set(row, version: baseVersion, copying: known ?? original)
            changes[entity].lostRows.set(row, version: baseVersion.next, copying: ours)
        case (.updated, let ours?, let original?):
            guard let theirs else { break }
            description.layout.withCopy(of: theirs) { merged in
                description.merge(ours, over: original, into: merged)
                for toOne in description.toOnes where later.letsGo(through: toOne, from: original, to: ours) {
                    let target = toOne.target(ofRowAt: theirs)
                    guard target != toOne.target(ofRowAt: original) else { continue }
                    (merged + toOne.offset).storeBytes(of: target, as: RowNumber.self)
                }
                description.redirect(merged, by: replacements)
                let known = known ?? original
                let isConflict =
                    keepingBases && description.changeSameProperty(UnsafeRawPointer(merged), theirs, since: known)
                update(row, of: entity, copying: merged)
                guard isConflict else { return }
                changes[entity].set(row, .updated, baseVersion: baseVersion)
                changes[entity].lostBases.set(row, version: baseVersion, copying: known)
            }
        default:
            break
        }
    }

    /// What was changed in a row that another one stands for now. Its delete says nothing of that one.
    private mutating func reapply(
        _ change: Change,
        of later: WorkingState,
        to survivor: RowNumber,
        _ replacements: Replacements
    ) {
        let description = schema.entities[change.entity]
        guard let theirs = snapshot.entities[change.entity].rows.address(of: survivor),
            let ours = later.snapshot.entities[change.entity].rows.address(of: change.row),
            let original = later.base.entities[change.entity].rows.address(of: change.row)
        else { return }
        description.layout.withCopy(of: theirs) { merged in
            description.merge(ours, over: original, into: merged)
            description.redirect(merged, by: replacements)
            update(survivor, of: change.entity, copying: merged)
        }
    }

    /// Members that `later` added to one list or took from it, and places that it gave them.
    private mutating func reapplyMembers(_ number: Int, of later: WorkingState, _ replacements: Replacements) {
        let list = schema.adjacencies[number]
        guard list.isRecorded(as: number) else { return }
        func current(_ pair: Adjacency.Pair) -> Adjacency.Pair {
            Adjacency.Pair(
                owner: replacements[list.entity]?[pair.owner] ?? pair.owner,
                member: replacements[list.members]?[pair.member] ?? pair.member,
                key: pair.key
            )
        }
        let difference = later.snapshot.adjacencies[number].difference(from: later.base.adjacencies[number])
        // Of two lists with an order, the first one says what is linked.
        let saysLinks = list.mate.map { number <= $0 } ?? false
        if saysLinks {
            let links = Set(difference.added.map { Link(list: number, owner: $0.owner, member: $0.member) })
            for pair in difference.removed {
                let link = Link(list: number, owner: pair.owner, member: pair.member)
                guard !links.contains(link), !denies(link, in: later), !denies(link.reversed(in: schema), in: later)
                else { continue }
                snapshot.unlink(current(pair).member, from: current(pair).owner, in: number)
            }
        }
        for pair in difference.added {
            let place = current(pair)
            if snapshot.adjacencies[number].contains(place.member, of: place.owner) {
                snapshot.adjacencies[number].insert(place.member, of: place.owner, key: place.key)
            } else if saysLinks, !later.base.adjacencies[number].contains(pair.member, of: pair.owner) {
                // One that was only moved here, and that others have ended, is not made anew.
                join(place, in: number)
            }
        }
    }

    /// Whether a link is there to be judged because it denies its owner's delete. That of a row which was never saved is none.
    private func denies(_ link: Link, in later: WorkingState) -> Bool {
        later.denyingLinks.contains(link)
            && base.entities[schema.adjacencies[link.list].entity].rows.contains(link.owner)
    }

    /// Makes a link anew, unless one end of it is gone.
    private mutating func join(_ pair: Adjacency.Pair, in number: Int) {
        let list = schema.adjacencies[number]
        let hasOwner = snapshot.entities[list.entity].rows.contains(pair.owner)
        let hasMember = snapshot.entities[list.members].rows.contains(pair.member)
        if hasOwner, hasMember {
            snapshot.link(pair.member, to: pair.owner, in: number, key: pair.key)
        } else if hasOwner {
            miss(Link(list: number, owner: pair.owner, member: pair.member))
        } else if hasMember {
            miss(Link(list: number, owner: pair.owner, member: pair.member).reversed(in: schema))
        }
    }

    /// Notes a link whose member is gone.
    private mutating func miss(_ link: Link) {
        missingMembers[MemberList(link, in: schema), default: []].insert(link.member)
    }

    /// Whether a row's change is only what delete rules did to it: it lets go of rows that are deleted here.
    func letsGoOnly(_ row: RowNumber, of entity: Int) -> Bool {
        let description = schema.entities[entity]
        guard changes[entity].kind(of: row) == .updated, changes[entity].lostBases.address(of: row) == nil,
            let ours = snapshot.entities[entity].rows.address(of: row),
            let original = base.entities[entity].rows.address(of: row)
        else { return false }
        return description.properties.indices.allSatisfy { number in
            let property = description.properties[number]
            return property.operations.isIdentical(ours + property.offset, original + property.offset)
                || description.toOnes.contains {
                    $0.property == number && letsGo(through: $0, from: original, to: ours)
                }
        }
    }

    /// Whether a reference ended because its target was deleted here.
    private func letsGo(through toOne: ToOneDescription, from original: UnsafeRawPointer, to ours: UnsafeRawPointer)
        -> Bool
    {
        let target = toOne.target(ofRowAt: original)
        return target != 0 && toOne.ruleOfInverse == .nullify && toOne.target(ofRowAt: ours) == 0
            && changes[toOne.target].kind(of: target) == .deleted
    }

    /// Forgets changes to rows that another state, from which this one counts, inserted since a savepoint; references and links
    /// to them too.
    mutating func forgetChanges(ofRowsInsertedIn state: WorkingState, since savepoint: WorkingState) {
        for (entity, description) in schema.entities.enumerated() {
            state.changes[entity].forEachChange { row, kind, _ in
                guard kind == .inserted, savepoint.changes[entity].kind(of: row) == nil else { return }
                changes[entity].remove(row)
                for reference in description.references {
                    let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
                    let known = Set(base.referrers(to: row, of: reference.entity, through: reference.toOne))
                    for referrer in snapshot.referrers(to: row, of: reference.entity, through: reference.toOne)
                    where !known.contains(referrer) {
                        setReference(of: referrer, of: reference.entity, through: toOne, to: 0)
                    }
                }
                for number in description.linkLists {
                    for member in snapshot.adjacencies[number].memberRows(of: row) {
                        snapshot.unlink(member, from: row, in: number)
                    }
                }
            }
        }
    }
}

extension EntityDescription {
    /// Whether there is a property whose values in both rows differ from the original and from each other.
    fileprivate func changeSameProperty(
        _ lhs: UnsafeRawPointer,
        _ rhs: UnsafeRawPointer,
        since original: UnsafeRawPointer
    ) -> Bool {
        properties.contains { property in
            func differ(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
                !property.operations.isIdentical(lhs + property.offset, rhs + property.offset)
            }
            return differ(lhs, original) && differ(rhs, original) && differ(lhs, rhs)
        }
    }

    /// Takes over into `target` each property that `ours` has changed since `original`.
    fileprivate func merge(
        _ ours: UnsafeRawPointer,
        over original: UnsafeRawPointer,
        into target: UnsafeMutableRawPointer
    ) {
        for property in properties
        where !property.operations.isIdentical(ours + property.offset, original + property.offset) {
            property.operations.assign(target + property.offset, ours + property.offset)
        }
    }

    /// Has a row refer to what stands for its targets now.
    fileprivate func redirect(_ row: UnsafeMutableRawPointer, by replacements: Replacements) {
        guard !replacements.isEmpty else { return }
        for toOne in toOnes {
            guard let survivor = replacements[toOne.target]?[toOne.target(ofRowAt: row)] else { continue }
            (row + toOne.offset).storeBytes(of: survivor, as: RowNumber.self)
        }
    }
}
