/// Entries and row numbers, put together from the prefix and the suffix.
extension IndexPage {
    /// The last eight bytes of an entry as a big-endian number.
    @inline(__always)
    func row(_ index: Int) -> UInt64 {
        row(suffix(index), prefixCount: prefixCount, prefixEnd: prefixEnd)
    }

    /// Calls `body` for the row numbers of the entries at `positions` in order until it returns false; returns whether it never
    /// did.
    ///
    /// The header is read once, which the compiler cannot do by itself across calls of a closure.
    @inline(__always)
    func forEachRow(at positions: Range<Int>, _ body: (UInt64) throws -> Bool) rethrows -> Bool {
        let (limit, slotSize, prefixCount, prefixEnd) = (limit, slotSize, prefixCount, prefixEnd)
        var slot = slot(positions.lowerBound)
        var end = endDistance(of: positions.lowerBound)
        for _ in positions {
            let distance = slotSize == 2 ? Int(slot.load(as: UInt16.self)) : Int(slot.load(as: UInt32.self))
            let suffix = KeyBytes(base: limit - distance, count: distance &- end)
            guard try body(row(suffix, prefixCount: prefixCount, prefixEnd: prefixEnd)) else { return false }
            end = distance
            slot += slotSize
        }
        return true
    }

    /// Runs `body` with a function that returns the entry at a position; its bytes are valid until the next call.
    func withEntries<Result>(_ body: ((Int) -> UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeTemporaryAllocation(byteCount: max(1, byteCount), alignment: 1) { room in
            let base = room.baseAddress!
            let prefix = prefix
            base.copyMemory(from: prefix.base, byteCount: prefix.count)
            return try body { index in
                let suffix = suffix(index)
                (base + prefix.count).copyMemory(from: suffix.base, byteCount: suffix.count)
                return UnsafeRawBufferPointer(start: base, count: prefix.count &+ suffix.count)
            }
        }
    }

    /// The eight bytes before `limit`; the last ones are the prefix's.
    private var prefixEnd: UInt64 {
        UInt64(bigEndian: (limit - 8).loadUnaligned(as: UInt64.self))
    }

    /// In a page at least eight bytes lie before any key's end, namely the header's.
    @inline(__always)
    private func row(_ suffix: KeyBytes, prefixCount: Int, prefixEnd: UInt64) -> UInt64 {
        let count = prefixCount &+ suffix.count
        precondition(count >= 8, "an entry of \(count) bytes carries no row number")
        let end = (suffix.base + suffix.count - 8).loadUnaligned(as: UInt64.self)
        let row = UInt64(bigEndian: end)
        guard suffix.count < 8 else { return row }
        let bits = UInt64(8 &* suffix.count)
        return prefixEnd << bits | row & ((1 << bits) &- 1)
    }
}
