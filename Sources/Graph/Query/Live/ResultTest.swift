#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which rows belong to a live result, and what other rows that and their order depend on.
///
/// Confined to whoever makes it, as `RowPredicate` is.
struct ResultTest<E: Entity> {
    private let predicate: RowPredicate<E>?
    /// Entities on whose rows the answer for other rows depends.
    private let entities: Set<Int>

    /// - Throws: `GraphError.unknownEntity`, `GraphError.predicateNotSupported`, `GraphError.pageTokenMismatch`.
    init(_ definition: ResultDefinition<E>, in snapshot: Snapshot) throws {
        let order = try RowOrder(definition.fetch.sortBy, in: snapshot)
        predicate = try RowPredicate(definition.fetch, order, in: snapshot)
        entities = order.targets.union(predicate?.entities ?? [])
    }

    private var dependsOnOthers: Bool { !entities.isEmpty || predicate.map { !$0.relationships.isEmpty } ?? false }

    /// The state in which relationships are followed from now on.
    func move(to snapshot: Snapshot) {
        if dependsOnOthers { predicate?.move(to: snapshot) }
    }

    /// - Throws: `GraphError.predicateFailed`.
    func matches(_ row: RowNumber, _ address: UnsafeRawPointer, in layout: RowLayout) throws -> Bool {
        try predicate?.matches(row, address.row(as: E.self, in: layout)) ?? true
    }

    /// Whether rows that have not changed may match or be ordered otherwise than before.
    func mayDiffer(from old: Snapshot, to new: Snapshot) -> Bool {
        guard dependsOnOthers else { return false }
        return entities.contains { !new.entities[$0].rows.isIdentical(to: old.entities[$0].rows) }
            || predicate.map { $0.linkTables.contains { !new.linkTables[$0].isIdentical(to: old.linkTables[$0]) } } ?? false
    }

    /// Notes what the result depends on besides the rows of its entity.
    func note(to reader: any SnapshotReader) {
        for entity in entities { reader.readAll(of: entity) }
        predicate?.linkTables.forEach(reader.readLinks)
    }
}
