#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values of programs' own types, which files have in CBOR.
extension StoredValue {
    /// What JSON has no form for is a map with one of these keys alone. A map that looks like one is put into another one.
    private enum Mark {
        static let bytes = "$bytes"
        static let double = "$double"
        static let map = "$map"
        static let all: Set<String> = [bytes, double, map]
    }

    /// A value of a program's own type, as its type encodes it. One whose bytes are not in a form that Graph writes today stays
    /// bytes.
    ///
    /// - Parameter isExact: whether it is to be told apart from every other value. Otherwise bytes look like texts in JSON, and
    ///   so does what is no number.
    init(encoded bytes: [UInt8], isExact: Bool = false) {
        let decoding = CBORDecoding()
        let parsed: Void? = bytes.withUnsafeBytes { bytes in
            guard bytes.first == 1 else { return nil }
            return try? decoding.parse(UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        }
        if parsed != nil {
            self.init(decoding, 0, isExact)
        } else {
            // Files from before CBOR have JSON.
            let json: StoredValue? = isExact ? try? JSONReader.read(bytes) : nil
            self = json ?? .bytes(bytes)
        }
    }

    private init(_ decoding: CBORDecoding, _ index: UInt32, _ isExact: Bool) {
        let item = decoding.items[Int(index)]
        /// The items in this one, without those inside of them.
        func children() -> [StoredValue] {
            var (children, child): ([StoredValue], UInt32) = ([], index + 1)
            while child < item.next {
                children.append(StoredValue(decoding, child, isExact))
                child = decoding.items[Int(child)].next
            }
            return children
        }
        switch item.kind {
        case .unsigned: self = .number("\(item.number)")
        case .negative: self = .number("\(-1 - Int128(item.number))")
        case .bool: self = .bool(item.number == 1)
        case .null: self = .null
        case .double:
            let value = StoredValue(Double(bitPattern: item.number))
            self = if isExact, value.text != nil { .map([Mark.double: value]) } else { value }
        case .text: self = .text(decoding.text(of: item) ?? "")
        case .bytes:
            let bytes = StoredValue.bytes(Array(decoding.bytes[decoding.content(of: item)]))
            self = isExact ? .map([Mark.bytes: bytes]) : bytes
        case .positiveBignum, .negativeBignum:
            let number = decoding.bytes[decoding.content(of: item)].reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
            self = .number(item.kind == .positiveBignum ? "\(number)" : "\(Int128(truncatingIfNeeded: ~number))")
        case .array: self = .list(children())
        case .map:
            let values = children()
            let entries = stride(from: 0, to: values.count - 1, by: 2).map {
                Entry(key: values[$0], value: values[$0 + 1])
            }
            let looksMarked = entries.count == 1 && Mark.all.contains(entries[0].key.text ?? "")
            self = isExact && looksMarked ? .map([Mark.map: .map(entries)]) : .map(entries)
        }
    }

    /// Appends the CBOR of which this is the exact form, or which it means if a person has written it.
    ///
    /// - Parameter depth: how many lists and maps this is in.
    func appendCBOR(to bytes: inout [UInt8], depth: Int = 0) throws(InvalidValue) {
        switch self {
        case .null: bytes.append(CBOR.null)
        case .bool(let value): bytes.append(value ? CBOR.true : CBOR.false)
        case .number(let text): try Self.appendNumber(text, to: &bytes)
        case .text(let text): bytes.appendText(text)
        case .bytes(let content): content.withUnsafeBytes { bytes.appendBytes($0) }
        case .list(let values):
            try Self.checkDepth(depth)
            bytes.appendHead(.array, UInt64(values.count))
            for value in values { try value.appendCBOR(to: &bytes, depth: depth + 1) }
        case .map(let entries):
            if entries.count == 1, let name = entries[0].key.text, Mark.all.contains(name) {
                return try entries[0].value.appendMarked(name, to: &bytes, depth: depth)
            }
            try Self.appendMap(entries, to: &bytes, depth: depth)
        }
    }

    private static func checkDepth(_ depth: Int) throws(InvalidValue) {
        guard depth < CBOR.maximumDepth else {
            throw InvalidValue("it is nested more than \(CBOR.maximumDepth) levels deep")
        }
    }

    private func appendMarked(_ name: String, to bytes: inout [UInt8], depth: Int) throws(InvalidValue) {
        if name == Mark.map, case .map(let entries) = self {
            return try Self.appendMap(entries, to: &bytes, depth: depth)
        }
        if name == Mark.double, let value = double { return bytes.appendDouble(bits: value.bitPattern) }
        guard name == Mark.bytes, let content = text.flatMap({ Data(base64Encoded: $0) }) else {
            throw InvalidValue("{\"\(name)\": …} holds something else than its name says")
        }
        content.withUnsafeBytes { bytes.appendBytes($0) }
    }

    private static func appendNumber(_ text: String, to bytes: inout [UInt8]) throws(InvalidValue) {
        if text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
            if let number = Int128(text) { return bytes.appendInteger(number) }
            if let number = UInt128(text) { return bytes.appendInteger(number) }
            throw InvalidValue("\(text.shortened()) has more than 128 bits")
        }
        guard let value = StoredValue.number(text).double else {
            throw InvalidValue("\(text.shortened()) is not a number that a Double holds")
        }
        bytes.appendDouble(bits: value.bitPattern)
    }

    /// In the order of the keys' bytes.
    private static func appendMap(_ entries: [Entry], to bytes: inout [UInt8], depth: Int) throws(InvalidValue) {
        try checkDepth(depth)
        var encoded: [(key: [UInt8], value: StoredValue)] = []
        for entry in entries {
            var key: [UInt8] = []
            try entry.key.appendCBOR(to: &key, depth: depth + 1)
            encoded.append((key, entry.value))
        }
        bytes.appendHead(.map, UInt64(entries.count))
        for (key, value) in encoded.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            bytes += key
            try value.appendCBOR(to: &bytes, depth: depth + 1)
        }
    }
}
