/// A row that a query found. The address is valid while the table that was searched is kept alive and unchanged.
@usableFromInline
struct FoundRow {
    @usableFromInline let number: RowNumber
    @usableFromInline let address: UnsafeRawPointer

    @usableFromInline
    init(number: RowNumber, address: UnsafeRawPointer) {
        self.number = number
        self.address = address
    }
}

/// The offset and limit of a result without a sort order.
@usableFromInline
struct FetchWindow {
    @usableFromInline var skipped: Int
    @usableFromInline var rest: Int

    /// - Precondition: neither is negative.
    @inlinable
    init(offset: Int, limit: Int?) {
        precondition(offset >= 0, "a fetch cannot start at offset \(offset)")
        precondition((limit ?? 0) >= 0, "a fetch cannot be limited to \(limit ?? 0) rows")
        skipped = offset
        rest = limit ?? .max
    }

    /// No further row belongs to the result.
    @inlinable var isOver: Bool { rest == 0 }

    @inlinable
    mutating func takesNext() -> Bool {
        guard skipped == 0 else {
            skipped &-= 1
            return false
        }
        rest &-= 1
        return true
    }
}

/// Collects matching rows and keeps those that come first in an order.
///
/// With a limit it keeps only the best so far, so that the first hundred of a million rows take one comparison for almost every
/// row and no full sort.
@usableFromInline
struct RowCollector {
    private let order: RowOrder
    private let offset: Int
    /// The number of rows wanted, including those of the offset; `.max` for all.
    @usableFromInline let capacity: Int
    private var rows: [FoundRow] = []
    /// The last of the best rows known: rows after it are not wanted.
    private var worst: FoundRow?

    /// - Precondition: the limit is not 0.
    @usableFromInline
    init(order: RowOrder, offset: Int, limit: Int?) {
        self.order = order
        self.offset = offset
        let (end, overflow) = offset.addingReportingOverflow(limit ?? .max)
        capacity = overflow ? .max : end
    }

    @usableFromInline
    mutating func add(_ row: FoundRow) {
        if let worst, !order.precedes(row, worst) { return }
        rows.append(row)
        // Sorting only when there are twice as many as needed makes it O(log capacity) for each row.
        if rows.count / 2 >= max(capacity, 16) { keepBest() }
    }

    /// The same with a row that comes after all added so far in the sort order, and before all others. Returns false if no more
    /// rows are wanted.
    @usableFromInline
    mutating func append(_ row: FoundRow) -> Bool {
        rows.append(row)
        return rows.count < capacity
    }

    /// - Parameter inOrder: whether all rows were appended, none added.
    @usableFromInline
    consuming func result(inOrder: Bool) -> ArraySlice<FoundRow> {
        if !inOrder { keepBest() }
        return rows.dropFirst(offset)
    }

    private mutating func keepBest() {
        SortKeys.sort(&rows, by: order)
        guard rows.count >= capacity else { return }
        rows.removeLast(rows.count - capacity)
        worst = rows.last
    }
}
