/// How values of one kind become values of another one, on their encodings.
struct ValueConversion: Sendable {
    /// A value that has no counterpart.
    struct Failure: Error {
        let reason: String
    }

    /// Returns false, and writes nothing, for nil where there is none any more.
    let run: @Sendable (inout ByteReader, inout ByteWriter) throws -> Bool

    /// nil if Graph does not convert these kinds by itself: values would be lost.
    init?(from old: AttributeKind, to new: AttributeKind) {
        switch (old, new) {
        case (.optional(let wrapped), .optional(let newWrapped)):
            guard let inner = ValueConversion(from: wrapped, to: newWrapped) else { return nil }
            run = { reader, writer in
                let (isValue, start) = (try reader.readByte() == 1, writer.count)
                writer.append(isValue ? 1 : 0)
                guard isValue, try !inner.run(&reader, &writer) else { return true }
                // nil in nil, where there is one nil alone.
                writer.removeAll(from: start)
                writer.append(0)
                return true
            }
        case (_, .optional(let wrapped)):
            guard let inner = ValueConversion(from: old, to: wrapped) else { return nil }
            run = { reader, writer in
                writer.append(1)
                return try inner.run(&reader, &writer)
            }
        case (.optional(let wrapped), _):
            guard let inner = ValueConversion(from: wrapped, to: new) else { return nil }
            run = { reader, writer in try reader.readByte() == 1 ? try inner.run(&reader, &writer) : false }
        case _ where old == new:
            run = { reader, writer in
                writer.append(contentsOf: try reader.take(reader.remaining))
                return true
            }
        case (.basic(let name), .basic(let newName)):
            guard let run = Self.widening(from: name, to: newName) else { return nil }
            self.run = run
        default:
            return nil
        }
    }

    // MARK: Numbers

    private static func widening(
        from old: String, to new: String
    ) -> (@Sendable (inout ByteReader, inout ByteWriter) throws -> Bool)? {
        if old == "float", new == "double" {
            return { reader, writer in
                writer.appendFixed(Double(Float(bitPattern: try reader.readFixed())).bitPattern)
                return true
            }
        }
        guard let integer = Integer(old) else { return nil }
        if new == "double" || new == "float" {
            // A number that has no exact counterpart is an error, so that 128 bits, few of which have one, are left out.
            guard integer.bits <= 64 else { return nil }
            return { reader, writer in
                let value = try integer.read(&reader)
                guard new == "double" ? Double(exactly: value) != nil : Float(exactly: value) != nil else {
                    throw Failure(reason: "\(value) is not exact as a \(new)")
                }
                if new == "double" {
                    writer.appendFixed(Double(value).bitPattern)
                } else {
                    writer.appendFixed(Float(value).bitPattern)
                }
                return true
            }
        }
        guard let wider = Integer(new), wider.contains(integer) else { return nil }
        return { reader, writer in
            wider.append(try integer.read(&reader), to: &writer)
            return true
        }
    }

    /// A kind of integers.
    private struct Integer {
        let bits: Int
        let isSigned: Bool

        init?(_ kind: String) {
            isSigned = kind.hasPrefix("int")
            switch kind {
            case "int8", "uint8": bits = 8
            case "int16", "uint16": bits = 16
            case "int32", "uint32": bits = 32
            case "int", "uint", "int64", "uint64": bits = 64
            case "int128", "uint128": bits = 128
            default: return nil
            }
        }

        func contains(_ other: Integer) -> Bool {
            isSigned == other.isSigned ? bits >= other.bits : isSigned && bits > other.bits
        }

        /// - Precondition: not `uint128`. Nothing is wider, so that nothing asks.
        func read(_ reader: inout ByteReader) throws -> Int128 {
            if bits == 128 { return try reader.readFixed() }
            return isSigned ? Int128(try reader.readSignedVarint()) : Int128(try reader.readVarint())
        }

        /// - Precondition: the number is in range.
        func append(_ value: Int128, to writer: inout ByteWriter) {
            if bits == 128, isSigned {
                writer.appendFixed(value)
            } else if bits == 128 {
                writer.appendFixed(UInt128(value))
            } else if isSigned {
                writer.appendSignedVarint(Int64(value))
            } else {
                writer.appendVarint(UInt64(value))
            }
        }
    }
}
