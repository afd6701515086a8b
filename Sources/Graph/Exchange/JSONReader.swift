/// Reads one value of JSON (RFC 8259) from bytes that may be anything.
///
/// Numbers stay texts. Refused are texts that are not UTF-8, halves of surrogate pairs, keys that an object has twice, and what
/// is nested too deeply.
struct JSONReader {
    /// Lists and objects inside of each other, at most: attributes have 32 levels, and so do programs' own types.
    private static let depthLimit = 128

    private let bytes: [UInt8]
    private var offset = 0

    /// The value of all bytes.
    static func read(_ bytes: some Sequence<UInt8>) throws(InvalidValue) -> StoredValue {
        var reader = JSONReader(bytes: Array(bytes))
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.offset == reader.bytes.count else { throw reader.failure("something follows the value") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func failure(_ reason: String) -> InvalidValue { InvalidValue("not JSON at byte \(offset + 1): \(reason)") }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private mutating func value(depth: Int) throws(InvalidValue) -> StoredValue {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .map(try entries(depth: depth))
        case UInt8(ascii: "["): return .list(try elements(depth: depth))
        case UInt8(ascii: "\""): return .text(try text())
        case let byte? where byte == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte:
            return .number(try number())
        default:
            for (word, value) in [("null", StoredValue.null), ("true", .bool(true)), ("false", .bool(false))]
            where bytes[offset...].starts(with: word.utf8) {
                offset += word.utf8.count
                return value
            }
            throw failure(next == nil ? "it ends too early" : "no value begins here")
        }
    }

    private mutating func elements(depth: Int) throws(InvalidValue) -> [StoredValue] {
        var elements: [StoredValue] = []
        try forEachItem(until: "]", depth: depth) { reader throws(InvalidValue) in
            elements.append(try reader.value(depth: depth + 1))
        }
        return elements
    }

    private mutating func entries(depth: Int) throws(InvalidValue) -> [StoredValue.Entry] {
        var entries: [StoredValue.Entry] = []
        var keys = KeySet()
        try forEachItem(until: "}", depth: depth) { reader throws(InvalidValue) in
            reader.skipSpace()
            guard reader.next == UInt8(ascii: "\"") else { throw reader.failure("a key in quotation marks is missing") }
            let key = try reader.text()
            guard keys.insert(key) else {
                throw reader.failure("the key \(key.shortened().debugDescription) comes twice")
            }
            reader.skipSpace()
            guard reader.take(":") else { throw reader.failure("a colon is missing") }
            entries.append(StoredValue.Entry(key: .text(key), value: try reader.value(depth: depth + 1)))
        }
        return entries
    }

    /// Reads what is in brackets, with commas between.
    private mutating func forEachItem(
        until end: Unicode.Scalar, depth: Int, _ body: (inout JSONReader) throws(InvalidValue) -> Void
    ) throws(InvalidValue) {
        guard depth < Self.depthLimit else { throw failure("it is nested more than \(Self.depthLimit) levels deep") }
        offset += 1
        skipSpace()
        if take(end) { return }
        repeat {
            try body(&self)
            skipSpace()
        } while take(",")
        guard take(end) else { throw failure("a comma or a closing bracket is missing") }
    }

    private mutating func number() throws(InvalidValue) -> String {
        let end = bytes[offset...].firstIndex { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                false
            default: true
            }
        }
        let text = String(decoding: bytes[offset..<(end ?? bytes.count)], as: UTF8.self)
        guard text.isJSONNumber else { throw failure("\(text.shortened()) is no number") }
        offset += text.utf8.count
        return text
    }

    /// The next byte is a quotation mark.
    private mutating func text() throws(InvalidValue) -> String {
        let start = offset
        offset += 1
        // What comes before the last escaped character. Most texts have none, and are a part of the bytes.
        var utf8: [UInt8] = []
        while true {
            let part = bytes[offset...].prefix { byte in
                byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            }
            offset = part.endIndex
            let end = next
            offset += 1
            switch end {
            case UInt8(ascii: "\""):
                let text = utf8.isEmpty ? part : (utf8 + part)[...]
                if let text = text.withUnsafeBytes({ ByteReader.string(validating: $0) }) { return text }
                offset = start
                throw failure("the text is not UTF-8")
            case UInt8(ascii: "\\"):
                utf8 += part
                try appendEscaped(to: &utf8)
            case nil:
                offset = bytes.count
                throw failure("a text has no end")
            default: throw failure("a control character is not escaped")
            }
        }
    }

    private mutating func appendEscaped(to utf8: inout [UInt8]) throws(InvalidValue) {
        let character = next
        offset += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): utf8.append(character ?? 0)
        case UInt8(ascii: "b"): utf8.append(0x08)
        case UInt8(ascii: "f"): utf8.append(0x0C)
        case UInt8(ascii: "n"): utf8.append(0x0A)
        case UInt8(ascii: "r"): utf8.append(0x0D)
        case UInt8(ascii: "t"): utf8.append(0x09)
        case UInt8(ascii: "u"):
            var code = UInt32(try hexadecimal())
            if code & 0xFC00 == 0xD800, take("\\"), take("u") {
                let low = UInt32(try hexadecimal())
                guard low & 0xFC00 == 0xDC00 else { throw failure("half of a surrogate pair stands alone") }
                code = 0x1_0000 + (code & 0x3FF) << 10 + low & 0x3FF
            }
            guard let scalar = Unicode.Scalar(code) else { throw failure("half of a surrogate pair stands alone") }
            utf8 += Character(scalar).utf8
        default: throw failure("no character is escaped like that")
        }
    }

    private mutating func hexadecimal() throws(InvalidValue) -> UInt16 {
        let digits = bytes[min(offset, bytes.count)..<min(offset + 4, bytes.count)]
        // `UInt16` would read a sign.
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let number = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw failure("four hexadecimal digits are missing") }
        offset += 4
        return number
    }
}

/// Keys that differ in their bytes: a type may have keys that are equal texts.
private struct KeySet {
    /// So many keys are compared one by one, which is faster than their hashes.
    private static let limit = 16

    private var first: [String] = []
    private var others: Set<[UInt8]> = []

    /// False if the key is there.
    mutating func insert(_ key: String) -> Bool {
        guard !first.contains(where: { haveSameUTF8($0, key) }) else { return false }
        guard first.count == Self.limit else {
            first.append(key)
            return true
        }
        return others.insert(Array(key.utf8)).inserted
    }
}
