/// What one commit changed, by its record: rows with what they were before and after it, and links. It has nothing of what the
/// commit left alone, so that it takes no memory for it.
struct CommitChanges: Sendable {
    let schema: Schema
    let tokens: (before: HistoryToken, after: HistoryToken)
    /// The entities with changes.
    private var entities: [Rows] = []
    /// The link tables of the record with changes.
    private var links: [(table: Int, difference: LinkTable.Difference)] = []

    /// The changed rows of an entity.
    fileprivate struct Rows {
        let entity: Int
        /// Where the rows are in both tables, in ascending order of their numbers, once all are there.
        var places: [(row: RowNumber, place: UInt64)] = []
        var before: RowTable
        var after: RowTable

        init(_ entity: Int, _ layout: RowLayout) {
            self.entity = entity
            (before, after) = (RowTable(layout: layout), RowTable(layout: layout))
        }
    }

    /// A state's side of a change.
    enum Side {
        case before, after
    }

    init(_ schema: Schema, _ tokens: (before: HistoryToken, after: HistoryToken)) {
        (self.schema, self.tokens) = (schema, tokens)
    }

    // MARK: Making

    /// Adds a row, whose values are kept next. Rows of an entity follow each other.
    mutating func add(_ id: RowID) {
        if entities.last?.entity != id.entity {
            entities.append(Rows(id.entity, schema.entities[id.entity].layout))
        }
        let last = entities.count - 1
        entities[last].places.append((id.row, UInt64(entities[last].places.count)))
    }

    /// Copies what the row that was added last is on one side.
    mutating func keep(_ side: Side, version: RowVersion, _ address: UnsafeRawPointer) {
        let last = entities.count - 1
        guard let place = entities[last].places.last?.place else { return }
        switch side {
        case .before: entities[last].before.set(place, version: version, copying: address)
        case .after: entities[last].after.set(place, version: version, copying: address)
        }
    }

    mutating func add(_ link: LinkTable.Link, on side: Side, of table: Int) {
        if links.last?.table != table { links.append((table, LinkTable.Difference())) }
        switch side {
        case .before: links[links.count - 1].difference.removed.append(link)
        case .after: links[links.count - 1].difference.added.append(link)
        }
    }

    /// Records have inserted rows before updated and deleted ones.
    mutating func finish() {
        for number in entities.indices where !entities[number].isSorted {
            entities[number].places.sort { $0.row < $1.row }
        }
    }
}

extension CommitChanges.Rows {
    fileprivate var isSorted: Bool {
        zip(places, places.dropFirst()).allSatisfy { $0.row < $1.row }
    }

    fileprivate func place(of row: RowNumber) -> UInt64? {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].row < row { low = middle + 1 } else { high = middle }
        }
        return low < places.count && places[low].row == row ? places[low].place : nil
    }
}

extension CommitChanges: StateChanges {
    func forEachRow(
        of entity: Int,
        _ body: (RowID, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) throws -> Void
    ) rethrows {
        guard let rows = rows(of: entity) else { return }
        defer { withExtendedLifetime(rows) {} }
        let description = schema.entities[entity]
        for (row, place) in rows.places {
            let (old, new) = (rows.before.address(of: place), rows.after.address(of: place))
            if let old, let new, description.areIdentical(old, new) { continue }
            try body(RowID(entity: entity, row: row), old, new)
        }
    }

    func row(_ id: RowID) -> (old: UnsafeRawPointer?, new: UnsafeRawPointer?) {
        guard let rows = rows(of: id.entity), let place = rows.place(of: id.row) else { return (nil, nil) }
        return (rows.before.address(of: place), rows.after.address(of: place))
    }

    func version(of id: RowID) -> RowVersion? {
        guard let rows = rows(of: id.entity), let place = rows.place(of: id.row) else { return nil }
        return rows.after.version(of: place) ?? rows.before.version(of: place)
    }

    func changedOwners(through relationship: ToManyDescription) -> [RowNumber] {
        var owners: Set<RowNumber> = []
        if let toOne = relationship.toOne, !relationship.isOrdered {
            let reference = schema.entities[relationship.source].toOnes[toOne]
            forEachRow(of: relationship.source) { _, old, new in
                let targets = [old, new].map { $0.map { reference.target(ofRowAt: $0) } ?? 0 }
                if targets[0] != targets[1] { owners.formUnion(targets) }
            }
            owners.remove(0)
        } else if let table = relationship.linkTable {
            let isRecorded = schema.linkTables[table].isRecorded(as: table)
            let recorded = isRecorded ? table : schema.linkTables[table].inverse
            // A link that has only moved is removed and added. A table that is not recorded has no order, and so has that
            // link before and after.
            func links(_ links: [LinkTable.Link]) -> Set<LinkTable.Link> {
                Set(isRecorded ? links : links.map { LinkTable.Link(owner: $0.member, member: $0.owner) })
            }
            for (number, difference) in self.links where number == recorded {
                let changed = links(difference.removed).symmetricDifference(links(difference.added))
                owners.formUnion(changed.map(\.owner))
            }
        }
        return owners.sorted()
    }

    func forEachLinkTable(_ body: (Int, LinkTableDescription, LinkTable.Difference) throws -> Void) rethrows {
        for (table, difference) in links { try body(table, schema.linkTables[table], difference) }
    }

    private func rows(of entity: Int) -> Rows? { entities.first { $0.entity == entity } }
}
