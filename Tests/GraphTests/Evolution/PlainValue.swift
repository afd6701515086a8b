import Foundation
import Graph

/// A value as text that says all of it, in JSON: what a reader in another language prints too.
///
/// Numbers with a fraction and dates are the hexadecimal digits of their bits, data are those of their bytes. Sets are arrays
/// and dictionaries arrays of two, both in ascending order of the elements' texts.
protocol PlainValue {
    var plain: String { get }
}

/// An enumeration that is stored as its raw value.
protocol PlainRaw: RawRepresentable, PlainValue, Sendable where RawValue: PlainValue {}

extension PlainRaw {
    var plain: String { rawValue.plain }
}

extension PlainValue where Self: BinaryInteger {
    var plain: String { String(self) }
}

extension Int: PlainValue {}
extension Int8: PlainValue {}
extension Int16: PlainValue {}
extension Int32: PlainValue {}
extension Int64: PlainValue {}
extension Int128: PlainValue {}
extension UInt: PlainValue {}
extension UInt8: PlainValue {}
extension UInt16: PlainValue {}
extension UInt32: PlainValue {}
extension UInt64: PlainValue {}
extension UInt128: PlainValue {}

extension Bool: PlainValue {
    var plain: String { self ? "true" : "false" }
}

extension Double: PlainValue {
    var plain: String { PlainText.quoted(PlainText.hexadecimal(bitPattern.bigEndian)) }
}

extension Float: PlainValue {
    var plain: String { PlainText.quoted(PlainText.hexadecimal(bitPattern.bigEndian)) }
}

extension Date: PlainValue {
    var plain: String { timeIntervalSinceReferenceDate.plain }
}

extension String: PlainValue {
    var plain: String { PlainText.quoted(self) }
}

extension Decimal: PlainValue {
    var plain: String { PlainText.quoted(description) }
}

extension UUID: PlainValue {
    var plain: String { PlainText.quoted(uuidString) }
}

extension URL: PlainValue {
    var plain: String { [relativeString, baseURL?.absoluteString ?? ""].plain }
}

extension Data: PlainValue {
    var plain: String { PlainText.quoted(map { PlainText.hexadecimal($0) }.joined()) }
}

extension Optional: PlainValue where Wrapped: PlainValue {
    var plain: String { self?.plain ?? "null" }
}

extension Array: PlainValue where Element: PlainValue {
    var plain: String {
        // An empty array of anything is one of bytes too.
        if Element.self == UInt8.self, let bytes = self as? [UInt8] { return Data(bytes).plain }
        return PlainText.array(map(\.plain))
    }
}

extension Set: PlainValue where Element: PlainValue {
    var plain: String { PlainText.array(PlainText.sorted(map(\.plain))) }
}

extension Dictionary: PlainValue where Key: PlainValue, Value: PlainValue {
    var plain: String { PlainText.array(PlainText.sorted(map { PlainText.array([$0.key.plain, $0.value.plain]) })) }
}

extension ToOne: PlainValue {
    var plain: String { id.map { String(PlainText.row($0)) } ?? "null" }
}

/// What the store holds of these is a map of texts.
extension LibraryV1.Address: PlainValue {
    var plain: String {
        var properties: [(String, any PlainValue)] = [("street", street), ("number", number), ("position", position)]
        if let remark { properties.append(("remark", remark)) }
        return PlainText.object(properties)
    }
}

extension LibraryV1.Contact: PlainValue {
    var plain: String {
        switch self {
        case .none: "{\"none\":{}}"
        case .email(let email): "{\"email\":\(PlainText.object([("_0", email)]))}"
        case .phone(let country, let number):
            "{\"phone\":\(PlainText.object([("country", country), ("number", number)]))}"
        }
    }
}

enum PlainText {
    static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    static func object(_ properties: [(String, any PlainValue)]) -> String {
        "{" + sorted(properties.map { quoted($0.0) + ":" + $0.1.plain }).joined(separator: ",") + "}"
    }

    /// In ascending order of the bytes; as texts they would be compared by canonical equivalence.
    static func sorted(_ texts: [String]) -> [String] {
        texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case "\u{0}"..<" ": "\\u00" + hexadecimal(UInt8(scalar.value))
            default: String(scalar)
            }
        }
        return "\"" + scalars.joined() + "\""
    }

    /// The bytes in the order in which they are in memory.
    static func hexadecimal<Number: FixedWidthInteger>(_ number: Number) -> String {
        withUnsafeBytes(of: number) { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    static func row<E: Entity>(_ id: PersistentID<E>) -> UInt64 {
        id.description.split(separator: "/").last.flatMap { UInt64($0.dropFirst()) } ?? 0
    }
}
