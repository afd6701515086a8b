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
        guard !new.isIdentical(to: snapshot) else {
            snapshot = new
            return ResultChanges()
        }
        let difference = SnapshotDifference(before: snapshot, after: new)
        test.move(to: new)
        let isOpen = test.mayDiffer(difference)
        let changed = isOpen ? [] : try touched(difference, test)
        guard isOpen || !changed.isEmpty else {
            snapshot = new
            return ResultChanges()
        }
        let old = self
        snapshot = new
        do {
            return try finish(isOpen ? refetch(difference) : update(changed), since: old)
        } catch {
            self = old
            throw error
        }
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
    private func touched(_ difference: SnapshotDifference, _ test: ResultTest<E>) throws -> [TouchedRow] {
        let layout = snapshot.schema.entities[entity].layout
        let last = lastKnown
        var touched: [TouchedRow] = []
        var writer = ByteWriter()
        try difference.forEachRow(of: entity) { id, old, new in
            var row = TouchedRow(id.row, isChanged: true)
            if let old {
                keys.write(id.row, at: old, to: &writer)
                if entries.contains(writer.bytes) { row.oldEntry = writer.bytes }
            }
            if let new, try test.matches(id.row, new, in: layout) {
                keys.write(id.row, at: new, to: &writer)
                if row.oldEntry != nil || writer.bytes.isKnown(upTo: last) { row.newEntry = writer.bytes }
            }
            if row.oldEntry != nil || row.newEntry != nil { touched.append(row) }
        }
        return touched
    }

    /// The last entry, if others that are not known may come after it.
    private var lastKnown: [UInt8]? { isComplete ? nil : entries.entry(at: entries.count - 1) }

    /// Brings the entries of changed rows up to date.
    private mutating func update(_ rows: [TouchedRow]) throws -> [TouchedRow] {
        var touched = rows
        let last = lastKnown
        // All ranks before the first change.
        for place in touched.indices { touched[place].old = touched[place].oldEntry.map { entries.rank(of: $0) } }
        for row in touched where row.oldEntry != row.newEntry {
            if let entry = row.oldEntry { entries.remove(entry) }
        }
        for row in touched where row.oldEntry != row.newEntry {
            if let entry = row.newEntry, entry.isKnown(upTo: last) { entries.insert(entry) }
        }
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

extension [UInt8] {
    /// Whether an entry is not behind the last one up to which all are known.
    fileprivate func isKnown(upTo last: [UInt8]?) -> Bool { last.map { !$0.lexicographicallyPrecedes(self) } ?? true }
}
