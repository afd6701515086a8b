/// What Graph knows of one entity: its name in the file and its stored properties.
///
/// `@Entity` writes it; see `Entity` for how to do so by hand. Every stored property of the struct appears once: as an
/// attribute or a relationship, which the file holds, or as ephemeral. That is checked, with everything else a
/// declaration can get wrong, when a `Coordinator` opens, and reported as `GraphError.invalidSchema`.
public struct EntitySchema<E: Entity>: Sendable {
    /// The entity's name in the file, in identifiers and in messages.
    public let name: String
    let originalName: String?
    @usableFromInline let layout: RowLayout
    @usableFromInline let properties: [Property]

    /// - Parameters:
    ///   - originalName: what the entity was called when files were written that are still to be opened. Opening one
    ///     renames the entity in it for good; see `Declaration`.
    ///   - declare: calls one method of its argument for each stored property of the struct, in any order. Rows are
    ///     written to the file in that order, without what is ephemeral.
    @inlinable
    public init(_ name: String, originalName: String? = nil, _ declare: (inout Declaration) -> Void) {
        var declaration = Declaration()
        declare(&declaration)
        self.init(
            name: name,
            originalName: originalName,
            layout: RowLayout(E.self),
            properties: declaration.properties
        )
    }

    @usableFromInline
    init(name: String, originalName: String?, layout: RowLayout, properties: [Property]) {
        self.name = name
        self.originalName = originalName
        self.layout = layout
        self.properties = properties
    }

    /// Collects the properties of an entity.
    ///
    /// A property that was renamed in the program says with `originalName` what files written before call it:
    ///
    /// ```swift
    /// $0.attribute("fullName", \.fullName, originalName: "name")
    /// ```
    ///
    /// The first opening of such a file records the new names in it, before anything else is saved there. From then on that
    /// file needs no original names any more, and programs that know only the old ones are refused.
    public struct Declaration {
        @usableFromInline var properties: [Property] = []

        @usableFromInline
        init() {}
    }
}

extension EntitySchema.Declaration {
    /// A property of a type that Graph stores as it is.
    public mutating func attribute<V: AttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        originalName: String? = nil
    ) {
        add(name, keyPath, V.attributeCodec, originalName: originalName)
    }

    /// A property with an order.
    ///
    /// - Parameters:
    ///   - unique: refuses to save two objects with the same value. nil equals nothing.
    ///   - indexed: keeps an index, so that look-ups by value need not read every row. Unique properties have one anyway.
    ///   - originalName: what the property was called before it was renamed; see `Declaration`. So in all methods.
    public mutating func attribute<V: OrderedAttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        unique: Bool = false,
        indexed: Bool = false,
        originalName: String? = nil
    ) {
        add(name, keyPath, V.attributeCodec, unique: unique, indexed: indexed, originalName: originalName)
    }

    /// A property of an enumeration (or other type) that has a raw value, stored as that.
    public mutating func attribute<V: RawRepresentable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        unique: Bool = false,
        indexed: Bool = false,
        originalName: String? = nil
    ) where V.RawValue: OrderedAttributeValue {
        let codec = AttributeCodec<V>.raw()
        add(name, keyPath, codec, unique: unique, indexed: indexed, originalName: originalName)
    }

    /// An optional property of an enumeration (or other type) that has a raw value, stored as that.
    public mutating func attribute<V: RawRepresentable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V?> & Sendable,
        unique: Bool = false,
        indexed: Bool = false,
        originalName: String? = nil
    ) where V.RawValue: OrderedAttributeValue {
        let codec = AttributeCodec<V>.optional(AttributeCodec<V>.raw())
        add(name, keyPath, codec, unique: unique, indexed: indexed, originalName: originalName)
    }

    /// A property of a type of your own, stored as JSON.
    @_disfavoredOverload
    public mutating func attribute<V: Codable & Equatable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        originalName: String? = nil
    ) {
        add(name, keyPath, AttributeCodec<V>.codable(), originalName: originalName)
    }

    /// A reference to one object or none.
    ///
    /// - Parameters:
    ///   - inverse: the to-many relationship at the other end; name it on one side only.
    ///   - deleteRule: what happens to the object referred to when this one is deleted.
    public mutating func toOne<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        inverse: (any KeyPath<Target, ToMany<E>> & Sendable)? = nil,
        deleteRule: DeleteRule = .nullify,
        originalName: String? = nil
    ) {
        properties.append(
            Property(
                name: name,
                originalName: originalName,
                keyPath: keyPath,
                role: .toOne(
                    target: Target.self,
                    inverse: inverse.map { Property.Inverse(keyPath: $0) },
                    rule: deleteRule
                ),
                operations: ToOne<Target>.operations
            )
        )
    }

    /// The objects that refer to this one.
    ///
    /// - Parameters:
    ///   - inverse: the to-one relationship at the other end. It may be named there instead, but somewhere it must be.
    ///   - deleteRule: what happens to those objects when this one is deleted.
    public mutating func toMany<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        inverse: (any KeyPath<Target, ToOne<E>> & Sendable)? = nil,
        deleteRule: DeleteRule = .nullify,
        originalName: String? = nil
    ) {
        properties.append(
            Property(
                name: name,
                originalName: originalName,
                keyPath: keyPath,
                role: .toMany(
                    target: Target.self,
                    inverse: inverse.map { Property.Inverse(keyPath: $0) },
                    rule: deleteRule
                ),
                operations: ToMany<Target>.operations,
                takeInitialRows: { address in
                    let value = address.assumingMemoryBound(to: ToMany<Target>.self)
                    guard let ids = value.pointee.initialIDs else { return nil }
                    value.pointee = ToMany(stored: ())
                    return ids.map(\.row)
                }
            )
        )
    }

    /// A property of the program's own, of any type, that objects hold and the store does not: whether a row is selected
    /// in a list, say.
    ///
    /// ```swift
    /// $0.ephemeral("isSelected", \.isSelected, default: false)
    /// ```
    ///
    /// A value written to an object stays in it for as long as the object lives, whatever a save, a refresh or a rollback
    /// does to its other properties. It is no change: it is not compared, merged, saved or published. All others see the
    /// default: fetches and their closures, snapshots, committed values, conflicts, and an object made anew.
    ///
    /// The file knows nothing of it, so that a program may add, change and remove ephemeral properties freely.
    ///
    /// - Parameter value: evaluated for each row that is written or read from the file.
    public mutating func ephemeral<V: Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        default value: @autoclosure @escaping @Sendable () -> V
    ) {
        properties.append(
            Property(
                name: name,
                keyPath: keyPath,
                role: .ephemeral(reset: { $0.assumingMemoryBound(to: V.self).pointee = value() }),
                operations: AttributeCodec<V>.ephemeral(default: value).operations
            )
        )
    }

    private mutating func add<V>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        _ codec: AttributeCodec<V>,
        unique: Bool = false,
        indexed: Bool = false,
        originalName: String?
    ) {
        properties.append(
            Property(
                name: name,
                originalName: originalName,
                keyPath: keyPath,
                role: .attribute(isUnique: unique, isIndexed: indexed),
                operations: codec.operations
            )
        )
    }
}
