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

/// Takes the rows that match, one after another, and keeps those that the result asks for.
///
/// With a sort order and a limit it keeps only the best so far, so that the first hundred of a million rows take one
/// comparison for almost every row and no sort of them all.
@usableFromInline
struct RowCollector {
    private let order: RowOrder?
    private let offset: Int
    private let capacity: Int
    private var rows: [FoundRow] = []
    /// The last of the best that are known: no row that comes after it is among them.
    private var worst: FoundRow?

    @usableFromInline
    init(order: RowOrder?, offset: Int, limit: Int?) {
        precondition(offset >= 0, "a fetch cannot start at offset \(offset)")
        precondition((limit ?? 0) >= 0, "a fetch cannot be limited to \(limit ?? 0) rows")
        self.order = order
        self.offset = offset
        let (end, overflow) = offset.addingReportingOverflow(limit ?? .max)
        capacity = limit == 0 ? 0 : overflow ? .max : end
    }

    /// False if no further row can belong to the result.
    @usableFromInline
    mutating func add(_ row: FoundRow) -> Bool {
        guard let order, capacity != .max else {
            if rows.count < capacity { rows.append(row) }
            return order != nil || rows.count < capacity
        }
        guard capacity > 0 else { return false }
        if let worst, !order.precedes(row, worst) { return true }
        rows.append(row)
        // Sorting only when there are twice as many as needed makes it O(log capacity) for each row.
        if rows.count / 2 >= max(capacity, 16) { keepBest(order) }
        return true
    }

    @usableFromInline
    consuming func result() -> ArraySlice<FoundRow> {
        if let order { keepBest(order) }
        return rows.dropFirst(offset)
    }

    private mutating func keepBest(_ order: RowOrder) {
        rows.sort(by: order.precedes)
        guard rows.count >= capacity else { return }
        rows.removeLast(rows.count - capacity)
        worst = rows.last
    }
}
