/// The bytes of one node of an ordered index, seen through a pointer: a slotted page.
///
///     offset          size              content
///     0               16                header, in the byte order of the machine
///     16              byteCount         the keys, ascending, one after the other
///     …                                 free
///     end - count·s   count · s         the slots, the last key's slot first
///
/// Keys grow upwards and slots downwards, so that appending moves nothing. A slot of a leaf is the offset where its key
/// ends: two bytes (s = 2), or four (s = 4) in a page too big for that. A slot of an inner page has s = 16:
///
///     0   4   the offset where its key ends
///     4   4   how many entries the child holds
///     8   8   the child, an owned reference
///
/// An inner page has a key for each child, the separator below it; the first child's is empty, since nothing is below.
///
/// A page does not own its memory. Whoever holds one keeps the node alive, and mutates only a node that nothing else
/// references; all pointer arithmetic stays between the header and `limit`, as `checkInvariants` verifies.
struct IndexPage: Equatable {
    struct Header {
        /// Entries of a leaf, children of an inner page.
        var count: UInt32
        /// Bytes taken by keys.
        var byteCount: UInt32
        /// Bytes behind the header, a multiple of eight.
        var capacity: UInt32
        /// 0 for a leaf, otherwise one more than the children's.
        var level: UInt16
        var slotSize: UInt16
    }

    static var innerSlotSize: Int { 16 }
    static var leafSlotSize: Int { 2 }
    static var wideLeafSlotSize: Int { 4 }
    /// Up to this capacity the keys of a leaf end below 65 536, because a slot takes at least two bytes.
    static var narrowCapacity: Int { 65_536 }

    let header: UnsafeMutablePointer<Header>

    var count: Int { Int(header.pointee.count) }
    var byteCount: Int { Int(header.pointee.byteCount) }
    var capacity: Int { Int(header.pointee.capacity) }
    var level: Int { Int(header.pointee.level) }
    var slotSize: Int { Int(header.pointee.slotSize) }
    var isLeaf: Bool { header.pointee.level == 0 }

    /// Bytes in use behind the header.
    var usedBytes: Int { byteCount &+ count &* slotSize }
    var freeBytes: Int { capacity &- usedBytes }

    var bytes: UnsafeMutableRawPointer { UnsafeMutableRawPointer(header + 1) }
    private var limit: UnsafeMutableRawPointer { bytes + capacity }

    // MARK: Keys

    @inline(__always)
    func end(of index: Int) -> Int {
        let slot = slot(index)
        return slotSize == 2 ? Int(slot.load(as: UInt16.self)) : Int(slot.load(as: UInt32.self))
    }

    @inline(__always)
    func start(of index: Int) -> Int {
        index == 0 ? 0 : end(of: index &- 1)
    }

    @inline(__always)
    func key(_ index: Int) -> IndexKey {
        let start = start(of: index)
        return IndexKey(base: bytes + start, count: end(of: index) &- start)
    }

    /// Calls `body` for the keys at `positions` in order until it returns false, and says whether it never did.
    ///
    /// The header is read once, which the compiler cannot do by itself across calls of a closure.
    @inline(__always)
    func forEachKey(at positions: Range<Int>, _ body: (IndexKey) throws -> Bool) rethrows -> Bool {
        let bytes = bytes
        let slotSize = slotSize
        var slot = slot(positions.lowerBound)
        var start = start(of: positions.lowerBound)
        for _ in positions {
            let end = slotSize == 2 ? Int(slot.load(as: UInt16.self)) : Int(slot.load(as: UInt32.self))
            guard try body(IndexKey(base: bytes + start, count: end &- start)) else { return false }
            start = end
            slot -= slotSize
        }
        return true
    }

    // MARK: Searching

    /// How many keys of a leaf are less than `key`.
    @inline(__always)
    func position(of key: IndexKey) -> Int {
        partition(from: 0) { $0.compare(key) < 0 }
    }

    /// The child of an inner page that holds `key` if any does.
    @inline(__always)
    func childIndex(for key: IndexKey) -> Int {
        partition(from: 1) { $0.compare(key) <= 0 } &- 1
    }

    /// How many keys of a leaf lie before `bound`.
    func position(of bound: IndexRange.Bound) -> Int {
        switch bound {
        case .entry(let buffer):
            return position(of: IndexKey(buffer))
        case .pastPrefix(let buffer):
            let prefix = IndexKey(buffer)
            return partition(from: 0) { $0.prefix(prefix.count).compare(prefix) <= 0 }
        }
    }

    /// The child of an inner page in which `bound` lies.
    func childIndex(for bound: IndexRange.Bound) -> Int {
        switch bound {
        case .entry(let buffer):
            return childIndex(for: IndexKey(buffer))
        case .pastPrefix(let buffer):
            let prefix = IndexKey(buffer)
            return partition(from: 1) { $0.prefix(prefix.count).compare(prefix) <= 0 } &- 1
        }
    }

    @inline(__always)
    private func partition(from first: Int, _ isBefore: (IndexKey) -> Bool) -> Int {
        var low = first
        var high = count
        while low < high {
            let middle = (low &+ high) >> 1
            if isBefore(key(middle)) { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    // MARK: Children

    @inline(__always)
    func childCount(_ index: Int) -> Int {
        Int(slot(index).load(fromByteOffset: 4, as: UInt32.self))
    }

    func setChildCount(_ index: Int, _ count: Int) {
        slot(index).storeBytes(of: UInt32(count), toByteOffset: 4, as: UInt32.self)
    }

    /// Where the owned reference lives.
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

    /// How many entries the children before `index` hold.
    func entries(before index: Int) -> Int {
        if isLeaf { return index }
        var sum = 0
        for child in 0..<index { sum &+= childCount(child) }
        return sum
    }

    var entries: Int { entries(before: count) }

    // MARK: Changing

    /// Makes place for a key and its slot, which must fit.
    ///
    /// The child of an inner slot is the caller's to fill in.
    func insertKey(_ key: IndexKey, at index: Int) {
        let start = start(of: index)
        (bytes + start + key.count).copyMemory(from: bytes + start, byteCount: byteCount &- start)
        (bytes + start).copyMemory(from: key.base, byteCount: key.count)
        let moved = slot(count)
        moved.copyMemory(from: moved + slotSize, byteCount: slotSize &* (count &- index))
        header.pointee.count &+= 1
        header.pointee.byteCount &+= UInt32(truncatingIfNeeded: key.count)
        setEnd(of: index, to: start &+ key.count)
        shiftEnds(from: index &+ 1, by: key.count)
    }

    /// Takes out a key and its slot.
    ///
    /// The child of an inner slot must have been moved out before.
    func removeKey(at index: Int) {
        let start = start(of: index)
        let end = end(of: index)
        (bytes + start).copyMemory(from: bytes + end, byteCount: byteCount &- end)
        let last = slot(count &- 1)
        (last + slotSize).copyMemory(from: last, byteCount: slotSize &* (count &- 1 &- index))
        header.pointee.count &-= 1
        header.pointee.byteCount &-= UInt32(truncatingIfNeeded: end &- start)
        shiftEnds(from: index, by: start &- end)
    }

    func insertChild(_ child: IndexNode, entries: Int, key: IndexKey, at index: Int) {
        insertKey(key, at: index)
        setChildCount(index, entries)
        self.child(index).initialize(to: child)
    }

    func removeChild(at index: Int) {
        child(index).deinitialize(count: 1)
        removeKey(at: index)
    }

    /// Fills this empty page with all that `source` has, sharing its children.
    func fill(from source: IndexPage) {
        guard slotSize == source.slotSize else { return append(0..<source.count, of: source) }
        let count = source.count
        bytes.copyMemory(from: source.bytes, byteCount: source.byteCount)
        slot(count &- 1).copyMemory(from: source.slot(count &- 1), byteCount: count &* slotSize)
        header.pointee.count = source.header.pointee.count
        header.pointee.byteCount = source.header.pointee.byteCount
        guard !isLeaf else { return }
        for index in 0..<count { child(index).initialize(to: source.child(index).pointee) }
    }

    /// Appends keys of `source`, sharing its children.
    ///
    /// The first one's key becomes `firstKey`, if that is given.
    func append(_ range: Range<Int>, of source: IndexPage, firstKey: IndexKey? = nil) {
        var rest = range
        if let firstKey, let first = rest.popFirst() {
            insertKey(firstKey, at: count)
            copyChild(first, of: source, to: count &- 1)
        }
        guard !rest.isEmpty else { return }
        let start = source.start(of: rest.lowerBound)
        let length = source.end(of: rest.upperBound &- 1) &- start
        (bytes + byteCount).copyMemory(from: source.bytes + start, byteCount: length)
        let shift = byteCount &- start
        let base = count
        for index in rest {
            let target = base &+ index &- rest.lowerBound
            setEnd(of: target, to: source.end(of: index) &+ shift)
            copyChild(index, of: source, to: target)
        }
        header.pointee.count &+= UInt32(truncatingIfNeeded: rest.count)
        header.pointee.byteCount &+= UInt32(truncatingIfNeeded: length)
    }

    private func copyChild(_ index: Int, of source: IndexPage, to target: Int) {
        guard !isLeaf else { return }
        setChildCount(target, source.childCount(index))
        child(target).initialize(to: source.child(index).pointee)
    }

    @inline(__always)
    private func slot(_ index: Int) -> UnsafeMutableRawPointer {
        limit - slotSize &* (index &+ 1)
    }

    private func setEnd(of index: Int, to end: Int) {
        let slot = slot(index)
        if slotSize == 2 {
            slot.storeBytes(of: UInt16(truncatingIfNeeded: end), as: UInt16.self)
        } else {
            slot.storeBytes(of: UInt32(truncatingIfNeeded: end), as: UInt32.self)
        }
    }

    private func shiftEnds(from first: Int, by distance: Int) {
        let count = count
        guard first < count else { return }
        if slotSize == 2 {
            // The slots are contiguous, so that this loop is turned into vector instructions.
            let ends = slot(count &- 1).assumingMemoryBound(to: UInt16.self)
            let change = UInt16(truncatingIfNeeded: distance)
            for index in 0..<(count &- first) { ends[index] &+= change }
        } else {
            for index in first..<count { setEnd(of: index, to: end(of: index) &+ distance) }
        }
    }
}
