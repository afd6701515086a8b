/// The entities of one store, joined: which properties refer where, what is indexed, which row goes by which rule.
///
/// Made once, when a coordinator opens, and shared by everything that touches rows. Entities, properties and indexes are
/// numbered by their place in these arrays.
@usableFromInline
final class Schema: Sendable {
    let entities: [EntityDescription]
    private let types: [ObjectIdentifier]

    /// - Throws: `GraphError.invalidSchema` with every problem found.
    init(_ declared: [EntityDescription]) throws(GraphError) {
        var assembly = SchemaAssembly(declared)
        assembly.run()
        guard assembly.problems.isEmpty else { throw .invalidSchema(assembly.problems) }
        entities = assembly.entities
        types = entities.map { ObjectIdentifier($0.type) }
    }

    /// The entity's number, or nil if the store does not have it. Stores have few entities; a search of their types
    /// takes less time than hashing one.
    @usableFromInline
    func index(of type: any Entity.Type) -> Int? {
        let type = ObjectIdentifier(type)
        return types.firstIndex { $0 == type }
    }

    func index(named name: String) -> Int? {
        entities.firstIndex { $0.name == name }
    }
}

/// One entity of a store.
///
/// A class, because every change of a row looks something up here, and a copy would retain each array. Sendable without the
/// compiler's proof: it is changed by `SchemaAssembly` alone, which makes it, before the schema is anybody's.
final class EntityDescription: @unchecked Sendable {
    let name: String
    /// What older files call it, if that is something else.
    let originalName: String?
    let type: any Entity.Type
    let layout: RowLayout
    /// In the order of their declaration, ephemeral ones behind all others.
    var properties: [Property]
    var ephemerals: [EphemeralDescription] = []
    var indexes: [IndexDescription] = []
    var toOnes: [ToOneDescription] = []
    var toManys: [ToManyDescription] = []
    /// The relationships of any entity that lead here, those without an inverse included.
    var references: [Reference] = []

    init<E: Entity>(_ type: E.Type) {
        let schema = E.schema
        name = schema.name
        originalName = schema.originalName
        self.type = type
        layout = schema.layout
        properties = schema.properties
    }

    /// What a declaration says, for a schema to complete: declarations may be used for several.
    init(declaredAs declaration: EntityDescription) {
        name = declaration.name
        originalName = declaration.originalName
        type = declaration.type
        layout = declaration.layout
        properties = declaration.properties
    }

    /// `{ age = 0, name = "fan", school = nil }`: attributes and to-one relationships in the order of declaration.
    func describe(_ row: UnsafeRawPointer) -> String {
        let fields = properties.compactMap { property -> String? in
            guard property.isStored else { return nil }
            return "\(property.name) = \(property.operations.describe(row + property.offset))"
        }
        return "{ " + fields.joined(separator: ", ") + " }"
    }
}

extension EntityDescription {
    /// Replaces a row's ephemeral values by their defaults, which is what every state holds.
    func resetEphemerals(of row: UnsafeMutableRawPointer) {
        for ephemeral in ephemerals { ephemeral.reset(row + ephemeral.offset) }
    }

    /// Replaces a row's ephemeral values by those of another.
    func copyEphemerals(from other: UnsafeRawPointer, to row: UnsafeMutableRawPointer) {
        for ephemeral in ephemerals { ephemeral.assign(row + ephemeral.offset, other + ephemeral.offset) }
    }
}

/// A property that objects hold and states do not.
struct EphemeralDescription: Sendable {
    let offset: Int
    let reset: @Sendable (UnsafeMutableRawPointer) -> Void
    let assign: @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer) -> Void
}

/// An ordered index of one entity: the key of a property, then the row number.
struct IndexDescription: Sendable {
    let property: Int
    let offset: Int
    let key: KeyOperations
    let isIdentical: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    let isUnique: Bool
    /// Rows that refer to nothing are left out of a relationship's index; attributes' indexes hold nil too.
    let skipsNil: Bool
}

/// A to-one relationship and the index that lists, for each target, who refers to it.
struct ToOneDescription: Sendable {
    let property: Int
    let offset: Int
    let target: Int
    let index: Int
    /// What happens to the rows that refer to a target when the target is deleted.
    var ruleOfInverse: DeleteRule = .nullify
    /// What happens to the target when a row that refers to it is deleted.
    let ruleOfOwner: DeleteRule
    /// The to-many property of the target entity, if there is one.
    var inverse: Int?
}

/// A to-many relationship: the other end's to-one, read backwards.
struct ToManyDescription: Sendable {
    let property: Int
    let offset: Int
    let source: Int
    let toOne: Int
}

/// A to-one relationship that leads to an entity: whose it is, and its place among that entity's `toOnes`.
struct Reference: Sendable {
    let entity: Int
    let toOne: Int
}
