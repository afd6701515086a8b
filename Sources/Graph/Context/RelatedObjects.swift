/// The objects at the other end of a to-many relationship, live.
///
/// The collection stores no members: each question goes to the context's working state, unsaved changes included, and touches
/// only as many members as the answer needs. Members come in the order of their insertion into the store or, in an ordered
/// relationship, in the order that insertions and moves gave them.
///
/// ```swift
/// team.members.append(ada)
/// team.members = [ada, grace]                       // makes only the additions and removals that lead to it
/// album.photos.move(from: 3, to: 0)                 // of an ordered relationship
/// team.members.forEachValue { total += $0.age }      // without making objects
/// ```
///
/// An array literal, or `RelatedObjects(objects)`, makes a collection that belongs to no object until it is assigned. Until
/// then it is an array, and takes as long as one.
public struct RelatedObjects<Target: Entity> {
    enum Source {
        case relationship(ContextState, owner: RowNumber, ToManyDescription)
        /// The first one's place is `from`.
        case list([ManagedObject<Target>], from: Int)
    }

    var source: Source

    init(context: ContextState, owner: RowNumber, relationship: ToManyDescription) {
        source = .relationship(context, owner: owner, relationship)
    }

    /// Objects to assign to a relationship.
    ///
    /// Complexity: O(*k*) for *k* objects.
    public init(_ objects: some Sequence<ManagedObject<Target>>) {
        source = .list(Array(objects), from: 0)
    }

    // MARK: Reading

    /// The members' identifiers, in order.
    ///
    /// Complexity: O(log *n* + *k*) for *k* members, among *n* of all objects.
    public var ids: [PersistentID<Target>] {
        switch source {
        case .relationship: rows.map { PersistentID(row: $0) }
        case .list(let objects, _): objects.map(\.id)
        }
    }

    /// The members' values, in order, without making objects.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* objects.
    @inlinable public var values: [Target] {
        var values: [Target] = []
        forEachValue { values.append($0) }
        return values
    }

    /// Calls the body with each member's value, in order, without making objects or copying rows: the fast way to add up
    /// values of a large collection.
    ///
    /// - Parameter body: may change objects; the values stay those of the time of the call.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* objects.
    @inlinable
    public func forEachValue(_ body: (Target) throws -> Void) rethrows {
        if let members = storedMembers { return try members.forEachValue(body) }
        for member in self { try body(member.value) }
    }

    /// nil for a collection that belongs to no object.
    @usableFromInline var storedMembers: StoredMembers<Target>? {
        guard case .relationship(let context, let owner, let relationship) = source else { return nil }
        let members: StoredMembers<Target> = context.flushed(toRead: relationship, of: owner)
            .storedMembers(of: owner, through: relationship)
        if let reads = context.reads {
            for row in members.rows { reads.readRow(RowID(entity: relationship.source, row: row)) }
        }
        context.didReadValues(of: members.rows, relationship.source)
        return members
    }

    /// Whether the object is a member.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public func contains(_ member: ManagedObject<Target>) -> Bool {
        switch source {
        case .relationship(let context, let owner, let relationship):
            guard member.contextState === context, !member.isDeleted else { return false }
            return context.flushed(toFind: member.id.row, in: relationship, of: owner).isMember(
                member.id.row, of: owner, through: relationship)
        case .list(let objects, _):
            return objects.contains(member)
        }
    }

    var rows: [RowNumber] {
        switch source {
        case .relationship(let context, let owner, let relationship):
            context.flushed(toRead: relationship, of: owner).members(of: owner, through: relationship)
        case .list(let objects, _):
            objects.map(\.id.row)
        }
    }
}

extension RelatedObjects: RandomAccessCollection {
    /// 0, or for a slice the index where it begins in the whole.
    public var startIndex: Int {
        if case .list(_, let start) = source { start } else { 0 }
    }

    /// The index after the last member's.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public var endIndex: Int { startIndex + count }

    /// The number of members.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public var count: Int {
        switch source {
        case .relationship(let context, let owner, let relationship):
            context.flushed(toRead: relationship, of: owner).memberCount(of: owner, through: relationship)
        case .list(let objects, _):
            objects.count
        }
    }

    /// Whether there are no members.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public var isEmpty: Bool { first == nil }

    /// The first member.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public var first: ManagedObject<Target>? {
        switch source {
        case .relationship(let context, let owner, let relationship):
            context.flushed(toRead: relationship, of: owner).firstMember(of: owner, through: relationship)
                .flatMap { context.object(for: PersistentID(row: $0), in: context.registry) }
        case .list(let objects, _):
            objects.first
        }
    }

    /// The member at an index. Changes of the members may change their indices.
    ///
    /// - Precondition: the index is in range.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public subscript(position: Int) -> ManagedObject<Target> {
        switch source {
        case .relationship(let context, let owner, let relationship):
            let row = context.flushed(toRead: relationship, of: owner).member(
                at: position, of: owner, through: relationship)
            guard let object = row.flatMap({ context.object(for: PersistentID<Target>(row: $0), in: context.registry) })
            else {
                preconditionFailure("index \(position) is out of range: there are \(count) members")
            }
            return object
        case .list(let objects, let start):
            return objects[position - start]
        }
    }

    /// The members at these indices at the time of the call. Later changes of the relationship leave the slice alone.
    ///
    /// Complexity: O(*k* log *n*) for *k* indices, among *n* members of all objects.
    public subscript(bounds: Range<Int>) -> Slice<RelatedObjects> {
        precondition(
            bounds.lowerBound >= startIndex && bounds.upperBound <= endIndex,
            "the range \(bounds) is out of bounds: there are \(count) members")
        var part = RelatedObjects(bounds.map { self[$0] })
        if case .list(let objects, _) = part.source { part.source = .list(objects, from: bounds.lowerBound) }
        return Slice(base: part, bounds: bounds)
    }

    /// The closure's results for the members at the time of the call, in order. The closure may change the relationship.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* of all objects, besides the closure.
    public func map<Result, Failure>(
        _ transform: (ManagedObject<Target>) throws(Failure) -> Result
    ) throws(Failure) -> [Result] {
        var results: [Result] = []
        for member in self { results.append(try transform(member)) }
        return results
    }

    /// The members at the time of the call, the last one first.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* of all objects.
    public func reversed() -> [ManagedObject<Target>] { Array(self).reversed() }

    /// Iterates over the members at the time of the call; changes made meanwhile do not disturb it.
    ///
    /// Complexity: O(log *n* + *k*) for *k* members, among *n* of all objects.
    public func makeIterator() -> Iterator {
        switch source {
        case .relationship(let context, _, let relationship):
            Iterator(context: context, entity: relationship.source, rows: rows)
        case .list(let objects, _):
            Iterator(objects: objects.makeIterator())
        }
    }

    /// Returns the members one after another, and makes objects one at a time.
    public struct Iterator: IteratorProtocol {
        @usableFromInline var context: ContextState?
        @usableFromInline var entity = 0
        @usableFromInline var rows: [RowNumber] = []
        /// Of the next one.
        @usableFromInline var place = 0
        /// Those of a collection that belongs to no object.
        @usableFromInline var objects: IndexingIterator<[ManagedObject<Target>]> = [].makeIterator()

        /// The next member that still exists.
        ///
        /// Complexity: O(log *n*) for *n* objects of the entity, also for one that the context has in memory.
        @inlinable
        public mutating func next() -> ManagedObject<Target>? {
            guard let context else { return objects.next() }
            while place < rows.count {
                if place & 63 == 0 { context.prefetch(rows[place...].prefix(64), of: entity) }
                let id = PersistentID<Target>(row: rows[place])
                place &+= 1
                if let object = context.object(for: id, entity, in: context.registry) { return object }
            }
            return nil
        }
    }
}

extension RelatedObjects: ExpressibleByArrayLiteral {
    /// Objects to assign to a relationship.
    ///
    /// Complexity: O(*k*) for *k* objects.
    public init(arrayLiteral elements: ManagedObject<Target>...) {
        source = .list(elements, from: 0)
    }
}

extension RelatedObjects: Equatable {
    /// Whether both have the same members, and in the same order if one of them belongs to an ordered relationship.
    ///
    /// Complexity: O(*k* log *n*) for *k* members of both, among *n* of all objects.
    public static func == (lhs: RelatedObjects, rhs: RelatedObjects) -> Bool {
        lhs.isOrdered || rhs.isOrdered ? lhs.elementsEqual(rhs) : Set(lhs) == Set(rhs)
    }

    private var isOrdered: Bool {
        guard case .relationship(_, _, let relationship) = source else { return false }
        return relationship.isOrdered
    }
}

extension RelatedObjects: CustomStringConvertible {
    /// The members' identifiers.
    public var description: String { ids.description }
}
