/// A position in one version of an ordered index, for reading entries one at a time, forwards or backwards.
///
/// The cursor keeps that version: later insertions and removals do not show. Iterating returns row numbers, the last eight
/// bytes of the entries; `withNextEntry` passes whole entries.
///
/// - Note: `@unchecked Sendable` is guarded by `root`: it keeps every page that the cursor points to alive, and, being a second
///   reference, from being changed.
struct IndexCursor: IteratorProtocol, Sequence, @unchecked Sendable {
    /// An inner page on the way to the leaf, and which child was taken.
    private struct Step {
        let page: IndexPage
        var index: Int
    }

    private let root: IndexNode?
    private let isDescending: Bool
    private var path: [Step] = []
    private var leaf: IndexPage?
    /// The position of the next entry in the leaf; out of bounds if that entry is in the next leaf.
    private var position = 0

    /// The number of entries still to come.
    private(set) var remaining: Int

    var underestimatedCount: Int { remaining }

    /// A cursor over `remaining` entries, which must exist, from the one at `offset` on.
    fileprivate init(root: IndexNode?, offset: Int, remaining: Int, isDescending: Bool) {
        self.root = root
        self.isDescending = isDescending
        self.remaining = remaining
        guard let root, remaining > 0 else { return }
        var page = root.page
        var rest = offset
        while !page.isLeaf {
            let index = page.takeChild(holding: &rest)
            path.append(Step(page: page, index: index))
            page = page.childPage(index)
        }
        leaf = page
        position = rest
    }

    /// The row number of the next entry.
    ///
    /// - Precondition: the entry has at least eight bytes.
    /// - Complexity: O(1), amortised over the entries of a leaf.
    mutating func next() -> UInt64? {
        defer { withExtendedLifetime(root) {} }
        return advance().map { $0.page.row($0.position) }
    }

    /// Runs `body` with the next entry, whose bytes stay valid during the call; nil at the end.
    mutating func withNextEntry<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result? {
        defer { withExtendedLifetime(root) {} }
        return try advance().map { place in
            try place.page.withEntries { try body($0(place.position)) }
        }
    }

    /// The next entry's bytes, which `root` keeps: they are valid for as long as this cursor, or a copy of it, is.
    mutating func nextKey() -> (key: PrefixedKey, row: UInt64)? {
        advance().map { place in (place.page.key(place.position), place.page.row(place.position)) }
    }

    /// Moves past the next entry and returns its position; `root` keeps the page.
    @inline(__always)
    private mutating func advance() -> (page: IndexPage, position: Int)? {
        guard remaining > 0, var page = leaf else { return nil }
        if position < 0 || position == page.count {
            page = nextLeaf()
            leaf = page
            position = isDescending ? page.count - 1 : 0
        }
        defer {
            position &+= isDescending ? -1 : 1
            remaining &-= 1
        }
        return (page, position)
    }

    /// The neighboring leaf, which exists because entries remain.
    private mutating func nextLeaf() -> IndexPage {
        while let step = path.last, step.index == (isDescending ? 0 : step.page.count - 1) { path.removeLast() }
        path[path.count - 1].index += isDescending ? -1 : 1
        var page = path[path.count - 1].page.childPage(path[path.count - 1].index)
        while !page.isLeaf {
            let index = isDescending ? page.count - 1 : 0
            path.append(Step(page: page, index: index))
            page = page.childPage(index)
        }
        return page
    }
}

extension OrderedIndex {
    /// A cursor over the entries of `range`, which need not outlive this call.
    ///
    /// - Complexity: O(log *n*).
    func cursor(in range: IndexRange = .all, descending: Bool = false) -> IndexCursor {
        cursor(at: ranks(of: range), descending: descending)
    }

    /// A cursor over the entries with these ranks.
    ///
    /// - Precondition: there are as many entries.
    /// - Complexity: O(log *n*).
    func cursor(at ranks: Range<Int>, descending: Bool = false) -> IndexCursor {
        precondition(ranks.upperBound <= count, "entries \(ranks) of an index of \(count)")
        let first = descending ? ranks.upperBound - 1 : ranks.lowerBound
        return IndexCursor(root: root, offset: first, remaining: ranks.count, isDescending: descending)
    }
}
