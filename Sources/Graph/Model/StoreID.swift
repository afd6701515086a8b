/// Sixteen random bytes that identify a store for life, or one generation of its file.
struct StoreID: Sendable, Hashable, CustomStringConvertible {
    /// The bytes in the order of the text, the first one in the topmost bits.
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Marks the random bits as a version 4 UUID (RFC 9562).
    init(random: () -> UInt64) {
        high = (random() & ~0xF000) | 0x4000
        low = (random() & ~(0b11 << 62)) | (0b10 << 62)
    }

    /// The identifier with the text that `description` has; nil if the text is no identifier.
    init?(_ description: String) {
        let digits = description.replacing("-", with: "")
        guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
        guard self.description == description else { return nil }
    }

    /// Lower-case UUID text.
    var description: String {
        let digits = Self.hexadecimal(high) + Self.hexadecimal(low)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return groups.map { range in
            String(digits.dropFirst(range.lowerBound).prefix(range.count))
        }.joined(separator: "-")
    }

    /// Sixteen digits.
    static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
