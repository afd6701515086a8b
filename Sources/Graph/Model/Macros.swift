/// Makes a struct an entity: adds its conformance to ``Entity``, its schema, and `Object`, the type of its objects.
///
/// ```swift
/// @Entity struct Team {
///     @Unique var name: String
///     @Relationship(inverse: \Person.team) var members: ToMany<Person> = []
/// }
/// ```
///
/// Every stored property becomes part of the schema, in the order of declaration: a `ToOne` or `ToMany` as a relationship,
/// any other as an attribute. Computed and static members are the struct's own affair. Where there is no type
/// annotation, the initial value has to begin with a literal or the name of a type.
///
/// The struct stands at the top of a file or in a type, not in a function and not in a generic type.
///
/// What the macro adds is what ``Entity`` shows as the hand-written form. In a module whose default isolation is the main
/// actor, types of the program's own that attributes have are to be `nonisolated`.
///
/// - Parameter originalName: what the entity was called in files that were written before it was renamed.
@attached(member, names: named(schema), named(Object))
@attached(extension, conformances: Entity)
public macro Entity(originalName: String? = nil) = #externalMacro(module: "GraphMacrosPlugin", type: "EntityMacro")

/// Says more about an attribute of an `@Entity` struct.
///
/// - Parameter originalName: what it was called in files that were written before it was renamed.
@attached(peer)
public macro Attribute(originalName: String) = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Refuses to save two objects of an `@Entity` struct with the same value of this attribute. nil equals nothing.
@attached(peer)
public macro Unique() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps an index of this attribute of an `@Entity` struct. Fetches by closure do not use it.
///
/// Unique attributes and relationships have one anyway.
@attached(peer)
public macro Indexed() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps a value of an `@Entity` struct in its object alone: it is no change, and neither saved nor seen by other contexts.
///
/// Everywhere but in the object, and in a new object of the same row, it has its initial value.
@attached(peer)
public macro Ephemeral() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Says more about a relationship of an `@Entity` struct.
///
/// - Parameters:
///   - deleteRule: what happens to the objects at the other end when this one is deleted.
///   - inverse: the property at the other end. A to-many relationship has one, named here or there, but not at both ends,
///     which the compiler would report as a circular reference.
///   - originalName: what the relationship was called in files that were written before it was renamed.
@attached(peer)
public macro Relationship(
    _ deleteRule: DeleteRule = .nullify,
    inverse: AnyKeyPath? = nil,
    originalName: String? = nil
) = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")
