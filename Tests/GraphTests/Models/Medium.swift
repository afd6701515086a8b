@testable import Graph

/// What is on a simulated disk: files as programs see them, as the medium holds them, and what is still on its way.
struct Medium {
    /// What takes the place of bytes that were lost.
    enum Fill: CaseIterable {
        case old
        case zeros
        case garbage
        /// What was at that place before the file was last cut.
        case ghost
    }

    enum Change {
        /// Within one sector.
        case bytes(offset: Int, [UInt8])
        case length(Int)
    }

    enum NameChange {
        case set(StorePath, Int)
        case remove(StorePath)
        case move(StorePath, StorePath, Int)
    }

    struct Inode {
        var current: [UInt8] = []
        var durable: [UInt8] = []
        var ghost: [UInt8] = []
        var pending: [Change] = []
        var linkCount: UInt64 = 1
        var kind = FileStatus.Kind.regular
        var permissions: UInt16 = 0o600
        var modified: Int64 = 0
        /// Zeros that take no blocks, as the file system tells.
        var hole: Range<Int>?
        /// A lock file: never synced while all goes well, so that its changes are counted apart.
        var isLock = false
    }

    var inodes: [Inode] = []
    var names: [StorePath: Int] = [:]
    var durableNames: [StorePath: Int] = [:]
    var pendingNames: [NameChange] = []

    /// The number of changes that a crash may keep or lose independently, without those of lock files.
    var pendingCount: Int { inodes.reduce(0) { $0 + ($1.isLock ? 0 : $1.pending.count) } }

    /// The number of changes of lock files. All go to one page, so that a crash leaves the first so many of them.
    var pendingLockCount: Int { inodes.reduce(0) { $0 + ($1.isLock ? $1.pending.count : 0) } }

    /// Which changes of names a crash may keep: any of a few; of many none, all, and the first so many.
    var nameMasks: [UInt64] {
        let count = pendingNames.count
        guard count > 4 else { return Array(0..<(1 << UInt64(count))) }
        return (0...count).map { $0 < 64 ? (1 << UInt64($0)) - 1 : .max }
    }

    /// A new file gets the blocks of one that has no name any more, with what they hold.
    mutating func create(_ path: StorePath, modified: Int64) -> Int {
        let removed = inodes.last { $0.linkCount == 0 && !$0.isLock }
        inodes.append(Inode(ghost: removed.map(\.durable) ?? [], modified: modified))
        names[path] = inodes.count - 1
        pendingNames.append(.set(path, inodes.count - 1))
        return inodes.count - 1
    }

    mutating func place(_ bytes: [UInt8], at path: StorePath) {
        inodes.append(Inode(current: bytes, durable: bytes, isLock: path.text.hasSuffix(".lock")))
        names[path] = inodes.count - 1
        durableNames[path] = inodes.count - 1
    }

    mutating func rename(_ path: StorePath, to newPath: StorePath) -> Bool {
        guard let inode = names.removeValue(forKey: path) else { return false }
        if let replaced = names[newPath] { inodes[replaced].linkCount -= 1 }
        names[newPath] = inode
        if newPath.text.hasSuffix(".lock") { inodes[inode].isLock = true }
        pendingNames.append(.move(path, newPath, inode))
        return true
    }

    mutating func link(_ path: StorePath, to newPath: StorePath) -> Bool {
        guard let inode = names[path] else { return false }
        names[newPath] = inode
        inodes[inode].linkCount += 1
        pendingNames.append(.set(newPath, inode))
        return true
    }

    mutating func unlink(_ path: StorePath) -> Bool {
        guard let inode = names.removeValue(forKey: path) else { return false }
        inodes[inode].linkCount -= 1
        pendingNames.append(.remove(path))
        return true
    }

    func extent(of inode: Int) -> FileExtent {
        FileExtent(
            lengthBytes: UInt64(inodes[inode].current.count), linkCount: inodes[inode].linkCount,
            identity: FileIdentity(device: 1, inode: UInt64(inode)))
    }

    mutating func syncNames() {
        Self.apply(pendingNames, to: &durableNames)
        pendingNames = []
    }

    /// The medium after a power cut that kept the pending changes of a mask, and for the rest what comes by chance.
    ///
    /// - Parameter nameMask: those of names; by chance, too, unless it is given.
    func crashed(
        keeping mask: UInt64, keepingNames nameMask: UInt64? = nil, using random: inout SeededGenerator
    ) -> Medium {
        let nameMask = nameMask ?? random.next()
        return crashed(
            keeps: { mask & (1 << UInt64($0 % 64)) != 0 },
            fill: Fill.allCases.randomElement(using: &random) ?? .old,
            keepsLength: random.chance(2),
            keepsName: { nameMask & (1 << UInt64($0 % 64)) != 0 })
    }

    /// The medium after a power cut that kept the pending changes for which `keeps` says so, the first `namesKept` changes of
    /// names, and the first `lockChangesKept` of lock files.
    func crashed(
        keeps: (Int) -> Bool, fill: Fill, keepsLength: Bool, namesKept: Int, lockChangesKept: Int = .max
    ) -> Medium {
        crashed(
            keeps: keeps, fill: fill, keepsLength: keepsLength, keepsName: { $0 < namesKept },
            lockChangesKept: lockChangesKept)
    }

    /// The medium after a power cut that kept the pending changes for which `keeps` says so, the changes of names for which
    /// `keepsName` does, in their order, and the first `lockChangesKept` of lock files.
    func crashed(
        keeps: (Int) -> Bool, fill: Fill, keepsLength: Bool, keepsName: (Int) -> Bool, lockChangesKept: Int = .max
    ) -> Medium {
        var result = self
        let kept = pendingNames.enumerated().filter { keepsName($0.offset) }.map(\.element)
        Self.apply(kept, to: &result.durableNames)
        result.pendingNames = []
        result.names = result.durableNames
        var ordinal = 0
        for index in inodes.indices {
            for (number, change) in inodes[index].pending.enumerated() {
                if inodes[index].isLock {
                    let kept = number < lockChangesKept
                    result.inodes[index].land(change, kept: kept, fill: .old, keepsLength: keepsLength)
                    continue
                }
                let kept = keeps(ordinal)
                result.inodes[index].land(change, kept: kept, fill: fill, keepsLength: keepsLength)
                ordinal += 1
            }
            result.inodes[index].pending = []
            result.inodes[index].current = result.inodes[index].durable
        }
        // A file has a name again if the removal of that was lost, and lacks one if the addition was.
        for inode in Set(result.names.values) {
            result.inodes[inode].linkCount = UInt64(result.names.values.count { $0 == inode })
        }
        return result
    }

    /// A renaming is one change: after a crash a file has the old name or the new one. It needs none of the changes before: what
    /// a folder says of a name stands alone.
    private static func apply(_ changes: [NameChange], to names: inout [StorePath: Int]) {
        for change in changes {
            switch change {
            case .set(let path, let inode): names[path] = inode
            case .remove(let path): names[path] = nil
            case .move(let old, let new, let inode):
                if names[old] == inode { names[old] = nil }
                names[new] = inode
            }
        }
    }
}

extension Medium.Inode {
    var status: FileStatus {
        FileStatus(
            kind: kind, lengthBytes: UInt64(current.count), linkCount: linkCount, permissions: permissions,
            modifiedNanoseconds: modified)
    }

    func dataOffset(from offset: Int) -> Int? {
        let start = hole.map { $0.contains(offset) ? $0.upperBound : offset } ?? offset
        return start < current.count ? start : nil
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, count: Int, at offset: Int) -> Int {
        let available = min(count, max(0, current.count - offset))
        if available > 0 { buffer.copyBytes(from: current[offset..<(offset + available)]) }
        return available
    }

    mutating func write(_ bytes: [UInt8], at offset: Int) {
        Self.put(bytes, at: offset, into: &current)
        var position = 0
        while position < bytes.count {
            let start = offset + position
            let sectorEnd = (start / SimulatedDisk.sectorBytes + 1) * SimulatedDisk.sectorBytes
            let count = min(sectorEnd - start, bytes.count - position)
            pending.append(.bytes(offset: start, Array(bytes[position..<(position + count)])))
            position += count
        }
    }

    /// Pages beyond the new end are dropped, not written.
    mutating func truncate(to length: Int) {
        Self.resize(&current, to: length)
        pending = pending.compactMap { change in
            guard case .bytes(let offset, let bytes) = change else { return change }
            return offset < length ? .bytes(offset: offset, Array(bytes.prefix(length - offset))) : nil
        }
        pending.append(.length(length))
    }

    mutating func sync() {
        for change in pending { land(change, kept: true, fill: .old, keepsLength: true) }
        pending = []
        if durable.count != current.count { cut(to: current.count) }
    }

    mutating func failSync(reverts: Bool) {
        pending = []
        if reverts { current = durable }
    }

    /// Lets one change reach the medium, or not, with what then is in its place.
    mutating func land(_ change: Medium.Change, kept: Bool, fill: Medium.Fill, keepsLength: Bool) {
        switch change {
        case .length(let length):
            if kept { cut(to: length) }
        case .bytes(let offset, let bytes) where kept:
            Self.put(bytes, at: offset, into: &durable)
        case .bytes(let offset, let bytes):
            if keepsLength, durable.count < offset { cut(to: offset) }
            for (index, byte) in bytes.enumerated() {
                let position = offset + index
                if position < durable.count {
                    if durable[position] != byte, fill == .zeros || fill == .garbage {
                        durable[position] = substitute(fill, position)
                    }
                } else if keepsLength {
                    durable.append(substitute(fill, position))
                }
            }
        }
    }

    private func substitute(_ fill: Medium.Fill, _ position: Int) -> UInt8 {
        switch fill {
        case .old, .zeros: 0
        case .garbage: UInt8(truncatingIfNeeded: (position &* 0x9E37_79B1) >> 11) | 1
        case .ghost: position < ghost.count ? ghost[position] : 0
        }
    }

    private mutating func cut(to length: Int) {
        if length < durable.count {
            if ghost.count < durable.count { Self.resize(&ghost, to: durable.count) }
            ghost.replaceSubrange(length..<durable.count, with: durable[length...])
        }
        Self.resize(&durable, to: length)
    }

    private static func put(_ bytes: [UInt8], at offset: Int, into target: inout [UInt8]) {
        if target.count < offset + bytes.count { resize(&target, to: offset + bytes.count) }
        target.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    }

    private static func resize(_ bytes: inout [UInt8], to length: Int) {
        if bytes.count > length {
            bytes.removeLast(bytes.count - length)
        } else {
            bytes.append(contentsOf: [UInt8](repeating: 0, count: length - bytes.count))
        }
    }
}
