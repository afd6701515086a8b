/// How a row differs from the base state.
enum ChangeKind: UInt8, Sendable {
    case inserted
    case updated
    case deleted
}

/// Identifies one delete of a state. All rows that one delete removed have its number; it is taken back as a whole or not at
/// all.
typealias DeleteNumber = UInt32

/// Which rows differ from a base state, and their versions there: a value, copied in O(1).
///
/// The new rows themselves are in the working snapshot that goes with the changes.
struct ChangeSet: Sendable {
    /// Not a tuple: with one, Swift 6.3 leaks what `_read` yields, or traps.
    private struct OfEntity: Sendable {
        let entity: Int
        var changes: RowChanges
    }

    private let schema: Schema
    private var list: [OfEntity] = []
    /// The number of deletes so far.
    var deleteCount: DeleteNumber = 0

    init(schema: Schema) {
        self.schema = schema
    }

    /// The entities with changes, in the order of their numbers in the schema.
    var entities: some Collection<(entity: Int, changes: RowChanges)> {
        list.lazy.map { (entity: $0.entity, changes: $0.changes) }
    }

    var isEmpty: Bool { list.allSatisfy(\.changes.isEmpty) }
    /// The number of changed rows.
    var count: Int { list.reduce(0) { $0 + $1.changes.count } }
    /// Whether rows were deleted; stays true if they come back.
    var hasDeletes: Bool { list.contains { $0.changes.hasDeletes } }
    /// Whether rows have detached bases.
    var hasDetachedBases: Bool { list.contains { $0.changes.hasDetachedBases } }
    /// Whether there are pending changes of rows that others deleted.
    var hasDetachedRows: Bool { list.contains { $0.changes.hasDetachedRows } }

    subscript(entity: Int) -> RowChanges {
        _read {
            let place = place(of: entity)
            if place < list.count, list[place].entity == entity {
                yield list[place].changes
            } else {
                yield RowChanges(layout: schema.entities[entity].layout)
            }
        }
        _modify {
            let place = place(of: entity)
            if place == list.count || list[place].entity != entity {
                list.insert(
                    OfEntity(entity: entity, changes: RowChanges(layout: schema.entities[entity].layout)), at: place)
            }
            yield &list[place].changes
        }
    }

    /// The index of an entity in `list`, or where it would be inserted.
    private func place(of entity: Int) -> Int {
        var (place, end) = (0, list.count)
        while place < end {
            let middle = (place + end) / 2
            if list[middle].entity < entity { place = middle + 1 } else { end = middle }
        }
        return place
    }
}

/// The changes of single rows; `RowChanges` has the same for the rows of one entity.
extension ChangeSet {
    func kind(of id: RowID) -> ChangeKind? { self[id.entity].kind(of: id.row) }
    func baseVersion(of id: RowID) -> RowVersion? { self[id.entity].baseVersion(of: id.row) }
    func delete(of id: RowID) -> DeleteNumber { self[id.entity].delete(of: id.row) }
    func countsFromDetachedBase(_ id: RowID) -> Bool { self[id.entity].countsFromDetachedBase(id.row) }
    func isComingBack(_ id: RowID) -> Bool { self[id.entity].isComingBack(id.row) }
    func isNew(_ id: RowID) -> Bool { self[id.entity].isNew(id.row) }

    mutating func set(_ id: RowID, _ kind: ChangeKind, baseVersion: RowVersion, delete: DeleteNumber = 0) {
        self[id.entity].set(id.row, kind, baseVersion: baseVersion, delete: delete)
    }

    mutating func remove(_ id: RowID) { self[id.entity].remove(id.row) }
    mutating func removeLastRow(_ id: RowID) { self[id.entity].removeLastRow(id.row) }
    mutating func removeDetachedBase(_ id: RowID) { self[id.entity].removeDetachedBase(id.row) }
    mutating func removeRequirement(_ id: RowID) { self[id.entity].removeRequirement(id.row) }
}

/// The changed rows of one entity.
struct RowChanges: Sendable {
    private struct Change: Sendable {
        let kind: ChangeKind
        /// Set for a deleted row.
        var delete: DeleteNumber = 0

        static let layout = RowLayout(Change.self)
    }

    /// Tables that stay empty in most saves.
    private struct Exceptions: Sendable {
        var detachedBases: RowTable
        var detachedRows: RowTable
        var lastRows: RowTable
        var returnBases: RowTable
        var required: RowTable

        init(layout: RowLayout) {
            let none = RowTable(layout: layout)
            (detachedBases, detachedRows, lastRows, returnBases, required) = (none, none, none, none, none)
        }
    }

    /// The version beside a change is the row's version in the base, 0 for inserted rows; see also `isComingBack`.
    private var table = RowTable(layout: Change.layout)
    /// The layout of the changed rows.
    private let layout: RowLayout
    /// One or none: an array is a box that is copied on write.
    private var box: [Exceptions] = []
    /// Whether rows were deleted; stays true if they come back.
    private(set) var hasDeletes = false
    /// Whether rows that were deleted in the base come back; stays true once set.
    private(set) var hasReturns = false
    /// Whether rows were written with references that they do not have in the base; stays true once set.
    var hasReferences = false

    init(layout: RowLayout) {
        self.layout = layout
    }

    private var exceptions: Exceptions {
        get { box.first ?? Exceptions(layout: layout) }
        _modify {
            if box.isEmpty { box.append(Exceptions(layout: layout)) }
            yield &box[0]
        }
    }

    /// Base rows, with their versions, of changes that do not count from the base's row: others had deleted or changed the row
    /// when the base moved past it, and a save still has to report that.
    ///
    /// If the base has the row, each property that both sides changed has the value that this side knew; the others have the
    /// base's values. So this side changed a property if and only if the working row differs from this one in it.
    var detachedBases: RowTable {
        get { exceptions.detachedBases }
        _modify { yield &exceptions.detachedBases }
    }

    /// This side's rows to those in `detachedBases` that others deleted; the working snapshot does not have them.
    var detachedRows: RowTable {
        get { exceptions.detachedRows }
        _modify { yield &exceptions.detachedRows }
    }

    /// The last state of deleted rows, for entities whose own rules may deny the delete.
    var lastRows: RowTable {
        get { exceptions.lastRows }
        _modify { yield &exceptions.lastRows }
    }

    /// Rows that come back, as this side last knew them. If others bring the same row back, changes count from this one.
    var returnBases: RowTable {
        get { exceptions.returnBases }
        _modify { yield &exceptions.returnBases }
    }

    /// Rows that the store must still have as the context read them, whether or not they are changed here.
    var required: RowTable {
        get { exceptions.required }
        _modify { yield &exceptions.required }
    }

    var hasDetachedBases: Bool { box.contains { $0.detachedBases.count > 0 } }
    var hasDetachedRows: Bool { box.contains { $0.detachedRows.count > 0 } }
    func countsFromDetachedBase(_ row: RowNumber) -> Bool { hasDetachedBases && detachedBases.contains(row) }
    var hasRequirements: Bool { box.contains { $0.required.count > 0 } }

    var isEmpty: Bool { table.count == 0 }
    var count: Int { table.count }

    func kind(of row: RowNumber) -> ChangeKind? {
        table.value(of: row, as: Change.self)?.kind
    }

    /// The version that the row had in the base.
    func baseVersion(of row: RowNumber) -> RowVersion? {
        table.version(of: row)
    }

    /// The delete that removed a row.
    func delete(of row: RowNumber) -> DeleteNumber {
        table.value(of: row, as: Change.self)?.delete ?? 0
    }

    /// Whether an inserted row was in the store before, so that the change takes back its delete.
    func isComingBack(_ row: RowNumber) -> Bool {
        hasReturns && kind(of: row) == .inserted && baseVersion(of: row) != RowVersion.none
    }

    /// Whether a row was never in the store.
    func isNew(_ row: RowNumber) -> Bool {
        kind(of: row) == .inserted && !isComingBack(row)
    }

    mutating func set(_ row: RowNumber, _ kind: ChangeKind, baseVersion: RowVersion, delete: DeleteNumber = 0) {
        if kind == .deleted { hasDeletes = true }
        if kind == .inserted, baseVersion != .none { hasReturns = true }
        withUnsafePointer(to: Change(kind: kind, delete: delete)) {
            _ = table.set(row, version: baseVersion, copying: $0)
        }
    }

    /// Forgets the change of a row that equals its base again.
    mutating func remove(_ row: RowNumber) {
        table.remove(row)
        guard !box.isEmpty else { return }
        detachedBases.remove(row)
        detachedRows.remove(row)
        lastRows.remove(row)
        returnBases.remove(row)
    }

    /// Called when a deleted row is inserted again.
    mutating func removeLastRow(_ row: RowNumber) {
        if !box.isEmpty { lastRows.remove(row) }
    }

    /// Called when the row's changes count from the base's row again.
    mutating func removeDetachedBase(_ row: RowNumber) {
        if !box.isEmpty { detachedBases.remove(row) }
    }

    mutating func removeRequirement(_ row: RowNumber) {
        if !box.isEmpty { required.remove(row) }
    }

    mutating func removeRequirements() {
        if !box.isEmpty { required = RowTable(layout: layout) }
    }

    /// Calls the body with each row whose change differs from that in `earlier`, or is in one of the two only.
    ///
    /// Complexity: O(what the two do not share).
    func forEachDifference(from earlier: RowChanges, _ body: (RowNumber) -> Void) {
        table.forEachRow(notSharedWith: earlier.table) { row, _, _ in
            if kind(of: row) != earlier.kind(of: row) { body(row) }
        }
    }

    /// Calls the body with each changed row, in ascending order.
    func forEachChange(_ body: (RowNumber, ChangeKind, _ baseVersion: RowVersion) throws -> Void) rethrows {
        try table.forEachRow { row, version, address in
            try body(row, address.assumingMemoryBound(to: Change.self).pointee.kind, version)
        }
    }
}
