/// A committed state of a store: an immutable value to keep, to pass to any thread and to query there, without locks and
/// without disturbing others.
///
/// Taking and keeping one costs O(1). While you keep it, only what later commits change takes memory twice.
public struct Snapshot: Sendable {
    @usableFromInline let schema: Schema
    /// The place of this state in the store's history, to be kept beyond the program's end. That of a context's state is the one of
    /// the commit that it is based on.
    public internal(set) var token = HistoryToken()
    /// Indexed by entity number in the schema.
    @usableFromInline var entities: [EntityRows]
    /// Indexed by link table number in the schema.
    var linkTables: [LinkTable]
    /// Is told what is read, if anybody wants to know: by what programs call, not by what the engine does with rows.
    var reader: (any SnapshotReader)?

    /// The empty store.
    init(schema: Schema) {
        self.schema = schema
        entities = schema.entities.map {
            EntityRows(
                rows: RowTable(layout: $0.layout),
                indexes: Array(repeating: OrderedIndex(), count: $0.indexes.count)
            )
        }
        linkTables = Array(repeating: LinkTable(), count: schema.linkTables.count)
    }

    /// The same rows and links under a schema with other names, rules or indexes. The indexes are empty.
    init(_ other: Snapshot, of schema: Schema) {
        self.init(schema: schema)
        token = other.token
        for entity in entities.indices { entities[entity].rows = other.entities[entity].rows }
        linkTables = other.linkTables
    }
}

extension Snapshot {
    /// The newest commit in this state.
    public var commit: CommitNumber { token.commit }
}

extension Snapshot: CustomStringConvertible {
    /// The commit, and the number of objects of the first ten entities that have any: `commit 12: 3 Team, 20 Person`.
    public var description: String {
        noteAll()
        let counts = zip(schema.entities, entities).filter { $1.rows.count > 0 }
        guard !counts.isEmpty else { return "commit \(commit)" }
        let text = counts.prefix(10).map { "\($1.rows.count) \($0.name)" }.joined(separator: ", ")
        return "commit \(commit): \(text)\(counts.count > 10 ? ", …" : "")"
    }
}

/// The rows of one entity and their indexes.
@usableFromInline
struct EntityRows: Sendable {
    @usableFromInline var rows: RowTable
    /// Indexed by index number in the entity's description.
    var indexes: [OrderedIndex]
}

/// A buffer for building index entries, so that a change of a row allocates none. Its contents mean nothing between calls.
struct EntryScratch: Sendable {
    fileprivate var entry = ByteWriter(capacity: 64)
}

extension Snapshot {
    // MARK: Rows with their indexes

    /// Writes a row and updates its entity's indexes. The row's memory must not lie in this snapshot.
    ///
    /// Returns false if the row certainly took no unique value of another one; see `OrderedIndex.insert`.
    mutating func set(
        _ id: RowID,
        version: RowVersion,
        copying value: UnsafeRawPointer,
        scratch: inout EntryScratch
    ) -> Bool {
        let mayShareValue = updateIndexes(of: id, to: value, &scratch)
        entities[id.entity].rows.set(id.row, version: version, copying: value)
        return mayShareValue
    }

    /// The same for a row that is moved in; its memory is uninitialized afterwards.
    mutating func set(
        _ id: RowID,
        version: RowVersion,
        moving value: UnsafeMutableRawPointer,
        scratch: inout EntryScratch
    ) -> Bool {
        let mayShareValue = updateIndexes(of: id, to: UnsafeRawPointer(value), &scratch)
        entities[id.entity].rows.set(id.row, version: version, moving: value)
        return mayShareValue
    }

    /// Removes a row and its index entries. Returns true if the row existed.
    @discardableResult
    mutating func remove(_ id: RowID, scratch: inout EntryScratch) -> Bool {
        guard entities[id.entity].rows.contains(id.row) else { return false }
        _ = updateIndexes(of: id, to: nil, &scratch)
        return entities[id.entity].rows.remove(id.row)
    }

    /// Replaces the index entries of the row that the table has by those of another one. Returns what `set` does.
    mutating func updateIndexes(
        of id: RowID,
        to new: UnsafeRawPointer?,
        _ scratch: inout EntryScratch
    ) -> Bool {
        var mayShareValue = false
        let (entity, row) = (id.entity, id.row)
        let old = entities[entity].rows.address(of: row)
        for (number, index) in schema.entities[entity].indexes.enumerated() {
            if let old, let new, index.isIdentical(old, new) { continue }
            if let old, index.makeEntry(for: row, at: old, in: &scratch.entry) {
                scratch.entry.bytes.withUnsafeBytes { _ = entities[entity].indexes[number].remove($0) }
            }
            guard let new, index.makeEntry(for: row, at: new, in: &scratch.entry) else { continue }
            scratch.entry.bytes.withUnsafeBytes { entry in
                let keyLength = entry.count - MemoryLayout<RowNumber>.size
                let insertion = entities[entity].indexes[number].insert(entry, sharing: keyLength)
                if insertion.mayShare, index.uniqueness != nil { mayShareValue = true }
            }
        }
        return mayShareValue
    }

    // MARK: Look-ups through indexes

    /// Calls the body with the rows of an entity that refer to `target`, in ascending order, until it returns false.
    func forEachReferrer(
        to target: RowNumber,
        through reference: Reference,
        _ body: (RowNumber) throws -> Bool
    ) rethrows {
        let index = schema.toOne(reference).index
        _ = try withUnsafeBytes(of: target.bigEndian) {
            try entities[reference.entity].indexes[index].forEachRow(withPrefix: $0, body)
        }
    }

    func referrers(to target: RowNumber, through reference: Reference) -> [RowNumber] {
        var rows: [RowNumber] = []
        forEachReferrer(to: target, through: reference) {
            rows.append($0)
            return true
        }
        return rows
    }

    func countReferrers(to target: RowNumber, through reference: Reference) -> Int {
        let index = schema.toOne(reference).index
        return withUnsafeBytes(of: target.bigEndian) {
            entities[reference.entity].indexes[index].rowCount(withPrefix: $0)
        }
    }

    /// The first rows that refer to `target`, in ascending order, without visiting the others.
    func firstReferrers(_ limit: Int, to target: RowNumber, through reference: Reference) -> [RowNumber] {
        var rows: [RowNumber] = []
        forEachReferrer(to: target, through: reference) {
            rows.append($0)
            return rows.count < limit
        }
        return rows
    }

    /// The first other rows with the same key in an index, in ascending order; empty if there is a nil in the key.
    ///
    /// - Complexity: O(log *n* + *k*) for *k* rows found, however many there are.
    func rowsSharingKey(
        of id: RowID,
        at address: UnsafeRawPointer,
        index number: Int,
        limit: Int = .max
    ) -> [RowNumber] {
        var key = ByteWriter(capacity: 64)
        guard schema.entities[id.entity].indexes[number].appendKey(ofRowAt: address, to: &key) else { return [] }
        var others: [RowNumber] = []
        _ = key.bytes.withUnsafeBytes { prefix in
            entities[id.entity].indexes[number].forEachRow(withPrefix: prefix) { found in
                if found != id.row { others.append(found) }
                return others.count < limit
            }
        }
        return others
    }

    // MARK: Members

    /// The index whose entries begin with a to-many relationship's owner and end with its member.
    func memberIndex(of relationship: ToManyDescription) -> OrderedIndex {
        if let toOne = relationship.toOne, !relationship.isOrdered {
            let index = schema.entities[relationship.source].toOnes[toOne].index
            return entities[relationship.source].indexes[index]
        }
        guard let number = relationship.linkTable else { preconditionFailure("a relationship without a link table") }
        return relationship.isOrdered ? linkTables[number].sequence : linkTables[number].members
    }

    /// The members of an owner in their order.
    func members(of owner: RowNumber, through relationship: ToManyDescription) -> [RowNumber] {
        var rows: [RowNumber] = []
        _ = withUnsafeBytes(of: owner.bigEndian) { prefix in
            memberIndex(of: relationship).forEachRow(withPrefix: prefix) {
                rows.append($0)
                return true
            }
        }
        return rows
    }

    func memberCount(of owner: RowNumber, through relationship: ToManyDescription) -> Int {
        withUnsafeBytes(of: owner.bigEndian) { memberIndex(of: relationship).rowCount(withPrefix: $0) }
    }

    func firstMember(of owner: RowNumber, through relationship: ToManyDescription) -> RowNumber? {
        withUnsafeBytes(of: owner.bigEndian) { memberIndex(of: relationship).firstRow(withPrefix: $0) }
    }

    /// The member at `offset`; nil if there is none.
    func member(at offset: Int, of owner: RowNumber, through relationship: ToManyDescription) -> RowNumber? {
        let index = memberIndex(of: relationship)
        return withUnsafeBytes(of: owner.bigEndian) { prefix in
            let rank = index.rank(of: .entry(prefix)) + offset
            guard offset >= 0, rank < index.rank(of: .pastPrefix(prefix)) else { return nil }
            return index.withEntry(at: rank) { KeyBytes($0).row }
        }
    }

    func isMember(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) -> Bool {
        guard let toOne = relationship.toOne else {
            return relationship.linkTable.map { linkTables[$0].contains(row, of: owner) } ?? false
        }
        let description = schema.entities[relationship.source].toOnes[toOne]
        return entities[relationship.source].rows.address(of: row).map { description.target(ofRowAt: $0) } == owner
    }

    /// Links two rows in both link tables; returns false if they are linked already. The new member comes last in an order, or
    /// in the owner's order where `key` says.
    @discardableResult
    mutating func link(_ member: RowNumber, to owner: RowNumber, in number: Int, key: OrderKey? = nil) -> Bool {
        let table = schema.linkTables[number]
        guard let inverse = table.inverse else { return false }
        if table.isOrdered {
            guard !linkTables[number].contains(member, of: owner) else { return false }
            linkTables[number].insert(member, of: owner, key: newKey(key, of: owner, in: number))
        } else {
            guard linkTables[number].insert(member, of: owner, key: nil) else { return false }
        }
        guard inverse != number || member != owner else { return true }
        linkTables[inverse].insert(owner, of: member, key: newKey(nil, of: member, in: inverse))
        return true
    }

    /// Returns false if the rows are not linked.
    @discardableResult
    mutating func unlink(_ member: RowNumber, from owner: RowNumber, in number: Int) -> Bool {
        guard let inverse = schema.linkTables[number].inverse, linkTables[number].remove(member, of: owner) else {
            return false
        }
        linkTables[inverse].remove(owner, of: member)
        return true
    }

    /// The key for a new member of a link table; nil if the table has no order.
    func newKey(_ wanted: OrderKey?, of owner: RowNumber, in number: Int) -> OrderKey? {
        guard schema.linkTables[number].isOrdered else { return nil }
        return wanted ?? .between(linkTables[number].lastKey(of: owner), nil)
    }
}

extension ToOneDescription {
    /// The row that the row at the address refers to; 0 for none.
    func target(ofRowAt address: UnsafeRawPointer) -> RowNumber {
        (address + offset).load(as: RowNumber.self)
    }
}

extension IndexDescription {
    /// Replaces the writer's bytes by the row's entry; returns false if the index leaves this row out.
    func makeEntry(for row: RowNumber, at address: UnsafeRawPointer, in writer: inout ByteWriter) -> Bool {
        writer.removeAll()
        return appendEntry(for: row, at: address, to: &writer)
    }

    /// Appends the row's entry; returns false, with the writer as before, if the index leaves this row out.
    func appendEntry(for row: RowNumber, at address: UnsafeRawPointer, to writer: inout ByteWriter) -> Bool {
        let start = writer.count
        guard appendKey(ofRowAt: address, to: &writer) || !skipsNil else {
            writer.removeAll(from: start)
            return false
        }
        writer.appendBigEndian(row)
        return true
    }
}
