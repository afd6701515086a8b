/// Reads the elementary encodings of `ByteWriter` from untrusted bytes.
///
/// Every read first checks how many bytes remain, so nothing in the bytes can make it trap, read outside, or allocate more than
/// the bytes themselves take: the offset moves only by bytes that are there. The buffer must outlive the reader; its users are the
/// bodies of `withUnsafeBytes`.
struct ByteReader {
    /// What is wrong with the bytes, and where, counted from the start of the buffer.
    struct Failure: Error, Equatable {
        let reason: String
        let offset: Int
    }

    private let buffer: UnsafeRawBufferPointer
    private(set) var offset = 0

    /// Set where a value of a program's own type was read that has more than its type asked for.
    var hasUnreadParts = false

    var remaining: Int { buffer.count - offset }

    init(_ buffer: UnsafeRawBufferPointer) {
        self.buffer = buffer
    }

    func failure(_ reason: String) -> Failure {
        Failure(reason: reason, offset: offset)
    }

    /// The next `count` bytes, without copying them.
    mutating func take(_ count: Int) throws(Failure) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else {
            throw failure("\(count) bytes expected, \(remaining) left")
        }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: buffer[offset..<(offset + count)])
    }

    /// Takes these bytes if they come next.
    mutating func skip(_ bytes: [UInt8]) -> Bool {
        guard remaining >= bytes.count, buffer[offset...].prefix(bytes.count).elementsEqual(bytes) else { return false }
        offset += bytes.count
        return true
    }

    mutating func readByte() throws(Failure) -> UInt8 {
        guard offset < buffer.count else { throw failure("one byte expected, none left") }
        defer { offset += 1 }
        return buffer[offset]
    }

    mutating func readFixed<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws(Failure) -> Value {
        Value(littleEndian: try take(MemoryLayout<Value>.size).loadUnaligned(as: Value.self))
    }

    /// Refuses longer forms than needed and numbers beyond 64 bits.
    @inline(__always)
    mutating func readVarint() throws(Failure) -> UInt64 {
        guard offset < buffer.count, buffer[offset] < 0x80 else { return try readLongVarint() }
        defer { offset += 1 }
        return UInt64(buffer[offset])
    }

    private mutating func readLongVarint() throws(Failure) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try readByte()
            if shift == 63, byte > 1 { throw failure("varint beyond 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                if byte == 0, shift > 0 { throw failure("varint not in minimal form") }
                return value
            }
            shift += 7
            if shift > 63 { throw failure("varint longer than ten bytes") }
        }
    }

    mutating func readSignedVarint() throws(Failure) -> Int64 {
        let raw = try readVarint()
        return Int64(bitPattern: (raw >> 1) ^ (0 &- (raw & 1)))
    }

    /// A count of elements that each take at least `minimumBytes` of the remaining bytes.
    mutating func readCount(minimumBytes: Int) throws(Failure) -> Int {
        let count = try readVarint()
        guard count <= UInt64(remaining / max(1, minimumBytes)) else {
            throw failure("count \(count) is more than the bytes left can hold")
        }
        return Int(count)
    }

    mutating func readString() throws(Failure) -> String {
        guard let string = Self.string(validating: try take(try readCount(minimumBytes: 1))) else {
            throw failure("not valid UTF-8")
        }
        return string
    }

    /// The text of bytes; nil if they are not UTF-8.
    static func string(validating utf8: UnsafeRawBufferPointer) -> String? {
        if isASCII(utf8) { return String(decoding: utf8, as: UTF8.self) }
        // This repairs what is not valid, which shows; `String(validating:as:)` takes two to three times as long.
        var string = String(decoding: utf8, as: UTF8.self)
        return string.withUTF8 { areEqual(UnsafeRawBufferPointer($0), utf8) } ? string : nil
    }

    @inline(__always)
    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var (high, offset): (UInt64, Int) = (0, 0)
        while bytes.count - offset >= 8 {
            high |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < bytes.count {
            high |= UInt64(bytes[offset])
            offset += 1
        }
        return high & 0x8080_8080_8080_8080 == 0
    }

    private static func areEqual(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Bool {
        guard lhs.count == rhs.count else { return false }
        var offset = 0
        while lhs.count - offset >= 8 {
            let word = lhs.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            guard word == rhs.loadUnaligned(fromByteOffset: offset, as: UInt64.self) else { return false }
            offset += 8
        }
        return lhs[offset...].elementsEqual(rhs[offset...])
    }

    func expectEnd() throws(Failure) {
        guard remaining == 0 else { throw failure("\(remaining) bytes left over") }
    }
}
