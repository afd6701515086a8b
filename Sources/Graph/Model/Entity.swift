/// A row type: a plain struct that the engine stores, and that programs see as `ManagedObject`s in a context.
///
/// The schema names every stored property, because a property that it left out would be lost without a word; opening a
/// coordinator checks that against the struct's memory layout. What is not meant to be saved is declared as ephemeral.
///
/// ```swift
/// struct Team: Entity {
///     var name: String
///     var members: ToMany<Person> = []
///     static let schema = EntitySchema<Team>("Team") {
///         $0.attribute("name", \.name)
///         $0.toMany("members", \.members, inverse: \Person.team)
///     }
/// }
/// ```
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
