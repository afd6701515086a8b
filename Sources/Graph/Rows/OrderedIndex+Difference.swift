extension OrderedIndex {
    /// Calls `body`, in order, for each entry that only one of two indexes has, until it returns false: `isInsertion` is true
    /// for an entry of this index, false for one of `other`.
    ///
    /// The result is right for any two indexes. Two walkers go through both at once. Where both are at the same node, they skip
    /// it; otherwise the one at the lesser first entry takes a step down or right, so that it reaches a shared node further
    /// right before the other one has to open it.
    ///
    /// - Returns: whether the walk came to the end.
    /// - Complexity: O(*d* log *n*) if one index was made from the other by *d* changes, O(*n*) at worst.
    @discardableResult
    func forEachDifference(
        from other: OrderedIndex, _ body: (_ entry: UnsafeRawBufferPointer, _ isInsertion: Bool) throws -> Bool
    ) rethrows -> Bool {
        var visits = 0
        return try forEachDifference(from: other, countingVisitsIn: &visits, body)
    }

    /// The same; also counts the pages visited.
    @discardableResult
    func forEachDifference(
        from other: OrderedIndex, countingVisitsIn visits: inout Int,
        _ body: (_ entry: UnsafeRawBufferPointer, _ isInsertion: Bool) throws -> Bool
    ) rethrows -> Bool {
        guard root !== other.root else { return true }
        // Both roots stay alive during the walk, and with them every page that the walkers point to.
        return try withExtendedLifetime((root, other.root)) {
            var ours = IndexWalker(root?.page)
            var theirs = IndexWalker(other.root?.page)
            defer { visits += ours.visits + theirs.visits }
            while let our = ours.item, let their = theirs.item {
                if our.level > 0, our == their {
                    ours.advance()
                    theirs.advance()
                    continue
                }
                let order = ours.firstKey(of: our).compare(theirs.firstKey(of: their))
                if order == 0, our.level == 0, their.level == 0 {
                    ours.advance()
                    theirs.advance()
                } else if order < 0 || (order == 0 && our.level >= their.level) {
                    guard try ours.step(from: our, { try body($0, true) }) else { return false }
                } else {
                    guard try theirs.step(from: their, { try body($0, false) }) else { return false }
                }
            }
            while let our = ours.item {
                guard try ours.step(from: our, { try body($0, true) }) else { return false }
            }
            while let their = theirs.item {
                guard try theirs.step(from: their, { try body($0, false) }) else { return false }
            }
            return true
        }
    }
}

/// A walk over a tree that decides at each node whether to enter or skip it.
///
/// Its maker keeps the tree alive.
private struct IndexWalker {
    /// The walker's position: an entry in a leaf, or a whole subtree.
    enum Item: Equatable {
        case entry(IndexPage, Int)
        case subtree(IndexPage)

        /// 0 for an entry, otherwise the level of the subtree's root plus one.
        var level: Int {
            switch self {
            case .entry: 0
            case .subtree(let page): page.level + 1
            }
        }
    }

    private struct Step {
        let page: IndexPage
        var index: Int
    }

    private var path: [Step] = []
    private var firstKey: PrefixedKey?
    private(set) var item: Item?
    private(set) var visits = 0

    init(_ root: IndexPage?) {
        item = root.map { .subtree($0) }
    }

    /// The first entry at or below the item, cached until the walker moves right.
    mutating func firstKey(of item: Item) -> PrefixedKey {
        if let firstKey { return firstKey }
        let key: PrefixedKey
        switch item {
        case .entry(let page, let index):
            key = page.key(index)
        case .subtree(let page):
            visits += page.level + 1
            key = page.firstLeaf.key(0)
        }
        firstKey = key
        return key
    }

    /// Enters a subtree, or reports an entry and moves on.
    mutating func step(
        from item: Item, _ report: (UnsafeRawBufferPointer) throws -> Bool
    ) rethrows -> Bool {
        switch item {
        case .entry(let page, let index):
            guard try page.withEntries({ try report($0(index)) }) else { return false }
            advance()
        case .subtree(let page):
            visits += 1
            path.append(Step(page: page, index: 0))
            setItem()
        }
        return true
    }

    /// Skips the item.
    mutating func advance() {
        firstKey = nil
        while let step = path.last, step.index + 1 == step.page.count { path.removeLast() }
        guard !path.isEmpty else {
            item = nil
            return
        }
        path[path.count - 1].index += 1
        setItem()
    }

    private mutating func setItem() {
        let step = path[path.count - 1]
        item = step.page.isLeaf ? .entry(step.page, step.index) : .subtree(step.page.childPage(step.index))
    }
}
