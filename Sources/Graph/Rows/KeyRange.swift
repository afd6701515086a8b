/// A range of the keys of one property, as the bytes that `KeyOperations` appends.
struct KeyRange: Hashable, Sendable {
    /// Keys before these bytes are not in the range.
    let lower: [UInt8]
    /// Keys from these bytes on are not in the range; nil if it has no end.
    let upper: [UInt8]?
    /// Whether keys that begin with `upper` are in the range all the same.
    let includesUpper: Bool

    init(from lower: [UInt8], upTo upper: [UInt8]?, includesUpper: Bool) {
        (self.lower, self.upper, self.includesUpper) = (lower, upper, includesUpper)
    }

    /// The keys that begin with these bytes.
    init(prefix: [UInt8]) {
        self.init(from: prefix, upTo: prefix, includesUpper: true)
    }

    /// Whether it has exactly the keys that begin with `lower`, which may be a whole key.
    var isPrefix: Bool { includesUpper && lower == upper }

    /// - Parameter key: of one property, without what follows it in the entries of an index.
    func contains(_ key: UnsafeRawBufferPointer) -> Bool { !key.lexicographicallyPrecedes(lower) && ends(behind: key) }

    /// Whether a key is not behind the range.
    func ends(behind key: UnsafeRawBufferPointer) -> Bool {
        guard let upper else { return true }
        return key.lexicographicallyPrecedes(upper) || includesUpper && key.starts(with: upper)
    }

    /// Whether some keys behind this range are not behind the other one.
    func ends(before other: KeyRange) -> Bool {
        guard let upper else { return false }
        guard let otherUpper = other.upper else { return true }
        if includesUpper, otherUpper.starts(with: upper) { return false }
        if other.includesUpper, upper.starts(with: otherUpper) { return true }
        return upper.lexicographicallyPrecedes(otherUpper)
    }

    /// Calls the body with the range of an index whose keys begin with the property's.
    func withIndexRange<Result>(_ body: (IndexRange) throws -> Result) rethrows -> Result {
        try lower.withUnsafeBytes { lower in
            guard let upper else { return try body(IndexRange(from: .entry(lower))) }
            return try upper.withUnsafeBytes { upper in
                try body(IndexRange(from: .entry(lower), upTo: includesUpper ? .pastPrefix(upper) : .entry(upper)))
            }
        }
    }
}
