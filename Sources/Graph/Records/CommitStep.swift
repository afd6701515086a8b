/// Takes the rows and links of a state over a commit, forwards or back, by the commit's record. The state has no indexes.
///
/// The record was checked with all that it changed when the file was opened or the commit was made. So rules are not checked
/// again here, but whatever the record says, nothing in it traps.
struct CommitStep: CommitHandler {
    var snapshot: Snapshot
    private(set) var isBack = false
    private let path: String
    private let decoders: [RowDecoder]
    /// Links that come back when those that the commit has added are gone: a link that only moved is among both.
    private var returning: [(table: Int, link: LinkTable.Link)] = []

    init(_ snapshot: Snapshot, path: String) {
        (self.snapshot, self.path) = (snapshot, path)
        decoders = snapshot.schema.entities.map { RowDecoder($0.properties) }
    }

    /// If it throws, the state is of no use afterwards.
    mutating func apply(_ payload: UnsafeRawBufferPointer, isBack: Bool) throws {
        self.isBack = isBack
        try CommitRecord.decode(payload, of: snapshot.schema, into: &self)
        for (table, link) in returning { insert(link, into: table) }
        returning = []
    }

    mutating func begin(
        _ number: CommitNumber, counters: [(entity: Int, next: RowNumber)], _ reader: ByteReader
    ) throws {
        guard number == (isBack ? snapshot.commit : snapshot.commit.next) else {
            throw reader.failure("commit \(number) at commit \(snapshot.commit)")
        }
    }

    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        if isBack { try removeRow(id, &reader) } else { try insertRow(id, version, &reader) }
    }

    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        if isBack { try insertRow(id, version, &reader) } else { try removeRow(id, &reader) }
    }

    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let address = snapshot.address(of: id) else { throw reader.failure("row \(id.row) does not exist") }
        let (description, isBack) = (snapshot.schema.entities[id.entity], isBack)
        try description.layout.withCopy(of: address) { copy in
            for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
                let tag = try reader.readVarint()
                guard tag >= 1, tag <= UInt64(description.properties.count) else {
                    throw reader.failure("no property has the tag \(tag)")
                }
                let property = description.properties[Int(tag) - 1]
                guard property.isStored else { throw reader.failure("\(property.name) is not stored") }
                do {
                    let value = copy + property.offset
                    try property.decode(&reader, replacing: value)
                    if isBack { try property.skip(&reader) } else { try property.decode(&reader, replacing: value) }
                } catch {
                    throw snapshot.schema.error(error, reading: property, of: id, path: path)
                }
            }
            guard version > .none else { throw reader.failure("row \(id.row) has no version") }
            let newVersion = isBack ? RowVersion(version.number - 1) : version
            snapshot.entities[id.entity].rows.set(id.row, version: newVersion, copying: copy)
        }
    }

    mutating func remove(_ link: LinkTable.Link, from table: Int, _ reader: ByteReader) throws {
        if isBack { returning.append((table, link)) } else { try takeOut(link, of: table, reader) }
    }

    mutating func add(_ link: LinkTable.Link, to table: Int, _ reader: ByteReader) throws {
        if isBack { try takeOut(link, of: table, reader) } else { insert(link, into: table) }
    }

    // MARK: Rows and links

    private mutating func insertRow(_ id: RowID, _ version: RowVersion, _ reader: inout ByteReader) throws {
        guard !snapshot.contains(id) else { throw reader.failure("row \(id.row) exists") }
        let layout = snapshot.schema.entities[id.entity].layout
        try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let address = memory.baseAddress.unsafelyUnwrapped
            try decode(id, &reader, into: address)
            snapshot.entities[id.entity].rows.set(id.row, version: version, moving: address)
        }
    }

    /// Passes over the values, which the row has.
    private mutating func removeRow(_ id: RowID, _ reader: inout ByteReader) throws {
        let properties = snapshot.schema.entities[id.entity].properties
        for property in properties where property.isStored {
            do {
                try property.skip(&reader)
            } catch {
                throw snapshot.schema.error(error, reading: property, of: id, path: path)
            }
        }
        guard snapshot.entities[id.entity].rows.remove(id.row) else {
            throw reader.failure("row \(id.row) does not exist")
        }
    }

    /// Initialises a row's memory, or throws and leaves none of it initialised.
    private func decode(_ id: RowID, _ reader: inout ByteReader, into address: UnsafeMutableRawPointer) throws {
        let properties = snapshot.schema.entities[id.entity].properties
        let decoder = decoders[id.entity]
        var done = 0
        do {
            while done < decoder.count {
                try decoder.decode(done, &reader, into: address)
                done += 1
            }
        } catch {
            for property in properties.prefix(done) { property.operations.deinitialize(address + property.offset) }
            throw snapshot.schema.error(error, reading: properties[done], of: id, path: path)
        }
    }

    private mutating func insert(_ link: LinkTable.Link, into table: Int) {
        snapshot.linkTables[table].insert(link.member, of: link.owner, key: link.key)
        if let derived = snapshot.schema.derivedTable(of: table) {
            snapshot.linkTables[derived].insert(link.owner, of: link.member, key: nil)
        }
    }

    private mutating func takeOut(_ link: LinkTable.Link, of table: Int, _ reader: ByteReader) throws {
        guard snapshot.linkTables[table].remove(link.member, of: link.owner) else {
            throw reader.failure("member \(link.member) of row \(link.owner) is not there")
        }
        if let derived = snapshot.schema.derivedTable(of: table) {
            snapshot.linkTables[derived].remove(link.owner, of: link.member)
        }
    }
}

extension Property {
    /// Reads a value and forgets it.
    fileprivate func skip(_ reader: inout ByteReader) throws {
        try withUnsafeTemporaryAllocation(byteCount: max(sizeBytes, 1), alignment: alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let value = memory.baseAddress.unsafelyUnwrapped
            try operations.decode(&reader, value)
            operations.deinitialize(value)
        }
    }
}
