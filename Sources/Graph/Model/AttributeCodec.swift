/// The operations on a property's bytes in a row, compiled for the property's type and called by address, so that code which
/// handles every entity alike needs neither a key path nor generic dispatch.
///
/// Every address points at an initialized value of the type that the operations were made for, except where stated otherwise;
/// `Property` keeps address and operations together.
@usableFromInline
struct AttributeOperations: Sendable {
    /// The type's name in the file's schema record, for example `optional(string)`.
    let kind: String
    /// Appends at least one byte, if rows hold the property.
    let encode: @Sendable (UnsafeRawPointer, inout ByteWriter) throws -> Void
    /// The same for values that lie at a distance from each other, one at each place whose bit is set.
    let encodeColumn: @Sendable (UnsafeRawPointer, Int, UInt32, inout ByteWriter) throws -> Void
    /// Initializes the memory at the address, or throws and leaves it uninitialized.
    let decode: @Sendable (inout ByteReader, UnsafeMutableRawPointer) throws -> Void
    /// Initializes values that lie at a distance from each other, one at each place whose bit is set, and clears the bits. If it
    /// throws, the values of the bits that are left are uninitialized.
    let decodeColumn: @Sendable (inout ByteReader, UnsafeMutableRawPointer, Int, inout UInt32) throws -> Void
    let deinitialize: @Sendable (UnsafeMutableRawPointer) -> Void
    /// Initializes the memory at the first address with a copy of the value at the second one.
    let copy: @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer) -> Void
    let assign: @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer) -> Void
    /// Whether two values have the same stored bits; sets and dictionaries compare without order.
    var isIdentical: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    let describe: @Sendable (UnsafeRawPointer) -> String
    /// nil for types without an order.
    var key: KeyOperations?
    /// Whether a value of a program's `Codable` type matches a record: it encodes the same, or the type calls it equal. nil for
    /// built-in types, whose decoded values are identical to what was encoded. A program's type may add things when it decodes,
    /// and its next version may decode the same bytes differently.
    var matchesRecord: (@Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool)?
}

/// How a property takes part in indexes and sort orders.
@usableFromInline
struct KeyOperations: Sendable {
    /// Appends bytes that order like the values, none of which is a prefix of another's; false for nil.
    let append: @Sendable (UnsafeRawPointer, inout ByteWriter) -> Bool
    /// The same order without building the bytes.
    let precedes: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    /// The keys of two values that `==` calls equal, -0.0 and 0.0. Nil for types whose equal values have equal keys; those with
    /// such a pair have NaN too, which is not equal to itself.
    var equals: (least: [UInt8], greatest: [UInt8])?
}

/// How values of one type are stored, compared and ordered. Graph makes it for the types that it knows; types of your own are
/// stored through `RawRepresentable` or `Codable`.
public struct AttributeCodec<Value: Sendable>: Sendable {
    let operations: AttributeOperations

    init(_ operations: AttributeOperations) {
        self.operations = operations
    }

    init(
        kind: String,
        encode: @escaping @Sendable (Value, inout ByteWriter) throws -> Void,
        decode: @escaping @Sendable (inout ByteReader) throws -> Value,
        isIdentical: @escaping @Sendable (Value, Value) -> Bool,
        describe: @escaping @Sendable (Value) -> String = { String(describing: $0) }
    ) {
        operations = AttributeOperations(
            kind: kind,
            encode: { try encode($0.assumingMemoryBound(to: Value.self).pointee, &$1) },
            encodeColumn: { values, stride, places, writer in
                try places.forEachBit { place in
                    try encode((values + place * stride).assumingMemoryBound(to: Value.self).pointee, &writer)
                }
            },
            decode: { $1.initializeMemory(as: Value.self, to: try decode(&$0)) },
            decodeColumn: { reader, values, stride, places in
                while places != 0 {
                    let value = values + places.trailingZeroBitCount * stride
                    value.initializeMemory(as: Value.self, to: try decode(&reader))
                    places &= places - 1
                }
            },
            deinitialize: { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) },
            copy: { $0.initializeMemory(as: Value.self, to: $1.assumingMemoryBound(to: Value.self).pointee) },
            assign: {
                $0.assumingMemoryBound(to: Value.self).pointee = $1.assumingMemoryBound(to: Value.self).pointee
            },
            isIdentical: {
                isIdentical(
                    $0.assumingMemoryBound(to: Value.self).pointee,
                    $1.assumingMemoryBound(to: Value.self).pointee
                )
            },
            describe: { describe($0.assumingMemoryBound(to: Value.self).pointee) }
        )
    }

    /// The same codec with an order. `precedes` must order values like the appended bytes.
    func ordered(
        by precedes: @escaping @Sendable (Value, Value) -> Bool,
        appendKey: @escaping @Sendable (Value, inout ByteWriter) -> Bool
    ) -> AttributeCodec {
        var ordered = operations
        ordered.key = KeyOperations(
            append: { appendKey($0.assumingMemoryBound(to: Value.self).pointee, &$1) },
            precedes: {
                precedes(
                    $0.assumingMemoryBound(to: Value.self).pointee,
                    $1.assumingMemoryBound(to: Value.self).pointee
                )
            }
        )
        return AttributeCodec(ordered)
    }

    /// The same for a type that has two zeros.
    func zeros(_ negative: Value, _ positive: Value) -> AttributeCodec {
        guard var key = operations.key else { return self }
        func bytes(_ value: Value, _ key: KeyOperations) -> [UInt8] {
            var writer = ByteWriter()
            _ = withUnsafePointer(to: value) { key.append($0, &writer) }
            return writer.bytes
        }
        key.equals = (bytes(negative, key), bytes(positive, key))
        var zeros = operations
        zeros.key = key
        return AttributeCodec(zeros)
    }
}

/// A type whose values Graph stores directly.
///
/// These are the integers, `Bool`, `Float`, `Double`, `String`, `Date`, `UUID`, `Data`, `URL`, `Decimal`, and optionals,
/// arrays, sets and dictionaries of these. Enumerations with a raw value and types that are `Codable`, `Equatable` and
/// `Sendable` need no conformance: the schema takes them without it.
public protocol AttributeValue: Sendable {
    /// How values of this type are stored. For Graph's own use.
    static var attributeCodec: AttributeCodec<Self> { get }
}

/// A type whose values have a total order, so that they can be indexed, unique and sorted by.
///
/// Numbers, dates and `Bool` are ordered by value (floating point by IEEE 754's totalOrder, -0.0 before 0.0 and NaN at the
/// ends), strings as `<` orders them, by canonical equivalence, data by their bytes, and UUIDs as their text. nil comes before
/// everything.
public protocol OrderedAttributeValue: AttributeValue {
    /// The type itself; of an optional, the type that it wraps.
    associatedtype NonOptional: Sendable = Self
    /// The value as one of this type. For Graph's own use.
    static func including(_ value: NonOptional) -> Self
    /// The value, or nil if it is nil. For Graph's own use.
    static func nonOptional(_ value: Self) -> NonOptional?
}

extension OrderedAttributeValue where NonOptional == Self {
    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func including(_ value: Self) -> Self { value }
    /// For Graph's own use.
    ///
    /// Complexity: O(1).
    public static func nonOptional(_ value: Self) -> Self? { value }
}
