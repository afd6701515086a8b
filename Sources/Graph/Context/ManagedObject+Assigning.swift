// Relationships as what else a program has in hand: identifiers, and arrays of objects. Disfavoured, so that what is read is the
// object or the live collection wherever the program does not ask for these types.

extension ManagedObject {
    /// The objects that refer to this one, or are linked to it, as an array that later changes leave alone. Writing a new
    /// value makes only the additions, removals and moves that lead to it.
    ///
    /// ```swift
    /// team.members = try context.fetch(Person.self, where: { $0.age < 20 })
    /// team.members = team.members.filter { $0.age < 20 }
    /// ```
    ///
    /// - Precondition: the property is a stored one; new members belong to the same context.
    ///
    /// Complexity: O(*k* log *n*) for *k* old and new members, among *n* members of all objects.
    @_disfavoredOverload @inlinable
    public subscript<Target>(dynamicMember keyPath: WritableKeyPath<E, ToOne<Target>>) -> PersistentID<Target>? {
        get { self[dynamicMember: keyPath].id }
        set { setReference(keyPath, to: ToOne(newValue)) }
    }

    /// The objects that refer to this one, or are linked to it, as an array that later changes do not change. A new value is
    /// applied as the additions, removals and moves that it amounts to.
    ///
    /// ```swift
    /// team.members = try context.fetch(Person.self, where: { $0.age < 20 })
    /// team.members = team.members.filter { $0.age < 20 }
    /// ```
    ///
    /// - Precondition: the property is a stored one; new members belong to the same context.
    ///
    /// Complexity: O(*m* log *n*) for *m* members, before and after, of *n* members of all objects.
    @_disfavoredOverload
    public subscript<Target>(
        dynamicMember keyPath: WritableKeyPath<E, ToMany<Target>>
    ) -> [ManagedObject<Target>] {
        get { Array(relatedObjects(keyPath)) }
        set { relatedObjects(keyPath).replaceMembers(by: RelatedObjects(newValue)) }
    }
}
