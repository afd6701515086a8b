extension Context {
    /// The objects that match, unsaved changes included.
    ///
    /// - Parameters:
    ///   - predicate: called once for each row, in the order of insertion.
    ///   - orderings: the first criterion counts most; without any, the order is that of insertion.
    ///   - offset: how many of the first results to leave out.
    ///   - limit: how many results to give at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`, and what the predicate throws.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity.
    @inlinable
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [ManagedObject<E>] {
        let snapshot = state.snapshot(toSearch: type, true)
        // The predicate may write to objects.
        let epoch = state.epoch
        return try snapshot.search(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit) { rows in
            state.objects(for: rows, of: type, asOf: epoch)
        }
    }

    /// The first object that matches, or nil; otherwise as `fetch`.
    @inlinable
    public func first<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = []
    ) throws -> ManagedObject<E>? {
        try fetch(type, where: predicate, sortedBy: orderings, limit: 1).first
    }

    /// The values of the objects that match, without making objects of them; otherwise as `fetch`.
    ///
    /// Code of another actor, such as the main actor, fetches with a predicate inside of `perform`, since a closure that it
    /// writes outside is that actor's own, unless it begins with `@Sendable in`.
    ///
    /// - Parameter includesPendingChanges: false gives the committed state that the context started from.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [E] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchValues(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The identifiers of the objects that match; otherwise as `fetchValues`.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [PersistentID<E>] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchIDs(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The number of objects that match; otherwise as `fetchValues`.
    @inlinable
    public func fetchCount<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        includesPendingChanges: Bool = true
    ) throws -> Int {
        try state.snapshot(toSearch: type, includesPendingChanges).fetchCount(type, where: predicate)
    }
}

extension ContextState {
    @usableFromInline
    func snapshot(toSearch type: any Entity.Type, _ includesPendingChanges: Bool) -> Snapshot {
        didSearch(type)
        return includesPendingChanges ? flushed : base
    }
}
