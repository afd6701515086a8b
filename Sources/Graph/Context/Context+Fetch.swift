extension Context {
    /// The objects that match, unsaved changes included.
    ///
    /// - Parameters:
    ///   - predicate: called once at most for each row: in the order of insertion, or in that of an index which has the sort
    ///     order, until the limit is reached.
    ///   - orderings: the first criterion counts most; without any, the order is that of insertion.
    ///   - offset: how many of the first results to leave out.
    ///   - limit: how many results to give at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`, and what the predicate throws.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)``, indexes included.
    @inlinable
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [ManagedObject<E>] {
        let snapshot = state.snapshot(toSearch: type, true)
        let maker = ObjectMaker<E>(state, registry, entity: try snapshot.entityIndex(of: type))
        var objects: [ManagedObject<E>] = []
        try snapshot.search(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit) { row, address in
            objects.append(maker.object(for: row, at: address))
        }
        return objects
    }

    /// All objects, unsaved changes included.
    ///
    /// - Parameters:
    ///   - orderings: the first criterion counts most; without any, the order is that of insertion.
    ///   - offset: how many of the first results to leave out.
    ///   - limit: how many results to give at most.
    /// - Throws: `GraphError.unknownEntity`, `GraphError.notOrdered`.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``, indexes included.
    @inlinable
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [ManagedObject<E>] {
        let snapshot = state.snapshot(toSearch: type, true)
        let maker = ObjectMaker<E>(state, registry, entity: try snapshot.entityIndex(of: type))
        var objects: [ManagedObject<E>] = []
        try snapshot.searchAll(type, sortedBy: orderings, offset: offset, limit: limit) { row, address in
            objects.append(maker.object(for: row, at: address))
        }
        return objects
    }

    /// The first object that matches, or nil; otherwise as `fetch`.
    ///
    /// Complexity: as ``fetch(_:where:sortedBy:offset:limit:)`` with a limit of 1.
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
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)``, indexes included.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [E] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchValues(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The values of all objects, without making objects of them; otherwise as `fetch`.
    ///
    /// - Parameter includesPendingChanges: false gives the committed state that the context started from.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``, indexes included.
    @inlinable
    public func fetchValues<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [E] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchValues(type, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The identifiers of the objects that match; otherwise as `fetchValues`.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)``, indexes included.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [PersistentID<E>] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchIDs(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The identifiers of all objects; otherwise as `fetchValues`.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``, indexes included.
    @inlinable
    public func fetchIDs<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [PersistentID<E>] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchIDs(type, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The values of the objects that match, each with its identifier; otherwise as `fetchValues`.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:where:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [IdentifiedValue<E>] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchIdentifiedValues(type, where: predicate, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The values of all objects, each with its identifier; otherwise as `fetchValues`.
    ///
    /// Complexity: as ``Snapshot/fetchValues(_:sortedBy:offset:limit:)``.
    @inlinable
    public func fetchIdentifiedValues<E: Entity>(
        _ type: E.Type = E.self,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil,
        includesPendingChanges: Bool = true
    ) throws -> [IdentifiedValue<E>] {
        try state.snapshot(toSearch: type, includesPendingChanges)
            .fetchIdentifiedValues(type, sortedBy: orderings, offset: offset, limit: limit)
    }

    /// The number of all objects; otherwise as `fetchValues`.
    ///
    /// Complexity: O(1), and writing what objects have that were changed.
    public func fetchCount<E: Entity>(_ type: E.Type = E.self, includesPendingChanges: Bool = true) throws -> Int {
        try state.snapshot(toSearch: type, includesPendingChanges).fetchCount(type)
    }

    /// The number of objects that match; otherwise as `fetchValues`.
    ///
    /// Complexity: O(*n*) for *n* objects of the entity.
    @inlinable
    public func fetchCount<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool,
        includesPendingChanges: Bool = true
    ) throws -> Int {
        try state.snapshot(toSearch: type, includesPendingChanges).fetchCount(type, where: predicate)
    }
}

/// Makes the objects of rows that were found in the working state, as many as there may be, and asks only once what they have in
/// common.
@usableFromInline
struct ObjectMaker<E: Entity> {
    @usableFromInline let state: ContextState
    @usableFromInline let registry: ObjectRegistry
    @usableFromInline let entity: Int
    @usableFromInline let isCoupled: Bool
    @usableFromInline let hasTransients: Bool
    /// When the working state had the rows. The predicate of a fetch may change it, which new objects then notice as old ones do.
    @usableFromInline let epoch: Epoch

    @usableFromInline
    init(_ state: ContextState, _ registry: ObjectRegistry, entity: Int) {
        self.state = state
        self.registry = registry
        self.entity = entity
        isCoupled = state.hasCoupledReferences(entity)
        hasTransients = !state.schema.entities[entity].transients.isEmpty
        epoch = state.epoch
        registry.makeRoom()
    }

    /// - Parameter address: of the row, which is copied.
    @inlinable
    func object(for row: RowNumber, at address: UnsafeRawPointer) -> ManagedObject<E> {
        // An object that nobody holds any more may have values of its own.
        if hasTransients, let object = registry.heldObject(for: RowID(entity: entity, row: row)) {
            return unsafeDowncast(object, to: ManagedObject<E>.self)
        }
        let object = registry.object(for: RowID(entity: entity, row: row)) {
            ManagedObject<E>(
                id: PersistentID(row: row),
                entity: entity,
                isCoupled: isCoupled,
                state: state,
                row: address.assumingMemoryBound(to: E.self).pointee,
                flags: ObjectFlags(rawValue: 0),
                epoch: epoch
            )
        }
        return unsafeDowncast(object, to: ManagedObject<E>.self)
    }
}

extension ContextState {
    @usableFromInline
    func snapshot(toSearch type: any Entity.Type, _ includesPendingChanges: Bool) -> Snapshot {
        didSearch(type)
        return includesPendingChanges ? flushed : base
    }
}
