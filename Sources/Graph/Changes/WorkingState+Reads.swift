/// What changes look at, noted for a serializable transaction: a change that finds things as it wants them writes nothing, and
/// one that follows from others is none without them. So whoever makes such a change has read what it depends on.
///
/// States that the coordinator merges note nothing: what is decided on head needs no validation.
extension WorkingState {
    /// Notes that a row is looked at besides those that the program has looked up.
    func noteRow(_ id: RowID) {
        guard let reads else { return }
        reads.readRow(id)
    }

    /// Notes that a change goes by all members of an owner. Those of a new one are nobody else's.
    func noteMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        guard let reads, base.entities[relationship.entity].rows.contains(owner) else { return }
        reads.note { $0.readMembers(of: owner, through: relationship) }
    }

    /// Notes that a change goes by whether a row is a member.
    func noteMember(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) {
        guard let reads else { return }
        reads.note { $0.readMember(row, of: owner, through: relationship) }
    }

    /// Notes that a change gives a place in a list: last, or between others. Lists without an order have none.
    func noteOrder(of owner: RowNumber, in list: Int) {
        guard let reads, schema.linkTables[list].isOrdered,
            base.entities[schema.linkTables[list].entity].rows.contains(owner)
        else { return }
        reads.note { $0.readMembers(of: owner, in: list) }
    }

    /// Notes what a delete has found: the rows that it takes along, and all that refers or is linked to them, which it takes
    /// along, nullifies or is denied by.
    func noteDelete(of closure: [Set<RowNumber>]) {
        guard let reads else { return }
        reads.note { set in
            for (entity, rows) in closure.enumerated() {
                let description = schema.entities[entity]
                for row in rows where base.entities[entity].rows.contains(row) {
                    set.readRow(RowID(entity: entity, row: row))
                    for reference in description.references { set.readReferrers(to: row, through: reference) }
                    for list in description.linkLists { set.readMembers(of: row, in: list) }
                }
            }
        }
    }
}
