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

    /// Hands a value over to the object that has its unique values, or inserts it if there is none.
    ///
    /// ```swift
    /// let ada = context.upsert(Person(email: "ada@example.com", name: "Ada"))
    /// ```
    ///
    /// An object that is there takes over all attributes, also those that the value leaves nil or at their defaults, as if they
    /// were assigned. References that the value leaves nil stay what they were, and members that it does not name stay members;
    /// new ones come last. What is as it was is no change. Transient properties keep what the object has; those of a new one have
    /// their defaults.
    ///
    /// Unsaved changes of this context count, and policies of constraints do not: they apply to objects that others save
    /// meanwhile, and to objects that were inserted with the same values before, which still hand over what they have when they
    /// are saved. A value that has unique values of several objects is inserted, and the save refuses it.
    ///
    /// - Precondition: the store was opened with the entity.
    ///
    /// Complexity: O(log *n*) for each unique property, combination and member, and for each index with another value, among *n*
    /// objects.
    @discardableResult
    public func upsert<E: Entity>(_ value: E) -> ManagedObject<E> {
        state.upsert(value)
    }

    /// The same for each value, without keeping objects in memory; returns the objects' identifiers in the order of the values.
    /// Several values with the same unique values lead to one object, which has the last one.
    ///
    /// Rows go in as by ``insert(contentsOf:)``, if nobody has their values, but one by one.
    ///
    /// - Precondition: the store was opened with the entity.
    ///
    /// Complexity: O(*k* log *n*) for *k* values among *n* objects.
    @discardableResult @inlinable
    public func upsert<E: Entity>(contentsOf values: some Sequence<E>) -> [PersistentID<E>] {
        state.insert(contentsOf: values, updates: true)
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
