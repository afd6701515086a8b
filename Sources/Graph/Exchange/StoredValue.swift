#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value as JSON has it, with numbers as texts, so that all of them are exact.
package enum StoredValue: Sendable {
    case null
    case bool(Bool)
    /// In decimal notation, exact.
    case number(String)
    case text(String)
    case bytes([UInt8])
    case list([StoredValue])
    case map([Entry])

    package struct Entry: Sendable, Equatable {
        package let key: StoredValue
        package let value: StoredValue
    }

    /// - Parameter entries: with keys that differ, in the order in which they are printed.
    static func map(_ entries: KeyValuePairs<String, StoredValue>) -> StoredValue {
        .map(entries.map { Entry(key: .text($0.key), value: $0.value) })
    }
}

extension StoredValue: Equatable {
    /// Texts are equal if their bytes are.
    package static func == (lhs: StoredValue, rhs: StoredValue) -> Bool {
        switch (lhs, rhs) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)), (.text(let left), .text(let right)): haveSameUTF8(left, right)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.map(let left), .map(let right)): left == right
        default: false
        }
    }
}

extension StoredValue: CustomStringConvertible {
    /// JSON (RFC 8259) in one line, with characters beyond ASCII as they are. Bytes are Base64; the key of an entry that is no
    /// text is the text of its JSON.
    package var description: String {
        var json: [UInt8] = []
        appendJSON(to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    /// Appends what `description` is.
    func appendJSON(to json: inout [UInt8]) {
        switch self {
        case .null: json += "null".utf8
        case .bool(let value): json += (value ? "true" : "false").utf8
        case .number(let text): json += text.utf8
        case .text(let text): Self.appendQuoted(text, to: &json)
        case .bytes(let bytes): Self.appendQuoted(Data(bytes).base64EncodedString(), to: &json)
        case .list(let values):
            json.append(UInt8(ascii: "["))
            for (place, value) in values.enumerated() {
                if place > 0 { json.append(UInt8(ascii: ",")) }
                value.appendJSON(to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .map(let entries):
            json.append(UInt8(ascii: "{"))
            for (place, entry) in entries.enumerated() {
                if place > 0 { json.append(UInt8(ascii: ",")) }
                Self.appendQuoted(entry.key.text ?? entry.key.description, to: &json)
                json.append(UInt8(ascii: ":"))
                entry.value.appendJSON(to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }

    /// The text; nil if this is something else.
    var text: String? { if case .text(let text) = self { text } else { nil } }

    private static func appendQuoted(_ text: String, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\n"): json += "\\n".utf8
            case UInt8(ascii: "\r"): json += "\\r".utf8
            case UInt8(ascii: "\t"): json += "\\t".utf8
            case 0..<0x20, 0x7F: json += ((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16)).utf8
            default: json.append(byte)
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}
