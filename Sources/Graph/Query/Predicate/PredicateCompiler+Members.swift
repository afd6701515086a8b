#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PredicateCompiler {
    /// What a key path leads to from a term.
    func member<Root, V>(_ keyPath: KeyPath<Root, V>, of root: Term<Root>) throws -> Term<V> {
        if let type = Root.self as? any Entity.Type, let column = root.column, column.slot.entity != nil,
            column.path.isEmpty, column.offset == 0, schema.index(of: type) == column.slot.entity
        {
            return try property(keyPath, of: column.slot, root)
        }
        if let type = Root.self as? any RelationshipNavigating.Type {
            return try related(type, keyPath, of: root)
        }
        var term = computed(keyPath, of: root)
        // A stored part of a struct that is a property.
        if let column = root.column, column.path.isEmpty, let offset = MemoryLayout<Root>.offset(of: keyPath) {
            term.column = Column(slot: column.slot, property: nil, offset: column.offset + offset)
        }
        return term
    }

    private func property<Root, V>(_ keyPath: KeyPath<Root, V>, of slot: RowSlot, _ root: Term<Root>) throws -> Term<V>
    {
        guard let entity = slot.entity else { return computed(keyPath, of: root) }
        guard let id = schema.property(keyPath, of: entity) else {
            var term = computed(keyPath, of: root)
            if let offset = MemoryLayout<Root>.offset(of: keyPath) {
                term.column = Column(slot: slot, property: nil, offset: offset)
            }
            return term
        }
        let property = schema.entities[entity].properties[id.property]
        let column = Column(slot: slot, property: id, offset: property.offset)
        let offset = property.offset
        var term = Term<V>(source: root.source, column: column) {
            (slot.address + offset).assumingMemoryBound(to: V.self).pointee
        }
        switch property.role {
        case .toOne where slot === self.root: term.source = .target(column)
        case .toMany:
            guard slot.isRow else {
                throw GraphError.predicateNotSupported(
                    "the members of a value that filter() or a closure has copied; ask for them in the filter's own closure"
                )
            }
            term.members = MemberSource(of: schema.toMany(id)) { slot.number }
        default: break
        }
        return term
    }

    /// What Swift reads by a key path: perhaps code of the program, which may follow references.
    func computed<Root, V>(_ keyPath: KeyPath<Root, V>, of root: Term<Root>) -> Term<V> {
        if let type = Root.self as? any IntegerRange.Type, keyPath == type.countKeyPath {
            return noting(count(type, of: root))
        }
        var term = root.mapped { $0[keyPath: keyPath] }
        guard MemoryLayout<Root>.offset(of: keyPath) == nil else { return term }
        if case .nothing = root.source {
            // The same for all rows and all states, unless it leads on from a reference.
            let searched = SearchedState(scope.snapshot)
            _ = SearchedState.current.withValue(searched) { term.constant }
            if searched.followed.isEmpty { return term }
            term.source = .row
        }
        scope.callsProgram()
        return term
    }

    /// - Precondition: `Range` and `Root` are the same type, and `V` is `Int`.
    private func count<Range: IntegerRange, Root, V>(_ type: Range.Type, of root: Term<Root>) -> Term<V> {
        root.mapped { root in
            let range = unsafeBitCast(root, to: Range.self)
            guard let count = range.countIfExact else { throw PredicateFailure("no Int is the count of \(range)") }
            return unsafeBitCast(count, to: V.self)
        }
    }

    private func related<Navigation: RelationshipNavigating, Root, V>(
        _ type: Navigation.Type, _ keyPath: KeyPath<Root, V>, of root: Term<Root>
    ) throws -> Term<V> {
        guard let root = root as? Term<Navigation>, let keyPath = keyPath as? KeyPath<Navigation, V> else {
            preconditionFailure("\(Root.self) is \(type)")
        }
        return try Navigation.term(keyPath, of: root, self)
    }
}

extension Schema {
    fileprivate func property<Root, V>(_ keyPath: KeyPath<Root, V>, of entity: Int) -> PropertyID? {
        entities[entity].property(at: keyPath).map { PropertyID(entity: entity, property: $0) }
    }

    fileprivate func toMany(_ id: PropertyID) -> ToManyDescription {
        guard let found = entities[id.entity].toManys.first(where: { $0.property == id.property }) else {
            preconditionFailure("the schema lists each relationship")
        }
        return found
    }
}

/// A range whose count, as the standard library takes it, stops the program if it is too large.
private protocol IntegerRange {
    static var countKeyPath: AnyKeyPath { get }
    var countIfExact: Int? { get }
}

extension Range: IntegerRange where Bound: FixedWidthInteger {
    static var countKeyPath: AnyKeyPath { \Self.count }
    var countIfExact: Int? { lowerBound.distanceIfExact(upTo: upperBound) }
}

extension ClosedRange: IntegerRange where Bound: FixedWidthInteger {
    static var countKeyPath: AnyKeyPath { \Self.count }
    var countIfExact: Int? {
        lowerBound.distanceIfExact(upTo: upperBound).flatMap { $0 < Int.max ? $0 + 1 : nil }
    }
}

extension FixedWidthInteger {
    /// - Precondition: the bound is not less.
    fileprivate func distanceIfExact(upTo bound: Self) -> Int? {
        Int(exactly: Magnitude(truncatingIfNeeded: bound) &- Magnitude(truncatingIfNeeded: self))
    }
}

/// The owner whose members a term is, and their relationship.
struct MemberSource {
    let relationship: ToManyDescription
    /// 0 for no owner, where a reference leads to no object.
    let owner: () throws -> RowNumber

    init(of relationship: ToManyDescription, _ owner: @escaping () throws -> RowNumber) {
        (self.relationship, self.owner) = (relationship, owner)
    }
}

/// `ToOne` and `ToMany`, whose members a predicate reads in the searched state.
protocol RelationshipNavigating {
    static func term<V>(
        _ keyPath: KeyPath<Self, V>, of root: Term<Self>, _ compiler: PredicateCompiler
    ) throws -> Term<V>
}

extension ToOne: RelationshipNavigating {
    static func term<V>(
        _ keyPath: KeyPath<ToOne, V>, of root: Term<ToOne>, _ compiler: PredicateCompiler
    ) throws -> Term<V> {
        if keyPath as AnyKeyPath == \ToOne.id as AnyKeyPath {
            var term = root.mapped { $0[keyPath: keyPath] }
            // Identifiers and references have the same keys, but not the same bits.
            term.column = root.column.map { $0.asIdentifier }
            return term
        }
        let recorder = MemberRecorder()
        MemberRecorder.$current.withValue(recorder) { _ = ToOne(nil)[keyPath: keyPath] }
        // A property that the program has given references may read a member, and be something else.
        guard let (member, path) = recorder.member, path == keyPath as AnyKeyPath,
            let member = member as? any TargetMember<Target>,
            let term = try member.term(of: root, compiler) as? Term<V>
        else { return compiler.computed(keyPath, of: root) }
        return term
    }
}

extension ToMany: RelationshipNavigating {
    static func term<V>(
        _ keyPath: KeyPath<ToMany, V>, of root: Term<ToMany>, _ compiler: PredicateCompiler
    ) throws -> Term<V> {
        guard let members = root.members else {
            throw GraphError.predicateNotSupported("\(ToMany.self) is not a stored relationship")
        }
        let (scope, source) = (compiler.scope, root.source)
        let count: () throws -> Int = {
            scope.snapshot.memberCount(of: try members.owner(), through: members.relationship)
        }
        compiler.dependOn(members.relationship)
        if keyPath as AnyKeyPath == \ToMany.count as AnyKeyPath, let term = Term(source: source, count) as? Term<V> {
            return term
        }
        if keyPath as AnyKeyPath == \ToMany.isEmpty as AnyKeyPath,
            let term = Term(
                source: source,
                { scope.snapshot.firstMember(of: try members.owner(), through: members.relationship) == nil })
                as? Term<V>
        {
            return term
        }
        throw GraphError.predicateNotSupported(
            "\(keyPath) of a to-many relationship; it has count, isEmpty, contains, allSatisfy and filter")
    }
}

/// Takes the key path of a member of `ToOne` from the reference that reads it: the path that a predicate has is Swift's own.
final class MemberRecorder: @unchecked Sendable {
    /// The last member that was read, and its key path. Set and read by one task, during one call.
    var member: (Any, AnyKeyPath)?

    @TaskLocal static var current: MemberRecorder?
}

/// A property of a reference's target.
protocol TargetMember<Target> {
    associatedtype Target: Entity
    /// A term of the type that `ToOne` has for the property.
    func term(of reference: Term<ToOne<Target>>, _ compiler: PredicateCompiler) throws -> Any
}

/// A property that is nil for no target, and the function that makes what `ToOne` has of its value.
struct AttributeMember<Target: Entity, V, Member>: TargetMember {
    let keyPath: any KeyPath<Target, V> & Sendable
    let none: Member
    let some: (V) -> Member

    func term(of reference: Term<ToOne<Target>>, _ compiler: PredicateCompiler) throws -> Any {
        guard let entity = compiler.schema.index(of: Target.self) else {
            throw GraphError.unknownEntity("\(Target.self)")
        }
        compiler.dependOn(entity)
        let (scope, value, keyPath, none, some) = (compiler.scope, reference.value, keyPath, none, some)
        let id = compiler.schema.property(keyPath, of: entity)
        let property = id.map { compiler.schema.entities[entity].properties[$0.property] }
        let offset = property?.offset ?? MemoryLayout<Target>.offset(of: keyPath)
        if offset == nil { compiler.scope.callsProgram() }
        func row() throws -> UnsafeRawPointer? {
            let target = try value().row
            return target == 0 ? nil : scope.snapshot.entities[entity].rows.address(of: target)
        }
        // What a captured reference leads to is another one in another state.
        let source = if case .nothing = reference.source { TermSource.row } else { reference.source }
        var term = Term(source: source) {
            guard let row = try row() else { return none }
            guard let offset else { return some(row.assumingMemoryBound(to: Target.self).pointee[keyPath: keyPath]) }
            return some((row + offset).assumingMemoryBound(to: V.self).pointee)
        }
        guard let id, let property else { return term }
        if case .toMany = property.role {
            term.members = MemberSource(of: compiler.schema.toMany(id)) { try value().row }
        }
        if let column = reference.column, let step = column.property {
            term.column = Column(
                slot: column.slot, path: column.path + [step], property: id, offset: property.offset,
                isWrapped: property.valueType != Member.self)
        }
        return term
    }
}
