/// The encoder for a value's `encode(to:)`. Represents one place of the tree.
struct CBOREncoder: Encoder {
    let encoding: CBOREncoding
    let place: UInt32

    var codingPath: [any CodingKey] { encoding.path(to: place) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        encoding.open(.map, at: place)
        return KeyedEncodingContainer(CBORKeyedEncodingContainer(encoding: encoding, place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        encoding.open(.array, at: place)
        return CBORUnkeyedEncodingContainer(encoding: encoding, place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension CBOREncoder: SingleValueEncodingContainer {
    func encodeNil() throws { try encoding.put(at: place) { $0.append(CBOR.null) } }
    func encode(_ value: Bool) throws { try encoding.put(at: place) { $0.append(value ? CBOR.true : CBOR.false) } }
    func encode(_ value: String) throws { try encoding.put(at: place) { $0.appendText(value) } }
    func encode(_ value: Double) throws { try encoding.put(at: place) { $0.appendDouble(bits: value.bitPattern) } }
    func encode(_ value: Float) throws { try encoding.put(at: place) { $0.appendFloat(bits: value.bitPattern) } }
    func encode(_ value: Int) throws { try integer(value) }
    func encode(_ value: Int8) throws { try integer(value) }
    func encode(_ value: Int16) throws { try integer(value) }
    func encode(_ value: Int32) throws { try integer(value) }
    func encode(_ value: Int64) throws { try integer(value) }
    func encode(_ value: Int128) throws { try integer(value) }
    func encode(_ value: UInt) throws { try integer(value) }
    func encode(_ value: UInt8) throws { try integer(value) }
    func encode(_ value: UInt16) throws { try integer(value) }
    func encode(_ value: UInt32) throws { try integer(value) }
    func encode(_ value: UInt64) throws { try integer(value) }
    func encode(_ value: UInt128) throws { try integer(value) }
    func encode<Value: Encodable>(_ value: Value) throws { try encoding.put(value, at: place) }

    @inline(__always)
    private func integer(_ value: some FixedWidthInteger) throws {
        try encoding.put(at: place) { $0.appendInteger(value) }
    }
}

struct CBORKeyedEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoding: CBOREncoding
    let place: UInt32

    var codingPath: [any CodingKey] { encoding.path(to: place) }

    @inline(__always)
    private func member(_ key: some CodingKey) -> CBOREncoder {
        CBOREncoder(encoding: encoding, place: encoding.member(of: place, key.stringValue))
    }

    func encodeNil(forKey key: Key) throws { try member(key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: String, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Double, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Float, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int128, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try member(key).encode(value) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try member(key).encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { member(CBORKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

struct CBORUnkeyedEncodingContainer: UnkeyedEncodingContainer {
    let encoding: CBOREncoding
    let place: UInt32

    var codingPath: [any CodingKey] { encoding.path(to: place) }
    var count: Int { Int(encoding.nodes[Int(place)].count) }

    @inline(__always)
    private func element() -> CBOREncoder {
        CBOREncoder(encoding: encoding, place: encoding.element(of: place))
    }

    func encodeNil() throws { try element().encodeNil() }
    func encode(_ value: Bool) throws { try element().encode(value) }
    func encode(_ value: String) throws { try element().encode(value) }
    func encode(_ value: Double) throws { try element().encode(value) }
    func encode(_ value: Float) throws { try element().encode(value) }
    func encode(_ value: Int) throws { try element().encode(value) }
    func encode(_ value: Int8) throws { try element().encode(value) }
    func encode(_ value: Int16) throws { try element().encode(value) }
    func encode(_ value: Int32) throws { try element().encode(value) }
    func encode(_ value: Int64) throws { try element().encode(value) }
    func encode(_ value: Int128) throws { try element().encode(value) }
    func encode(_ value: UInt) throws { try element().encode(value) }
    func encode(_ value: UInt8) throws { try element().encode(value) }
    func encode(_ value: UInt16) throws { try element().encode(value) }
    func encode(_ value: UInt32) throws { try element().encode(value) }
    func encode(_ value: UInt64) throws { try element().encode(value) }
    func encode(_ value: UInt128) throws { try element().encode(value) }
    func encode<Value: Encodable>(_ value: Value) throws { try element().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
    func superEncoder() -> any Encoder { element() }
}

/// Unordered collections, whose elements are written in the order of their bytes; otherwise each copy would have another order.
protocol CBORUnordered {
    /// Returns false if the type's own `encode(to:)` applies.
    func encode(to encoding: CBOREncoding, at place: UInt32) throws -> Bool
}

extension Set: CBORUnordered where Element: Encodable {
    func encode(to encoding: CBOREncoding, at place: UInt32) throws -> Bool {
        encoding.open(.set, at: place)
        for element in self { try encoding.put(element, at: encoding.element(of: place)) }
        return true
    }
}

extension Dictionary: CBORUnordered where Key: Encodable, Value: Encodable {
    /// A dictionary without text keys is an array of alternating keys and values, as in the standard library.
    func encode(to encoding: CBOREncoding, at place: UInt32) throws -> Bool {
        if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type {
            return false
        }
        encoding.open(.pairs, at: place)
        for (key, value) in self {
            try encoding.put(key, at: encoding.element(of: place))
            try encoding.put(value, at: encoding.element(of: place))
        }
        return true
    }
}
