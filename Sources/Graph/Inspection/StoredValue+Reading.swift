#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StoredValue {
    /// Two values of Graph's own types are equal if a record has the same bytes for both, and only then.
    ///
    /// - Parameter value: of one of the types that Graph stores. Dates are seconds since the beginning of 2001, as in the file;
    ///   sets come in the order of their elements' texts. A URL with a base is a list of two. In an optional of an optional
    ///   nil is null in a list, and a collection is in a list of its own.
    init(_ value: Any) {
        switch value {
        case let value as Bool: self = .bool(value)
        case let value as any FixedWidthInteger: self = .number("\(value)")
        case let value as Double: self = StoredValue(value)
        case let value as Float: self = StoredValue(value)
        case let value as Decimal: self = value.isFinite ? .number("\(value)") : .text("\(value)")
        case let value as String: self = .text(value)
        case let value as UUID: self = .text(value.uuidString)
        case let value as URL:
            let base = value.baseURL.map { StoredValue.text($0.absoluteString) }
            self = base.map { .list([.text(value.relativeString), $0]) } ?? .text(value.relativeString)
        case let value as Date: self = StoredValue(value.timeIntervalSinceReferenceDate)
        case let value as Data: self = .bytes(Array(value))
        // Any empty array would pass for one of bytes.
        case let bytes as [UInt8] where type(of: value) == [UInt8].self: self = .bytes(bytes)
        case let value as EncodedValue: self = StoredValue(encoded: value.bytes)
        default: self.init(children: Mirror(reflecting: value))
        }
    }

    /// What holds other values.
    private init(children mirror: Mirror) {
        let children = mirror.children.map(\.value)
        switch mirror.displayStyle {
        case .optional:
            // The casts above look through optionals; what comes here is nil, holds nil, or holds a collection.
            let isNested = children.first.map { Mirror(reflecting: $0).displayStyle == .optional } ?? false
            let value = children.first.map { StoredValue($0) } ?? .null
            self = isNested ? .list([value]) : value
        case .dictionary:
            let entries = children.map { Mirror(reflecting: $0).children.map { StoredValue($0.value) } }
            self = .map(
                Self.sorted(entries.map { Entry(key: $0[0], value: $0[1]) }) {
                    [$0.key.description, $0.value.description]
                })
        case .set: self = .list(Self.sorted(children.map { StoredValue($0) }) { [$0.description] })
        default: self = .list(children.map { StoredValue($0) })
        }
    }

    /// In the order of their texts' bytes.
    private static func sorted<Element>(_ elements: [Element], by texts: (Element) -> [String]) -> [Element] {
        elements.map { (element: $0, bytes: texts($0).map { Array($0.utf8) }) }
            .sorted { left, right in
                zip(left.bytes, right.bytes).first { $0 != $1 }.map { $0.lexicographicallyPrecedes($1) } ?? false
            }
            .map(\.element)
    }
}
