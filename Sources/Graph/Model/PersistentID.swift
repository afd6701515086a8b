/// Identifies an object of one entity, for good: the number is given at insert, never changes, and is never given to
/// another object, not even after the object is deleted or the store is reopened.
///
/// Eight bytes. Comparing two identifiers orders them by insertion.
public struct PersistentID<E: Entity>: Sendable, Hashable, Comparable {
    @usableFromInline
    let row: RowNumber

    @inlinable
    init(row: RowNumber) {
        self.row = row
    }

    /// Objects inserted earlier come first.
    public static func < (lhs: PersistentID, rhs: PersistentID) -> Bool { lhs.row < rhs.row }
}

extension PersistentID: CustomStringConvertible {
    /// The entity's name and the number: `Person/p26`.
    public var description: String { AnyPersistentID(self).description }
}

extension PersistentID: Codable {
    /// Reads the number that `encode(to:)` wrote. Whether such an object exists is for a context to say.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for 0, which identifies nothing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let row = try container.decode(UInt64.self)
        guard row != 0 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "0 is no identifier")
        }
        self.init(row: row)
    }

    /// Writes the number alone; which entity it belongs to is the reader's to know.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(row)
    }
}

/// Identifies an object of any entity: a `PersistentID` whose entity is known only at run time.
public struct AnyPersistentID: Sendable, Hashable {
    /// The entity's name, as its schema gives it.
    public let entityName: String
    let row: RowNumber

    init(entityName: String, row: RowNumber) {
        self.entityName = entityName
        self.row = row
    }

    /// The same identifier without its type.
    public init<E>(_ id: PersistentID<E>) {
        self.init(entityName: E.schema.name, row: id.row)
    }

    /// The same identifier with its type, or nil if it belongs to another entity.
    public func typed<E: Entity>(as type: E.Type) -> PersistentID<E>? {
        entityName == E.schema.name ? PersistentID(row: row) : nil
    }
}

extension AnyPersistentID: CustomStringConvertible {
    /// The entity's name and the number: `Person/p26`.
    public var description: String { "\(entityName)/p\(row)" }
}
