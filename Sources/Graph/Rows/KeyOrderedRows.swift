/// The rows of an index in the order of its keys, or from the last key to the first; those of one key in ascending order
/// either way, as a stable sort leaves them.
///
/// Invariant: `rows` has the rest of the key that comes before all others still to come, `before` the entries that come after
/// those, without `pending`, which comes next.
struct KeyOrderedRows: IteratorProtocol {
    /// Keeps the bytes that `pending` points to.
    private let index: OrderedIndex
    private var rows: IndexCursor
    private var before: IndexCursor
    private var pending: (key: PrefixedKey, row: RowNumber)?

    /// - Precondition: each entry of the index ends with a row number, and no key begins with another.
    init(_ index: OrderedIndex, descending: Bool) {
        self.index = index
        rows = index.cursor(at: 0..<(descending ? 0 : index.count))
        before = index.cursor(at: 0..<(descending ? index.count : 0), descending: true)
    }

    /// - Complexity: O(1) amortised, and O(log *n*) for a key that occurs several times and is come to from behind.
    mutating func next() -> RowNumber? {
        if let row = rows.next() { return row }
        defer { withExtendedLifetime(index) {} }
        guard let last = pending ?? before.nextKey() else { return nil }
        pending = before.nextKey()
        let key = last.key.prefix(last.key.count - MemoryLayout<RowNumber>.size)
        guard let other = pending, other.key.prefix(key.count).compare(key) == 0 else { return last.row }
        // Of the key's entries, all but these two are still to come from `before`.
        let end = before.remaining + 2
        let start = key.bytes.withUnsafeBytes { index.rank(of: .entry($0)) }
        rows = index.cursor(at: start..<end)
        before = index.cursor(at: 0..<start, descending: true)
        pending = nil
        return rows.next()
    }
}
