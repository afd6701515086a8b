/// The entities of one store, joined: which properties refer where, what is indexed, and which rules apply.
///
/// Made once, when a coordinator opens, and shared by everything that touches rows. Entities, properties and indexes are
/// numbered by their position in these arrays.
@usableFromInline
final class Schema: Sendable {
    let entities: [EntityDescription]
    /// Members that no index of rows lists: both sides of many-to-many relationships, and orders.
    let linkTables: [LinkTableDescription]
    private let types: [ObjectIdentifier]

    /// - Throws: `GraphError.invalidSchema` with every problem found.
    convenience init(_ declared: [EntityDescription]) throws(GraphError) {
        var assembly = SchemaAssembly(declared)
        assembly.run()
        try self.init(assembly)
    }

    /// - Throws: `GraphError.invalidSchema` with every problem found.
    init(_ assembly: SchemaAssembly) throws(GraphError) {
        guard assembly.problems.isEmpty else { throw .invalidSchema(assembly.problems) }
        entities = assembly.entities.map { EntityDescription($0) }
        linkTables = assembly.linkTables
        types = entities.map { ObjectIdentifier($0.type) }
    }

    /// The entity's number, or nil if the store does not have it. Stores have few entities; a linear search takes less time
    /// than hashing a type.
    @usableFromInline
    func index(of type: any Entity.Type) -> Int? {
        let type = ObjectIdentifier(type)
        return types.firstIndex { $0 == type }
    }

    /// By entity, the first row number of a new store.
    var firstRows: [RowNumber] { entities.map { _ in 1 } }

    func index(named name: String) -> Int? {
        entities.firstIndex { $0.name == name }
    }
}

/// One entity of a store, or one that is only declared, which knows nothing of others yet.
///
/// A class, because every change of a row reads it, and a copy would retain each array.
final class EntityDescription: Sendable {
    let name: String
    /// The names in older files, if those are others, the newest first.
    let originalNames: [String]
    let type: any Entity.Type
    let layout: RowLayout
    let hooks: EntityHooks
    let compounds: [CompoundIndex]
    /// In the order of their declaration; in a store transient ones behind all others.
    let properties: [Property]
    /// How to compare the properties of two rows.
    private let comparisons: [Comparison]
    /// The offsets of strings, whose memory `touch` can read easily.
    private let stringOffsets: [Int]
    let transients: [TransientDescription]
    let indexes: [IndexDescription]
    let equalityIndexes: [EqualityIndex]
    let toOnes: [ToOneDescription]
    let toManys: [ToManyDescription]
    /// All relationships of any entity that lead here, including those without an inverse.
    let references: [Reference]
    /// The link tables of this entity's sides of many-to-many relationships, by their numbers in the schema.
    let linkTables: [Int]
    /// Whether writing a reference of this entity may change another row or an order.
    let hasInversesToMaintain: Bool
    /// Whether relationships limit how many objects they lead to.
    let hasCounts: Bool

    convenience init<E: Entity>(_ type: E.Type) {
        let schema = E.schema
        self.init(
            EntityDraft(
                name: schema.name, originalNames: schema.originalNames, type: type, layout: schema.layout,
                hooks: schema.hooks, compounds: schema.compounds, properties: schema.properties))
    }

    init(_ draft: EntityDraft) {
        name = draft.name
        originalNames = draft.originalNames
        type = draft.type
        layout = draft.layout
        hooks = draft.hooks
        compounds = draft.compounds
        properties = draft.properties
        comparisons = properties.map { Comparison(offset: $0.offset, isIdentical: $0.operations.isIdentical) }
        stringOffsets = properties.filter { $0.valueType == String.self }.map(\.offset)
        transients = draft.transients
        indexes = draft.indexes
        equalityIndexes = draft.equalityIndexes
        toOnes = draft.toOnes
        toManys = draft.toManys
        references = draft.references
        linkTables = draft.linkTables
        hasInversesToMaintain = draft.hasInversesToMaintain
        hasCounts = draft.hasCounts
    }

    private struct Comparison: Sendable {
        let offset: Int
        let isIdentical: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    }

    /// Reads a little of a row and of its strings, and returns a value that depends on it. While one such read waits for memory
    /// the next ones can begin; copying each string would count a reference, which waits by itself.
    func touch(_ row: UnsafeRawPointer) -> UInt8 {
        var sum = row.load(as: UInt8.self) &+ row.load(fromByteOffset: max(0, layout.stride - 1), as: UInt8.self)
        for offset in stringOffsets {
            sum &+= (row + offset).assumingMemoryBound(to: String.self).pointee.utf8.first ?? 0
        }
        return sum
    }

    /// Touches rows that lie anywhere, before they are read one after another: the processor then waits for all of them at once.
    func touch(_ rows: [UnsafeRawPointer]) {
        withExtendedLifetime(rows.reduce(0) { $0 &+ touch($1) }) {}
    }

    /// Whether all stored properties have the same bits.
    func areIdentical(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
        comparisons.allSatisfy { $0.isIdentical(lhs + $0.offset, rhs + $0.offset) }
    }

    /// Copies the properties in which `new` differs from `old` into a row.
    func takeChanges(from old: UnsafeRawPointer, to new: UnsafeRawPointer, into row: UnsafeMutableRawPointer) {
        for property in properties where !property.isIdentical(in: old, new) { property.copy(from: new, to: row) }
    }

    /// `{ age = 0, name = "fan", school = nil }`: attributes and to-one relationships in the order of declaration.
    ///
    /// - Parameter shortened: whether long values are cut, as in errors.
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
    /// The name, then those that older files may have.
    var knownNames: [String] { [name] + originalNames }

    /// Replaces a row's transient values by their defaults, as in every state.
    func resetTransients(of row: UnsafeMutableRawPointer) {
        for transient in transients { transient.reset(row + transient.offset) }
    }

    /// Replaces a row's transient values by those of another.
    func copyTransients(from other: UnsafeRawPointer, to row: UnsafeMutableRawPointer) {
        for transient in transients { transient.assign(row + transient.offset, other + transient.offset) }
    }
}

/// An index of one property, values of which are equal if, and only if, their keys are.
struct EqualityIndex: Sendable {
    let number: Int
    /// Those of the property.
    let offset: Int
    let type: ObjectIdentifier
    /// Whether the index leaves out rows with nil, as that of a reference does.
    let skipsNil: Bool
    let append: @Sendable (UnsafeRawPointer, inout ByteWriter) -> Bool
}

/// A property that objects hold and states do not.
struct TransientDescription: Sendable {
    let offset: Int
    let reset: @Sendable (UnsafeMutableRawPointer) -> Void
    let assign: @Sendable (UnsafeMutableRawPointer, UnsafeRawPointer) -> Void
}

/// An ordered index of one entity: the key of a property, or of several one after another, then the row number.
///
/// A class for the same reason as `EntityDescription`.
final class IndexDescription: Sendable {
    /// A property of the key.
    struct Part: Sendable {
        let property: Int
        let offset: Int
        let key: KeyOperations
        let isIdentical: @Sendable (UnsafeRawPointer, UnsafeRawPointer) -> Bool
    }

    let first: Part
    /// Further properties of a compound index.
    let rest: [Part]
    /// nil if keys may repeat.
    let uniqueness: UniquenessPolicy?
    /// Whether rows with nil are left out, as in a relationship's index; attributes' indexes hold nil too.
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

/// A to-one relationship and the index of each target's referrers.
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
    /// The inverse property of the target entity, if there is one.
    var inverse: Int?
    /// The inverse, if it is a to-one relationship too.
    var inverseToOne: Reference?
    /// The link table with the order, if the inverse is an ordered to-many relationship.
    var order: Int?

    var hasInverseToMaintain: Bool { inverseToOne != nil || order != nil }
}

/// A to-many relationship: the inverse of a to-one, or links.
struct ToManyDescription: Sendable {
    /// The owners' entity.
    let entity: Int
    let property: Int
    let offset: Int
    /// The members' entity.
    let source: Int
    /// The inverse property of the members' entity.
    let inverse: Int
    /// The inverse's number among the members' `toOnes`; nil if there are links.
    let toOne: Int?
    /// The link table, if there are links or an order.
    let linkTable: Int?
    let isOrdered: Bool
    let counts: MemberCounts

    func isSame(as other: ToManyDescription) -> Bool { entity == other.entity && property == other.property }
}

/// A to-one relationship that leads to an entity: its own entity, and its number among that one's `toOnes`.
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
    /// The inverse link table of a many-to-many relationship, perhaps the same one; nil if members refer to the owner.
    let inverse: Int?
    /// The to-one relationship from members to the owner, by its number among the `toOnes` of the members' entity.
    let toOne: Int?

    /// Whether the file records it. A side without an order follows from the other one.
    func isRecorded(as number: Int) -> Bool {
        isOrdered || inverse.map { number <= $0 } ?? false
    }
}
