/// Rows that need not be looked at in a scan, which comes to them in ascending order.
@usableFromInline
struct PassedRows {
    private let rows: [RowNumber]
    private var position = 0
    /// At the end a number that no row has.
    @usableFromInline private(set) var next: RowNumber

    init(_ rows: [RowNumber]) {
        self.rows = rows.sorted()
        next = self.rows.first ?? .max
    }

    /// Goes on behind `next`.
    @usableFromInline
    mutating func advance() {
        position += 1
        next = position < rows.count ? rows[position] : .max
    }
}
