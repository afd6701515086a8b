#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The values of attributes in JSON. They are made of the bytes that records have and made into these again, so that neither way
/// knows the program's types, and each value takes its one way from text to memory and back.
///
/// nil is null, also in an optional of an optional, of which everything else is in a list of its own. Dates are as in
/// `DateText`, or else seconds since the beginning of 2001. Bytes are Base64. A dictionary is an object, or a list of pairs if
/// its keys are no texts. A URL with a base is a list of two. `StoredValue+CBOR` says what a program's own types are.
extension AttributeKind {
    private var hasNull: Bool {
        switch self {
        case .optional, .basic("codable"): true
        default: false
        }
    }

    /// Whether a value can be written without the notation of JSON.
    var isPlain: Bool {
        switch self {
        case .basic(let name): name != "codable"
        case .optional(.basic(let name)): name != "codable"
        default: false
        }
    }

    /// What an empty field of CSV means that is not in quotation marks.
    var emptyField: StoredValue { self == .basic("string") ? .text("") : .null }

    // MARK: Reading what records have

    /// - Throws: `ByteReader.Failure` if the bytes are no value of the kind.
    func storedValue(from reader: inout ByteReader) throws -> StoredValue {
        switch self {
        case .basic(let name): return try Self.basicValue(name, &reader)
        case .optional(let wrapped):
            guard try reader.readByte() == 1 else { return .null }
            let value = try wrapped.storedValue(from: &reader)
            return wrapped.hasNull ? .list([value]) : value
        case .array(let element), .set(let element):
            return .list(
                try (0..<(try reader.readCount(minimumBytes: 1))).map { _ in try element.storedValue(from: &reader) })
        case .dictionary(let key, let value):
            let entries = try (0..<(try reader.readCount(minimumBytes: 2))).map { _ in
                StoredValue.Entry(
                    key: try key.storedValue(from: &reader), value: try value.storedValue(from: &reader))
            }
            return key == .basic("string") ? .map(entries) : .list(entries.map { .list([$0.key, $0.value]) })
        }
    }

    private static func basicValue(_ name: String, _ reader: inout ByteReader) throws -> StoredValue {
        switch name {
        case "bool": return .bool(try reader.readByte() == 1)
        case "int", "int8", "int16", "int32", "int64": return .number("\(try reader.readSignedVarint())")
        case "uint", "uint8", "uint16", "uint32", "uint64": return .number("\(try reader.readVarint())")
        case "int128": return .number("\(try reader.readFixed(Int128.self))")
        case "uint128": return .number("\(try reader.readFixed(UInt128.self))")
        case "double": return StoredValue(Double(bitPattern: try reader.readFixed()))
        case "float": return StoredValue(Float(bitPattern: try reader.readFixed()))
        case "string": return .text(try reader.readString())
        case "decimal":
            let text = try reader.readString()
            return text.isJSONNumber ? .number(text) : .text(text)
        case "date":
            let date = Date(timeIntervalSinceReferenceDate: Double(bitPattern: try reader.readFixed()))
            return DateText.text(of: date).map { .text($0) } ?? StoredValue(date.timeIntervalSinceReferenceDate)
        case "uuid": return .text(UUID(uuid: try reader.take(16).loadUnaligned(as: uuid_t.self)).uuidString)
        case "data", "bytes": return .bytes(Array(try reader.take(try reader.readCount(minimumBytes: 1))))
        case "url":
            let (relative, base) = (try reader.readString(), try reader.readString())
            return base.isEmpty ? .text(relative) : .list([.text(relative), .text(base)])
        default:
            return StoredValue(encoded: Array(try reader.take(try reader.readCount(minimumBytes: 1))), isExact: true)
        }
    }

    // MARK: Writing what records have

    /// Appends what a record would have for the value. Whether the property's type takes it shows when that decodes it.
    func encode(_ value: StoredValue, to writer: inout ByteWriter) throws(InvalidValue) {
        switch (self, value) {
        case (.basic(let name), _): try Self.encodeBasic(name, value, &writer)
        case (.optional, .null): writer.append(0)
        case (.optional(let wrapped), _):
            writer.append(1)
            guard wrapped.hasNull else { return try wrapped.encode(value, to: &writer) }
            guard case .list(let values) = value, values.count == 1 else { throw value.mismatch("a list of one value") }
            try wrapped.encode(values[0], to: &writer)
        case (.array(let element), .list(let values)), (.set(let element), .list(let values)):
            writer.appendVarint(UInt64(values.count))
            for value in values { try element.encode(value, to: &writer) }
        case (.dictionary(.basic("string"), let element), .map(let entries)):
            writer.appendVarint(UInt64(entries.count))
            for entry in entries {
                try Self.encodeBasic("string", entry.key, &writer)
                try element.encode(entry.value, to: &writer)
            }
        case (.dictionary(let key, let element), .list(let pairs)):
            writer.appendVarint(UInt64(pairs.count))
            for pair in pairs {
                guard case .list(let parts) = pair, parts.count == 2 else { throw pair.mismatch("a key and a value") }
                try key.encode(parts[0], to: &writer)
                try element.encode(parts[1], to: &writer)
            }
        case (.array, _), (.set, _): throw value.mismatch("a list")
        case (.dictionary, _): throw value.mismatch("a dictionary")
        }
    }

    private static func encodeBasic(
        _ name: String, _ value: StoredValue, _ writer: inout ByteWriter
    ) throws(InvalidValue) {
        switch name {
        case "bool":
            switch value.text?.lowercased() ?? value.description {
            case "true": writer.append(1)
            case "false": writer.append(0)
            default: throw value.mismatch("true or false")
            }
        case "int", "int8", "int16", "int32", "int64":
            writer.appendSignedVarint(
                try value.required(value.integer(), "a whole number that the property's type holds"))
        case "uint", "uint8", "uint16", "uint32", "uint64":
            writer.appendVarint(try value.required(value.integer(), "a whole number that the property's type holds"))
        case "int128": writer.appendFixed(try value.required(value.integer(Int128.self), "a whole number of 128 bits"))
        case "uint128":
            writer.appendFixed(try value.required(value.integer(UInt128.self), "a whole number of 128 bits, 0 or more"))
        case "double": writer.appendFixed(try value.required(value.double, "a number").bitPattern)
        case "float": writer.appendFixed(try value.required(value.float, "a number").bitPattern)
        case "decimal":
            let number = try value.required(value.decimal, "a decimal number of 38 digits at most")
            writer.appendString(number.description)
        case "string": writer.appendString(try value.required(value.text, "a text"))
        case "date":
            let seconds = value.text.flatMap { DateText.date(of: $0)?.timeIntervalSinceReferenceDate } ?? value.double
            writer.appendFixed(
                try value.required(seconds, "a date like 2026-11-25T23:16:58Z, or seconds since the beginning of 2001")
                    .bitPattern)
        case "uuid":
            let uuid = try value.required(value.text.flatMap { UUID(uuidString: $0) }, "a UUID").uuid
            withUnsafeBytes(of: uuid) { writer.append(contentsOf: $0) }
        case "data", "bytes":
            let data = try value.required(value.text.flatMap { Data(base64Encoded: $0) }, "bytes in Base64")
            writer.appendVarint(UInt64(data.count))
            writer.append(contentsOf: Array(data))
        case "url":
            var parts = [value, .text("")]
            if case .list(let list) = value { parts = list }
            guard parts.count == 2, let relative = parts[0].text, let base = parts[1].text else {
                throw value.mismatch("a URL, or a list of one and its base")
            }
            writer.appendString(relative)
            writer.appendString(base)
        default:
            var bytes: [UInt8] = [1]
            try value.appendCBOR(to: &bytes)
            writer.appendVarint(UInt64(bytes.count))
            writer.append(contentsOf: bytes)
        }
    }
}

extension StoredValue {
    fileprivate func mismatch(_ expected: String) -> InvalidValue {
        self == .null
            ? InvalidValue("it has no value, and needs \(expected)")
            : InvalidValue("\(description.shortened()) is not \(expected)")
    }

    fileprivate func required<Value>(_ value: Value?, _ expected: String) throws(InvalidValue) -> Value {
        guard let value else { throw mismatch(expected) }
        return value
    }
}
