/// Identifies a row of any entity inside the engine.
@usableFromInline
struct RowID: Hashable, Comparable, Sendable {
    @usableFromInline let entity: Int
    @usableFromInline let row: RowNumber

    @inlinable
    init(entity: Int, row: RowNumber) {
        self.entity = entity
        self.row = row
    }

    @usableFromInline
    static func < (lhs: RowID, rhs: RowID) -> Bool { (lhs.entity, lhs.row) < (rhs.entity, rhs.row) }
}

extension Snapshot {
    /// A row's address, which is valid while the snapshot is; nil if there is no such row.
    func address(of id: RowID) -> UnsafeRawPointer? { entities[id.entity].rows.address(of: id.row) }

    func contains(_ id: RowID) -> Bool { entities[id.entity].rows.contains(id.row) }

    /// nil if there is no such row.
    func version(of id: RowID) -> RowVersion? { entities[id.entity].rows.version(of: id.row) }

    /// The target of a row's reference, 0 for none; nil if there is no such row.
    func target(of row: RowNumber, through reference: Reference) -> RowNumber? {
        address(of: RowID(entity: reference.entity, row: row)).map { schema.toOne(reference).target(ofRowAt: $0) }
    }
}
