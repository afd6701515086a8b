/// What became of one entity's objects between two snapshots.
public struct SnapshotChanges<E: Entity>: Sendable, Equatable {
    /// Objects that only the newer snapshot has, in the order of insertion; so are the others.
    public internal(set) var inserted: [PersistentID<E>] = []
    /// Objects that both have, committed in between.
    public internal(set) var updated: [PersistentID<E>] = []
    /// Objects that only the older snapshot has.
    public internal(set) var deleted: [PersistentID<E>] = []
}

extension Snapshot {
    /// What became of an entity's objects since an older snapshot of the same coordinator.
    ///
    /// - Throws: `GraphError.unknownEntity`.
    /// - Precondition: both snapshots come from one coordinator.
    ///
    /// Complexity: O(changed rows), whatever the size of the store: what the snapshots share is skipped.
    public func changes<E: Entity>(
        of type: E.Type = E.self,
        since older: Snapshot
    ) throws(GraphError) -> SnapshotChanges<E> {
        precondition(older.schema === schema, "the snapshots come from different stores")
        let entity = try entityIndex(of: type)
        var changes = SnapshotChanges<E>()
        entities[entity].rows.forEachDifference(from: older.entities[entity].rows) { row, old, new in
            let id = PersistentID<E>(row: row)
            switch (old, new) {
            case (nil, _): changes.inserted.append(id)
            case (_, nil): changes.deleted.append(id)
            default: changes.updated.append(id)
            }
        }
        return changes
    }
}

extension Snapshot {
    /// Calls the body with each row of an entity that differs from another state's, in ascending order; nil stands for a row that
    /// one of them lacks. The rows count, not their versions: states that are not committed may have different rows of one version.
    func forEachChange(
        of entity: Int,
        since older: Snapshot,
        _ body: (RowNumber, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) -> Void
    ) {
        let (oldRows, newRows) = (older.entities[entity].rows, entities[entity].rows)
        let description = schema.entities[entity]
        newRows.forEachRow(notSharedWith: oldRows) { row, _, _ in
            let (old, new) = (oldRows.address(of: row), newRows.address(of: row))
            if let old, let new, description.areIdentical(old, new) { return }
            body(row, old, new)
        }
    }

    /// Whether two states have the same rows, links and orders, whatever way led to them.
    func hasSameContents(as other: Snapshot) -> Bool {
        struct Difference: Error {}
        do {
            for (entity, description) in schema.entities.enumerated() {
                let (old, new) = (other.entities[entity].rows, entities[entity].rows)
                try new.forEachRow(notSharedWith: old) { row, _, _ in
                    guard let old = old.address(of: row), let new = new.address(of: row),
                        description.areIdentical(old, new)
                    else { throw Difference() }
                }
            }
        } catch { return false }
        return zip(linkTables, other.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }

    /// The owners whose members, or their order, are others than in another state, in ascending order.
    func changedOwners(through relationship: ToManyDescription, since older: Snapshot) -> [RowNumber] {
        var owners: Set<RowNumber> = []
        memberIndex(of: relationship).forEachDifference(from: older.memberIndex(of: relationship)) { entry, _ in
            owners.insert(RowNumber(bigEndian: entry.loadUnaligned(as: RowNumber.self)))
            return true
        }
        return owners.sorted()
    }

    /// Whether two states share everything, so that nothing can have happened between them.
    func isIdentical(to other: Snapshot) -> Bool {
        zip(entities, other.entities).allSatisfy { $0.rows.isIdentical(to: $1.rows) }
            && zip(linkTables, other.linkTables).allSatisfy { $0.isIdentical(to: $1) }
    }
}
