#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Fetches by descriptor or predicate, with unsaved changes applied unless the descriptor says otherwise. They throw what those of
/// ``Snapshot`` throw.
extension Context {
    /// The objects that a descriptor asks for.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    public func fetch<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [ManagedObject<E>] {
        let snapshot = state.searched(descriptor.includesPendingChanges)
        let maker = ObjectMaker<E>(state, registry, entity: try snapshot.entityNumber(of: E.self))
        guard descriptor.includesPendingChanges else {
            return try snapshot.fetchIDs(descriptor).compactMap { self[$0] }
        }
        var objects: [ManagedObject<E>] = []
        try snapshot.search(descriptor) { row, value in objects.append(maker.object(for: row, at: value)) }
        return objects
    }

    /// The objects that match.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [ManagedObject<E>] {
        try fetch(FetchDescriptor(predicate: predicate, sortBy: orderings, fetchLimit: limit, fetchOffset: offset))
    }

    /// The first object that a descriptor asks for, or nil.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)`` with a limit of 1.
    public func first<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> ManagedObject<E>? {
        let snapshot = state.searched(descriptor.includesPendingChanges)
        _ = try snapshot.entityNumber(of: E.self)
        if let row = descriptor.onlyExpression.flatMap({ snapshot.lookUp($0) }) {
            return row.flatMap { self[PersistentID(row: $0.number)] }
        }
        return try fetch(descriptor.limited(to: 1)).first
    }

    /// The first object that matches, or nil.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)`` with a limit of 1.
    public func first<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: Predicate<E>,
        sortedBy orderings: [Ordering<E>] = []
    ) throws -> ManagedObject<E>? {
        try first(FetchDescriptor(predicate: predicate, sortBy: orderings))
    }

    /// The values of the objects that a descriptor asks for, without making objects.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    public func fetchValues<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [E] {
        try state.searched(descriptor.includesPendingChanges).fetchValues(descriptor)
    }

    /// What a closure makes of the value of each object that a descriptor asks for, without making objects; otherwise the same as
    /// ``Snapshot/fetchValues(_:_:)``.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    @inlinable @inline(__always)
    public func fetchValues<E: Entity, Element>(
        _ descriptor: FetchDescriptor<E>, _ transform: (E) throws -> Element
    ) throws -> [Element] {
        try state.searched(descriptor.includesPendingChanges).fetchValues(descriptor, transform)
    }

    /// The values of the objects that match, without making objects.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
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
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    public func fetchIDs<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [PersistentID<E>] {
        try state.searched(descriptor.includesPendingChanges).fetchIDs(descriptor)
    }

    /// The identifiers of the objects that match.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
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

    /// The values of the objects that a descriptor asks for, each with its identifier, without making objects.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    public func fetchIdentifiedValues<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> [IdentifiedValue<E>] {
        try state.searched(descriptor.includesPendingChanges).fetchIdentifiedValues(descriptor)
    }

    /// The values of the objects that match, each with its identifier, without making objects.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
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

    /// The objects that a descriptor asks for, and where the next page begins; see ``Snapshot/fetchPage(_:)``.
    ///
    /// Complexity: that of ``Snapshot/fetchPage(_:)``.
    public func fetchPage<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> FetchPage<ManagedObject<E>> {
        let snapshot = state.searched(descriptor.includesPendingChanges)
        let maker = ObjectMaker<E>(state, registry, entity: try snapshot.entityNumber(of: E.self))
        guard descriptor.includesPendingChanges else {
            let page = try snapshot.page(descriptor) { row, _ in PersistentID<E>(row: row) }
            return FetchPage(elements: page.elements.compactMap { self[$0] }, next: page.next)
        }
        return try snapshot.page(descriptor) { maker.object(for: $0, at: $1) }
    }

    /// How a fetch finds its objects; see ``Snapshot/explain(_:)``.
    ///
    /// Complexity: that of ``Snapshot/fetchValues(_:)``.
    public func explain<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> QueryExplanation {
        try state.searched(descriptor.includesPendingChanges).explain(descriptor)
    }

    /// The number of objects that a descriptor asks for, its offset and its limit taken into account.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:)-(FetchDescriptor<E>)``.
    public func fetchCount<E: Entity>(_ descriptor: FetchDescriptor<E>) throws -> Int {
        try state.searched(descriptor.includesPendingChanges).fetchCount(descriptor)
    }

    /// The number of objects that match.
    ///
    /// Complexity: that of ``Snapshot/fetchCount(_:)-(FetchDescriptor<E>)``.
    public func fetchCount<E: Entity>(_ type: E.Type = E.self, where predicate: Predicate<E>) throws -> Int {
        try fetchCount(FetchDescriptor(predicate: predicate))
    }
}
