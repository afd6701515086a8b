/// Insertion, removal, and keeping pages neither too full nor too sparse.
///
/// Every function gets the node as the reference that owns it, so that checking uniqueness is meaningful, and makes it unique
/// before writing. Recursion is as deep as the tree is high.
///
/// The page of a node is fetched again after every call that may have replaced the node by a copy.
extension IndexNode {
    /// Where an overfull page is split.
    enum Cut {
        /// Both parts take about the same number of bytes.
        case inTheMiddle
        /// Behind the key that came last, if that makes the left part the bigger one: it is full or will be.
        case behindRun
        /// At the end of the index, where more keys will come.
        case beforeLast
        /// The left part is as full as possible.
        case full
    }

    /// Inserts at the position that `path` leads to.
    ///
    /// The node may then be overfull; its owner splits it with the returned cut.
    static func insert(
        _ key: KeyBytes, into node: inout IndexNode, _ path: UnsafeMutableBufferPointer<Int32>, isLast: Bool
    ) -> Cut {
        let level = node.page.level
        let index = Int(path[level])
        if level == 0 {
            let cut = node.page.cut(forKeyAt: index, isLast: isLast)
            makeUnique(&node, roomForKeysOf: key.count &- node.page.prefixCount)
            node.page.insertKey(key, at: index)
            return cut
        }
        makeUnique(&node)
        let page = node.page
        page.setChildCount(index, page.childCount(index) + 1)
        let cut = page.cut(forKeyAt: index + 1, isLast: isLast)
        splitChild(index, of: &node, insert(key, into: &page.child(index).pointee, path, isLast: isLast))
        return cut
    }

    /// Inserts ascending keys, which belong and fit there, into the leaf that `path` leads to. Returns the leaf.
    static func insert(
        _ keys: ArraySlice<KeyBytes>, of length: Int, into node: inout IndexNode,
        _ path: UnsafeMutableBufferPointer<Int32>
    ) -> IndexPage {
        guard node.page.isLeaf else {
            makeUnique(&node)
            let page = node.page
            let index = Int(path[page.level])
            page.setChildCount(index, page.childCount(index) + keys.count)
            return insert(keys, of: length, into: &page.child(index).pointee, path)
        }
        makeUnique(&node, roomForKeysOf: length, count: keys.count)
        let page = node.page
        for key in keys { page.insertKey(key, at: page.position(ofNext: key)) }
        return page
    }

    /// Removes what `path` leads to.
    ///
    /// The node may then be sparse or overfull, which its owner corrects.
    static func remove(from node: inout IndexNode, _ path: UnsafeMutableBufferPointer<Int32>) {
        makeUnique(&node)
        let page = node.page
        let index = Int(path[page.level])
        if page.isLeaf { return page.removeKey(at: index) }
        page.setChildCount(index, page.childCount(index) &- 1)
        remove(from: &page.child(index).pointee, path)
        rebalanceChild(index, of: &node)
    }

    /// Removes ascending keys, as far as they are there, from the leaf that `path` leads to and they all belong to. Returns how many
    /// it had.
    ///
    /// The node may then be sparse, or a leaf without keys, which its owner corrects.
    static func remove(
        _ keys: ArraySlice<KeyBytes>, from node: inout IndexNode, _ path: UnsafeMutableBufferPointer<Int32>
    ) -> Int {
        makeUnique(&node)
        let page = node.page
        guard page.isLeaf else {
            let index = Int(path[page.level])
            let count = remove(keys, from: &page.child(index).pointee, path)
            page.setChildCount(index, page.childCount(index) &- count)
            rebalanceChild(index, of: &node)
            return count
        }
        let before = page.count
        // From the end, so that little is left to move.
        for key in keys.reversed() {
            let position = page.position(of: key)
            guard position < page.count, page.suffix(position).compare(key.dropFirst(page.prefixCount)) == 0 else {
                continue
            }
            page.removeKey(at: position)
        }
        return before - page.count
    }

    /// Adds levels above an overfull root, and drops levels of a single child.
    static func rebalanceRoot(_ root: inout IndexNode, _ cut: Cut) {
        while root.page.isOverfull {
            let entries = root.page.entries
            let above = make(level: root.page.level + 1, count: 4, keyBytes: 0)
            above.page.insertChild(root, entries: entries, key: .empty, at: 0)
            root = above
            splitChild(0, of: &root, cut)
        }
        while !root.page.isLeaf, root.page.count == 1 {
            let above = root
            withExtendedLifetime(above) { root = above.page.child(0).pointee }
        }
    }

    private static func rebalanceChild(_ index: Int, of node: inout IndexNode) {
        let page = node.page
        let child = page.childPage(index)
        if child.isOverfull { return splitChild(index, of: &node, .inTheMiddle) }
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

    /// The size of the children at `left` and after it in one page.
    private static func joinedSize(_ left: Int, in page: IndexPage) -> Int {
        let (first, second) = (page.childPage(left), page.childPage(left + 1))
        return joinedBytes(first, second, separator: page.key(left + 1)) + (first.count + second.count) * first.slotSize
    }

    /// The size of both pages' keys in one page. Both prefixes begin the separator; so the shorter one is a prefix of all keys.
    private static func joinedBytes(_ first: IndexPage, _ second: IndexPage, separator: PrefixedKey) -> Int {
        let prefixCount = min(first.prefixCount, second.prefixCount)
        // The first key of an inner page is empty; joined, it becomes the separator of the two.
        let separatorBytes = first.isLeaf ? 0 : separator.count - prefixCount
        return prefixCount + separatorBytes + first.keyBytes(0..<first.count, prefixCount: prefixCount)
            + second.keyBytes(0..<second.count, prefixCount: prefixCount)
    }

    /// Replaces the children at `left` and after it by one, or by two, cut anew, if one would be overfull.
    private static func join(_ left: Int, of node: inout IndexNode, _ cut: Cut = .inTheMiddle) {
        let page = node.page
        let first = page.child(left).pointee
        let second = page.child(left + 1).pointee
        withExtendedLifetime((first, second)) {
            let first = first.page
            let second = second.page
            let separator = page.key(left + 1)
            let joined = make(
                level: first.level, count: first.count + second.count,
                keyBytes: joinedBytes(first, second, separator: separator))
            joined.page.setPrefix(separator.prefix(min(first.prefixCount, second.prefixCount)))
            joined.page.append(0..<first.count, of: first, firstKey: first.isLeaf ? nil : .empty)
            joined.page.append(0..<second.count, of: second, firstKey: first.isLeaf ? nil : separator)
            page.setChildCount(left, page.childCount(left) + page.childCount(left + 1))
            page.child(left).pointee = joined
            page.removeChild(at: left + 1)
        }
        splitChild(left, of: &node, cut)
    }

    /// Splits the child and its parts until no part is overfull.
    static func splitChild(_ index: Int, of node: inout IndexNode, _ cut: Cut) {
        guard node.page.childPage(index).isOverfull else { return }
        let whole = node.page.child(index).pointee
        let isComplete = whole.page.isComplete(before: cut)
        // The parent releases `whole` while it copies the separator out of it.
        withExtendedLifetime(whole) {
            let source = whole.page
            let middle = source.position(of: cut)
            let separator = source.separator(at: middle)
            let parent = node.page
            let before = index > 0 ? parent.key(index).sharedCount(with: separator) : 0
            let after = index + 1 < parent.count ? parent.key(index + 1).sharedCount(with: separator) : 0
            let left = make(part: 0..<middle, of: source, prefix: separator.prefix(before), minimumBytes: 0)
            let right = make(
                part: middle..<source.count, of: source, prefix: separator.prefix(after),
                minimumBytes: cut == .beforeLast ? pageBytes : 0)
            makeUnique(&node, roomForKeysOf: separator.count - parent.prefixCount)
            let page = node.page
            page.child(index).pointee = left
            page.setChildCount(index, left.page.entries)
            page.insertChild(right, entries: right.page.entries, key: separator, at: index + 1)
        }
        splitChild(index + 1, of: &node, .inTheMiddle)
        splitChild(index, of: &node, .inTheMiddle)
        // The left part gets no more keys, and a longer prefix has made it smaller.
        if isComplete, index > 0, node.page.childPage(index - 1).usedBytes < pageBytes / 4 * 3 {
            join(index - 1, of: &node, .full)
        }
    }

    /// A page of some keys, with the longer one of the source's prefix and `prefix`.
    static func make(
        part range: Range<Int>, of source: IndexPage, prefix: PrefixedKey, minimumBytes: Int
    ) -> IndexNode {
        let prefix =
            prefix.count > source.prefixCount ? prefix.prefix(IndexPage.longestPrefix) : PrefixedKey(source.prefix)
        let node = make(
            level: source.level, count: range.count,
            keyBytes: prefix.count + source.keyBytes(range, prefixCount: prefix.count), minimumBytes: minimumBytes)
        node.page.setPrefix(prefix)
        node.page.append(range, of: source, firstKey: source.isLeaf ? nil : .empty)
        return node
    }
}

extension IndexPage {
    /// The size of some keys behind a common prefix; in an inner page the first key becomes empty.
    func keyBytes(_ range: Range<Int>, prefixCount: Int) -> Int {
        let keys = isLeaf ? range : range.dropFirst()
        guard !keys.isEmpty else { return 0 }
        return distance(of: keys.upperBound - 1) - endDistance(of: keys.lowerBound)
            + (self.prefixCount - prefixCount) * keys.count
    }

    /// The separator between the keys from `index` on and those before.
    func separator(at index: Int) -> PrefixedKey {
        guard isLeaf else { return key(index) }
        return PrefixedKey(prefix: prefix, suffix: suffix(index).shortestSeparator(above: suffix(index - 1)))
    }

    /// Whether the page must be split, and can be.
    var isOverfull: Bool {
        usedBytes > IndexNode.pageBytes && count >= 2 * IndexNode.minimumCount(level: level)
    }

    /// How to split a page that another key makes overfull.
    fileprivate func cut(forKeyAt index: Int, isLast: Bool) -> IndexNode.Cut {
        isLast ? .beforeLast : index == runEnd && runLength >= IndexNode.shortestRun ? .behindRun : .inTheMiddle
    }

    /// Whether an ascending run is done with the left part of the cut.
    fileprivate func isComplete(before cut: IndexNode.Cut) -> Bool {
        cut == .beforeLast || cut == .behindRun && runEnd == count
    }

    fileprivate func position(of cut: IndexNode.Cut) -> Int {
        let least = IndexNode.minimumCount(level: level)
        switch cut {
        case .inTheMiddle: return middle
        case .behindRun: return max(middle, min(runEnd, count - least))
        case .beforeLast: return count - least
        case .full:
            var index = least
            while index < count - least, distance(of: index) + (index + 1) * slotSize <= IndexNode.pageBytes {
                index += 1
            }
            return index
        }
    }

    /// Where to split so that both parts take about the same number of bytes.
    fileprivate var middle: Int {
        let least = IndexNode.minimumCount(level: level)
        let half = usedBytes / 2
        var index = least
        while index < count - least, distance(of: index) + (index + 1) * slotSize <= half { index += 1 }
        guard index < count - least else { return index }
        let below = half - (endDistance(of: index) + index * slotSize)
        let above = distance(of: index) + (index + 1) * slotSize - half
        return above < below ? index + 1 : index
    }
}
