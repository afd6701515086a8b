/// A row type: a plain struct that the engine stores, and that programs see as `ManagedObject`s in a context.
///
/// `@Entity` makes a struct one:
///
/// ```swift
/// @Entity struct Team {
///     @Unique var name: String
///     @Relationship(inverse: \Person.team) var members: ToMany<Person> = []
/// }
/// ```
///
/// Without the macro the same entity is:
///
/// ```swift
/// struct Team: Entity {
///     var name: String
///     var members: ToMany<Person> = []
///
///     static let schema = EntitySchema<Team>("Team") {
///         $0.attribute("name", \.name, unique: true)
///         $0.toMany("members", \.members, inverse: \Person.team)
///     }
/// }
/// ```
///
/// The schema must name every stored property, since one that it left out would be lost silently. Opening a coordinator checks
/// the schema against the struct's memory layout, whether the macro or the program wrote it. Declare as transient what should
/// not be saved.
///
/// Entities and properties can be renamed: `originalName` in the schema then says what older files call them. See
/// `EntitySchema.Declaration`.
public protocol Entity: Sendable {
    /// What the engine knows about this type. Return the same value each time: write `static let`.
    static var schema: EntitySchema<Self> { get }

    /// Updates a row before it is saved: a modification date, a total. The context calls this once for each inserted or
    /// changed row of a save, and then for rows that only these calls changed. Its objects show the result when the save
    /// succeeds; if the save fails, they stay as they were.
    ///
    /// The row is the one that this context has, before a merge policy combines both sides' changes: a value that follows from
    /// several properties may not fit the merged row. See <doc:MergingChanges>.
    ///
    /// It is not called for rows that only lose a reference because a save deletes the target. Transient properties have their
    /// defaults here, since their values belong to the objects.
    mutating func willSave()

    /// Throws if this row may not be saved as it is: a ``ValidationError``, or any other error. The coordinator calls this for
    /// each inserted or changed row as it would be in the store, after checking all other rules. The save fails with
    /// everything that is thrown.
    ///
    /// Must be a pure function of the row, and quick: other saves wait for it.
    func validate() throws
}

extension Entity {
    /// Does not change the row.
    ///
    /// Complexity: O(1).
    public mutating func willSave() { Self.schema.hooks.willSaveIsMissing() }

    /// Accepts the row.
    ///
    /// Complexity: O(1).
    public func validate() throws { Self.schema.hooks.validateIsMissing() }
}

extension Entity {
    /// The identifier of this entity's objects.
    public typealias ID = PersistentID<Self>
    /// This entity's objects, as a context shows them.
    public typealias Object = ManagedObject<Self>
}
