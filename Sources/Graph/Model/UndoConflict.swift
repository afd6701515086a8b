/// A change that cannot be taken back, because others, or a later change, have put something else in its place. `undo()` and
/// `redo()` leave it alone, and ``Coordinator/revert(_:author:fileID:line:)`` takes back nothing then.
public struct UndoConflict: Sendable, Hashable {
    /// The object.
    public let id: AnyPersistentID
    /// The property, a to-many relationship where members are meant; nil where the object as a whole is.
    public let property: String?
}

extension UndoConflict: CustomStringConvertible {
    /// The object, and the property if it is about one: `Person/p3.name`.
    public var description: String { "\(id)\(property.map { "." + $0 } ?? "")" }
}
