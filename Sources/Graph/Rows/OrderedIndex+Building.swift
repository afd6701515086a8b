extension OrderedIndex {
    /// Builds an index from entries that come in order, in one pass and with full pages.
    ///
    /// Each level has one open page, with whole keys: its prefix is known when it is closed, from the separators on both sides.
    /// The last page of each level takes the rest.
    struct Builder {
        private var open = [OpenPage(node: OpenPage.make(level: 0), separator: [])]
        private(set) var count = 0

        init() {}

        /// - Precondition: `entry` is greater than the entry appended before.
        /// - Complexity: O(1) amortized, besides copying the bytes.
        mutating func append(_ entry: UnsafeRawBufferPointer) {
            let isAppended = appendIfAscending(entry)
            precondition(isAppended, "entry \(count) of an index under construction is out of order, or too long")
        }

        /// Returns false, and appends nothing, if `entry` is not greater than the one before, or longer than entries may be.
        @inline(__always)
        mutating func appendIfAscending(_ entry: UnsafeRawBufferPointer) -> Bool {
            let key = KeyBytes(entry)
            guard key.count <= IndexNode.longestKey else { return false }
            let leaf = open[0].page
            if leaf.count > 0 {
                let last = leaf.suffix(leaf.count - 1)
                guard last.compare(key) < 0 else { return false }
                if !open[0].fits(before: key.shortestSeparator(above: last)) { close(0) }
            }
            IndexNode.makeUnique(&open[0].node, roomForKeysOf: key.count)
            let page = open[0].page
            page.insertKey(key, at: page.count)
            count += 1
            return true
        }

        /// Returns the index of all appended entries and starts over.
        mutating func finish() -> OrderedIndex {
            defer { self = Builder() }
            guard count > 0 else { return OrderedIndex() }
            var level = 0
            while level + 1 < open.count {
                file(open[level].finished, open[level].separator, level + 1)
                // Without an upper separator there is no prefix, and what is left may take more than a page.
                IndexNode.splitChild(open[level + 1].page.count - 1, of: &open[level + 1].node, .inTheMiddle)
                level += 1
            }
            var root = open[level].finished
            IndexNode.rebalanceRoot(&root, .inTheMiddle)
            return OrderedIndex(root: root, count: count)
        }

        /// Closes the open page of `level` before its last key, which begins the next page.
        ///
        /// The keys before it fit: that was checked when it came.
        private mutating func close(_ level: Int) {
            let page = open[level].page
            let last = page.count - 1
            let separator = page.separator(at: last).bytes
            let node = separator.withUnsafeBytes { open[level].part(0..<last, before: KeyBytes($0)) }
            let next = open[level].part(last..<page.count, minimumBytes: OpenPage.roomBytes)
            file(node, open[level].separator, level + 1)
            open[level] = OpenPage(node: next, separator: separator)
        }

        /// Appends a page to the open one of `level`.
        private mutating func file(_ node: IndexNode, _ separator: [UInt8], _ level: Int) {
            if level == open.count { open.append(OpenPage(node: OpenPage.make(level: level), separator: separator)) }
            separator.withUnsafeBytes { bytes in
                if open[level].page.count > 0, !open[level].fits(before: KeyBytes(bytes)) { close(level) }
                let key = open[level].page.count == 0 ? .empty : KeyBytes(bytes)
                IndexNode.makeUnique(&open[level].node, roomForKeysOf: key.count)
                let page = open[level].page
                page.insertChild(node, entries: node.page.entries, key: PrefixedKey(key), at: page.count)
            }
        }
    }

    /// A page that is being filled.
    private struct OpenPage {
        var node: IndexNode
        /// The separator below it, empty at the left edge.
        let separator: [UInt8]

        var page: IndexPage { node.page }

        /// Keys still have their prefix here, so that the keys of several pages go into one.
        static var roomBytes: Int { 8 * IndexNode.pageBytes }

        static func make(level: Int) -> IndexNode {
            .make(level: level, count: 0, keyBytes: 0, minimumBytes: roomBytes)
        }

        /// Whether the keys fit into one page if `upper` follows them, or cannot be divided.
        func fits(before upper: KeyBytes) -> Bool {
            let page = page
            guard page.isOverfull else { return true }
            let prefix = prefixCount(before: upper)
            let bytes = prefix + page.keyBytes(0..<page.count, prefixCount: prefix) + page.count * page.slotSize
            return bytes <= IndexNode.pageBytes
        }

        func part(_ range: Range<Int>, before upper: KeyBytes) -> IndexNode {
            let prefix = upper.prefix(prefixCount(before: upper))
            return .make(part: range, of: page, prefix: PrefixedKey(prefix), minimumBytes: 0)
        }

        func part(_ range: Range<Int>, minimumBytes: Int = 0) -> IndexNode {
            .make(part: range, of: page, prefix: .empty, minimumBytes: minimumBytes)
        }

        /// All keys, as the last page of its level.
        var finished: IndexNode { part(0..<page.count) }

        private func prefixCount(before upper: KeyBytes) -> Int {
            separator.withUnsafeBytes { min(IndexPage.longestPrefix, KeyBytes($0).sharedCount(with: upper)) }
        }
    }

    /// An index of strictly ascending entries.
    ///
    /// - Precondition: the entries are strictly ascending.
    /// - Complexity: O(*n*).
    init(sortedEntries: some Sequence<[UInt8]>) {
        var builder = Builder()
        for entry in sortedEntries { entry.withUnsafeBytes { builder.append($0) } }
        self = builder.finish()
    }
}
