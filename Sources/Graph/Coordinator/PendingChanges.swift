/// What became of a row since the state that the changes count from.
enum ChangeKind: UInt8, Sendable {
    case inserted
    case updated
    case deleted

    static let layout = RowLayout(ChangeKind.self)
}

/// Which rows differ from a base state, and the version each had there: a value, copied in O(1).
///
/// Where the new rows are is not said here: they are in the working snapshot that goes with the changes.
struct PendingChanges: Sendable {
    /// By the entity's number in the schema.
    private(set) var entities: [EntityChanges]

    init(schema: Schema) {
        entities = schema.entities.map { EntityChanges(layout: $0.layout) }
    }

    var isEmpty: Bool { entities.allSatisfy(\.isEmpty) }

    subscript(entity: Int) -> EntityChanges {
        _read { yield entities[entity] }
        _modify { yield &entities[entity] }
    }
}

/// The changed rows of one entity.
struct EntityChanges: Sendable {
    /// A row's kind of change; the version beside it is the one in the base, 0 for inserted rows.
    private var kinds = RowTable(layout: ChangeKind.layout)
    /// Base rows that the base snapshot does not hold any more, because it moved on and others had deleted or changed
    /// them.
    var lostBases: RowTable
    /// This side's rows to those: the working snapshot, from which they are gone, does not hold them either.
    var lostRows: RowTable
    /// Deleted rows as they were last on this side, of entities whose own rules may deny the delete.
    var lastRows: RowTable

    init(layout: RowLayout) {
        lostBases = RowTable(layout: layout)
        lostRows = RowTable(layout: layout)
        lastRows = RowTable(layout: layout)
    }

    /// Whether rows were deleted; stays so if they come back.
    private(set) var hasDeletes = false

    var isEmpty: Bool { kinds.count == 0 }
    var count: Int { kinds.count }

    func kind(of row: RowNumber) -> ChangeKind? {
        kinds.value(of: row)
    }

    /// The version that the row had in the base.
    func baseVersion(of row: RowNumber) -> RowVersion? {
        kinds.version(of: row)
    }

    mutating func set(_ row: RowNumber, _ kind: ChangeKind, baseVersion: RowVersion) {
        if kind == .deleted { hasDeletes = true }
        withUnsafePointer(to: kind) { _ = kinds.set(row, version: baseVersion, copying: $0) }
    }

    /// Forgets the change of a row that is as in the base again.
    mutating func remove(_ row: RowNumber) {
        kinds.remove(row)
        lostBases.remove(row)
        lostRows.remove(row)
        lastRows.remove(row)
    }

    /// Calls the body with each changed row, in ascending order.
    func forEachChange(_ body: (RowNumber, ChangeKind, _ baseVersion: RowVersion) throws -> Void) rethrows {
        try kinds.forEachRow { row, version, address in
            try body(row, address.assumingMemoryBound(to: ChangeKind.self).pointee, version)
        }
    }
}
