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
/// The schema names every stored property, because a property that it left out would be lost without a word; opening a
/// coordinator checks that against the struct's memory layout, whoever wrote the schema. What is not meant to be saved is
/// transient.
///
/// Entities and properties can be renamed: the schema then says, as `originalName`, what files written before call them.
/// See `EntitySchema.Declaration`.
public protocol Entity: Sendable {
    /// What the engine knows of this type. The same value each time: write `static let`.
    static var schema: EntitySchema<Self> { get }

    /// Brings a row up to date before it is saved: a date of change, a total. Called once for each inserted or changed row of
    /// a save, on the context, and again for rows that such calls changed for the first time. The context's objects show
    /// the result when the save succeeds; if it fails, nothing happened to them.
    ///
    /// It sees the row as this context has it, before a merge policy puts both sides' changes together: what follows from several
    /// properties may not fit the merged row. See <doc:MergingChanges>.
    ///
    /// Rows that a save only takes a reference from, because its target was deleted, are left alone. Transient properties have
    /// their defaults here: they are the objects' own.
    mutating func willSave()

    /// Throws if this row may not be saved as it is: a ``ValidationError``, or any other. Called on the coordinator for each
    /// inserted or changed row as it would be in the store, after all other rules. The save fails with all that is thrown.
    ///
    /// To be a pure function of the row: saves of others wait for it.
    func validate() throws
}

extension Entity {
    /// Leaves the row as it is.
    public mutating func willSave() { Self.schema.hooks.willSaveIsMissing() }

    /// Accepts the row.
    public func validate() throws { Self.schema.hooks.validateIsMissing() }
}

extension Entity {
    /// The identifier of this entity's objects.
    public typealias ID = PersistentID<Self>
    /// This entity's objects, as a context shows them.
    public typealias Object = ManagedObject<Self>
}
