/// Appends the journal's elementary encodings to a growing array of bytes.
///
/// Fixed-width integers are little-endian; `appendBigEndian` is for index keys, where the order of the bytes must be
/// the order of the numbers. A varint is unsigned LEB128 in its minimal form, at most ten bytes.
struct ByteWriter: Sendable {
    private(set) var bytes: [UInt8] = []

    var count: Int { bytes.count }

    init() {}

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    mutating func reserveCapacity(_ capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Replaces the bytes from a position on by their complements.
    mutating func invert(from start: Int) {
        for position in start..<bytes.count { bytes[position] = ~bytes[position] }
    }

    mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    mutating func append(contentsOf other: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: other)
    }

    mutating func append(contentsOf other: [UInt8]) {
        bytes.append(contentsOf: other)
    }

    mutating func appendFixed<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func appendVarint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Signed numbers near zero take few bytes: 0, -1, 1, -2 … become 0, 1, 2, 3 … (zigzag).
    mutating func appendSignedVarint(_ value: Int64) {
        appendVarint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    /// The string's UTF-8 after its length in bytes.
    mutating func appendString(_ string: String) {
        var string = string
        string.withUTF8 { utf8 in
            appendVarint(UInt64(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    mutating func removeAll(keepingCapacity: Bool = true) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
    }

    /// Removes the bytes from a position on.
    mutating func removeAll(from start: Int) {
        bytes.removeLast(bytes.count - start)
    }

    /// Overwrites bytes appended earlier with a little-endian number, for lengths known only afterwards.
    mutating func overwriteFixed<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
        withUnsafeBytes(of: value.littleEndian) { source in
            for (index, byte) in source.enumerated() { bytes[offset + index] = byte }
        }
    }
}
