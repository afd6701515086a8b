/// The decoder for a type's `init(from:)`. Represents one item.
struct CBORDecoder: Decoder {
    let decoding: CBORDecoding
    let index: UInt32

    var item: CBORDecoding.Item { decoding.items[Int(index)] }
    var codingPath: [any CodingKey] { decoding.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(try CBORKeyedDecodingContainer(self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try CBORUnkeyedDecodingContainer(self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

// MARK: Errors

extension CBORDecoder {
    func corrupted(_ reason: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: reason))
    }

    func mismatch(_ type: any Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "there is \(item.kind.noun)")
        return item.kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension CBORDecoding.Item.Kind {
    fileprivate var noun: String {
        switch self {
        case .unsigned, .negative, .positiveBignum, .negativeBignum: "an integer"
        case .bytes: "a block of bytes"
        case .text: "a text"
        case .array: "an array"
        case .map: "a map"
        case .bool: "a Boolean"
        case .null: "nil"
        case .double: "a floating point number"
        }
    }
}

// MARK: Single values

extension CBORDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { item.kind == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard item.kind == .bool else { throw mismatch(type) }
        return item.number == 1
    }

    func decode(_ type: String.Type) throws -> String {
        guard item.kind == .text else { throw mismatch(type) }
        guard let text = decoding.text(of: item) else { throw corrupted("not valid UTF-8") }
        return text
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch item.kind {
        case .double: return Double(bitPattern: item.number)
        // A property that was an integer when it was written.
        case .unsigned: return Double(item.number)
        case .negative: return -1 - Double(item.number)
        default: throw mismatch(type)
        }
    }

    func decode(_ type: Float.Type) throws -> Float {
        if item.kind == .double, let single = CBOR.single(item.number) { return Float(bitPattern: single) }
        let value = Float(try decode(Double.self))
        // A property that was a `Double` is rounded, within the type's range; a NaN that does not fit stays a NaN.
        guard value.isFinite || value.isNaN else { throw corrupted("the number does not fit \(type)") }
        return value
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

    @inline(__always)
    private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        let item = item
        let value: Number?
        switch item.kind {
        case .unsigned: value = Number(exactly: item.number)
        case .negative where item.number <= Int64.max: value = Number(exactly: ~Int64(bitPattern: item.number))
        case .negative: value = Number(exactly: ~Int128(item.number))
        // A property that was a floating point number when it was written.
        case .double: value = Number(exactly: Double(bitPattern: item.number))
        case .positiveBignum, .negativeBignum: value = bignum(item)
        default: throw mismatch(type)
        }
        guard let value else { throw corrupted("the number does not fit \(type)") }
        return value
    }

    private func bignum<Number: FixedWidthInteger>(_ item: CBORDecoding.Item) -> Number? {
        let number = decoding.bytes[decoding.content(of: item)].reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        guard item.kind == .negativeBignum else { return Number(exactly: number) }
        return Int128(exactly: number).flatMap { Number(exactly: ~$0) }
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try CBORNaturalForm.decode(type, from: self)
    }

    /// Passes a block of bytes to the body, which returns nil if it cannot use them.
    func withBytes<Value>(as type: Value.Type, _ body: (UnsafeRawBufferPointer) -> Value?) throws -> Value {
        guard item.kind == .bytes else { throw mismatch(type) }
        let value = decoding.bytes.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[decoding.content(of: item)]))
        }
        guard let value else { throw corrupted("no \(type)") }
        return value
    }
}
