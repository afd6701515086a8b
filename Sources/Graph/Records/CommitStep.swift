/// Takes the rows and links of a state over a commit, forwards or back, by the commit's record.
///
/// The record was checked with all that it changed when the file was opened or the commit was made. So rules are not checked
/// again here, but whatever the record says, nothing in it traps.
struct CommitStep: CommitHandler {
    var state: PastState
    private var isBack = false
    /// What the commit changes, if somebody wants to know.
    private var changes: CommitChanges?
    private let path: String
    private let decoders: [RowDecoder]
    /// Links that come back when those that the commit has added are gone: a link that only moved is among both.
    private var returning: [(table: Int, link: LinkTable.Link)] = []

    init(_ state: PastState, path: String) {
        (self.state, self.path) = (state, path)
        decoders = state.schema.entities.map { RowDecoder($0.properties) }
    }

    /// If it throws, the state is of no use afterwards.
    ///
    /// - Parameter changes: is told what the commit changes, if it is not nil.
    mutating func apply(
        _ payload: UnsafeRawBufferPointer, isBack: Bool, keeping changes: inout CommitChanges?
    ) throws {
        self.isBack = isBack
        self.changes = changes.take()
        try CommitRecord.decode(payload, of: state.schema, into: &self)
        for (table, link) in returning { insert(link, into: table) }
        returning = []
        changes = self.changes.take()
        changes?.finish()
    }

    mutating func begin(
        _ number: CommitNumber, counters: [(entity: Int, next: RowNumber)], _ reader: ByteReader
    ) throws {
        guard number == (isBack ? state.commit : state.commit.next) else {
            throw reader.failure("commit \(number) at commit \(state.commit)")
        }
    }

    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        changes?.add(id)
        if isBack { try removeRow(id, &reader) } else { try insertRow(id, version, &reader) }
    }

    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        changes?.add(id)
        if isBack { try insertRow(id, version, &reader) } else { try removeRow(id, &reader) }
    }

    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        changes?.add(id)
        let change = RowUpdate(id: id, version: version, schema: state.schema, path: path, isBack: isBack)
        guard try change.apply(to: &state.entities[id.entity], keeping: &changes, &reader) else {
            throw reader.failure("row \(id.row) does not exist")
        }
    }

    mutating func remove(_ link: LinkTable.Link, from table: Int, _ reader: ByteReader) throws {
        changes?.add(link, on: .before, of: table)
        if isBack { returning.append((table, link)) } else { try takeOut(link, of: table, reader) }
    }

    mutating func addLinks(to number: Int, _ table: LinkTableDescription, _ reader: inout ByteReader) throws {
        try reader.forEachLink(in: table) { link, reader in
            changes?.add(link, on: .after, of: number)
            if isBack { try takeOut(link, of: number, reader) } else { insert(link, into: number) }
        }
    }

    // MARK: Rows and links

    private mutating func insertRow(_ id: RowID, _ version: RowVersion, _ reader: inout ByteReader) throws {
        guard !state.entities[id.entity].contains(id.row) else { throw reader.failure("row \(id.row) exists") }
        let layout = state.schema.entities[id.entity].layout
        try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let address = memory.baseAddress.unsafelyUnwrapped
            try decode(id, &reader, into: address)
            changes?.keep(isBack ? .before : .after, version: version, address)
            state.entities[id.entity].insert(id.row, version: version, moving: address)
        }
    }

    /// Passes over the values, which the row has.
    private mutating func removeRow(_ id: RowID, _ reader: inout ByteReader) throws {
        let properties = state.schema.entities[id.entity].properties
        for property in properties where property.isStored {
            do {
                try property.skip(&reader)
            } catch {
                throw state.schema.error(error, reading: property, of: id, path: path)
            }
        }
        if changes != nil, let (version, address) = state.entities[id.entity].row(id.row) {
            changes?.keep(isBack ? .after : .before, version: version, address)
        }
        guard state.entities[id.entity].remove(id.row) else { throw reader.failure("row \(id.row) does not exist") }
    }

    /// Initialises a row's memory, or throws and leaves none of it initialised.
    private func decode(_ id: RowID, _ reader: inout ByteReader, into address: UnsafeMutableRawPointer) throws {
        let properties = state.schema.entities[id.entity].properties
        let decoder = decoders[id.entity]
        var done = 0
        do {
            while done < decoder.count {
                try decoder.decode(done, &reader, into: address)
                done += 1
            }
        } catch {
            for property in properties.prefix(done) { property.operations.deinitialize(address + property.offset) }
            throw state.schema.error(error, reading: properties[done], of: id, path: path)
        }
    }

    private mutating func insert(_ link: LinkTable.Link, into table: Int) {
        state.linkTables[table].insert(link.member, of: link.owner, key: link.key)
        if let derived = state.schema.derivedTable(of: table) {
            state.linkTables[derived].insert(link.owner, of: link.member, key: nil)
        }
    }

    private mutating func takeOut(_ link: LinkTable.Link, of table: Int, _ reader: ByteReader) throws {
        guard state.linkTables[table].remove(link.member, of: link.owner) else {
            throw reader.failure("member \(link.member) of row \(link.owner) is not there")
        }
        if let derived = state.schema.derivedTable(of: table) {
            state.linkTables[derived].remove(link.owner, of: link.member)
        }
    }
}

/// The update of one row, as a record says it.
private struct RowUpdate {
    let id: RowID
    let version: RowVersion
    let schema: Schema
    let path: String
    let isBack: Bool

    /// Returns false if there is no such row.
    func apply(
        to rows: inout PastRows, keeping changes: inout CommitChanges?, _ reader: inout ByteReader
    ) throws -> Bool {
        try rows.change(id.row) { address, rowVersion in
            changes?.keep(isBack ? .after : .before, version: RowVersion(rowVersion), address)
            try decode(&reader, into: address)
            rowVersion = isBack ? version.number - 1 : version.number
            changes?.keep(isBack ? .before : .after, version: RowVersion(rowVersion), address)
        }
    }

    /// Replaces the values that have changed.
    private func decode(_ reader: inout ByteReader, into row: UnsafeMutableRawPointer) throws {
        let properties = schema.entities[id.entity].properties
        try CommitRecord.forEachUpdatedProperty(among: properties, &reader) { property, reader in
            do {
                if isBack {
                    try property.decode(&reader, replacing: row + property.offset)
                    try property.skip(&reader)
                } else {
                    try property.skip(&reader)
                    try property.decode(&reader, replacing: row + property.offset)
                }
            } catch {
                throw schema.error(error, reading: property, of: id, path: path)
            }
        }
    }
}
