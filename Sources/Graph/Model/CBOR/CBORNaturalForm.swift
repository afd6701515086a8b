#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Types with a natural form in CBOR, which replaces what their `Codable` conformance writes for any encoder.
///
/// Types are compared, not cast: a cast to a protocol takes longer than encoding a number. Each `unsafeBitCast` is between a
/// type and itself, as the comparison before it shows.
enum CBORNaturalForm {
    /// `[UInt8]`, which the runtime would otherwise look up at each use.
    private static let bytes = ObjectIdentifier([UInt8].self)

    /// Encodes a value in its natural form; false if its type has none.
    @inline(__always)
    static func encode<Value>(_ value: Value, to encoding: CBOREncoding, at place: UInt32) throws -> Bool {
        if Value.self == String.self {
            let value = unsafeBitCast(value, to: String.self)
            try encoding.put(at: place) { $0.appendText(value) }
        } else if Value.self == Int.self {
            let value = unsafeBitCast(value, to: Int.self)
            try encoding.put(at: place) { $0.appendInteger(value) }
        } else if Value.self == Double.self {
            let value = unsafeBitCast(value, to: Double.self)
            try encoding.put(at: place) { $0.appendDouble(bits: value.bitPattern) }
        } else if Value.self == Date.self {
            let value = unsafeBitCast(value, to: Date.self).timeIntervalSinceReferenceDate
            try encoding.put(at: place) { $0.appendDouble(bits: value.bitPattern) }
        } else if Value.self == UUID.self {
            let value = unsafeBitCast(value, to: UUID.self).uuid
            try encoding.put(at: place) { bytes in withUnsafeBytes(of: value) { bytes.appendBytes($0) } }
        } else if Value.self == Data.self {
            let value = unsafeBitCast(value, to: Data.self)
            try encoding.put(at: place) { bytes in value.withUnsafeBytes { bytes.appendBytes($0) } }
        } else if ObjectIdentifier(Value.self) == bytes {
            let value = unsafeBitCast(value, to: [UInt8].self)
            try encoding.put(at: place) { bytes in value.withUnsafeBytes { bytes.appendBytes($0) } }
        } else if Value.self == URL.self {
            let url = unsafeBitCast(value, to: URL.self)
            try encoding.put(at: place) { bytes in
                if url.baseURL != nil { bytes.appendHead(.array, 2) }
                bytes.appendText(url.relativeString)
                if let base = url.baseURL { bytes.appendText(base.absoluteString) }
            }
        } else if Value.self == Decimal.self {
            let value = unsafeBitCast(value, to: Decimal.self)
            try encoding.put(at: place) { $0.appendText(value.description) }
        } else {
            return false
        }
        return true
    }

    /// Decodes a value in its natural form, or by its type's own conformance.
    ///
    /// There is no `Value?` here: the runtime would have to look up that type for each value.
    @inline(__always)
    static func decode<Value: Decodable>(_ type: Value.Type, from decoder: CBORDecoder) throws -> Value {
        if type == String.self {
            return unsafeBitCast(try decoder.decode(String.self), to: type)
        } else if type == Int.self {
            return unsafeBitCast(try decoder.decode(Int.self), to: type)
        } else if type == Double.self {
            return unsafeBitCast(try decoder.decode(Double.self), to: type)
        } else if type == Date.self {
            let date = Date(timeIntervalSinceReferenceDate: try decoder.decode(Double.self))
            return unsafeBitCast(date, to: type)
        } else if type == UUID.self {
            let uuid = try decoder.withBytes(as: UUID.self) { bytes in
                bytes.count == 16 ? UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)) : nil
            }
            return unsafeBitCast(uuid, to: type)
        } else if type == Data.self, decoder.item.kind == .bytes {
            return unsafeBitCast(try decoder.withBytes(as: Data.self) { Data($0) }, to: type)
        } else if ObjectIdentifier(type) == bytes, decoder.item.kind == .bytes {
            return unsafeBitCast(try decoder.withBytes(as: [UInt8].self) { [UInt8]($0) }, to: type)
        } else if type == URL.self {
            return unsafeBitCast(try url(from: decoder), to: type)
        } else if type == Decimal.self {
            guard let value = Decimal(stored: try decoder.decode(String.self)) else {
                throw decoder.corrupted("not a decimal number")
            }
            return unsafeBitCast(value, to: type)
        }
        return try Value(from: decoder)
    }

    private static func url(from decoder: CBORDecoder) throws -> URL {
        var relative = ""
        var base = ""
        if decoder.item.kind == .array {
            var container = try decoder.unkeyedContainer()
            relative = try container.decode(String.self)
            base = try container.decode(String.self)
        } else {
            relative = try decoder.decode(String.self)
        }
        guard let url = URL(stored: relative, base: base) else { throw decoder.corrupted("no URL") }
        return url
    }
}
