/// Bytes elsewhere: an entry or a separator, seen without owning it.
///
/// Unlike `UnsafeRawBufferPointer` the base is never nil, which keeps a branch out of every comparison. Its maker keeps the
/// memory alive: callers' buffers outlive the call that they were passed to, and a page's bytes outlive the call because the
/// tree holds the page.
struct KeyBytes {
    let base: UnsafeRawPointer
    let count: Int

    init(base: UnsafeRawPointer, count: Int) {
        self.base = base
        self.count = count
    }

    init(_ buffer: UnsafeRawBufferPointer) {
        // An empty buffer may come without an address. The stand-in is never read, because the count is 0.
        base = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: MemoryLayout<UInt64>.alignment)!
        count = buffer.count
    }

    static var empty: KeyBytes { KeyBytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

    var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// The last eight bytes as a big-endian number.
    @inline(__always)
    var row: UInt64 {
        precondition(count >= 8, "an entry of \(count) bytes carries no row number")
        return UInt64(bigEndian: base.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
    }

    @inline(__always)
    func prefix(_ length: Int) -> KeyBytes {
        KeyBytes(base: base, count: min(count, length))
    }

    /// The bytes after the first `length`; empty if there are no more than those.
    @inline(__always)
    func dropFirst(_ length: Int) -> KeyBytes {
        let length = min(count, length)
        return KeyBytes(base: base + length, count: count &- length)
    }

    @inline(__always)
    func hasPrefix(_ other: KeyBytes) -> Bool {
        count >= other.count && prefix(other.count).compare(other) == 0
    }

    /// Negative, zero or positive, in the order of `memcmp` with a shorter prefix first.
    ///
    /// Compares eight bytes at a time: a big-endian word orders like its bytes. The last words of the common length may
    /// overlap bytes that were already found equal, which changes nothing.
    @inline(__always)
    func compare(_ other: KeyBytes) -> Int {
        let shared = min(count, other.count)
        var offset = 0
        while offset &+ 8 <= shared {
            let ours = word(at: offset)
            let theirs = other.word(at: offset)
            if ours != theirs { return ours < theirs ? -1 : 1 }
            offset &+= 8
        }
        if offset < shared {
            if shared >= 8 {
                let ours = word(at: shared &- 8)
                let theirs = other.word(at: shared &- 8)
                if ours != theirs { return ours < theirs ? -1 : 1 }
            } else {
                while offset < shared {
                    let ours = base.load(fromByteOffset: offset, as: UInt8.self)
                    let theirs = other.base.load(fromByteOffset: offset, as: UInt8.self)
                    if ours != theirs { return ours < theirs ? -1 : 1 }
                    offset &+= 1
                }
            }
        }
        return count &- other.count
    }

    /// The shortest prefix of `self` that is greater than `smaller`, which is less than `self`.
    ///
    /// Bayer and Unterauer, *Prefix B-Trees*, ACM TODS 2 (1977): a separator need not be a key, only lie between two.
    func shortestSeparator(above smaller: KeyBytes) -> KeyBytes {
        prefix(sharedCount(with: smaller) &+ 1)
    }

    /// The length of the common prefix.
    func sharedCount(with other: KeyBytes) -> Int {
        let shared = min(count, other.count)
        var offset = 0
        while offset &+ 8 <= shared {
            let difference = word(at: offset) ^ other.word(at: offset)
            if difference != 0 { return offset &+ difference.leadingZeroBitCount / 8 }
            offset &+= 8
        }
        while offset < shared, buffer[offset] == other.buffer[offset] { offset &+= 1 }
        return offset
    }

    /// The eight bytes behind the first `length` as a number, padded with zeros: numbers that differ order like the keys.
    @inline(__always)
    func head(after length: Int) -> UInt64 {
        let rest = count &- length
        if rest >= 8 { return word(at: length) }
        if count >= 8 { return word(at: count &- 8) << UInt64(8 &* (8 &- rest)) }
        var head: UInt64 = 0
        for offset in length..<count { head = head << 8 | UInt64(base.load(fromByteOffset: offset, as: UInt8.self)) }
        return head << UInt64(8 &* (8 &- rest))
    }

    /// Eight bytes as a big-endian number; they must lie within the key.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        UInt64(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

/// Both halves of a product in one word: the step of Wang Yi's wyhash, which mixes all bits of two words.
@inline(__always)
func foldedProduct(_ lhs: UInt64, _ rhs: UInt64) -> UInt64 {
    let product = lhs.multipliedFullWidth(by: rhs)
    return product.high ^ product.low
}
