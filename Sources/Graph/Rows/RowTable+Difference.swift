/// What differs between two tables, without a look at what they share.
extension RowTable {
    /// Calls the body with each row whose version differs between two tables, in ascending order; nil stands for a row
    /// that one of them lacks.
    ///
    /// Complexity: O(changed leaves), because subtrees that both tables share are skipped.
    func forEachDifference(
        from other: RowTable,
        _ body: (RowNumber, _ old: RowVersion?, _ new: RowVersion?) throws -> Void
    ) rethrows {
        try forEachRow(notSharedWith: other) { row, old, new in
            if old != new { try body(row, old, new) }
        }
    }

    /// The same for all rows in leaves that the tables do not share, whatever their versions.
    func forEachRow(
        notSharedWith other: RowTable,
        _ body: (RowNumber, _ old: RowVersion?, _ new: RowVersion?) throws -> Void
    ) rethrows {
        try forEachLeaf(notSharedWith: other) { firstRow, old, new in
            let either = (old?.occupancy ?? 0) | (new?.occupancy ?? 0)
            try either.forEachBit { place in
                try body(firstRow + UInt64(place), old?.versionIfAny(at: place), new?.versionIfAny(at: place))
            }
        }
    }

    /// The same with the rows' addresses instead of versions, without those that have the same bytes in both tables. Of the others,
    /// some may still be equal: equal values may lie in different memory.
    func forEachRow(
        differingFrom other: RowTable,
        _ body: (RowNumber, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) throws -> Void
    ) rethrows {
        let stride = layout.stride
        try forEachLeaf(notSharedWith: other) { firstRow, old, new in
            let (oldPlaces, newPlaces) = (old?.occupancy ?? 0, new?.occupancy ?? 0)
            let (oldRows, newRows) = (old.map { UnsafeRawPointer($0.values) }, new.map { UnsafeRawPointer($0.values) })
            try (oldPlaces | newPlaces).forEachBit { place in
                let oldRow = oldPlaces & (1 << UInt32(place)) == 0 ? nil : oldRows.map { $0 + place &* stride }
                let newRow = newPlaces & (1 << UInt32(place)) == 0 ? nil : newRows.map { $0 + place &* stride }
                if let oldRow, let newRow,
                    KeyBytes(base: oldRow, count: stride).compare(KeyBytes(base: newRow, count: stride)) == 0
                {
                    return
                }
                try body(firstRow + UInt64(place), oldRow, newRow)
            }
        }
    }

    /// Calls the body with each row of `other` that this table lacks, in ascending order.
    ///
    /// Complexity: O(changed leaves + such rows).
    func forEachRow(missingSince other: RowTable, _ body: (RowNumber) throws -> Void) rethrows {
        try forEachLeaf(notSharedWith: other) { firstRow, old, new in
            let missing = (old?.occupancy ?? 0) & ~(new?.occupancy ?? 0)
            try missing.forEachBit { try body(firstRow + UInt64($0)) }
        }
    }

    /// Calls the body for each pair of leaves that the tables do not share, with the number of the first row.
    private func forEachLeaf(
        notSharedWith other: RowTable,
        _ body: (RowNumber, _ old: RowLeaf?, _ new: RowLeaf?) throws -> Void
    ) rethrows {
        defer { withExtendedLifetime((self, other)) {} }
        let (old, new) = (other.top, top)
        guard var level = (old ?? new)?.height, var prefix = (old ?? new)?.prefix else { return }
        while ![old, new].allSatisfy({ $0?.isBelow(prefix, at: level) ?? true }) {
            level += 1
            prefix >>= RowBranch.bits
        }
        try Self.differences(old, new, level, prefix, body)
    }

    func isIdentical(to other: RowTable) -> Bool { root === other.root }

    /// A subtree and its position. The walk retains no node: the tables hold their roots meanwhile, and these hold the rest.
    private struct Subtree {
        let node: UnsafeRawPointer
        let height: UInt64
        let prefix: UInt64

        /// Of a subtree of height 0.
        var leaf: RowLeaf { Unmanaged<RowLeaf>.fromOpaque(node).takeUnretainedValue() }

        /// Of a higher one: references, one behind the other.
        var children: UnsafeRawPointer {
            Unmanaged<RowBranch>.fromOpaque(node)._withUnsafeGuaranteedRef { UnsafeRawPointer($0.children) }
        }

        /// Whether it belongs to the tree with this prefix at a level.
        func isBelow(_ prefix: UInt64, at level: UInt64) -> Bool {
            height <= level && self.prefix >> ((level - height) * RowBranch.bits) == prefix
        }

        /// Its part below a child of the tree that it belongs to. A lower subtree is wholly below one child.
        func part(below prefix: UInt64, at level: UInt64) -> Subtree? {
            if height <= level { return isBelow(prefix, at: level) ? self : nil }
            let child = (children + 8 * Int(prefix & 15)).load(as: UnsafeRawPointer?.self)
            return child.map { Subtree(node: $0, height: level, prefix: prefix) }
        }
    }

    private var top: Subtree? {
        root.map { root in
            Subtree(node: Unmanaged.passUnretained(root).toOpaque(), height: height, prefix: prefix)
        }
    }

    private static func differences(
        _ old: Subtree?,
        _ new: Subtree?,
        _ level: UInt64,
        _ prefix: UInt64,
        _ body: (RowNumber, RowLeaf?, RowLeaf?) throws -> Void
    ) rethrows {
        guard old?.node != new?.node else { return }
        if level == 0 { return try body(prefix << 5, old?.leaf, new?.leaf) }
        let shared = sharedChildren(old, new, at: level)
        for digit in 0..<UInt64(RowBranch.capacity) where shared & (1 << digit) == 0 {
            let child = prefix << RowBranch.bits | digit
            try differences(
                old?.part(below: child, at: level - 1),
                new?.part(below: child, at: level - 1),
                level - 1,
                child,
                body
            )
        }
    }

    /// Bit *n* is set where children *n* of two branches are identical; comparing retains neither.
    private static func sharedChildren(_ old: Subtree?, _ new: Subtree?, at level: UInt64) -> UInt32 {
        guard let old, let new, old.height == level, new.height == level else { return 0 }
        let (oldChildren, newChildren) = (old.children, new.children)
        var shared: UInt32 = 0
        for digit in 0..<RowBranch.capacity {
            let (oldChild, newChild) = (
                (oldChildren + 8 * digit).load(as: UnsafeRawPointer?.self),
                (newChildren + 8 * digit).load(as: UnsafeRawPointer?.self)
            )
            if oldChild == newChild { shared |= 1 << UInt32(digit) }
        }
        return shared
    }
}

extension RowLeaf {
    fileprivate func versionIfAny(at place: Int) -> RowVersion? {
        hasRow(at: place) ? version(at: place) : nil
    }
}
