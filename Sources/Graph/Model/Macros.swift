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
/// The struct may have a `willSave()` and a `validate()`, in its body or in an extension. In its body, a form that no
/// save would call is an error: one that awaits or returns something, a `willSave()` that throws, a `validate()` that
/// is mutating.
///
/// Constraints and indexes over several properties name them as strings, since key paths into the struct would be
/// circular references here. Each is a list of attributes with an order and of `ToOne`s:
///
/// ```swift
/// @Entity(unique: [["lastName", "firstName"], ["team", "number"]], indexed: [["team", "joined"]])
/// struct Player {
///     var firstName = ""
///     var lastName = ""
///     var number: Int?
///     var joined: Date
///     var team: ToOne<Team> = nil
/// }
/// ```
///
/// - Parameters:
///   - originalName: what the entity was called in files that were written before it was renamed.
///   - unique: of which properties no two objects have the same combination of values. A combination with nil in it
///     equals nothing.
///   - indexed: of which properties an index of the combined values is kept. Fetches sorted by the first of them, or by all,
///     use it; predicates do not.
///   - onConflict: what a save does with a new object whose combination another one has, for all lists in `unique`.
///     Where they are to differ, write the schema by hand. ``Unique(onConflict:)`` has a policy of its own.
@attached(member, names: named(schema), named(Object))
@attached(extension, conformances: Entity)
public macro Entity(
    originalName: String? = nil,
    unique: [[String]] = [],
    indexed: [[String]] = [],
    onConflict: UniquenessPolicy = .reject
) = #externalMacro(module: "GraphMacrosPlugin", type: "EntityMacro")

/// Says more about an attribute of an `@Entity` struct.
///
/// - Parameter originalName: what it was called in files that were written before it was renamed.
@attached(peer)
public macro Attribute(originalName: String) = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps two objects of an `@Entity` struct from having the same value of this attribute. nil equals nothing. Numbers with a
/// fraction, and dates, are the same if their bits are: 0.0 and -0.0 are two values, and NaN is one.
///
/// - Parameter onConflict: what a save does with a new object whose value another one has.
@attached(peer)
public macro Unique(onConflict: UniquenessPolicy = .reject) =
    #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps an index of this attribute of an `@Entity` struct. Fetches sorted by it use the index; predicates do not.
///
/// Unique attributes and relationships have one anyway.
@attached(peer)
public macro Indexed() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps a value of an `@Entity` struct in its object alone: it is no change, and neither saved nor seen by other contexts.
///
/// Everywhere but in the object, and in a new object of the same row, it has its initial value.
@attached(peer)
public macro Transient() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Says more about a relationship of an `@Entity` struct.
///
/// Which kind of relationship it is follows from its two ends: each is a `ToOne` or a `ToMany`, also where both are
/// properties of one struct.
///
/// ```swift
/// @Entity struct Person {
///     @Relationship(inverse: \Person.followers, ordered: true) var follows: ToMany<Person> = []
///     var followers: ToMany<Person> = []
/// }
/// ```
///
/// A relationship that is its own inverse, as friendship is, cannot say so in an attribute, since the compiler would
/// have to know the property before it has read its attributes. Such an entity has its schema written by hand:
///
/// ```swift
/// struct Person: Entity {
///     var friends: ToMany<Person> = []
///
///     static let schema = EntitySchema<Person>("Person") {
///         $0.toMany("friends", \.friends, inverse: \Person.friends)
///     }
/// }
/// ```
///
/// - Parameters:
///   - deleteRule: what happens to the objects at the other end when this one is deleted.
///   - inverse: the property at the other end, a `ToOne` or `ToMany` that leads back. A to-many relationship has one,
///     named here or there, but not at both ends, which the compiler would report as a circular reference.
///   - ordered: whether the members of a `ToMany` have an order of their own, which insertions and moves decide;
///     otherwise they come in the order of their insertion into the store.
///   - minimum: how many objects there are at least when this one is saved. 1 makes a `ToOne` a required one.
///   - maximum: how many objects there are at most at the other end of a `ToMany`; nil sets no limit.
///   - originalName: what the relationship was called in files that were written before it was renamed.
@attached(peer)
public macro Relationship(
    _ deleteRule: DeleteRule = .nullify,
    inverse: AnyKeyPath? = nil,
    ordered: Bool = false,
    minimum: Int = 0,
    maximum: Int? = nil,
    originalName: String? = nil
) = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")
