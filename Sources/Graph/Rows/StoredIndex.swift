/// The entries of an index as a file has them. They spare sorting those of the rows, and prove nothing.
struct StoredIndex: Sendable {
    struct Place: Hashable, Sendable {
        let entity: Int
        /// In the entity's description.
        let number: Int
    }

    /// Front-coded, one piece after the other.
    var pieces: [[UInt8]] = []

    /// The index of all entries; nil if they do not ascend, or have another sum. It takes no more memory than that of the rows.
    fileprivate func build(_ expected: EntrySum) -> BuiltIndex? {
        var (builder, entries, sum, repeating) = (
            OrderedIndex.Builder(), FrontCodedEntries(), EntrySum(), [RowNumber]()
        )
        for piece in pieces {
            let isSound: Bool? = try? piece.withUnsafeBytes { piece in
                var reader = ByteReader(piece)
                while reader.remaining > 0 {
                    let repeats = try entries.read(&reader)
                    let isAppended = entries.entry.withUnsafeBytes { entry in
                        sum.add(entry)
                        if repeats { repeating.append(KeyBytes(entry).row) }
                        return sum.bytes <= expected.bytes && builder.appendIfAscending(entry)
                    }
                    guard isAppended else { return false }
                }
                return true
            }
            guard isSound == true else { return nil }
        }
        return sum == expected ? BuiltIndex(index: builder.finish(), repeating: repeating) : nil
    }
}

/// An index, and the rows whose key an earlier row has, or may have.
struct BuiltIndex: Sendable {
    var index: OrderedIndex
    var repeating: [RowNumber]
}

/// How many entries there are, how long they are, and the sum of a hash of each, whatever their order.
///
/// The hash multiplies words that are combined with numbers of this process, and folds the product (Wang Yi's wyhash); nobody sees
/// these numbers, or a sum, so that nobody can make up a file with other entries of the same sum. After Clarke, Devadas, van Dijk,
/// Gassend and Suh, *Incremental Multiset Hash Functions*, ASIACRYPT 2003.
private struct EntrySum: Equatable, Sendable {
    private static let keys = (random(), random(), random(), random())

    private let keys = Self.keys
    private var count = 0
    private(set) var bytes = 0
    private var sum: UInt64 = 0

    static func == (lhs: EntrySum, rhs: EntrySum) -> Bool {
        (lhs.count, lhs.bytes, lhs.sum) == (rhs.count, rhs.bytes, rhs.sum)
    }

    @inline(__always)
    mutating func add(_ entry: UnsafeRawBufferPointer) {
        let entry = KeyBytes(entry)
        precondition(entry.count >= 8, "an entry of \(entry.count) bytes carries no row number")
        var (hash, offset) = (keys.0 ^ UInt64(entry.count), 0)
        while entry.count &- offset > 16 {
            hash = foldedProduct(entry.word(at: offset) ^ keys.1, entry.word(at: offset &+ 8) ^ hash)
            offset &+= 16
        }
        // The last sixteen bytes, or the first and the last eight, which may overlap what was read before.
        hash = foldedProduct(
            entry.word(at: max(0, entry.count &- 16)) ^ keys.2, entry.word(at: entry.count &- 8) ^ hash)
        sum &+= foldedProduct(hash ^ keys.3, hash ^ keys.0)
        count += 1
        bytes += entry.count
    }

    static func + (lhs: EntrySum, rhs: EntrySum) -> EntrySum {
        var result = lhs
        result.count += rhs.count
        result.bytes += rhs.bytes
        result.sum &+= rhs.sum
        return result
    }

    private static func random() -> UInt64 { .random(in: .min ... .max) }
}

/// An earlier state and what a file has of its indexes, from which those of a later state follow without sorting, if it is not much
/// later.
struct IndexBase: Sendable {
    private var stored: [StoredIndex.Place: StoredIndex]
    private let sums: [StoredIndex.Place: EntrySum]
    /// By entity, of those with such indexes: the rows, and which of them have changed since.
    private var states: [Int: (rows: RowTable, changed: Set<RowNumber>)] = [:]

    init(_ snapshot: Snapshot, _ stored: [StoredIndex.Place: StoredIndex]) {
        self.stored = stored
        sums = snapshot.sums(of: Array(stored.keys))
        for place in stored.keys { states[place.entity] = (snapshot.entities[place.entity].rows, []) }
    }

    /// Remembers a row that is about to change, come or go. Sorting all entries is faster than changing very many.
    mutating func noteChange(of id: RowID) {
        guard let count = states[id.entity]?.rows.count else { return }
        states[id.entity]?.changed.insert(id.row)
        guard states[id.entity]?.changed.count ?? 0 > max(64, count / 16) else { return }
        states[id.entity] = nil
        stored = stored.filter { $0.key.entity != id.entity }
    }

    /// The index of the later state; nil if it is to be built from the rows: the stored entries are not those of the base, or too
    /// much has changed.
    func index(_ number: Int, of entity: Int, in later: Snapshot) -> BuiltIndex? {
        let description = later.schema.entities[entity].indexes[number]
        guard let entries = stored[StoredIndex.Place(entity: entity, number: number)],
            let (old, changed) = states[entity], let sum = sums[StoredIndex.Place(entity: entity, number: number)],
            var result = entries.build(sum)
        else { return nil }
        var entry = ByteWriter(capacity: 64)
        for row in changed {
            let (before, after) = (old.address(of: row), later.entities[entity].rows.address(of: row))
            if let before, let after, description.isIdentical(before, after) { continue }
            if let before, description.makeEntry(for: row, at: before, in: &entry) {
                _ = result.index.remove(entry.bytes)
            }
            if let after, description.makeEntry(for: row, at: after, in: &entry) {
                let keyLength = entry.count - MemoryLayout<RowNumber>.size
                let insertion = entry.bytes.withUnsafeBytes { result.index.insert($0, sharing: keyLength) }
                if insertion.mayShare { result.repeating.append(row) }
            }
        }
        if !changed.isEmpty { result.repeating = Set(result.repeating).sorted() }
        return result
    }
}

extension Snapshot {
    /// The sums of the rows' entries, several at once.
    fileprivate func sums(of places: [StoredIndex.Place]) -> [StoredIndex.Place: EntrySum] {
        let parts = Set(places.map(\.entity)).flatMap { entity in
            entities[entity].rows.parts.map { (entity: entity, leaves: $0) }
        }
        let results = concurrentResults(parts.count) { [self] part -> [StoredIndex.Place: EntrySum] in
            let (entity, leaves) = parts[part]
            let (rows, indexes) = (entities[entity].rows, schema.entities[entity].indexes)
            let numbers = places.filter { $0.entity == entity }.map(\.number)
            var (sums, entry) = ([EntrySum](repeating: EntrySum(), count: numbers.count), ByteWriter(capacity: 64))
            rows.forEachRun(in: leaves) { run in
                for (position, number) in numbers.enumerated() {
                    indexes[number].add(run, of: rows, to: &sums[position], &entry)
                }
            }
            return Dictionary(
                uniqueKeysWithValues: zip(numbers.map { StoredIndex.Place(entity: entity, number: $0) }, sums))
        }
        return results.reduce(into: Dictionary(uniqueKeysWithValues: places.map { ($0, EntrySum()) })) { sums, part in
            sums.merge(part) { $0 + $1 }
        }
    }
}

extension IndexDescription {
    fileprivate func add(_ run: RowTable.Run, of rows: RowTable, to sum: inout EntrySum, _ entry: inout ByteWriter) {
        run.occupancy.forEachBit { place in
            let (row, address) = (run.firstRow + UInt64(place), run.values + place * rows.layout.stride)
            guard makeEntry(for: row, at: address, in: &entry) else { return }
            entry.bytes.withUnsafeBytes { sum.add($0) }
        }
    }
}
