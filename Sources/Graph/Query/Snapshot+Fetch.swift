extension Snapshot {
    /// The number of objects of an entity; 0 if the store was opened without it.
    ///
    /// Complexity: O(1).
    public func count<E: Entity>(of type: E.Type) -> Int {
        (try? entityIndex(of: type)).map { entities[$0].rows.count } ?? 0
    }

    /// The value of an object, or nil if this state does not have it.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity; the base of the logarithm is 16.
    @inlinable
    public func value<E>(for id: PersistentID<E>) -> E? {
        // The address is in this state, which must outlive the read.
        withExtendedLifetime(self) {
            address(of: id.row, ofType: E.self)?.row(as: E.self, in: rowLayout(of: E.self)).pointee
        }
    }

    /// An object's address; nil if it does not exist. Compares the types here, so that a caller in another module copies
    /// nothing of the state.
    @usableFromInline
    func address(of row: RowNumber, ofType type: any Entity.Type) -> UnsafeRawPointer? {
        guard let entity = schema.index(of: type) else { return nil }
        if let reader { reader.readRow(RowID(entity: entity, row: row)) }
        return entities[entity].rows.address(of: row)
    }

    /// How often the object had been committed by then, or nil if this state does not have it.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity; the base of the logarithm is 16.
    public func version<E>(of id: PersistentID<E>) -> RowVersion? {
        guard let entity = schema.index(of: E.self) else { return nil }
        if let reader { reader.readRow(RowID(entity: entity, row: id.row)) }
        return entities[entity].rows.version(of: id.row)
    }

    /// The values of the objects that match.
    ///
    /// - Parameters:
    ///   - predicate: called at most once for each object, in insertion order or along an index that has the sort order, until
    ///     the limit is reached.
    ///   - orderings: the sort criteria, the most significant one first; without any, results come in insertion order.
    ///   - offset: how many of the first results to skip.
    ///   - limit: how many results to return at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`, and what the predicate throws.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity, and O(*m* log *m*) to sort the *m* that match. If an index begins
    /// with the properties that the orderings name first, all in one direction, the fetch follows the index instead: O(*k* log
    /// *n*) for the *k* objects up to the last one wanted and those that are equal to it in the index. If few of them match,
    /// it searches the rest as without an index.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [E] {
        var values: [E] = []
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset), where: predicate) {
            _, value in
            values.append(value.pointee)
        }
        return values
    }

    /// The values of all objects.
    ///
    /// - Parameters:
    ///   - orderings: the sort criteria, the most significant one first; without any, results come in insertion order.
    ///   - offset: how many of the first results to skip.
    ///   - limit: how many results to return at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`.
    ///
    /// Complexity: O(*n* log *n*) for *n* objects of the entity, or O(*n*) without orderings. If an index begins with the
    /// properties that the orderings name first, all in one direction, the fetch follows the index instead and counts the
    /// offset along it: O(*k* log *n*) for *k* results and those that are equal to them in the index, whatever the offset.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [E] {
        var values: [E] = []
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset)) { _, value in
            values.append(value.pointee)
        }
        return values
    }

    /// The identifiers of the objects that match; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [PersistentID<E>] {
        var ids: [PersistentID<E>] = []
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset), where: predicate) {
            row, _ in
            ids.append(PersistentID(row: row))
        }
        return ids
    }

    /// The identifiers of all objects; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [PersistentID<E>] {
        var ids: [PersistentID<E>] = []
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset)) { row, _ in
            ids.append(PersistentID(row: row))
        }
        return ids
    }

    /// The values of the objects that match, each with its identifier; otherwise the same as `fetchValues`.
    ///
    /// ```swift
    /// for person in try snapshot.fetchIdentifiedValues(Person.self, where: { $0.age > 30 }) {
    ///     print(person.id, person.name)
    /// }
    /// ```
    ///
    /// Complexity: that of ``fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [IdentifiedValue<E>] {
        var values: [IdentifiedValue<E>] = []
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset), where: predicate) {
            row, value in
            values.append(IdentifiedValue(id: PersistentID(row: row), value: value.pointee))
        }
        return values
    }

    /// The values of all objects, each with its identifier; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [IdentifiedValue<E>] {
        var values: [IdentifiedValue<E>] = []
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset)) { row, value in
            values.append(IdentifiedValue(id: PersistentID(row: row), value: value.pointee))
        }
        return values
    }

    /// Calls the body with identifier and value of the objects that match, in the order of `fetchValues`, without making an
    /// array: the way to add up or write out a large table. An error of the body ends it.
    ///
    /// ```swift
    /// try snapshot.forEachValue(Person.self) { id, person in print(id, person.name) }
    /// ```
    ///
    /// - Throws: what `fetchValues` throws, and what the body throws.
    ///
    /// Complexity: that of ``fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``. Without orderings the body gets each row when it
    /// is found; a sort first collects the addresses of the rows.
    @inlinable @inline(__always)
    public func forEachValue<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        _ body: (PersistentID<E>, E) throws -> Void
    ) throws {
        try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset), where: predicate) {
            row, value in
            try body(PersistentID(row: row), value.pointee)
        }
    }

    /// Calls the body with identifier and value of all objects; otherwise the same as the `forEachValue` with a predicate.
    ///
    /// Complexity: that of ``fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable @inline(__always)
    public func forEachValue<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        _ body: (PersistentID<E>, E) throws -> Void
    ) throws {
        try followingReferences {
            try search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset)) { row, value in
                try body(PersistentID(row: row), value.pointee)
            }
        }
    }

    /// The value of the first object that matches, or nil; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)`` with a limit of 1. Without orderings the search
    /// ends at the first match.
    @inlinable
    public func first<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = []
    ) throws -> E? {
        try fetchValues(type, where: predicate, sortedBy: orderings, limit: 1).first
    }

    /// The number of all objects.
    ///
    /// - Throws: `GraphError.unknownEntity`.
    ///
    /// Complexity: O(1).
    public func fetchCount<E: Entity>(_ type: E.Type = E.self) throws -> Int {
        entities[try entityIndex(of: type)].rows.count
    }

    /// The number of objects that match.
    ///
    /// - Throws: `GraphError.unknownEntity`, and what the predicate throws.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity.
    @inlinable
    public func fetchCount<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool
    ) throws -> Int {
        var count = 0
        try scan(type, where: predicate) { _, _ in
            count += 1
            return true
        }
        return count
    }

    /// The members of a to-many relationship, in their order; none if this state does not have the owner.
    ///
    /// - Throws: `GraphError.unknownEntity`.
    ///
    /// Complexity: O(log *n* + *k*) for *k* members, among *n* of all objects.
    public func related<E, Target>(
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        of id: PersistentID<E>
    ) throws(GraphError) -> [PersistentID<Target>] {
        let relationship = schema.toMany(keyPath, of: try entityNumber(of: E.self))
        if let reader { reader.readMembers(of: id.row, through: relationship) }
        return members(of: id.row, through: relationship).map { PersistentID(row: $0) }
    }

    /// The values of a to-many relationship's members, in their order; none if this state does not have the owner.
    ///
    /// - Throws: `GraphError.unknownEntity`.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* objects.
    @inlinable
    public func relatedValues<E, Target>(
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        of id: PersistentID<E>
    ) throws(GraphError) -> [Target] {
        var values: [Target] = []
        try storedMembers(keyPath, of: id).forEachValue { values.append($0) }
        return values
    }

    /// Calls the body with the value of each member of a to-many relationship, in order, without copying rows: the fast way to
    /// add up values of a large collection.
    ///
    /// - Throws: `GraphError.unknownEntity`, and what the body throws.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* objects.
    @inlinable
    public func forEachRelatedValue<E, Target>(
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        of id: PersistentID<E>,
        _ body: (Target) throws -> Void
    ) throws {
        try storedMembers(keyPath, of: id).forEachValue(body)
    }

    @usableFromInline
    func storedMembers<E, Target>(
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        of id: PersistentID<E>
    ) throws(GraphError) -> StoredMembers<Target> {
        let relationship = schema.toMany(keyPath, of: try entityNumber(of: E.self))
        let members: StoredMembers<Target> = storedMembers(of: id.row, through: relationship)
        if let reader {
            reader.readMembers(of: id.row, through: relationship)
            for row in members.rows { reader.readRow(RowID(entity: relationship.source, row: row)) }
        }
        return members
    }
}

/// The rows of a relationship's members, and their table.
@usableFromInline
struct StoredMembers<Target: Entity> {
    @usableFromInline let rows: [RowNumber]
    @usableFromInline let table: RowTable

    /// Always inlined, so that the body is part of the loop and the row is not copied. Addresses come in blocks, because rows
    /// lie far apart: the processor can then wait for several of them at once.
    @inlinable @inline(__always)
    func forEachValue(_ body: (Target) throws -> Void) rethrows {
        defer { withExtendedLifetime(table) {} }
        var start = 0
        while start < rows.count {
            let block = table.addresses(of: rows[start..<min(start &+ 64, rows.count)])
            for address in block { try body(address.row(as: Target.self, in: table.layout).pointee) }
            start &+= 64
        }
    }
}

extension Snapshot {
    func storedMembers<Target: Entity>(
        of owner: RowNumber,
        through relationship: ToManyDescription
    ) -> StoredMembers<Target> {
        StoredMembers(
            rows: members(of: owner, through: relationship),
            table: entities[relationship.source].rows
        )
    }
}

extension Schema {
    /// The relationship of a key path. Opening the store has checked that every stored property is declared, so only a computed
    /// property is not found.
    func toMany<E, Target>(_ keyPath: KeyPath<E, ToMany<Target>>, of entity: Int) -> ToManyDescription {
        let description = entities[entity]
        let offset = MemoryLayout<E>.offset(of: keyPath)
        let found = description.toManys.first { relationship in
            offset.map { $0 == relationship.offset }
                ?? ((description.properties[relationship.property].keyPath as AnyKeyPath) == (keyPath as AnyKeyPath))
        }
        guard let found else { preconditionFailure("\(keyPath) is computed: only a stored ToMany is a relationship") }
        return found
    }
}
