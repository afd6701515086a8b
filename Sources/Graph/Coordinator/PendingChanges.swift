/// What became of a row since the state that the changes count from.
enum ChangeKind: UInt8, Sendable {
    case inserted
    case updated
    case deleted
}

/// Which of a state's deletes removed a row. All that cascaded from one delete has its number; such a delete is taken back as
/// a whole or not at all.
typealias DeleteNumber = UInt32

/// Which rows differ from a base state, and the version each had there: a value, copied in O(1).
///
/// Where the new rows are is not said here: they are in the working snapshot that goes with the changes.
struct PendingChanges: Sendable {
    /// By the entity's number in the schema.
    private(set) var entities: [RowChanges]
    /// How many deletes there were.
    var deleteCount: DeleteNumber = 0

    init(schema: Schema) {
        entities = schema.entities.map { RowChanges(layout: $0.layout) }
    }

    var isEmpty: Bool { entities.allSatisfy(\.isEmpty) }

    subscript(entity: Int) -> RowChanges {
        _read { yield entities[entity] }
        _modify { yield &entities[entity] }
    }
}

/// The changed rows of one entity.
struct RowChanges: Sendable {
    private struct Change: Sendable {
        let kind: ChangeKind
        /// Of a deleted row.
        var delete: DeleteNumber = 0

        static let layout = RowLayout(Change.self)
    }

    /// The version beside a change is the one in the base, 0 for inserted rows; see also `isComingBack`.
    private var table = RowTable(layout: Change.layout)
    /// Base rows that the base snapshot does not hold any more, because it moved on and others had deleted or changed
    /// them.
    var lostBases: RowTable
    /// This side's rows to those: the working snapshot, from which they are gone, does not hold them either.
    var lostRows: RowTable
    /// Deleted rows as they were last on this side, of entities whose own rules may deny the delete.
    var lastRows: RowTable
    /// Rows that are to be in the store as they were when the context read them, whether or not they are changed here.
    var required: RowTable

    init(layout: RowLayout) {
        lostBases = RowTable(layout: layout)
        lostRows = RowTable(layout: layout)
        lastRows = RowTable(layout: layout)
        required = RowTable(layout: layout)
    }

    /// Whether rows were deleted; stays so if they come back.
    private(set) var hasDeletes = false
    /// Whether rows that were deleted in the base come back; stays so.
    private(set) var hasReturns = false

    var isEmpty: Bool { table.count == 0 }
    var count: Int { table.count }

    func kind(of row: RowNumber) -> ChangeKind? {
        table.value(of: row, as: Change.self)?.kind
    }

    /// The version that the row had in the base.
    func baseVersion(of row: RowNumber) -> RowVersion? {
        table.version(of: row)
    }

    /// Which delete removed a row.
    func delete(of row: RowNumber) -> DeleteNumber {
        table.value(of: row, as: Change.self)?.delete ?? 0
    }

    /// Whether an inserted row was in the store before: its delete is being taken back.
    func isComingBack(_ row: RowNumber) -> Bool {
        hasReturns && kind(of: row) == .inserted && baseVersion(of: row) != RowVersion.none
    }

    mutating func set(_ row: RowNumber, _ kind: ChangeKind, baseVersion: RowVersion, delete: DeleteNumber = 0) {
        if kind == .deleted { hasDeletes = true }
        if kind == .inserted, baseVersion != .none { hasReturns = true }
        withUnsafePointer(to: Change(kind: kind, delete: delete)) {
            _ = table.set(row, version: baseVersion, copying: $0)
        }
    }

    /// Forgets the change of a row that is as in the base again.
    mutating func remove(_ row: RowNumber) {
        table.remove(row)
        lostBases.remove(row)
        lostRows.remove(row)
        lastRows.remove(row)
    }

    /// Calls the body with each changed row, in ascending order.
    func forEachChange(_ body: (RowNumber, ChangeKind, _ baseVersion: RowVersion) throws -> Void) rethrows {
        try table.forEachRow { row, version, address in
            try body(row, address.assumingMemoryBound(to: Change.self).pointee.kind, version)
        }
    }
}
