/// Makes a struct an entity: adds its conformance to ``Entity``, its schema, and `Object`, the type of its objects.
///
/// ```swift
/// @Entity struct Team {
///     @Unique var name: String
///     @Relationship(inverse: \Person.team) var members: ToMany<Person> = []
/// }
/// ```
///
/// Every stored property becomes part of the schema, in the order of declaration: a `ToOne` or `ToMany` as a relationship, any
/// other as an attribute. Computed and static members do not. Without a type annotation, the initial value must begin with a
/// literal or the name of a type.
///
/// Declare the struct at the top of a file or in a type, not in a function and not in a generic type.
///
/// The macro writes what ``Entity`` shows as the hand-written form. In a module whose default isolation is the main actor,
/// declare your own types of attributes `nonisolated`.
///
/// The struct may have a `willSave()` and a `validate()`, in its body or in an extension. In the body, the macro rejects a
/// form that no save would call: one that awaits or returns something, a `willSave()` that throws, a `validate()` that is
/// mutating.
///
/// Constraints and indexes over several properties name them as strings, since key paths into the struct would be circular
/// references here. Each is a list of attributes with an order and of `ToOne`s:
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
///   - originalName: the entity's name in files written before it was renamed.
///   - unique: lists of properties of which no two objects may have the same combination of values. A combination with nil in
///     it equals nothing.
///   - indexed: lists of properties, each with an index of the combined values. Fetches sorted by the first of them, or by
///     all, use it, and so do look-ups and predicates with conditions on the first of them, or on several.
///   - onConflict: what a save does with a new object if another one has the same combination, for all lists in `unique`. To
///     use different policies, write the schema by hand. ``Unique(onConflict:)`` has a policy of its own.
@attached(member, names: named(schema), named(Object))
@attached(extension, conformances: Entity)
public macro Entity(
    originalName: OriginalNames = [],
    unique: [[String]] = [],
    indexed: [[String]] = [],
    onConflict: UniquenessPolicy = .reject
) = #externalMacro(module: "GraphMacrosPlugin", type: "EntityMacro")

/// Adds options to an attribute of an `@Entity` struct.
///
/// - Parameter originalName: the attribute's name in files written before it was renamed.
@attached(peer)
public macro Attribute(originalName: OriginalNames) = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Prevents two objects of an `@Entity` struct from having the same value of this attribute. nil equals nothing.
/// Floating-point numbers and dates are equal if their bits are: 0.0 and -0.0 are two values, and NaN is one.
///
/// - Parameter onConflict: what a save does with a new object if another one has its value.
@attached(peer)
public macro Unique(onConflict: UniquenessPolicy = .reject) =
    #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps an index of this attribute of an `@Entity` struct. Fetches sorted by it use the index, and so do look-ups and predicates
/// with conditions on it.
///
/// Unique attributes and relationships always have an index.
@attached(peer)
public macro Indexed() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Keeps a value of an `@Entity` struct in its object alone: writing it is no change, no save stores it, and no other context
/// sees it.
///
/// Everywhere else, and in a new object for the same row, the property has its initial value.
@attached(peer)
public macro Transient() = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")

/// Adds options to a relationship of an `@Entity` struct.
///
/// The types of its two ends, a `ToOne` or a `ToMany` each, decide what kind of relationship it is. Both ends may be
/// properties of one struct.
///
/// ```swift
/// @Entity struct Person {
///     @Relationship(inverse: \Person.followers, ordered: true) var follows: ToMany<Person> = []
///     var followers: ToMany<Person> = []
/// }
/// ```
///
/// A relationship that is its own inverse, as friendship is, cannot name itself in an attribute, since the compiler would have
/// to know the property before it has read its attributes. Write the schema of such an entity by hand:
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
///   - inverse: the property at the other end, a `ToOne` or `ToMany` that leads back. A to-many relationship needs one. Name
///     it at one end only: naming it at both ends is a circular reference for the compiler.
///   - ordered: whether the members of a `ToMany` have an order of their own, which insertions and moves decide; otherwise
///     they come in the order of their insertion into the store.
///   - minimum: the fewest objects at the other end when this one is saved. 1 makes a `ToOne` required.
///   - maximum: the most objects at the other end of a `ToMany` when this one is saved; nil sets no limit.
///   - originalName: the relationship's name in files written before it was renamed.
@attached(peer)
public macro Relationship(
    _ deleteRule: DeleteRule = .nullify,
    inverse: AnyKeyPath? = nil,
    ordered: Bool = false,
    minimum: Int = 0,
    maximum: Int? = nil,
    originalName: OriginalNames = []
) = #externalMacro(module: "GraphMacrosPlugin", type: "PropertyMacro")
