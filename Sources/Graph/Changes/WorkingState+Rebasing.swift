/// By entity, new rows that gave way because of a unique value, with the rows that replace them.
typealias Replacements = [Int: [RowNumber: RowNumber]]

/// Which overlaps stay ones when changes move onto another base: a row keeps its own base there, so that a save reports the
/// conflict.
enum KeptOverlaps {
    case none
    /// All, also where both sides changed a property to the same value.
    case all
    /// All of which a refresh has not told the program.
    case untold([AnyPersistentID: ToldOverlap])

    static func all(if isKept: Bool) -> KeptOverlaps { isKept ? .all : .none }

    func contain(_ property: Property, of id: RowID, _ schema: Schema) -> Bool {
        switch self {
        case .none: false
        case .all: true
        case .untold(let told): told[schema.id(of: id)]?.properties.contains(property.name) != true
        }
    }

    /// Whether the overlap of a row as a whole stays: of one that is deleted here, or that the next save requires to be unchanged.
    ///
    /// - Parameters:
    ///   - known: the row before others changed it.
    ///   - theirs: the row since.
    func contain(_ id: RowID, _ known: UnsafeRawPointer, _ theirs: UnsafeRawPointer, _ schema: Schema) -> Bool {
        switch self {
        case .none: return false
        case .all: return true
        case .untold(let told):
            guard let names = told[schema.id(of: id)]?.properties else { return true }
            return !names.isEmpty
                && schema.entities[id.entity].properties.contains { property in
                    property.isStored && !property.isIdentical(in: known, theirs) && !names.contains(property.name)
                }
        }
    }
}

/// Moves changes onto another base.
extension WorkingState {
    /// Applies the changes of `later`, counted from `later.base`, to this state, property by property: what `later` did not
    /// change stays as it is here.
    ///
    /// - Parameter replacements: rows of `later.base` that other rows replace here.
    mutating func rebase(
        _ later: WorkingState, keeping overlaps: KeptOverlaps = .none, replacements: Replacements = [:]
    ) {
        let before = later.hasRequirements ? snapshot : nil
        let deleteCount = changes.deleteCount
        changes.deleteCount += later.changes.deleteCount
        // Deletes come first: a row that refers to a deleted one then takes it from no other row.
        for isDeleting in [true, false] {
            later.forEachChange(deletes: isDeleting, numberedFrom: deleteCount) { change in
                if let survivor = replacements[change.id.entity]?[change.id.row] {
                    rebase(change, of: later, to: survivor, overlaps, replacements)
                } else {
                    rebase(change, of: later, overlaps, replacements)
                }
            }
        }
        for number in schema.linkTables.indices { rebaseMembers(number, of: later, replacements) }
        for (list, members) in later.missingMembers { missingMembers[list, default: []].formUnion(members) }
        linkMissingMembers()
        requireAgain(later, keeping: overlaps, before: before)
        for link in later.denyingLinks.all
        where !later.base.linkTables[link.table].contains(link.member, of: link.owner) {
            denyingLinks.insert(link)
        }
    }

    private func forEachChange(deletes: Bool, numberedFrom first: DeleteNumber, _ body: (Change) -> Void) {
        for (entity, changes) in changes.entities where changes.hasDeletes || !deletes {
            changes.forEachChange { row, kind, baseVersion in
                guard (kind == .deleted) == deletes else { return }
                let id = RowID(entity: entity, row: row)
                body(Change(id: id, kind: kind, baseVersion: baseVersion, delete: first + changes.delete(of: row)))
            }
        }
    }

    /// This state's changes on top of another one, with the effects of delete rules.
    func moved(
        onto state: WorkingState,
        keeping overlaps: KeptOverlaps = .none,
        replacements: Replacements = [:]
    ) -> WorkingState {
        var moved = state
        guard !isUnchanged else { return moved }
        moved.rebase(self, keeping: overlaps, replacements: replacements)
        // References that others made to rows deleted here are nullified at once; a save reports those that deny the delete.
        _ = moved.applyDeleteRules()
        _ = moved.endRestoredChanges()
        return moved
    }

    private struct Change {
        let id: RowID
        let kind: ChangeKind
        let baseVersion: RowVersion
        let delete: DeleteNumber
    }

    private mutating func rebase(
        _ change: Change,
        of later: WorkingState,
        _ overlaps: KeptOverlaps,
        _ replacements: Replacements
    ) {
        let (id, baseVersion) = (change.id, change.baseVersion)
        let isThere = snapshot.contains(id)
        let ours = later.snapshot.address(of: id) ?? later.changes[id.entity].detachedRows.address(of: id.row)
        let known = later.knownRow(id)
        switch (change.kind, ours, known) {
        case (.inserted, let ours?, _):
            let last = later.changes[id.entity].returnBases.address(of: id.row)
            let nullified = last.map { later.nullifiedReferences(from: $0, to: ours, of: id.entity) } ?? []
            reinsert(id, copying: ours, last: last, nullified, baseVersion, overlaps, replacements)
        case (.deleted, _, _) where isThere:
            removeAgain(change, of: later, known: known, overlaps)
        case (.updated, _?, _?) where !isThere && later.onlyNullifies(id):
            break
        case (.updated, let ours?, let known?) where changes[id.entity].detachedRows.contains(id.row):
            mergeDetachedRow(id, known: known, ours)
        case (.updated, let ours?, let known?) where !isThere:
            changes.set(id, .updated, baseVersion: baseVersion)
            changes[id.entity].detachedBases.set(id.row, version: baseVersion, copying: known)
            changes[id.entity].detachedRows.set(id.row, version: baseVersion.next, copying: ours)
        case (.updated, let ours?, let known?):
            let nullified = later.nullifiedReferences(from: known, to: ours, of: id.entity)
            merge(
                RowChange(known: known, ours: ours, baseVersion: baseVersion, nullified: nullified),
                into: id, overlaps, replacements)
        default:
            break
        }
    }

    /// Inserts a new row, or one that comes back.
    ///
    /// - Parameter last: what a row that comes back was before it was deleted.
    private mutating func reinsert(
        _ id: RowID,
        copying ours: UnsafeRawPointer,
        last: UnsafeRawPointer?,
        _ nullified: [ToOneDescription],
        _ baseVersion: RowVersion,
        _ overlaps: KeptOverlaps,
        _ replacements: Replacements
    ) {
        let isThere = snapshot.contains(id)
        if isThere, let last {
            // Others have brought it back, too.
            return merge(
                RowChange(known: last, ours: ours, baseVersion: baseVersion, nullified: nullified), into: id,
                overlaps, replacements)
        }
        let description = schema.entities[id.entity]
        let lost = changes[id.entity].countsFromDetachedBase(id.row) ? changes[id.entity] : nil
        description.layout.withCopy(of: ours) { copy in
            description.redirect(copy, by: replacements)
            if isThere {
                update(id, copying: copy)
                return
            }
            // What was changed here before others deleted the row comes back with it, unless it was changed there, too.
            if let last, let pending = lost?.detachedRows.address(of: id.row) {
                RowMerge(description, base: last, ours: pending, theirs: ours).forEachChange { _, property, side in
                    if side == .ours { property.copy(from: pending, to: copy) }
                }
            }
            insert(
                id, copying: copy, lastVersion: lost?.detachedBases.version(of: id.row) ?? baseVersion,
                known: lost?.detachedBases.address(of: id.row) ?? last)
            referBack(from: id)
        }
    }

    /// Deletes a row that is still there.
    private mutating func removeAgain(
        _ change: Change,
        of later: WorkingState,
        known: UnsafeRawPointer?,
        _ overlaps: KeptOverlaps
    ) {
        let id = change.id
        var isConflict = false
        if let known, let theirs = snapshot.address(of: id), snapshot.version(of: id) != change.baseVersion {
            isConflict = overlaps.contain(id, known, theirs, schema)
        }
        remove(id, by: change.delete)
        // A row that was never saved leaves no delete.
        if changes.kind(of: id) == .deleted, let last = later.changes[id.entity].lastRows.address(of: id.row) {
            changes[id.entity].lastRows.set(id.row, version: .none, copying: last)
        }
        guard isConflict, let known else { return }
        changes.set(id, .deleted, baseVersion: change.baseVersion, delete: change.delete)
        setDetachedBase(of: id, version: change.baseVersion, copying: known)
    }

    /// One to one: refers back to a row that referred to this one before it existed, unless this one refers to another.
    private mutating func referBack(from id: RowID) {
        for toOne in schema.entities[id.entity].toOnes {
            guard let inverse = toOne.inverseToOne, let row = snapshot.address(of: id),
                let first = snapshot.referrers(to: id.row, through: inverse).first
            else { continue }
            let target = toOne.target(ofRowAt: row)
            if target == 0 { setReference(of: id, through: toOne, to: first) }
            nullifyReferrers(to: id.row, through: toOne, besides: target == 0 ? first : target)
        }
    }

    /// One side's change of a row.
    struct RowChange {
        /// The row that it is based on.
        let known: UnsafeRawPointer
        let ours: UnsafeRawPointer
        let baseVersion: RowVersion
        /// References that differ only because their targets are deleted here. They are nullified if the row still has them.
        var nullified: [ToOneDescription] = []
    }

    /// Merges a change into the row as it is here.
    mutating func merge(
        _ change: RowChange,
        into id: RowID,
        _ overlaps: KeptOverlaps,
        _ replacements: Replacements = [:]
    ) {
        let description = schema.entities[id.entity]
        guard let theirs = snapshot.address(of: id) else { return }
        // Not `theirs`: a change rebased before may have nullified a one-to-one reference, which others did not do.
        let committed = base.address(of: id) ?? theirs
        description.layout.withCopy(of: theirs) { merged in
            description.layout.withCopy(of: committed) { known in
                var isConflict = false
                for toOne in change.nullified where toOne.target(ofRowAt: theirs) == toOne.target(ofRowAt: change.known)
                {
                    (merged + toOne.offset).storeBytes(of: 0, as: RowNumber.self)
                }
                let nullified = change.nullified.map(\.property)
                let merge = RowMerge(description, base: change.known, ours: change.ours, theirs: committed)
                merge.forEachChange { number, property, side in
                    guard side != .theirs, !nullified.contains(number) else { return }
                    property.copy(from: change.ours, to: merged)
                    guard side == .both, overlaps.contain(property, of: id, schema) else { return }
                    property.copy(from: change.known, to: known)
                    isConflict = true
                }
                description.redirect(merged, by: replacements)
                update(id, copying: merged)
                guard isConflict else { return }
                changes.set(id, .updated, baseVersion: change.baseVersion)
                setDetachedBase(of: id, version: change.baseVersion, copying: known)
            }
        }
    }

    /// Merges a later change into the pending change of a row that others deleted.
    private mutating func mergeDetachedRow(_ id: RowID, known: UnsafeRawPointer, _ ours: UnsafeRawPointer) {
        let description = schema.entities[id.entity]
        guard let pending = changes[id.entity].detachedRows.address(of: id.row),
            let version = changes[id.entity].detachedRows.version(of: id.row)
        else { return }
        description.layout.withCopy(of: pending) { merged in
            description.takeChanges(from: known, to: ours, into: merged)
            changes[id.entity].detachedRows.set(id.row, version: version, copying: merged)
        }
    }

    /// Applies a change to the row that replaces the changed one. A delete does not apply to that row.
    private mutating func rebase(
        _ change: Change,
        of later: WorkingState,
        to survivor: RowNumber,
        _ overlaps: KeptOverlaps,
        _ replacements: Replacements
    ) {
        guard let ours = later.snapshot.address(of: change.id),
            let known = later.knownRow(change.id)
        else { return }
        let nullified = later.nullifiedReferences(from: known, to: ours, of: change.id.entity)
        // The change is based on a row that was never in the store.
        merge(
            RowChange(known: known, ours: ours, baseVersion: .none, nullified: nullified),
            into: RowID(entity: change.id.entity, row: survivor), overlaps, replacements)
    }

    /// Whether delete rules alone changed a row: they nullified its references to rows deleted here.
    func onlyNullifies(_ id: RowID) -> Bool {
        guard changes.hasDeletes, changes.kind(of: id) == .updated,
            changes[id.entity].detachedBases.address(of: id.row) == nil,
            let ours = snapshot.address(of: id),
            let original = base.address(of: id)
        else { return false }
        return !isWritten(id, from: original, to: ours) && !schema.entities[id.entity].areIdentical(original, ours)
    }

    /// Whether more than delete rules changed a row.
    func isWritten(_ id: RowID, from known: UnsafeRawPointer, to ours: UnsafeRawPointer) -> Bool {
        let nullified = nullifiedReferences(from: known, to: ours, of: id.entity).map(\.property)
        return schema.entities[id.entity].properties.enumerated().contains { number, property in
            !nullified.contains(number) && !property.isIdentical(in: ours, known)
        }
    }

    /// The references that were nullified because their targets were deleted here. They do not count as changes of the row: if
    /// the delete is dropped, they stay as others have them.
    func nullifiedReferences(
        from known: UnsafeRawPointer,
        to ours: UnsafeRawPointer,
        of entity: Int
    ) -> [ToOneDescription] {
        guard changes.hasDeletes else { return [] }
        return schema.entities[entity].toOnes.filter { toOne in
            let target = toOne.target(ofRowAt: known)
            return target != 0 && toOne.ruleOfInverse == .nullify && toOne.target(ofRowAt: ours) == 0
                && changes[toOne.target].kind(of: target) == .deleted
        }
    }

    /// The row that a row's changes are based on; nil for a new one.
    func knownRow(_ id: RowID) -> UnsafeRawPointer? {
        changes[id.entity].detachedBases.address(of: id.row) ?? base.address(of: id)
    }

    /// The same; of a row that comes back, the one that was saved before it was deleted.
    func knownOrReturningRow(_ id: RowID) -> UnsafeRawPointer? {
        knownRow(id) ?? changes[id.entity].returnBases.address(of: id.row)
    }
}

extension EntityDescription {
    /// Redirects a row's references to the rows that replace their targets.
    fileprivate func redirect(_ row: UnsafeMutableRawPointer, by replacements: Replacements) {
        guard !replacements.isEmpty else { return }
        for toOne in toOnes {
            guard let survivor = replacements[toOne.target]?[toOne.target(ofRowAt: row)] else { continue }
            (row + toOne.offset).storeBytes(of: survivor, as: RowNumber.self)
        }
    }
}
