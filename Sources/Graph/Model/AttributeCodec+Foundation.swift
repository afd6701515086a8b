#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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
