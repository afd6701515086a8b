/// Scans, counts, and access by rank.
///
/// Closures get a pointer into a page, valid during the call. Changing the index meanwhile, through another variable,
/// does not disturb a scan: it runs on the version that it began with.
extension OrderedIndex {
    // MARK: Scans

    /// Calls `body` for each entry of `range` in order, or in reverse, until it returns false.
    ///
    /// - Returns: whether the scan came to the end of the range.
    /// - Complexity: O(log *n*) and the number of entries passed.
    @discardableResult
    func forEachEntry(
        in range: IndexRange = .all, descending: Bool = false, _ body: (UnsafeRawBufferPointer) throws -> Bool
    ) rethrows -> Bool {
        try forEachLeaf(in: range, descending: descending) { page, positions in
            try page.withEntries { entry in
                for step in 0..<positions.count {
                    let position = descending ? positions.upperBound &- 1 &- step : positions.lowerBound &+ step
                    guard try body(entry(position)) else { return false }
                }
                return true
            }
        }
    }

    /// Calls `body` with the row number in the last eight bytes of each entry of `range`, until it returns false.
    ///
    /// - Precondition: the entries have at least eight bytes.
    /// - Returns: whether the scan came to the end of the range.
    @discardableResult
    func forEachRow(
        in range: IndexRange = .all, descending: Bool = false, _ body: (UInt64) throws -> Bool
    ) rethrows -> Bool {
        try forEachLeaf(in: range, descending: descending) { page, positions in
            if descending {
                for position in positions.reversed() where try !body(page.row(position)) { return false }
            } else {
                return try page.forEachRow(at: positions, body)
            }
            return true
        }
    }

    /// `forEachRow(in:)` for the entries that begin with `prefix`.
    @discardableResult
    func forEachRow(withPrefix prefix: UnsafeRawBufferPointer, _ body: (UInt64) throws -> Bool) rethrows -> Bool {
        try forEachRow(in: .prefix(prefix), body)
    }

    /// The row number of the first entry that begins with `prefix`: a look-up by key.
    ///
    /// - Precondition: that entry has at least eight bytes.
    /// - Complexity: O(log *n*) comparisons.
    func firstRow(withPrefix prefix: UnsafeRawBufferPointer) -> UInt64? {
        let key = KeyBytes(prefix)
        return withRootPage { root -> UInt64? in
            var page = root
            // The leaf may end before the first entry that is not less; that entry then begins the subtree to the right.
            var right: IndexPage?
            while !page.isLeaf {
                let index = page.childIndex(for: key)
                if index &+ 1 < page.count { right = page.childPage(index &+ 1) }
                page = page.childPage(index)
            }
            var position = page.position(of: key)
            if position == page.count {
                guard let right else { return nil }
                page = right.firstLeaf
                position = 0
            }
            return page.key(position).hasPrefix(key) ? page.row(position) : nil
        } ?? nil
    }

    /// The rows whose key an earlier row has.
    ///
    /// Complexity: O(*n*).
    var rowsWithRepeatedKeys: [RowNumber] {
        var (cursor, last, rows) = (cursor(), [UInt8](), [RowNumber]())
        while true {
            let repeated = cursor.withNextEntry { entry -> RowNumber? in
                let key = KeyBytes(entry).prefix(entry.count - MemoryLayout<RowNumber>.size)
                let repeats = last.withUnsafeBytes { KeyBytes($0).compare(key) == 0 }
                if repeats { return KeyBytes(entry).row }
                last.removeAll(keepingCapacity: true)
                last.append(contentsOf: key.buffer)
                return nil
            }
            guard let repeated else { return rows }
            if let repeated { rows.append(repeated) }
        }
    }

    // MARK: Counts and ranks

    /// Complexity: O(log *n*), whatever the number of entries in the range.
    func count(in range: IndexRange) -> Int {
        ranks(of: range).count
    }

    /// Complexity: O(log *n*).
    func ranks(of range: IndexRange) -> Range<Int> {
        let lower = range.lower.map { rank(of: $0) } ?? 0
        let upper = range.upper.map { rank(of: $0) } ?? count
        return lower..<max(lower, upper)
    }

    func rowCount(withPrefix prefix: UnsafeRawBufferPointer) -> Int {
        count(in: .prefix(prefix))
    }

    /// The number of entries before `bound`.
    func rank(of bound: IndexRange.Bound) -> Int {
        withRootPage { root in
            var page = root
            var rank = 0
            while !page.isLeaf {
                let index = page.childIndex(for: bound)
                rank &+= page.entries(before: index)
                page = page.childPage(index)
            }
            return rank &+ page.position(of: bound)
        } ?? 0
    }

    /// Runs `body` with the entry at `offset`.
    ///
    /// - Precondition: 0 ≤ `offset` < `count`.
    /// - Complexity: O(log *n*).
    func withEntry<Result>(at offset: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        precondition(offset >= 0 && offset < count, "offset \(offset) in an index of \(count) entries")
        return try withRootPage { root in
            var page = root
            var rest = offset
            while !page.isLeaf { page = page.childPage(page.takeChild(holding: &rest)) }
            return try page.withEntries { try body($0(rest)) }
        }!
    }

    /// A copy of the entry at `offset`.
    func entry(at offset: Int) -> [UInt8] {
        withEntry(at: offset) { [UInt8]($0) }
    }

    // MARK: Leaves

    /// Calls `body` for each leaf that has entries in `range`, with their positions.
    private func forEachLeaf(
        in range: IndexRange, descending: Bool, _ body: (IndexPage, Range<Int>) throws -> Bool
    ) rethrows -> Bool {
        try withRootPage { root in
            try Self.forEachLeaf(of: root, in: range, descending: descending, body)
        } ?? true
    }

    /// Only the outermost pages of a range look at its bounds, so a scan compares nothing in between.
    private static func forEachLeaf(
        of page: IndexPage, in range: IndexRange, descending: Bool, _ body: (IndexPage, Range<Int>) throws -> Bool
    ) rethrows -> Bool {
        if page.isLeaf {
            let first = range.lower.map { page.position(of: $0) } ?? 0
            let end = range.upper.map { page.position(of: $0) } ?? page.count
            return first < end ? try body(page, first..<end) : true
        }
        let first = range.lower.map { page.childIndex(for: $0) } ?? 0
        let last = range.upper.map { page.childIndex(for: $0) } ?? page.count &- 1
        guard first <= last else { return true }
        for step in 0...(last &- first) {
            let index = descending ? last &- step : first &+ step
            let part = IndexRange(
                from: index == first ? range.lower : nil, upTo: index == last ? range.upper : nil)
            guard try forEachLeaf(of: page.childPage(index), in: part, descending: descending, body) else {
                return false
            }
        }
        return true
    }
}

extension IndexPage {
    /// The child with the entry at `offset` below this page; `offset` then counts in the child.
    @inline(__always)
    func takeChild(holding offset: inout Int) -> Int {
        var index = 0
        while index &+ 1 < count {
            let entries = childCount(index)
            if offset < entries { break }
            offset &-= entries
            index &+= 1
        }
        return index
    }

    /// The leaf with the first entry below this page.
    var firstLeaf: IndexPage {
        var page = self
        while !page.isLeaf { page = page.childPage(0) }
        return page
    }
}
