#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values of programs' own types: a length, then bytes whose first one tells their form. 1 is followed by deterministic CBOR;
/// anything else begins JSON, which files from before CBOR have.
enum StoredForm {
    fileprivate static let cbor: UInt8 = 1
    /// nil of an optional, with its length before it.
    static let null: [UInt8] = [2, cbor, 0xF6]
}

extension Property {
    /// Whether the file has nil as null: the property is an optional of a program's own type.
    var isNullable: Bool { operations.kind == "codable" && valueType is any OptionalValue.Type }

    /// Whether the file may have null of an earlier version of the program, in which the property was optional.
    var replacesNull: Bool { operations.kind == "codable" && !isNullable && initializeDefault != nil }
}

extension AttributeCodec {
    /// Stores what the type encodes.
    ///
    /// Two values are the same if they encode the same: `==` proves nothing, since it may leave parts out. Two shortcuts avoid
    /// encoding them: equal bits in memory, as in a value that nobody has written to, and that the type calls them different,
    /// though each equal to itself (unlike a value that holds NaN). nil is null without asking an encoder.
    static func codable(_ type: Value.Type = Value.self) -> AttributeCodec where Value: Codable & Equatable {
        let optional = Value.self as? any OptionalValue.Type
        // Not `optional?.null as? Value`: that takes nil of an optional of an optional for one that wraps nil.
        let null = optional.flatMap { $0.null as? Value }
        var operations = AttributeCodec(
            kind: "codable",
            encode: { value, writer in
                let isNil = optional.map { type in withUnsafePointer(to: value) { type.isNil(at: $0) } } ?? false
                guard !isNil else { return writer.append(contentsOf: StoredForm.null) }
                try encodeStored(value, to: &writer)
            },
            decode: { reader in
                if let null, reader.skip(StoredForm.null) { return null }
                return try decodeStored(Value.self, from: &reader)
            },
            isIdentical: { _, _ in false },
            describe: { OwnTypeDescription.text(of: $0) }
        ).operations
        operations.isIdentical = { lhs, rhs in
            if let optional, optional.isNil(at: lhs) || optional.isNil(at: rhs) {
                return optional.isNil(at: lhs) && optional.isNil(at: rhs)
            }
            let size = MemoryLayout<Value>.size
            if KeyBytes(base: lhs, count: size).compare(KeyBytes(base: rhs, count: size)) == 0 { return true }
            let (first, second) = (lhs.assumingMemoryBound(to: Value.self), rhs.assumingMemoryBound(to: Value.self))
            if first.pointee != second.pointee, first.pointee == first.pointee, second.pointee == second.pointee {
                return false
            }
            return CBORCoders.haveSameEncoding(first.pointee, second.pointee)
        }
        operations.matchesRecord = { lhs, rhs in
            let (first, second) = (lhs.assumingMemoryBound(to: Value.self), rhs.assumingMemoryBound(to: Value.self))
            return first.pointee == second.pointee || CBORCoders.haveSameEncoding(first.pointee, second.pointee)
        }
        return AttributeCodec(operations)
    }
}

/// Appends the stored form of a value, if the type can decode it again.
private func encodeStored<Value: Codable>(_ value: Value, to writer: inout ByteWriter) throws {
    try CBORCoders.withEncoding(of: value) { bytes in
        do {
            _ = try bytes.withUnsafeBytes { try CBORCoders.decode(Value.self, from: $0) }.value
        } catch {
            let reason = (error as? DecodingError)?.summary ?? "\(error)".shortened(to: 200)
            throw NotReadable(description: "\(Value.self) cannot decode what it encoded: \(reason)")
        }
        writer.appendVarint(UInt64(bytes.count + 1))
        writer.append(StoredForm.cbor)
        writer.append(contentsOf: bytes)
    }
}

/// Reads either stored form. Bytes that are neither are a failure of the file, others one of the type.
private func decodeStored<Value: Codable>(_ type: Value.Type, from reader: inout ByteReader) throws -> Value {
    let bytes = try reader.take(try reader.readCount(minimumBytes: 1))
    do {
        guard bytes.first == StoredForm.cbor else {
            // Foundation's decoder does not tell.
            reader.hasUnreadParts = true
            return try decodeJSON(type, from: bytes)
        }
        let (value, isComplete) = try CBORCoders.decode(
            type, from: UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        // A type may write what it does not read, such as a constant.
        if !isComplete, !encodesAs(value, bytes.dropFirst()) { reader.hasUnreadParts = true }
        return value
    } catch let malformed as CBORDecoding.Malformed {
        throw reader.failure("not CBOR: \(malformed.reason), at byte \(malformed.offset) of it")
    } catch let malformed as MalformedJSON {
        throw reader.failure("not JSON: \(malformed.reason)")
    } catch {
        let reason = (error as? DecodingError)?.summary ?? "\(error)".shortened(to: 200)
        throw UnreadableValue(type, reason)
    }
}

private func encodesAs(_ value: some Encodable, _ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    (try? CBORCoders.withEncoding(of: value) { $0.elementsEqual(bytes) }) ?? false
}

/// Bytes that are no JSON at all, whatever the type.
private struct MalformedJSON: Error {
    let reason: String
}

/// Decodes nothing: fails only if there is no value.
private struct Whatever: Decodable {
    init(from decoder: any Decoder) {}
}

private func decodeJSON<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "+inf",
        negativeInfinity: "-inf",
        nan: "nan"
    )
    do {
        return try decoder.decode(type, from: Data(bytes))
    } catch {
        do {
            _ = try decoder.decode(Whatever.self, from: Data(bytes))
        } catch {
            throw MalformedJSON(reason: (error as? DecodingError)?.summary ?? "\(error)".shortened(to: 200))
        }
        throw error
    }
}

extension DecodingError {
    /// The position and kind of an error in the value, of bounded length, as both may come from a file.
    fileprivate var summary: String {
        let (context, reason): (DecodingError.Context, String) =
            switch self {
            case .typeMismatch(let type, let context): (context, "\(context.debugDescription), not \(type)")
            case .valueNotFound(let type, let context): (context, "\(context.debugDescription), not \(type)")
            case .keyNotFound(let key, let context): (context, "there is no key '\(key.stringValue)'")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(self)")
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return (path.isEmpty ? "" : "at \(path.shortened(to: 200)): ") + reason.shortened(to: 200)
    }
}
