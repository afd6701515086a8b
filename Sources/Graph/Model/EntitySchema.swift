/// What Graph knows of one entity: its name in the file and its stored properties.
///
/// `@Entity` writes it; see `Entity` for how to do so by hand. Every stored property of the struct appears once: as an
/// attribute or a relationship, which the file holds, or as transient. That is checked, with everything else a
/// declaration can get wrong, when a `Coordinator` opens, and reported as `GraphError.invalidSchema`.
public struct EntitySchema<E: Entity>: Sendable {
    /// The entity's name in the file, in identifiers and in messages.
    public let name: String
    let originalName: String?
    @usableFromInline let layout: RowLayout
    @usableFromInline let properties: [Property]
    let compounds: [CompoundIndex]
    let hooks: EntityHooks

    /// - Parameters:
    ///   - originalName: what the entity was called when files were written that are still to be opened. Opening one
    ///     renames the entity in it for good; see `Declaration`.
    ///   - declare: calls one method of its argument for each stored property of the struct, in any order. Rows are
    ///     written to the file in that order, without what is transient.
    @inlinable
    public init(_ name: String, originalName: String? = nil, _ declare: (inout Declaration) -> Void) {
        var declaration = Declaration()
        declare(&declaration)
        self.init(
            name: name,
            originalName: originalName,
            layout: RowLayout(E.self),
            properties: declaration.properties,
            compounds: declaration.compounds,
            hooks: EntityHooks(E.self)
        )
    }

    @usableFromInline
    init(
        name: String,
        originalName: String?,
        layout: RowLayout,
        properties: [Property],
        compounds: [CompoundIndex],
        hooks: EntityHooks
    ) {
        self.name = name
        self.originalName = originalName
        self.layout = layout
        self.properties = properties
        self.compounds = compounds
        self.hooks = hooks
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
        @usableFromInline var compounds: [CompoundIndex] = []

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
    ///   - unique: keeps two objects from having the same value. nil equals nothing.
    ///   - onConflict: what a save does with a new object whose value another one has.
    ///   - indexed: keeps an index, so that look-ups by value, and fetches of the first in its order, need
    ///     not read every row. Unique properties have one anyway.
    ///   - originalName: what the property was called before it was renamed; see `Declaration`. So in all methods.
    public mutating func attribute<V: OrderedAttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: String? = nil
    ) {
        add(
            name, keyPath, V.attributeCodec, uniqueness: unique ? onConflict : nil, indexed: indexed,
            originalName: originalName)
    }

    /// A property of an enumeration (or other type) that has a raw value, stored as that.
    public mutating func attribute<V: RawRepresentable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: String? = nil
    ) where V.RawValue: OrderedAttributeValue {
        let codec = AttributeCodec<V>.raw()
        add(name, keyPath, codec, uniqueness: unique ? onConflict : nil, indexed: indexed, originalName: originalName)
    }

    /// An optional property of an enumeration (or other type) that has a raw value, stored as that.
    public mutating func attribute<V: RawRepresentable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V?> & Sendable,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: String? = nil
    ) where V.RawValue: OrderedAttributeValue {
        let codec = AttributeCodec<V>.optional(AttributeCodec<V>.raw())
        add(name, keyPath, codec, uniqueness: unique ? onConflict : nil, indexed: indexed, originalName: originalName)
    }

    /// A property of a type of your own, stored as what it encodes, in CBOR (RFC 8949).
    ///
    /// Two values are the same if they encode the same, whatever the type's `==` says. A store must be able to read what earlier
    /// versions of the program wrote: see <doc:TypesOfYourOwn>.
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
    ///   - deleteRule: what happens to the object referred to when this one is deleted.
    ///   - minimum: 1 makes the reference a required one. Where no relationship of its target is the inverse, the
    ///     target can then not be deleted.
    public mutating func toOne<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        deleteRule: DeleteRule = .nullify,
        minimum: Int = 0,
        originalName: String? = nil
    ) {
        add(name, keyPath, named: nil, deleteRule, minimum: minimum, originalName: originalName)
    }

    /// A reference to one object or none, and the relationship at the other end: many to one or, where that is a
    /// reference too, one to one.
    ///
    /// - Parameters:
    ///   - inverse: the `ToOne` or `ToMany` at the other end; name it on one side only. Writing either writes both.
    ///   - deleteRule: what happens to the object referred to when this one is deleted.
    ///   - minimum: 1 makes the reference a required one.
    public mutating func toOne<Target, Inverse: RelationshipValue<E>>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        inverse: any KeyPath<Target, Inverse> & Sendable,
        deleteRule: DeleteRule = .nullify,
        minimum: Int = 0,
        originalName: String? = nil
    ) {
        add(name, keyPath, named: inverse, deleteRule, minimum: minimum, originalName: originalName)
    }

    /// The objects that refer to this one, or are linked to it, where the relationship at the other end names this one
    /// as its inverse.
    ///
    /// - Parameters:
    ///   - deleteRule: what happens to those objects when this one is deleted.
    ///   - ordered: whether members have an order of their own, which insertions and moves decide; otherwise they come in the
    ///     order of their insertion into the store.
    ///   - minimum: how many there are at least when the object is saved.
    ///   - maximum: how many there are at most when the object is saved; nil sets no limit.
    public mutating func toMany<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        minimum: Int = 0,
        maximum: Int? = nil,
        originalName: String? = nil
    ) {
        let counts = MemberCounts(minimum: minimum, maximum: maximum)
        add(name, keyPath, named: nil, deleteRule, ordered, counts, originalName: originalName)
    }

    /// The objects that refer to this one or, where the relationship at the other end is a `ToMany` too, are linked to
    /// it: many to many.
    ///
    /// - Parameters:
    ///   - inverse: the `ToOne` or `ToMany` at the other end; name it on one side only.
    ///   - deleteRule: what happens to those objects when this one is deleted: `.nullify` ends references and links.
    ///   - ordered: whether members have an order of their own, which insertions and moves decide; otherwise they come in the
    ///     order of their insertion into the store.
    ///   - minimum: how many there are at least when the object is saved.
    ///   - maximum: how many there are at most when the object is saved; nil sets no limit.
    public mutating func toMany<Target, Inverse: RelationshipValue<E>>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        inverse: any KeyPath<Target, Inverse> & Sendable,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        minimum: Int = 0,
        maximum: Int? = nil,
        originalName: String? = nil
    ) {
        let counts = MemberCounts(minimum: minimum, maximum: maximum)
        add(name, keyPath, named: inverse, deleteRule, ordered, counts, originalName: originalName)
    }

    /// Keeps two objects from having the same values of all these properties: attributes with an order, or references to one
    /// object. A combination with nil in it equals nothing.
    ///
    /// - Parameters:
    ///   - properties: their names, in the order in which they are compared.
    ///   - onConflict: what a save does with a new object whose combination another one has.
    public mutating func unique(_ properties: String..., onConflict: UniquenessPolicy = .reject) {
        compounds.append(CompoundIndex(properties: properties, uniqueness: onConflict))
    }

    /// Keeps an index of the combined values of these properties: attributes with an order, or references to one object.
    ///
    /// - Parameter properties: their names, in the order in which they are compared.
    public mutating func index(_ properties: String...) {
        compounds.append(CompoundIndex(properties: properties, uniqueness: nil))
    }

    /// A property of the program's own, of any type, that objects hold and the store does not: whether a row is selected
    /// in a list, say.
    ///
    /// ```swift
    /// $0.transient("isSelected", \.isSelected, default: false)
    /// ```
    ///
    /// A value written to an object stays in it for as long as the object lives, whatever a save, a refresh or a rollback
    /// does to its other properties. It is no change: it is not compared, merged, saved or published. All others see the
    /// default: fetches and their closures, snapshots, committed values, conflicts, and an object made anew.
    ///
    /// The file knows nothing of it, so that a program may add, change and remove transient properties freely.
    ///
    /// - Parameter value: evaluated for each row that is written or read from the file.
    public mutating func transient<V: Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        default value: @autoclosure @escaping @Sendable () -> V
    ) {
        properties.append(
            Property(
                name: name,
                keyPath: keyPath,
                role: .transient(reset: { $0.assumingMemoryBound(to: V.self).pointee = value() }),
                operations: AttributeCodec<V>.transient(default: value).operations
            )
        )
    }

    private mutating func add<V>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        _ codec: AttributeCodec<V>,
        uniqueness: UniquenessPolicy? = nil,
        indexed: Bool = false,
        originalName: String?
    ) {
        properties.append(
            Property(
                name: name,
                originalName: originalName,
                keyPath: keyPath,
                role: .attribute(uniqueness: uniqueness, isIndexed: indexed),
                operations: codec.operations
            )
        )
    }

    private mutating func add<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        named inverse: (any AnyKeyPath & Sendable)?,
        _ rule: DeleteRule,
        minimum: Int,
        originalName: String?
    ) {
        let counts = MemberCounts(minimum: minimum)
        properties.append(
            Property(
                name: name,
                originalName: originalName,
                keyPath: keyPath,
                role: .toOne(.init(target: Target.self, inverse: inverse, rule: rule, counts: counts)),
                operations: ToOne<Target>.operations
            )
        )
    }

    private mutating func add<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        named inverse: (any AnyKeyPath & Sendable)?,
        _ rule: DeleteRule,
        _ isOrdered: Bool,
        _ counts: MemberCounts,
        originalName: String?
    ) {
        properties.append(
            Property(
                name: name,
                originalName: originalName,
                keyPath: keyPath,
                role: .toMany(
                    .init(target: Target.self, inverse: inverse, rule: rule, isOrdered: isOrdered, counts: counts)
                ),
                operations: ToMany<Target>.operations,
                takeInitialRows: { address in
                    let value = address.assumingMemoryBound(to: ToMany<Target>.self)
                    guard let ids = value.pointee.initialIDs else { return nil }
                    value.pointee = ToMany(stored: ())
                    return ids.map { $0.row }
                }
            )
        )
    }
}

/// A constraint or an index over several properties, as declared.
@usableFromInline
struct CompoundIndex: Sendable {
    let properties: [String]
    /// nil for an index without a constraint.
    let uniqueness: UniquenessPolicy?
}
