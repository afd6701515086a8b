/// Inserting keys into a page, removing them, and copying them from another one.
extension IndexPage {
    /// Sets the prefix of an empty page for all its future keys.
    func setPrefix(_ prefix: PrefixedKey) {
        prefix.copy(to: limit - prefix.count)
        header.pointee.prefixCount = UInt8(prefix.count)
        header.pointee.byteCount = UInt32(truncatingIfNeeded: prefix.count)
    }

    /// Makes room for a key and its slot, which must fit. The key begins with the prefix.
    ///
    /// The caller sets the child of an inner slot.
    func insertKey(_ key: PrefixedKey, at index: Int) {
        let rest = key.dropFirst(prefixCount)
        rest.copy(to: makePlace(for: rest.count, at: index))
    }

    func insertKey(_ key: KeyBytes, at index: Int) {
        let rest = key.dropFirst(prefixCount)
        makePlace(for: rest.count, at: index).copyMemory(from: rest.base, byteCount: rest.count)
    }

    /// Appends a key of a leaf, which follows all others and must fit.
    @inline(__always)
    func appendKey(_ key: KeyBytes) {
        let (rest, index) = (key.dropFirst(prefixCount), count)
        let distance = byteCount &+ rest.count
        (limit - distance).copyMemory(from: rest.base, byteCount: rest.count)
        setDistance(of: index, to: distance)
        header.pointee.runLength = min(header.pointee.runLength, .max - 1) + 1
        header.pointee.runEnd = UInt16(truncatingIfNeeded: index &+ 1)
        header.pointee.count &+= 1
        header.pointee.byteCount = UInt32(truncatingIfNeeded: distance)
    }

    /// The address for the bytes of a new key.
    private func makePlace(for length: Int, at index: Int) -> UnsafeMutableRawPointer {
        let end = endDistance(of: index)
        let lowest = limit - byteCount
        (lowest - length).copyMemory(from: lowest, byteCount: byteCount &- end)
        let slot = slot(index)
        (slot + slotSize).copyMemory(from: slot, byteCount: slotSize &* (count &- index))
        header.pointee.runLength = index == runEnd ? min(header.pointee.runLength, .max - 1) + 1 : 0
        header.pointee.runEnd = UInt16(truncatingIfNeeded: index &+ 1)
        header.pointee.count &+= 1
        header.pointee.byteCount &+= UInt32(truncatingIfNeeded: length)
        setDistance(of: index, to: end &+ length)
        shiftDistances(from: index &+ 1, by: length)
        return limit - end - length
    }

    /// Removes a key and its slot.
    ///
    /// The child of an inner slot must have been moved out before.
    func removeKey(at index: Int) {
        let end = endDistance(of: index)
        let distance = distance(of: index)
        let lowest = limit - byteCount
        (lowest + (distance &- end)).copyMemory(from: lowest, byteCount: byteCount &- distance)
        let slot = slot(index)
        slot.copyMemory(from: slot + slotSize, byteCount: slotSize &* (count &- 1 &- index))
        header.pointee.runLength = 0
        header.pointee.count &-= 1
        header.pointee.byteCount &-= UInt32(truncatingIfNeeded: distance &- end)
        shiftDistances(from: index, by: end &- distance)
    }

    func insertChild(_ child: IndexNode, entries: Int, key: PrefixedKey, at index: Int) {
        insertKey(key, at: index)
        setChildCount(index, entries)
        self.child(index).initialize(to: child)
    }

    func removeChild(at index: Int) {
        child(index).deinitialize(count: 1)
        removeKey(at: index)
    }

    /// Fills this empty page with everything in `source`, sharing its children.
    func fill(from source: IndexPage) {
        guard slotSize == source.slotSize else {
            setPrefix(PrefixedKey(source.prefix))
            return append(0..<source.count, of: source)
        }
        let (count, byteCount) = (source.count, source.byteCount)
        (limit - byteCount).copyMemory(from: source.limit - byteCount, byteCount: byteCount)
        slots.copyMemory(from: source.slots, byteCount: count &* slotSize)
        header.pointee.count = source.header.pointee.count
        header.pointee.byteCount = source.header.pointee.byteCount
        header.pointee.prefixCount = source.header.pointee.prefixCount
        header.pointee.runLength = source.header.pointee.runLength
        header.pointee.runEnd = source.header.pointee.runEnd
        guard !isLeaf else { return }
        for index in 0..<count { child(index).initialize(to: source.child(index).pointee) }
    }

    /// Appends keys of `source`, which begin with this page's prefix, sharing its children.
    ///
    /// `firstKey`, if any, replaces the first one's key.
    func append(_ range: Range<Int>, of source: IndexPage, firstKey: PrefixedKey? = nil) {
        defer {
            if range.contains(source.runEnd &- 1) {
                header.pointee.runLength = source.header.pointee.runLength
                header.pointee.runEnd = UInt16(truncatingIfNeeded: count &- range.upperBound &+ source.runEnd)
            }
        }
        var rest = range
        if let firstKey, let first = rest.popFirst() {
            insertKey(firstKey, at: count)
            copyChild(first, of: source, to: count &- 1)
        }
        guard !rest.isEmpty else { return }
        guard prefixCount == source.prefixCount else {
            for index in rest {
                insertKey(source.key(index), at: count)
                copyChild(index, of: source, to: count &- 1)
            }
            return
        }
        let end = source.endDistance(of: rest.lowerBound)
        let distance = source.distance(of: rest.upperBound &- 1)
        let length = distance &- end
        (limit - byteCount - length).copyMemory(from: source.limit - distance, byteCount: length)
        let shift = byteCount &- end
        let base = count
        for index in rest {
            let target = base &+ index &- rest.lowerBound
            setDistance(of: target, to: source.distance(of: index) &+ shift)
            copyChild(index, of: source, to: target)
        }
        header.pointee.count &+= UInt16(truncatingIfNeeded: rest.count)
        header.pointee.byteCount &+= UInt32(truncatingIfNeeded: length)
    }

    private func copyChild(_ index: Int, of source: IndexPage, to target: Int) {
        guard !isLeaf else { return }
        setChildCount(target, source.childCount(index))
        child(target).initialize(to: source.child(index).pointee)
    }

    private func setDistance(of index: Int, to distance: Int) {
        let slot = slot(index)
        if slotSize == 2 {
            slot.storeBytes(of: UInt16(truncatingIfNeeded: distance), as: UInt16.self)
        } else {
            slot.storeBytes(of: UInt32(truncatingIfNeeded: distance), as: UInt32.self)
        }
    }

    private func shiftDistances(from first: Int, by change: Int) {
        let count = count
        guard first < count else { return }
        if slotSize == 2 {
            // The slots are contiguous, so that the compiler vectorizes this loop.
            let distances = slot(first).assumingMemoryBound(to: UInt16.self)
            let change = UInt16(truncatingIfNeeded: change)
            for index in 0..<(count &- first) { distances[index] &+= change }
        } else {
            for index in first..<count { setDistance(of: index, to: distance(of: index) &+ change) }
        }
    }
}
