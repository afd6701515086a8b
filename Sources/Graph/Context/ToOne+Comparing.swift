// A reference compared with what else identifies an object. Disfavoured, so that a literal nil is a reference.

extension ToOne {
    /// Whether the reference leads to the object with this identifier; nil means to no object.
    @_disfavoredOverload @inlinable
    public static func == (lhs: ToOne, rhs: PersistentID<Target>?) -> Bool { lhs.id == rhs }

    /// Whether the reference leads to the object with this identifier; nil means to no object.
    @_disfavoredOverload @inlinable
    public static func == (lhs: PersistentID<Target>?, rhs: ToOne) -> Bool { lhs == rhs.id }

    /// The opposite of `==`.
    @_disfavoredOverload @inlinable
    public static func != (lhs: ToOne, rhs: PersistentID<Target>?) -> Bool { lhs.id != rhs }

    /// The opposite of `==`.
    @_disfavoredOverload @inlinable
    public static func != (lhs: PersistentID<Target>?, rhs: ToOne) -> Bool { lhs != rhs.id }

    /// Whether the reference leads to this object; nil means to no object.
    @_disfavoredOverload @inlinable
    public static func == (lhs: ToOne, rhs: ManagedObject<Target>?) -> Bool { lhs.id == rhs?.id }

    /// Whether the reference leads to this object; nil means to no object.
    @_disfavoredOverload @inlinable
    public static func == (lhs: ManagedObject<Target>?, rhs: ToOne) -> Bool { lhs?.id == rhs.id }

    /// The opposite of `==`.
    @_disfavoredOverload @inlinable
    public static func != (lhs: ToOne, rhs: ManagedObject<Target>?) -> Bool { lhs.id != rhs?.id }

    /// The opposite of `==`.
    @_disfavoredOverload @inlinable
    public static func != (lhs: ManagedObject<Target>?, rhs: ToOne) -> Bool { lhs?.id != rhs.id }
}
