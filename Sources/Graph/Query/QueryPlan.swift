#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a fetch finds its rows: which of them it looks at, and in which order.
///
/// The indexes are counted, not estimated: a B+tree whose branches know the number of their entries tells how many rows a range of
/// keys has. Each row that an index proposes is tested, so that the answer never depends on the plan.
final class QueryPlan<E: Entity> {
    private let fetch: FetchDescriptor<E>
    private let snapshot: Snapshot
    private let order: RowOrder
    /// Nil if all rows are wanted.
    private let predicate: RowPredicate<E>?
    /// The rows that indexes propose; nil where looking at all rows is faster.
    private let candidates: RowCandidates?
    /// The rows among which a walk in the sort order has found those of the result; nil if it looked among all.
    private var walked: RowCandidates?
    /// The number of rows that have been looked at.
    private(set) var visitedCount = 0
    /// Whether they were visited in the sort order, by an index.
    private var followsOrder = false

    /// Rows that an index proposes lie anywhere in memory: where more than this share of all may match, a scan is faster.
    private static var indexShare: Int { 4 }

    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`, `GraphError.predicateNotSupported`,
    ///   `GraphError.pageTokenMismatch`.
    init(_ fetch: FetchDescriptor<E>, in snapshot: Snapshot) throws {
        let order = try RowOrder(fetch.sortBy, in: snapshot)
        predicate = try RowPredicate(fetch, order, in: snapshot)
        (self.fetch, self.snapshot, self.order) = (fetch, snapshot, order)
        let limit = max(snapshot.entities[order.entity].rows.count / Self.indexShare, 16)
        let proposed = predicate.flatMap { snapshot.candidates($0.condition.access, of: order.entity, limit: limit) }
        candidates = fetch.after == nil ? proposed : proposed?.inexact
        snapshot.reader?.read(for: predicate, of: order.entity, following: order.targets)
    }

    private var table: RowTable { snapshot.entities[order.entity].rows }

    /// Calls the body with the rows of the result, in its order; without a sort order as soon as each is found, while it is in the
    /// processor's cache.
    func forEachRow(_ body: (FoundRow) throws -> Void) throws {
        var window = FetchWindow(offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        guard !window.isOver else { return }
        guard order.criteria.isEmpty else { return try sortedRows().forEach(body) }
        try forEachMatch { row in
            if window.takesNext() { try body(row) }
            return !window.isOver
        }
    }

    private func sortedRows() throws -> ArraySlice<FoundRow> {
        if predicate == nil, fetch.fetchOffset >= table.count { return [] }
        var collector = RowCollector(order: order, offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        if let rows = try walkedRows(capacity: collector.capacity) { return rows }
        if predicate == nil {
            // A loop of its own, without a call for each row.
            table.forEachRow { row, _, address in collector.add(FoundRow(number: row, address: address)) }
            visitedCount += table.count
        } else {
            try forEachMatch { row in
                collector.add(row)
                return true
            }
        }
        return collector.result(inOrder: false)
    }

    /// The number of rows that match, without offset and limit.
    func count() throws -> Int {
        guard let predicate else { return table.count }
        if let candidates, candidates.areExact { return candidates.count }
        if candidates == nil, fetch.after == nil,
            let count = snapshot.count(predicate.condition.access, of: order.entity)
        {
            return count
        }
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
        let description = snapshot.schema.entities[order.entity]
        let rows = (candidates ?? walked)?.description ?? "all \(table.count) rows of \(description.name)"
        return followsOrder ? "\(rows), in the order of an index" : rows
    }

    /// Other entities whose rows have decided, those to which the program's own code has followed references among them.
    var followed: Set<Int> { predicate?.entities ?? [] }

    /// The number of rows that indexes propose; that of all without one.
    var expectedCount: Int { (candidates ?? walked)?.count ?? table.count }

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
            let addresses = table.addresses(of: part)
            assert(addresses.count == part.count, "an index proposes rows that do not exist")
            snapshot.schema.entities[order.entity].touch(addresses)
            for (row, address) in zip(part, addresses) {
                let found = FoundRow(number: row, address: address)
                guard try !matches(found) || body(found) else { return }
            }
        }
    }

    /// Calls the body with each block of rows and the mask of those that match, until it returns false.
    private func forEachBlock(_ body: (RowBlock, UInt32) throws -> Bool) throws {
        // In the order of insertion a page begins where the one before has ended.
        let first = order.criteria.isEmpty ? fetch.after?.row ?? 0 : 0
        try table.forEachBlock(from: first) { block, occupancy in
            visitedCount += occupancy.nonzeroBitCount
            guard let predicate else { return try body(block, occupancy) }
            let (mask, error) = predicate.matches(in: block, occupancy)
            guard try mask == 0 || body(block, mask) else { return false }
            if let error { throw error }
            return true
        }
    }

    private func matches(_ row: FoundRow) throws -> Bool {
        visitedCount += 1
        guard let predicate, candidates?.areExact != true else { return true }
        return try predicate.matches(row.number, row.address.row(in: table.layout))
    }

    // MARK: In a sort order

    /// The result, by a walk along an index in the sort order; nil if none has it, or it would look at more rows than another way.
    ///
    /// - Parameter capacity: the number of rows that are wanted, with those of the offset.
    private func walkedRows(capacity: Int) throws -> ArraySlice<FoundRow>? {
        let bounds = candidates ?? range
        guard var walk = walk(capacity: capacity, within: bounds) else { return nil }
        var collector = RowCollector(
            order: order, offset: fetch.fetchOffset - walk.skipped, limit: fetch.fetchLimit)
        while let row = walk.next() {
            guard try matches(row) else { continue }
            guard collector.append(row) else {
                (followsOrder, walked) = (true, bounds)
                return collector.result(inOrder: true)
            }
            walk.didMatch()
        }
        if walk.isAtEnd {
            (followsOrder, walked) = (true, bounds)
            return collector.result(inOrder: true)
        }
        // The walk has looked at enough rows. Those that it has skipped cannot be told from the others.
        guard walk.skipped == 0 else { return nil }
        var passed = walk.passed
        try forEachMatch { row in
            while passed.next < row.number { passed.advance() }
            if passed.next != row.number { collector.add(row) }
            return true
        }
        return collector.result(inOrder: false)
    }

    /// The rows that the index in the sort order has in the range which the predicate allows, however many they are.
    private var range: RowCandidates? {
        guard let predicate, let index = IndexWalk.index(in: order, of: snapshot.schema.entities[order.entity]) else {
            return nil
        }
        let range = snapshot.range(predicate.condition.access, of: order.entity, along: index)
        return fetch.after == nil ? range : range?.inexact
    }

    private func walk(capacity: Int, within bounds: RowCandidates?) -> IndexWalk? {
        let all = predicate == nil || bounds?.areExact == true
        guard candidates.map({ capacity < $0.count && $0.index != nil }) ?? true else { return nil }
        return IndexWalk(
            order, of: snapshot.schema.entities[order.entity], in: snapshot.entities[order.entity],
            capacity: predicate == nil ? capacity - fetch.fetchOffset : capacity,
            skippingAtMost: all ? fetch.fetchOffset : 0, after: predicate?.position,
            within: bounds?.index, visiting: candidates?.count)
    }
}
