#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value of a file as its schema tells, without the program's types.
package indirect enum StoredValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// In decimal notation, exact.
    case number(String)
    case text(String)
    case bytes([UInt8])
    case list([StoredValue])
    /// In the order of the keys' texts.
    case map([Entry])

    package struct Entry: Sendable, Equatable {
        package let key: StoredValue
        package let value: StoredValue
    }

    /// - Parameter value: of one of the types that Graph stores. Dates are seconds since the beginning of 2001, as in the file;
    ///   sets come in the order of their elements' texts.
    init(_ value: Any) {
        switch value {
        case let value as Bool: self = .bool(value)
        case let value as any FixedWidthInteger: self = .number("\(value)")
        case let value as Double: self = Self.number(value, value.isFinite)
        case let value as Float: self = Self.number(value, value.isFinite)
        case let value as Decimal: self = value.isFinite ? .number("\(value)") : .text("\(value)")
        case let value as String: self = .text(value)
        case let value as UUID: self = .text(value.uuidString)
        case let value as URL: self = .text(value.absoluteString)
        case let value as Date: self = StoredValue(value.timeIntervalSinceReferenceDate)
        case let value as Data: self = .bytes(Array(value))
        // Any empty array would pass for one of bytes.
        case let bytes as [UInt8] where type(of: value) == [UInt8].self: self = .bytes(bytes)
        case let value as EncodedValue: self = StoredValue(encoded: value.bytes)
        default: self.init(children: Mirror(reflecting: value))
        }
    }

    private static func number(_ value: some CustomStringConvertible, _ isFinite: Bool) -> StoredValue {
        isFinite ? .number(value.description) : .text(value.description)
    }

    /// What holds other values.
    private init(children mirror: Mirror) {
        let children = mirror.children.map(\.value)
        switch mirror.displayStyle {
        case .optional: self = children.first.map { StoredValue($0) } ?? .null
        case .dictionary:
            let entries = children.map { Mirror(reflecting: $0).children.map { StoredValue($0.value) } }
            self = .map(
                entries.map { Entry(key: $0[0], value: $0[1]) }.sorted { $0.key.description < $1.key.description })
        case .set: self = .list(children.map { StoredValue($0) }.sorted { $0.description < $1.description })
        default: self = .list(children.map { StoredValue($0) })
        }
    }

    /// A value of a program's own type. One whose bytes are not in a form that Graph writes today stays bytes.
    private init(encoded bytes: [UInt8]) {
        let decoding = CBORDecoding()
        let parsed: Void? = bytes.withUnsafeBytes { bytes in
            guard bytes.first == 1 else { return nil }
            return try? decoding.parse(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        }
        self = parsed == nil ? .bytes(bytes) : StoredValue(decoding, 0)
    }

    private init(_ decoding: CBORDecoding, _ index: UInt32) {
        let item = decoding.items[Int(index)]
        /// The items in this one, without those inside of them.
        func children() -> [StoredValue] {
            var (children, child): ([StoredValue], UInt32) = ([], index + 1)
            while child < item.next {
                children.append(StoredValue(decoding, child))
                child = decoding.items[Int(child)].next
            }
            return children
        }
        switch item.kind {
        case .unsigned: self = .number("\(item.number)")
        case .negative: self = .number("\(-1 - Int128(item.number))")
        case .bool: self = .bool(item.number == 1)
        case .null: self = .null
        case .double: self = StoredValue(Double(bitPattern: item.number))
        case .text: self = .text(decoding.text(of: item) ?? "")
        case .bytes: self = .bytes(Array(decoding.bytes[decoding.content(of: item)]))
        case .positiveBignum, .negativeBignum:
            let number = decoding.bytes[decoding.content(of: item)].reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
            self = .number(item.kind == .positiveBignum ? "\(number)" : "\(Int128(truncatingIfNeeded: ~number))")
        case .array: self = .list(children())
        case .map:
            let values = children()
            self = .map(
                stride(from: 0, to: values.count - 1, by: 2).map { Entry(key: values[$0], value: values[$0 + 1]) })
        }
    }
}

extension StoredValue: CustomStringConvertible {
    /// JSON (RFC 8259) in one line, with characters beyond ASCII as they are. Bytes are Base64; the key of an entry that is no
    /// text is the text of its JSON.
    package var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let text): text
        case .text(let text): Self.quoted(text)
        case .bytes(let bytes): Self.quoted(Data(bytes).base64EncodedString())
        case .list(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
        case .map(let entries):
            "{"
                + entries.map { entry in
                    let key = if case .text(let text) = entry.key { text } else { entry.key.description }
                    return Self.quoted(key) + ":" + entry.value.description
                }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
