/// Applies to-many values, once all rows that they name are written.
extension WorkingState {
    /// Returns false if there are none.
    mutating func applyAssignments() -> Bool {
        guard !assignments.isEmpty else { return false }
        defer { assignments = [] }
        guard assignments.count > 1 else {
            apply(assignments[0])
            return true
        }
        // Assignments of one relationship keep their order; the others concern other link tables.
        let groups = Dictionary(grouping: assignments) { assignment in
            assignment.relationship.linkTable.flatMap { number in
                schema.linkTables[number].inverse.map { min(number, $0) }
            }
        }
        for group in groups.values {
            var rest = group[...]
            while let first = rest.first {
                let count = addLinks(of: rest)
                if count == 0 { apply(first) }
                rest = rest.dropFirst(max(1, count))
            }
        }
        return true
    }

    /// Applies the leading assignments that only add unordered links, to owners that follow all that have links, as new rows
    /// do. The links go into both link tables sorted, leaf by leaf. Returns the number of assignments.
    private mutating func addLinks(of assignments: ArraySlice<ToManyAssignment>) -> Int {
        guard let relationship = assignments.first?.relationship, let table = relationship.linkTable,
            let inverse = schema.linkTables[table].inverse, inverse != table,
            !schema.linkTables[table].isOrdered, !schema.linkTables[inverse].isOrdered,
            missingMembers.isEmpty
        else { return 0 }
        var last = snapshot.linkTables[table].lastOwner ?? 0
        let group = assignments.prefix(LinkTable.mostAtOnce).prefix { assignment in
            guard assignment.relationship.isSame(as: relationship), assignment.owner > last,
                snapshot.entities[relationship.entity].rows.contains(assignment.owner)
            else { return false }
            last = assignment.owner
            return true
        }
        guard group.count > 1 else { return 0 }
        var links: [LinkTable.Link] = []
        for assignment in group {
            noteMembers(of: assignment.owner, through: relationship)
            forgetDenyingLinks(of: assignment.owner, relationship)
            for member in Set(assignment.members) {
                guard snapshot.entities[relationship.source].rows.contains(member) else {
                    missingMembers[MemberList(relationship, of: assignment.owner), default: []].insert(member)
                    continue
                }
                links.append(LinkTable.Link(owner: assignment.owner, member: member))
            }
        }
        snapshot.linkTables[table].insert(contentsOf: links)
        snapshot.linkTables[inverse].insert(contentsOf: links.map(\.reversed))
        return group.count
    }
}
