// What is there for objects and is tried with identifiers, and what contexts have and snapshots do not, so that the compiler says
// what to write instead.

extension Context {
    /// Unavailable: an identifier is not an object.
    @available(
        *, unavailable, message: "delete the object with this identifier: context[id]?.delete()"
    )
    public nonisolated func delete<E>(_ id: PersistentID<E>) {}
}

extension RelatedObjects {
    /// Unavailable: an identifier is not an object.
    @available(
        *, unavailable,
        message: """
            members are objects: add the object with this identifier, as in members.append(try context.object(for: id))
            """
    )
    public func append(_ id: PersistentID<Target>) {}

    /// Unavailable: identifiers are not objects.
    @available(
        *, unavailable,
        message: """
            members are objects: add the objects with these identifiers, as in \
            members.append(contentsOf: ids.compactMap { context[$0] })
            """
    )
    public func append(contentsOf ids: some Sequence<PersistentID<Target>>) {}

    /// Unavailable: an identifier is not an object.
    @available(
        *, unavailable,
        message: """
            members are objects: add the object with this identifier, as in members.insert(try context.object(for: id))
            """
    )
    public func insert(_ id: PersistentID<Target>) {}
}

extension Snapshot {
    /// Unavailable: a snapshot has values, not objects.
    @available(*, unavailable, message: "a snapshot has values, not objects: snapshot.value(for: id)")
    public subscript<E>(id: PersistentID<E>) -> E? { fatalError() }

    /// Unavailable: a snapshot has values, not objects.
    @available(
        *, unavailable, message: "a snapshot has values, not objects: fetchValues, fetchIDs or fetchIdentifiedValues"
    )
    public func fetch<E: Entity>(
        _ type: E.Type = E.self,
        where predicate: (E) throws -> Bool = { _ in true },
        sortedBy orderings: [Ordering<E>] = [],
        offset: Int = 0,
        limit: Int? = nil
    ) throws -> [E] { fatalError() }
}
