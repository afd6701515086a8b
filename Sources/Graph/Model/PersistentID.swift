/// Identifies an object of one entity permanently. The object gets its number at insert; the number never changes, and no
/// other object ever gets it, not even after the object is deleted or the store is reopened.
///
/// Eight bytes. Comparing two identifiers orders them by insertion.
public struct PersistentID<E: Entity>: Sendable, Hashable, Comparable {
    @usableFromInline
    let row: RowNumber

    @inlinable
    init(row: RowNumber) {
        self.row = row
    }

    /// The identifier of the same object in another version of its entity. A migration keeps identifiers.
    ///
    /// Complexity: O(1).
    public func migrated<Other: Entity>(to type: Other.Type) -> PersistentID<Other> { PersistentID<Other>(row: row) }

    /// What sets and dictionaries ask, which is by half faster for a number than for a struct of one.
    ///
    /// Complexity: O(1).
    @inlinable
    public func _rawHashValue(seed: Int) -> Int { row._rawHashValue(seed: seed) }

    /// Objects inserted earlier come first.
    public static func < (lhs: PersistentID, rhs: PersistentID) -> Bool { lhs.row < rhs.row }
}

extension PersistentID: CustomStringConvertible {
    /// The entity's name and the number: `Person/p26`.
    public var description: String { AnyPersistentID(self).description }
}

extension PersistentID: Codable {
    /// Reads the number that `encode(to:)` wrote. Ask a context whether such an object exists.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for 0, which identifies nothing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let row = try container.decode(UInt64.self)
        guard row != 0 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "0 is not an identifier")
        }
        self.init(row: row)
    }

    /// Writes the number alone; the reader must know the entity.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(row)
    }
}

/// Identifies an object of any entity: a `PersistentID` whose entity is known only at run time.
public struct AnyPersistentID: Sendable, Hashable {
    /// The entity's name in its schema.
    public let entityName: String
    let row: RowNumber

    init(entityName: String, row: RowNumber) {
        self.entityName = entityName
        self.row = row
    }

    /// The same identifier without its type.
    ///
    /// Complexity: O(1).
    public init<E>(_ id: PersistentID<E>) {
        self.init(entityName: E.schema.name, row: id.row)
    }

    /// The same identifier with its type, or nil if it belongs to another entity.
    ///
    /// Complexity: O(length of the entity's name).
    public func typed<E: Entity>(as type: E.Type) -> PersistentID<E>? {
        entityName == E.schema.name ? PersistentID(row: row) : nil
    }
}

extension AnyPersistentID: CustomStringConvertible {
    /// The entity's name and the number: `Person/p26`.
    public var description: String { "\(entityName)/p\(row)" }
}
