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
    public func changes<E: Entity>(of type: E.Type = E.self) -> [Change<E>] { objectChanges(of: type) }

    /// The change of one object; nil if it is the same in both snapshots, or in neither.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public func change<E>(of id: PersistentID<E>) -> Change<E>? { objectChange(of: id) }

    /// The objects with other members than before, or with the same in another order, in the order of their insertion. A member of
    /// an ordered list that was removed and put back counts as moved.
    ///
    /// - Precondition: the property is a stored one.
    ///
    /// Complexity: O(changed references or links).
    public func changedOwners<E, Target>(
        of keyPath: any KeyPath<E, ToMany<Target>> & Sendable
    ) -> [PersistentID<E>] {
        owners(withChanged: keyPath)
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

/// How one object of any entity differs between two snapshots: for programs that handle all entities alike.
public struct AnyChange: Sendable {
    /// The object.
    public let id: AnyPersistentID
    /// Its values before, of the entity's type; nil if it was inserted.
    public let before: (any Entity)?
    /// Its values after; nil if it was deleted.
    public let after: (any Entity)?
    /// The names of the attributes and to-one relationships that differ, in the order of their declaration; all of them for an object
    /// that was inserted or deleted.
    public let changedProperties: [String]
}

extension AnyChange: CustomStringConvertible {
    /// The object and its change: `Team/p1 inserted`, `changed (name, league)` or `deleted`.
    public var description: String {
        guard before != nil else { return "\(id) inserted" }
        return after == nil ? "\(id) deleted" : "\(id) changed (\(changedProperties.joined(separator: ", ")))"
    }
}

/// A link that was made or ended, of any relationship that has links of its own: for programs that handle all entities alike.
///
/// Links are those of relationships from many to many, and of ordered ones, where a member that moves in its order has its link ended
/// and made. What other relationships lead to follows from references, which ``AnyChange`` has.
public struct LinkChange: Sendable, Hashable {
    /// The object whose member the other one is.
    public let owner: AnyPersistentID
    /// The name of the owner's property. A link between two properties comes under one of them, always the same, and under each
    /// that is ordered; one that leads both ways along one property comes from both objects.
    public let property: String
    /// The member.
    public let member: AnyPersistentID
    /// Whether the link was made; otherwise it was ended.
    public let isMade: Bool
}

extension LinkChange: CustomStringConvertible {
    /// `Book/p1.tags: Tag/p2 added` or `removed`.
    public var description: String { "\(owner).\(property): \(member) \(isMade ? "added" : "removed")" }
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

extension SnapshotDifference: StateChanges {
    var schema: Schema { after.schema }
    var tokens: (before: HistoryToken, after: HistoryToken) { (before.token, after.token) }

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

    func row(_ id: RowID) -> (old: UnsafeRawPointer?, new: UnsafeRawPointer?) {
        (before.address(of: id), after.address(of: id))
    }

    func version(of id: RowID) -> RowVersion? { after.version(of: id) ?? before.version(of: id) }

    /// Both sides of a many-to-many relationship are among them.
    func forEachLinkTable(
        _ body: (Int, LinkTableDescription, LinkTable.Difference) throws -> Void
    ) rethrows {
        for (number, table) in schema.linkTables.enumerated() {
            let difference = after.linkTables[number].difference(from: before.linkTables[number])
            if !difference.isEmpty { try body(number, table, difference) }
        }
    }

    func changedOwners(through relationship: ToManyDescription) -> [RowNumber] {
        var owners: Set<RowNumber> = []
        after.memberIndex(of: relationship).forEachDifference(from: before.memberIndex(of: relationship)) { entry, _ in
            owners.insert(RowNumber(bigEndian: entry.loadUnaligned(as: RowNumber.self)))
            return true
        }
        return owners.sorted()
    }

    /// Whether both states have the same rows, links and orders.
    var isEmpty: Bool {
        !schema.entities.indices.contains(where: hasChanges)
            && zip(before.linkTables, after.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }
}
