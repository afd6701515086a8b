/// What became of one object between two states.
public struct ObjectChange<E: Entity>: Sendable {
    /// The object.
    public let id: PersistentID<E>
    /// Its values before; nil if it was not there.
    public let before: E?
    /// Its values after; nil if it was deleted.
    public let after: E?
}

extension ObjectChange: CustomStringConvertible {
    /// The object and what became of it: `Team/p1 inserted`, `changed` or `deleted`.
    public var description: String { "\(id) \(before == nil ? "inserted" : after == nil ? "deleted" : "changed")" }
}

/// What became of a store, or of what a context shows, between two states. Both are at hand, for relationships and everything
/// else that a snapshot can say; finding what differs skips what they share.
public struct StateChange: Sendable {
    /// The state before.
    public let before: Snapshot
    /// The state after.
    public let after: Snapshot

    /// The objects of an entity that were inserted, changed or deleted, in the order of their insertion; none if the store was
    /// opened without the entity.
    ///
    /// Complexity: O(changed objects).
    public func changes<E: Entity>(of type: E.Type = E.self) -> [ObjectChange<E>] {
        guard let entity = after.schema.index(of: type) else { return [] }
        func value(_ address: UnsafeRawPointer?) -> E? { address?.assumingMemoryBound(to: E.self).pointee }
        var changes: [ObjectChange<E>] = []
        after.forEachChange(of: entity, since: before) { row, old, new in
            changes.append(ObjectChange(id: PersistentID(row: row), before: value(old), after: value(new)))
        }
        return changes
    }

    /// What became of one object; nil if nothing did.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public func change<E>(of id: PersistentID<E>) -> ObjectChange<E>? {
        guard let entity = after.schema.index(of: E.self) else { return nil }
        let (old, new) = (before.entities[entity].rows, after.entities[entity].rows)
        let (before, after) = (old.address(of: id.row), new.address(of: id.row))
        guard before != nil || after != nil else { return nil }
        if let before, let after, self.after.schema.entities[entity].areIdentical(before, after) { return nil }
        return ObjectChange(id: id, before: old.value(of: id.row), after: new.value(of: id.row))
    }

    /// The objects whose members, or their order, became others, in the order of their insertion.
    ///
    /// - Precondition: the property is a stored one.
    ///
    /// Complexity: O(changed references or links).
    public func changedOwners<E, Target>(
        of keyPath: any KeyPath<E, ToMany<Target>> & Sendable
    ) -> [PersistentID<E>] {
        guard let entity = after.schema.index(of: E.self) else { return [] }
        let relationship = after.schema.toMany(keyPath, of: entity)
        return after.changedOwners(through: relationship, since: before).map { PersistentID(row: $0) }
    }
}

extension StateChange: CustomStringConvertible {
    /// `commit 3 → commit 4`
    public var description: String { "commit \(before.commit) → commit \(after.commit)" }
}
