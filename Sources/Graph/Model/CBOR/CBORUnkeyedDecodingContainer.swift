/// The elements of an array.
struct CBORUnkeyedDecodingContainer: UnkeyedDecodingContainer {
    private let decoding: CBORDecoding
    private let array: UInt32
    /// The element to decode next.
    private var next: UInt32
    private var number: UInt32 = 0

    init(_ decoder: CBORDecoder) throws {
        guard decoder.item.kind == .array else { throw decoder.mismatch([Any].self) }
        decoding = decoder.decoding
        array = decoder.index
        next = array + 1
    }

    private var item: CBORDecoding.Item { decoding.items[Int(array)] }

    var codingPath: [any CodingKey] { decoding.path(to: array) }
    var count: Int? { Int(item.number) }
    var currentIndex: Int { Int(number) }
    var isAtEnd: Bool { number == item.number }

    /// Decodes the next element, and moves on if that succeeds.
    @inline(__always)
    private mutating func element<Value>(_ type: Value.Type, _ body: (CBORDecoder) throws -> Value) throws -> Value {
        guard !isAtEnd else {
            let path = codingPath + [CBORKey(intValue: currentIndex)]
            throw DecodingError.valueNotFound(
                type, .init(codingPath: path, debugDescription: "there are no more elements"))
        }
        let value = try body(CBORDecoder(decoding: decoding, index: next))
        advance()
        return value
    }

    private mutating func advance() {
        decoding.noteRead(next)
        next = decoding.items[Int(next)].next
        number += 1
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { return try element(Never?.self) { _ in nil } == nil }
        guard decoding.items[Int(next)].kind == .null else { return false }
        advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try element(type) { try $0.decode(type) } }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try element(type) { try $0.decode(type) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) throws
        -> KeyedDecodingContainer<NestedKey>
    {
        try element(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try element((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try element((any Decoder).self) { $0 }
    }
}
