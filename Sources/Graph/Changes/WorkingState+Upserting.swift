/// Values that go to the rows which have their unique values.
extension WorkingState {
    /// The row that has unique values of the row at an address; nil if there is none, or if several have some of them. Of rows
    /// that share a value until a save resolves that, the first one counts.
    func rowToUpdate(for address: UnsafeRawPointer, of entity: Int) -> RowNumber? {
        var found: RowNumber?
        for (number, index) in schema.entities[entity].indexes.enumerated() where index.uniqueness != nil {
            var key = ByteWriter(capacity: 64)
            guard index.appendKey(ofRowAt: address, to: &key) else { continue }
            let entries = snapshot.entities[entity].indexes[number]
            guard let row = key.bytes.withUnsafeBytes({ entries.firstRow(withPrefix: $0) }) else {
                noteAbsence(ofKeyAt: address, index, of: entity)
                continue
            }
            let id = RowID(entity: entity, row: row)
            noteRow(id)
            // What is not saved yet is found because nobody else has the key.
            if !store.contains(id) { noteAbsence(ofKeyAt: address, index, of: entity) }
            guard found == nil || found == row else { return nil }
            found = row
        }
        return found
    }

    /// Hands over the attributes of the row at an address, its references that are not nil, and the members that it names, which
    /// come on top of those that are there.
    mutating func handOverValues(at address: UnsafeMutableRawPointer, to id: RowID) {
        let description = schema.entities[id.entity]
        guard let current = snapshot.address(of: id) else { return }
        let attributes = description.properties.filter { property in
            property.relationship == nil && !property.isIdentical(in: address, current)
        }
        let toOnes = description.toOnes.filter { toOne in
            let target = toOne.target(ofRowAt: address)
            return target != 0 && target != toOne.target(ofRowAt: current)
        }
        if !attributes.isEmpty || !toOnes.isEmpty {
            description.layout.withCopy(of: current) { copy in
                for property in attributes { property.copy(from: address, to: copy) }
                for toOne in toOnes {
                    (copy + toOne.offset).storeBytes(of: toOne.target(ofRowAt: address), as: RowNumber.self)
                }
                update(id, copying: copy)
            }
        }
        for relationship in description.toManys {
            let property = description.properties[relationship.property]
            for member in property.takeInitialRows?(address + property.offset) ?? [] {
                insertMemberOrMiss(member, of: id.row, through: relationship)
            }
        }
    }
}
