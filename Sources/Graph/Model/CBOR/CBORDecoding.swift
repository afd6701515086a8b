/// One value's bytes, as items in the order of the bytes, each with the number of the next item after all its contents.
///
/// Parsing checks everything: lengths against the bytes that are left, the depth, and that every form is the shortest. So
/// decoding only reads. There are no more items than bytes.
///
/// A class, because decoders refer to it, and owning a copy of the bytes, because a type may keep a decoder for longer than it
/// should. Accesses are not checked for overlaps, which would take as long as all the rest: only `parse` and `noteRead` write,
/// and they call no outside code.
final class CBORDecoding {
    struct Item {
        enum Kind: UInt8 {
            case unsigned
            case negative
            case bytes
            case text
            case array
            case map
            case bool
            case null
            case double
            case positiveBignum
            case negativeBignum
        }

        let kind: Kind
        /// Whether the type has asked for it; of a key, for its value.
        var isRead = false
        /// Where the item's contents begin in the bytes, behind its head.
        let start: UInt32
        let content: UInt32
        /// The item behind this one and all its contents.
        var next: UInt32 = 0
        /// The number, the bits of a `Double`, 0 or 1; the bytes of a text; the elements of an array; the entries of a map.
        let number: UInt64
    }

    /// Not CBOR, or not the deterministic form of it.
    struct Malformed: Error {
        let reason: String
        let offset: Int
    }

    @exclusivity(unchecked) private(set) var bytes: [UInt8] = []
    @exclusivity(unchecked) private(set) var items: [Item] = []

    /// Whether the type has asked for all items.
    var isRead: Bool { items.allSatisfy(\.isRead) }

    func noteRead(_ index: UInt32) { items[Int(index)].isRead = true }

    /// Whether it is small enough to keep with its memory.
    var isSmall: Bool { items.capacity <= 4_096 && bytes.capacity <= 1 << 16 }

    /// Finds the items of one value, replacing the previous ones.
    ///
    /// - Throws: `Malformed`.
    func parse(_ source: UnsafeRawBufferPointer) throws(Malformed) {
        bytes.removeAll(keepingCapacity: true)
        items.removeAll(keepingCapacity: true)
        guard source.count <= CBOREncoding.limitBytes else { throw Malformed(reason: "too long", offset: 0) }
        bytes.append(contentsOf: source)
        var parser = CBORParser(bytes: source)
        try parser.readItem(depth: 0, into: &items)
        guard parser.offset == source.count else { throw parser.malformed("bytes are left over") }
    }

    func content(of item: Item) -> Range<Int> { Int(item.content)..<Int(item.content) + Int(item.number) }

    func text(of item: Item) -> String? {
        bytes.withUnsafeBufferPointer { bytes in
            String(validating: UnsafeBufferPointer(rebasing: bytes[content(of: item)]), as: UTF8.self)
        }
    }

    /// The keys that lead to an item.
    func path(to index: UInt32) -> [any CodingKey] {
        var path: [any CodingKey] = []
        var container: UInt32 = 0
        while container < index {
            let item = items[Int(container)]
            guard item.kind == .array || item.kind == .map else { break }
            var child = container + 1
            var number = 0
            while child < item.next {
                let value = item.kind == .map ? child + 1 : child
                let end = items[Int(value)].next
                if index < end {
                    path.append(
                        item.kind == .map
                            ? CBORKey(stringValue: text(of: items[Int(child)]) ?? "") : CBORKey(intValue: number))
                    container = value
                    break
                }
                child = end
                number += 1
            }
            guard child < item.next else { break }
        }
        return path
    }
}

/// Reads the items of a value from untrusted bytes, which must outlive it.
private struct CBORParser {
    let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    func malformed(_ reason: String) -> CBORDecoding.Malformed { .init(reason: reason, offset: offset) }

    private mutating func readNumber<Number: FixedWidthInteger>(_ type: Number.Type) throws(CBORDecoding.Malformed)
        -> UInt64
    {
        guard bytes.count - offset >= MemoryLayout<Number>.size else { throw malformed("it ends too early") }
        defer { offset += MemoryLayout<Number>.size }
        return UInt64(Number(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self)))
    }

    /// Reads the first byte and the number that belongs to it.
    private mutating func readHead() throws(CBORDecoding.Malformed) -> (first: UInt8, number: UInt64) {
        guard offset < bytes.count else { throw malformed("it ends too early") }
        let first = bytes[offset]
        offset += 1
        let number: UInt64
        let least: UInt64
        switch first & 0x1F {
        case let small where small < 24: return (first, UInt64(small))
        case 24: (number, least) = (try readNumber(UInt8.self), 24)
        case 25: (number, least) = (try readNumber(UInt16.self), 0x100)
        case 26: (number, least) = (try readNumber(UInt32.self), 0x1_0000)
        case 27: (number, least) = (try readNumber(UInt64.self), 0x1_0000_0000)
        default: throw malformed("byte \(first) begins no value that Graph writes")
        }
        // The bytes after a floating point head are no number that could be shorter.
        guard number >= least || first >> 5 == CBOR.Major.simple.rawValue else {
            throw malformed("a number is longer than necessary")
        }
        return (first, number)
    }

    /// Reads one item and all its contents.
    mutating func readItem(depth: Int, into items: inout [CBORDecoding.Item]) throws(CBORDecoding.Malformed) {
        let start = UInt32(offset)
        var (first, number) = try readHead()
        let kind: CBORDecoding.Item.Kind
        switch CBOR.Major(rawValue: first >> 5).unsafelyUnwrapped {
        case .unsigned: kind = .unsigned
        case .negative: kind = .negative
        case .bytes: kind = .bytes
        case .text: kind = .text
        case .array: kind = .array
        case .map: kind = .map
        case .tag: (kind, number) = try readBignum(number)
        case .simple: (kind, number) = try simple(first, number)
        }
        let place = items.count
        items.append(.init(kind: kind, start: start, content: UInt32(offset), number: number))
        switch kind {
        case .bytes, .text, .positiveBignum, .negativeBignum:
            guard number <= UInt64(bytes.count - offset) else { throw malformed("it ends too early") }
            offset += Int(number)
        case .array, .map:
            guard depth < CBOR.maximumDepth else {
                throw malformed("nested more than \(CBOR.maximumDepth) levels deep")
            }
            guard number <= UInt64(bytes.count - offset) else { throw malformed("it ends too early") }
            if kind == .array {
                for _ in 0..<number { try readItem(depth: depth + 1, into: &items) }
            } else {
                try readEntries(number, depth: depth, into: &items)
            }
        default: break
        }
        items[place].next = UInt32(items.count)
    }

    private mutating func readEntries(
        _ count: UInt64,
        depth: Int,
        into items: inout [CBORDecoding.Item]
    ) throws(CBORDecoding.Malformed) {
        var last: KeyBytes?
        for _ in 0..<count {
            let start = offset
            guard start < bytes.count, bytes[start] >> 5 == CBOR.Major.text.rawValue else {
                throw malformed("a key is not text")
            }
            try readItem(depth: depth + 1, into: &items)
            let key = KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
            if let last, last.compare(key) >= 0 { throw malformed("keys are out of order") }
            last = key
            try readItem(depth: depth + 1, into: &items)
        }
    }

    /// Reads the head of a big number's bytes, behind its tag.
    private mutating func readBignum(_ tag: UInt64) throws(CBORDecoding.Malformed) -> (CBORDecoding.Item.Kind, UInt64) {
        guard tag == CBOR.positiveBignum || tag == CBOR.negativeBignum else { throw malformed("unknown tag \(tag)") }
        let (first, count) = try readHead()
        guard first >> 5 == CBOR.Major.bytes.rawValue, count > 8, count <= 16, offset < bytes.count, bytes[offset] != 0
        else { throw malformed("not a number of 65 to 128 bits") }
        return (tag == CBOR.positiveBignum ? .positiveBignum : .negativeBignum, count)
    }

    private func simple(_ first: UInt8, _ number: UInt64) throws(CBORDecoding.Malformed)
        -> (CBORDecoding.Item.Kind, UInt64)
    {
        switch first {
        case CBOR.false: return (.bool, 0)
        case CBOR.true: return (.bool, 1)
        case CBOR.null: return (.null, 0)
        case 0xF9:
            return (.double, CBOR.double(single: CBOR.single(half: UInt16(number))))
        case 0xFA where CBOR.half(UInt32(number)) == nil:
            return (.double, CBOR.double(single: UInt32(number)))
        case 0xFB where CBOR.single(number) == nil:
            return (.double, number)
        case 0xFA, 0xFB: throw malformed("a number is longer than necessary")
        default: throw malformed("byte \(first) begins no value that Graph writes")
        }
    }
}
