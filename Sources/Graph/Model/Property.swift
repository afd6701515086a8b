/// One stored property of an entity, without its types: its offset in a row, and the operations on its value.
///
/// The offset comes from the type's metadata and was checked against the key path when the coordinator opened, so a row's
/// address plus the offset is the address of a value of the property's type.
///
/// A class, because rows are read and written in loops over their properties: a structure of a dozen references would be copied
/// for each value.
@usableFromInline
final class Property: Sendable {
    @usableFromInline
    enum Role: Sendable {
        /// `uniqueness` is nil if values may repeat.
        case attribute(uniqueness: UniquenessPolicy?, isIndexed: Bool)
        case toOne(Relationship)
        case toMany(Relationship)
        /// `reset` replaces the value at an address by the default.
        case transient(reset: @Sendable (UnsafeMutableRawPointer) -> Void)
    }

    /// A relationship as declared.
    @usableFromInline
    struct Relationship: Sendable {
        let target: any Entity.Type
        /// The property at the other end, if it is named here.
        let inverse: (any AnyKeyPath & Sendable)?
        let rule: DeleteRule
        var isOrdered = false
        let counts: MemberCounts
    }

    let name: String
    /// The names in older files, if those are others, the newest first.
    let originalNames: [String]
    let keyPath: any AnyKeyPath & Sendable
    let valueType: any Any.Type
    let sizeBytes: Int
    let alignment: Int
    /// nil if the key path does not lead to plain storage, as with a property that has observers.
    let keyPathOffset: Int?
    /// The property's offset in a row, once the schema is assembled.
    let offset: Int
    let role: Role
    let operations: AttributeOperations
    /// Takes the initial rows out of a to-many value; nil if it has none. Only for to-many relationships.
    let takeInitialRows: (@Sendable (UnsafeMutableRawPointer) -> [RowNumber]?)?
    /// Initializes memory with the value of objects that are older than the property; nil if the declaration has none.
    let initializeDefault: (@Sendable (UnsafeMutableRawPointer) -> Void)?

    init<E, V>(
        name: String,
        originalNames: [String] = [],
        keyPath: any KeyPath<E, V> & Sendable,
        role: Role,
        operations: AttributeOperations,
        takeInitialRows: (@Sendable (UnsafeMutableRawPointer) -> [RowNumber]?)? = nil
    ) {
        self.name = name
        self.originalNames = originalNames
        self.keyPath = keyPath
        valueType = V.self
        sizeBytes = MemoryLayout<V>.size
        alignment = MemoryLayout<V>.alignment
        keyPathOffset = MemoryLayout<E>.offset(of: keyPath)
        offset = 0
        self.role = role
        self.operations = operations
        self.takeInitialRows = takeInitialRows
        initializeDefault = nil
    }

    /// A property that no type of the program declares.
    init<V>(undeclared name: String, _ type: V.Type, _ role: Role, _ operations: AttributeOperations) {
        self.name = name
        originalNames = []
        keyPath = \UndeclaredEntity.self
        valueType = V.self
        sizeBytes = MemoryLayout<V>.size
        alignment = MemoryLayout<V>.alignment
        keyPathOffset = nil
        offset = 0
        self.role = role
        self.operations = operations
        takeInitialRows = nil
        initializeDefault = nil
    }

    /// The property at its place, or with names or a default.
    init(
        _ property: Property,
        at offset: Int = 0,
        originalNames: [String]? = nil,
        initializeDefault: (@Sendable (UnsafeMutableRawPointer) -> Void)? = nil
    ) {
        name = property.name
        self.originalNames = originalNames ?? property.originalNames
        keyPath = property.keyPath
        valueType = property.valueType
        sizeBytes = property.sizeBytes
        alignment = property.alignment
        keyPathOffset = property.keyPathOffset
        self.offset = offset
        role = property.role
        operations = property.operations
        takeInitialRows = property.takeInitialRows
        self.initializeDefault = initializeDefault ?? property.initializeDefault
    }

    /// Whether rows hold it: not a to-many relationship, which its members hold, and not a transient property, which belongs to
    /// the objects.
    var isStored: Bool {
        switch role {
        case .attribute, .toOne: true
        case .toMany, .transient: false
        }
    }

    /// The name, then those that older files may have.
    var knownNames: [String] { [name] + originalNames }

    var isTransient: Bool {
        if case .transient = role { true } else { false }
    }

    var relationship: Relationship? {
        switch role {
        case .toOne(let relationship), .toMany(let relationship): relationship
        case .attribute, .transient: nil
        }
    }
}

/// The allowed numbers of objects in a relationship.
struct MemberCounts: Sendable, Equatable {
    var minimum = 0
    var maximum: Int?

    static let any = MemberCounts()

    var isAny: Bool { self == .any }

    func contains(_ count: Int) -> Bool {
        count >= minimum && count <= maximum ?? .max
    }
}

extension ToOne {
    /// The row number, 0 for none. The key is the bare number, so that an index lists each target's referrers.
    static var operations: AttributeOperations {
        AttributeCodec<ToOne>(
            kind: "to-one",
            encode: { $1.appendVarint($0.row) },
            decode: { reader in
                var value = ToOne(nil)
                value.row = try reader.readVarint()
                return value
            },
            isIdentical: { $0.row == $1.row }
        ).ordered(
            by: { $0.row < $1.row },
            appendKey: { value, key in
                key.appendBigEndian(value.row)
                return value.row != 0
            }
        ).operations
    }
}

extension ToMany {
    /// Rows hold nothing for it.
    static var operations: AttributeOperations {
        AttributeCodec<ToMany>(
            kind: "to-many",
            encode: { _, _ in },
            decode: { _ in ToMany(stored: ()) },
            isIdentical: { _, _ in true },
            describe: { _ in "…" }
        ).operations
    }
}

extension AttributeCodec {
    /// Rows hold the default and records nothing, so no two rows differ in it.
    static func transient(default value: @escaping @Sendable () -> Value) -> AttributeCodec {
        AttributeCodec(
            kind: "transient",
            encode: { _, _ in },
            decode: { _ in value() },
            isIdentical: { _, _ in true }
        )
    }
}

extension Property {
    /// Whether two rows have the same bits in it.
    func isIdentical(in lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer) -> Bool {
        operations.isIdentical(lhs + offset, rhs + offset)
    }

    /// Copies the value from one row to another.
    func copy(from source: UnsafeRawPointer, to row: UnsafeMutableRawPointer) {
        operations.assign(row + offset, source + offset)
    }
}
