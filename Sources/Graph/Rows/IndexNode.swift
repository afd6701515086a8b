/// A node of an ordered index: one allocation that holds a page (see `IndexPage`) behind the object's header.
///
/// A node that is referenced once is changed in place; one that several trees or parents share is immutable, and copied
/// before a change. That is path copying after Driscoll, Sarnak, Sleator and Tarjan, *Making Data Structures
/// Persistent*, JCSS 38 (1989), done only where a version is still held.
final class IndexNode: ManagedBuffer<IndexPage.Header, UInt64> {
    /// The size from which a page is split, by measurement: bigger pages scan and build a little faster, smaller ones make the
    /// copied path of a small commit cheaper.
    static var pageBytes: Int { 768 }

    /// A smaller page is joined with a neighbor, or filled up from it.
    static var sparseBytes: Int { pageBytes / 3 }

    /// After this many keys in ascending order the next one is likely to continue the run.
    static var shortestRun: Int { 16 }

    /// The longest key for which every sum of sizes stays well within 32 bits.
    static var longestKey: Int { 1 << 30 }

    /// An inner page of one child would be a useless level.
    static func minimumCount(level: Int) -> Int { level == 0 ? 1 : 2 }

    /// The memory stays in place while the node lives; see `IndexPage` for who may write to it.
    ///
    /// The optimizer may release a node after the last use of a reference to it, whatever pointers lead into it. So where
    /// following code may release a node, the last use of its page is inside `withExtendedLifetime`.
    @inline(__always)
    var page: IndexPage {
        withUnsafeMutablePointerToHeader { IndexPage(header: $0) }
    }

    deinit {
        let page = page
        guard !page.isLeaf else { return }
        for index in 0..<page.count { page.child(index).deinitialize(count: 1) }
    }

    /// An empty page with room for `count` keys that take `keyBytes` with their prefix, and of at least `minimumBytes`.
    static func make(level: Int, count: Int, keyBytes: Int, minimumBytes: Int = 0) -> IndexNode {
        var slotSize = level > 0 ? IndexPage.innerSlotSize : IndexPage.leafSlotSize
        var capacity = max(minimumBytes, keyBytes &+ count &* slotSize)
        if level == 0, capacity > IndexPage.narrowCapacity {
            slotSize = IndexPage.wideLeafSlotSize
            capacity = max(minimumBytes, keyBytes &+ count &* slotSize)
        }
        let words = (capacity &+ 7) / 8
        let buffer = create(minimumCapacity: words) { buffer in
            // `IndexPage.bytes` relies on it.
            assert(
                buffer.withUnsafeMutablePointers { UnsafeRawPointer($0 + 1) == UnsafeRawPointer($1) },
                "the elements do not follow the header")
            return IndexPage.Header(
                count: 0, level: UInt8(level), slotSize: UInt8(slotSize), byteCount: 0, capacity: UInt32(words &* 8),
                prefixCount: 0, runLength: 0, runEnd: 0)
        }
        // `create` makes an instance of the class that it is called on.
        return unsafeDowncast(buffer, to: IndexNode.self)
    }

    /// Makes `node` safe to change, by copying it if anything else refers to it.
    @inline(__always)
    static func makeUnique(_ node: inout IndexNode) {
        if !isKnownUniquelyReferenced(&node) { node = node.copy() }
    }

    /// Makes `node` safe to change, with room for more keys of `length` bytes in all behind the prefix.
    @inline(__always)
    static func makeUnique(_ node: inout IndexNode, roomForKeysOf length: Int, count: Int = 1) {
        let page = node.page
        if page.freeBytes < length &+ count &* page.slotSize || !isKnownUniquelyReferenced(&node) {
            node = node.copy(roomForKeysOf: length, count: count)
        }
    }

    private func copy() -> IndexNode {
        let page = page
        let node = IndexNode.make(level: page.level, count: page.count, keyBytes: page.byteCount)
        withExtendedLifetime(self) { node.page.fill(from: page) }
        return node
    }

    /// Growing a page step by step costs a few copies of half a page, and saves memory: after random inserts pages are two
    /// thirds full on average.
    private func copy(roomForKeysOf length: Int, count: Int) -> IndexNode {
        let page = page
        let needed = page.usedBytes &+ length &+ count &* page.slotSize
        let node = IndexNode.make(
            level: page.level, count: page.count &+ count, keyBytes: page.byteCount &+ length,
            minimumBytes: min(Self.pageBytes, max(64, needed &+ needed / 4)))
        withExtendedLifetime(self) { node.page.fill(from: page) }
        return node
    }
}
