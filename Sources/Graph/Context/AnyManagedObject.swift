/// An object of a context, whatever its entity.
public protocol AnyManagedObject: AnyObject {
    /// Identifies the object permanently, from its insert on.
    var anyID: AnyPersistentID { get }
    /// Whether the object was inserted and is not saved yet.
    var isInserted: Bool { get }
    /// Whether the object differs from what the context read.
    var isUpdated: Bool { get }
    /// Whether the context's state lacks the object: deleted here, saved or not, or by others.
    var isDeleted: Bool { get }
    /// Whether a save would write or delete this object.
    var hasChanges: Bool { get }
    /// The context that the object belongs to; nil once that is gone.
    var context: Context? { get }
    /// Deletes the object and applies its relationships' delete rules.
    ///
    /// Complexity: that of ``ManagedObject/delete()``.
    func delete()
}

extension ManagedObject: AnyManagedObject {
    /// The identifier without its type.
    public var anyID: AnyPersistentID { AnyPersistentID(id) }
}

/// What a context asks of its objects without knowing their type.
protocol RegisteredObject: AnyManagedObject {
    var flags: ObjectFlags { get set }
    var isDirty: Bool { get set }
    var keptGeneration: UInt64 { get set }
    var rowID: RowID { get }
    /// Writes a dirty row into the working state. False if that was no change.
    func flush() -> Bool
}

extension ManagedObject: RegisteredObject {
    var rowID: RowID { RowID(entity: entity, row: id.row) }

    func flush() -> Bool {
        let isNew = flags.contains(.new)
        flags.remove(.new)
        isDirty = false
        return withUnsafeMutablePointer(to: &row) { contextState.write(rowID, at: $0, isNew: isNew) }
    }
}
