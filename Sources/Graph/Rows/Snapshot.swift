/// A committed state of a store: an immutable value that can be kept, passed to any thread and queried there, without
/// locks and without disturbing anybody.
///
/// Taking and keeping one costs O(1); what later commits change, and only that, is held twice while it is kept.
public struct Snapshot: Sendable {
    @usableFromInline let schema: Schema
    /// The commit that made this state. What a context has not saved yet never shows in a snapshot.
    public internal(set) var commit: CommitNumber
    /// By the entity's number in the schema.
    @usableFromInline var entities: [EntityRows]

    /// The empty store.
    init(schema: Schema) {
        self.schema = schema
        commit = .none
        entities = schema.entities.map {
            EntityRows(
                rows: RowTable(layout: $0.layout),
                indexes: Array(repeating: OrderedIndex(), count: $0.indexes.count)
            )
        }
    }
}

/// The rows of one entity and the indexes that follow from them.
@usableFromInline
struct EntityRows: Sendable {
    @usableFromInline var rows: RowTable
    /// By the index's number in the entity's description.
    var indexes: [OrderedIndex]
}

/// Room for index entries under construction, so that a change of a row allocates none. Contents mean nothing between
/// calls.
struct EntryScratch: Sendable {
    fileprivate var entry = ByteWriter(capacity: 64)
}

extension Snapshot {
    // MARK: Rows with their indexes

    /// Writes a row and brings its entity's indexes up to date. The row's memory must not lie in this snapshot.
    mutating func set(
        _ row: RowNumber,
        of entity: Int,
        version: RowVersion,
        copying value: UnsafeRawPointer,
        scratch: inout EntryScratch
    ) {
        updateIndexes(of: entity, row: row, to: value, &scratch)
        entities[entity].rows.set(row, version: version, copying: value)
    }

    /// The same with a row that is moved in; its memory is uninitialised afterwards.
    mutating func set(
        _ row: RowNumber,
        of entity: Int,
        version: RowVersion,
        moving value: UnsafeMutableRawPointer,
        scratch: inout EntryScratch
    ) {
        updateIndexes(of: entity, row: row, to: UnsafeRawPointer(value), &scratch)
        entities[entity].rows.set(row, version: version, moving: value)
    }

    /// Removes a row and its index entries. True if it was there.
    @discardableResult
    mutating func remove(_ row: RowNumber, of entity: Int, scratch: inout EntryScratch) -> Bool {
        guard entities[entity].rows.contains(row) else { return false }
        updateIndexes(of: entity, row: row, to: nil, &scratch)
        return entities[entity].rows.remove(row)
    }

    private mutating func updateIndexes(
        of entity: Int,
        row: RowNumber,
        to new: UnsafeRawPointer?,
        _ scratch: inout EntryScratch
    ) {
        let old = entities[entity].rows.address(of: row)
        for (number, index) in schema.entities[entity].indexes.enumerated() {
            if let old, let new, index.isIdentical(old + index.offset, new + index.offset) { continue }
            if let old, index.makeEntry(for: row, at: old, in: &scratch.entry) {
                scratch.entry.bytes.withUnsafeBytes { _ = entities[entity].indexes[number].remove($0) }
            }
            if let new, index.makeEntry(for: row, at: new, in: &scratch.entry) {
                scratch.entry.bytes.withUnsafeBytes { _ = entities[entity].indexes[number].insert($0) }
            }
        }
    }

    // MARK: Look-ups through indexes

    /// Calls the body with the rows of an entity that refer to `target`, in ascending order, until it returns false.
    func forEachReferrer(
        to target: RowNumber,
        of entity: Int,
        through toOne: Int,
        _ body: (RowNumber) throws -> Bool
    ) rethrows {
        let index = schema.entities[entity].toOnes[toOne].index
        _ = try withUnsafeBytes(of: target.bigEndian) {
            try entities[entity].indexes[index].forEachRow(withPrefix: $0, body)
        }
    }

    func countReferrers(to target: RowNumber, of entity: Int, through toOne: Int) -> Int {
        let index = schema.entities[entity].toOnes[toOne].index
        return withUnsafeBytes(of: target.bigEndian) { entities[entity].indexes[index].rowCount(withPrefix: $0) }
    }

    /// Another row with the same value of an indexed property, if that value is not nil.
    func rowSharingKey(of row: RowNumber, at address: UnsafeRawPointer, index number: Int, of entity: Int) -> RowNumber?
    {
        let index = schema.entities[entity].indexes[number]
        var key = ByteWriter(capacity: 64)
        guard index.key.append(address + index.offset, &key) else { return nil }
        var other: RowNumber?
        _ = key.bytes.withUnsafeBytes { prefix in
            entities[entity].indexes[number].forEachRow(withPrefix: prefix) { found in
                if found != row { other = found }
                return other == nil
            }
        }
        return other
    }

    // MARK: Verification

    /// Checks the structures and that each index is exactly what the rows say; returns what does not hold.
    func checkInvariants() -> [String] {
        var failures: [String] = []
        for (entity, description) in schema.entities.enumerated() {
            let state = entities[entity]
            failures += state.rows.checkInvariants().map { "\(description.name): rows: \($0)" }
            for (number, index) in description.indexes.enumerated() {
                let name = "\(description.name).\(description.properties[index.property].name)"
                var expected = 0
                state.rows.forEachRow { row, _, address in
                    var entry = ByteWriter()
                    guard index.makeEntry(for: row, at: address, in: &entry) else { return }
                    expected += 1
                    if !entry.bytes.withUnsafeBytes({ state.indexes[number].contains($0) }) {
                        failures.append("\(name): row \(row) is missing in the index")
                    }
                }
                if state.indexes[number].count != expected {
                    failures.append("\(name): \(state.indexes[number].count) entries for \(expected) rows")
                }
                do {
                    try state.indexes[number].checkInvariants()
                } catch {
                    failures.append("\(name): index: \(error)")
                }
            }
        }
        return failures
    }
}

extension IndexDescription {
    /// Replaces the writer's bytes by the row's entry; false if the index leaves this row out.
    fileprivate func makeEntry(for row: RowNumber, at address: UnsafeRawPointer, in writer: inout ByteWriter) -> Bool {
        writer.removeAll()
        if !key.append(address + offset, &writer), skipsNil { return false }
        writer.appendBigEndian(row)
        return true
    }
}
