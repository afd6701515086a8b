/// The bytes of one node of an ordered index, seen through a pointer: a slotted page.
///
///     offset            size             content
///     0                 16               header, in the byte order of the machine
///     16                count · s        the slots, the first key's slot first
///     …                                  free
///     end - byteCount   byteCount        the keys without their common prefix, the last one first; then the prefix
///
/// Slots grow upwards and keys downwards, so that appending moves nothing, and a search finds the slots beside the header. A
/// slot of a leaf holds its key's distance from the page's end: two bytes (s = 2), or four (s = 4) in a page too big for that.
/// A slot of an inner page has s = 16:
///
///     0   4   the distance of its key from the page's end
///     4   4   the number of entries in the child
///     8   8   the child, an owned reference
///
/// An inner page has a key for each child, the separator below it; the first child's is empty, since nothing is below.
///
/// The prefix is the common beginning of both separators around a page in the pages above, as known when the page was made. All
/// keys in the page, and all that are looked up there, lie between them and begin with it, too, so that nothing compares the
/// prefix, and no insertion makes it shorter (Graefe, *Modern B-Tree Techniques*, Foundations and Trends in Databases 3 (2011):
/// prefix truncation by fence keys, after Bayer and Unterauer, *Prefix B-Trees*).
///
/// A page does not own its memory. Its holder keeps the node alive, and mutates only a node that nothing else references; all
/// pointer arithmetic stays between the header and `limit`, as `checkInvariants` verifies.
struct IndexPage: Equatable {
    struct Header {
        /// The number of entries of a leaf, or of children of an inner page.
        var count: UInt16
        /// 0 for a leaf, otherwise one more than the children's.
        var level: UInt8
        var slotSize: UInt8
        /// The size of the keys and their prefix.
        var byteCount: UInt32
        /// The bytes behind the header, a multiple of eight.
        var capacity: UInt32
        var prefixCount: UInt8
        /// The length of the latest ascending run of insertions, at most 255, and the position behind its last key.
        var runLength: UInt8
        var runEnd: UInt16
    }

    static var innerSlotSize: Int { 16 }
    static var leafSlotSize: Int { 2 }
    static var wideLeafSlotSize: Int { 4 }
    /// Up to this capacity the keys of a leaf begin less than 65 536 bytes before its end, because a slot takes at least two.
    static var narrowCapacity: Int { 65_536 }
    /// Longer common beginnings are stored with each key.
    static var longestPrefix: Int { Int(UInt8.max) }

    let header: UnsafeMutablePointer<Header>

    var count: Int { Int(header.pointee.count) }
    var byteCount: Int { Int(header.pointee.byteCount) }
    var capacity: Int { Int(header.pointee.capacity) }
    var prefixCount: Int { Int(header.pointee.prefixCount) }
    var runLength: Int { Int(header.pointee.runLength) }
    var runEnd: Int { Int(header.pointee.runEnd) }
    var level: Int { Int(header.pointee.level) }
    var slotSize: Int { Int(header.pointee.slotSize) }
    var isLeaf: Bool { header.pointee.level == 0 }

    /// The bytes in use behind the header.
    var usedBytes: Int { byteCount &+ count &* slotSize }
    var freeBytes: Int { capacity &- usedBytes }

    var slots: UnsafeMutableRawPointer { UnsafeMutableRawPointer(header + 1) }
    var limit: UnsafeMutableRawPointer { slots + capacity }

    // MARK: Keys

    /// The common beginning of all keys.
    var prefix: KeyBytes { KeyBytes(base: limit - prefixCount, count: prefixCount) }

    /// The distance of a key's start, and of the next one's end, from `limit`.
    @inline(__always)
    func distance(of index: Int) -> Int {
        let slot = slot(index)
        return slotSize == 2 ? Int(slot.load(as: UInt16.self)) : Int(slot.load(as: UInt32.self))
    }

    /// The distance of a key's end from `limit`.
    @inline(__always)
    func endDistance(of index: Int) -> Int {
        index == 0 ? prefixCount : distance(of: index &- 1)
    }

    @inline(__always)
    func suffix(_ index: Int) -> KeyBytes {
        let distance = distance(of: index)
        return KeyBytes(base: limit - distance, count: distance &- endDistance(of: index))
    }

    @inline(__always)
    func key(_ index: Int) -> PrefixedKey {
        PrefixedKey(prefix: prefix, suffix: suffix(index))
    }

    @inline(__always)
    func slot(_ index: Int) -> UnsafeMutableRawPointer {
        slots + slotSize &* index
    }

    // MARK: Searching

    /// The number of keys of a leaf that are less than `key`, which begins with the prefix.
    @inline(__always)
    func position(of key: KeyBytes) -> Int {
        let rest = key.dropFirst(prefixCount)
        return partition(from: 0, key.head(after: prefixCount)) { $0.compare(rest) < 0 }
    }

    /// The same, for a key that may be the next one in an ascending run of insertions.
    @inline(__always)
    func position(ofNext key: KeyBytes) -> Int {
        let end = runEnd
        guard runLength > 0 else { return position(of: key) }
        let rest = key.dropFirst(prefixCount)
        guard suffix(end &- 1).compare(rest) < 0, end == count || suffix(end).compare(rest) >= 0 else {
            return position(of: key)
        }
        return end
    }

    /// The child of an inner page where `key` belongs; it begins with the prefix.
    @inline(__always)
    func childIndex(for key: KeyBytes) -> Int {
        let rest = key.dropFirst(prefixCount)
        return partition(from: 1, key.head(after: prefixCount)) { $0.compare(rest) <= 0 } &- 1
    }

    /// The number of keys of a leaf before `bound`, which lies between the separators around the page.
    func position(of bound: IndexRange.Bound) -> Int {
        switch bound {
        case .entry(let buffer):
            return position(of: KeyBytes(buffer))
        case .pastPrefix(let buffer):
            return partition(from: 0, past: KeyBytes(buffer))
        }
    }

    /// The child of an inner page in which `bound` lies, if that lies between the separators around the page.
    func childIndex(for bound: IndexRange.Bound) -> Int {
        switch bound {
        case .entry(let buffer):
            return childIndex(for: KeyBytes(buffer))
        case .pastPrefix(let buffer):
            return partition(from: 1, past: KeyBytes(buffer)) &- 1
        }
    }

    @inline(__always)
    private func partition(from first: Int, past key: KeyBytes) -> Int {
        let rest = key.dropFirst(prefixCount)
        let relevant = rest.count < 8 ? ~(UInt64.max >> UInt64(8 &* rest.count)) : UInt64.max
        return partition(from: first, key.head(after: prefixCount), relevant) {
            $0.prefix(rest.count).compare(rest) <= 0
        }
    }

    /// Most keys differ in the first eight bytes behind the prefix, and only the others are compared by `isBefore`.
    @inline(__always)
    private func partition(
        from first: Int, _ head: UInt64, _ relevant: UInt64 = .max, _ isBefore: (KeyBytes) -> Bool
    ) -> Int {
        var low = first
        var high = count
        while low < high {
            let middle = (low &+ high) >> 1
            let candidate = suffix(middle)
            let other = headInPage(candidate) & relevant
            if other != head ? other < head : isBefore(candidate) { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// The head of a key in this page, before whose end at least the eight bytes of the header lie.
    @inline(__always)
    private func headInPage(_ key: KeyBytes) -> UInt64 {
        let missing = max(0, 8 &- key.count)
        let word = key.base.loadUnaligned(fromByteOffset: -missing, as: UInt64.self)
        return UInt64(bigEndian: word) << UInt64(8 &* missing)
    }

    // MARK: Children

    @inline(__always)
    func childCount(_ index: Int) -> Int {
        Int(slot(index).load(fromByteOffset: 4, as: UInt32.self))
    }

    func setChildCount(_ index: Int, _ count: Int) {
        slot(index).storeBytes(of: UInt32(count), toByteOffset: 4, as: UInt32.self)
    }

    /// The address of the owned reference.
    ///
    /// The slots of an inner page are aligned, and bound to `IndexNode` there.
    @inline(__always)
    func child(_ index: Int) -> UnsafeMutablePointer<IndexNode> {
        (slot(index) + 8).assumingMemoryBound(to: IndexNode.self)
    }

    /// The child's page, without counting a reference: it lives as long as this page's node refers to it.
    @inline(__always)
    func childPage(_ index: Int) -> IndexPage {
        let address = slot(index).load(fromByteOffset: 8, as: UnsafeRawPointer.self)
        return Unmanaged<IndexNode>.fromOpaque(address)._withUnsafeGuaranteedRef { $0.page }
    }

    /// The number of entries in the children before `index`.
    func entries(before index: Int) -> Int {
        if isLeaf { return index }
        var sum = 0
        for child in 0..<index { sum &+= childCount(child) }
        return sum
    }

    var entries: Int { entries(before: count) }
}
