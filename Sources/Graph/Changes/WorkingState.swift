/// What a context sees: a base snapshot, its own changes on top, and which rows those are. A value: a copy is a savepoint, and
/// assigning it back undoes everything since.
///
/// A working row already carries the version that a save will give it, its base version plus one. So a save without commits in
/// between publishes the working snapshot unchanged.
struct WorkingState: Sendable {
    private struct Contents: Sendable {
        let base: Snapshot
        let store: Snapshot?
        var snapshot: Snapshot
        var changes: ChangeSet
        var missingMembers: [MemberList: Set<RowNumber>] = [:]
        var denyingLinks = LinkSet()
        var assignments: [ToManyAssignment] = []
        var candidates: Set<RowID> = []
        var restorable: Set<RowID> = []
        /// Notes what changes examine, in a serializable transaction.
        var reads: ReadLog?
        var scratch = EntryScratch()

        /// Writes a new row, whose index entries are inserted with the batch.
        mutating func set(
            _ id: RowID,
            version: RowVersion,
            copying value: UnsafeRawPointer,
            _ batch: inout IndexBatch
        ) {
            batch.append(id.row, at: value, base.schema.entities[id.entity])
            snapshot.entities[id.entity].rows.set(id.row, version: version, copying: value)
        }

        mutating func insertEntries(of batch: consuming IndexBatch) {
            let entity = batch.entity
            snapshot.insertEntries(of: batch) { candidates.insert(RowID(entity: entity, row: $0)) }
        }

        mutating func set(_ id: RowID, version: RowVersion, copying value: UnsafeRawPointer) {
            if snapshot.set(id, version: version, copying: value, scratch: &scratch) { candidates.insert(id) }
        }

        /// Returns false if there is no such row, or nothing to write.
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
            set(id, version: version, copying: value)
            return true
        }

        /// The version that the row will have.
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
                // Not the change's own base version, which may be older.
                return base.version(of: id) ?? baseVersion
            case nil:
                let baseVersion = storedVersion(of: id)
                changes.set(id, .updated, baseVersion: baseVersion)
                return baseVersion.next
            }
        }

        func storedVersion(of id: RowID) -> RowVersion {
            // A copy of the state would count all its references.
            (store == nil ? base.version(of: id) : store?.version(of: id)) ?? .none
        }

        /// Takes over the rows of a table that differ from it in these alone.
        mutating func update(_ rows: [RowNumber], _ entity: Int, to table: inout RowTable) {
            let description = base.schema.entities[entity]
            var own = changes[entity]
            let areFirst = own.isEmpty
            table.change(rows) { row, value, version in
                let id = RowID(entity: entity, row: row)
                guard let current = snapshot.address(of: id), !description.areIdentical(current, value) else {
                    return true
                }
                if description.toOnes.contains(where: { $0.target(ofRowAt: value) != $0.target(ofRowAt: current) }) {
                    own.hasReferences = true
                }
                if areFirst {
                    let baseVersion = store == nil ? RowVersion(version) : storedVersion(of: id)
                    own.set(row, .updated, baseVersion: baseVersion)
                    version = baseVersion.next.number
                } else {
                    changes[entity].hasReferences = own.hasReferences
                    version = noteUpdate(of: id, description, value).number
                }
                guard description.indexes.contains(where: { !$0.isIdentical(current, value) }) else { return true }
                if snapshot.updateIndexes(of: id, to: value, &scratch) { candidates.insert(id) }
                return true
            }
            if areFirst, !own.isEmpty { changes[entity] = own }
            snapshot.entities[entity].rows = table
        }

        /// A batch takes the row's index entries and references.
        mutating func remove(_ id: RowID, _ batch: inout IndexBatch?) {
            guard batch != nil, let address = snapshot.address(of: id) else {
                _ = snapshot.remove(id, scratch: &scratch)
                return
            }
            batch?.append(id.row, at: address, base.schema.entities[id.entity])
            snapshot.entities[id.entity].rows.remove(id.row)
        }
    }

    /// One element: an array is a box that is copied on write. A save passes a state through many steps, and each copy would
    /// count the dozen references in it.
    private var box: [Contents]

    /// - Parameters:
    ///   - store: the committed state below the base, if the base is an outer context's.
    ///   - reads: notes what changes examine, in a serializable transaction.
    init(base: Snapshot, store: Snapshot? = nil, reads: ReadLog? = nil) {
        box = [
            Contents(
                base: base, store: store, snapshot: base, changes: ChangeSet(schema: base.schema), reads: reads)
        ]
    }

    init(_ base: ContextBase, reads: ReadLog?) {
        self.init(base: base.snapshot, store: base.committed, reads: reads)
    }

    /// The published snapshot that the changes are based on.
    var base: Snapshot { _read { yield box[0].base } }

    /// What differs from the base: the rows of `changes`, and links.
    var difference: SnapshotDifference { SnapshotDifference(before: base, after: snapshot) }

    /// The newest committed state below: the base, unless that is an outer context's. Only this state has versions, and only
    /// rows in it were ever in the store.
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

    /// Pending members that do not exist: a to-many value named them, or others deleted an end of a link that was made here. If
    /// both ends are missing, one counts as the owner. Saves report them until the owner's members are assigned again, an end
    /// is deleted or discarded here, or the ends come back.
    var missingMembers: [MemberList: Set<RowNumber>] {
        _read { yield box[0].missingMembers }
        _modify { yield &box[0].missingMembers }
    }

    /// Links of rows deleted here that deny the delete while the row at the other end exists. No link table has them any more.
    var denyingLinks: LinkSet {
        _read { yield box[0].denyingLinks }
        _modify { yield &box[0].denyingLinks }
    }

    /// To-many values that are applied when all rows are written.
    var assignments: [ToManyAssignment] {
        _read { yield box[0].assignments }
        _modify { yield &box[0].assignments }
    }

    var reads: ReadLog? { _read { yield box[0].reads } }

    /// Rows that may have taken another row's unique value when they were written.
    var candidates: Set<RowID> {
        _read { yield box[0].candidates }
        _modify { yield &box[0].candidates }
    }

    /// Rows with detached bases that were written since the last `endRestoredChanges()`, or got the base since.
    var restorable: Set<RowID> {
        _read { yield box[0].restorable }
        _modify { yield &box[0].restorable }
    }

    /// Bases the changes of a row on another row than the base's; see `RowChanges.detachedBases`.
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

    /// Writes a row that does not exist: a new one, or a deleted one that comes back under its number.
    ///
    /// - Parameters:
    ///   - lastVersion: a version that the row had in the store, if the base does not have it any more.
    ///   - known: the row with this version.
    mutating func insert(
        _ id: RowID,
        copying value: UnsafeRawPointer,
        lastVersion: RowVersion = .none,
        known: UnsafeRawPointer? = nil
    ) {
        var batch: IndexBatch?
        insert(id, copying: value, lastVersion: lastVersion, &batch)
        if let known, changes.kind(of: id) == .inserted {
            changes[id.entity].returnBases.set(id.row, version: lastVersion, copying: known)
        }
    }

    /// The same; a batch takes the row's index entries and references.
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
        guard batch == nil else { return box[0].set(id, version: version, copying: value, &batch!) }
        box[0].set(id, version: version, copying: value)
        guard description.hasInversesToMaintain else { return }
        for toOne in description.toOnes where toOne.hasInverseToMaintain {
            updateInverse(of: id, through: toOne, from: 0, to: toOne.target(ofRowAt: value))
        }
    }

    /// Inserts the index entries of rows that were inserted with a batch, and has the other ends of their references agree.
    mutating func insertEntries(of batch: consuming IndexBatch) {
        let (entity, references) = (batch.entity, batch.references)
        box[0].insertEntries(of: batch)
        for (toOne, references) in zip(schema.entities[entity].toOnes, references) where !references.isEmpty {
            updateInverses(of: entity, through: toOne, references)
        }
    }

    /// Forgets what denied a row's delete, as the row exists again.
    private mutating func forgetDelete(of id: RowID) {
        changes.removeLastRow(id)
        guard !denyingLinks.isEmpty else { return }
        for table in schema.entities[id.entity].linkTables { denyingLinks.removeLinks(of: id.row, in: table) }
    }

    /// Replaces an existing row. Writing the same values is no change, and a row that equals its base again has none. Returns
    /// true if the working row changed.
    @discardableResult
    mutating func update(_ id: RowID, copying value: UnsafeRawPointer) -> Bool {
        let description = schema.entities[id.entity]
        guard description.hasInversesToMaintain else { return box[0].update(id, description, value) }
        guard let current = snapshot.address(of: id) else { return false }
        let old = description.toOnes.map { $0.target(ofRowAt: current) }
        guard box[0].update(id, description, value) else { return false }
        for (toOne, old) in zip(description.toOnes, old) where toOne.hasInverseToMaintain {
            updateInverse(of: id, through: toOne, from: old, to: toOne.target(ofRowAt: value))
        }
        return true
    }

    /// Takes over a table that differs from this state's in these rows alone, of an entity whose references change no other rows.
    ///
    /// - Parameter table: gets the versions, too.
    mutating func update(_ rows: [RowNumber], of entity: Int, to table: inout RowTable) {
        box[0].update(rows, entity, to: &table)
    }

    /// Sets a reference to a target, or to nil with 0. Returns true if the working row changed.
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

    /// Deletes a row and everything that cascades from it, and nullifies references and links to these rows where the rules say
    /// so. References that deny the delete stay, for the save to check; such links stay in `denyingLinks`.
    ///
    /// - Parameter cause: the delete that this one follows from; nil if it is the program's own.
    mutating func delete(_ id: RowID, cause: DeleteNumber? = nil) {
        delete(snapshot.deleteClosure(of: id), cause: cause)
    }

    /// The same for a row with all that cascades from it, by entity.
    mutating func delete(_ closure: [Set<RowNumber>], cause: DeleteNumber? = nil) {
        if cause == nil { changes.deleteCount += 1 }
        let number = cause ?? changes.deleteCount
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
            for number in schema.entities[entity].linkTables {
                let table = schema.linkTables[number]
                for row in rows {
                    for member in snapshot.linkTables[number].memberRows(of: row) {
                        let denies = table.rule == .deny && !closure[table.members].contains(member)
                        endLink(LinkID(table: number, owner: row, member: member), denies: denies)
                    }
                }
            }
        }
        // In their order in the table, and perhaps in indexes.
        for (entity, rows) in closure.enumerated() where !rows.isEmpty {
            // Fewer rows gain nothing by it.
            var batch = rows.count > 8 ? IndexBatch(entity: entity, of: schema, rowCount: rows.count) : nil
            for row in rows.sorted() { remove(RowID(entity: entity, row: row), by: number, &batch) }
            if let batch { snapshot.removeEntries(of: batch) }
        }
    }

    /// Removes a row alone: references and links to it stay.
    mutating func remove(_ id: RowID, by delete: DeleteNumber = 0) {
        var batch: IndexBatch?
        remove(id, by: delete, &batch)
    }

    /// The same; a batch takes the row's index entries and its places in orders, which are to be removed.
    mutating func remove(_ id: RowID, by delete: DeleteNumber, _ batch: inout IndexBatch?) {
        guard let last = snapshot.address(of: id) else { return }
        if schema.entities[id.entity].toOnes.contains(where: { $0.ruleOfOwner == .deny }) {
            changes[id.entity].lastRows.set(id.row, version: .none, copying: last)
        }
        if batch == nil {
            for toOne in schema.entities[id.entity].toOnes {
                guard let order = toOne.order else { continue }
                snapshot.linkTables[order].remove(id.row, of: toOne.target(ofRowAt: last))
            }
        }
        if !missingMembers.isEmpty {
            for relationship in schema.entities[id.entity].toManys {
                missingMembers[MemberList(relationship, of: id.row)] = nil
            }
        }
        box[0].remove(id, &batch)
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

    /// Numbers the state when it becomes a commit.
    ///
    /// Rows that come back take the commit's number as their version. A commit raises a version by at most one, so the row
    /// never had one as large, and nothing has to remember the versions of deleted rows.
    mutating func number(_ commit: CommitNumber) {
        snapshot.token.commit = commit
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
            for number in description.linkTables where schema.linkTables[number].rule == .cascade {
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
