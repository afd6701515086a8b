/// A link of a many-to-many relationship, as one of its two link tables has it.
struct LinkID: Hashable, Sendable {
    let table: Int
    let owner: RowNumber
    let member: RowNumber

    /// The same link as the other link table has it.
    func reversed(in schema: Schema) -> LinkID {
        LinkID(table: schema.linkTables[table].inverse ?? table, owner: member, member: owner)
    }
}

/// One owner's members in a to-many relationship.
struct MemberList: Hashable, Sendable {
    let entity: Int
    let property: Int
    let owner: RowNumber

    init(_ relationship: ToManyDescription, of owner: RowNumber) {
        entity = relationship.entity
        property = relationship.property
        self.owner = owner
    }

    /// The list that contains a link's member.
    init(_ link: LinkID, in schema: Schema) {
        entity = schema.linkTables[link.table].entity
        property = schema.linkTables[link.table].property
        owner = link.owner
    }
}

/// The members that a program assigned to a to-many property.
struct ToManyAssignment: Sendable {
    let owner: RowNumber
    let relationship: ToManyDescription
    let members: [RowNumber]
}

/// Keeps both ends of relationships in agreement, and members in order.
extension WorkingState {
    /// Updates the other end of a reference that was written: the inverse reference, or the position among the members.
    mutating func updateInverse(
        of id: RowID,
        through toOne: ToOneDescription,
        from old: RowNumber,
        to new: RowNumber
    ) {
        guard old != new else { return }
        if let order = toOne.order {
            if old != 0 { snapshot.linkTables[order].remove(id.row, of: old) }
            if new != 0 {
                noteOrder(of: new, in: order)
                let key = snapshot.newKey(nil, of: new, in: order)
                snapshot.linkTables[order].insert(id.row, of: new, key: key)
            }
        }
        guard let reference = toOne.inverseToOne else { return }
        let inverse = schema.toOne(reference)
        for target in [old, new] where target != 0 { noteRow(RowID(entity: toOne.target, row: target)) }
        if old != 0, snapshot.target(of: old, through: reference) == id.row {
            setReference(of: RowID(entity: toOne.target, row: old), through: inverse, to: 0)
        }
        // This write also updates the row that the target referred to before.
        if new != 0 { setReference(of: RowID(entity: toOne.target, row: new), through: inverse, to: id.row) }
        // If the row has come to refer to itself, that wrote this reference, too. The last one counts.
        guard new != id.row, toOne.target == id.entity, let address = snapshot.address(of: id),
            toOne.target(ofRowAt: address) == id.row
        else { return }
        setReference(of: id, through: toOne, to: new)
    }

    /// The same for new rows of an entity, in ascending order, one after the other. Their places in an order go into the link
    /// table together.
    mutating func updateInverses(
        of entity: Int,
        through toOne: ToOneDescription,
        _ references: [(row: RowNumber, target: RowNumber)]
    ) {
        guard let order = toOne.order else {
            for (row, target) in references {
                updateInverse(of: RowID(entity: entity, row: row), through: toOne, from: 0, to: target)
            }
            return
        }
        let lastOwner = snapshot.linkTables[order].lastOwner ?? 0
        var (owner, key): (RowNumber, OrderKey?) = (0, nil)
        let places = references.sorted { ($0.target, $0.row) < ($1.target, $1.row) }.map { row, target in
            if target != owner {
                noteOrder(of: target, in: order)
                (owner, key) = (target, target > lastOwner ? nil : snapshot.linkTables[order].lastKey(of: target))
            }
            let next = OrderKey.between(key, nil)
            key = next
            return LinkTable.Link(owner: target, member: row, key: next)
        }
        snapshot.linkTables[order].insert(contentsOf: places)
    }

    // MARK: Members of one owner

    /// Makes a row a member; a new one comes last in an order. Returns false if it was one, or does not exist.
    @discardableResult
    mutating func insertMember(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) -> Bool {
        noteMember(row, of: owner, through: relationship)
        if let toOne = relationship.toOne {
            let description = schema.entities[relationship.source].toOnes[toOne]
            return setReference(of: RowID(entity: relationship.source, row: row), through: description, to: owner)
        }
        guard let table = relationship.linkTable, snapshot.entities[relationship.source].rows.contains(row) else {
            return false
        }
        noteOrder(of: owner, in: table)
        if let inverse = schema.linkTables[table].inverse { noteOrder(of: row, in: inverse) }
        return snapshot.link(row, to: owner, in: table)
    }

    /// Removes a member. Returns false if the row was none.
    @discardableResult
    mutating func removeMember(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) -> Bool {
        noteMember(row, of: owner, through: relationship)
        guard let toOne = relationship.toOne else {
            return relationship.linkTable.map { snapshot.unlink(row, from: owner, in: $0) } ?? false
        }
        guard snapshot.isMember(row, of: owner, through: relationship) else { return false }
        let description = schema.entities[relationship.source].toOnes[toOne]
        return setReference(of: RowID(entity: relationship.source, row: row), through: description, to: 0)
    }

    /// Puts a member, new or not, where `offset` other members come before it. An existing member that is already there keeps
    /// its key, so that it does not undo others' moves.
    mutating func place(
        _ row: RowNumber,
        of owner: RowNumber,
        through relationship: ToManyDescription,
        at offset: Int
    ) {
        noteMembers(of: owner, through: relationship)
        insertMember(row, of: owner, through: relationship)
        guard let table = relationship.linkTable, let present = snapshot.linkTables[table].offset(of: row, of: owner),
            present != offset
        else { return }
        snapshot.linkTables[table].remove(row, of: owner)
        let lower = offset > 0 ? snapshot.linkTables[table].key(at: offset - 1, of: owner) : nil
        let upper = snapshot.linkTables[table].key(at: offset, of: owner)
        guard let lower, lower == upper else {
            snapshot.linkTables[table].insert(row, of: owner, key: .between(lower, upper))
            return
        }
        // Members from different commits may have the same key. Those behind the new one get new keys.
        let others = snapshot.linkTables[table].keys(of: owner)[offset...]
        let tied = others.prefix { $0.key == lower }
        let end = tied.endIndex < others.endIndex ? others[tied.endIndex].key : nil
        var last = lower
        for member in [row] + tied.map(\.member) {
            last = .between(last, end)
            snapshot.linkTables[table].insert(member, of: owner, key: last)
        }
    }

    /// Makes exactly these rows the owner's members, in their order if there is one, with as few changes as possible.
    mutating func apply(_ assignment: ToManyAssignment) {
        let (owner, relationship) = (assignment.owner, assignment.relationship)
        noteMembers(of: owner, through: relationship)
        guard snapshot.entities[relationship.entity].rows.contains(owner) else { return }
        var known: Set<RowNumber> = []
        let members = assignment.members.filter { known.insert($0).inserted }
        for row in snapshot.members(of: owner, through: relationship) where !known.contains(row) {
            removeMember(row, of: owner, through: relationship)
        }
        missingMembers[MemberList(relationship, of: owner)] = nil
        forgetDenyingLinks(of: owner, relationship)
        for row in relationship.isOrdered ? members : members.sorted() {
            insertMemberOrMiss(row, of: owner, through: relationship)
        }
        if relationship.isOrdered, let table = relationship.linkTable { order(members, of: owner, in: table) }
    }

    /// Adds a member that is named, which counts as missing as long as there is no such row.
    mutating func insertMemberOrMiss(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) {
        if snapshot.entities[relationship.source].rows.contains(row) {
            insertMember(row, of: owner, through: relationship)
        } else {
            missingMembers[MemberList(relationship, of: owner), default: []].insert(row)
        }
    }

    /// Orders an owner's members. The longest run that is already in order keeps its keys.
    private mutating func order(_ members: [RowNumber], of owner: RowNumber, in table: Int) {
        let keys = Dictionary(
            uniqueKeysWithValues: snapshot.linkTables[table].keys(of: owner).map { ($0.member, $0.key) })
        let placed = members.compactMap { row in keys[row].map { (key: $0, member: row) } }
        let kept = placed.longestIncreasingRun { $0.key < $1.key }
        var last: OrderKey?
        var next = kept.startIndex
        for (offset, place) in placed.enumerated() {
            if next < kept.endIndex, kept[next] == offset {
                last = place.key
                next += 1
            } else {
                let key = OrderKey.between(last, next < kept.endIndex ? placed[kept[next]].key : nil)
                snapshot.linkTables[table].insert(place.member, of: owner, key: key)
                last = key
            }
        }
    }

    // MARK: Links

    /// Removes a link from both link tables.
    ///
    /// - Parameter denies: whether the owner's delete is denied while the member exists.
    mutating func endLink(_ link: LinkID, denies: Bool) {
        if snapshot.unlink(link.member, from: link.owner, in: link.table), denies { denyingLinks.insert(link) }
    }

    /// Forgets links with deleted rows, which are in no link table any more.
    mutating func forgetDenyingLinks(of owner: RowNumber, _ relationship: ToManyDescription) {
        guard !denyingLinks.isEmpty, let table = relationship.linkTable,
            let inverse = schema.linkTables[table].inverse
        else { return }
        denyingLinks.removeLinks(to: owner, in: inverse)
    }

    var sortedMissingMembers: [(key: MemberList, value: Set<RowNumber>)] {
        missingMembers.sorted {
            ($0.key.entity, $0.key.owner, $0.key.property) < ($1.key.entity, $1.key.owner, $1.key.property)
        }
    }

    /// Missing members, as references that lead nowhere.
    var danglingMembers: [DanglingReference] {
        sortedMissingMembers.flatMap { list, members in
            let relationship = schema.entities[list.entity].toManys.first { $0.property == list.property }
            return members.sorted().map { member in
                DanglingReference(
                    id: schema.id(of: RowID(entity: list.entity, row: list.owner)),
                    property: schema.entities[list.entity].properties[list.property].name,
                    target: schema.id(of: RowID(entity: relationship?.source ?? list.entity, row: member))
                )
            }
        }
    }
}

extension Array {
    /// The offsets of a longest strictly ascending subsequence: Fredman, *On computing the length of longest increasing
    /// subsequences* (Discrete Mathematics 11, 1975).
    fileprivate func longestIncreasingRun(by precedes: (Element, Element) -> Bool) -> [Int] {
        // `ends`: by length, the offset of the least last element of a run. `previous`: each element's predecessor in its run.
        var ends: [Int] = []
        var previous: [Int?] = []
        for offset in indices {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if precedes(self[ends[middle]], self[offset]) { low = middle + 1 } else { high = middle }
            }
            previous.append(low > 0 ? ends[low - 1] : nil)
            if low == ends.count { ends.append(offset) } else { ends[low] = offset }
        }
        var run: [Int] = []
        var end = ends.last
        while let offset = end {
            run.append(offset)
            end = previous[offset]
        }
        return run.reversed()
    }
}
