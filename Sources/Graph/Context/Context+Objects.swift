// In an extension, because the compiler calls what an actor itself declares through a table of methods, and then neither inlines it
// in another module nor compiles it for the entity there.
extension Context {
    /// Adds an object with these values. Its identifier is permanent from here on.
    ///
    /// - Precondition: the store was opened with the entity.
    ///
    /// Complexity: O(1), and O(log *n*) for each index of the entity when the row is written. Objects that the value
    /// names as members of a to-many relationship are written at once, O(log *n*) each.
    @discardableResult
    public func insert<E: Entity>(_ value: E) -> ManagedObject<E> {
        state.insert(value)
    }

    /// Adds an object for each value without making objects to hold in memory; gives their identifiers, in order.
    ///
    /// The sequence is iterated some thousand values at a time: only then they are rows that it could find in the context.
    ///
    /// - Precondition: the store was opened with the entity.
    ///
    /// Complexity: O(*k* log *n*) for *k* values. Index entries are sorted and inserted 16,384 rows at a time.
    @discardableResult @inlinable
    public func insert<E: Entity>(contentsOf values: some Sequence<E>) -> [PersistentID<E>] {
        state.insert(contentsOf: values)
    }

    /// Deletes an object, with what its relationships' delete rules say: for code that has the object and so is where the context
    /// runs, on the main actor or elsewhere. The same as `object.delete()`.
    ///
    /// - Precondition: the object belongs to this context.
    ///
    /// Complexity: O(*r* log *n*) for *r* objects that are deleted, references that end, and links that end.
    public nonisolated func delete<E>(_ object: ManagedObject<E>) {
        object.requireContext(self)
        object.delete()
    }

    /// The object, or nil if this context's state does not have it.
    ///
    /// Complexity: O(1) for an object that the context has in memory, otherwise O(log *n*) for *n* objects of the
    /// entity, with a base of 16.
    @inlinable
    public subscript<E>(id: PersistentID<E>) -> ManagedObject<E>? {
        state.object(for: id, in: registry)
    }

    /// The object.
    ///
    /// - Throws: `GraphError.objectNotFound`.
    ///
    /// Complexity: O(1) for an object that the context has in memory, otherwise O(log *n*) for *n* objects of the
    /// entity, with a base of 16.
    @inlinable
    public func object<E>(for id: PersistentID<E>) throws(GraphError) -> ManagedObject<E> {
        guard let object = state.object(for: id, in: registry) else { throw .objectNotFound(id) }
        return object
    }
}
