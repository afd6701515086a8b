// What a schema cannot take, so that the compiler says what to write instead of naming a protocol that one of the usable
// methods asks for. `@Entity` writes calls of `attribute` for every property that does not look like a relationship.

extension EntitySchema.Declaration {
    /// Unavailable: the type cannot be stored.
    @available(
        *, unavailable,
        message: """
            an attribute's type is a number, Bool, String, Date, UUID, Data, URL or Decimal, an optional or a collection of \
            these, a RawRepresentable type that has one of them as raw value, or any type that is Codable, Equatable and \
            Sendable
            """
    )
    @_disfavoredOverload
    public mutating func attribute<V>(_ name: String, _ keyPath: KeyPath<E, V>, originalName: String? = nil) {}

    /// Unavailable: the type has no order.
    @available(
        *, unavailable,
        message: """
            an attribute that is unique or indexed has an order: its type is a number but no Decimal, Bool, String, Date, UUID \
            or Data, an optional of these, or a RawRepresentable type that has one of them as raw value
            """
    )
    @_disfavoredOverload
    public mutating func attribute<V>(
        _ name: String,
        _ keyPath: KeyPath<E, V>,
        unique: Bool = false,
        indexed: Bool = false,
        originalName: String? = nil
    ) {}

    /// Unavailable: a relationship is declared as one.
    @available(
        *, unavailable,
        message: "this is a relationship: write its type as ToOne<…>, so that @Entity sees it, or 'toOne' in a schema"
    )
    public mutating func attribute<Target>(
        _ name: String,
        _ keyPath: KeyPath<E, ToOne<Target>>,
        originalName: String? = nil
    ) {}

    /// Unavailable: a relationship is declared as one.
    @available(
        *, unavailable,
        message: "this is a relationship: write its type as ToMany<…>, so that @Entity sees it, or 'toMany' in a schema"
    )
    public mutating func attribute<Target>(
        _ name: String,
        _ keyPath: KeyPath<E, ToMany<Target>>,
        originalName: String? = nil
    ) {}
}
