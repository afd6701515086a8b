/// Entries in any order, to be inserted into an index.
///
/// They are sorted by the eight bytes that follow their common prefix, as numbers in a separate table; further bytes are
/// compared only where these are equal (Graefe, *Implementing Sorting in Database Systems*, ACM Computing Surveys 38 (2006):
/// poor man's normalized keys). The tree is then built from left to right, with full pages.
struct IndexEntries: Sendable {
    private struct Place: Sendable {
        let start: Int
        let count: Int
        var head: UInt64 = 0
    }

    private var writer = ByteWriter()
    private var places: [Place] = []

    /// Makes room for as many entries of a length, so that the arrays are not copied while they grow.
    ///
    /// - Parameter length: an estimate, of which no more than a short entry's length counts.
    mutating func reserve(count: Int, length: Int) {
        places.reserveCapacity(count)
        writer.reserveCapacity(count * min(length, 64))
    }

    /// Appends the entry that a closure writes.
    mutating func append(_ write: (inout ByteWriter) -> Void) {
        let start = writer.count
        write(&writer)
        places.append(Place(start: start, count: writer.count - start))
    }

    /// Appends the entry that an index has for a row, if it has one. The first entry makes room for one of its length for each
    /// row.
    mutating func append(_ row: RowNumber, at address: UnsafeRawPointer, in index: IndexDescription, rowCount: Int) {
        let start = writer.count
        guard index.appendEntry(for: row, at: address, to: &writer) else { return }
        if places.isEmpty { reserve(count: rowCount, length: writer.count) }
        places.append(Place(start: start, count: writer.count - start))
    }

    /// The index of all entries.
    ///
    /// - Precondition: each entry ends with a row number, and none occurs twice.
    consuming func index() -> BuiltIndex {
        var (builder, repeating) = (OrderedIndex.Builder(), [RowNumber]())
        withSorted { count, entry in
            var last: KeyBytes?
            for number in 0..<count {
                let entry = entry(number)
                if let last, last.count == entry.count, last.hasPrefix(entry.prefix(entry.count - 8)) {
                    repeating.append(entry.row)
                }
                builder.append(entry.buffer)
                last = entry
            }
        }
        return BuiltIndex(index: builder.finish(), repeating: repeating)
    }

    /// Inserts all entries into an index that has none of them. Calls the body with rows whose key another row may have.
    consuming func insert(into index: inout OrderedIndex, _ mayShare: ((RowNumber) -> Void)?) {
        withSorted { count, entry in
            index.insert(ascending: (0..<count).map(entry), mayShare.map { mayShare in { mayShare($0.row) } })
        }
    }

    /// Removes all entries from an index.
    consuming func remove(from index: inout OrderedIndex) {
        withSorted { count, entry in index.remove(ascending: (0..<count).map(entry)) }
    }

    /// Runs the body with the number of entries, and a function that returns them in their order; they are valid only during the
    /// call.
    private mutating func withSorted(_ body: (Int, (Int) -> KeyBytes) -> Void) {
        writer.bytes.withUnsafeBytes { bytes in
            func key(_ place: Place) -> KeyBytes {
                KeyBytes(UnsafeRawBufferPointer(rebasing: bytes[place.start..<place.start + place.count]))
            }
            let shared = places.reduce(places.first?.count ?? 0) { shared, place in
                key(places[0]).prefix(shared).sharedCount(with: key(place))
            }
            for number in places.indices { places[number].head = key(places[number]).head(after: shared) }
            places.sort { lhs, rhs in
                lhs.head != rhs.head ? lhs.head < rhs.head : key(lhs).compare(key(rhs)) < 0
            }
            body(places.count) { key(places[$0]) }
        }
    }
}

/// The index entries of new rows of one entity, for inserting all at once, or those of deleted rows, for removing all at once, and
/// the references by which they are in orders and pairs.
struct IndexBatch: Sendable {
    let entity: Int
    /// By the index's number in the entity's description.
    fileprivate var entries: [IndexEntries]
    /// How many rows may come; there is room for so many.
    private let rowCount: Int
    /// The references that have an inverse to maintain, by the relationship's number among the entity's `toOnes`, in the order in
    /// which the rows came.
    private(set) var references: [[(row: RowNumber, target: RowNumber)]]

    init(entity: Int, of schema: Schema, rowCount: Int) {
        (self.entity, self.rowCount) = (entity, rowCount)
        entries = schema.entities[entity].indexes.map { _ in IndexEntries() }
        references = schema.entities[entity].toOnes.map { _ in [] }
    }

    mutating func append(_ row: RowNumber, at address: UnsafeRawPointer, _ description: EntityDescription) {
        for (number, index) in description.indexes.enumerated() {
            entries[number].append(row, at: address, in: index, rowCount: rowCount)
        }
        guard description.hasInversesToMaintain else { return }
        for (number, toOne) in description.toOnes.enumerated() where toOne.hasInverseToMaintain {
            let target = toOne.target(ofRowAt: address)
            if target != 0 { references[number].append((row, target)) }
        }
    }
}

extension Snapshot {
    /// Inserts the index entries of new rows, which the table has already. Calls the body with rows whose unique value another
    /// row may have.
    mutating func insertEntries(of batch: consuming IndexBatch, _ mayShareValue: (RowNumber) -> Void) {
        let indexes = schema.entities[batch.entity].indexes
        withoutActuallyEscaping(mayShareValue) { mayShareValue in
            for (number, entries) in batch.entries.enumerated() {
                entries.insert(
                    into: &entities[batch.entity].indexes[number],
                    indexes[number].uniqueness == nil ? nil : mayShareValue)
            }
        }
    }

    /// Removes the index entries of rows that the table does not have any more, and their places in orders.
    mutating func removeEntries(of batch: consuming IndexBatch) {
        for (number, entries) in batch.entries.enumerated() {
            entries.remove(from: &entities[batch.entity].indexes[number])
        }
        for (toOne, references) in zip(schema.entities[batch.entity].toOnes, batch.references) {
            guard let order = toOne.order else { continue }
            linkTables[order].remove(contentsOf: references.map { (owner: $0.target, member: $0.row) })
        }
    }

    /// The same rows and links with indexes, which come from those of a similar state or, where much differs, from the rows.
    func indexed(like other: Snapshot) -> Snapshot {
        var (changed, result) = (0, other)
        let difference = SnapshotDifference(before: other, after: self)
        let limit = entities.reduce(0) { $0 + $1.rows.count } / 8
        difference.forEachRow { _, _, _ in changed += 1 }
        guard changed <= limit else {
            result = self
            _ = result.buildIndexes()
            return result
        }
        var scratch = EntryScratch()
        difference.forEachRow { id, _, new in _ = result.updateIndexes(of: id, to: new, &scratch) }
        for entity in entities.indices { result.entities[entity].rows = entities[entity].rows }
        (result.linkTables, result.token) = (linkTables, token)
        return result
    }

    /// Builds all indexes from the rows, several at once, unless one is known. Returns the rows whose unique value another row may
    /// have.
    ///
    /// - Parameter known: gives an index of an entity, by its number there; nil if it is to be built.
    mutating func buildIndexes(
        _ known: @Sendable (_ entity: Int, _ number: Int) -> BuiltIndex? = { _, _ in nil }
    ) -> [RowID] {
        let numbers = schema.entities.enumerated().flatMap { entity, description in
            description.indexes.indices.map { (entity: entity, index: $0) }
        }
        let results = concurrentResults(numbers.count) { [self] position -> BuiltIndex in
            let (entity, number) = numbers[position]
            if let index = known(entity, number) { return index }
            let description = schema.entities[entity].indexes[number]
            let rows = entities[entity].rows
            var entries = IndexEntries()
            rows.forEachRow { row, _, address in
                entries.append(row, at: address, in: description, rowCount: rows.count)
            }
            return entries.index()
        }
        var candidates: [RowID] = []
        for ((entity, number), result) in zip(numbers, results) {
            entities[entity].indexes[number] = result.index
            guard schema.entities[entity].indexes[number].uniqueness != nil else { continue }
            candidates += result.repeating.map { RowID(entity: entity, row: $0) }
        }
        return candidates
    }
}
