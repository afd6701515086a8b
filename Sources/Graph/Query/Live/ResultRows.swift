/// A live result as a value: the rows that a descriptor asks for, in its order, as an index over one state. A copy is O(1).
///
/// With a limit it holds the first matches only: those that the result shows or skips, and some to spare, which take the place of
/// rows that go. When these run short it fetches again, so that a limit bounds its memory.
///
/// Invariants:
/// 1. The entries are those of the first rows that match in `snapshot`; of all of them if `isComplete`.
/// 2. If it is not complete, there are at least as many as the result shows and skips.
/// 3. `sections` are those of the rows shown, in their order, none of them empty; none without sections.
struct ResultRows<E: Entity>: Sendable {
    let definition: ResultDefinition<E>
    var keys: ResultKeys
    let entity: Int
    var snapshot: Snapshot
    var entries: OrderedIndex
    var isComplete: Bool
    var sections: [ResultSection] = []
    /// The entities to which the predicate's computed properties have followed references.
    private(set) var followed: Set<Int> = []

    /// - Throws: what a fetch throws.
    init(_ definition: ResultDefinition<E>, in snapshot: Snapshot) throws {
        self.definition = definition
        self.snapshot = snapshot
        entity = try snapshot.entityIndex(of: E.self)
        keys = try ResultKeys(definition, in: snapshot)
        (entries, isComplete) = (OrderedIndex(), false)
        try fetch()
        sections = ResultSection.all(of: self)
    }

    /// Of the entries, those that the result shows.
    var window: Range<Int> {
        let offset = definition.descriptor.fetchOffset
        return min(offset, entries.count)..<min(definition.wanted, entries.count)
    }

    var count: Int { window.count }

    /// - Precondition: 0 ≤ `index` < `count`.
    func row(at index: Int) -> RowNumber {
        precondition(index >= 0 && index < count, "index \(index) in a result of \(count) objects")
        return entries.withEntry(at: window.lowerBound + index) { KeyBytes($0).row }
    }

    /// The rows of a part of the result.
    func rows(in range: Range<Int>) -> IndexCursor {
        entries.cursor(at: range.lowerBound + window.lowerBound..<range.upperBound + window.lowerBound)
    }

    /// The address of a row of the result; valid while this value is.
    func address(of row: RowNumber) -> UnsafeRawPointer {
        guard let address = snapshot.entities[entity].rows.address(of: row) else {
            preconditionFailure("row \(row) is in a result and not in its state")
        }
        return address
    }

    /// Fetches the entries anew.
    mutating func fetch() throws {
        var fetch = definition.fetch
        let (limit, overflow) = definition.wanted.addingReportingOverflow(definition.spare)
        (fetch.fetchOffset, fetch.fetchLimit) = (0, overflow ? nil : limit)
        var builder = OrderedIndex.Builder()
        var writer = ByteWriter(capacity: 64)
        let plan = try QueryPlan(fetch, in: snapshot)
        try plan.forEachRow { row in
            keys.write(row.number, at: row.address, to: &writer)
            writer.bytes.withUnsafeBytes { builder.append($0) }
        }
        followed.formUnion(plan.followed)
        entries = builder.finish()
        isComplete = overflow || entries.count < limit
    }
}

/// What a live result shows.
struct ResultDefinition<E: Entity>: Sendable {
    let descriptor: FetchDescriptor<E>
    let section: Ordering<E>?
    /// How many rows to hold besides those that are wanted; twice as many at most.
    let spare: Int

    /// - Precondition: offset and limit are not negative.
    init(_ descriptor: FetchDescriptor<E>, sectionedBy section: Ordering<E>? = nil, spare: Int = 1_024) {
        _ = FetchWindow(offset: descriptor.fetchOffset, limit: descriptor.fetchLimit)
        (self.descriptor, self.section, self.spare) = (descriptor, section, spare)
    }

    /// The descriptor with the whole sort, to which a page token belongs, too.
    var fetch: FetchDescriptor<E> {
        var fetch = descriptor
        if let section { fetch.sortBy.insert(section, at: 0) }
        return fetch
    }

    /// The number of first matches that the result skips or shows; `.max` for all.
    var wanted: Int {
        let (end, overflow) = descriptor.fetchOffset.addingReportingOverflow(descriptor.fetchLimit ?? .max)
        return overflow ? .max : end
    }
}

/// Rows of a result, one after another, with one value of the property that makes sections.
struct ResultSection: Sendable, Equatable {
    let key: [UInt8]
    var count: Int

    /// Reads every row that the result shows.
    static func all<E>(of rows: ResultRows<E>) -> [ResultSection] {
        guard rows.definition.section != nil else { return [] }
        var sections: [ResultSection] = []
        var cursor = rows.rows(in: 0..<rows.count)
        while let row = cursor.next() {
            guard let key = rows.keys.section(ofRowAt: rows.address(of: row)) else { break }
            if sections.last?.key == key {
                sections[sections.count - 1].count += 1
            } else {
                sections.append(ResultSection(key: key, count: 1))
            }
        }
        return sections
    }
}
