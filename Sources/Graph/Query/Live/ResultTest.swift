#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which rows belong to a live result, and what other rows that depends on.
///
/// Confined to whoever makes it, as `RowPredicate` is.
struct ResultTest<E: Entity> {
    private let predicate: RowPredicate<E>?
    private let dependsOnOthers: Bool

    /// - Throws: `GraphError.unknownEntity`, `GraphError.predicateNotSupported`.
    init(_ predicate: Predicate<E>?, in snapshot: Snapshot) throws {
        self.predicate = try predicate.map { try RowPredicate($0, in: snapshot) }
        dependsOnOthers = self.predicate.map { !$0.entities.isEmpty || !$0.relationships.isEmpty } ?? false
    }

    /// The state in which relationships are followed from now on.
    func move(to snapshot: Snapshot) {
        if dependsOnOthers { predicate?.snapshot = snapshot }
    }

    /// - Throws: `GraphError.predicateFailed`.
    func matches(_ row: RowNumber, _ address: UnsafeRawPointer, in layout: RowLayout) throws -> Bool {
        try predicate?.matches(row, address.row(as: E.self, in: layout)) ?? true
    }

    /// Whether rows that have not changed may match now though they did not before, or the other way round.
    func mayDiffer(from old: Snapshot, to new: Snapshot) -> Bool {
        guard dependsOnOthers, let predicate else { return false }
        return predicate.entities.contains { !new.entities[$0].rows.isIdentical(to: old.entities[$0].rows) }
            || predicate.relationships.compactMap(\.linkTable).contains {
                !new.linkTables[$0].isIdentical(to: old.linkTables[$0])
            }
    }
}
