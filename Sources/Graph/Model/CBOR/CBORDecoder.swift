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

// MARK: Maps

struct CBORKeyedDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoder: CBORDecoder
    /// The starts of entries, if there are so many that a search pays.
    private let entries: [UInt32]

    private static var searchedCount: UInt64 { 12 }

    init(_ decoder: CBORDecoder) throws {
        guard decoder.item.kind == .map else { throw decoder.mismatch([String: Any].self) }
        self.decoder = decoder
        guard decoder.item.number > Self.searchedCount else {
            entries = []
            return
        }
        var entries: [UInt32] = []
        entries.reserveCapacity(Int(decoder.item.number))
        var entry = decoder.index + 1
        while entry < decoder.item.next {
            entries.append(entry)
            entry = decoder.decoding.items[Int(entry) + 1].next
        }
        self.entries = entries
    }

    var codingPath: [any CodingKey] { decoder.codingPath }

    var allKeys: [Key] {
        var keys: [Key] = []
        keys.reserveCapacity(Int(decoder.item.number))
        var entry = decoder.index + 1
        while entry < decoder.item.next {
            let text = decoder.decoding.text(of: decoder.decoding.items[Int(entry)])
            if let key = text.flatMap({ Key(stringValue: $0) }) { keys.append(key) }
            entry = decoder.decoding.items[Int(entry) + 1].next
        }
        return keys
    }

    /// The entry of a key.
    @inline(__always)
    private func find(_ key: some CodingKey) -> UInt32? {
        var name = key.stringValue
        return name.withUTF8 { name in
            decoder.decoding.bytes.withUnsafeBytes { bytes in
                decoder.decoding.items.withUnsafeBufferPointer { items in
                    entries.isEmpty
                        ? scan(for: UnsafeRawBufferPointer(name), bytes, items)
                        : search(for: UnsafeRawBufferPointer(name), bytes, items)
                }
            }
        }
    }

    @inline(__always)
    private func scan(
        for name: UnsafeRawBufferPointer,
        _ bytes: UnsafeRawBufferPointer,
        _ items: UnsafeBufferPointer<CBORDecoding.Item>
    ) -> UInt32? {
        let end = items[Int(decoder.index)].next
        var entry = decoder.index + 1
        while entry < end {
            if compare(name, items[Int(entry)], bytes) == 0 { return entry }
            entry = items[Int(entry) + 1].next
        }
        return nil
    }

    private func search(
        for name: UnsafeRawBufferPointer,
        _ bytes: UnsafeRawBufferPointer,
        _ items: UnsafeBufferPointer<CBORDecoding.Item>
    ) -> UInt32? {
        var range = entries.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let order = compare(name, items[Int(entries[middle])], bytes)
            if order == 0 { return entries[middle] }
            range = order < 0 ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return nil
    }

    /// In the order of the encoded keys: shorter ones first.
    @inline(__always)
    private func compare(
        _ name: UnsafeRawBufferPointer,
        _ item: CBORDecoding.Item,
        _ bytes: UnsafeRawBufferPointer
    ) -> Int {
        guard name.count == Int(item.number) else { return name.count - Int(item.number) }
        let content = Int(item.content)
        let key = UnsafeRawBufferPointer(rebasing: bytes[content..<content + name.count])
        return KeyBytes(name).compare(KeyBytes(key))
    }

    /// Reads the value of a key, and notes that once it has succeeded: a type may have another value where it fails.
    @inline(__always)
    private func read<Value>(_ key: some CodingKey, _ body: (CBORDecoder) throws -> Value) throws -> Value {
        guard let entry = find(key) else {
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "there is no such key")
            throw DecodingError.keyNotFound(key, context)
        }
        return try read(entry, body)
    }

    /// The same of a key that may be missing or nil.
    @inline(__always)
    private func readIfPresent<Value>(_ key: Key, _ body: (CBORDecoder) throws -> Value) throws -> Value? {
        guard let entry = find(key) else { return nil }
        guard try !isNil(entry) else { return nil }
        return try read(entry, body)
    }

    @inline(__always)
    private func read<Value>(_ entry: UInt32, _ body: (CBORDecoder) throws -> Value) throws -> Value {
        let value = try body(CBORDecoder(decoding: decoder.decoding, index: entry + 1))
        decoder.decoding.noteRead(entry)
        decoder.decoding.noteRead(entry + 1)
        return value
    }

    /// Whether there is nil, which is all there is to read then.
    @inline(__always)
    private func isNil(_ entry: UInt32) throws -> Bool {
        guard decoder.decoding.items[Int(entry) + 1].kind == .null else { return false }
        return try read(entry) { $0.decodeNil() }
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool {
        guard let entry = find(key) else { return try read(key) { $0.decodeNil() } }
        return try isNil(entry)
    }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(key) { try $0.decode(type) } }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(key) { try $0.decode(type) } }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(key) { try $0.decode(type) } }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(key) { try $0.decode(type) } }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(key) { try $0.decode(type) } }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(key) { try $0.decode(type) } }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(key) { try $0.decode(type) } }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(key) { try $0.decode(type) } }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(key) { try $0.decode(type) } }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try read(key) { try $0.decode(type) } }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try read(key) { try $0.decode(type) } }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(key) { try $0.decode(type) } }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(key) { try $0.decode(type) } }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(key) { try $0.decode(type) } }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try read(key) { try $0.decode(type) } }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try read(key) { try $0.decode(type) } }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try read(key) { try $0.decode(type) }
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try readIfPresent(key) { try $0.decode(type) }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try readIfPresent(key) { try $0.decode(type) }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try readIfPresent(key) { try $0.decode(type) }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try readIfPresent(key) { try $0.decode(type) }
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try readIfPresent(key) { try $0.decode(type) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try read(key) { try $0.container(keyedBy: type) }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try read(key) { try $0.unkeyedContainer() }
    }

    func superDecoder() throws -> any Decoder { try read(CBORKey.super) { $0 } }
    func superDecoder(forKey key: Key) throws -> any Decoder { try read(key) { $0 } }
}

// MARK: Arrays

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
