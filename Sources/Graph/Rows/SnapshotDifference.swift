/// The objects and members that differ between two snapshots of one store. Feeds, events, observation and undo use it.
///
/// It skips the parts that the snapshots share, so its cost does not depend on the size of the store. Use ``before`` and ``after``
/// for any other question.
public struct SnapshotDifference: Sendable {
    /// The state before.
    public let before: Snapshot
    /// The state after.
    public let after: Snapshot

    /// The objects of an entity that were inserted, changed or deleted, in the order of their insertion; none if the store was
    /// opened without the entity.
    ///
    /// Complexity: O(changed objects).
    public func changes<E: Entity>(of type: E.Type = E.self) -> [Change<E>] {
        guard let entity = after.schema.index(of: type) else { return [] }
        let layout = after.schema.entities[entity].layout
        func value(_ address: UnsafeRawPointer?) -> E? { address?.row(as: type, in: layout).pointee }
        var changes: [Change<E>] = []
        forEachRow(of: entity) { id, old, new in
            changes.append(Change(id: PersistentID(row: id.row), before: value(old), after: value(new)))
        }
        return changes
    }

    /// The change of one object; nil if it is the same in both snapshots, or in neither.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public func change<E>(of id: PersistentID<E>) -> Change<E>? {
        guard let entity = after.schema.index(of: E.self) else { return nil }
        let (old, new) = (before.entities[entity].rows, after.entities[entity].rows)
        switch (old.address(of: id.row), new.address(of: id.row)) {
        case (nil, nil):
            return nil
        case (let old?, let new?) where after.schema.entities[entity].areIdentical(old, new):
            return nil
        default:
            return Change(id: id, before: old.value(of: id.row), after: new.value(of: id.row))
        }
    }

    /// The objects with other members than before, or with the same in another order, in the order of their insertion.
    ///
    /// - Precondition: the property is a stored one.
    ///
    /// Complexity: O(changed references or links).
    public func changedOwners<E, Target>(
        of keyPath: any KeyPath<E, ToMany<Target>> & Sendable
    ) -> [PersistentID<E>] {
        changedOwners(of: keyPath, hasIndexes: true)
    }

    func changedOwners<E, Target>(
        of keyPath: any KeyPath<E, ToMany<Target>> & Sendable, hasIndexes: Bool
    ) -> [PersistentID<E>] {
        guard let entity = after.schema.index(of: E.self) else { return [] }
        return changedOwners(through: after.schema.toMany(keyPath, of: entity), hasIndexes: hasIndexes)
            .map { PersistentID(row: $0) }
    }
}

extension SnapshotDifference: CustomStringConvertible {
    /// `commit 3 → commit 4`
    public var description: String { "commit \(before.commit) → commit \(after.commit)" }
}

/// How one object differs between two snapshots.
public struct Change<E: Entity>: Sendable {
    /// The object.
    public let id: PersistentID<E>
    /// Its values before; nil if it was inserted.
    public let before: E?
    /// Its values after; nil if it was deleted.
    public let after: E?
}

extension Change: Equatable where E: Equatable {}

extension Change: CustomStringConvertible {
    /// The object and its change: `Team/p1 inserted`, `changed` or `deleted`.
    public var description: String { "\(id) \(before == nil ? "inserted" : after == nil ? "deleted" : "changed")" }
}

extension Snapshot {
    /// What differs between an older snapshot of the same coordinator and this one.
    ///
    /// - Precondition: both snapshots come from one coordinator.
    ///
    /// Complexity: O(1); finding the changes takes time when they are asked for.
    public func difference(from older: Snapshot) -> SnapshotDifference {
        precondition(older.schema === schema, "the snapshots come from different stores")
        noteAll()
        older.noteAll()
        return SnapshotDifference(before: older, after: self)
    }

    /// Whether two states share everything, so that nothing has changed between them.
    func isIdentical(to other: Snapshot) -> Bool {
        zip(entities, other.entities).allSatisfy { $0.rows.isIdentical(to: $1.rows) }
            && zip(linkTables, other.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }
}

/// The visitor.
extension SnapshotDifference {
    var schema: Schema { after.schema }

    /// Calls the body with each row of an entity that differs, in ascending order; nil stands for a row that one state lacks.
    /// Compares rows, not versions: uncommitted states may have different rows of one version.
    func forEachRow(
        of entity: Int,
        _ body: (RowID, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) throws -> Void
    ) rethrows {
        let schema = schema
        try after.entities[entity].rows.forEachRow(differingFrom: before.entities[entity].rows) { row, old, new in
            if let old, let new, schema.entities[entity].areIdentical(old, new) { return }
            try body(RowID(entity: entity, row: row), old, new)
        }
    }

    /// Whether `changes(of:)` has any; false if the store was opened without the entity.
    func hasChanges<E: Entity>(of type: E.Type) -> Bool {
        guard let entity = schema.index(of: type) else { return false }
        return !isEmpty(entity)
    }

    private func isEmpty(_ entity: Int) -> Bool {
        struct Found: Error {}
        do {
            try forEachRow(of: entity) { _, _, _ in throw Found() }
            return true
        } catch { return false }
    }

    /// The same for all entities, one after the other.
    func forEachRow(
        _ body: (RowID, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) throws -> Void
    ) rethrows {
        for entity in schema.entities.indices { try forEachRow(of: entity, body) }
    }

    /// Calls the body with each link table that differs, in the order of their numbers, for both sides of a many-to-many
    /// relationship.
    func forEachLinkTable(
        _ body: (Int, LinkTableDescription, LinkTable.Difference) throws -> Void
    ) rethrows {
        for (number, table) in schema.linkTables.enumerated() {
            let difference = after.linkTables[number].difference(from: before.linkTables[number])
            if !difference.isEmpty { try body(number, table, difference) }
        }
    }

    /// The owners whose members or order differ, in ascending order.
    ///
    /// - Parameter hasIndexes: whether both states have them, which is faster.
    func changedOwners(through relationship: ToManyDescription, hasIndexes: Bool = true) -> [RowNumber] {
        var owners: Set<RowNumber> = []
        if !hasIndexes, let toOne = relationship.toOne, !relationship.isOrdered {
            let reference = schema.entities[relationship.source].toOnes[toOne]
            forEachRow(of: relationship.source) { _, old, new in
                let targets = [old, new].map { $0.map { reference.target(ofRowAt: $0) } ?? 0 }
                if targets[0] != targets[1] { owners.formUnion(targets) }
            }
            owners.remove(0)
            return owners.sorted()
        }
        after.memberIndex(of: relationship).forEachDifference(from: before.memberIndex(of: relationship)) { entry, _ in
            owners.insert(RowNumber(bigEndian: entry.loadUnaligned(as: RowNumber.self)))
            return true
        }
        return owners.sorted()
    }

    /// Whether both states have the same rows, links and orders.
    var isEmpty: Bool {
        schema.entities.indices.allSatisfy(isEmpty)
            && zip(before.linkTables, after.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }
}
