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

    /// - Parameter skipped: how many of the first rows to leave out. They are counted, not visited.
    /// - Precondition: each entry of the index ends with a row number, and no key begins with another. There are as many rows as
    ///   are to be left out.
    init(_ index: OrderedIndex, descending: Bool, skipping skipped: Int = 0) {
        self.index = index
        guard descending else {
            rows = index.cursor(at: skipped..<index.count)
            before = index.cursor(at: 0..<0, descending: true)
            return
        }
        guard skipped > 0, skipped < index.count else {
            rows = index.cursor(at: 0..<0)
            before = index.cursor(at: 0..<(index.count - skipped), descending: true)
            return
        }
        let key = index.withEntry(at: index.count - 1 - skipped) { entry in
            let key = UnsafeRawBufferPointer(rebasing: entry.dropLast(MemoryLayout<RowNumber>.size))
            return index.rank(of: .entry(key))..<index.rank(of: .pastPrefix(key))
        }
        // All keys behind this one, and the first rows of this one, are left out.
        rows = index.cursor(at: (key.lowerBound + skipped - (index.count - key.upperBound))..<key.upperBound)
        before = index.cursor(at: 0..<key.lowerBound, descending: true)
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
