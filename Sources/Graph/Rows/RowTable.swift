/// A persistent radix vector: row number → (version, row), with the rows stored inline in the leaves.
///
/// Copies are O(1) and share structure; a change copies the nodes on its path that another copy shares, and changes the others
/// in place (path copying after Driscoll, Sarnak, Sleator and Tarjan 1989, as in Bagwell's and Clojure's vectors). Sparse row
/// numbers cost only their path, and the path ends below the digits that all of them share, so that a few neighbors take one
/// leaf wherever they are. Rows are reached by address, so that one compiled copy of this code serves every entity; `RowLayout`
/// knows how to copy, move and destroy them.
///
/// Invariants:
/// 1. The root is at `height`; children of a branch at height *h* are at *h* - 1; leaves at 0.
/// 2. Leaf *n* holds the rows 32 *n* … 32 *n* + 31; `prefix` and its path from the root are *n* in digits of 4 bits.
/// 3. No leaf and no branch is empty, and a branch's header counts its children.
/// 4. `count` is the number of occupied places.
///
/// Sendable without the compiler's proof: a change checks `isKnownUniquelyReferenced` along the whole path from the root, so no
/// node that two values share ever changes.
@usableFromInline
struct RowTable: @unchecked Sendable {
    private(set) var count = 0
    let layout: RowLayout
    private var root: AnyObject?
    private var height: UInt64 = 0
    /// The digits above the root's, which are the same in all leaf numbers.
    private var prefix: UInt64 = 0

    init(layout: RowLayout) {
        self.layout = layout
    }

    // MARK: Reading

    /// A row's address, which is valid while this table, or a copy of it, is neither changed nor released.
    @usableFromInline
    func address(of row: RowNumber) -> UnsafeRawPointer? {
        guard let (leaf, place) = locate(row) else { return nil }
        return leaf._withUnsafeGuaranteedRef { UnsafeRawPointer($0.values + place &* layout.stride) }
    }

    /// The addresses of those rows that exist, in their order; valid as `address(of:)` says.
    @usableFromInline
    func addresses(of rows: ArraySlice<RowNumber>) -> [UnsafeRawPointer] {
        rows.compactMap { address(of: $0) }
    }

    func version(of row: RowNumber) -> RowVersion? {
        guard let (leaf, place) = locate(row) else { return nil }
        return leaf._withUnsafeGuaranteedRef { RowVersion($0.versions[place]) }
    }

    func contains(_ row: RowNumber) -> Bool {
        locate(row) != nil
    }

    /// A copy of a row. `Value` must be the type that the layout was made for.
    @inlinable
    func value<Value>(of row: RowNumber, as type: Value.Type = Value.self) -> Value? {
        // The table must outlive the read, which an optimizer that has inlined this does not see otherwise.
        withExtendedLifetime(self) {
            address(of: row)?.assumingMemoryBound(to: Value.self).pointee
        }
    }

    /// Descends without retaining the nodes: the root, which `self` holds, holds them all.
    private func locate(_ row: RowNumber) -> (leaf: Unmanaged<RowLeaf>, place: Int)? {
        let leafNumber = row >> 5
        guard let root, covers(leafNumber) else { return nil }
        var node = Unmanaged.passUnretained(root).toOpaque()
        var level = height
        while level > 0 {
            level -= 1
            let digit = Int((leafNumber >> (level * RowBranch.bits)) & 15)
            let child = Unmanaged<RowBranch>.fromOpaque(node)._withUnsafeGuaranteedRef {
                UnsafeRawPointer($0.children + digit).load(as: UnsafeMutableRawPointer?.self)
            }
            guard let child else { return nil }
            node = child
        }
        let leaf = Unmanaged<RowLeaf>.fromOpaque(node)
        let place = Int(row & 31)
        let isOccupied = leaf._withUnsafeGuaranteedRef { $0.header.occupancy & (1 << UInt32(place)) != 0 }
        return isOccupied ? (leaf, place) : nil
    }

    private func covers(_ leafNumber: UInt64) -> Bool {
        leafNumber >> (height * RowBranch.bits) == prefix
    }

    // MARK: Changing

    /// Copies a row into the table. Returns true if the row number was free.
    @discardableResult
    mutating func set(_ row: RowNumber, version: RowVersion, copying value: UnsafeRawPointer) -> Bool {
        let layout = layout
        return prepare(row, version) { layout.copy($0, value, 1) }
    }

    /// Moves a row into the table; the memory that it came from is uninitialised afterwards.
    @discardableResult
    mutating func set(_ row: RowNumber, version: RowVersion, moving value: UnsafeMutableRawPointer) -> Bool {
        let layout = layout
        return prepare(row, version) { layout.move($0, value, 1) }
    }

    /// Some of the rows of a leaf.
    struct Block {
        let leaf: UInt64
        /// Bit *n* is set for the row at place *n*.
        let occupancy: UInt32

        var firstRow: RowNumber { leaf << 5 }
    }

    /// Moves rows into the table, and leaves their memory uninitialised. Returns false, and moves none, if one of them exists.
    ///
    /// - Parameters:
    ///   - versions: of these rows, in their order.
    ///   - values: where the row of place 0 would be; the others follow at the layout's stride.
    mutating func insert(_ block: Block, versions: [UInt64], moving values: UnsafeMutableRawPointer) -> Bool {
        grow(toCover: block.leaf)
        let (layout, height) = (layout, height)
        let isInserted = withUnsafeMutablePointer(to: &root) { slot in
            let leaf = Self.uniqueLeaf(for: block.leaf, under: slot, height: height, layout: layout)
            return leaf._withUnsafeGuaranteedRef { leaf in
                guard leaf.header.occupancy & block.occupancy == 0 else { return false }
                var number = 0
                block.occupancy.forEachBit { place in
                    layout.move(leaf.value(at: place), values + place * layout.stride, 1)
                    leaf.versions[place] = versions[number]
                    number += 1
                }
                leaf.header.occupancy |= block.occupancy
                return true
            }
        }
        if isInserted { count += versions.count }
        return isInserted
    }

    /// Returns true if the row existed.
    @discardableResult
    mutating func remove(_ row: RowNumber) -> Bool {
        guard contains(row) else { return false }
        Self.remove(row, from: &root, at: height, layout: layout)
        count -= 1
        if root == nil { (height, prefix) = (0, 0) }
        return true
    }

    private mutating func prepare(
        _ row: RowNumber,
        _ version: RowVersion,
        _ initialize: (UnsafeMutableRawPointer) -> Void
    ) -> Bool {
        grow(toCover: row >> 5)
        let (layout, height) = (layout, height)
        let isNew = withUnsafeMutablePointer(to: &root) { slot in
            let leaf = Self.uniqueLeaf(for: row >> 5, under: slot, height: height, layout: layout)
            return leaf._withUnsafeGuaranteedRef { leaf in
                let place = Int(row & 31)
                let bit = UInt32(1) << UInt32(place)
                let isNew = leaf.header.occupancy & bit == 0
                let address = leaf.value(at: place)
                if !isNew { layout.destroy(address, 1) }
                initialize(address)
                leaf.versions[place] = version.number
                leaf.header.occupancy |= bit
                return isNew
            }
        }
        if isNew { count += 1 }
        return isNew
    }

    private mutating func grow(toCover leafNumber: UInt64) {
        guard root != nil else {
            prefix = leafNumber
            return
        }
        while !covers(leafNumber) {
            let branch = RowBranch.make()
            branch.children[Int(prefix & 15)] = root
            branch.header = 1
            root = branch
            height += 1
            prefix >>= RowBranch.bits
        }
    }

    /// Walks down by slots, making every node on the way unique to this table. A slot is the memory of a child reference in a
    /// node that the slot above holds, so it stays valid as long as the root does.
    private static func uniqueLeaf(
        for leafNumber: UInt64,
        under root: UnsafeMutablePointer<AnyObject?>,
        height: UInt64,
        layout: RowLayout
    ) -> Unmanaged<RowLeaf> {
        var slot = root
        var level = height
        while level > 0 {
            level -= 1
            let branch = uniqueBranch(slot)
            let digit = Int((leafNumber >> (level * RowBranch.bits)) & 15)
            slot = branch._withUnsafeGuaranteedRef { branch in
                if branch.children[digit] == nil {
                    branch.children[digit] = level == 0 ? RowLeaf.make(layout) : RowBranch.make()
                    branch.header += 1
                }
                return branch.children + digit
            }
        }
        return uniqueLeaf(slot, layout: layout)
    }

    /// Makes the node in a slot unique to this table: creates it if there is none, copies it if it is shared. The slot holds
    /// only nodes of this class, which its level determines.
    private static func unique<Node: AnyObject>(
        _ slot: UnsafeMutablePointer<AnyObject?>,
        make: () -> Node,
        copy: (Node) -> Node
    ) -> Unmanaged<Node> {
        let own: Node
        if let node = slot.pointee.map({ Unmanaged<Node>.fromOpaque(Unmanaged.passUnretained($0).toOpaque()) }) {
            if isKnownUniquelyReferenced(&slot.pointee) { return node }
            own = node._withUnsafeGuaranteedRef { copy($0) }
        } else {
            own = make()
        }
        slot.pointee = own
        return Unmanaged.passUnretained(own)
    }

    private static func uniqueBranch(_ slot: UnsafeMutablePointer<AnyObject?>) -> Unmanaged<RowBranch> {
        unique(slot, make: { RowBranch.make() }, copy: { $0.copy() })
    }

    private static func uniqueLeaf(_ slot: UnsafeMutablePointer<AnyObject?>, layout: RowLayout) -> Unmanaged<RowLeaf> {
        unique(slot, make: { RowLeaf.make(layout) }, copy: { $0.copy() })
    }

    /// The row is known to exist. Recursion is as deep as the tree, 15 levels at most.
    private static func remove(
        _ row: RowNumber,
        from slot: inout AnyObject?,
        at level: UInt64,
        layout: RowLayout
    ) {
        if level == 0 {
            let leaf = withUnsafeMutablePointer(to: &slot) { slot in
                uniqueLeaf(slot, layout: layout)
            }
            let isEmpty = leaf._withUnsafeGuaranteedRef { leaf in
                let place = Int(row & 31)
                layout.destroy(leaf.value(at: place), 1)
                leaf.header.occupancy &= ~(1 << UInt32(place))
                return leaf.header.occupancy == 0
            }
            if isEmpty { slot = nil }
            return
        }
        let branch = withUnsafeMutablePointer(to: &slot) { uniqueBranch($0) }
        let digit = Int((row >> (5 + (level - 1) * RowBranch.bits)) & 15)
        let isEmpty = branch._withUnsafeGuaranteedRef { branch in
            remove(row, from: &branch.children[digit], at: level - 1, layout: layout)
            if branch.children[digit] == nil { branch.header -= 1 }
            return branch.header == 0
        }
        if isEmpty { slot = nil }
    }
}

extension RowTable {
    // MARK: Walking

    /// Up to 32 rows that lie side by side.
    @usableFromInline
    struct Run {
        /// The number of the row at place 0, occupied or not.
        @usableFromInline let firstRow: RowNumber
        /// Bit *n* is set where the row at place *n* exists.
        @usableFromInline let occupancy: UInt32
        /// The address of the row at place 0; the others follow at the layout's stride.
        @usableFromInline let values: UnsafeRawPointer
        let versions: UnsafePointer<UInt64>

        /// Where the search for the next run begins; nil after the largest number.
        @inlinable var end: RowNumber? {
            let (end, isBeyond) = firstRow.addingReportingOverflow(32)
            return isBeyond ? nil : end
        }
    }

    /// The first leaf with rows at or after a row number; nil if there is none. The addresses are valid while this table, or a
    /// copy of it, is neither changed nor released.
    ///
    /// A walk calls this again from the run's end. That costs a descent for every 32 rows, and keeps the loop, with its work on
    /// each row, in the caller's own code.
    @usableFromInline
    func run(from row: RowNumber) -> Run? {
        let bits = height * RowBranch.bits
        guard let root, (row >> 5) >> bits <= prefix else { return nil }
        let node = Unmanaged.passUnretained(root).toOpaque()
        return Self.run(from: row >> 5, in: node, at: height, leafNumber: prefix << bits)
    }

    /// - Parameter leafNumber: the number of the first possible leaf under the node.
    private static func run(
        from first: UInt64,
        in node: UnsafeMutableRawPointer,
        at level: UInt64,
        leafNumber: UInt64
    ) -> Run? {
        if level == 0 {
            return Unmanaged<RowLeaf>.fromOpaque(node)._withUnsafeGuaranteedRef { leaf in
                Run(
                    firstRow: leafNumber << 5,
                    occupancy: leaf.header.occupancy,
                    values: UnsafeRawPointer(leaf.values),
                    versions: UnsafePointer(leaf.versions)
                )
            }
        }
        let children = Unmanaged<RowBranch>.fromOpaque(node)._withUnsafeGuaranteedRef { UnsafeRawPointer($0.children) }
        let shift = (level - 1) * RowBranch.bits
        // Below the first digit, only leaves after `first` are left.
        let firstDigit = first > leafNumber ? (first - leafNumber) >> shift : 0
        for digit in firstDigit..<UInt64(RowBranch.capacity) {
            guard let child = (children + 8 * Int(digit)).load(as: UnsafeMutableRawPointer?.self) else { continue }
            if let run = run(from: first, in: child, at: level - 1, leafNumber: leafNumber + digit << shift) {
                return run
            }
        }
        return nil
    }

    /// Calls the body with number, version and address of each row, in ascending order.
    func forEachRow(_ body: (RowNumber, RowVersion, UnsafeRawPointer) throws -> Void) rethrows {
        var next: RowNumber? = 0
        while let start = next, let run = run(from: start) {
            var occupancy = run.occupancy
            while occupancy != 0 {
                let place = occupancy.trailingZeroBitCount
                occupancy &= occupancy - 1
                let version = RowVersion(run.versions[place])
                try body(run.firstRow + UInt64(place), version, run.values + place * layout.stride)
            }
            next = run.end
        }
    }

    // MARK: Differences

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
            var either = (old?.header.occupancy ?? 0) | (new?.header.occupancy ?? 0)
            while either != 0 {
                let place = either.trailingZeroBitCount
                either &= either - 1
                try body(firstRow + UInt64(place), old?.version(at: place), new?.version(at: place))
            }
        }
    }

    /// Calls the body with each row of `other` that this table lacks, in ascending order.
    ///
    /// Complexity: O(changed leaves + such rows).
    func forEachRow(missingSince other: RowTable, _ body: (RowNumber) throws -> Void) rethrows {
        try forEachLeaf(notSharedWith: other) { firstRow, old, new in
            var missing = (old?.header.occupancy ?? 0) & ~(new?.header.occupancy ?? 0)
            while missing != 0 {
                try body(firstRow + UInt64(missing.trailingZeroBitCount))
                missing &= missing - 1
            }
        }
    }

    /// Calls the body for each pair of leaves that the tables do not share, with the number of the first row.
    private func forEachLeaf(
        notSharedWith other: RowTable,
        _ body: (RowNumber, _ old: RowLeaf?, _ new: RowLeaf?) throws -> Void
    ) rethrows {
        let (old, new) = (other.top, top)
        guard var level = (old ?? new)?.height, var prefix = (old ?? new)?.prefix else { return }
        while ![old, new].allSatisfy({ $0?.isBelow(prefix, at: level) ?? true }) {
            level += 1
            prefix >>= RowBranch.bits
        }
        try Self.differences(old, new, level, prefix, body)
    }

    func isIdentical(to other: RowTable) -> Bool { root === other.root }

    /// A subtree and its position.
    private struct Subtree {
        let node: AnyObject
        let height: UInt64
        let prefix: UInt64

        /// Whether it belongs to the tree with this prefix at a level.
        func isBelow(_ prefix: UInt64, at level: UInt64) -> Bool {
            height <= level && self.prefix >> ((level - height) * RowBranch.bits) == prefix
        }

        /// Its part below a child of the tree that it belongs to. A lower subtree is wholly below one child.
        func part(below prefix: UInt64, at level: UInt64) -> Subtree? {
            if height <= level { return isBelow(prefix, at: level) ? self : nil }
            let child = unsafeDowncast(node, to: RowBranch.self).children[Int(prefix & 15)]
            return child.map { Subtree(node: $0, height: level, prefix: prefix) }
        }
    }

    private var top: Subtree? { root.map { Subtree(node: $0, height: height, prefix: prefix) } }

    private static func differences(
        _ old: Subtree?,
        _ new: Subtree?,
        _ level: UInt64,
        _ prefix: UInt64,
        _ body: (RowNumber, RowLeaf?, RowLeaf?) throws -> Void
    ) rethrows {
        guard old?.node !== new?.node else { return }
        if level == 0 {
            let old = old.map { unsafeDowncast($0.node, to: RowLeaf.self) }
            let new = new.map { unsafeDowncast($0.node, to: RowLeaf.self) }
            return try body(prefix << 5, old, new)
        }
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
        let (oldChildren, newChildren) = (
            UnsafeRawPointer(unsafeDowncast(old.node, to: RowBranch.self).children),
            UnsafeRawPointer(unsafeDowncast(new.node, to: RowBranch.self).children)
        )
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
    fileprivate func version(at place: Int) -> RowVersion? {
        header.occupancy & (1 << UInt32(place)) == 0 ? nil : RowVersion(versions[place])
    }
}

extension RowTable {
    /// Checks the numbered invariants above and returns the ones that do not hold.
    func checkInvariants() -> [String] {
        var failures: [String] = []
        var occupied = 0
        func visit(_ node: AnyObject, _ level: UInt64) {
            if level == 0 {
                guard let leaf = node as? RowLeaf else { return failures.append("1: no leaf at height 0") }
                if leaf.header.occupancy == 0 { failures.append("3: an empty leaf") }
                if leaf.header.layout !== layout { failures.append("2: a leaf of another layout") }
                occupied += leaf.header.occupancy.nonzeroBitCount
                return
            }
            guard let branch = node as? RowBranch else { return failures.append("1: no branch at height \(level)") }
            let children = (0..<RowBranch.capacity).compactMap { branch.children[$0] }
            if children.isEmpty { failures.append("3: an empty branch") }
            if children.count != branch.header {
                failures.append("3: \(children.count) children, not \(branch.header)")
            }
            for child in children { visit(child, level - 1) }
        }
        if let root { visit(root, height) }
        if occupied != count { failures.append("4: \(occupied) rows, not \(count)") }
        return failures
    }
}
