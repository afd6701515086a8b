#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StoredValue {
    /// - Parameter value: of one of the types that Graph stores. Dates are seconds since the beginning of 2001, as in the file;
    ///   sets come in the order of their elements' texts.
    init(_ value: Any) {
        switch value {
        case let value as Bool: self = .bool(value)
        case let value as any FixedWidthInteger: self = .number("\(value)")
        case let value as Double: self = StoredValue(value)
        case let value as Float: self = StoredValue(value)
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
}
