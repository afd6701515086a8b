/// Deterministic CBOR (RFC 8949, 4.2.1) for programs' `Codable` values: every number and length in its shortest form, lengths
/// always given, maps in ascending order of their keys' bytes. Equal values have equal bytes if their types encode them alike.
///
/// Maps have text keys, the `stringValue` of coding keys. `Docs/Design/JournalFormat.md` lists the form of each type.
enum CBOR {
    /// The deepest nesting of arrays and maps.
    static let maximumDepth = 32

    /// The upper three bits of an item's first byte.
    enum Major: UInt8 {
        case unsigned = 0
        case negative
        case bytes
        case text
        case array
        case map
        case tag
        case simple
    }

    static let `false`: UInt8 = 0xF4
    static let `true`: UInt8 = 0xF5
    static let null: UInt8 = 0xF6

    /// The tags of integers beyond 64 bits.
    static let positiveBignum: UInt64 = 2
    static let negativeBignum: UInt64 = 3
}

extension [UInt8] {
    /// Appends the first byte of an item and its number, in as few bytes as possible.
    mutating func appendHead(_ major: CBOR.Major, _ number: UInt64) {
        let top = major.rawValue << 5
        switch number {
        case 0..<24: append(top | UInt8(truncatingIfNeeded: number))
        case 24...0xFF:
            append(top | 24)
            append(UInt8(truncatingIfNeeded: number))
        case 0x100...0xFFFF: appendBigEndian(top | 25, UInt16(truncatingIfNeeded: number))
        case 0x1_0000...0xFFFF_FFFF: appendBigEndian(top | 26, UInt32(truncatingIfNeeded: number))
        default: appendBigEndian(top | 27, number)
        }
    }

    private mutating func appendBigEndian<Number: FixedWidthInteger>(_ first: UInt8, _ number: Number) {
        append(first)
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    mutating func appendInteger(_ value: some FixedWidthInteger) {
        if let number = UInt64(exactly: value) {
            appendHead(.unsigned, number)
        } else if let number = Int64(exactly: value) {
            appendHead(.negative, UInt64(bitPattern: ~number))
        } else {
            // -1 - n is the complement of n.
            let isNegative = value < 0
            let number = isNegative ? UInt128(truncatingIfNeeded: ~value) : UInt128(truncatingIfNeeded: value)
            guard number > UInt64.max else { return appendHead(.negative, UInt64(truncatingIfNeeded: number)) }
            appendHead(.tag, isNegative ? CBOR.negativeBignum : CBOR.positiveBignum)
            Swift.withUnsafeBytes(of: number.bigEndian) { bytes in
                let digits = bytes.dropFirst(number.leadingZeroBitCount / 8)
                appendHead(.bytes, UInt64(digits.count))
                append(contentsOf: digits)
            }
        }
    }

    mutating func appendText(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            appendHead(.text, UInt64(utf8.count))
            append(contentsOf: utf8)
        }
    }

    mutating func appendBytes(_ bytes: UnsafeRawBufferPointer) {
        appendHead(.bytes, UInt64(bytes.count))
        append(contentsOf: bytes)
    }

    /// In the shortest of the three widths that preserves the value, or a NaN's bits.
    mutating func appendDouble(bits: UInt64) {
        guard let single = CBOR.single(bits) else { return appendBigEndian(0xFB, bits) }
        appendFloat(bits: single)
    }

    mutating func appendFloat(bits: UInt32) {
        guard let half = CBOR.half(bits) else { return appendBigEndian(0xFA, bits) }
        appendBigEndian(0xF9, half)
    }
}

// MARK: Widths of floating point

/// By bits: the processor would quiet signaling NaNs, and not every platform has `Float16`.
extension CBOR {
    /// The bits of a `Float` with the same value, or with the same NaN, as those of a `Double`.
    static func single(_ bits: UInt64) -> UInt32? {
        let sign = UInt32(truncatingIfNeeded: bits >> 63) << 31
        if bits & 0x7FF0_0000_0000_0000 == 0x7FF0_0000_0000_0000 {
            guard bits & 0x1FFF_FFFF == 0 else { return nil }
            return sign | 0x7F80_0000 | UInt32(truncatingIfNeeded: bits >> 29) & 0x7F_FFFF
        }
        let value = Double(bitPattern: bits)
        let single = Float(value)
        return Double(single) == value ? single.bitPattern : nil
    }

    /// The bits of a number of 16 bits with the same value, or with the same NaN, as those of a `Float`.
    static func half(_ bits: UInt32) -> UInt16? {
        let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
        let fraction = bits & 0x7F_FFFF
        switch Int(bits >> 23 & 0xFF) - 127 {
        case -127 where fraction == 0:
            return sign
        case 128:
            guard fraction & 0x1FFF == 0 else { return nil }
            return sign | 0x7C00 | UInt16(truncatingIfNeeded: fraction >> 13)
        case let exponent where exponent >= -14 && exponent <= 15:
            guard fraction & 0x1FFF == 0 else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(truncatingIfNeeded: fraction >> 13)
        case let exponent where exponent >= -24 && exponent < -14:
            let significand = fraction | 0x80_0000
            let shift = UInt32(-1 - exponent)
            guard significand & (1 << shift - 1) == 0 else { return nil }
            return sign | UInt16(truncatingIfNeeded: significand >> shift)
        default:
            return nil
        }
    }

    static func double(single bits: UInt32) -> UInt64 {
        guard bits & 0x7F80_0000 == 0x7F80_0000 else { return Double(Float(bitPattern: bits)).bitPattern }
        return UInt64(bits >> 31) << 63 | 0x7FF0_0000_0000_0000 | UInt64(bits & 0x7F_FFFF) << 29
    }

    static func single(half bits: UInt16) -> UInt32 {
        let sign = UInt32(bits & 0x8000) << 16
        let fraction = UInt32(bits & 0x3FF)
        switch UInt32(bits >> 10 & 0x1F) {
        case 0:
            // A multiple of 2^-24, which a `Float` has exactly.
            return sign | (Float(fraction) * 0x1p-24).bitPattern
        case 31:
            return sign | 0x7F80_0000 | fraction << 13
        case let exponent:
            return sign | (exponent + 112) << 23 | fraction << 13
        }
    }
}
