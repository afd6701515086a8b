/// Notes what changes examine, for a serializable transaction: a change that finds nothing to do writes nothing, yet it depends
/// on what it found.
///
/// States that the coordinator merges note nothing: what is decided on head needs no validation.
extension WorkingState {
    /// Notes that a change examines a row that the program did not look up.
    func noteRow(_ id: RowID) {
        guard let reads else { return }
        reads.readRow(id)
    }

    /// Notes that a change depends on nobody having the key of the row at an address.
    func noteAbsence(ofKeyAt address: UnsafeRawPointer, _ index: IndexDescription, of entity: Int) {
        guard let reads else { return }
        let conditions = index.parts.map { part in
            var key = ByteWriter()
            _ = part.key.append(address + part.offset, &key)
            return PropertyKeys(property: part.property, keys: KeyRange(prefix: key.bytes))
        }
        reads.note { $0.readRows(of: entity, where: conditions) }
    }

    /// Notes that a change depends on all members of an owner. Nobody else can change those of a new owner.
    func noteMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        guard let reads, base.entities[relationship.entity].rows.contains(owner) else { return }
        reads.note { $0.readMembers(of: owner, through: relationship) }
    }

    /// Notes that a change depends on whether a row is a member.
    func noteMember(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) {
        guard let reads else { return }
        reads.note { $0.readMember(row, of: owner, through: relationship) }
    }

    /// Notes that a change picks a position in an order. Link tables without an order have none.
    func noteOrder(of owner: RowNumber, in table: Int) {
        guard let reads, schema.linkTables[table].isOrdered,
            base.entities[schema.linkTables[table].entity].rows.contains(owner)
        else { return }
        reads.note { $0.readMembers(of: owner, in: table) }
    }

    /// Notes what a delete has found: the rows that it cascades to, and all references and links to them.
    func noteDelete(of closure: [Set<RowNumber>]) {
        guard let reads else { return }
        reads.note { set in
            for (entity, rows) in closure.enumerated() {
                let description = schema.entities[entity]
                for row in rows where base.entities[entity].rows.contains(row) {
                    set.readRow(RowID(entity: entity, row: row))
                    for reference in description.references { set.readReferrers(to: row, through: reference) }
                    for table in description.linkTables { set.readMembers(of: row, in: table) }
                }
            }
        }
    }
}
