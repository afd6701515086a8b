/// What Graph knows about one entity: its name in the file and its stored properties.
///
/// `@Entity` writes it; `Entity` shows how to write it by hand. Every stored property of the struct appears once: as an
/// attribute or a relationship, which the file stores, or as transient. Opening a `Coordinator` checks that, with everything
/// else that a declaration can get wrong, and throws `GraphError.invalidSchema`.
public struct EntitySchema<E: Entity>: Sendable {
    /// The entity's name in the file, in identifiers and in messages.
    public let name: String
    let originalNames: [String]
    @usableFromInline let layout: RowLayout
    @usableFromInline let properties: [Property]
    let compounds: [CompoundIndex]
    let hooks: EntityHooks

    /// Declares an entity.
    ///
    /// - Parameters:
    ///   - originalName: the entity's name in files written before it was renamed. Opening such a file renames the entity in
    ///     it for good; see `Declaration`.
    ///   - declare: calls one method of its argument for each stored property of the struct, in any order. The file stores the
    ///     properties in that order, without transient ones.
    ///
    /// Complexity: O(properties).
    @inlinable
    public init(_ name: String, originalName: OriginalNames = [], _ declare: (inout Declaration) -> Void) {
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
        originalName: OriginalNames,
        layout: RowLayout,
        properties: [Property],
        compounds: [CompoundIndex],
        hooks: EntityHooks
    ) {
        self.name = name
        originalNames = originalName.names
        self.layout = layout
        self.properties = properties
        self.compounds = compounds
        self.hooks = hooks
    }

    /// Collects the properties of an entity.
    ///
    /// A property that the program has renamed says with `originalName` what older files call it:
    ///
    /// ```swift
    /// $0.attribute("fullName", \.fullName, originalName: "name")
    /// ```
    ///
    /// The first opening of such a file records the new names in it, before anything else is saved there. After that the file
    /// needs no original names, and it refuses programs that know only the old ones. A property that was renamed more than once
    /// has several: `originalName: ["name", "label"]`.
    public struct Declaration {
        @usableFromInline var properties: [Property] = []
        @usableFromInline var compounds: [CompoundIndex] = []

        @usableFromInline
        init() {}
    }
}

extension EntitySchema.Declaration {
    /// Declares a property of a type that Graph stores directly.
    ///
    /// Complexity: O(1).
    public mutating func attribute<V: AttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        originalName: OriginalNames = []
    ) {
        add(name, keyPath, V.attributeCodec, originalName: originalName)
    }

    /// Declares a property with an order.
    ///
    /// - Parameters:
    ///   - unique: prevents two objects from having the same value. nil equals nothing.
    ///   - onConflict: what a save does with a new object if another one has its value.
    ///   - indexed: keeps an index, so that look-ups by value, and fetches of the first in its order, need not read every row.
    ///     Unique properties always have one.
    ///   - originalName: the property's name before it was renamed; see `Declaration`. The same in all methods.
    ///
    /// Complexity: O(1).
    public mutating func attribute<V: OrderedAttributeValue>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: OriginalNames = []
    ) {
        add(
            name, keyPath, V.attributeCodec, uniqueness: unique ? onConflict : nil, indexed: indexed,
            originalName: originalName)
    }

    /// Declares a property of an enumeration, or another type with a raw value, stored as its raw value.
    ///
    /// Complexity: O(1).
    public mutating func attribute<V: RawRepresentable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: OriginalNames = []
    ) where V.RawValue: OrderedAttributeValue {
        let codec = AttributeCodec<V>.raw()
        add(name, keyPath, codec, uniqueness: unique ? onConflict : nil, indexed: indexed, originalName: originalName)
    }

    /// Declares an optional property of an enumeration, or another type with a raw value, stored as its raw value.
    ///
    /// Complexity: O(1).
    public mutating func attribute<V: RawRepresentable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V?> & Sendable,
        unique: Bool = false,
        onConflict: UniquenessPolicy = .reject,
        indexed: Bool = false,
        originalName: OriginalNames = []
    ) where V.RawValue: OrderedAttributeValue {
        let codec = AttributeCodec<V>.optional(AttributeCodec<V>.raw())
        add(name, keyPath, codec, uniqueness: unique ? onConflict : nil, indexed: indexed, originalName: originalName)
    }

    /// Declares a property of a type of your own, stored as what it encodes, in CBOR (RFC 8949).
    ///
    /// Two values are the same if they encode the same, whatever the type's `==` says. The type must read what earlier
    /// versions of the program wrote: see <doc:TypesOfYourOwn>.
    ///
    /// Complexity: O(1).
    @_disfavoredOverload
    public mutating func attribute<V: Codable & Equatable & Sendable>(
        _ name: String,
        _ keyPath: any KeyPath<E, V> & Sendable,
        originalName: OriginalNames = []
    ) {
        add(name, keyPath, AttributeCodec<V>.codable(), originalName: originalName)
    }

    /// Declares a reference to one object or none.
    ///
    /// - Parameters:
    ///   - deleteRule: what happens to the target when this object is deleted.
    ///   - minimum: 1 makes the reference required. Without an inverse, a target cannot be deleted then while objects refer to
    ///     it.
    ///
    /// Complexity: O(1).
    public mutating func toOne<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        deleteRule: DeleteRule = .nullify,
        minimum: Int = 0,
        originalName: OriginalNames = []
    ) {
        add(name, keyPath, named: nil, deleteRule, minimum: minimum, originalName: originalName)
    }

    /// Declares a reference to one object or none, and its inverse: many to one or, if the inverse is a reference too, one to
    /// one.
    ///
    /// - Parameters:
    ///   - inverse: the `ToOne` or `ToMany` at the other end; name it on one side only. Writing either writes both.
    ///   - deleteRule: what happens to the target when this object is deleted.
    ///   - minimum: 1 makes the reference required.
    ///
    /// Complexity: O(1).
    public mutating func toOne<Target, Inverse: RelationshipValue<E>>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToOne<Target>> & Sendable,
        inverse: any KeyPath<Target, Inverse> & Sendable,
        deleteRule: DeleteRule = .nullify,
        minimum: Int = 0,
        originalName: OriginalNames = []
    ) {
        add(name, keyPath, named: inverse, deleteRule, minimum: minimum, originalName: originalName)
    }

    /// Declares a to-many relationship whose inverse names it at the other end: the objects that refer to this one, or are
    /// linked to it.
    ///
    /// - Parameters:
    ///   - deleteRule: what happens to those objects when this one is deleted.
    ///   - ordered: whether members have an order of their own, which insertions and moves decide; otherwise they come in the
    ///     order of their insertion into the store.
    ///   - minimum: the fewest members when the object is saved.
    ///   - maximum: the most members when the object is saved; nil sets no limit.
    ///
    /// Complexity: O(1).
    public mutating func toMany<Target>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        minimum: Int = 0,
        maximum: Int? = nil,
        originalName: OriginalNames = []
    ) {
        let counts = MemberCounts(minimum: minimum, maximum: maximum)
        add(name, keyPath, named: nil, deleteRule, ordered, counts, originalName: originalName)
    }

    /// Declares a to-many relationship and its inverse: the objects that refer to this one or, if the inverse is a `ToMany`
    /// too, are linked to it, many to many.
    ///
    /// - Parameters:
    ///   - inverse: the `ToOne` or `ToMany` at the other end; name it on one side only.
    ///   - deleteRule: what happens to those objects when this one is deleted: `.nullify` removes references and links.
    ///   - ordered: whether members have an order of their own, which insertions and moves decide; otherwise they come in the
    ///     order of their insertion into the store.
    ///   - minimum: the fewest members when the object is saved.
    ///   - maximum: the most members when the object is saved; nil sets no limit.
    ///
    /// Complexity: O(1).
    public mutating func toMany<Target, Inverse: RelationshipValue<E>>(
        _ name: String,
        _ keyPath: any KeyPath<E, ToMany<Target>> & Sendable,
        inverse: any KeyPath<Target, Inverse> & Sendable,
        deleteRule: DeleteRule = .nullify,
        ordered: Bool = false,
        minimum: Int = 0,
        maximum: Int? = nil,
        originalName: OriginalNames = []
    ) {
        let counts = MemberCounts(minimum: minimum, maximum: maximum)
        add(name, keyPath, named: inverse, deleteRule, ordered, counts, originalName: originalName)
    }

    /// Declares what a property is in objects that are older than it: in files of an earlier version of the program, or where it
    /// was nil, and is no longer optional. `@Entity` takes the property's initial value.
    ///
    /// - Parameters:
    ///   - keyPath: an attribute that is declared before.
    ///   - value: evaluated for each such object, in any order, on several threads at once.
    ///
    /// Complexity: O(properties).
    public mutating func defaultValue<V: Sendable>(
        of keyPath: any KeyPath<E, V> & Sendable,
        _ value: @autoclosure @escaping @Sendable () -> V
    ) {
        for (number, property) in properties.enumerated() where property.keyPath as AnyKeyPath == keyPath {
            guard case .attribute = property.role else { continue }
            properties[number] = Property(
                property, initializeDefault: { $0.initializeMemory(as: V.self, to: value()) })
        }
    }

    /// Prevents two objects from having the same values of all these properties: attributes with an order, or references to
    /// one object. A combination with nil in it equals nothing.
    ///
    /// - Parameters:
    ///   - properties: their names, in the order in which values are compared.
    ///   - onConflict: what a save does with a new object if another one has the same combination.
    ///
    /// Complexity: O(*k*) for *k* properties.
    public mutating func unique(_ properties: String..., onConflict: UniquenessPolicy = .reject) {
        compounds.append(CompoundIndex(properties: properties, uniqueness: onConflict))
    }

    /// Keeps an index of the combined values of these properties: attributes with an order, or references to one object.
    ///
    /// - Parameter properties: their names, in the order in which values are compared.
    ///
    /// Complexity: O(*k*) for *k* properties.
    public mutating func index(_ properties: String...) {
        compounds.append(CompoundIndex(properties: properties, uniqueness: nil))
    }

    /// Declares a property of any type that objects hold and the store does not: whether a row is selected in a list, for
    /// example.
    ///
    /// ```swift
    /// $0.transient("isSelected", \.isSelected, default: false)
    /// ```
    ///
    /// A value written to an object stays in it as long as the object lives, whatever a save, a refresh or a rollback does to
    /// its other properties. Writing it is no change: Graph does not compare, merge, save or publish it. Everything else sees
    /// the default: fetches and their closures, snapshots, committed values, conflicts, and a new object for the same row.
    ///
    /// The file does not mention transient properties, so a program may add, change and remove them freely.
    ///
    /// - Parameter value: evaluated for each row that is written or read from the file.
    ///
    /// Complexity: O(1).
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
        originalName: OriginalNames
    ) {
        properties.append(
            Property(
                name: name,
                originalNames: originalName.names,
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
        originalName: OriginalNames
    ) {
        let counts = MemberCounts(minimum: minimum)
        properties.append(
            Property(
                name: name,
                originalNames: originalName.names,
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
        originalName: OriginalNames
    ) {
        properties.append(
            Property(
                name: name,
                originalNames: originalName.names,
                keyPath: keyPath,
                role: .toMany(
                    .init(target: Target.self, inverse: inverse, rule: rule, isOrdered: isOrdered, counts: counts)
                ),
                operations: ToMany<Target>.operations,
                takeInitialRows: { address in
                    let value = address.assumingMemoryBound(to: ToMany<Target>.self)
                    guard let rows = value.pointee.initialRows else { return nil }
                    value.pointee = ToMany(stored: ())
                    return rows
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
