extension OrderedIndex {
    /// Builds an index from entries that come in order, in one pass and with full pages.
    ///
    /// Each level has one page that is being filled; a full one goes to the level above, with the separator that it
    /// began with. The last page of each level holds what is left.
    struct Builder {
        private var open = [IndexNode.makeForBuilding(level: 0)]
        /// The separator below the open page of each level, empty at the left edge.
        private var separators: [[UInt8]] = [[]]
        private(set) var count = 0

        init() {}

        /// - Precondition: `entry` is greater than the entry appended before.
        /// - Complexity: O(1) amortised, besides copying the bytes.
        mutating func append(_ entry: UnsafeRawBufferPointer) {
            let key = IndexKey(entry)
            precondition(key.count <= IndexNode.longestKey, "an index entry of \(key.count) bytes")
            let leaf = open[0].page
            if leaf.count > 0 {
                let last = leaf.key(leaf.count - 1)
                precondition(last.compare(key) < 0, "entry \(count) of an index under construction is out of order")
                if leaf.usedBytes + key.count + leaf.slotSize > IndexNode.pageBytes {
                    let separator = [UInt8](key.shortestSeparator(above: last).buffer)
                    file(0)
                    open[0] = .makeForBuilding(level: 0)
                    separators[0] = separator
                }
            }
            IndexNode.makeUnique(&open[0], roomForKeyOf: key.count)
            let page = open[0].page
            page.insertKey(key, at: page.count)
            count += 1
        }

        /// The index of all entries appended, after which the builder begins anew.
        mutating func finish() -> OrderedIndex {
            defer { self = Builder() }
            guard count > 0 else { return OrderedIndex() }
            var level = 0
            while level + 1 < open.count {
                file(level)
                level += 1
            }
            return OrderedIndex(root: open[level], count: count)
        }

        /// Appends the open page of `level` to the one above, which is filed in turn if it is full.
        private mutating func file(_ level: Int) {
            let node = open[level]
            let separator = separators[level]
            let above = level + 1
            if above == open.count {
                open.append(.makeForBuilding(level: above))
                separators.append([])
            }
            let used = open[above].page.usedBytes + separator.count + IndexPage.innerSlotSize
            if used > IndexNode.pageBytes, open[above].page.count > IndexNode.minimumCount(level: above) {
                reopen(above)
            }
            separator.withUnsafeBytes { bytes in
                let key = open[above].page.count == 0 ? .empty : IndexKey(bytes)
                IndexNode.makeUnique(&open[above], roomForKeyOf: key.count)
                let page = open[above].page
                page.insertChild(node, entries: node.page.entries, key: key, at: page.count)
            }
        }

        /// Files the open inner page of `level` without its last child, with which the next one begins, so
        /// that none has a single child, whenever the entries end.
        private mutating func reopen(_ level: Int) {
            let next = IndexNode.makeForBuilding(level: level)
            IndexNode.makeUnique(&open[level])
            let page = open[level].page
            let last = page.count - 1
            let separator = [UInt8](page.key(last).buffer)
            next.page.insertChild(page.child(last).pointee, entries: page.childCount(last), key: .empty, at: 0)
            page.removeChild(at: last)
            file(level)
            open[level] = next
            separators[level] = separator
        }
    }

    /// An index of entries that come strictly ascending.
    ///
    /// - Precondition: they do. Whoever has entries in doubtful order sorts them, or inserts them one by one.
    /// - Complexity: O(*n*).
    init(sortedEntries: some Sequence<[UInt8]>) {
        var builder = Builder()
        for entry in sortedEntries { entry.withUnsafeBytes { builder.append($0) } }
        self = builder.finish()
    }
}

extension IndexNode {
    fileprivate static func makeForBuilding(level: Int) -> IndexNode {
        make(level: level, count: 0, keyBytes: 0, minimumBytes: pageBytes)
    }
}
