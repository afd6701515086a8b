/// Changes of a relationship at its owner's side.
extension RelatedObjects {
    /// Makes an object a member. In a one-to-many relationship it leaves the object that had it before; in an ordered
    /// relationship a new member comes last.
    ///
    /// - Precondition: the object belongs to the same context.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public func insert(_ member: ManagedObject<Target>) {
        guard case .relationship(let context, let owner, let relationship) = source else { return unowned() }
        context.requireOwn(member)
        guard context.exists(RowID(entity: relationship.entity, row: owner)) else { return }
        if let toOne = relationship.toOne, !relationship.isOrdered {
            member.setReference(through: context.schema.entities[relationship.source].toOnes[toOne], to: owner)
        } else {
            context.changeMembers(relationship) { $0.insertMember(member.id.row, of: owner, through: relationship) }
        }
    }

    /// The same as `insert`: only an ordered relationship has a last place, and `insert` puts a new member there.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public func append(_ member: ManagedObject<Target>) {
        insert(member)
    }

    /// Makes these objects members too.
    ///
    /// Complexity: O(*k* log *n*) for *k* objects, among *n* members of all objects.
    public func append(contentsOf members: some Sequence<ManagedObject<Target>>) {
        for member in members { insert(member) }
    }

    /// Puts an object, a member or not, at an index, which is its index afterwards.
    ///
    /// - Precondition: the relationship is ordered, the object belongs to the same context, and the index is in range.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects. Where several contexts have put members at one place, also
    /// O(*k*) for *k* members. A place takes 8 bytes or a few more in memory and in the file. Only where members come again and
    /// again between the last two that came, as in the middle of a list that grows there, does it take four more after each twenty
    /// of them; assigning all members makes their places short again.
    public func insert(_ member: ManagedObject<Target>, at index: Int) {
        guard case .relationship(let context, let owner, let relationship) = source else { return unowned() }
        precondition(relationship.isOrdered, "only an ordered relationship has places: declare it with 'ordered: true'")
        context.requireOwn(member)
        guard !member.isDeleted, context.exists(RowID(entity: relationship.entity, row: owner)) else { return }
        let others = count - (contains(member) ? 1 : 0)
        precondition(index >= 0 && index <= others, "index \(index) is out of range: there are \(others) other members")
        context.changeMembers(relationship) { $0.place(member.id.row, of: owner, through: relationship, at: index) }
    }

    /// Moves the member at an index to another one, which is its index afterwards.
    ///
    /// - Precondition: the relationship is ordered, and both indices are in range.
    ///
    /// Complexity: that of ``insert(_:at:)``.
    public func move(from index: Int, to other: Int) {
        insert(self[index], at: other)
    }

    /// Removes an object from the members. Does nothing if it is not a member.
    ///
    /// - Precondition: the object belongs to the same context.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    public func remove(_ member: ManagedObject<Target>) {
        guard case .relationship(let context, let owner, let relationship) = source else { return unowned() }
        context.requireOwn(member)
        guard contains(member) else { return }
        if let toOne = relationship.toOne, !relationship.isOrdered {
            member.setReference(through: context.schema.entities[relationship.source].toOnes[toOne], to: 0)
        } else {
            context.changeMembers(relationship) { $0.removeMember(member.id.row, of: owner, through: relationship) }
        }
    }

    /// Removes the member at an index and returns it.
    ///
    /// - Precondition: the index is in range.
    ///
    /// Complexity: O(log *n*) for *n* members of all objects.
    @discardableResult
    public func remove(at index: Int) -> ManagedObject<Target> {
        let member = self[index]
        remove(member)
        return member
    }

    /// Removes all members.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* of all objects.
    public func removeAll() {
        guard case .relationship(let context, let owner, let relationship) = source else { return unowned() }
        context.changeMembers(relationship) {
            $0.apply(ToManyAssignment(owner: owner, relationship: relationship, members: []))
        }
    }

    /// Removes the members that the closure accepts. It calls the closure with each member at the time of the call, in order,
    /// before it removes the first one; if the closure throws, all stay.
    ///
    /// Complexity: O(*k* log *n*) for *k* members, among *n* of all objects.
    public func removeAll(where shouldBeRemoved: (ManagedObject<Target>) throws -> Bool) rethrows {
        for member in try filter(shouldBeRemoved) { remove(member) }
    }

    /// Makes these objects members too.
    ///
    /// Complexity: O(*k* log *n*) for *k* objects, among *n* members of all objects.
    public static func += (lhs: inout RelatedObjects, rhs: some Sequence<ManagedObject<Target>>) {
        lhs.append(contentsOf: rhs)
    }

    /// Makes the members of another collection the members of this one, and nothing else.
    func replaceMembers(by other: RelatedObjects) {
        guard case .relationship(let context, let owner, let relationship) = source else { return unowned() }
        switch other.source {
        case .list(let objects, _):
            for object in objects { context.requireOwn(object) }
        case .relationship(let otherContext, let otherOwner, let otherRelationship):
            precondition(otherContext === context, "the members belong to another context")
            if otherOwner == owner, otherRelationship.isSame(as: relationship) { return }
        }
        let assignment = ToManyAssignment(owner: owner, relationship: relationship, members: other.rows)
        context.changeMembers(relationship) { $0.apply(assignment) }
    }

    private func unowned() {
        preconditionFailure("this collection belongs to no object: assign it to a relationship first")
    }
}

extension ManagedObject {
    /// Writes a to-one relationship that is known by its place in the row only, and that changes no other row.
    fileprivate func setReference(through toOne: ToOneDescription, to target: RowNumber) {
        guard isDirty || beginWrite() else { return }
        withUnsafeMutableBytes(of: &row) { $0.storeBytes(of: target, toByteOffset: toOne.offset, as: RowNumber.self) }
        if contextState.isObservable { contextState.flushRelationships() }
    }
}
