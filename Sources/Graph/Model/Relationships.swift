/// What happens to the objects at a relationship's other end when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable {
    /// They stay, and no longer refer to the deleted object.
    case nullify
    /// They are deleted too.
    case cascade
    /// The save is refused while any of them is left.
    case deny
}

/// A reference to at most one object of another entity, as a row stores it: eight bytes, the identifier alone.
///
/// In a `ManagedObject` the property reads as the object itself; see `ManagedObject`.
public struct ToOne<Target: Entity>: Sendable, Hashable, ExpressibleByNilLiteral {
    @usableFromInline
    var row: RowNumber

    /// The identifier of the object referred to, or nil.
    @inlinable
    public var id: PersistentID<Target>? {
        row == 0 ? nil : PersistentID(row: row)
    }

    /// A reference to that object, or to none. That the object exists is checked when it is saved.
    @inlinable
    public init(_ id: PersistentID<Target>?) {
        row = id?.row ?? 0
    }

    /// A reference to nothing.
    @inlinable
    public init(nilLiteral: ()) {
        row = 0
    }
}

extension ToOne: CustomStringConvertible {
    /// The identifier, or `nil`.
    public var description: String { id.map(\.description) ?? "nil" }
}

/// The objects of another entity that refer to this one, as a row declares them.
///
/// A row does not store them: each is found through its own `ToOne`. A value given at insert says which objects are to
/// refer to the new one; the members of a stored object are read through its `ManagedObject` or a `Snapshot`, so a
/// plain value offers no way to traverse them that could come out wrongly empty.
public struct ToMany<Target: Entity>: Sendable, ExpressibleByArrayLiteral {
    /// What the initialiser was given, until a write has applied it; nil in every stored row.
    private(set) var initialIDs: [PersistentID<Target>]?

    /// As stored rows hold it.
    init(stored: ()) {
        initialIDs = nil
    }

    /// These objects and no others, when the value is written. The order says nothing, and doubles count once.
    public init(_ ids: some Sequence<PersistentID<Target>>) {
        initialIDs = Array(ids)
    }

    /// These objects and no others, when the value is written.
    @inlinable
    public init(arrayLiteral elements: PersistentID<Target>...) {
        self.init(elements)
    }
}

extension ToMany: CustomStringConvertible {
    /// The identifiers that the value was given, or `[…]`: rows do not hold their members.
    public var description: String { initialIDs?.description ?? "[…]" }
}
