/// What happens to the objects at a relationship's other end when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable {
    /// They stay, and no longer refer to the deleted object.
    case nullify
    /// They are deleted too.
    case cascade
    /// The save is refused while any of them is left.
    case deny
}

/// What a save does with a new object whose value of a unique property, or combination of values, another object has.
///
/// An object that is not new and takes on such a value is always refused.
public enum UniquenessPolicy: String, Sendable, Hashable {
    /// The save is refused.
    case reject
    /// The object that was there keeps its identifier and takes over all of the new one's attributes, also those that are nil or
    /// at their initial values, the references that the new one makes, and what refers or is linked to the new one. A reference
    /// that the new one leaves nil stays what it was, and members that the new one does not have stay members. A new object that
    /// collides with two different ones is refused.
    ///
    /// An object that was one to one with it and has to make room for another follows the delete rule of the relationship, as if
    /// the object had been deleted: it is deleted too, loses its reference, or the save is refused.
    case upsert
    /// As `upsert`, and what the object owns is exchanged: objects to which its relationships with the delete rule `cascade`
    /// lead, and which the new one does not have, are deleted; the new one's take their place. Of these relationships, nil and
    /// an empty collection count as what the new one has; other relationships are handed over as by `upsert`.
    ///
    /// An owned object that has a unique value of its own, and to which a new one gives way in the same save, stays.
    case replace
    /// The object that was there stays as it is, and what refers to the new one refers to it instead. What was one to one with the
    /// new one, and finds its place taken, follows the delete rule.
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
/// A row does not store them: they are found through their own `ToOne`, or through links. A value given at insert says
/// which objects the new one is to have; the members of a stored object are read through its `ManagedObject` or a
/// `Snapshot`, so a plain value offers no way to traverse them that could come out wrongly empty.
///
/// Two values are equal if both were given the same identifiers, or none: those of stored rows always are, so that entities
/// may be `Hashable` by what else they have.
public struct ToMany<Target: Entity>: RelationshipValue, Hashable, ExpressibleByArrayLiteral {
    /// The initializer's argument, until a write has applied it; nil in every stored row.
    private(set) var initialIDs: [PersistentID<Target>]?

    /// The value in stored rows.
    init(stored: ()) {
        initialIDs = nil
    }

    /// These objects and no others, when the value is written. The order counts where the relationship is
    /// ordered; doubles count once.
    ///
    /// Complexity: O(*k*) for *k* identifiers.
    public init(_ ids: some Sequence<PersistentID<Target>>) {
        initialIDs = Array(ids)
    }

    /// These objects and no others, when the value is written.
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
        initialIDs = try decoder.singleValueContainer().decode([PersistentID<Target>]?.self)
    }

    /// Writes the identifiers that it was given; nil in every stored row, which does not hold its members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(initialIDs)
    }
}

extension ToMany {
    /// Whether both were given the same identifiers in the same order.
    public static func == (lhs: ToMany, rhs: ToMany) -> Bool { lhs.initialIDs ?? [] == rhs.initialIDs ?? [] }

    /// By the identifiers that it was given.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(initialIDs ?? [])
    }
}

extension ToMany: CustomStringConvertible {
    /// The identifiers that the value was given, or `[…]`: rows do not hold their members.
    public var description: String { initialIDs?.description ?? "[…]" }
}
