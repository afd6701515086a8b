#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Fetches by descriptor or predicate. They throw `GraphError.unknownEntity`, `GraphError.notOrdered`,
/// `GraphError.predicateNotSupported` before the first row is read, and `GraphError.predicateFailed`.
extension Snapshot {
    /// The values of the objects that a descriptor asks for.
    ///
    /// Complexity: O(*n* + *m* log *m*) for *n* objects of the entity, of which *m* match; with an index that has the condition or the
    /// order, only the rows that it names are read. <doc:Queries> tells which.
    @inlinable
    public func fetchValues<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [E] {
        var values: [E] = []
        try search(descriptor) { _, value in values.append(value.pointee) }
        return values
    }

    /// What a closure makes of the value of each object that a descriptor asks for, in its order, without copying the rows before.
    ///
    /// ```swift
    /// let names = try snapshot.fetchValues(FetchDescriptor<Person>(sortBy: [.ascending(\.name)])) { $0.name }
    /// ```
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    @inlinable @inline(__always)
    public func fetchValues<E: Entity, Element>(
        _ descriptor: FetchDescriptor<E>, _ transform: (E) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        try followingReferences {
            try search(descriptor) { _, value in elements.append(try transform(value.pointee)) }
        }
        return elements
    }

    /// The values of the objects that match.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [E] {
        try fetchValues(
            FetchDescriptor(predicate: predicate, sortBy: orderings, fetchLimit: limit, fetchOffset: offset))
    }

    /// The identifiers of the objects that a descriptor asks for.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    public func fetchIDs<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [PersistentID<E>] {
        var ids: [PersistentID<E>] = []
        try search(descriptor) { row, _ in ids.append(PersistentID(row: row)) }
        return ids
    }

    /// The identifiers of the objects that match.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [PersistentID<E>] {
        try fetchIDs(
            FetchDescriptor(predicate: predicate, sortBy: orderings, fetchLimit: limit, fetchOffset: offset))
    }

    /// The values of the objects that a descriptor asks for, each with its identifier.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [IdentifiedValue<E>] {
        var values: [IdentifiedValue<E>] = []
        try search(descriptor) { row, value in
            values.append(IdentifiedValue(id: PersistentID(row: row), value: value.pointee))
        }
        return values
    }

    /// The values of the objects that match, each with its identifier.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [IdentifiedValue<E>] {
        try fetchIdentifiedValues(
            FetchDescriptor(predicate: predicate, sortBy: orderings, fetchLimit: limit, fetchOffset: offset))
    }

    /// Calls the body with identifier and value of the objects that a descriptor asks for, in its order, without copying the rows
    /// into an array. An error of the body ends it.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    @inlinable @inline(__always)
    public func forEachValue<E: Entity>(
        _ descriptor: FetchDescriptor<E>,
        _ body: (PersistentID<E>, E) throws -> Void
    ) throws {
        try followingReferences {
            try search(descriptor) { row, value in try body(PersistentID(row: row), value.pointee) }
        }
    }

    /// The objects that a descriptor asks for, as values with their identifiers, and where the next page begins.
    ///
    /// ```swift
    /// var descriptor = FetchDescriptor<Person>(sortBy: [.ascending(\.name)], fetchLimit: 50)
    /// repeat {
    ///     let page = try snapshot.fetchPage(descriptor)
    ///     page.elements.forEach { show($0.value) }
    ///     descriptor.after = page.next
    /// } while descriptor.after != nil
    /// ```
    ///
    /// - Throws: what ``fetchValues(_:)`` throws, and `GraphError.pageTokenMismatch`.
    ///
    /// Complexity: that of ``fetchValues(_:)``; with an index that has the order, O(*k* log *n*) for the *k* objects of the page,
    /// however many pages come before it.
    public func fetchPage<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> FetchPage<IdentifiedValue<E>> {
        try page(descriptor) { IdentifiedValue(id: PersistentID(row: $0), value: $1.pointee) }
    }

    /// Makes the elements of a page, and the token of its last one if there is a further result.
    func page<E: Entity, Element>(
        _ descriptor: FetchDescriptor<E>, _ element: (RowNumber, UnsafePointer<E>) -> Element
    ) throws -> FetchPage<Element> {
        var (elements, next): ([Element], PageToken?) = ([], nil)
        guard let limit = descriptor.fetchLimit, limit > 0, limit < .max else {
            try search(descriptor) { elements.append(element($0, $1)) }
            return FetchPage(elements: elements, next: nil)
        }
        var fetch = descriptor
        fetch.fetchLimit = limit + 1
        var last: (row: RowNumber, address: UnsafePointer<E>)?
        try search(fetch) { row, value in
            if elements.count < limit {
                elements.append(element(row, value))
                last = (row, value)
            } else if let last {
                next = try RowOrder(fetch.sortBy, in: self).token(at: last.row, last.address, schema)
            }
        }
        return FetchPage(elements: elements, next: next)
    }

    /// The value of the first object that a descriptor asks for, or nil.
    ///
    /// Complexity: that of ``fetchValues(_:)`` with a limit of 1.
    public func first<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> E? {
        _ = try entityNumber(of: E.self)
        if let row = descriptor.onlyExpression.flatMap({ lookUp($0) }) { return value(at: row) }
        return try fetchValues(descriptor.limited(to: 1)).first
    }

    @inlinable
    func value<E: Entity>(at row: FoundRow?) -> E? {
        withExtendedLifetime(self) { row?.address.row(as: E.self, in: rowLayout(of: E.self)).pointee }
    }

    /// The value of the first object that matches, or nil.
    ///
    /// Complexity: that of ``fetchValues(_:)`` with a limit of 1.
    @inlinable
    public func first<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        sortedBy orderings: [Ordering<E>] = []
    ) throws -> E? {
        _ = try entityNumber(of: type)
        if orderings.isEmpty, let row = lookUp(predicate.expression) { return value(at: row) }
        return try fetchValues(FetchDescriptor(predicate: predicate, sortBy: orderings, fetchLimit: 1)).first
    }

    /// The number of objects that a descriptor asks for, its offset and its limit taken into account.
    ///
    /// Complexity: that of ``fetchValues(_:)``; nothing is sorted.
    public func fetchCount<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> Int {
        _ = FetchWindow(offset: descriptor.fetchOffset, limit: descriptor.fetchLimit)
        let count = max(0, try QueryPlan(descriptor, in: self).count() - descriptor.fetchOffset)
        return min(count, descriptor.fetchLimit ?? count)
    }

    /// The number of objects that match.
    ///
    /// Complexity: that of ``fetchValues(_:)``.
    public func fetchCount<E: Entity>(_ type: E.Type = E.self, where predicate: Predicate<E>) throws -> Int {
        try QueryPlan(FetchDescriptor(predicate: predicate), in: self).count()
    }
}

extension FetchDescriptor {
    /// The same with at most so many results.
    func limited(to limit: Int) -> FetchDescriptor {
        var descriptor = self
        descriptor.fetchLimit = min(limit, fetchLimit ?? limit)
        return descriptor
    }
}
