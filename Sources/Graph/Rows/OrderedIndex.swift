/// A persistent, ordered set of byte strings, its *entries*: a B+tree whose versions share structure.
///
/// Entries are ordered as unsigned bytes, a shorter prefix first. The engine encodes a key so that its bytes order like its
/// values, and appends the row number as eight big-endian bytes; one tree thus serves attribute indexes, compound keys, unique
/// constraints, and both sides of relationships.
///
/// A copy is O(1). A change copies the nodes between the root and one leaf as far as another version shares them, and changes
/// the others in place. *n* below is the number of entries.
///
/// Bayer and McCreight, *Organization and Maintenance of Large Ordered Indexes*, Acta Informatica 1 (1972); entries in leaves
/// only, after Comer, *The Ubiquitous B-Tree*, ACM Computing Surveys 11 (1979). Pages are filled by bytes, since entries differ
/// in length, separators are as short as possible (see `KeyBytes.shortestSeparator`), and the common prefix of a page's keys is
/// stored once (see `IndexPage`).
///
/// Invariants, as numbered in `checkInvariants()`:
/// 1. An empty index has no root. A leaf has at least one entry, an inner page at least two children.
/// 2. All leaves are at level 0; a child's level is one less than its parent's.
/// 3. Keys and slots of a page lie within its capacity and do not overlap; a slot has the size that its page calls for.
/// 4. Keys of a page are strictly ascending; the first key of an inner page, and no other one, is empty.
/// 5. Entries below a child are not less than its key, and less than the key of the next child.
/// 6. A slot's count is the number of entries below the child; `count` is that of the whole tree.
/// 7. A page's prefix begins the separators on both its sides; without one on either side it is empty.
/// 8. A page of more than `IndexNode.pageBytes` is a leaf of one entry or an inner page of at most three children.
///
/// A page is at least a third full, except the root; pages on the right edge or at the end of an ascending run, which inserts
/// are still filling; parts of a split page that a longer prefix made smaller, until a removal there; and neighbors of entries
/// so long that nothing fits beside them.
///
/// - Note: `@unchecked Sendable` is guarded by this: a node with more than one reference is never written to, and a change
///   checks `isKnownUniquelyReferenced` for every node on the path first, from the root down. A node that is changed is thus
///   reachable through this one value only, to which `mutating` methods have exclusive access.
struct OrderedIndex: @unchecked Sendable {
    /// Invariant 1 makes nil the only empty tree.
    private(set) var root: IndexNode?
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    init() {}

    /// An index over a finished tree of `count` entries.
    init(root: IndexNode?, count: Int) {
        self.root = root
        self.count = count
    }

    // MARK: Membership

    /// Complexity: O(log *n*) comparisons.
    func contains(_ entry: UnsafeRawBufferPointer) -> Bool {
        withRootPage { root in
            let key = KeyBytes(entry)
            var page = root
            while !page.isLeaf { page = page.childPage(page.childIndex(for: key)) }
            let position = page.position(of: key)
            return position < page.count && page.suffix(position).compare(key.dropFirst(page.prefixCount)) == 0
        } ?? false
    }

    // MARK: Changing

    /// Returns false, changing and copying nothing, if the entry is present.
    ///
    /// - Precondition: the entry is at most 2^30 bytes long, and the index has fewer than 2^32 entries.
    /// - Complexity: O(log *n*) comparisons, and as many node copies if the tree is shared.
    @discardableResult
    mutating func insert(_ entry: UnsafeRawBufferPointer) -> Bool {
        insert(entry, sharing: .max).isNew
    }

    /// The same, and whether another entry may begin with the same `prefixLength` bytes. False is certain; true is a guess at
    /// the edge of a page, whose neighbor is not read.
    mutating func insert(
        _ entry: UnsafeRawBufferPointer,
        sharing prefixLength: Int
    ) -> (isNew: Bool, mayShare: Bool) {
        let key = KeyBytes(entry)
        precondition(key.count <= IndexNode.longestKey, "an index entry of \(key.count) bytes")
        guard root != nil else {
            let leaf = IndexNode.make(level: 0, count: 1, keyBytes: key.count, minimumBytes: 64)
            leaf.page.insertKey(key, at: 0)
            root = leaf
            count = 1
            return (true, false)
        }
        return Self.withPath { path in
            let place = find(key, path, sharing: prefixLength)
            guard !place.isPresent else { return (false, true) }
            let cut = IndexNode.insert(key, into: &root!, path, isLast: place.isLast)
            count += 1
            IndexNode.rebalanceRoot(&root!, cut)
            return (true, place.mayShare)
        }
    }

    /// Inserts ascending entries, none of which is present; calls the body with those whose key, without the row number,
    /// another entry may have.
    ///
    /// - Complexity: as one by one, except that each leaf is searched once for all entries that fit there.
    mutating func insert(ascending entries: [KeyBytes], _ mayShare: ((KeyBytes) -> Void)?) {
        var rest = entries[...]
        while let first = rest.first {
            let count = Self.withPath { path in insertGroup(of: rest, path, mayShare) }
            rest = rest.dropFirst(max(1, count))
            guard count == 0 else { continue }
            let insertion = insert(first.buffer, sharing: first.count - MemoryLayout<UInt64>.size)
            if insertion.mayShare { mayShare?(first) }
        }
    }

    /// Inserts as many of the first entries as belong and fit into one leaf. Returns their number.
    private mutating func insertGroup(
        of entries: ArraySlice<KeyBytes>,
        _ path: UnsafeMutableBufferPointer<Int32>,
        _ mayShare: ((KeyBytes) -> Void)?
    ) -> Int {
        guard let first = entries.first, let place = findLeaf(for: first, path) else { return 0 }
        var (length, room) = (0, IndexNode.pageBytes - place.leaf.usedBytes)
        let group = entries.prefix { entry in
            let taken = entry.count - place.leaf.prefixCount
            room -= taken + place.leaf.slotSize
            guard room >= 0, place.upper.map({ PrefixedKey(entry).compare($0) < 0 }) ?? true else { return false }
            length += taken
            return true
        }
        guard !group.isEmpty else { return 0 }
        let leaf = IndexNode.insert(group, of: length, into: &root!, path)
        count += group.count
        guard let mayShare else { return group.count }
        withExtendedLifetime(root) {
            for entry in group {
                let position = leaf.position(of: entry)
                let key = entry.prefix(entry.count - MemoryLayout<UInt64>.size).dropFirst(leaf.prefixCount)
                let sharesBefore = position > 0 ? leaf.suffix(position - 1).hasPrefix(key) : !place.isFirst
                let sharesAfter =
                    position + 1 < leaf.count ? leaf.suffix(position + 1).hasPrefix(key) : place.upper != nil
                if sharesBefore || sharesAfter { mayShare(entry) }
            }
        }
        return group.count
    }

    /// Returns false, changing and copying nothing, if the entry is absent.
    ///
    /// - Complexity: O(log *n*) comparisons, and as many node copies if the tree is shared.
    @discardableResult
    mutating func remove(_ entry: UnsafeRawBufferPointer) -> Bool {
        guard root != nil else { return false }
        let key = KeyBytes(entry)
        return Self.withPath { path in
            guard find(key, path).isPresent else { return false }
            IndexNode.remove(from: &root!, path)
            count -= 1
            if count == 0 { root = nil } else { IndexNode.rebalanceRoot(&root!, .inTheMiddle) }
            return true
        }
    }

    /// Removes ascending entries, as far as they are present.
    ///
    /// - Complexity: as one by one, except that each leaf is found and copied once for all entries that belong there.
    mutating func remove(ascending entries: [KeyBytes]) {
        var rest = entries[...]
        while let first = rest.first, root != nil {
            rest = Self.withPath { path in
                guard let place = findLeaf(for: first, path) else { return [] }
                let group = rest.prefix { entry in place.upper.map { PrefixedKey(entry).compare($0) < 0 } ?? true }
                count -= IndexNode.remove(group, from: &root!, path)
                if count == 0 { root = nil } else { IndexNode.rebalanceRoot(&root!, .inTheMiddle) }
                return rest.dropFirst(group.count)
            }
        }
    }

    mutating func removeAll() {
        root = nil
        count = 0
    }

    // MARK: Access to pages

    /// Runs `body` with the root's page, which stays alive meanwhile; nil if the index is empty.
    @inline(__always)
    func withRootPage<Result>(_ body: (IndexPage) throws -> Result) rethrows -> Result? {
        guard let root else { return nil }
        return try withExtendedLifetime(root) { try body(root.page) }
    }

    /// The position where `key` is or belongs: the child index for each level, the position in the leaf for level 0.
    ///
    /// Searching before changing means that an operation without effect copies nothing.
    @inline(__always)
    private func find(
        _ key: KeyBytes,
        _ path: UnsafeMutableBufferPointer<Int32>,
        sharing prefixLength: Int = .max
    ) -> (isPresent: Bool, isLast: Bool, mayShare: Bool) {
        guard let place = findLeaf(for: key, path) else { return (false, true, false) }
        return withExtendedLifetime(root) {
            let (page, isLast) = (place.leaf, place.upper == nil)
            let position = page.position(of: key)
            path[0] = Int32(truncatingIfNeeded: position)
            let rest = key.dropFirst(page.prefixCount)
            let prefix = rest.prefix(max(0, prefixLength &- page.prefixCount))
            let sharesBefore = position > 0 ? page.suffix(position &- 1).hasPrefix(prefix) : !place.isFirst
            guard position < page.count else { return (false, isLast, sharesBefore || !isLast) }
            let after = page.suffix(position)
            return (after.compare(rest) == 0, false, sharesBefore || after.hasPrefix(prefix))
        }
    }

    /// The leaf where `key` belongs, whether it is the first leaf, and the separator behind it, if another one follows. Nil in
    /// an empty index. The page is valid until the tree changes.
    @inline(__always)
    private func findLeaf(
        for key: KeyBytes,
        _ path: UnsafeMutableBufferPointer<Int32>
    ) -> (leaf: IndexPage, isFirst: Bool, upper: PrefixedKey?)? {
        guard let root else { return nil }
        var (page, isFirst, upper): (IndexPage, Bool, PrefixedKey?) = (root.page, true, nil)
        precondition(page.level < path.count, "an index of \(page.level) levels")
        while !page.isLeaf {
            let index = page.childIndex(for: key)
            path[page.level] = Int32(truncatingIfNeeded: index)
            if index > 0 { isFirst = false }
            if index < page.count - 1 { upper = page.key(index + 1) }
            page = page.childPage(index)
        }
        return (page, isFirst, upper)
    }

    /// Runs `body` with a path on the stack.
    ///
    /// At least two children in a page and fewer than 2^32 entries bound its length.
    @inline(__always)
    private static func withPath<Result>(_ body: (UnsafeMutableBufferPointer<Int32>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 64, body)
    }
}

extension OrderedIndex {
    func contains(_ entry: [UInt8]) -> Bool { entry.withUnsafeBytes { contains($0) } }

    @discardableResult
    mutating func insert(_ entry: [UInt8]) -> Bool { entry.withUnsafeBytes { insert($0) } }

    @discardableResult
    mutating func remove(_ entry: [UInt8]) -> Bool { entry.withUnsafeBytes { remove($0) } }
}
