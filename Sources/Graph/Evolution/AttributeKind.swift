#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a schema record calls the type of an attribute: `int`, or `optional(array(string))`.
indirect enum AttributeKind: Sendable, Equatable {
    case basic(String)
    case optional(AttributeKind)
    case array(AttributeKind)
    case set(AttributeKind)
    case dictionary(AttributeKind, AttributeKind)

    /// Kinds inside of kinds, at most.
    private static let depthLimit = 32

    /// nil for a kind that this version of Graph does not know.
    init?(_ text: String) {
        var rest = text.utf8[...]
        guard let kind = Self.read(&rest, depth: 0), rest.isEmpty else { return nil }
        self = kind
    }

    private static func read(_ rest: inout Substring.UTF8View, depth: Int) -> AttributeKind? {
        guard depth < depthLimit else { return nil }
        let name = rest.prefix { ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) }
        rest = rest.dropFirst(name.count)
        guard let word = String(name) else { return nil }
        guard take("(", from: &rest) else { return basicTypes[word].map { _ in .basic(word) } }
        guard let first = read(&rest, depth: depth + 1) else { return nil }
        let second = take(", ", from: &rest) ? read(&rest, depth: depth + 1) : nil
        guard take(")", from: &rest) else { return nil }
        switch (word, second) {
        case ("optional", nil): return .optional(first)
        case ("array", nil): return .array(first)
        case ("set", nil): return .set(first)
        case ("dictionary", let second?): return .dictionary(first, second)
        default: return nil
        }
    }

    private static func take(_ text: String, from rest: inout Substring.UTF8View) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    private static let basicTypes: [String: any AttributeValue.Type] = {
        let types: [any AttributeValue.Type] = [
            Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self,
            UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self,
            Bool.self, Float.self, Double.self, String.self, Date.self, UUID.self, Data.self, URL.self, Decimal.self,
            [UInt8].self, EncodedValue.self,
        ]
        return Dictionary(uniqueKeysWithValues: types.map { ($0.kind, $0) })
    }()

    /// The type that reads and writes such values without knowing the program's. Values of a program's own types stay encoded,
    /// and those with a raw value are that.
    var type: any AttributeValue.Type {
        switch self {
        case .basic(let name): Self.basicTypes[name] ?? EncodedValue.self
        case .optional(let wrapped): wrapped.type.optional
        case .array(let element): element.type.array
        case .set(let element): element.hashableType.map { $0.set } ?? EncodedValue.self
        case .dictionary(let key, let value):
            key.hashableType.map { value.type.dictionary(by: $0) } ?? EncodedValue.self
        }
    }

    private var hashableType: (any (AttributeValue & Hashable).Type)? { type as? any (AttributeValue & Hashable).Type }

    var isOrdered: Bool { type.isOrdered }
}

extension AttributeValue {
    fileprivate static var kind: String { attributeCodec.operations.kind }
    fileprivate static var isOrdered: Bool { attributeCodec.operations.key != nil }
    fileprivate static var optional: any AttributeValue.Type { Self?.self }
    fileprivate static var array: any AttributeValue.Type { [Self].self }

    fileprivate static func dictionary(by key: any (AttributeValue & Hashable).Type) -> any AttributeValue.Type {
        func dictionary<Key: AttributeValue & Hashable>(_: Key.Type) -> any AttributeValue.Type { [Key: Self].self }
        return dictionary(key)
    }
}

extension AttributeValue where Self: Hashable {
    fileprivate static var set: any AttributeValue.Type { Set<Self>.self }
}

/// A value of a program's own type, as the file has it.
struct EncodedValue: AttributeValue, Hashable {
    let bytes: [UInt8]

    static var attributeCodec: AttributeCodec<EncodedValue> {
        var operations = AttributeCodec<EncodedValue>(
            kind: "codable",
            encode: { value, writer in
                writer.appendVarint(UInt64(value.bytes.count))
                writer.append(contentsOf: value.bytes)
            },
            decode: { EncodedValue(bytes: Array(try $0.take(try $0.readCount(minimumBytes: 1)))) },
            isIdentical: { $0 == $1 },
            describe: { "\($0.bytes.count) bytes" }
        ).operations
        // The type may have encoded the same value in another way before.
        operations.matchesRecord = { _, _ in true }
        return AttributeCodec(operations)
    }

    /// - Parameter encoding: one in CBOR or in JSON, behind its length.
    static func isNull(_ encoding: [UInt8]) -> Bool {
        encoding == StoredForm.null || encoding == [4] + Array("null".utf8)
    }
}
