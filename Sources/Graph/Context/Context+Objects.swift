// In an extension, because the compiler calls what an actor itself declares through a table of methods, and then neither inlines it
// in another module nor compiles it for the entity there.
extension Context {
    /// Adds an object with these values. Its identifier is permanent from here on.
    ///
    /// - Precondition: the store was opened with the entity.
    ///
    /// Complexity: O(1), and O(log *n*) for each index of the entity, among *n* objects, when the context writes the row. If
    /// the value names members of a to-many relationship, the context writes them at once: O(log *n*) each.
    @discardableResult
    public func insert<E: Entity>(_ value: E) -> ManagedObject<E> {
        state.insert(value)
    }

    /// Adds an object for each value without keeping objects in memory, and returns their identifiers in order.
    ///
    /// It takes the values in batches and writes one batch before it takes the next, so a sequence that reads from this
    /// context does not find the values of the current batch.
    ///
    /// - Precondition: the store was opened with the entity.
    ///
    /// Complexity: O(*k* log *n*) for *k* values among *n* objects. A batch is 16,384 values, whose index entries are sorted
    /// before they are inserted.
    @discardableResult @inlinable
    public func insert<E: Entity>(contentsOf values: some Sequence<E>) -> [PersistentID<E>] {
        state.insert(contentsOf: values)
    }

    /// Deletes an object and applies its relationships' delete rules, the same as `object.delete()`. For code that holds the
    /// object and so runs where the context does, on the main actor or elsewhere.
    ///
    /// - Precondition: the object belongs to this context.
    ///
    /// Complexity: O(*r* log *n*) for *r* deleted objects, nullified references and removed links, among *n* objects.
    public nonisolated func delete<E>(_ object: ManagedObject<E>) {
        object.requireContext(self)
        object.delete()
    }

    /// The object, or nil if this context's state does not have it.
    ///
    /// Complexity: O(1) for an object that the context has in memory, otherwise O(log *n*) for *n* objects of the entity.
    @inlinable
    public subscript<E>(id: PersistentID<E>) -> ManagedObject<E>? {
        state.object(for: id, in: registry)
    }

    /// The object.
    ///
    /// - Throws: `GraphError.objectNotFound` if this context's state does not have it.
    ///
    /// Complexity: O(1) for an object that the context has in memory, otherwise O(log *n*) for *n* objects of the entity.
    @inlinable
    public func object<E>(for id: PersistentID<E>) throws(GraphError) -> ManagedObject<E> {
        guard let object = state.object(for: id, in: registry) else { throw .objectNotFound(id) }
        return object
    }
}
