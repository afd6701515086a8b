/// A place in one version of an ordered index, for reading entries one at a time.
///
/// The cursor holds that version: what is inserted into the index or removed from it later does not show. Iterating
/// gives row numbers, the last eight bytes of the entries; `withNextEntry` gives whole entries.
///
/// - Note: `@unchecked Sendable` is guarded by `root`: it keeps every page that the cursor points to alive, and, being
///   a second reference, from being changed.
struct IndexCursor: IteratorProtocol, Sequence, @unchecked Sendable {
    /// An inner page on the way to the leaf, and which child was taken.
    private struct Step {
        let page: IndexPage
        var index: Int
    }

    private let root: IndexNode?
    private var path: [Step] = []
    private var leaf: IndexPage?
    private var position = 0

    /// How many entries are still to come.
    private(set) var remaining: Int

    var underestimatedCount: Int { remaining }

    /// A cursor before the entry that `offset` others precede, for `remaining` entries, which must exist.
    fileprivate init(root: IndexNode?, offset: Int, remaining: Int) {
        self.root = root
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
        return nextKey()?.row
    }

    /// Runs `body` with the next entry, whose bytes stay valid during the call; nil at the end.
    mutating func withNextEntry<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result? {
        defer { withExtendedLifetime(root) {} }
        return try nextKey().map { try body($0.buffer) }
    }

    /// The next entry, whose bytes `root` keeps.
    @inline(__always)
    private mutating func nextKey() -> IndexKey? {
        guard remaining > 0, var page = leaf else { return nil }
        if position == page.count {
            page = nextLeaf()
            leaf = page
            position = 0
        }
        defer {
            position &+= 1
            remaining &-= 1
        }
        return page.key(position)
    }

    /// The leaf to the right, which exists because entries remain.
    private mutating func nextLeaf() -> IndexPage {
        while let step = path.last, step.index + 1 == step.page.count { path.removeLast() }
        path[path.count - 1].index += 1
        var page = path[path.count - 1].page.childPage(path[path.count - 1].index)
        while !page.isLeaf {
            path.append(Step(page: page, index: 0))
            page = page.childPage(0)
        }
        return page
    }
}

extension OrderedIndex {
    /// A cursor over the entries of `range`, which need not outlive this call.
    ///
    /// - Complexity: O(log *n*).
    func cursor(in range: IndexRange = .all) -> IndexCursor {
        let offset = range.lower.map { rank(of: $0) } ?? 0
        let end = range.upper.map { rank(of: $0) } ?? count
        return IndexCursor(root: root, offset: offset, remaining: Swift.max(0, end - offset))
    }
}
