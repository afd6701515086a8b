/// The rows of an index in the order of its keys, or from the last key to the first; rows with one key come in ascending order
/// either way, as a stable sort leaves them.
///
/// Invariant: `pending` is the next entry; `rows` has the remaining entries with its key, and `before` those that come after
/// them.
struct KeyOrderedRows: IteratorProtocol {
    /// Keeps the bytes that `pending` points to.
    private let index: OrderedIndex
    /// The rank of the first entry.
    private let start: Int
    private var rows: IndexCursor
    private var before: IndexCursor
    private var pending: (key: PrefixedKey, row: RowNumber)?

    /// - Parameters:
    ///   - ranks: the entries to return, with all rows of their keys.
    ///   - skipped: the number of first rows to leave out. They are counted, not visited.
    /// - Precondition: each entry ends with a row number, no key begins with another, and there are at least `skipped` rows.
    init(_ index: OrderedIndex, descending: Bool, in ranks: Range<Int>, skipping skipped: Int = 0) {
        (self.index, start) = (index, ranks.lowerBound)
        guard descending else {
            rows = index.cursor(at: ranks.dropFirst(skipped))
            before = index.cursor(at: 0..<0, descending: true)
            return
        }
        guard skipped > 0, skipped < ranks.count else {
            rows = index.cursor(at: 0..<0)
            before = index.cursor(at: ranks.dropLast(skipped), descending: true)
            return
        }
        let key = index.withEntry(at: ranks.upperBound - 1 - skipped) { entry in
            let key = UnsafeRawBufferPointer(rebasing: entry.dropLast(MemoryLayout<RowNumber>.size))
            return index.rank(of: .entry(key))..<index.rank(of: .pastPrefix(key))
        }
        // All keys behind this one, and the first rows of this one, are left out.
        rows = index.cursor(at: (key.lowerBound + skipped - (ranks.upperBound - key.upperBound))..<key.upperBound)
        before = index.cursor(at: ranks.lowerBound..<key.lowerBound, descending: true)
    }

    /// - Complexity: O(1) amortized; O(log *n*) for a key that occurs several times in a descending walk.
    mutating func next() -> RowNumber? {
        if let row = rows.next() { return row }
        defer { withExtendedLifetime(index) {} }
        guard let last = pending ?? before.nextKey() else { return nil }
        pending = before.nextKey()
        let key = last.key.prefix(last.key.count - MemoryLayout<RowNumber>.size)
        guard let other = pending, other.key.prefix(key.count).compare(key) == 0 else { return last.row }
        // `before` still contains all of the key's entries but these two.
        let end = start + before.remaining + 2
        let first = key.bytes.withUnsafeBytes { index.rank(of: .entry($0)) }
        rows = index.cursor(at: first..<end)
        before = index.cursor(at: start..<first, descending: true)
        pending = nil
        return rows.next()
    }
}
