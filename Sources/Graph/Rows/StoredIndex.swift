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

/// An index, and the rows whose key an earlier row has.
struct BuiltIndex: Sendable {
    var index: OrderedIndex
    var repeating: [RowNumber]
}

/// How many entries there are, how long they are, and the sum of a hash of each, whatever their order.
///
/// The hash is the library's SipHash under a key of this process, so that nobody can make up a file with other entries of the same
/// sum. After Clarke, Devadas, van Dijk, Gassend and Suh, *Incremental Multiset Hash Functions*, ASIACRYPT 2003.
private struct EntrySum: Equatable, Sendable {
    private var count = 0
    private(set) var bytes = 0
    private var sum = 0

    mutating func add(_ entry: UnsafeRawBufferPointer) {
        var hasher = Hasher()
        hasher.combine(bytes: entry)
        sum &+= hasher.finalize()
        count += 1
        bytes += entry.count
    }
}

/// An earlier state with its indexes, from which those of a later state follow without sorting.
struct IndexBase: Sendable {
    private let snapshot: Snapshot
    private let indexes: [StoredIndex.Place: BuiltIndex]

    /// Takes those indexes whose entries are those of the snapshot's rows.
    ///
    /// Complexity: O(*n*) for *n* rows and indexes.
    init(_ snapshot: Snapshot, _ stored: [StoredIndex.Place: StoredIndex]) {
        self.snapshot = snapshot
        let stored = Array(stored)
        let sums = concurrentResults(stored.count) { snapshot.sum(of: stored[$0].key) }
        let built = concurrentResults(stored.count) { stored[$0].value.build(sums[$0]) }
        indexes = Dictionary(
            uniqueKeysWithValues: zip(stored, built).compactMap { stored, built in built.map { (stored.key, $0) } })
    }

    /// The index of a later state; nil if it is to be built from the rows.
    func index(_ number: Int, of entity: Int, in later: Snapshot) -> BuiltIndex? {
        guard var result = indexes[StoredIndex.Place(entity: entity, number: number)] else { return nil }
        let (old, new) = (snapshot.entities[entity].rows, later.entities[entity].rows)
        // Sorting everything is faster than very many insertions.
        var rest = max(64, old.count / 8)
        let description = later.schema.entities[entity].indexes[number]
        var entry = ByteWriter(capacity: 64)
        new.forEachDifference(from: old) { row, _, _ in
            rest -= 1
            guard rest >= 0 else { return }
            let (before, after) = (old.address(of: row), new.address(of: row))
            if let before, let after, description.isIdentical(before, after) { return }
            if let before, description.makeEntry(for: row, at: before, in: &entry) {
                _ = result.index.remove(entry.bytes)
            }
            if let after, description.makeEntry(for: row, at: after, in: &entry) {
                let keyLength = entry.count - MemoryLayout<RowNumber>.size
                let insertion = entry.bytes.withUnsafeBytes { result.index.insert($0, sharing: keyLength) }
                if insertion.mayShare { result.repeating.append(row) }
            }
        }
        return rest >= 0 ? result : nil
    }
}

extension Snapshot {
    fileprivate func sum(of index: StoredIndex.Place) -> EntrySum {
        let description = schema.entities[index.entity].indexes[index.number]
        var (sum, entry) = (EntrySum(), ByteWriter(capacity: 64))
        entities[index.entity].rows.forEachRow { row, _, address in
            guard description.makeEntry(for: row, at: address, in: &entry) else { return }
            entry.bytes.withUnsafeBytes { sum.add($0) }
        }
        return sum
    }
}
