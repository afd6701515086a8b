#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which rows belong to a live result, and what other rows that and their order depend on.
///
/// Confined to its maker, as `RowPredicate` is.
struct ResultTest<E: Entity> {
    private let predicate: RowPredicate<E>?
    /// The entities that references of the sort lead to.
    private let targets: Set<Int>
    /// Whether the answer for a row depends on nothing but the row.
    private let isLocal: Bool

    /// - Throws: `GraphError.unknownEntity`, `GraphError.predicateNotSupported`, `GraphError.pageTokenMismatch`.
    init(_ definition: ResultDefinition<E>, in snapshot: Snapshot) throws {
        let order = try RowOrder(definition.fetch.sortBy, in: snapshot)
        predicate = try RowPredicate(definition.fetch, order, in: snapshot)
        targets = order.targets
        isLocal = targets.isEmpty && predicate?.isLocal ?? true
    }

    /// Entities on whose rows the answer for other rows depends.
    private var entities: Set<Int> { targets.union(predicate?.entities ?? []) }

    /// The state in which relationships are followed from now on.
    func move(to snapshot: Snapshot) {
        if !isLocal { predicate?.move(to: snapshot) }
    }

    /// - Throws: `GraphError.predicateFailed`.
    func matches(_ row: RowNumber, _ address: UnsafeRawPointer, in layout: RowLayout) throws -> Bool {
        try predicate?.matches(row, address.row(as: E.self, in: layout)) ?? true
    }

    /// Whether rows that have not changed may match or be ordered otherwise than before.
    ///
    /// - Parameter followed: the entities to which the program's code followed references when the result was fetched.
    func mayDiffer(from old: Snapshot, to new: Snapshot, _ followed: Set<Int>) -> Bool {
        guard !isLocal else { return false }
        return entities.union(followed).contains { !new.entities[$0].rows.isIdentical(to: old.entities[$0].rows) }
            || predicate.map { $0.linkTables.contains { !new.linkTables[$0].isIdentical(to: old.linkTables[$0]) } }
                ?? false
    }

    /// Notes what the result depends on.
    ///
    /// - Parameter followed: as above.
    func note(to reader: any SnapshotReader, of entity: Int, _ followed: Set<Int>) {
        reader.read(for: predicate, of: entity, following: targets.union(followed))
    }
}
