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
/// The hash is the library's SipHash under a key of this process, so that nobody can make up a file with other entries of the same
/// sum. After Clarke, Devadas, van Dijk, Gassend and Suh, *Incremental Multiset Hash Functions*, ASIACRYPT 2003.
private struct EntrySum: Equatable, Sendable {
    /// The library's own key is known in a process that asks for the same hashes in each run.
    private static let key = UInt64.random(in: .min ... .max)

    private var count = 0
    private(set) var bytes = 0
    private var sum = 0

    mutating func add(_ entry: UnsafeRawBufferPointer) {
        var hasher = Hasher()
        hasher.combine(Self.key)
        hasher.combine(bytes: entry)
        sum &+= hasher.finalize()
        count += 1
        bytes += entry.count
    }
}

/// An earlier state and what a file has of its indexes, from which those of a later state follow without sorting, if it is not much
/// later.
struct IndexBase: Sendable {
    private var stored: [StoredIndex.Place: StoredIndex]
    /// By entity, of those with such indexes: the rows, and which of them have changed since.
    private var states: [Int: (rows: RowTable, changed: Set<RowNumber>)] = [:]

    init(_ snapshot: Snapshot, _ stored: [StoredIndex.Place: StoredIndex]) {
        self.stored = stored
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
            let (old, changed) = states[entity], var result = entries.build(description.sum(of: old))
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

extension IndexDescription {
    fileprivate func sum(of rows: RowTable) -> EntrySum {
        var (sum, entry) = (EntrySum(), ByteWriter(capacity: 64))
        rows.forEachRow { row, _, address in
            guard makeEntry(for: row, at: address, in: &entry) else { return }
            entry.bytes.withUnsafeBytes { sum.add($0) }
        }
        return sum
    }
}
