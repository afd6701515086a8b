#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Optional: AttributeValue where Wrapped: AttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Wrapped?> {
        OptionalCodecs.codec(of: Wrapped.self) as? AttributeCodec<Wrapped?> ?? .optional(Wrapped.attributeCodec)
    }
}

/// The codecs of what optionals mostly wrap, compiled for these types: code for any type looks the type's metadata up for each
/// value, to ask them how it is copied.
private enum OptionalCodecs {
    private static let string = AttributeCodec<String?>.optional(String.attributeCodec)
    private static let int = AttributeCodec<Int?>.optional(Int.attributeCodec)
    private static let double = AttributeCodec<Double?>.optional(Double.attributeCodec)
    private static let bool = AttributeCodec<Bool?>.optional(Bool.attributeCodec)
    private static let date = AttributeCodec<Date?>.optional(Date.attributeCodec)
    private static let uuid = AttributeCodec<UUID?>.optional(UUID.attributeCodec)

    static func codec(of wrapped: any Any.Type) -> (any Sendable)? {
        switch wrapped {
        case is String.Type: string
        case is Int.Type: int
        case is Double.Type: double
        case is Bool.Type: bool
        case is Date.Type: date
        case is UUID.Type: uuid
        default: nil
        }
    }
}

extension Optional: OrderedAttributeValue where Wrapped: OrderedAttributeValue {
    /// For Graph's own use.
    public typealias NonOptional = Wrapped.NonOptional
    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func including(_ value: NonOptional) -> Wrapped? { Wrapped.including(value) }
    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func nonOptional(_ value: Wrapped?) -> NonOptional? { value.flatMap { Wrapped.nonOptional($0) } }
}

extension Array: AttributeValue where Element: AttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<[Element]> {
        if Element.self == UInt8.self { return .bytes }
        let element = Element.attributeCodec.operations
        return AttributeCodec(
            kind: "array(\(element.kind))",
            encode: { value, writer in
                writer.appendVarint(UInt64(value.count))
                for item in value { try withUnsafePointer(to: item) { try element.encode($0, &writer) } }
            },
            decode: { reader in
                var value: [Element] = []
                for _ in 0..<(try reader.readCount(minimumBytes: 1)) {
                    value.append(try element.value(from: &reader))
                }
                return value
            },
            isIdentical: { lhs, rhs in
                lhs.count == rhs.count && zip(lhs, rhs).allSatisfy { element.areIdentical($0, $1) }
            },
            describe: { value in "[" + value.map { element.text(of: $0) }.joined(separator: ", ") + "]" }
        )
    }
}

extension Set: AttributeValue where Element: AttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<Set<Element>> {
        let element = Element.attributeCodec.operations
        /// In the order of their bytes, so that equal sets have equal encodings.
        @Sendable func encode(_ value: Set<Element>, to writer: inout ByteWriter) throws {
            writer.appendVarint(UInt64(value.count))
            for bytes in try value.map({ try element.encoding(of: $0) }).sorted(by: { $0.lexicographicallyPrecedes($1) }
            ) {
                writer.append(contentsOf: bytes)
            }
        }
        return AttributeCodec(
            kind: "set(\(element.kind))",
            encode: { try encode($0, to: &$1) },
            decode: { reader in
                var value: Set<Element> = []
                for _ in 0..<(try reader.readCount(minimumBytes: 1)) {
                    guard value.insert(try element.value(from: &reader)).inserted else {
                        throw reader.failure("an element occurs twice in a set")
                    }
                }
                return value
            },
            isIdentical: { sameEncoding($0, $1, encode) },
            describe: { value in "[" + value.map { element.text(of: $0) }.sorted().joined(separator: ", ") + "]" }
        )
    }
}

extension Dictionary: AttributeValue where Key: AttributeValue, Value: AttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<[Key: Value]> {
        let keyOperations = Key.attributeCodec.operations
        let valueOperations = Value.attributeCodec.operations
        /// In the order of their bytes, so that equal dictionaries have equal encodings. Several NaN keys differ in their
        /// values only.
        @Sendable func encode(_ value: [Key: Value], to writer: inout ByteWriter) throws {
            writer.appendVarint(UInt64(value.count))
            let pairs = try value.map {
                (key: try keyOperations.encoding(of: $0.key), value: try valueOperations.encoding(of: $0.value))
            }
            for pair in pairs.sorted(by: { ($0.key + $0.value).lexicographicallyPrecedes($1.key + $1.value) }) {
                writer.append(contentsOf: pair.key)
                writer.append(contentsOf: pair.value)
            }
        }
        return AttributeCodec(
            kind: "dictionary(\(keyOperations.kind), \(valueOperations.kind))",
            encode: { try encode($0, to: &$1) },
            decode: { reader in
                var value: [Key: Value] = [:]
                for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
                    let key: Key = try keyOperations.value(from: &reader)
                    guard value.updateValue(try valueOperations.value(from: &reader), forKey: key) == nil else {
                        throw reader.failure("a key occurs twice in a dictionary")
                    }
                }
                return value
            },
            isIdentical: { sameEncoding($0, $1, encode) },
            describe: { value in
                let pairs = value.map { "\(keyOperations.text(of: $0.key)): \(valueOperations.text(of: $0.value))" }
                return pairs.isEmpty ? "[:]" : "[" + pairs.sorted().joined(separator: ", ") + "]"
            }
        )
    }
}

extension AttributeCodec {
    /// `[UInt8]` is a block of bytes, not an array of numbers; only called if `Value` is that type.
    fileprivate static var bytes: AttributeCodec {
        AttributeCodec(
            kind: "bytes",
            encode: { value, writer in
                guard let bytes = value as? [UInt8] else { return }
                writer.appendVarint(UInt64(bytes.count))
                writer.append(contentsOf: bytes)
            },
            decode: { reader in
                guard let value = Array(try reader.take(try reader.readCount(minimumBytes: 1))) as? Value else {
                    throw reader.failure("not bytes")
                }
                return value
            },
            isIdentical: { $0 as? [UInt8] == $1 as? [UInt8] }
        )
    }

    /// One byte, 0 for nil or 1 before the value, in the journal as in keys.
    static func optional<Wrapped>(_ wrapped: AttributeCodec<Wrapped>) -> AttributeCodec<Wrapped?> {
        let wrapped = wrapped.operations
        let plain = AttributeCodec<Wrapped?>(
            kind: "optional(\(wrapped.kind))",
            encode: { value, writer in
                guard let value else { return writer.append(0) }
                writer.append(1)
                try withUnsafePointer(to: value) { try wrapped.encode($0, &writer) }
            },
            decode: { reader in
                switch try reader.readByte() {
                case 0: return nil
                case 1:
                    // The type must be written out: as the result of this closure it would be inferred as optional.
                    let value: Wrapped = try wrapped.value(from: &reader)
                    return value
                default: throw reader.failure("neither a value nor nil")
                }
            },
            isIdentical: { lhs, rhs in
                switch (lhs, rhs) {
                case (nil, nil): true
                case (let lhs?, let rhs?): wrapped.areIdentical(lhs, rhs)
                default: false
                }
            },
            describe: { $0.map { wrapped.text(of: $0) } ?? "nil" }
        )
        return wrapped.key.map { ordered(plain, by: $0) } ?? plain
    }

    /// nil comes first.
    private static func ordered<Wrapped>(
        _ plain: AttributeCodec<Wrapped?>,
        by key: KeyOperations
    ) -> AttributeCodec<Wrapped?> {
        var ordered = plain.ordered(
            by: { lhs, rhs in
                guard let rhs else { return false }
                guard let lhs else { return true }
                return withUnsafePointer(to: lhs) { left in withUnsafePointer(to: rhs) { key.precedes(left, $0) } }
            },
            appendKey: { value, writer in
                guard let value else {
                    writer.append(0)
                    return false
                }
                writer.append(1)
                return withUnsafePointer(to: value) { key.append($0, &writer) }
            }
        ).operations
        ordered.key?.equals = key.equals.map { ([1] + $0.least, [1] + $0.greatest) }
        return AttributeCodec<Wrapped?>(ordered)
    }

    /// Stored like the raw value.
    static func raw<Raw: AttributeValue>(
        _ type: Value.Type = Value.self
    ) -> AttributeCodec where Value: RawRepresentable<Raw> {
        let raw = Raw.attributeCodec.operations
        let plain = AttributeCodec(
            kind: raw.kind,
            encode: { value, writer in
                let rawValue = value.rawValue
                guard let read = Value(rawValue: rawValue), raw.areIdentical(read.rawValue, rawValue) else {
                    throw NotReadable(description: "\(Value.self) cannot be created from its own raw value \(rawValue)")
                }
                try withUnsafePointer(to: rawValue) { try raw.encode($0, &writer) }
            },
            decode: { reader in
                let rawValue: Raw = try raw.value(from: &reader)
                guard let value = Value(rawValue: rawValue) else {
                    throw UnreadableValue(Value.self, "it has no case for \(raw.text(of: rawValue).shortened(to: 200))")
                }
                return value
            },
            isIdentical: { raw.areIdentical($0.rawValue, $1.rawValue) },
            describe: { raw.text(of: $0.rawValue) }
        )
        guard let key = raw.key else { return plain }
        return plain.ordered(
            by: { lhs, rhs in
                withUnsafePointer(to: lhs.rawValue) { left in
                    withUnsafePointer(to: rhs.rawValue) { key.precedes(left, $0) }
                }
            },
            appendKey: { value, writer in withUnsafePointer(to: value.rawValue) { key.append($0, &writer) } }
        )
    }
}

/// A value that encodes without an error, but would make the file unreadable.
struct NotReadable: Error, CustomStringConvertible {
    let description: String
}

/// A well-formed stored value that its type rejects: the type has changed since the value was written.
struct UnreadableValue: Error {
    let type: String
    let reason: String

    init(_ type: any Any.Type, _ reason: String) {
        self.type = String(reflecting: type)
        self.reason = reason
    }
}

/// The operations on values in memory. The types are those that the operations were made for: each call follows the line that
/// took the operations from the type's own codec.
extension AttributeOperations {
    fileprivate func value<Value: Sendable>(from reader: inout ByteReader) throws -> Value {
        try withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
            guard let address = memory.baseAddress else { throw reader.failure("no memory for a value") }
            try decode(&reader, UnsafeMutableRawPointer(address))
            return address.move()
        }
    }

    fileprivate func areIdentical<Value>(_ lhs: Value, _ rhs: Value) -> Bool {
        withUnsafePointer(to: lhs) { left in withUnsafePointer(to: rhs) { isIdentical(left, $0) } }
    }

    fileprivate func text<Value>(of value: Value) -> String {
        withUnsafePointer(to: value) { describe($0) }
    }

    fileprivate func encoding<Value>(of value: Value) throws -> [UInt8] {
        var writer = ByteWriter()
        try withUnsafePointer(to: value) { try encode($0, &writer) }
        return writer.bytes
    }
}

/// Whether two unordered values are the same, by their encodings.
private func sameEncoding<Value>(
    _ lhs: Value,
    _ rhs: Value,
    _ encode: (Value, inout ByteWriter) throws -> Void
) -> Bool {
    var left = ByteWriter()
    var right = ByteWriter()
    do {
        try encode(lhs, &left)
        try encode(rhs, &right)
    } catch {
        return false
    }
    return left.bytes == right.bytes
}
