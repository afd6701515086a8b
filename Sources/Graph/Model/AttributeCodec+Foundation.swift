#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Date {
    /// Foundation traps where it is to print a date whose calendar day it cannot count, NaN among them.
    var isPrintable: Bool { abs(timeIntervalSinceReferenceDate) < 1e11 }

    var text: String { isPrintable ? description : "\(timeIntervalSinceReferenceDate) s since 2001" }
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
            describe: { $0.text }
        ).ordered(
            by: {
                totalOrderBits($0.timeIntervalSinceReferenceDate) < totalOrderBits($1.timeIntervalSinceReferenceDate)
            },
            appendKey: { value, key in
                key.appendBigEndian(totalOrderBits(value.timeIntervalSinceReferenceDate))
                return true
            }
        ).zeros(Date(timeIntervalSinceReferenceDate: -0.0), Date(timeIntervalSinceReferenceDate: 0))
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

extension Decimal: OrderedAttributeValue {
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
        ).ordered(
            by: { $0 < $1 },
            appendKey: { value, key in
                value.appendKey(to: &key)
                return true
            })
    }

    /// Appends bytes whose order is that of the numbers, with NaN before them, as `<` has it: the sign, where the point stands before
    /// or behind the first digit that counts, and the digits from there on, two to a byte above 0, with 0 behind them. Those of
    /// a negative number are inverted.
    private func appendKey(to key: inout ByteWriter) {
        guard !isNaN else { return key.append(0) }
        let text = description.utf8
        let point = text.firstIndex(of: UInt8(ascii: ".")) ?? text.endIndex
        let isDigit = { (byte: UInt8) in byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
        let digits = text.filter(isDigit).map { $0 - UInt8(ascii: "0") }
        guard let first = digits.firstIndex(where: { $0 > 0 }), let last = digits.lastIndex(where: { $0 > 0 }) else {
            return key.append(0x80)
        }
        let isNegative = text.first == UInt8(ascii: "-")
        let inverted: UInt8 = isNegative ? 0xFF : 0
        key.append(isNegative ? 0x40 : 0xC0)
        // Not below -128 nor above 166, the exponents of a number of one digit and of 39.
        let exponent = UInt16(text[..<point].count(where: isDigit) - first + 256)
        key.append(UInt8(exponent >> 8) ^ inverted)
        key.append(UInt8(truncatingIfNeeded: exponent) ^ inverted)
        for place in stride(from: first, through: last, by: 2) {
            key.append(digits[place] * 10 + (place < last ? digits[place + 1] : 0) + 1 ^ inverted)
        }
        key.append(0 ^ inverted)
    }
}
