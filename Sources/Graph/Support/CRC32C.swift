/// The Castagnoli checksum (polynomial 0x1EDC6F41, reflected), as in iSCSI (RFC 3720) and ext4.
///
/// Sixteen bytes are folded per step through sixteen tables ("slicing by 16"), so it needs no processor instruction
/// that Swift cannot name. `checksum(b, seed: checksum(a))` equals the checksum of `a` followed by `b`.
enum CRC32C {
    /// Table *k* holds the effect of a byte followed by *k* zero bytes; the tables lie one after the other.
    private static let tables: [UInt32] = {
        let reflectedPolynomial: UInt32 = 0x82F6_3B78
        var tables = [UInt32](repeating: 0, count: 16 * 256)
        for byte in 0..<256 {
            var remainder = UInt32(byte)
            for _ in 0..<8 {
                remainder = (remainder >> 1) ^ (remainder & 1 == 1 ? reflectedPolynomial : 0)
            }
            tables[byte] = remainder
        }
        for index in 256..<(16 * 256) {
            let previous = tables[index - 256]
            tables[index] = (previous >> 8) ^ tables[Int(previous & 0xFF)]
        }
        return tables
    }()

    static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt32 = 0) -> UInt32 {
        tables.withUnsafeBufferPointer { table in
            var state = ~seed
            var position = 0
            while bytes.count &- position >= 16 {
                let first = word(bytes, position) ^ state
                let second = word(bytes, position &+ 4)
                let third = word(bytes, position &+ 8)
                let fourth = word(bytes, position &+ 12)
                state =
                    fold(first, table, 12) ^ fold(second, table, 8) ^ fold(third, table, 4) ^ fold(fourth, table, 0)
                position &+= 16
            }
            while position < bytes.count {
                state = (state >> 8) ^ table[Int((state ^ UInt32(bytes[position])) & 0xFF)]
                position &+= 1
            }
            return ~state
        }
    }

    static func checksum(_ bytes: [UInt8], seed: UInt32 = 0) -> UInt32 {
        bytes.withUnsafeBytes { checksum($0, seed: seed) }
    }

    /// The seed with which these bytes have a checksum: the register run backwards, which has one state before for each one after.
    static func seed(of checksum: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let reflectedPolynomial: UInt32 = 0x82F6_3B78
        var state = ~checksum
        for byte in bytes.reversed() {
            // The polynomial alone sets the topmost bit.
            for _ in 0..<8 {
                state = state >> 31 == 1 ? (state ^ reflectedPolynomial) << 1 | 1 : state << 1
            }
            state ^= UInt32(byte)
        }
        return ~state
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt32 {
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
    }

    /// The effect of four bytes that are followed by `following` more bytes of the same step.
    private static func fold(_ word: UInt32, _ table: UnsafeBufferPointer<UInt32>, _ following: Int) -> UInt32 {
        let base = following &* 256
        return table[base &+ 768 &+ Int(word & 0xFF)]
            ^ table[base &+ 512 &+ Int((word >> 8) & 0xFF)]
            ^ table[base &+ 256 &+ Int((word >> 16) & 0xFF)]
            ^ table[base &+ Int(word >> 24)]
    }
}
