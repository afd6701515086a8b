/// Rows that a scan in ascending order can skip.
@usableFromInline
struct PassedRows {
    private let rows: [RowNumber]
    private var position = 0
    /// A number that no row has at the end.
    @usableFromInline private(set) var next: RowNumber

    init(_ rows: [RowNumber]) {
        self.rows = rows.sorted()
        next = self.rows.first ?? .max
    }

    /// Moves past `next`.
    @usableFromInline
    mutating func advance() {
        position += 1
        next = position < rows.count ? rows[position] : .max
    }
}
