/// Numbers keys in the order in which each comes first: a hash table with linear probing over the bytes.
struct KeyTable {
    /// A key's number and one more; 0 where there is none.
    private var slots = [UInt32](repeating: 0, count: 64)
    private var hashes: [UInt64] = []
    private var bytes: [UInt8] = []
    /// Where each key ends.
    private var ends: [Int] = []

    var count: Int { ends.count }

    /// The number of a key, which is the next one if the key is new.
    mutating func number(of key: UnsafeRawBufferPointer) -> Int {
        let hash = Self.hash(KeyBytes(key))
        var place = Int(truncatingIfNeeded: hash) & (slots.count &- 1)
        while slots[place] != 0 {
            let number = Int(slots[place]) &- 1
            if hashes[number] == hash, isKey(number, key) { return number }
            place = (place &+ 1) & (slots.count &- 1)
        }
        slots[place] = UInt32(count + 1)
        hashes.append(hash)
        bytes.append(contentsOf: key)
        ends.append(bytes.count)
        if 2 * count > slots.count { grow() }
        return count - 1
    }

    /// The numbers in the order of the keys.
    var ascending: [Int] {
        bytes.withUnsafeBytes { bytes in
            (0..<count).sorted { lhs, rhs in
                KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[range(lhs)]))
                    .compare(KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[range(rhs)]))) < 0
            }
        }
    }

    private func range(_ number: Int) -> Range<Int> { (number == 0 ? 0 : ends[number - 1])..<ends[number] }

    private func isKey(_ number: Int, _ key: UnsafeRawBufferPointer) -> Bool {
        bytes.withUnsafeBytes {
            KeyBytes(UnsafeRawBufferPointer(rebasing: $0[range(number)])).compare(KeyBytes(key)) == 0
        }
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: 2 * slots.count)
        for (number, hash) in hashes.enumerated() {
            var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
            while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
            slots[place] = UInt32(number + 1)
        }
    }

    /// Multiplies words and folds the product (Wang Yi's wyhash), by numbers that differ from process to process: nobody can make
    /// up keys of one hash.
    private static func hash(_ key: KeyBytes) -> UInt64 {
        var (hash, offset) = (seeds.0 ^ UInt64(key.count), 0)
        while key.count &- offset >= 8 {
            hash = foldedProduct(hash ^ key.word(at: offset), seeds.1)
            offset &+= 8
        }
        var rest: UInt64 = 0
        while offset < key.count {
            rest = rest << 8 | UInt64(key.base.load(fromByteOffset: offset, as: UInt8.self))
            offset &+= 1
        }
        return foldedProduct(hash ^ rest, seeds.2)
    }

    private static let seeds = (random(), random(), random())

    private static func random() -> UInt64 { .random(in: .min ... .max) | 1 }
}
