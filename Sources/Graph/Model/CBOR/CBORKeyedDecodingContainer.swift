/// The entries of a map.
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
