/// A JSON value (RFC 8259), for the compiler's messages.
///
/// Foundation's coders would do it too, but importing Foundation takes longer than compiling all the rest of this program,
/// and every clean build of every package that uses Graph would wait for it.
enum JSON: Equatable, Sendable {
    case null
    case bool(Bool)
    /// Numbers with a fraction or beyond `Int` are read as nil; the protocol has none.
    case number(Int?)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    var number: Int? {
        guard case .number(let value) = self else { return nil }
        return value
    }

    var array: [JSON]? {
        guard case .array(let value) = self else { return nil }
        return value
    }
}

// MARK: Writing

extension JSON {
    /// The members of an object in the order of their names.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += value.description.utf8
        case .number(let value): bytes += (value?.description ?? "null").utf8
        case .string(let value): Self.append(value, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes += "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

// MARK: Reading

extension JSON {
    struct Malformed: Error, Equatable {
        let offset: Int
    }

    init(_ bytes: [UInt8]) throws(Malformed) {
        var reader = Reader(bytes: bytes)
        self = try reader.readValue(depth: 0)
        reader.skipSpace()
        if reader.position < bytes.count { throw reader.malformed }
    }

    private struct Reader {
        /// Far deeper than the protocol's messages; a bound, so that no message can exhaust the stack.
        static let maximumDepth = 100

        let bytes: [UInt8]
        var position = 0

        var malformed: Malformed { Malformed(offset: position) }

        mutating func skipSpace() {
            while position < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[position]) { position += 1 }
        }

        /// Moves past a character if it is next, and white space before it.
        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func expect(_ character: Unicode.Scalar) throws(Malformed) {
            guard skip(character) else { throw malformed }
        }

        mutating func skip(word: String) -> Bool {
            guard bytes[position...].starts(with: word.utf8) else { return false }
            position += word.utf8.count
            return true
        }

        mutating func readValue(depth: Int) throws(Malformed) -> JSON {
            guard depth < Self.maximumDepth else { throw malformed }
            skipSpace()
            guard position < bytes.count else { throw malformed }
            switch bytes[position] {
            case UInt8(ascii: "{"): return try readObject(depth: depth)
            case UInt8(ascii: "["): return try readArray(depth: depth)
            case UInt8(ascii: "\""): return .string(try readString())
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try readNumber()
            default:
                if skip(word: "true") { return .bool(true) }
                if skip(word: "false") { return .bool(false) }
                if skip(word: "null") { return .null }
                throw malformed
            }
        }

        mutating func readObject(depth: Int) throws(Malformed) -> JSON {
            try expect("{")
            var members: [String: JSON] = [:]
            if skip("}") { return .object(members) }
            repeat {
                skipSpace()
                let name = try readString()
                try expect(":")
                members[name] = try readValue(depth: depth + 1)
            } while skip(",")
            try expect("}")
            return .object(members)
        }

        mutating func readArray(depth: Int) throws(Malformed) -> JSON {
            try expect("[")
            var elements: [JSON] = []
            if skip("]") { return .array(elements) }
            repeat {
                elements.append(try readValue(depth: depth + 1))
            } while skip(",")
            try expect("]")
            return .array(elements)
        }

        mutating func readNumber() throws(Malformed) -> JSON {
            let start = position
            while position < bytes.count, "+-.eE0123456789".utf8.contains(bytes[position]) { position += 1 }
            let text = String(decoding: bytes[start..<position], as: UTF8.self)
            guard Double(text) != nil else { throw Malformed(offset: start) }
            return .number(Int(text))
        }

        mutating func readString() throws(Malformed) -> String {
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { throw malformed }
            position += 1
            var string: [UInt8] = []
            while position < bytes.count {
                let start = position
                while position < bytes.count, bytes[position] != UInt8(ascii: "\""),
                    bytes[position] != UInt8(ascii: "\\")
                {
                    position += 1
                }
                string += bytes[start..<position]
                guard position < bytes.count else { break }
                position += 1
                if bytes[position - 1] == UInt8(ascii: "\"") { return String(decoding: string, as: UTF8.self) }
                string += String(try readEscape()).utf8
            }
            throw malformed
        }

        /// From behind the backslash.
        mutating func readEscape() throws(Malformed) -> Unicode.Scalar {
            guard position < bytes.count else { throw malformed }
            position += 1
            switch bytes[position - 1] {
            case UInt8(ascii: "n"): return "\n"
            case UInt8(ascii: "r"): return "\r"
            case UInt8(ascii: "t"): return "\t"
            case UInt8(ascii: "b"): return "\u{8}"
            case UInt8(ascii: "f"): return "\u{C}"
            case UInt8(ascii: "u"): return try readUnicode()
            case let byte where "\"\\/".utf8.contains(byte): return Unicode.Scalar(byte)
            default: throw malformed
            }
        }

        /// From behind `\u`: a scalar, or the two surrogates of one.
        mutating func readUnicode() throws(Malformed) -> Unicode.Scalar {
            let first = try readHex()
            if let scalar = Unicode.Scalar(first) { return scalar }
            guard UTF16.isLeadSurrogate(first), skip(word: "\\u") else { throw malformed }
            let second = try readHex()
            guard UTF16.isTrailSurrogate(second) else { throw malformed }
            return UTF16.decode(UTF16.EncodedScalar([first, second]))
        }

        mutating func readHex() throws(Malformed) -> UInt16 {
            let digits = bytes[position...].prefix(4)
            // The initializer takes a sign.
            guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let value = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
            else { throw malformed }
            position += 4
            return value
        }
    }
}
