#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a fetch with a predicate finds its rows: which of them it looks at, and in which order.
///
/// The indexes are counted, not estimated: a B+tree whose branches know the number of their entries tells how many rows a range of
/// keys has. Each row that an index proposes is tested, so that the answer never depends on the plan.
final class QueryPlan<E: Entity> {
    let predicate: RowPredicate<E>
    private let snapshot: Snapshot
    let entity: Int
    private let order: RowOrder?
    /// The rows that indexes propose; nil where looking at all rows is faster.
    let candidates: RowCandidates?
    /// The number of rows that have been looked at.
    private(set) var visitedCount = 0
    /// Whether they were visited in the sort order, by an index.
    private(set) var followsOrder = false

    /// Rows that an index proposes lie anywhere in memory: where more than this share of all may match, a scan is faster.
    private static var indexShare: Int { 4 }

    /// - Throws: `GraphError.unknownEntity`, `GraphError.predicateNotSupported`.
    init(_ predicate: Predicate<E>, _ order: RowOrder?, in snapshot: Snapshot) throws {
        self.predicate = try RowPredicate(predicate, in: snapshot)
        (self.snapshot, self.order) = (snapshot, order)
        entity = try snapshot.entityNumber(of: E.self)
        let limit = max(snapshot.entities[entity].rows.count / Self.indexShare, 16)
        candidates = snapshot.candidates(self.predicate.condition.access, of: entity, limit: limit)
        if let reader = snapshot.reader { note(to: reader) }
    }

    /// Notes what the answer depends on: ranges of keys where they bound what can match, else whole entities.
    func note(to reader: any SnapshotReader) {
        if let ranges = candidates?.reads {
            for range in ranges { reader.readRows(of: entity, where: range.property, isIn: range.keys) }
        } else {
            reader.readAll(of: entity)
        }
        for other in predicate.entities { reader.readAll(of: other) }
        for table in predicate.relationships.compactMap(\.linkTable) { reader.readLinks(in: table) }
    }

    private var table: RowTable { snapshot.entities[entity].rows }

    /// Calls the body with the rows of the result, in its order; without a sort order as soon as each is found, while it is in the
    /// processor's cache.
    func forEachRow(_ fetch: FetchDescriptor<E>, _ body: (FoundRow) throws -> Void) throws {
        if let order { return try sortedRows(fetch, order).forEach(body) }
        var window = FetchWindow(offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        guard !window.isOver else { return }
        try forEachMatch { row in
            if window.takesNext() { try body(row) }
            return !window.isOver
        }
    }

    private func sortedRows(_ fetch: FetchDescriptor<E>, _ order: RowOrder) throws -> ArraySlice<FoundRow> {
        guard fetch.fetchLimit != 0 else { return [] }
        var collector = RowCollector(order: order, offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        if let walk = walk(order, fetch, capacity: collector.capacity) { return try follow(walk, fetch, order) }
        try forEachMatch { row in
            collector.add(row)
            return true
        }
        return collector.result(inOrder: false)
    }

    /// The number of rows that match.
    func count() throws -> Int {
        if let candidates, candidates.areExact { return candidates.count }
        var count = 0
        if candidates == nil {
            try forEachBlock { _, mask in
                count += mask.nonzeroBitCount
                return true
            }
        } else {
            try forEachMatch { _ in
                count += 1
                return true
            }
        }
        return count
    }

    /// How the rows were found.
    var explanation: String {
        let description = snapshot.schema.entities[entity]
        let rows = candidates?.description ?? "all \(table.count) rows of \(description.name)"
        return followsOrder ? "\(rows), in the order of an index" : rows
    }

    // MARK: In the order of the rows

    /// Calls the body with the rows that match, in ascending order, until it returns false.
    private func forEachMatch(_ body: (FoundRow) throws -> Bool) throws {
        let table = table
        guard let candidates else {
            return try forEachBlock { block, mask in
                var rest = mask
                while rest != 0 {
                    let place = rest.trailingZeroBitCount
                    rest &= rest &- 1
                    let row = FoundRow(
                        number: block.firstRow &+ RowNumber(place), address: block.values + place &* block.stride)
                    guard try body(row) else { return false }
                }
                return true
            }
        }
        let rows = candidates.rows()
        for start in stride(from: 0, to: rows.count, by: 64) {
            let part = rows[start..<min(start + 64, rows.count)]
            for (row, address) in zip(part, table.addresses(of: part)) {
                let found = FoundRow(number: row, address: address)
                guard try !matches(found, isKnown: candidates.areExact) || body(found) else { return }
            }
        }
    }

    /// Calls the body with each block of rows and the mask of those that match, until it returns false.
    private func forEachBlock(_ body: (RowBlock, UInt32) throws -> Bool) throws {
        try table.forEachBlock { block, occupancy in
            visitedCount += occupancy.nonzeroBitCount
            let (mask, error) = predicate.matches(in: block, occupancy)
            guard try mask == 0 || body(block, mask) else { return false }
            if let error { throw error }
            return true
        }
    }

    private func matches(_ row: FoundRow, isKnown: Bool) throws -> Bool {
        visitedCount += 1
        return try isKnown || predicate.matches(row.number, row.address.row(in: table.layout))
    }

    // MARK: In a sort order

    /// A walk along an index in the sort order, if that looks at fewer rows than the candidates are.
    private func walk(_ order: RowOrder, _ fetch: FetchDescriptor<E>, capacity: Int) -> IndexWalk? {
        let description = snapshot.schema.entities[entity]
        guard let candidates else {
            return IndexWalk(order, of: description, in: snapshot.entities[entity], capacity: capacity)
        }
        guard capacity < candidates.count, let keys = candidates.index else { return nil }
        return IndexWalk(
            order, of: description, in: snapshot.entities[entity], capacity: capacity,
            skippingAtMost: candidates.areExact ? fetch.fetchOffset : 0, within: keys)
    }

    private func follow(
        _ walk: consuming IndexWalk, _ fetch: FetchDescriptor<E>, _ order: RowOrder
    ) throws -> ArraySlice<FoundRow> {
        var collector = RowCollector(
            order: order, offset: fetch.fetchOffset - walk.skipped, limit: fetch.fetchLimit)
        followsOrder = true
        while let row = walk.next() {
            guard try matches(row, isKnown: candidates?.areExact ?? false) else { continue }
            guard collector.append(row) else { return collector.result(inOrder: true) }
            walk.didMatch()
        }
        guard !walk.isAtEnd else { return collector.result(inOrder: true) }
        var passed = walk.passed
        try forEachMatch { row in
            while passed.next < row.number { passed.advance() }
            if passed.next != row.number { collector.add(row) }
            return true
        }
        return collector.result(inOrder: false)
    }
}
