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
    @usableFromInline let layout: RowLayout
    private(set) var root: AnyObject?
    private(set) var height: UInt64 = 0
    /// The digits above the root's, which are the same in all leaf numbers.
    private(set) var prefix: UInt64 = 0

    init(layout: RowLayout) {
        self.layout = layout
    }

    // MARK: Reading

    /// A row's address, which is valid while this table, or a copy of it, is neither changed nor released.
    @usableFromInline
    func address(of row: RowNumber) -> UnsafeRawPointer? {
        leaf(of: row).flatMap { address(of: row, in: $0) }
    }

    /// The addresses of those rows that exist, in their order; valid as `address(of:)` says.
    @usableFromInline
    func addresses(of rows: ArraySlice<RowNumber>) -> [UnsafeRawPointer] {
        // First where the leaves are, then what they say: the reads of one leaf need not wait for those of another.
        // The table must outlive both.
        withExtendedLifetime(self) {
            let leaves = rows.map { leaf(of: $0) }
            return zip(rows, leaves).compactMap { row, leaf in leaf.flatMap { address(of: row, in: $0) } }
        }
    }

    private func address(of row: RowNumber, in leaf: Unmanaged<RowLeaf>) -> UnsafeRawPointer? {
        leaf._withUnsafeGuaranteedRef { leaf in
            let place = Int(row & 31)
            return leaf.hasRow(at: place) ? UnsafeRawPointer(leaf.row(at: place, layout)) : nil
        }
    }

    func version(of row: RowNumber) -> RowVersion? {
        guard let (leaf, place) = locate(row) else { return nil }
        return leaf._withUnsafeGuaranteedRef { $0.version(at: place) }
    }

    func contains(_ row: RowNumber) -> Bool {
        locate(row) != nil
    }

    /// A copy of a row. `Value` must be the type that the layout was made for.
    @inlinable
    func value<Value>(of row: RowNumber, as type: Value.Type = Value.self) -> Value? {
        // The table must outlive the read, which an optimizer that has inlined this does not see otherwise.
        withExtendedLifetime(self) {
            address(of: row)?.row(as: Value.self, in: layout).pointee
        }
    }

    /// Descends without retaining the nodes: the root, which `self` holds, holds them all.
    private func locate(_ row: RowNumber) -> (leaf: Unmanaged<RowLeaf>, place: Int)? {
        guard let leaf = leaf(of: row) else { return nil }
        let place = Int(row & 31)
        return leaf._withUnsafeGuaranteedRef { $0.hasRow(at: place) } ? (leaf, place) : nil
    }

    /// The leaf that has a row's place.
    private func leaf(of row: RowNumber) -> Unmanaged<RowLeaf>? {
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
        return Unmanaged<RowLeaf>.fromOpaque(node)
    }

    private func covers(_ leafNumber: UInt64) -> Bool {
        leafNumber >> (height * RowBranch.bits) == prefix
    }

    /// The largest number in the table, or one in its leaf; nil if it has no rows.
    var lastRow: RowNumber? {
        guard var node = root.map({ Unmanaged.passUnretained($0).toOpaque() }) else { return nil }
        var leafNumber = prefix
        for _ in 0..<height {
            let branch = Unmanaged<RowBranch>.fromOpaque(node)
            let children = branch._withUnsafeGuaranteedRef { UnsafeRawPointer($0.children) }
            // No branch is empty.
            var digit = RowBranch.capacity - 1
            while digit >= 0 {
                if let child = (children + 8 * digit).load(as: UnsafeMutableRawPointer?.self) {
                    node = child
                    break
                }
                digit -= 1
            }
            leafNumber = leafNumber << RowBranch.bits | UInt64(max(digit, 0))
        }
        return leafNumber << 5 + 31
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

    /// Has a closure change existing rows in place, and their versions, until it returns false; it is called with none that does not
    /// exist. Rows of one leaf should follow each other.
    mutating func change(
        _ rows: some Sequence<RowNumber>,
        _ body: (RowNumber, UnsafeMutableRawPointer, inout UInt64) throws -> Bool
    ) rethrows {
        var own: (number: UInt64, leaf: Unmanaged<RowLeaf>)?
        for row in rows {
            if own?.number != row >> 5 { own = contains(row) ? (row >> 5, ownLeaf(of: row)) : nil }
            let goesOn = try own?.leaf._withUnsafeGuaranteedRef { leaf in
                let place = Int(row & 31)
                return try !leaf.hasRow(at: place) || body(row, leaf.row(at: place, layout), &leaf.versions[place])
            }
            if goesOn == false { return }
        }
    }

    /// The leaf of an existing row, shared with no other table. Valid until the table changes.
    private mutating func ownLeaf(of row: RowNumber) -> Unmanaged<RowLeaf> {
        let (layout, height) = (layout, height)
        return withUnsafeMutablePointer(to: &root) {
            Self.uniqueLeaf(for: row >> 5, under: $0, height: height, layout: layout)
        }
    }

    /// Some of the rows of a leaf.
    struct Block {
        let leaf: UInt64
        /// Bit *n* is set for the row at place *n*.
        let occupancy: UInt32

        var firstRow: RowNumber { leaf << 5 }
    }

    /// Puts the rows of a leaf into the table. Returns false, and takes none, if one of them exists.
    mutating func insert(_ new: LooseLeaf) -> Bool {
        grow(toCover: new.number)
        let (layout, height) = (layout, height)
        let isInserted = withUnsafeMutablePointer(to: &root) { root in
            let slot = Self.leafSlot(for: new.number, under: root, height: height)
            guard slot.pointee != nil else {
                slot.pointee = new.leaf
                return true
            }
            return Self.uniqueLeaf(slot, layout: layout)._withUnsafeGuaranteedRef { $0.take(all: new.leaf) }
        }
        if isInserted { count += new.count }
        return isInserted
    }

    /// Whether there are rows in a leaf.
    func hasLeaf(_ number: UInt64) -> Bool {
        guard covers(number), let run = run(from: number << 5) else { return false }
        return run.firstRow >> 5 == number
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
                let isNew = leaf.occupancy & bit == 0
                let address = isNew ? leaf.freePlace(place, layout) : leaf.row(at: place, layout)
                if !isNew { layout.destroy(address, 1) }
                initialize(address)
                leaf.versions[place] = version.number
                leaf.occupancy |= bit
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
            branch.count = 1
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
        uniqueLeaf(leafSlot(for: leafNumber, under: root, height: height), layout: layout)
    }

    /// The slot of a leaf. If that is empty, the caller fills it: the branch above counts the leaf already.
    private static func leafSlot(
        for leafNumber: UInt64,
        under root: UnsafeMutablePointer<AnyObject?>,
        height: UInt64
    ) -> UnsafeMutablePointer<AnyObject?> {
        var slot = root
        var level = height
        while level > 0 {
            level -= 1
            let branch = uniqueBranch(slot)
            let digit = Int((leafNumber >> (level * RowBranch.bits)) & 15)
            slot = branch._withUnsafeGuaranteedRef { branch in
                if branch.children[digit] == nil {
                    if level > 0 { branch.children[digit] = RowBranch.make() }
                    branch.count += 1
                }
                return branch.children + digit
            }
        }
        return slot
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
                layout.destroy(leaf.row(at: place, layout), 1)
                leaf.occupancy &= ~(1 << UInt32(place))
                return leaf.occupancy == 0
            }
            if isEmpty { slot = nil }
            return
        }
        let branch = withUnsafeMutablePointer(to: &slot) { uniqueBranch($0) }
        let digit = Int((row >> (5 + (level - 1) * RowBranch.bits)) & 15)
        let isEmpty = branch._withUnsafeGuaranteedRef { branch in
            remove(row, from: &branch.children[digit], at: level - 1, layout: layout)
            if branch.children[digit] == nil { branch.count -= 1 }
            return branch.count == 0
        }
        if isEmpty { slot = nil }
    }
}
