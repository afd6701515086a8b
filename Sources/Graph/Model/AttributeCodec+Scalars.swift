#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Integers up to 64 bits are varints in the journal, zigzag if they are signed.
private func signedCodec<Value: FixedWidthInteger & SignedInteger & Sendable>(_ kind: String) -> AttributeCodec<Value> {
    AttributeCodec<Value>(
        kind: kind,
        encode: { $1.appendSignedVarint(Int64($0)) },
        decode: { reader in
            guard let value = Value(exactly: try reader.readSignedVarint()) else {
                throw reader.failure("number does not fit \(kind)")
            }
            return value
        },
        isIdentical: { $0 == $1 }
    ).ordered(
        by: { $0 < $1 },
        appendKey: { value, key in
            key.appendBigEndian(UInt64(bitPattern: Int64(value)) ^ (1 << 63))
            return true
        })
}

private func unsignedCodec<Value: FixedWidthInteger & UnsignedInteger & Sendable>(
    _ kind: String
) -> AttributeCodec<Value> {
    AttributeCodec<Value>(
        kind: kind,
        encode: { $1.appendVarint(UInt64($0)) },
        decode: { reader in
            guard let value = Value(exactly: try reader.readVarint()) else {
                throw reader.failure("number does not fit \(kind)")
            }
            return value
        },
        isIdentical: { $0 == $1 }
    ).ordered(
        by: { $0 < $1 },
        appendKey: { value, key in
            key.appendBigEndian(UInt64(value))
            return true
        })
}

extension Int: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Int> { signedCodec("int") }
}

extension Int8: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Int8> { signedCodec("int8") }
}

extension Int16: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Int16> { signedCodec("int16") }
}

extension Int32: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Int32> { signedCodec("int32") }
}

extension Int64: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Int64> { signedCodec("int64") }
}

extension UInt: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UInt> { unsignedCodec("uint") }
}

extension UInt8: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UInt8> { unsignedCodec("uint8") }
}

extension UInt16: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UInt16> { unsignedCodec("uint16") }
}

extension UInt32: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UInt32> { unsignedCodec("uint32") }
}

extension UInt64: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UInt64> { unsignedCodec("uint64") }
}

extension Int128: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Int128> {
        AttributeCodec<Int128>(
            kind: "int128",
            encode: { $1.appendFixed($0) },
            decode: { try $0.readFixed() },
            isIdentical: { $0 == $1 }
        ).ordered(
            by: { $0 < $1 },
            appendKey: { value, key in
                key.appendBigEndian(UInt128(bitPattern: value) ^ (1 << 127))
                return true
            })
    }
}

extension UInt128: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UInt128> {
        AttributeCodec<UInt128>(
            kind: "uint128",
            encode: { $1.appendFixed($0) },
            decode: { try $0.readFixed() },
            isIdentical: { $0 == $1 }
        ).ordered(
            by: { $0 < $1 },
            appendKey: { value, key in
                key.appendBigEndian(value)
                return true
            })
    }
}

extension Bool: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Bool> {
        AttributeCodec<Bool>(
            kind: "bool",
            encode: { $1.append($0 ? 1 : 0) },
            decode: { reader in
                let byte = try reader.readByte()
                guard byte <= 1 else { throw reader.failure("\(byte) is not a Boolean") }
                return byte == 1
            },
            isIdentical: { $0 == $1 }
        ).ordered(
            by: { !$0 && $1 },
            appendKey: { value, key in
                key.append(value ? 1 : 0)
                return true
            })
    }
}

/// Bits whose unsigned order is IEEE 754's totalOrder: negative numbers inverted whole, the others above them.
private func totalOrderBits(_ value: Double) -> UInt64 {
    let bits = value.bitPattern
    return bits >> 63 == 1 ? ~bits : bits | (1 << 63)
}

extension Double: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Double> {
        AttributeCodec<Double>(
            kind: "double",
            encode: { $1.appendFixed($0.bitPattern) },
            decode: { Double(bitPattern: try $0.readFixed()) },
            isIdentical: { $0.bitPattern == $1.bitPattern }
        ).ordered(
            by: { totalOrderBits($0) < totalOrderBits($1) },
            appendKey: { value, key in
                key.appendBigEndian(totalOrderBits(value))
                return true
            })
    }
}

extension Float: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Float> {
        @Sendable func bits(_ value: Float) -> UInt32 {
            let bits = value.bitPattern
            return bits >> 31 == 1 ? ~bits : bits | (1 << 31)
        }
        return AttributeCodec<Float>(
            kind: "float",
            encode: { $1.appendFixed($0.bitPattern) },
            decode: { Float(bitPattern: try $0.readFixed()) },
            isIdentical: { $0.bitPattern == $1.bitPattern }
        ).ordered(
            by: { bits($0) < bits($1) },
            appendKey: { value, key in
                key.appendBigEndian(bits(value))
                return true
            })
    }
}

extension Date: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Date> {
        AttributeCodec<Date>(
            kind: "date",
            encode: { $1.appendFixed($0.timeIntervalSinceReferenceDate.bitPattern) },
            decode: { Date(timeIntervalSinceReferenceDate: Double(bitPattern: try $0.readFixed())) },
            isIdentical: {
                $0.timeIntervalSinceReferenceDate.bitPattern == $1.timeIntervalSinceReferenceDate.bitPattern
            },
            // Foundation traps on dates whose calendar day it cannot count, NaN among them.
            describe: { date in
                abs(date.timeIntervalSinceReferenceDate) < 1e11
                    ? date.description : "\(date.timeIntervalSinceReferenceDate) s since 2001"
            }
        ).ordered(
            by: {
                totalOrderBits($0.timeIntervalSinceReferenceDate) < totalOrderBits($1.timeIntervalSinceReferenceDate)
            },
            appendKey: { value, key in
                key.appendBigEndian(totalOrderBits(value.timeIntervalSinceReferenceDate))
                return true
            })
    }
}

extension UUID: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<UUID> {
        @Sendable func number(_ value: UUID) -> UInt128 {
            withUnsafeBytes(of: value.uuid) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
        }
        return AttributeCodec<UUID>(
            kind: "uuid",
            encode: { $1.appendBigEndian(number($0)) },
            decode: { UUID(uuid: try $0.take(16).loadUnaligned(as: uuid_t.self)) },
            isIdentical: { $0 == $1 }
        ).ordered(
            by: { number($0) < number($1) },
            appendKey: { value, key in
                key.appendBigEndian(number(value))
                return true
            })
    }
}

/// Appends bytes so that no key is the prefix of another and the order is kept: a zero is followed by 0xFF, and the end
/// is marked by 0, 1 (as in FoundationDB's tuple layer, but with an end mark that no row number can imitate).
private func appendKey(bytes: UnsafeRawBufferPointer, containsZero: Bool, to key: inout ByteWriter) {
    if containsZero {
        for byte in bytes {
            key.append(byte)
            if byte == 0 { key.append(0xFF) }
        }
    } else {
        key.append(contentsOf: bytes)
    }
    key.append(0)
    key.append(1)
}

/// The shorter one first if it begins the other.
private func precedes(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Bool {
    lhs.lexicographicallyPrecedes(rhs)
}

/// Swift compares strings by canonical equivalence: as lists of the scalars of Unicode's normalization form C, which order like
/// their UTF-8. Keys hold that form.
///
/// `_nfcCodeUnits` makes it. The standard library has exported it everywhere since Swift 5, without availability, and it reads
/// the same tables as `==` and `<`; the view `_nfc` is SPI, which the SDK for macOS does not show, and Foundation's mapping
/// would make every program on Linux load all of Foundation.
private enum NormalForm {
    /// Whether a UTF-8 text is certainly in normal form, without decoding scalars, and whether it contains a zero, eight bytes
    /// at a time.
    ///
    /// Scalars below U+0300 compose with nothing before them and are their own normal form; 0xCC begins the first one above.
    @inline(__always)
    static func scan(_ utf8: UnsafeRawBufferPointer) -> (isNormalized: Bool, containsZero: Bool) {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        var high: UInt64 = 0
        var zero: UInt64 = 0
        var offset = 0
        while offset &+ 8 <= utf8.count {
            let word = utf8.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            high |= word
            // Exact as to whether there is a zero (Warren, *Hacker's Delight*, 6-1).
            zero |= (word &- ones) & ~word & tops
            offset &+= 8
        }
        var containsZero = zero != 0
        while offset < utf8.count {
            high |= UInt64(utf8[offset])
            if utf8[offset] == 0 { containsZero = true }
            offset &+= 1
        }
        guard high & tops != 0 else { return (true, containsZero) }
        return (utf8.allSatisfy { $0 < 0xCC }, containsZero)
    }

    /// The order of the keys.
    ///
    /// Not `<`: where one text begins the other, Swift 6.3 considers the longer one's rest only if both are normalized, so that
    /// neither of "e\u{301}" and "\u{E9}x" precedes the other.
    static func precedes(_ lhs: String, _ rhs: String) -> Bool {
        var order: Int?
        _ = lhs.utf8.withContiguousStorageIfAvailable { left in
            rhs.utf8.withContiguousStorageIfAvailable { right in
                let (left, right) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
                guard scan(left).isNormalized, scan(right).isNormalized else { return }
                order = KeyBytes(left).compare(KeyBytes(right))
            }
        }
        return order.map { $0 < 0 } ?? lhs._nfcCodeUnits.lexicographicallyPrecedes(rhs._nfcCodeUnits)
    }
}

/// Strings that share their storage, as in copies of a row, are equal by their two words alone.
private func haveSameUTF8(_ lhs: String, _ rhs: String) -> Bool {
    // The words are only compared, and stay valid as long as the strings.
    if unsafeBitCast(lhs, to: (UInt64, UInt64).self) == unsafeBitCast(rhs, to: (UInt64, UInt64).self) { return true }
    return lhs.utf8.count == rhs.utf8.count && lhs.utf8.elementsEqual(rhs.utf8)
}

extension String: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<String> {
        AttributeCodec<String>(
            kind: "string",
            encode: { $1.appendString($0) },
            decode: { try $0.readString() },
            isIdentical: { haveSameUTF8($0, $1) },
            describe: { $0.debugDescription }
        ).ordered(
            by: { NormalForm.precedes($0, $1) },
            appendKey: { value, key in
                var value = value
                let isNormalized = value.withUTF8 { utf8 in
                    let bytes = UnsafeRawBufferPointer(utf8)
                    let found = NormalForm.scan(bytes)
                    guard found.isNormalized else { return false }
                    appendKey(bytes: bytes, containsZero: found.containsZero, to: &key)
                    return true
                }
                if !isNormalized {
                    value._nfcCodeUnits.withUnsafeBytes {
                        appendKey(bytes: $0, containsZero: $0.contains(0), to: &key)
                    }
                }
                return true
            })
    }
}

extension Data: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Data> {
        AttributeCodec<Data>(
            kind: "data",
            encode: { value, writer in
                writer.appendVarint(UInt64(value.count))
                value.withUnsafeBytes { writer.append(contentsOf: $0) }
            },
            decode: { reader in Data(try reader.take(try reader.readCount(minimumBytes: 1))) },
            isIdentical: { $0 == $1 }
        ).ordered(
            by: { lhs, rhs in lhs.withUnsafeBytes { left in rhs.withUnsafeBytes { precedes(left, $0) } } },
            appendKey: { value, key in
                value.withUnsafeBytes { appendKey(bytes: $0, containsZero: $0.contains(0), to: &key) }
                return true
            })
    }
}

extension URL {
    /// The URL with this relative part and this absolute string of its base; nil if there is none.
    init?(stored relative: String, base: String) {
        guard let url = base.isEmpty ? URL(string: relative) : URL(string: relative, relativeTo: URL(string: base))
        else { return nil }
        self = url
    }
}

extension URL: AttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<URL> {
        AttributeCodec<URL>(
            kind: "url",
            encode: { value, writer in
                let base = value.baseURL?.absoluteString ?? ""
                guard URL(stored: value.relativeString, base: base) != nil else {
                    throw NotReadable(
                        description:
                            "\(value.debugDescription) cannot be stored, because it cannot be read back as a URL")
                }
                writer.appendString(value.relativeString)
                writer.appendString(base)
            },
            decode: { reader in
                guard let url = URL(stored: try reader.readString(), base: try reader.readString()) else {
                    throw reader.failure("not a URL")
                }
                return url
            },
            isIdentical: { lhs, rhs in
                haveSameUTF8(lhs.relativeString, rhs.relativeString)
                    && haveSameUTF8(lhs.baseURL?.absoluteString ?? "", rhs.baseURL?.absoluteString ?? "")
            },
            describe: { $0.absoluteString.debugDescription }
        )
    }
}

extension Decimal {
    /// The number with this `description`; nil if there is none.
    init?(stored text: String) {
        // `Decimal(string:)` does not read what `description` writes for NaN.
        guard text.utf8.count <= 256, let value = text == "NaN" ? .nan : Decimal(string: text),
            value.description == text
        else { return nil }
        self = value
    }
}

extension Decimal: AttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Decimal> {
        AttributeCodec<Decimal>(
            kind: "decimal",
            encode: { $1.appendString($0.description) },
            decode: { reader in
                guard let value = Decimal(stored: try reader.readString()) else {
                    throw reader.failure("not a decimal number")
                }
                return value
            },
            isIdentical: { ($0.isNaN && $1.isNaN) || $0 == $1 }
        )
    }
}
