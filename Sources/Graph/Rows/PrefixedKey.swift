/// A whole key of a page: the common prefix of the page, and the suffix.
///
/// Like `KeyBytes`, it does not own the bytes.
struct PrefixedKey {
    let prefix: KeyBytes
    let suffix: KeyBytes

    static var empty: PrefixedKey { PrefixedKey(prefix: .empty, suffix: .empty) }

    init(prefix: KeyBytes, suffix: KeyBytes) {
        self.prefix = prefix
        self.suffix = suffix
    }

    init(_ key: KeyBytes) {
        self.init(prefix: .empty, suffix: key)
    }

    var count: Int { prefix.count &+ suffix.count }

    /// In the order of `KeyBytes.compare`.
    func compare(_ other: PrefixedKey) -> Int {
        guard prefix.count <= other.prefix.count else { return -other.compare(self) }
        let order = prefix.compare(other.prefix.prefix(prefix.count))
        guard order == 0 else { return order }
        let between = other.prefix.dropFirst(prefix.count)
        let next = suffix.prefix(between.count).compare(between)
        guard next == 0 else { return next }
        return suffix.dropFirst(between.count).compare(other.suffix)
    }

    func hasPrefix(_ other: KeyBytes) -> Bool {
        prefix.prefix(other.count).compare(other.prefix(prefix.count)) == 0
            && suffix.hasPrefix(other.dropFirst(prefix.count))
    }

    func dropFirst(_ length: Int) -> PrefixedKey {
        PrefixedKey(prefix: prefix.dropFirst(length), suffix: suffix.dropFirst(max(0, length &- prefix.count)))
    }

    func prefix(_ length: Int) -> PrefixedKey {
        PrefixedKey(prefix: prefix.prefix(length), suffix: suffix.prefix(max(0, length &- prefix.count)))
    }

    /// The length of the common prefix of both keys.
    func sharedCount(with other: PrefixedKey) -> Int {
        guard prefix.count <= other.prefix.count else { return other.sharedCount(with: self) }
        let first = prefix.sharedCount(with: other.prefix)
        guard first == prefix.count else { return first }
        let between = other.prefix.dropFirst(first)
        let second = suffix.sharedCount(with: between)
        guard second == between.count else { return first &+ second }
        return first &+ second &+ suffix.dropFirst(second).sharedCount(with: other.suffix)
    }

    /// Copies all bytes to `target`, which has room for them.
    @inline(__always)
    func copy(to target: UnsafeMutableRawPointer) {
        target.copyMemory(from: prefix.base, byteCount: prefix.count)
        (target + prefix.count).copyMemory(from: suffix.base, byteCount: suffix.count)
    }

    var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            if let base = buffer.baseAddress { copy(to: base) }
            initializedCount = count
        }
    }
}
