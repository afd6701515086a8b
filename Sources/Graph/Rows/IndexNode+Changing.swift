/// Insertion, removal, and what keeps pages neither too full nor too sparse.
///
/// Every function gets the node as the reference that owns it, so that asking for uniqueness means something, and makes
/// it unique before writing. Recursion is as deep as the tree is high.
///
/// The page of a node is fetched again after whatever may have replaced the node by a copy.
extension IndexNode {
    /// Inserts at the place that `path` leads to.
    ///
    /// The node may then be overfull, which is its owner's to settle.
    static func insert(
        _ key: IndexKey, into node: inout IndexNode, _ path: UnsafeMutableBufferPointer<Int32>, isLast: Bool
    ) {
        let level = node.page.level
        let index = Int(path[level])
        if level == 0 {
            makeUnique(&node, roomForKeyOf: key.count)
            node.page.insertKey(key, at: index)
            return
        }
        makeUnique(&node)
        let page = node.page
        page.setChildCount(index, page.childCount(index) + 1)
        insert(key, into: &page.child(index).pointee, path, isLast: isLast)
        splitChild(index, of: &node, isLast: isLast)
    }

    /// Removes what `path` leads to.
    ///
    /// The node may then be sparse or overfull, which is its owner's to settle.
    static func remove(from node: inout IndexNode, _ path: UnsafeMutableBufferPointer<Int32>) {
        makeUnique(&node)
        let page = node.page
        let index = Int(path[page.level])
        if page.isLeaf { return page.removeKey(at: index) }
        page.setChildCount(index, page.childCount(index) &- 1)
        remove(from: &page.child(index).pointee, path)
        settleChild(index, of: &node)
    }

    /// Adds levels above an overfull root, drops those of a single child.
    static func settleRoot(_ root: inout IndexNode, isLast: Bool) {
        while root.page.isOverfull {
            let entries = root.page.entries
            let above = make(level: root.page.level + 1, count: 4, keyBytes: 0)
            above.page.insertChild(root, entries: entries, key: .empty, at: 0)
            root = above
            splitChild(0, of: &root, isLast: isLast)
        }
        while !root.page.isLeaf, root.page.count == 1 {
            let above = root
            withExtendedLifetime(above) { root = above.page.child(0).pointee }
        }
    }

    private static func settleChild(_ index: Int, of node: inout IndexNode) {
        let page = node.page
        let child = page.childPage(index)
        if child.isOverfull { return splitChild(index, of: &node, isLast: false) }
        guard child.usedBytes < sparseBytes || child.count < minimumCount(level: child.level), page.count > 1 else {
            return
        }
        let before = index > 0 ? index - 1 : nil
        let after = index + 1 < page.count ? index : nil
        let candidates = [before, after].compactMap { $0 }
        if let left = candidates.first(where: { joinedSize($0, in: page) <= pageBytes }) {
            join(left, of: &node)
        } else if let left = candidates.min(by: { joinedSize($0, in: page) < joinedSize($1, in: page) }) {
            join(left, of: &node)
        }
    }

    /// What the children at `left` and after it take in one page.
    private static func joinedSize(_ left: Int, in page: IndexPage) -> Int {
        let separator = page.level > 1 ? page.key(left + 1).count : 0
        return page.childPage(left).usedBytes + page.childPage(left + 1).usedBytes + separator
    }

    /// Replaces the children at `left` and after it by one, or by two of equal size if that one would be overfull.
    private static func join(_ left: Int, of node: inout IndexNode) {
        let page = node.page
        let first = page.child(left).pointee
        let second = page.child(left + 1).pointee
        withExtendedLifetime((first, second)) {
            let first = first.page
            let second = second.page
            // The first key of an inner page is empty; joined, it becomes what separated the two.
            let separator = first.isLeaf ? nil : page.key(left + 1)
            let joined = make(
                level: first.level, count: first.count + second.count,
                keyBytes: first.byteCount + second.byteCount + (separator?.count ?? 0))
            joined.page.append(0..<first.count, of: first)
            joined.page.append(0..<second.count, of: second, firstKey: separator)
            page.setChildCount(left, page.childCount(left) + page.childCount(left + 1))
            page.child(left).pointee = joined
            page.removeChild(at: left + 1)
        }
        splitChild(left, of: &node, isLast: false)
    }

    /// Splits the child, and what comes of it, until no part is overfull.
    private static func splitChild(_ index: Int, of node: inout IndexNode, isLast: Bool) {
        guard node.page.childPage(index).isOverfull else { return }
        let whole = node.page.child(index).pointee
        let source = whole.page
        let middle = isLast ? source.count - minimumCount(level: source.level) : source.middle
        let left = make(part: 0..<middle, of: source, minimumBytes: 0)
        // Where entries are appended, more will come.
        let right = make(part: middle..<source.count, of: source, minimumBytes: isLast ? pageBytes : 0)
        // The parent lets go of `whole` while it copies the separator out of it.
        withExtendedLifetime(whole) {
            let separator =
                source.isLeaf
                ? source.key(middle).shortestSeparator(above: source.key(middle - 1)) : source.key(middle)
            makeUnique(&node, roomForKeyOf: separator.count)
            let page = node.page
            page.child(index).pointee = left
            page.setChildCount(index, left.page.entries)
            page.insertChild(right, entries: right.page.entries, key: separator, at: index + 1)
        }
        splitChild(index + 1, of: &node, isLast: isLast)
        splitChild(index, of: &node, isLast: false)
    }

    private static func make(part range: Range<Int>, of source: IndexPage, minimumBytes: Int) -> IndexNode {
        let keyBytes = source.end(of: range.upperBound - 1) - source.start(of: range.lowerBound)
        let node = make(level: source.level, count: range.count, keyBytes: keyBytes, minimumBytes: minimumBytes)
        node.page.append(range, of: source, firstKey: source.isLeaf ? nil : .empty)
        return node
    }
}

extension IndexPage {
    /// Whether the page must be split, and can be.
    fileprivate var isOverfull: Bool {
        usedBytes > IndexNode.pageBytes && count >= 2 * IndexNode.minimumCount(level: level)
    }

    /// Where to split so that both parts take about the same number of bytes.
    fileprivate var middle: Int {
        let least = IndexNode.minimumCount(level: level)
        let half = usedBytes / 2
        var index = least
        while index < count - least, start(of: index + 1) + (index + 1) * slotSize <= half { index += 1 }
        guard index < count - least else { return index }
        let below = half - (start(of: index) + index * slotSize)
        let above = start(of: index + 1) + (index + 1) * slotSize - half
        return above < below ? index + 1 : index
    }
}
