/// How a live result follows from state to state.
///
/// What has changed is the difference of two states. Of each row that differs, the result asks whether it matched, which its
/// entry says, and whether it matches. So a commit costs what it changed, and O(log *n*) for each row of it that the result of *n*
/// rows had or has.
extension ResultRows {
    /// Moves to another state and returns what differs.
    ///
    /// - Parameter test: made for the same descriptor.
    /// - Throws: `GraphError.predicateFailed`; the result then stays where it was.
    mutating func move(to new: Snapshot, _ test: ResultTest<E>) throws -> ResultChanges {
        test.move(to: new)
        // If not, references of the sort lead to the same rows in both states, and keys of either are keys of both.
        let isOpen = test.mayDiffer(from: snapshot, to: new, followed)
        let changed = isOpen ? [] : try touched(by: new, test)
        guard isOpen || !changed.isEmpty else {
            show(new)
            return ResultChanges()
        }
        let old = self
        show(new)
        do {
            let rows = try isOpen ? refetch(SnapshotDifference(before: old.snapshot, after: new)) : update(changed)
            return finish(rows, since: old)
        } catch {
            self = old
            throw error
        }
    }

    private mutating func show(_ new: Snapshot) {
        snapshot = new
        keys.move(to: new)
    }

    /// Fetches the result of another definition and returns what differs.
    mutating func change(to definition: ResultDefinition<E>, in new: Snapshot) throws -> ResultChanges {
        let old = self
        self = try ResultRows(definition, in: new)
        var rows: [RowNumber: TouchedRow] = [:]
        old.forEachShown { rows[$0, default: TouchedRow($0)].old = $1 }
        forEachShown { rows[$0, default: TouchedRow($0)].new = $1 }
        let (before, after) = (old.snapshot.entities[entity].rows, new.entities[entity].rows)
        for row in rows.keys {
            guard let old = before.address(of: row), let new = after.address(of: row) else { continue }
            rows[row]?.isChanged = !snapshot.schema.entities[entity].areIdentical(old, new)
        }
        // Nothing else is known of either list.
        var changes = ResultChanges(Array(rows.values), from: old, to: self, isWhole: true)
        var sections = old.sections
        changes.updateSections(&sections, from: old, to: self)
        return changes
    }

    /// Calls the body with each row that the result shows, and the rank of its entry.
    private func forEachShown(_ body: (RowNumber, Int) -> Void) {
        for (place, row) in rows(in: 0..<count).enumerated() { body(row, window.lowerBound + place) }
    }

    // MARK: Entries

    /// The changed rows that are or were in the result, where the answer of no other row has changed.
    private func touched(by new: Snapshot, _ test: ResultTest<E>) throws -> [TouchedRow] {
        let (table, oldTable) = (new.entities[entity].rows, snapshot.entities[entity].rows)
        guard !table.isIdentical(to: oldTable) else { return [] }
        var touched: [TouchedRow] = []
        var writer = ByteWriter()
        try table.forEachRow(differingFrom: oldTable) { number, old, new in
            var row = TouchedRow(number, isChanged: true)
            // What did not match has no entry; to ask again costs less than to look for one.
            if let old, (try? test.matches(number, old, in: table.layout)) ?? true {
                keys.write(number, at: old, to: &writer)
                if entries.contains(writer.bytes) { row.oldEntry = writer.bytes }
            }
            if let new, try test.matches(number, new, in: table.layout) {
                keys.write(number, at: new, to: &writer)
                if row.oldEntry != nil || isKnown(writer.bytes) { row.newEntry = writer.bytes }
            }
            guard row.oldEntry != nil || row.newEntry != nil else { return }
            if let old, let new, snapshot.schema.entities[entity].areIdentical(old, new) { return }
            touched.append(row)
        }
        return touched
    }

    /// Whether all entries up to this one are known. What comes after the last one may come after others that are not.
    private func isKnown(_ entry: [UInt8]) -> Bool {
        isComplete
            || entry.withUnsafeBytes { entry in
                entries.withEntry(at: entries.count - 1) { KeyBytes(entry).compare(KeyBytes($0)) <= 0 }
            }
    }

    /// Brings the entries of changed rows up to date.
    private mutating func update(_ rows: [TouchedRow]) throws -> [TouchedRow] {
        var touched = rows
        // All ranks, and which entries are known, before the first change.
        for place in touched.indices { touched[place].old = touched[place].oldEntry.map { entries.rank(of: $0) } }
        let moved = touched.filter { $0.oldEntry != $0.newEntry }
        let inserted = moved.compactMap(\.newEntry).filter(isKnown)
        for entry in moved.compactMap(\.oldEntry) { entries.remove(entry) }
        for entry in inserted { entries.insert(entry) }
        try fit()
        return touched
    }

    /// Sees to it that there are enough entries, and not too many.
    private mutating func fit() throws {
        let wanted = definition.wanted
        guard wanted < .max else { return }
        if !isComplete, entries.count < max(wanted, 1) {
            try fetch()
        } else if entries.count - wanted > 2 * definition.spare {
            isComplete = false
            while entries.count - wanted > definition.spare { entries.remove(entries.entry(at: entries.count - 1)) }
        }
    }

    /// Fetches the entries anew, and returns the rows that have other ones, or other values.
    private mutating func refetch(_ difference: SnapshotDifference) throws -> [TouchedRow] {
        let old = entries
        try fetch()
        var rows: [RowNumber: TouchedRow] = [:]
        entries.forEachDifference(from: old) { entry, isNew in
            let row = KeyBytes(entry).row
            if isNew {
                rows[row, default: TouchedRow(row)].newEntry = [UInt8](entry)
            } else {
                rows[row, default: TouchedRow(row)].oldEntry = [UInt8](entry)
            }
            return true
        }
        var writer = ByteWriter(capacity: 64)
        difference.forEachRow(of: entity) { id, _, new in
            rows[id.row]?.isChanged = true
            guard let new, rows[id.row] == nil else { return }
            keys.write(id.row, at: new, to: &writer)
            guard entries.contains(writer.bytes) else { return }
            rows[id.row] = TouchedRow(id.row, writer.bytes, writer.bytes, isChanged: true)
        }
        var touched = Array(rows.values)
        for place in touched.indices { touched[place].old = touched[place].oldEntry.map { old.rank(of: $0) } }
        return touched
    }

    /// Finds what changed entries make of the result.
    private mutating func finish(_ rows: [TouchedRow], since old: ResultRows) -> ResultChanges {
        guard !rows.isEmpty else { return ResultChanges() }
        var touched = rows
        for place in touched.indices {
            touched[place].new = touched[place].newEntry.flatMap { entries.contains($0) ? entries.rank(of: $0) : nil }
        }
        var changes = ResultChanges(touched, from: old, to: self)
        changes.updateSections(&sections, from: old, to: self)
        return changes
    }
}

/// A row whose place in a result, or whose values, may differ between two states.
struct TouchedRow {
    let row: RowNumber
    var oldEntry: [UInt8]?
    var newEntry: [UInt8]?
    /// The ranks of the entries, before and after.
    var old: Int?
    var new: Int?
    /// Whether the row itself is another one.
    var isChanged: Bool

    init(_ row: RowNumber, _ oldEntry: [UInt8]? = nil, _ newEntry: [UInt8]? = nil, isChanged: Bool = false) {
        (self.row, self.oldEntry, self.newEntry, self.isChanged) = (row, oldEntry, newEntry, isChanged)
    }
}

extension OrderedIndex {
    /// The number of entries before this one.
    func rank(of entry: [UInt8]) -> Int { entry.withUnsafeBytes { rank(of: .entry($0)) } }
}
