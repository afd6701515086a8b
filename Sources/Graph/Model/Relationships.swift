/// What happens to the objects at a relationship's other end when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable {
    /// They stay, and no longer refer to the deleted object.
    case nullify
    /// They are deleted too.
    case cascade
    /// The save fails while any of them is left.
    case deny
}

/// What a save does with a new object if another object has the same value of a unique property, or the same combination.
///
/// The save always fails if an object that is not new takes on such a value.
public enum UniquenessPolicy: String, Sendable, Hashable {
    /// The save fails.
    case reject
    /// The existing object keeps its identifier. From the new one it takes all attributes, even nil and initial values, the
    /// references that the new one makes, and whatever refers or is linked to the new one. A reference that the new one leaves
    /// nil keeps its value, and members that the new one does not have stay members. The save fails if a new object collides
    /// with two different ones.
    ///
    /// An object in a one-to-one relationship with the existing one may have to make room for another. It then follows the
    /// relationship's delete rule, as if the existing object had been deleted: it is deleted too, loses its reference, or
    /// makes the save fail.
    case upsert
    /// The same as `upsert`, and the new object's owned objects replace the existing one's. Owned objects are those at the
    /// other end of a relationship with the delete rule `cascade`; those that the new object does not have are deleted. For
    /// these relationships nil and an empty collection count as a value, too; others follow `upsert`.
    ///
    /// An owned object stays if it has a unique value of its own and a new object gives way to it in the same save.
    case replace
    /// The existing object stays as it is, and whatever refers to the new one refers to it instead. An object in a one-to-one
    /// relationship with the new one that finds its place taken follows the delete rule.
    case keepExisting
}

/// The type of a property that is a relationship: `ToOne` or `ToMany`.
public protocol RelationshipValue<Target>: Sendable {
    /// The entity at the other end.
    associatedtype Target: Entity
}

/// A reference to at most one object of another entity, as a row stores it: eight bytes, the identifier alone.
///
/// In a `ManagedObject` the property reads as the object itself; see `ManagedObject`.
@dynamicMemberLookup
public struct ToOne<Target: Entity>: RelationshipValue, Hashable, ExpressibleByNilLiteral {
    @usableFromInline
    var row: RowNumber

    /// The identifier of the target, or nil.
    @inlinable
    public var id: PersistentID<Target>? {
        row == 0 ? nil : PersistentID(row: row)
    }

    /// A reference to this object, or to none. A save checks that the object exists.
    ///
    /// Complexity: O(1).
    @inlinable
    public init(_ id: PersistentID<Target>?) {
        row = id?.row ?? 0
    }

    /// A reference to no object.
    ///
    /// Complexity: O(1).
    @inlinable
    public init(nilLiteral: ()) {
        row = 0
    }
}

extension ToOne: CustomStringConvertible {
    /// The identifier, or `nil`.
    public var description: String { id.map(\.description) ?? "nil" }
}

extension ToOne: Codable {
    /// Reads the identifier or nil that `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(PersistentID<Target>?.self))
    }

    /// Writes the identifier or nil.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(id)
    }
}

/// The objects of another entity that refer to this one or are linked to it, as a row declares them.
///
/// A row does not store its members: their own `ToOne`, or link tables, do. A value given at insert names the members of the
/// new object. Read the members of a stored object through its `ManagedObject` or a `Snapshot`; a plain value cannot traverse
/// them, so it never looks empty by mistake.
///
/// Two values are equal if both were given the same identifiers, or none. Values of stored rows are always equal, so an entity
/// can be `Hashable` by its other properties.
public struct ToMany<Target: Entity>: RelationshipValue, Hashable, ExpressibleByArrayLiteral {
    /// The rows of the initializer's argument, until a write has applied it; nil in every stored row.
    private(set) var initialRows: [RowNumber]?

    /// The value in stored rows.
    init(stored: ()) {
        initialRows = nil
    }

    /// Makes exactly these objects the members when the value is written. The order counts in an ordered relationship;
    /// duplicates count once.
    ///
    /// Complexity: O(*k*) for *k* identifiers.
    public init(_ ids: some Sequence<PersistentID<Target>>) {
        initialRows = ids.map { $0.row }
    }

    /// Makes exactly these objects the members when the value is written.
    ///
    /// Complexity: O(*k*) for *k* identifiers.
    @inlinable
    public init(arrayLiteral elements: PersistentID<Target>...) {
        self.init(elements)
    }
}

extension ToMany: Codable {
    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        initialRows = try decoder.singleValueContainer().decode([PersistentID<Target>]?.self)?.map { $0.row }
    }

    /// Writes the identifiers that the value was given; nil for a stored row, which does not store its members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(initialIDs)
    }
}

extension ToMany {
    private var initialIDs: [PersistentID<Target>]? { initialRows?.map { PersistentID(row: $0) } }

    /// Whether both were given the same identifiers in the same order.
    public static func == (lhs: ToMany, rhs: ToMany) -> Bool { lhs.initialRows ?? [] == rhs.initialRows ?? [] }

    /// Hashes the identifiers that the value was given.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(initialRows ?? [])
    }
}

extension ToMany: CustomStringConvertible {
    /// The identifiers that the value was given, or `[…]`: rows do not store their members.
    public var description: String { initialIDs?.description ?? "[…]" }
}
