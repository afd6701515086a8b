extension OrderedIndex {
    /// A violated invariant, by its number in the comment of `OrderedIndex`, with details.
    struct Violation: Error, CustomStringConvertible {
        let invariant: Int
        let description: String

        init(_ invariant: Int, _ description: String) {
            self.invariant = invariant
            self.description = "invariant \(invariant): \(description)"
        }
    }

    /// Figures about the tree.
    struct Statistics {
        var pages = 0
        var leaves = 0
        var levels = 0
        /// Bytes of pages in use, and of nodes allocated, with their headers.
        var usedBytes = 0
        var allocatedBytes = 0
        /// Pages that are less than a third full, except the root and those on the right edge.
        var sparsePages = 0
    }

    /// - Complexity: O(*n* log *n*).
    func checkInvariants() throws {
        try withRootPage { root in
            let entries = try Self.check(root, from: nil, upTo: nil)
            guard entries == count else { throw Violation(6, "\(entries) entries, \(count) in the index's count") }
        }
        guard (root == nil) == (count == 0) else { throw Violation(1, "a root and \(count) entries") }
    }

    var statistics: Statistics {
        var statistics = Statistics()
        withRootPage { root in
            statistics.levels = root.level + 1
            Self.gather(root, isRightEdge: true, into: &statistics)
        }
        return statistics
    }

    /// Checks the page and all below it, which must lie between the bounds, and returns the number of entries.
    private static func check(_ page: IndexPage, from lower: PrefixedKey?, upTo upper: PrefixedKey?) throws -> Int {
        let level = page.level
        try require(1, page.count >= IndexNode.minimumCount(level: level), "\(page.count) at level \(level)")
        try checkLayout(page)
        try checkKeys(page)
        let prefix = page.prefix
        try require(
            7, prefix.count == 0 || (lower?.hasPrefix(prefix) ?? false) && (upper?.hasPrefix(prefix) ?? false),
            "a prefix of \(prefix.count) bytes that a separator does not have")
        let isSmallest = page.count < 2 * IndexNode.minimumCount(level: level)
        try require(
            8, page.usedBytes <= IndexNode.pageBytes || isSmallest,
            "\(page.usedBytes) bytes for \(page.count) keys at level \(level)")
        if page.isLeaf {
            if let lower { try require(5, lower.compare(page.key(0)) <= 0, "an entry below its separator") }
            if let upper {
                try require(5, page.key(page.count - 1).compare(upper) < 0, "an entry not below the next separator")
            }
            return page.count
        }
        var sum = 0
        for index in 0..<page.count {
            let child = page.childPage(index)
            try require(2, child.level == level - 1, "level \(child.level) below level \(level)")
            let entries = try check(
                child, from: index == 0 ? lower : page.key(index),
                upTo: index + 1 == page.count ? upper : page.key(index + 1))
            try require(
                6, entries == page.childCount(index), "\(entries) entries where \(page.childCount(index)) are noted")
            sum += entries
        }
        return sum
    }

    private static func checkLayout(_ page: IndexPage) throws {
        try require(3, page.usedBytes <= page.capacity, "\(page.usedBytes) bytes in a page of \(page.capacity)")
        try require(3, page.capacity % 8 == 0, "slots of a page of \(page.capacity) bytes are not aligned")
        let isNarrow = page.capacity <= IndexPage.narrowCapacity
        let leafSlotSize = isNarrow ? IndexPage.leafSlotSize : IndexPage.wideLeafSlotSize
        let slotSize = page.isLeaf ? leafSlotSize : IndexPage.innerSlotSize
        try require(3, page.slotSize == slotSize, "slots of \(page.slotSize) bytes")
        var distance = page.prefixCount
        for index in 0..<page.count {
            try require(3, page.distance(of: index) >= distance, "key \(index) ends before it begins")
            distance = page.distance(of: index)
        }
        try require(3, distance == page.byteCount, "keys take \(distance) bytes, not \(page.byteCount)")
    }

    private static func checkKeys(_ page: IndexPage) throws {
        for index in 1..<max(1, page.count) {
            try require(4, page.key(index - 1).compare(page.key(index)) < 0, "keys \(index - 1) and \(index)")
        }
        if !page.isLeaf { try require(4, page.suffix(0).count == 0, "the first child has a separator") }
    }

    private static func require(_ invariant: Int, _ holds: Bool, _ description: @autoclosure () -> String) throws {
        if !holds { throw Violation(invariant, description()) }
    }

    private static func gather(_ page: IndexPage, isRightEdge: Bool, into statistics: inout Statistics) {
        statistics.pages += 1
        statistics.usedBytes += page.usedBytes
        // The object's header, and the page's.
        statistics.allocatedBytes += 2 * 16 + page.capacity
        if !isRightEdge, page.usedBytes < IndexNode.sparseBytes { statistics.sparsePages += 1 }
        guard !page.isLeaf else {
            statistics.leaves += 1
            return
        }
        for index in 0..<page.count {
            gather(page.childPage(index), isRightEdge: isRightEdge && index == page.count - 1, into: &statistics)
        }
    }
}
