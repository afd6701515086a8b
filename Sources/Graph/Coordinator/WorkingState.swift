/// What a context sees: a base snapshot, its own changes on top, and which rows those are. A value: keeping a copy is a
/// savepoint, and putting it back undoes everything since.
///
/// A working row already carries the version that it will have when it is saved, its base version plus one, so that a
/// save with nobody in between can publish the working snapshot as it is.
struct WorkingState: Sendable {
    private struct Contents: Sendable {
        let base: Snapshot
        let store: Snapshot?
        var snapshot: Snapshot
        var changes: PendingChanges
        var missingMembers: [MemberList: Set<RowNumber>] = [:]
        var denyingLinks: Set<Link> = []
        var assignments: [ToManyAssignment] = []
        var suspects: Set<RowPlace> = []
        var restorable: Set<RowPlace> = []
        /// Where what changes look at is noted, if that is to count.
        var reads: ReadLog?
        var scratch = EntryScratch()

        /// Writes a new row, whose index entries are inserted with the batch.
        mutating func set(
            _ row: RowNumber,
            of entity: Int,
            version: RowVersion,
            copying value: UnsafeRawPointer,
            _ batch: inout IndexBatch
        ) {
            batch.append(row, at: value, base.schema.entities[entity].indexes)
            snapshot.entities[entity].rows.set(row, version: version, copying: value)
        }

        mutating func insertEntries(of batch: consuming IndexBatch) {
            let entity = batch.entity
            snapshot.insertEntries(of: batch) { suspects.insert(RowPlace(entity: entity, row: $0)) }
        }

        mutating func set(_ row: RowNumber, of entity: Int, version: RowVersion, copying value: UnsafeRawPointer) {
            if snapshot.set(row, of: entity, version: version, copying: value, scratch: &scratch) {
                suspects.insert(RowPlace(entity: entity, row: row))
            }
        }

        /// False if there is no such row, or nothing to write to it.
        mutating func update(
            _ row: RowNumber,
            of entity: Int,
            _ description: EntityDescription,
            _ value: UnsafeRawPointer
        ) -> Bool {
            guard let current = snapshot.entities[entity].rows.address(of: row),
                !description.areIdentical(current, value)
            else { return false }
            if description.toOnes.contains(where: { $0.target(ofRowAt: value) != $0.target(ofRowAt: current) }) {
                changes[entity].hasReferences = true
            }
            let version = noteUpdate(of: row, entity, description, value)
            set(row, of: entity, version: version, copying: value)
            return true
        }

        /// The version that the row is to have.
        private mutating func noteUpdate(
            of row: RowNumber,
            _ entity: Int,
            _ description: EntityDescription,
            _ value: UnsafeRawPointer
        ) -> RowVersion {
            switch changes[entity].kind(of: row) {
            case .inserted, .deleted:
                return .none.next
            case .updated:
                let baseVersion = changes[entity].baseVersion(of: row) ?? .none
                guard !changes[entity].countsFromLostBase(row) else {
                    restorable.insert(RowPlace(entity: entity, row: row))
                    return baseVersion.next
                }
                guard let original = base.entities[entity].rows.address(of: row),
                    description.areIdentical(original, value)
                else { return baseVersion.next }
                changes[entity].remove(row)
                // Not the one that the change counted from, which may be older.
                return base.entities[entity].rows.version(of: row) ?? baseVersion
            case nil:
                let baseVersion = storedVersion(of: row, entity)
                changes[entity].set(row, .updated, baseVersion: baseVersion)
                return baseVersion.next
            }
        }

        func storedVersion(of row: RowNumber, _ entity: Int) -> RowVersion {
            (store ?? base).entities[entity].rows.version(of: row) ?? .none
        }

        mutating func remove(_ row: RowNumber, of entity: Int) {
            snapshot.remove(row, of: entity, scratch: &scratch)
        }
    }

    /// One element: an array is a box that is copied on write. A save hands a state on from one part to the next, and each of
    /// the dozen references in it would be counted there.
    private var box: [Contents]

    /// - Parameters:
    ///   - store: the committed state below the base, if that is an outer context's.
    ///   - reads: where what changes look at is noted; nil if that is not to count.
    init(base: Snapshot, store: Snapshot? = nil, reads: ReadLog? = nil) {
        box = [
            Contents(
                base: base, store: store, snapshot: base, changes: PendingChanges(schema: base.schema), reads: reads)
        ]
    }

    init(_ base: ContextBase, reads: ReadLog?) {
        self.init(base: base.snapshot, store: base.committed, reads: reads)
    }

    /// The published snapshot that the changes count from.
    var base: Snapshot { _read { yield box[0].base } }

    /// The newest committed state below: the base, unless that is an outer context's. Only what is committed has versions, and
    /// only what is in here was ever in the store.
    var store: Snapshot { box[0].store ?? box[0].base }

    /// Base plus changes, indexes included.
    var snapshot: Snapshot {
        _read { yield box[0].snapshot }
        _modify { yield &box[0].snapshot }
    }

    var changes: PendingChanges {
        _read { yield box[0].changes }
        _modify { yield &box[0].changes }
    }

    /// Members that are pending and lead nowhere: to-many values named them, or others deleted one end of a link that was
    /// made here. Of a link that lacks both ends one is the owner. Saves report them until their owner's members are assigned anew,
    /// an end is deleted or discarded here, or the ends are back.
    var missingMembers: [MemberList: Set<RowNumber>] {
        _read { yield box[0].missingMembers }
        _modify { yield &box[0].missingMembers }
    }

    /// Links of rows deleted here which deny that while the row at the other end exists. They are in no list any more.
    var denyingLinks: Set<Link> {
        _read { yield box[0].denyingLinks }
        _modify { yield &box[0].denyingLinks }
    }

    /// What to-many values say, until their rows are all written.
    var assignments: [ToManyAssignment] {
        _read { yield box[0].assignments }
        _modify { yield &box[0].assignments }
    }

    var reads: ReadLog? { _read { yield box[0].reads } }

    /// Rows of which each, when it was written, may have taken a unique value that another one had.
    var suspects: Set<RowPlace> {
        _read { yield box[0].suspects }
        _modify { yield &box[0].suspects }
    }

    /// Rows that count from a base of their own, and that were written, or were given it, since it was last looked whether what
    /// was changed in them was taken back.
    var restorable: Set<RowPlace> {
        _read { yield box[0].restorable }
        _modify { yield &box[0].restorable }
    }

    /// Has the changes of a row count from another row than the base's; see `RowChanges.lostBases`.
    mutating func setLostBase(of place: RowPlace, version: RowVersion, copying known: UnsafeRawPointer) {
        changes[place.entity].lostBases.set(place.row, version: version, copying: known)
        restorable.insert(place)
    }

    var schema: Schema { _read { yield box[0].base.schema } }

    /// Whether there is nothing to save.
    var isUnchanged: Bool {
        changes.isEmpty && missingMembers.isEmpty && !hasRequirements
            && zip(snapshot.adjacencies, base.adjacencies).allSatisfy { $0.isIdentical(to: $1) }
    }

    // MARK: Changes

    /// Writes a row that is not there: a new one, or one that was deleted and comes back under its number.
    ///
    /// - Parameters:
    ///   - lastVersion: one that the row had when it was in the store, if it is not in the base any more.
    ///   - known: the row that had this version.
    mutating func insert(
        _ row: RowNumber,
        of entity: Int,
        copying value: UnsafeRawPointer,
        lastVersion: RowVersion = .none,
        known: UnsafeRawPointer? = nil
    ) {
        var batch: IndexBatch?
        insert(row, of: entity, copying: value, lastVersion: lastVersion, &batch)
        if let known, changes[entity].isComingBack(row) {
            changes[entity].returnBases.set(row, version: lastVersion, copying: known)
        }
    }

    /// The same, and without a batch the index entries of the row.
    mutating func insert(
        _ row: RowNumber,
        of entity: Int,
        copying value: UnsafeRawPointer,
        lastVersion: RowVersion,
        _ batch: inout IndexBatch?
    ) {
        let description = schema.entities[entity]
        forgetDelete(of: row, of: entity)
        if description.toOnes.contains(where: { $0.target(ofRowAt: value) != 0 }) {
            changes[entity].hasReferences = true
        }
        var version = RowVersion.none.next
        if let original = base.entities[entity].rows.address(of: row) {
            let baseVersion = changes[entity].baseVersion(of: row) ?? box[0].storedVersion(of: row, entity)
            if changes[entity].countsFromLostBase(row) { restorable.insert(RowPlace(entity: entity, row: row)) }
            if description.areIdentical(original, value), !changes[entity].countsFromLostBase(row) {
                changes[entity].remove(row)
                version = base.entities[entity].rows.version(of: row) ?? baseVersion
            } else {
                changes[entity].set(row, .updated, baseVersion: baseVersion)
                version = baseVersion.next
            }
        } else {
            changes[entity].remove(row)
            changes[entity].set(row, .inserted, baseVersion: lastVersion)
        }
        guard batch == nil else { return box[0].set(row, of: entity, version: version, copying: value, &batch!) }
        box[0].set(row, of: entity, version: version, copying: value)
        guard description.hasCoupledReferences else { return }
        for toOne in description.toOnes where toOne.isCoupled {
            couple(row, of: entity, through: toOne, from: 0, to: toOne.target(ofRowAt: value))
        }
    }

    /// Brings the indexes up to date for the rows that were inserted with a batch.
    mutating func insertEntries(of batch: consuming IndexBatch) {
        box[0].insertEntries(of: batch)
    }

    /// What denied a row's delete says nothing any more once the row is there again.
    private mutating func forgetDelete(of row: RowNumber, of entity: Int) {
        changes[entity].removeLastRow(row)
        guard !denyingLinks.isEmpty else { return }
        denyingLinks = denyingLinks.filter { $0.owner != row || schema.adjacencies[$0.list].entity != entity }
    }

    /// Replaces a row that exists. Writing what is there is no change, and a row that equals its base again is none
    /// either. True if the working row changed.
    @discardableResult
    mutating func update(_ row: RowNumber, of entity: Int, copying value: UnsafeRawPointer) -> Bool {
        let description = schema.entities[entity]
        guard description.hasCoupledReferences else { return box[0].update(row, of: entity, description, value) }
        guard let current = snapshot.entities[entity].rows.address(of: row) else { return false }
        let old = description.toOnes.map { $0.target(ofRowAt: current) }
        guard box[0].update(row, of: entity, description, value) else { return false }
        for (toOne, old) in zip(description.toOnes, old) where toOne.isCoupled {
            couple(row, of: entity, through: toOne, from: old, to: toOne.target(ofRowAt: value))
        }
        return true
    }

    /// Makes a row refer to another target, or to none with 0. True if the working row changed.
    @discardableResult
    mutating func setReference(of row: RowNumber, of entity: Int, through toOne: ToOneDescription, to target: RowNumber)
        -> Bool
    {
        guard let current = snapshot.entities[entity].rows.address(of: row) else { return false }
        return schema.entities[entity].layout.withCopy(of: current) { copy in
            (copy + toOne.offset).storeBytes(of: target, as: RowNumber.self)
            return update(row, of: entity, copying: copy)
        }
    }

    /// Deletes a row, everything that cascades from it, and the references and links to all of these that may be nullified.
    /// References that deny the delete stay, for the save to judge; so, apart from the lists, do such links.
    ///
    /// - Parameter cause: the delete that this one follows from; nil if it is the program's own.
    mutating func delete(_ row: RowNumber, of entity: Int, cause: DeleteNumber? = nil) {
        if cause == nil { changes.deleteCount += 1 }
        let number = cause ?? changes.deleteCount
        let closure = snapshot.deleteClosure(of: row, of: entity)
        noteDelete(of: closure)
        for (entity, rows) in closure.enumerated() where !rows.isEmpty {
            for reference in schema.entities[entity].references {
                let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
                guard toOne.ruleOfInverse == .nullify else { continue }
                for row in rows {
                    for referrer in snapshot.referrers(to: row, of: reference.entity, through: reference.toOne)
                    where !closure[reference.entity].contains(referrer) {
                        setReference(of: referrer, of: reference.entity, through: toOne, to: 0)
                    }
                }
            }
            for listNumber in schema.entities[entity].linkLists {
                let list = schema.adjacencies[listNumber]
                for row in rows {
                    for member in snapshot.adjacencies[listNumber].memberRows(of: row) {
                        let denies = list.rule == .deny && !closure[list.members].contains(member)
                        endLink(Link(list: listNumber, owner: row, member: member), denies: denies)
                    }
                }
            }
        }
        // In the order in which they lie in the table, and perhaps in indexes.
        for (entity, rows) in closure.enumerated() {
            for row in rows.sorted() { remove(row, of: entity, by: number) }
        }
    }

    /// Removes a row alone: whatever refers or is linked to it stays.
    mutating func remove(_ row: RowNumber, of entity: Int, by delete: DeleteNumber = 0) {
        guard let last = snapshot.entities[entity].rows.address(of: row) else { return }
        if schema.entities[entity].toOnes.contains(where: { $0.ruleOfOwner == .deny }) {
            changes[entity].lastRows.set(row, version: .none, copying: last)
        }
        for toOne in schema.entities[entity].toOnes {
            guard let order = toOne.order else { continue }
            snapshot.adjacencies[order].remove(row, of: toOne.target(ofRowAt: last))
        }
        if !missingMembers.isEmpty {
            for relationship in schema.entities[entity].toManys {
                missingMembers[MemberList(relationship, of: row)] = nil
            }
        }
        box[0].remove(row, of: entity)
        switch changes[entity].kind(of: row) {
        case .inserted:
            changes[entity].remove(row)
        case .updated, .deleted:
            let baseVersion = changes[entity].baseVersion(of: row) ?? .none
            changes[entity].set(row, .deleted, baseVersion: baseVersion, delete: delete)
        case nil:
            let baseVersion = box[0].storedVersion(of: row, entity)
            changes[entity].set(row, .deleted, baseVersion: baseVersion, delete: delete)
        }
    }

    /// Gives the state its place in the store's history, when it becomes a commit.
    ///
    /// Rows that come back take the commit's number as their version. A row's version grows by at most one with a commit, so it
    /// never had one as large, and nobody has to remember the versions of deleted rows.
    mutating func number(_ commit: CommitNumber) {
        snapshot.commit = commit
        for (entity, changes) in changes.entities where changes.hasReturns {
            changes.forEachChange { row, _, _ in
                guard changes.isComingBack(row), let address = snapshot.entities[entity].rows.address(of: row)
                else { return }
                schema.entities[entity].layout.withCopy(of: address) { copy in
                    _ = snapshot.entities[entity].rows.set(row, version: RowVersion(commit.number), copying: copy)
                }
            }
        }
    }
}

extension Snapshot {
    /// The row and all that cascades from it, by entity. Cycles are fine.
    func deleteClosure(of row: RowNumber, of entity: Int) -> [Set<RowNumber>] {
        var closure = [Set<RowNumber>](repeating: [], count: entities.count)
        var open = [(entity: entity, row: row)]
        while let (entity, row) = open.popLast() {
            guard entities[entity].rows.contains(row), closure[entity].insert(row).inserted else { continue }
            let description = schema.entities[entity]
            for reference in description.references
            where schema.entities[reference.entity].toOnes[reference.toOne].ruleOfInverse == .cascade {
                forEachReferrer(to: row, of: reference.entity, through: reference.toOne) {
                    open.append((reference.entity, $0))
                    return true
                }
            }
            for number in description.linkLists where schema.adjacencies[number].rule == .cascade {
                let members = adjacencies[number].memberRows(of: row)
                open += members.map { (schema.adjacencies[number].members, $0) }
            }
            for toOne in description.toOnes where toOne.ruleOfOwner == .cascade {
                let target = entities[entity].rows.address(of: row).map { toOne.target(ofRowAt: $0) } ?? 0
                if target != 0 { open.append((toOne.target, target)) }
            }
        }
        return closure
    }
}
