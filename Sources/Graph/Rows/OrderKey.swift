/// A position in the order of a relationship's members: between any two different keys there is room for another one, so that
/// moving a member writes only that member's key.
///
/// Eight bytes of a number, which appending and prepending count up and down in steps; then digits of four bytes each, once the
/// numbers between two neighbors are used up. All are big-endian, so that keys order as their bytes. A new key lies close to
/// the neighbor that was inserted later, which is the one with the finer key: most members that are inserted between two others
/// come one after another, from the left or from the right, and then a digit lasts for eight thousand of them. Inserting
/// alternately between the last two uses it up with twenty.
///
/// Dense keys instead of renumbering: Weiss, Urso and Molli, *Logoot* (ICDCS 2009), and Nédelec and others, *LSEQ* (DocEng
/// 2013), for replicas that edit one sequence without coordination, as two contexts do.
///
/// Invariants: a digit's first byte is not 0, so that a 0 may end a key; the last digit is not the least one, and 0 without
/// digits is no key, so that every key has keys before it.
struct OrderKey: Sendable, Hashable {
    private(set) var bytes: [UInt8]

    private static let first: UInt64 = 1 << 63
    /// The distance of numbers that are appended one after another.
    private static let step: UInt64 = 1 << 20
    private static let numberBytes = 8
    private static let digitBytes = 4
    private static let leastDigit: UInt64 = 1 << 24
    private static let digitEnd: UInt64 = 1 << 32

    private init(_ number: UInt64) {
        bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// The key with these bytes; nil if they break an invariant.
    init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count >= Self.numberBytes, bytes.count % Self.digitBytes == 0 else { return nil }
        self.bytes = bytes
        guard (0..<digitCount).allSatisfy({ digit($0) >= Self.leastDigit }) else { return nil }
        guard digitCount == 0 ? number > 0 : digit(digitCount - 1) != Self.leastDigit else { return nil }
    }

    /// A key after `lower` and before `upper`; nil stands for the end of the order.
    ///
    /// - Precondition: `lower` comes before `upper`.
    static func between(_ lower: OrderKey?, _ upper: OrderKey?) -> OrderKey {
        switch (lower, upper) {
        case (nil, nil):
            return OrderKey(first)
        case (let lower?, nil):
            let (next, overflow) = lower.number.addingReportingOverflow(step)
            return overflow ? lower.following(nil, .middle) : OrderKey(next)
        case (nil, let upper?):
            if upper.number > step { return OrderKey(upper.number - step) }
            return upper.number > 1 ? OrderKey(upper.number / 2) : OrderKey(0).following(upper, .middle)
        case (let lower?, let upper?):
            precondition(lower < upper, "there is nothing between \(lower) and \(upper)")
            let side = Side(between: lower, upper)
            guard upper.number - lower.number > 1 else { return lower.following(upper, side) }
            return OrderKey(side.choice(between: lower.number, upper.number, step: 1 << 10))
        }
    }

    /// Where a new key lies between its neighbours.
    private enum Side {
        case nearLower
        case middle
        case nearUpper

        init(between lower: OrderKey, _ upper: OrderKey) {
            let (fine, other) = (lower.fineness, upper.fineness)
            self = fine > other ? .nearLower : fine < other ? .nearUpper : .middle
        }

        /// A number strictly between two others that are at least two apart.
        func choice(between lower: UInt64, _ upper: UInt64, step: UInt64) -> UInt64 {
            let half = (upper - lower) / 2
            return switch self {
            case .nearLower: lower + min(half, step)
            case .middle: lower + half
            case .nearUpper: upper - min(half, step)
            }
        }
    }

    /// Grows with every digit, and within a digit with the number of its significant bits.
    private var fineness: Int {
        let last = digitCount > 0 ? digit(digitCount - 1) : number
        return bytes.count * 64 - last.trailingZeroBitCount
    }

    /// A key between this one and one whose number is the same or the next; nil stands for the next number.
    private func following(_ upper: OrderKey?, _ side: Side) -> OrderKey {
        var key = OrderKey(number)
        var bound = upper.flatMap { $0.number == number ? $0 : nil }
        var offset = 0
        while true {
            let low = offset < digitCount ? digit(offset) : Self.leastDigit
            // A bound comes after this key; it is compared for as long as both are the same.
            let high = bound.map { $0.digit(offset) } ?? Self.digitEnd
            if high - low > 1 {
                // Where no key lies yet, as many may come from either side.
                let side = low == Self.leastDigit && high == Self.digitEnd ? .middle : side
                key.append(digit: side.choice(between: low, high, step: 1 << 18))
                return key
            }
            if let end = bound, high > low, offset + 1 < end.digitCount {
                key.append(digit: high)
                return key
            }
            key.append(digit: low)
            if high > low { bound = nil }
            offset += 1
        }
    }

    private var number: UInt64 {
        bytes.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    private var digitCount: Int { (bytes.count - Self.numberBytes) / Self.digitBytes }

    private func digit(_ offset: Int) -> UInt64 {
        let start = Self.numberBytes + offset * Self.digitBytes
        let digit = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: start, as: UInt32.self) }
        return UInt64(UInt32(bigEndian: digit))
    }

    private mutating func append(digit: UInt64) {
        withUnsafeBytes(of: UInt32(digit).bigEndian) { bytes.append(contentsOf: $0) }
    }
}

extension OrderKey: Comparable {
    static func < (lhs: OrderKey, rhs: OrderKey) -> Bool { lhs.bytes.lexicographicallyPrecedes(rhs.bytes) }
}
