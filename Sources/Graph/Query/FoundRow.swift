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
/// comparison for almost every row and no sort.
@usableFromInline
struct RowCollector {
    private let order: RowOrder?
    private let offset: Int
    private let capacity: Int
    private var rows: [FoundRow] = []

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
        if rows.count == capacity {
            guard order.precedes(row, rows[rows.count - 1]) else { return true }
            rows.removeLast()
        }
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if order.precedes(row, rows[middle]) { high = middle } else { low = middle + 1 }
        }
        rows.insert(row, at: low)
        return true
    }

    @usableFromInline
    consuming func result() -> ArraySlice<FoundRow> {
        if let order, capacity == .max { rows.sort(by: order.precedes) }
        return rows.dropFirst(offset)
    }
}
