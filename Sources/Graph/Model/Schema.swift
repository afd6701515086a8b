/// The entities of one store, joined: which properties refer where, what is indexed, which row goes by which rule.
///
/// Made once, when a coordinator opens, and shared by everything that touches rows. Entities, properties and indexes are
/// numbered by their place in these arrays.
@usableFromInline
final class Schema: Sendable {
    let entities: [EntityDescription]
    /// The lists of members that no index of rows gives: both sides of many-to-many relationships, and the order of members.
    let linkTables: [LinkTableDescription]
    private let types: [ObjectIdentifier]

    /// - Throws: `GraphError.invalidSchema` with every problem found.
    init(_ declared: [EntityDescription]) throws(GraphError) {
        var assembly = SchemaAssembly(declared)
        assembly.run()
        guard assembly.problems.isEmpty else { throw .invalidSchema(assembly.problems) }
        entities = assembly.entities
        linkTables = assembly.linkTables
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
    let hooks: EntityHooks
    let compounds: [CompoundIndex]
    /// In the order of their declaration, transient ones behind all others.
    var properties: [Property] {
        didSet {
            comparisons = properties.map { Comparison(offset: $0.offset, isIdentical: $0.operations.isIdentical) }
            stringOffsets = properties.filter { $0.valueType == String.self }.map(\.offset)
        }
    }
    /// What comparing two rows takes of the properties.
    private var comparisons: [Comparison] = []
    /// Where rows refer to memory elsewhere, as far as reading some of it is simple.
    private var stringOffsets: [Int] = []
    var transients: [TransientDescription] = []
    var indexes: [IndexDescription] = []
    var toOnes: [ToOneDescription] = []
    var toManys: [ToManyDescription] = []
    /// The relationships of any entity that lead here, those without an inverse included.
    var references: [Reference] = []
    /// The sides of many-to-many relationships that this entity has, by their numbers in the schema.
    var linkLists: [Int] = []
    /// Whether a write of one of its references does more than the row and its indexes show: it changes the row at the other
    /// end too, or gives the row a place in an order.
    var hasCoupledReferences = false
    /// Whether relationships say how many objects they lead to.
    var hasCounts = false

    init<E: Entity>(_ type: E.Type) {
        let schema = E.schema
        name = schema.name
        originalName = schema.originalName
        self.type = type
        layout = schema.layout
        hooks = schema.hooks
        compounds = schema.compounds
        properties = schema.properties
    }

    /// What a declaration says, for a schema to complete: declarations may be used for several.
    init(declaredAs declaration: EntityDescription) {
        name = declaration.name
        originalName = declaration.originalName
        type = declaration.type
        layout = declaration.layout
        hooks = declaration.hooks
        compounds = declaration.compounds
        properties = declaration.properties
    }

    private struct Comparison {
        let offset: Int
        let isIdentical: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    }

    /// Reads a little of a row and of its strings, and gives something that depends on it. While one read waits for memory the
    /// next ones can begin, where copying each string counts a reference, which waits by itself.
    func touch(_ row: UnsafeRawPointer) -> UInt8 {
        var sum = row.load(as: UInt8.self) &+ row.load(fromByteOffset: max(0, layout.stride - 1), as: UInt8.self)
        for offset in stringOffsets {
            sum &+= (row + offset).assumingMemoryBound(to: String.self).pointee.utf8.first ?? 0
        }
        return sum
    }

    /// Whether all stored properties have the same bits.
    func areIdentical(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
        comparisons.allSatisfy { $0.isIdentical(lhs + $0.offset, rhs + $0.offset) }
    }

    /// Gives a row the properties in which one row differs from an older one.
    func takeChanges(from old: UnsafeRawPointer, to new: UnsafeRawPointer, into row: UnsafeMutableRawPointer) {
        for property in properties where !property.isIdentical(in: old, new) { property.copy(from: new, to: row) }
    }

    /// `{ age = 0, name = "fan", school = nil }`: attributes and to-one relationships in the order of declaration.
    ///
    /// - Parameter shortened: whether only the beginning of long values is wanted, as in errors.
    func describe(_ row: UnsafeRawPointer, shortened: Bool = false) -> String {
        let fields = properties.compactMap { property -> String? in
            guard property.isStored else { return nil }
            let value = property.operations.describe(row + property.offset)
            return "\(property.name) = \(shortened ? value.shortened() : value)"
        }
        return "{ " + fields.joined(separator: ", ") + " }"
    }
}

extension EntityDescription {
    /// Replaces a row's transient values by their defaults, which is what every state holds.
    func resetTransients(of row: UnsafeMutableRawPointer) {
        for transient in transients { transient.reset(row + transient.offset) }
    }

    /// Replaces a row's transient values by those of another.
    func copyTransients(from other: UnsafeRawPointer, to row: UnsafeMutableRawPointer) {
        for transient in transients { transient.assign(row + transient.offset, other + transient.offset) }
    }
}

/// A property that objects hold and states do not.
struct TransientDescription: Sendable {
    let offset: Int
    let reset: @Sendable (UnsafeMutableRawPointer) -> Void
    let assign: @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer) -> Void
}

/// An ordered index of one entity: the key of a property, or of several one behind the other, then the row number.
///
/// A class for the reason that `EntityDescription` gives.
final class IndexDescription: Sendable {
    /// A property that the key is made of.
    struct Part: Sendable {
        let property: Int
        let offset: Int
        let key: KeyOperations
        let isIdentical: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    }

    let first: Part
    /// Further properties of a compound index.
    let rest: [Part]
    /// nil where keys may occur twice.
    let uniqueness: UniquenessPolicy?
    /// Rows that refer to nothing are left out of a relationship's index; attributes' indexes hold nil too.
    let skipsNil: Bool

    init(first: Part, rest: [Part] = [], uniqueness: UniquenessPolicy?, skipsNil: Bool = false) {
        self.first = first
        self.rest = rest
        self.uniqueness = uniqueness
        self.skipsNil = skipsNil
    }

    var parts: [Part] { [first] + rest }

    /// Whether two rows have the same key.
    func isIdentical(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
        first.isIdentical(lhs + first.offset, rhs + first.offset)
            && rest.allSatisfy { $0.isIdentical(lhs + $0.offset, rhs + $0.offset) }
    }

    /// Appends a row's key; false if there is a nil in it.
    func appendKey(ofRowAt row: UnsafeRawPointer, to writer: inout ByteWriter) -> Bool {
        var isComplete = first.key.append(row + first.offset, &writer)
        for part in rest where !part.key.append(row + part.offset, &writer) { isComplete = false }
        return isComplete
    }
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
    let isRequired: Bool
    /// The property of the target entity that is the other end, if there is one.
    var inverse: Int?
    /// That end, if it is a to-one relationship too.
    var inverseToOne: Reference?
    /// If that end is an ordered to-many relationship, the link table that holds the order.
    var order: Int?

    var isCoupled: Bool { inverseToOne != nil || order != nil }
}

/// A to-many relationship: the other end's to-one read backwards, or links.
struct ToManyDescription: Sendable {
    /// The owners' entity.
    let entity: Int
    let property: Int
    let offset: Int
    /// The members' entity.
    let source: Int
    /// The members' property that is the other end.
    let inverse: Int
    /// That property's place among the members' `toOnes`; nil if there are links.
    let toOne: Int?
    /// The list of members, if there are links or an order.
    let linkTable: Int?
    let isOrdered: Bool
    let counts: MemberCounts

    func isSame(as other: ToManyDescription) -> Bool { entity == other.entity && property == other.property }
}

/// A to-one relationship that leads to an entity: whose it is, and its place among that entity's `toOnes`.
struct Reference: Hashable, Sendable {
    let entity: Int
    let toOne: Int
}

extension Schema {
    func toOne(_ reference: Reference) -> ToOneDescription { entities[reference.entity].toOnes[reference.toOne] }
}

/// One side of a many-to-many relationship, or the order of a one-to-many relationship.
struct LinkTableDescription: Sendable {
    /// The owners' entity and their property.
    let entity: Int
    let property: Int
    /// The members' entity.
    let members: Int
    let isOrdered: Bool
    /// What happens to members when their owner is deleted.
    let rule: DeleteRule
    /// The other side of a many-to-many relationship, which may be the same one; nil if members refer to the owner.
    let inverse: Int?
    /// The to-one relationship by which members refer to the owner, among those of the members' entity.
    let toOne: Int?

    /// Whether the file lists it. A side without an order follows from the other one.
    func isRecorded(as number: Int) -> Bool {
        isOrdered || inverse.map { number <= $0 } ?? false
    }
}
