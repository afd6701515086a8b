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
/// ephemeral.
///
/// Entities and properties can be renamed: the schema then says, as `originalName`, what files written before call them.
/// See `EntitySchema.Declaration`.
public protocol Entity: Sendable {
    /// What the engine knows of this type. The same value each time: write `static let`.
    static var schema: EntitySchema<Self> { get }
}

extension Entity {
    /// The identifier of this entity's objects.
    public typealias ID = PersistentID<Self>
    /// This entity's objects, as a context shows them.
    public typealias Object = ManagedObject<Self>
}
