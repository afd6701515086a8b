/// What a context sees: a base snapshot, its own changes on top, and which rows those are. A value: keeping a copy is a
/// savepoint, and putting it back undoes everything since.
///
/// A working row already carries the version that it will have when it is saved, its base version plus one, so that a
/// save with nobody in between can publish the working snapshot as it is.
struct WorkingState: Sendable {
    /// The published snapshot that the changes count from.
    private(set) var base: Snapshot
    /// Base plus changes, indexes included.
    private(set) var snapshot: Snapshot
    private(set) var changes: PendingChanges
    /// What to-many values named and does not exist; the next save reports it.
    private var missingMembers: [DanglingReference] = []
    private var scratch = EntryScratch()

    var schema: Schema { base.schema }

    init(base: Snapshot) {
        self.base = base
        snapshot = base
        changes = PendingChanges(schema: base.schema)
    }

    // MARK: Changes

    mutating func insert(_ row: RowNumber, of entity: Int, copying value: UnsafeRawPointer) {
        changes[entity].set(row, .inserted, baseVersion: .none)
        snapshot.set(row, of: entity, version: RowVersion.none.next, copying: value, scratch: &scratch)
    }

    /// Replaces a row that exists. Writing what is there is no change, and a row that equals its base again is none
    /// either. True if the working row changed.
    @discardableResult
    mutating func update(_ row: RowNumber, of entity: Int, copying value: UnsafeRawPointer) -> Bool {
        let description = schema.entities[entity]
        guard let current = snapshot.entities[entity].rows.address(of: row),
            !description.areIdentical(current, value)
        else { return false }
        var version = RowVersion.none.next
        switch changes[entity].kind(of: row) {
        case .inserted, .deleted:
            break
        case .updated:
            let baseVersion = changes[entity].baseVersion(of: row) ?? .none
            if let original = base.entities[entity].rows.address(of: row), description.areIdentical(original, value) {
                changes[entity].remove(row)
                version = baseVersion
            } else {
                version = baseVersion.next
            }
        case nil:
            let baseVersion = base.entities[entity].rows.version(of: row) ?? .none
            changes[entity].set(row, .updated, baseVersion: baseVersion)
            version = baseVersion.next
        }
        snapshot.set(row, of: entity, version: version, copying: value, scratch: &scratch)
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

    /// Makes exactly the members refer to the owner.
    mutating func apply(_ assignment: ToManyAssignment) {
        let (owner, relationship) = (assignment.owner, assignment.relationship)
        let source = schema.entities[relationship.source]
        let toOne = source.toOnes[relationship.toOne]
        let wanted = Set(assignment.members)
        for row in referrers(to: owner, of: relationship.source, through: relationship.toOne)
        where !wanted.contains(row) {
            setReference(of: row, of: relationship.source, through: toOne, to: 0)
        }
        let description = schema.entities[assignment.entity]
        let id = AnyPersistentID(entityName: description.name, row: owner)
        let property = description.properties[relationship.property].name
        missingMembers.removeAll { $0.id == id && $0.property == property }
        for row in wanted.sorted() {
            if snapshot.entities[relationship.source].rows.contains(row) {
                setReference(of: row, of: relationship.source, through: toOne, to: owner)
            } else {
                let target = AnyPersistentID(entityName: source.name, row: row)
                missingMembers.append(DanglingReference(id: id, property: property, target: target))
            }
        }
    }

    /// What to-many values of objects that still exist named and does not exist. It is given once.
    mutating func takeMissingMembers() -> [DanglingReference] {
        defer { missingMembers = [] }
        return missingMembers.filter { missing in
            let entity = schema.index(named: missing.id.entityName)
            return entity.map { snapshot.entities[$0].rows.contains(missing.id.row) } ?? false
        }
    }

    /// Deletes a row, everything that cascades from it, and the references to all of these that may be nullified.
    /// References that deny the delete stay, for the save to judge.
    mutating func delete(_ row: RowNumber, of entity: Int) {
        let closure = snapshot.deleteClosure(of: row, of: entity)
        for (entity, rows) in closure.enumerated() {
            for reference in schema.entities[entity].references {
                let toOne = schema.entities[reference.entity].toOnes[reference.toOne]
                guard toOne.ruleOfInverse == .nullify else { continue }
                for row in rows {
                    for referrer in referrers(to: row, of: reference.entity, through: reference.toOne)
                    where !closure[reference.entity].contains(referrer) {
                        setReference(of: referrer, of: reference.entity, through: toOne, to: 0)
                    }
                }
            }
        }
        for (entity, rows) in closure.enumerated() {
            for row in rows { remove(row, of: entity) }
        }
    }

    private mutating func remove(_ row: RowNumber, of entity: Int) {
        guard let last = snapshot.entities[entity].rows.address(of: row) else { return }
        if schema.entities[entity].toOnes.contains(where: { $0.ruleOfOwner == .deny }) {
            changes[entity].lastRows.set(row, version: .none, copying: last)
        }
        snapshot.remove(row, of: entity, scratch: &scratch)
        switch changes[entity].kind(of: row) {
        case .inserted: changes[entity].remove(row)
        case .updated, .deleted:
            changes[entity].set(row, .deleted, baseVersion: changes[entity].baseVersion(of: row) ?? .none)
        case nil: changes[entity].set(row, .deleted, baseVersion: base.entities[entity].rows.version(of: row) ?? .none)
        }
    }

    /// Gives the state its place in the store's history, when it becomes a commit.
    mutating func number(_ commit: CommitNumber) {
        snapshot.commit = commit
    }

    func referrers(to target: RowNumber, of entity: Int, through toOne: Int) -> [RowNumber] {
        var rows: [RowNumber] = []
        snapshot.forEachReferrer(to: target, of: entity, through: toOne) {
            rows.append($0)
            return true
        }
        return rows
    }

    // MARK: Moving the base

    /// The changes of `later`, which count from `later.base`, on top of this state: property by property, a property that
    /// `later` did not change stays as it is here.
    ///
    /// - Parameter keepingBases: whether a row that was changed on both sides goes on counting from its base in `later`,
    ///   so that a save reports the conflict.
    mutating func reapply(_ later: WorkingState, keepingBases: Bool = false) {
        missingMembers += later.missingMembers
        for entity in schema.entities.indices {
            let description = schema.entities[entity]
            later.changes[entity].forEachChange { row, kind, baseVersion in
                let theirs = snapshot.entities[entity].rows.address(of: row)
                let ours =
                    later.snapshot.entities[entity].rows.address(of: row)
                    ?? later.changes[entity].lostRows.address(of: row)
                let original =
                    later.base.entities[entity].rows.address(of: row)
                    ?? later.changes[entity].lostBases.address(of: row)
                switch (kind, ours, original) {
                case (.inserted, let ours?, _):
                    insert(row, of: entity, copying: ours)
                case (.deleted, _, _) where theirs != nil:
                    let isConflict = keepingBases && snapshot.entities[entity].rows.version(of: row) != baseVersion
                    remove(row, of: entity)
                    if let last = later.changes[entity].lastRows.address(of: row) {
                        changes[entity].lastRows.set(row, version: .none, copying: last)
                    }
                    guard isConflict, let original else { break }
                    changes[entity].set(row, .deleted, baseVersion: baseVersion)
                    changes[entity].lostBases.set(row, version: baseVersion, copying: original)
                case (.updated, _?, _?) where theirs == nil && later.letsGoOnly(row, of: entity):
                    break
                case (.updated, let ours?, let original?) where theirs == nil:
                    changes[entity].set(row, .updated, baseVersion: baseVersion)
                    changes[entity].lostBases.set(row, version: baseVersion, copying: original)
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
                        let isConflict =
                            keepingBases
                            && description.changeSameProperty(UnsafeRawPointer(merged), theirs, since: original)
                        update(row, of: entity, copying: merged)
                        guard isConflict else { return }
                        changes[entity].set(row, .updated, baseVersion: baseVersion)
                        changes[entity].lostBases.set(row, version: baseVersion, copying: original)
                    }
                default:
                    break
                }
            }
        }
    }
}

extension WorkingState {
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
    func letsGo(through toOne: ToOneDescription, from original: UnsafeRawPointer, to ours: UnsafeRawPointer) -> Bool {
        let target = toOne.target(ofRowAt: original)
        return target != 0 && toOne.ruleOfInverse == .nullify && toOne.target(ofRowAt: ours) == 0
            && changes[toOne.target].kind(of: target) == .deleted
    }

    /// Forgets changes to rows that another state inserted since a savepoint.
    mutating func forgetChanges(ofRowsInsertedIn state: WorkingState, since savepoint: WorkingState) {
        for entity in schema.entities.indices {
            state.changes[entity].forEachChange { row, kind, _ in
                guard kind == .inserted, savepoint.changes[entity].kind(of: row) == nil else { return }
                changes[entity].remove(row)
            }
        }
    }
}

/// The members that a to-many property is given.
struct ToManyAssignment {
    let entity: Int
    let owner: RowNumber
    let relationship: ToManyDescription
    let members: [RowNumber]
}

extension Snapshot {
    /// The row and all that cascades from it, by entity. Cycles are fine.
    func deleteClosure(of row: RowNumber, of entity: Int) -> [Set<RowNumber>] {
        var closure = [Set<RowNumber>](repeating: [], count: entities.count)
        var open = [(entity: entity, row: row)]
        while let (entity, row) = open.popLast() {
            guard entities[entity].rows.contains(row), closure[entity].insert(row).inserted else { continue }
            for reference in schema.entities[entity].references
            where schema.entities[reference.entity].toOnes[reference.toOne].ruleOfInverse == .cascade {
                forEachReferrer(to: row, of: reference.entity, through: reference.toOne) {
                    open.append((reference.entity, $0))
                    return true
                }
            }
            for toOne in schema.entities[entity].toOnes where toOne.ruleOfOwner == .cascade {
                let target = entities[entity].rows.address(of: row).map { toOne.target(ofRowAt: $0) } ?? 0
                if target != 0 { open.append((toOne.target, target)) }
            }
        }
        return closure
    }
}

extension ToOneDescription {
    /// The row that the row at the address refers to; 0 for none.
    func target(ofRowAt address: UnsafeRawPointer) -> RowNumber {
        (address + offset).load(as: RowNumber.self)
    }
}

extension EntityDescription {
    /// Whether all stored properties have the same bits.
    func areIdentical(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
        properties.allSatisfy { $0.operations.isIdentical(lhs + $0.offset, rhs + $0.offset) }
    }

    /// Whether there is a property whose values in both rows differ from the original and from each other.
    func changeSameProperty(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer, since original: UnsafeRawPointer) -> Bool
    {
        properties.contains { property in
            func differ(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
                !property.operations.isIdentical(lhs + property.offset, rhs + property.offset)
            }
            return differ(lhs, original) && differ(rhs, original) && differ(lhs, rhs)
        }
    }

    /// Takes over into `target` each property that `ours` has changed since `original`.
    func merge(_ ours: UnsafeRawPointer, over original: UnsafeRawPointer, into target: UnsafeMutableRawPointer) {
        for property in properties
        where !property.operations.isIdentical(ours + property.offset, original + property.offset) {
            property.operations.assign(target + property.offset, ours + property.offset)
        }
    }
}
