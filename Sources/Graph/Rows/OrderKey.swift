/// A place in the order of a relationship's members: between any two different keys there is room for another one, so that
/// whoever moves a member writes that member's key alone.
///
/// Eight bytes of a big-endian number, which appending and prepending count up and down in steps, then the digits of a
/// fraction, once halving what lies between two neighbours has used up the numbers between them. Keys order as their
/// bytes. A member costs one byte more for about every seven that were put between the same two neighbours before it.
///
/// Dense keys instead of numbers to be handed out anew: Weiss, Urso and Molli, *Logoot* (ICDCS 2009), for replicas that
/// edit one sequence without asking each other, which two contexts are.
///
/// Invariants: digits are 1 … 255, the last one is not 1, and 0 without a fraction is no key, so that every key has keys
/// before it.
struct OrderKey: Sendable, Hashable {
    private(set) var bytes: [UInt8]

    private static let first: UInt64 = 1 << 63
    private static let step: UInt64 = 1 << 20
    private static let numberBytes = 8
    /// What a fraction's digits count from.
    private static let zero: UInt8 = 1

    private init(_ number: UInt64, fraction: [UInt8] = []) {
        bytes = withUnsafeBytes(of: number.bigEndian) { Array($0) } + fraction
    }

    /// The key that these bytes are; nil if they break an invariant.
    init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count >= Self.numberBytes else { return nil }
        self.bytes = bytes
        let fraction = fraction
        guard fraction.allSatisfy({ $0 != 0 }), fraction.last != Self.zero, number > 0 || !fraction.isEmpty else {
            return nil
        }
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
            return overflow ? OrderKey(lower.number, fraction: between(lower.fraction, nil)) : OrderKey(next)
        case (nil, let upper?):
            if upper.number > step { return OrderKey(upper.number - step) }
            return upper.number > 1
                ? OrderKey(upper.number / 2) : between(OrderKey(0), upper)
        case (let lower?, let upper?):
            precondition(lower < upper, "there is nothing between \(lower) and \(upper)")
            let gap = upper.number - lower.number
            if gap > 1 { return OrderKey(lower.number + gap / 2) }
            return OrderKey(lower.number, fraction: between(lower.fraction, gap == 0 ? upper.fraction : nil))
        }
    }

    private var number: UInt64 {
        bytes.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }

    private var fraction: ArraySlice<UInt8> { bytes.dropFirst(Self.numberBytes) }

    /// A fraction between two others, of which a missing digit is a zero and a missing `upper` is 1.
    private static func between(_ lower: ArraySlice<UInt8>, _ upper: ArraySlice<UInt8>?) -> [UInt8] {
        let low = Int(lower.first ?? zero)
        let high = upper.map { Int($0.first ?? zero) } ?? 256
        if high - low > 1 { return [UInt8((low + high) / 2)] }
        if high == low { return [UInt8(low)] + between(lower.dropFirst(), upper?.dropFirst()) }
        if let upper, upper.count > 1 { return [UInt8(high)] }
        return [UInt8(low)] + between(lower.dropFirst(), nil)
    }
}

extension OrderKey: Comparable {
    static func < (lhs: OrderKey, rhs: OrderKey) -> Bool { lhs.bytes.lexicographicallyPrecedes(rhs.bytes) }
}
