/// Appends bytes so that no key is the prefix of another and the order is kept: a zero is followed by 0xFF, and the end
/// is marked by 0, 1 (as in FoundationDB's tuple layer, but with an end mark that no row number can imitate).
func appendKey(bytes: UnsafeRawBufferPointer, containsZero: Bool, to key: inout ByteWriter) {
    if containsZero {
        for byte in bytes {
            key.append(byte)
            if byte == 0 { key.append(0xFF) }
        }
    } else {
        key.append(contentsOf: bytes)
    }
    key.append(0)
    key.append(1)
}

/// The shorter one first if it begins the other.
func precedes(_ lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer) -> Bool {
    lhs.lexicographicallyPrecedes(rhs)
}

/// Swift compares strings by canonical equivalence: as lists of the scalars of Unicode's normalization form C, which order like
/// their UTF-8. Keys hold that form.
///
/// `_nfcCodeUnits` makes it. The standard library has exported it everywhere since Swift 5, without availability, and it reads
/// the same tables as `==` and `<`; the view `_nfc` is SPI, which the SDK for macOS does not show, and Foundation's mapping
/// would make every program on Linux load all of Foundation.
enum NormalForm {
    /// Whether a UTF-8 text is certainly in normal form, without decoding scalars, and whether it contains a zero, eight bytes
    /// at a time.
    ///
    /// Scalars below U+0300 compose with nothing before them and are their own normal form; 0xCC begins the first one above.
    @inline(__always)
    static func scan(_ utf8: UnsafeRawBufferPointer) -> (isNormalized: Bool, containsZero: Bool) {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        var high: UInt64 = 0
        var zero: UInt64 = 0
        var offset = 0
        while offset &+ 8 <= utf8.count {
            let word = utf8.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            high |= word
            // Exact as to whether there is a zero (Warren, *Hacker's Delight*, 6-1).
            zero |= (word &- ones) & ~word & tops
            offset &+= 8
        }
        var containsZero = zero != 0
        while offset < utf8.count {
            high |= UInt64(utf8[offset])
            if utf8[offset] == 0 { containsZero = true }
            offset &+= 1
        }
        guard high & tops != 0 else { return (true, containsZero) }
        return (utf8.allSatisfy { $0 < 0xCC }, containsZero)
    }

    /// The order of the keys.
    ///
    /// Not `<`: where one text begins the other, Swift 6.3 considers the longer one's rest only if both are normalized, so that
    /// neither of "e\u{301}" and "\u{E9}x" precedes the other.
    static func precedes(_ lhs: String, _ rhs: String) -> Bool {
        var order: Int?
        _ = lhs.utf8.withContiguousStorageIfAvailable { left in
            rhs.utf8.withContiguousStorageIfAvailable { right in
                let (left, right) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
                guard scan(left).isNormalized, scan(right).isNormalized else { return }
                order = KeyBytes(left).compare(KeyBytes(right))
            }
        }
        return order.map { $0 < 0 } ?? lhs._nfcCodeUnits.lexicographicallyPrecedes(rhs._nfcCodeUnits)
    }
}

/// Strings that share their storage, as in copies of a row, are equal by their two words alone.
func haveSameUTF8(_ lhs: String, _ rhs: String) -> Bool {
    // The words are only compared, and stay valid as long as the strings.
    if unsafeBitCast(lhs, to: (UInt64, UInt64).self) == unsafeBitCast(rhs, to: (UInt64, UInt64).self) { return true }
    guard lhs.utf8.count == rhs.utf8.count else { return false }
    let areSame: Bool?? = lhs.utf8.withContiguousStorageIfAvailable { left in
        rhs.utf8.withContiguousStorageIfAvailable { right in
            KeyBytes(UnsafeRawBufferPointer(left)).compare(KeyBytes(UnsafeRawBufferPointer(right))) == 0
        }
    }
    return (areSame ?? nil) ?? lhs.utf8.elementsEqual(rhs.utf8)
}

extension String: OrderedAttributeValue {
    /// For Graph's own use.
    public static var attributeCodec: AttributeCodec<String> {
        AttributeCodec<String>(
            kind: "string",
            encode: { $1.appendString($0) },
            decode: { try $0.readString() },
            isIdentical: { haveSameUTF8($0, $1) },
            describe: { $0.debugDescription }
        ).ordered(
            by: { NormalForm.precedes($0, $1) },
            appendKey: { value, key in
                var value = value
                let isNormalized = value.withUTF8 { utf8 in
                    let bytes = UnsafeRawBufferPointer(utf8)
                    let found = NormalForm.scan(bytes)
                    guard found.isNormalized else { return false }
                    appendKey(bytes: bytes, containsZero: found.containsZero, to: &key)
                    return true
                }
                if !isNormalized {
                    value._nfcCodeUnits.withUnsafeBytes {
                        appendKey(bytes: $0, containsZero: $0.contains(0), to: &key)
                    }
                }
                return true
            })
    }
}
