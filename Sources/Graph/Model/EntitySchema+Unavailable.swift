// Methods for what a schema cannot take, so that the compiler says what to write instead of naming a protocol that a usable
// method requires. `@Entity` writes calls of `attribute` for every property that does not look like a relationship.

extension EntitySchema.Declaration {
    /// Unavailable: the type cannot be stored.
    @available(
        *, unavailable,
        message: """
            an attribute's type is a number, Bool, String, Date, UUID, Data, URL or Decimal, an optional or a collection of \
            these, a RawRepresentable type whose raw value is a Bool, String, Date, UUID, Data or a number, or any type that is \
            Codable, Equatable and Sendable
            """
    )
    @_disfavoredOverload
    public mutating func attribute<V>(_ name: String, _ keyPath: KeyPath<E, V>, originalName: OriginalNames = []) {}

    /// Unavailable: the type cannot be compared.
    @available(*, unavailable, message: "a Codable type must also be Equatable and Sendable to be stored")
    @_disfavoredOverload
    public mutating func attribute<V: Codable>(
        _ name: String, _ keyPath: KeyPath<E, V>, originalName: OriginalNames = []
    ) {}

    /// Unavailable: the type has no order.
    @available(
        *, unavailable,
        message: """
            an attribute that is unique or indexed has an order: its type is Bool, String, Date, UUID, Data or a number, an \
            optional of these, or a RawRepresentable type that has one of them as raw value
            """
    )
    @_disfavoredOverload
    public mutating func attribute<V>(
        _ name: String,
        _ keyPath: KeyPath<E, V>,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: OriginalNames = []
    ) {}

    /// Unavailable: an entity is no attribute.
    @available(*, unavailable, message: "an entity cannot be stored in another one: declare a ToOne<…>")
    public mutating func attribute<T: Entity>(
        _ name: String, _ keyPath: KeyPath<E, T>, originalName: OriginalNames = []
    ) {}

    /// Unavailable: an entity is no attribute.
    @available(*, unavailable, message: "an entity cannot be stored in another one: declare a ToOne<…>")
    public mutating func attribute<T: Entity>(
        _ name: String, _ keyPath: KeyPath<E, T?>, originalName: OriginalNames = []
    ) {}

    /// Unavailable: entities are no attribute.
    @available(*, unavailable, message: "entities cannot be stored in another one: declare a ToMany<…>")
    public mutating func attribute<T: Entity>(
        _ name: String, _ keyPath: KeyPath<E, [T]>, originalName: OriginalNames = []
    ) {
    }

    /// Unavailable: a relationship is declared as one.
    @available(
        *, unavailable,
        message:
            "this is a relationship: write its type as ToOne<…>, so that @Entity sees it, or use 'toOne' in a schema"
    )
    public mutating func attribute<T>(_ name: String, _ keyPath: KeyPath<E, ToOne<T>>, originalName: OriginalNames = [])
    {}

    /// Unavailable: a relationship is declared as one.
    @available(
        *, unavailable,
        message:
            "this is a relationship: write its type as ToMany<…>, so that @Entity sees it, or use 'toMany' in a schema"
    )
    public mutating func attribute<T>(
        _ name: String, _ keyPath: KeyPath<E, ToMany<T>>, originalName: OriginalNames = []
    ) {}

    /// Unavailable: the inverse is no relationship, or one between other entities.
    @available(
        *, unavailable,
        message: "the inverse of a relationship is a ToOne or ToMany of the other entity that leads back to this one"
    )
    @_disfavoredOverload
    public mutating func toOne<Target, Root, V>(
        _ name: String,
        _ keyPath: KeyPath<E, ToOne<Target>>,
        inverse: KeyPath<Root, V>,
        deleteRule: DeleteRule = .nullify,
        minimum: Int = 0,
        originalName: OriginalNames = []
    ) {}

    /// Unavailable: the inverse is no relationship, or one between other entities.
    @available(
        *, unavailable,
        message: "the inverse of a relationship is a ToOne or ToMany of the other entity that leads back to this one"
    )
    @_disfavoredOverload
    public mutating func toMany<Target, Root, V>(
        _ name: String,
        _ keyPath: KeyPath<E, ToMany<Target>>,
        inverse: KeyPath<Root, V>,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        minimum: Int = 0,
        maximum: Int? = nil,
        originalName: OriginalNames = []
    ) {}
}
