/// Numbers the values of a property in the order in which each comes first. Values are the same if their keys are.
struct ValueNumbers<V> {
    private let key: KeyOperations
    private var keys = KeyTable()
    private var bytes = ByteWriter(capacity: 64)
    /// Where the values are a word's bits at most, and nothing else: the numbers by these, since equal bits are equal values.
    private var words = WordTable()
    private let areWords = _isPOD(V.self) && MemoryLayout<V>.size <= 8

    init(_ key: KeyOperations) {
        self.key = key
    }

    /// The number of a value, which is the next one if the value is new.
    @inline(__always)
    mutating func number(of value: UnsafeRawPointer) -> Int {
        guard areWords else { return numberOfKey(of: value) }
        var word: UInt64 = 0
        if MemoryLayout<V>.size == 8 {
            word = value.loadUnaligned(as: UInt64.self)
        } else {
            withUnsafeMutableBytes(of: &word) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: value, count: MemoryLayout<V>.size))
            }
        }
        if let number = words[word] { return number }
        // Other bits may be the same value, as those of -0.0 and 0.0 are.
        let number = numberOfKey(of: value)
        words.insert(number, for: word)
        return number
    }

    /// The numbers in the order of the keys.
    var ascending: [Int] { keys.ascending }

    private mutating func numberOfKey(of value: UnsafeRawPointer) -> Int {
        bytes.removeAll()
        _ = key.append(value, &bytes)
        return bytes.bytes.withUnsafeBytes { keys.number(of: $0) }
    }
}

/// Numbers by words: a hash table with linear probing.
private struct WordTable {
    private var slots = [(word: UInt64, number: Int)](repeating: (0, -1), count: 64)
    private var count = 0
    /// Differs from process to process: nobody can make up words of one place.
    private let factor = UInt64.random(in: .min ... .max) | 1

    @inline(__always)
    subscript(word: UInt64) -> Int? {
        let slot = slots[place(of: word)]
        return slot.number < 0 ? nil : slot.number
    }

    /// - Precondition: the word has no number yet.
    mutating func insert(_ number: Int, for word: UInt64) {
        if 2 * (count + 1) > slots.count {
            var old = [(word: UInt64, number: Int)](repeating: (0, -1), count: 2 * slots.count)
            swap(&old, &slots)
            for slot in old where slot.number >= 0 { slots[place(of: slot.word)] = slot }
        }
        slots[place(of: word)] = (word, number)
        count += 1
    }

    /// Where a word is, or would be.
    @inline(__always)
    private func place(of word: UInt64) -> Int {
        let mask = slots.count &- 1
        var place = Int(truncatingIfNeeded: foldedProduct(word, factor)) & mask
        while slots[place].number >= 0, slots[place].word != word { place = (place &+ 1) & mask }
        return place
    }
}
