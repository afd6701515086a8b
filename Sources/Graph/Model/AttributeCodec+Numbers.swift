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
func totalOrderBits(_ value: Double) -> UInt64 {
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
            }
        ).zeros(-0.0, 0.0)
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
            }
        ).zeros(-0.0, 0.0)
    }
}
