/// The objects that refer to one object: a to-many relationship, live.
///
/// It holds no members of its own: each question is answered from the context's working state, pending changes included,
/// without touching more members than the answer needs. Members come in the order of their insertion.
public struct RelatedObjects<Target: Entity> {
    let context: ContextState
    let owner: RowNumber
    let relationship: ToManyDescription

    /// The number of members.
    ///
    /// Complexity: O(log *n*) for *n* references of the relationship in the store.
    public var count: Int {
        context.countReferrers(to: owner, through: relationship)
    }

    /// Whether there are no members.
    public var isEmpty: Bool { first == nil }

    /// The member inserted first.
    public var first: ManagedObject<Target>? {
        context.firstReferrer(to: owner, through: relationship).flatMap { context.object(for: PersistentID(row: $0)) }
    }

    /// The members' identifiers, in order.
    public var ids: [PersistentID<Target>] {
        context.referrers(to: owner, through: relationship).map { PersistentID(row: $0) }
    }

    /// Whether the object is a member.
    ///
    /// Complexity: O(log *n*).
    public func contains(_ member: ManagedObject<Target>) -> Bool {
        guard member.context === context, !member.isDeleted else { return false }
        return withUnsafePointer(to: member.value) { toOne.target(ofRowAt: $0) } == owner
    }

    /// Makes an object a member. It leaves the object it referred to before.
    ///
    /// - Precondition: the object belongs to the same context.
    public func insert(_ member: ManagedObject<Target>) {
        context.requireOwn(member)
        member.setReference(through: toOne, to: owner)
    }

    /// The same as `insert`: members have no order of their own.
    public func append(_ member: ManagedObject<Target>) {
        insert(member)
    }

    /// Makes an object no member. Does nothing if it is none.
    public func remove(_ member: ManagedObject<Target>) {
        guard contains(member) else { return }
        member.setReference(through: toOne, to: 0)
    }

    /// Makes no object a member.
    public func removeAll() {
        for member in self { remove(member) }
    }

    /// Makes these objects members too.
    public static func += (lhs: inout RelatedObjects, rhs: some Sequence<ManagedObject<Target>>) {
        for member in rhs { lhs.insert(member) }
    }

    private var toOne: ToOneDescription {
        context.schema.entities[relationship.source].toOnes[relationship.toOne]
    }

    /// Gives the members of this collection to another one, and nothing else.
    func replaceMembers(of other: RelatedObjects) {
        guard context !== other.context || owner != other.owner || relationship.property != other.relationship.property
        else { return }
        let members = Array(self)
        for member in other where !members.contains(member) { other.remove(member) }
        for member in members { other.insert(member) }
    }
}

extension RelatedObjects: Sequence {
    /// The members at the time of the call; changes made while iterating do not disturb the iteration.
    public func makeIterator() -> Iterator {
        Iterator(
            context: context,
            entity: relationship.source,
            rows: context.referrers(to: owner, through: relationship).makeIterator()
        )
    }

    /// Gives the members one after another. Objects are made of them one at a time.
    public struct Iterator: IteratorProtocol {
        @usableFromInline let context: ContextState
        @usableFromInline let entity: Int
        @usableFromInline var rows: IndexingIterator<[RowNumber]>

        /// The next member that still exists.
        @inlinable
        public mutating func next() -> ManagedObject<Target>? {
            while let row = rows.next() {
                if let object = context.object(for: PersistentID<Target>(row: row), entity) { return object }
            }
            return nil
        }
    }
}

extension ManagedObject {
    /// Writes a to-one relationship that is known by its place in the row only.
    fileprivate func setReference(through toOne: ToOneDescription, to target: RowNumber) {
        guard isDirty || beginWrite() else { return }
        withUnsafeMutableBytes(of: &row) { $0.storeBytes(of: target, toByteOffset: toOne.offset, as: RowNumber.self) }
    }
}
