extension Context {
    /// The objects that match, with unsaved changes applied.
    ///
    /// - Parameters:
    ///   - predicate: called at most once for each row, in insertion order or along an index that has the sort order, until
    ///     the limit is reached.
    ///   - orderings: the sort criteria, the most significant one first; without any, results come in insertion order.
    ///   - offset: how many of the first results to skip.
    ///   - limit: how many results to return at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`, and what the predicate throws.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``.
    @inlinable
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [ManagedObject<E>] {
        let snapshot = state.searched(true)
        let maker = ObjectMaker<E>(state, registry, entity: try snapshot.entityNumber(of: type))
        var objects: [ManagedObject<E>] = []
        try snapshot.search(
            FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset), where: predicate
        ) { row, value in
            objects.append(maker.object(for: row, at: value))
        }
        return objects
    }

    /// All objects, with unsaved changes applied.
    ///
    /// - Parameters:
    ///   - orderings: the sort criteria, the most significant one first; without any, results come in insertion order.
    ///   - offset: how many of the first results to skip.
    ///   - limit: how many results to return at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [ManagedObject<E>] {
        let snapshot = state.searched(true)
        let maker = ObjectMaker<E>(state, registry, entity: try snapshot.entityNumber(of: type))
        var objects: [ManagedObject<E>] = []
        try snapshot.search(FetchDescriptor(sortBy: orderings, fetchLimit: limit, fetchOffset: offset)) { row, value in
            objects.append(maker.object(for: row, at: value))
        }
        return objects
    }

    /// The first object that matches, or nil; otherwise the same as `fetch`.
    ///
    /// Complexity: that of ``fetch(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)`` with a limit of 1.
    @inlinable
    public func first<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = []
    ) throws -> ManagedObject<E>? {
        try fetch(type, where: predicate, sortedBy: orderings, limit: 1).first
    }

    /// The values of the objects that match, without making objects; otherwise the same as `fetch`.
    ///
    /// On another actor, such as the main actor, fetch with a predicate inside `perform`: a closure written outside belongs to
    /// that actor, unless it begins with `@Sendable in`.
    ///
    /// - Parameter includesPendingChanges: false fetches from the state that the context read, without its unsaved changes.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [E] {
        try state.searched(includesPendingChanges)
            .fetchValues(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The values of all objects, without making objects; otherwise the same as `fetch`.
    ///
    /// - Parameter includesPendingChanges: false fetches from the state that the context read, without its unsaved changes.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [E] {
        try state.searched(includesPendingChanges)
            .fetchValues(type, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The identifiers of the objects that match; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [PersistentID<E>] {
        try state.searched(includesPendingChanges)
            .fetchIDs(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The identifiers of all objects; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [PersistentID<E>] {
        try state.searched(includesPendingChanges)
            .fetchIDs(type, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The values of the objects that match, each with its identifier; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)-(_,(E)->Bool,_,_,_)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [IdentifiedValue<E>] {
        try state.searched(includesPendingChanges)
            .fetchIdentifiedValues(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The values of all objects, each with its identifier; otherwise the same as `fetchValues`.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [IdentifiedValue<E>] {
        try state.searched(includesPendingChanges)
            .fetchIdentifiedValues(type, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The number of all objects; otherwise the same as `fetchValues`.
    ///
    /// Complexity: O(1).
    public func fetchCount<E: Entity>(_ type: E.Type = E.self, includesPendingChanges: Bool = true) throws -> Int {
        try state.searched(includesPendingChanges).fetchCount(type)
    }

    /// The number of objects that match; otherwise the same as `fetchValues`.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity.
    @inlinable
    public func fetchCount<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        includesPendingChanges: Bool = true
    ) throws -> Int {
        try state.searched(includesPendingChanges).fetchCount(type, where: predicate)
    }
}

/// Makes the objects of rows that were found in the working state, as many as there may be, and asks only once what they have in
/// common.
@usableFromInline
struct ObjectMaker<E: Entity> {
    @usableFromInline let state: ContextState
    @usableFromInline let registry: ObjectRegistry
    @usableFromInline let entity: Int
    @usableFromInline let maintainsInverses: Bool
    @usableFromInline let hasTransients: Bool
    /// When the working state had the rows. The predicate of a fetch may change it, which new objects then notice as old ones do.
    @usableFromInline let epoch: Epoch

    @usableFromInline
    init(_ state: ContextState, _ registry: ObjectRegistry, entity: Int) {
        self.state = state
        self.registry = registry
        self.entity = entity
        maintainsInverses = state.maintainsInverses(entity)
        hasTransients = !state.schema.entities[entity].transients.isEmpty
        epoch = state.epoch
        registry.makeRoom()
    }

    /// - Parameter value: the row, which is copied.
    @inlinable
    func object(for row: RowNumber, at value: UnsafePointer<E>) -> ManagedObject<E> {
        // An object that nobody holds any more may have values of its own.
        if hasTransients, let object = registry.heldObject(for: RowID(entity: entity, row: row)) {
            return unsafeDowncast(object, to: ManagedObject<E>.self)
        }
        let object = registry.object(for: RowID(entity: entity, row: row)) {
            ManagedObject<E>(
                id: PersistentID(row: row),
                entity: entity,
                maintainsInverses: maintainsInverses,
                state: state,
                row: value.pointee,
                flags: ObjectFlags(rawValue: 0),
                epoch: epoch
            )
        }
        return unsafeDowncast(object, to: ManagedObject<E>.self)
    }
}

extension ContextState {
    /// The state that a fetch searches; what it reads there is noted.
    @usableFromInline
    func searched(_ includesPendingChanges: Bool) -> Snapshot {
        (includesPendingChanges ? flushed : base).read(by: reader)
    }
}
