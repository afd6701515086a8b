#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Snapshot {
    /// The number of an entity of which anything may be read. What reads less, and notes that itself, asks for `entityNumber`.
    @usableFromInline
    func entityIndex(of type: any Entity.Type) throws(GraphError) -> Int {
        let index = try entityNumber(of: type)
        if let reader { reader.readAll(of: index) }
        return index
    }

    @usableFromInline
    func entityNumber(of type: any Entity.Type) throws(GraphError) -> Int {
        guard let index = schema.index(of: type) else { throw .unknownEntity("\(type)") }
        return index
    }

    /// For debug builds, which ask it of each row.
    @usableFromInline
    func rowLayout(of type: any Entity.Type) -> RowLayout? {
        schema.index(of: type).map { entities[$0].rows.layout }
    }

    /// Calls the body with the rows of the result, in its order. The addresses are valid in the body only.
    ///
    /// Without a sort order each row is passed on when it is found, while it is in the processor's cache.
    @inlinable @inline(__always)
    func search<E: Entity>(
        _ fetch: FetchDescriptor<E>,
        where predicate: (E) throws -> Bool,
        _ body: (RowNumber, UnsafePointer<E>) throws -> Void
    ) throws {
        var window = FetchWindow(offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        let order = try rowOrder(fetch.sortBy)
        guard !window.isOver else { return }
        try followingReferences {
            if let order {
                let rows = try collect(fetch, where: predicate, order)
                try withExtendedLifetime(self) {
                    for row in rows { try body(row.number, row.address.row(in: rowLayout(of: E.self))) }
                }
            } else {
                try forEachRow(of: E.self) { number, value in
                    guard try predicate(value.pointee) else { return true }
                    if window.takesNext() { try body(number, value) }
                    return !window.isOver
                }
            }
        }
    }

    /// Runs code of the program, for which references lead to objects of this state.
    @inlinable @inline(__always)
    func followingReferences<Result>(_ body: () throws -> Result) rethrows -> Result {
        try SearchedState.current.withValue(SearchedState(self), operation: body)
    }

    /// The same with the descriptor's own predicate. With an index in the sort order and no predicate, the rows of the offset are
    /// counted and not visited.
    @inlinable @inline(__always)
    func search<E: Entity>(
        _ fetch: FetchDescriptor<E>,
        _ body: (RowNumber, UnsafePointer<E>) throws -> Void
    ) throws {
        var window = FetchWindow(offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        guard fetch.predicate == nil, fetch.sortBy.isEmpty, fetch.after == nil else {
            return try forEachFound(fetch) { row in
                try body(row.number, row.address.row(in: rowLayout(of: E.self)))
            }
        }
        guard !window.isOver else { return }
        try forEachRow(of: E.self) { number, value in
            if window.takesNext() { try body(number, value) }
            return !window.isOver
        }
    }

    /// Calls the body with the rows of a result, in its order, as a plan finds them.
    @usableFromInline
    func forEachFound<E: Entity>(_ fetch: FetchDescriptor<E>, _ body: (FoundRow) throws -> Void) throws {
        try withExtendedLifetime(self) { try QueryPlan(fetch, in: self).forEachRow(body) }
    }

    /// Neither this nor the next two methods are inlined: a predicate called in several places of one function is inlined in none
    /// of them, and scans need it to be.
    @inlinable @inline(never)
    func collect<E: Entity>(
        _ fetch: FetchDescriptor<E>,
        where predicate: (E) throws -> Bool,
        _ order: RowOrder
    ) throws -> ArraySlice<FoundRow> {
        var collector = RowCollector(order: order, offset: fetch.fetchOffset, limit: fetch.fetchLimit)
        var isInOrder = false
        if let walk = try indexWalk(E.self, order, capacity: collector.capacity) {
            let passed = try collect(walk, where: predicate, into: &collector)
            isInOrder = passed == nil
            if let passed { try collectRest(behind: passed, where: predicate, into: &collector) }
        } else {
            try scan(E.self, where: predicate) { number, address in
                collector.add(FoundRow(number: number, address: address))
                return true
            }
        }
        return collector.result(inOrder: isInOrder)
    }

    /// Collects matching rows in the order of an index. If that takes too long, returns the rows that it has passed: the
    /// collected ones are then the best of these, and the caller searches the rest.
    @inlinable @inline(never)
    func collect<E: Entity>(
        _ walk: consuming IndexWalk,
        where predicate: (E) throws -> Bool,
        into collector: inout RowCollector
    ) throws -> PassedRows? {
        defer { withExtendedLifetime(self) {} }
        while let row = walk.next() {
            guard try predicate(row.address.row(in: rowLayout(of: E.self)).pointee) else { continue }
            guard collector.append(row) else { return nil }
            walk.didMatch()
        }
        return walk.isAtEnd ? nil : walk.passed
    }

    /// Collects matching rows that a walk has not passed.
    @inlinable @inline(never)
    func collectRest<E: Entity>(
        behind passed: consuming PassedRows,
        where predicate: (E) throws -> Bool,
        into collector: inout RowCollector
    ) throws {
        var passed = passed
        try forEachRow(of: E.self) { number, value in
            if number == passed.next {
                passed.advance()
                return true
            }
            if try predicate(value.pointee) { collector.add(FoundRow(number: number, address: value)) }
            return true
        }
    }

    @usableFromInline
    func rowOrder<E>(_ orderings: [Ordering<E>]) throws(GraphError) -> RowOrder? {
        let order = try RowOrder(orderings, in: self)
        if let reader { for target in order.targets { reader.readAll(of: target) } }
        return orderings.isEmpty ? nil : order
    }

    @usableFromInline
    func indexWalk<E: Entity>(_ type: E.Type, _ order: RowOrder, capacity: Int) throws(GraphError) -> IndexWalk? {
        let entity = try entityIndex(of: type)
        return IndexWalk(order, of: schema.entities[entity], in: entities[entity], capacity: capacity)
    }

    /// Calls the body with the rows that match, in ascending order, until it returns false.
    @inlinable @inline(__always)
    func scan<E: Entity>(
        _ type: E.Type,
        where predicate: (E) throws -> Bool,
        _ body: (RowNumber, UnsafePointer<E>) throws -> Bool
    ) throws {
        try followingReferences {
            try forEachRow(of: type) { number, value in
                guard try predicate(value.pointee) else { return true }
                return try body(number, value)
            }
        }
    }

    /// Calls the body with the rows in ascending order, until it returns false.
    ///
    /// Always inlined, so that a predicate is part of the loop: a call would copy each row, strings and all.
    @inlinable @inline(__always)
    func forEachRow<E: Entity>(
        of type: E.Type,
        _ body: (RowNumber, UnsafePointer<E>) throws -> Bool
    ) throws {
        let rows = entities[try entityIndex(of: type)].rows
        defer { withExtendedLifetime(rows) {} }
        // One run ahead: the processor fetches the next rows while it works on these.
        var next = rows.run(from: 0)
        while let run = next {
            next = run.end.flatMap { rows.run(from: $0) }
            let values = run.values.row(as: E.self, in: rows.layout)
            var occupancy = run.occupancy
            while occupancy != 0 {
                let place = occupancy.trailingZeroBitCount
                occupancy &= occupancy &- 1
                guard try body(run.firstRow &+ UInt64(place), values + place) else { return }
            }
        }
    }
}
