/// XXH64 of the xxHash family (Collet's specification, version 0.1.1): a hash of 64 bits, fast, and no protection against forgery.
enum XXH64 {
    private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5
    )

    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var (hash, position) = (seed &+ primes.4, 0)
        if bytes.count >= 32 {
            var lanes = (seed &+ primes.0 &+ primes.1, seed &+ primes.1, seed, seed &- primes.0)
            while bytes.count - position >= 32 {
                lanes.0 = round(lanes.0, word(bytes, position))
                lanes.1 = round(lanes.1, word(bytes, position + 8))
                lanes.2 = round(lanes.2, word(bytes, position + 16))
                lanes.3 = round(lanes.3, word(bytes, position + 24))
                position += 32
            }
            hash = rotate(lanes.0, 1) &+ rotate(lanes.1, 7) &+ rotate(lanes.2, 12) &+ rotate(lanes.3, 18)
            for lane in [lanes.0, lanes.1, lanes.2, lanes.3] {
                hash = (hash ^ round(0, lane)) &* primes.0 &+ primes.3
            }
        }
        hash &+= UInt64(bytes.count)
        while bytes.count - position >= 8 {
            hash = rotate(hash ^ round(0, word(bytes, position)), 27) &* primes.0 &+ primes.3
            position += 8
        }
        if bytes.count - position >= 4 {
            let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            hash = rotate(hash ^ (UInt64(half) &* primes.0), 23) &* primes.1 &+ primes.2
            position += 4
        }
        for byte in bytes[position...] { hash = rotate(hash ^ (UInt64(byte) &* primes.4), 11) &* primes.0 }
        hash = (hash ^ (hash >> 33)) &* primes.1
        hash = (hash ^ (hash >> 29)) &* primes.2
        return hash ^ (hash >> 32)
    }

    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotate(lane &+ (word &* primes.1), 31) &* primes.0
    }

    private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }
}
