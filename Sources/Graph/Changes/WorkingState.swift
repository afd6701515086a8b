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
        var changes: ChangeSet
        var missingMembers: [MemberList: Set<RowNumber>] = [:]
        var denyingLinks: Set<Link> = []
        var assignments: [ToManyAssignment] = []
        var candidates: Set<RowID> = []
        var restorable: Set<RowID> = []
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
            snapshot.insertEntries(of: batch) { candidates.insert(RowID(entity: entity, row: $0)) }
        }

        mutating func set(_ row: RowNumber, of entity: Int, version: RowVersion, copying value: UnsafeRawPointer) {
            if snapshot.set(row, of: entity, version: version, copying: value, scratch: &scratch) {
                candidates.insert(RowID(entity: entity, row: row))
            }
        }

        /// False if there is no such row, or nothing to write to it.
        mutating func update(
            _ id: RowID,
            _ description: EntityDescription,
            _ value: UnsafeRawPointer
        ) -> Bool {
            guard let current = snapshot.address(of: id),
                !description.areIdentical(current, value)
            else { return false }
            if description.toOnes.contains(where: { $0.target(ofRowAt: value) != $0.target(ofRowAt: current) }) {
                changes[id.entity].hasReferences = true
            }
            let version = noteUpdate(of: id, description, value)
            set(id.row, of: id.entity, version: version, copying: value)
            return true
        }

        /// The version that the row is to have.
        private mutating func noteUpdate(
            of id: RowID,
            _ description: EntityDescription,
            _ value: UnsafeRawPointer
        ) -> RowVersion {
            switch changes.kind(of: id) {
            case .inserted, .deleted:
                return .none.next
            case .updated:
                let baseVersion = changes.baseVersion(of: id) ?? .none
                guard !changes.countsFromDetachedBase(id) else {
                    restorable.insert(id)
                    return baseVersion.next
                }
                guard let original = base.address(of: id),
                    description.areIdentical(original, value)
                else { return baseVersion.next }
                changes.remove(id)
                // Not the one that the change counted from, which may be older.
                return base.version(of: id) ?? baseVersion
            case nil:
                let baseVersion = storedVersion(of: id)
                changes.set(id, .updated, baseVersion: baseVersion)
                return baseVersion.next
            }
        }

        func storedVersion(of id: RowID) -> RowVersion {
            (store ?? base).version(of: id) ?? .none
        }

        mutating func remove(_ id: RowID) {
            snapshot.remove(id, scratch: &scratch)
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
                base: base, store: store, snapshot: base, changes: ChangeSet(schema: base.schema), reads: reads)
        ]
    }

    init(_ base: ContextBase, reads: ReadLog?) {
        self.init(base: base.snapshot, store: base.committed, reads: reads)
    }

    /// The published snapshot that the changes count from.
    var base: Snapshot { _read { yield box[0].base } }

    /// What differs from the base: the rows of `changes`, and links.
    var difference: SnapshotDifference { SnapshotDifference(before: base, after: snapshot) }

    /// The newest committed state below: the base, unless that is an outer context's. Only what is committed has versions, and
    /// only what is in here was ever in the store.
    var store: Snapshot { box[0].store ?? box[0].base }

    /// Base plus changes, indexes included.
    var snapshot: Snapshot {
        _read { yield box[0].snapshot }
        _modify { yield &box[0].snapshot }
    }

    var changes: ChangeSet {
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
    var candidates: Set<RowID> {
        _read { yield box[0].candidates }
        _modify { yield &box[0].candidates }
    }

    /// Rows that count from a base of their own, and that were written, or were given it, since it was last looked whether what
    /// was changed in them was taken back.
    var restorable: Set<RowID> {
        _read { yield box[0].restorable }
        _modify { yield &box[0].restorable }
    }

    /// Has the changes of a row count from another row than the base's; see `RowChanges.detachedBases`.
    mutating func setDetachedBase(of id: RowID, version: RowVersion, copying known: UnsafeRawPointer) {
        changes[id.entity].detachedBases.set(id.row, version: version, copying: known)
        restorable.insert(id)
    }

    var schema: Schema { _read { yield box[0].base.schema } }

    /// Whether there is nothing to save.
    var isUnchanged: Bool {
        changes.isEmpty && missingMembers.isEmpty && !hasRequirements
            && zip(snapshot.linkTables, base.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }

    // MARK: Changes

    /// Writes a row that is not there: a new one, or one that was deleted and comes back under its number.
    ///
    /// - Parameters:
    ///   - lastVersion: one that the row had when it was in the store, if it is not in the base any more.
    ///   - known: the row that had this version.
    mutating func insert(
        _ id: RowID,
        copying value: UnsafeRawPointer,
        lastVersion: RowVersion = .none,
        known: UnsafeRawPointer? = nil
    ) {
        var batch: IndexBatch?
        insert(id, copying: value, lastVersion: lastVersion, &batch)
        if let known, changes.isComingBack(id) {
            changes[id.entity].returnBases.set(id.row, version: lastVersion, copying: known)
        }
    }

    /// The same, and without a batch the index entries of the row.
    mutating func insert(
        _ id: RowID,
        copying value: UnsafeRawPointer,
        lastVersion: RowVersion,
        _ batch: inout IndexBatch?
    ) {
        let description = schema.entities[id.entity]
        forgetDelete(of: id)
        if description.toOnes.contains(where: { $0.target(ofRowAt: value) != 0 }) {
            changes[id.entity].hasReferences = true
        }
        var version = RowVersion.none.next
        if let original = base.address(of: id) {
            let baseVersion = changes.baseVersion(of: id) ?? box[0].storedVersion(of: id)
            if changes.countsFromDetachedBase(id) { restorable.insert(id) }
            if description.areIdentical(original, value), !changes.countsFromDetachedBase(id) {
                changes.remove(id)
                version = base.version(of: id) ?? baseVersion
            } else {
                changes.set(id, .updated, baseVersion: baseVersion)
                version = baseVersion.next
            }
        } else {
            changes.remove(id)
            changes.set(id, .inserted, baseVersion: lastVersion)
        }
        guard batch == nil else { return box[0].set(id.row, of: id.entity, version: version, copying: value, &batch!) }
        box[0].set(id.row, of: id.entity, version: version, copying: value)
        guard description.hasCoupledReferences else { return }
        for toOne in description.toOnes where toOne.isCoupled {
            couple(id.row, of: id.entity, through: toOne, from: 0, to: toOne.target(ofRowAt: value))
        }
    }

    /// Brings the indexes up to date for the rows that were inserted with a batch.
    mutating func insertEntries(of batch: consuming IndexBatch) {
        box[0].insertEntries(of: batch)
    }

    /// What denied a row's delete says nothing any more once the row is there again.
    private mutating func forgetDelete(of id: RowID) {
        changes.removeLastRow(id)
        guard !denyingLinks.isEmpty else { return }
        denyingLinks = denyingLinks.filter { $0.owner != id.row || schema.linkTables[$0.list].entity != id.entity }
    }

    /// Replaces a row that exists. Writing what is there is no change, and a row that equals its base again is none
    /// either. True if the working row changed.
    @discardableResult
    mutating func update(_ id: RowID, copying value: UnsafeRawPointer) -> Bool {
        let description = schema.entities[id.entity]
        guard description.hasCoupledReferences else { return box[0].update(id, description, value) }
        guard let current = snapshot.address(of: id) else { return false }
        let old = description.toOnes.map { $0.target(ofRowAt: current) }
        guard box[0].update(id, description, value) else { return false }
        for (toOne, old) in zip(description.toOnes, old) where toOne.isCoupled {
            couple(id.row, of: id.entity, through: toOne, from: old, to: toOne.target(ofRowAt: value))
        }
        return true
    }

    /// Makes a row refer to another target, or to none with 0. True if the working row changed.
    @discardableResult
    mutating func setReference(of id: RowID, through toOne: ToOneDescription, to target: RowNumber)
        -> Bool
    {
        guard let current = snapshot.address(of: id) else { return false }
        return schema.entities[id.entity].layout.withCopy(of: current) { copy in
            (copy + toOne.offset).storeBytes(of: target, as: RowNumber.self)
            return update(id, copying: copy)
        }
    }

    /// Deletes a row, everything that cascades from it, and the references and links to all of these that may be nullified.
    /// References that deny the delete stay, for the save to check; so, apart from the lists, do such links.
    ///
    /// - Parameter cause: the delete that this one follows from; nil if it is the program's own.
    mutating func delete(_ id: RowID, cause: DeleteNumber? = nil) {
        if cause == nil { changes.deleteCount += 1 }
        let number = cause ?? changes.deleteCount
        let closure = snapshot.deleteClosure(of: id)
        noteDelete(of: closure)
        for (entity, rows) in closure.enumerated() where !rows.isEmpty {
            for reference in schema.entities[entity].references {
                let toOne = schema.toOne(reference)
                guard toOne.ruleOfInverse == .nullify else { continue }
                for row in rows {
                    for referrer in snapshot.referrers(to: row, through: reference)
                    where !closure[reference.entity].contains(referrer) {
                        setReference(of: RowID(entity: reference.entity, row: referrer), through: toOne, to: 0)
                    }
                }
            }
            for listNumber in schema.entities[entity].linkLists {
                let list = schema.linkTables[listNumber]
                for row in rows {
                    for member in snapshot.linkTables[listNumber].memberRows(of: row) {
                        let denies = list.rule == .deny && !closure[list.members].contains(member)
                        endLink(Link(list: listNumber, owner: row, member: member), denies: denies)
                    }
                }
            }
        }
        // In the order in which they lie in the table, and perhaps in indexes.
        for (entity, rows) in closure.enumerated() {
            for row in rows.sorted() { remove(RowID(entity: entity, row: row), by: number) }
        }
    }

    /// Removes a row alone: whatever refers or is linked to it stays.
    mutating func remove(_ id: RowID, by delete: DeleteNumber = 0) {
        guard let last = snapshot.address(of: id) else { return }
        if schema.entities[id.entity].toOnes.contains(where: { $0.ruleOfOwner == .deny }) {
            changes[id.entity].lastRows.set(id.row, version: .none, copying: last)
        }
        for toOne in schema.entities[id.entity].toOnes {
            guard let order = toOne.order else { continue }
            snapshot.linkTables[order].remove(id.row, of: toOne.target(ofRowAt: last))
        }
        if !missingMembers.isEmpty {
            for relationship in schema.entities[id.entity].toManys {
                missingMembers[MemberList(relationship, of: id.row)] = nil
            }
        }
        box[0].remove(id)
        switch changes.kind(of: id) {
        case .inserted:
            changes.remove(id)
        case .updated, .deleted:
            let baseVersion = changes.baseVersion(of: id) ?? .none
            changes.set(id, .deleted, baseVersion: baseVersion, delete: delete)
        case nil:
            let baseVersion = box[0].storedVersion(of: id)
            changes.set(id, .deleted, baseVersion: baseVersion, delete: delete)
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
    func deleteClosure(of id: RowID) -> [Set<RowNumber>] {
        var closure = [Set<RowNumber>](repeating: [], count: entities.count)
        var open = [id]
        while let id = open.popLast() {
            guard let address = address(of: id), closure[id.entity].insert(id.row).inserted else { continue }
            let description = schema.entities[id.entity]
            for reference in description.references
            where schema.toOne(reference).ruleOfInverse == .cascade {
                forEachReferrer(to: id.row, through: reference) {
                    open.append(RowID(entity: reference.entity, row: $0))
                    return true
                }
            }
            for number in description.linkLists where schema.linkTables[number].rule == .cascade {
                let members = linkTables[number].memberRows(of: id.row)
                open += members.map { RowID(entity: schema.linkTables[number].members, row: $0) }
            }
            for toOne in description.toOnes where toOne.ruleOfOwner == .cascade {
                let target = toOne.target(ofRowAt: address)
                if target != 0 { open.append(RowID(entity: toOne.target, row: target)) }
            }
        }
        return closure
    }
}
