extension OrderedIndex {
    /// Builds an index from entries that come in order, in one pass and with full pages.
    ///
    /// Each level has one open page, with whole keys: its prefix is known when it is closed, from the separators on both sides.
    /// The last page of each level takes the rest.
    struct Builder {
        private var leaf = OpenLeaf(separator: [])
        /// The inner pages, those of level 1 first.
        private var open: [OpenPage] = []
        private(set) var count = 0
        private var room = HeapRoom()

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
            if leaf.count > 0 {
                guard let sharedCount = leaf.sharedCount(withNext: key) else { return false }
                if !leaf.fits(before: key.prefix(sharedCount + 1)) { closeLeaf() }
            }
            leaf.append(key)
            count += 1
            return true
        }

        /// Returns the index of all appended entries and starts over.
        mutating func finish() -> OrderedIndex {
            defer { self = Builder() }
            guard count > 0 else { return OrderedIndex() }
            var root = leaf.finished
            var separator = leaf.separator
            // Filing a page may close the open one, and so add a level.
            var level = 0
            while level < open.count {
                file(root, separator, level)
                // Without an upper separator there is no prefix, and what is left may take more than a page.
                IndexNode.splitChild(open[level].page.count - 1, of: &open[level].node, .inTheMiddle)
                (root, separator) = (open[level].finished, open[level].separator)
                level += 1
            }
            IndexNode.rebalanceRoot(&root, .inTheMiddle)
            return OrderedIndex(root: root, count: count)
        }

        /// Closes the open leaf before its last key, which begins the next one. The keys before it fit: that was checked when it
        /// came.
        private mutating func closeLeaf() {
            let separator = leaf.separator
            room.take(IndexNode.pageBytes)
            file(leaf.close(), separator, 0)
        }

        /// Closes the open page before its last key, which begins the next page.
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

        /// Appends a page to an open one.
        ///
        /// - Parameter level: the open page's place.
        private mutating func file(_ node: IndexNode, _ separator: [UInt8], _ level: Int) {
            if level == open.count {
                open.append(OpenPage(node: OpenPage.make(level: level + 1), separator: separator))
            }
            separator.withUnsafeBytes { bytes in
                if open[level].page.count > 0, !open[level].fits(before: KeyBytes(bytes)) { close(level) }
                let key = open[level].page.count == 0 ? .empty : KeyBytes(bytes)
                IndexNode.makeUnique(&open[level].node, roomForKeysOf: key.count)
                let page = open[level].page
                page.insertChild(node, entries: node.page.entries, key: PrefixedKey(key), at: page.count)
            }
        }
    }

    /// Keys for the next leaf, whole and one behind the other.
    private struct OpenLeaf {
        /// The separator below it, empty at the left edge.
        private(set) var separator: [UInt8]
        private var bytes = [UInt8](repeating: 0, count: 8 * IndexNode.pageBytes)
        /// Where each key ends.
        private var ends: [Int] = []

        init(separator: [UInt8]) {
            self.separator = separator
        }

        var count: Int { ends.count }

        /// How many bytes a key begins with that the last one begins with too; nil if it does not follow that one.
        @inline(__always)
        func sharedCount(withNext key: KeyBytes) -> Int? {
            withKeys { keys in
                let last = keys(count - 1)
                let sharedCount = last.sharedCount(with: key)
                guard sharedCount < key.count else { return nil }
                guard sharedCount < last.count else { return sharedCount }
                return last.buffer[sharedCount] < key.buffer[sharedCount] ? sharedCount : nil
            }
        }

        /// Whether the keys fit into one page if `upper` follows them, or cannot be divided.
        @inline(__always)
        func fits(before upper: KeyBytes) -> Bool {
            let usedBytes = (ends.last ?? 0) + count * IndexPage.leafSlotSize
            guard usedBytes > IndexNode.pageBytes, count > 1 else { return true }
            return usedBytes - (count - 1) * prefixCount(before: upper) <= IndexNode.pageBytes
        }

        @inline(__always)
        mutating func append(_ key: KeyBytes) {
            let start = ends.last ?? 0
            let end = start + key.count
            // Each key's length is limited, and there is one more of them than fit into a page.
            if end > bytes.count { bytes.append(contentsOf: repeatElement(0, count: end)) }
            bytes.withUnsafeMutableBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end]).copyMemory(from: key.buffer)
            }
            ends.append(end)
        }

        /// Makes a leaf of all keys but the last one, which begins the next leaf.
        mutating func close() -> IndexNode {
            let (last, start) = (count - 1, ends[count - 2])
            let next = withKeys { Array($0(last).shortestSeparator(above: $0(last - 1)).buffer) }
            let leaf = next.withUnsafeBytes { node(last, prefixCount: prefixCount(before: KeyBytes($0))) }
            let length = ends[last] - start
            bytes.withUnsafeMutableBytes { bytes in
                let key = UnsafeRawBufferPointer(rebasing: bytes[start..<(start + length)])
                UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]).copyMemory(from: key)
            }
            ends.removeAll(keepingCapacity: true)
            ends.append(length)
            separator = next
            return leaf
        }

        /// A leaf of all keys, as the last one of its index.
        var finished: IndexNode { node(count, prefixCount: 0) }

        private func node(_ count: Int, prefixCount: Int) -> IndexNode {
            let keyBytes = ends[count - 1] - (count - 1) * prefixCount
            let node = IndexNode.make(level: 0, count: count, keyBytes: keyBytes)
            withKeys { keys in
                let page = node.page
                page.setPrefix(PrefixedKey(keys(0).prefix(prefixCount)))
                for number in 0..<count { page.appendKey(keys(number)) }
            }
            return node
        }

        private func prefixCount(before upper: KeyBytes) -> Int {
            separator.withUnsafeBytes { min(IndexPage.longestPrefix, KeyBytes($0).sharedCount(with: upper)) }
        }

        /// Runs the body with a function that returns a key; its bytes are valid during the call.
        @inline(__always)
        private func withKeys<Result>(_ body: ((Int) -> KeyBytes) -> Result) -> Result {
            bytes.withUnsafeBytes { bytes in
                body { number in
                    let start = number > 0 ? ends[number - 1] : 0
                    return KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[start..<ends[number]]))
                }
            }
        }
    }

    /// An inner page that is being filled.
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
