/// Applies what a commit says, after checking it.
extension StoreReplay: CommitHandler {
    mutating func begin(
        _ number: CommitNumber,
        counters: [(entity: Int, next: RowNumber)],
        _ reader: ByteReader
    ) throws {
        guard number == snapshot.commit.next else {
            throw reader.failure("commit \(number) after commit \(snapshot.commit)")
        }
        try apply(counters, reader)
    }

    /// Fills leaves that the table does not have, and puts them into it when they are complete.
    mutating func insertRows(of entity: Int, _ reader: inout ByteReader) throws {
        let description = snapshot.schema.entities[entity]
        let (layout, decoder) = (description.layout, RowDecoder(description.properties))
        var open: LooseLeaf?
        try CommitRecord.forEachRow(of: entity, &reader) { id, version, reader in
            let (number, place) = (id.row >> 5, Int(id.row & 31))
            if open?.number != number {
                if let open { insert(open, of: entity) }
                let fills = !keepsIndexes && !snapshot.entities[entity].rows.hasLeaf(number)
                open = fills ? LooseLeaf(number, layout) : nil
            }
            guard let address = open?.freePlace(place) else { return try insert(id, version: version, &reader) }
            try check(id, version, reader)
            try decode(id, &reader, into: address, decoder)
            open?.add(place, version: version)
            rules.didWrite(id, from: nil, to: address, in: snapshot.schema)
            indexBase?.noteChange(of: id)
        }
        if let open { insert(open, of: entity) }
    }

    private mutating func insert(_ leaf: LooseLeaf, of entity: Int) {
        let isInserted = snapshot.entities[entity].rows.insert(leaf)
        precondition(isInserted, "a leaf came into the table while it was filled")
    }

    /// Changes nothing, and is mutating so that the compiler copies no replay for a call out of a closure.
    private mutating func check(_ id: RowID, _ version: RowVersion, _ reader: ByteReader) throws {
        guard id.row < counters[id.entity] else { throw reader.failure("row \(id.row) is beyond the row counter") }
        guard !snapshot.contains(id) else { throw reader.failure("row \(id.row) is inserted, but exists") }
        // Or it was deleted once and came back; see `WorkingState.number`.
        guard version == RowVersion.none.next || version.number == snapshot.commit.next.number else {
            throw reader.failure("row \(id.row) is inserted at version \(version)")
        }
    }

    mutating func insert(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        try check(id, version, reader)
        let layout = snapshot.schema.entities[id.entity].layout
        try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let address = memory.baseAddress.unsafelyUnwrapped
            try decode(id, &reader, into: address)
            rules.didWrite(id, from: nil, to: address, in: snapshot.schema)
            guard keepsIndexes else {
                indexBase?.noteChange(of: id)
                snapshot.entities[id.entity].rows.set(id.row, version: version, moving: address)
                return
            }
            if snapshot.set(id, version: version, moving: address, scratch: &scratch) {
                rules.mayShareKey(id)
            }
        }
    }

    mutating func update(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let address = snapshot.address(of: id), version == snapshot.version(of: id)?.next else {
            throw reader.failure("row \(id.row) is updated to version \(version), but is not at the one before")
        }
        let description = snapshot.schema.entities[id.entity]
        try description.layout.withCopy(of: address) { copy in
            try CommitRecord.forEachUpdatedProperty(among: description.properties, &reader) { property, reader in
                let value = copy + property.offset
                try reading(property, of: id) { try property.decode(&reader, replacing: value) }
                guard hasSameValue(property, of: id.entity, at: value, as: address + property.offset) else {
                    throw reader.failure("\(property.name) of row \(id.row) had another value before")
                }
                reader.hasUnreadParts = false
                try reading(property, of: id) { try property.decode(&reader, replacing: value) }
                noteUnread(property, of: id.entity, &reader)
            }
            rules.didWrite(id, from: address, to: copy, in: snapshot.schema)
            guard keepsIndexes else {
                indexBase?.noteChange(of: id)
                snapshot.entities[id.entity].rows.set(id.row, version: version, copying: copy)
                return
            }
            if snapshot.set(id, version: version, copying: copy, scratch: &scratch) {
                rules.mayShareKey(id)
            }
        }
    }

    mutating func delete(_ id: RowID, version: RowVersion, _ reader: inout ByteReader) throws {
        guard let current = snapshot.address(of: id), snapshot.version(of: id) == version else {
            throw reader.failure("row \(id.row) is deleted at version \(version), which it does not have")
        }
        let description = snapshot.schema.entities[id.entity]
        let layout = description.layout
        try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
            let address = memory.baseAddress.unsafelyUnwrapped
            try decode(id, &reader, into: address)
            defer { layout.destroy(address, 1) }
            let isSame = description.properties.allSatisfy {
                hasSameValue($0, of: id.entity, at: current + $0.offset, as: address + $0.offset)
            }
            guard isSame else { throw reader.failure("row \(id.row) is deleted with another value than it has") }
        }
        rules.didDelete(id, at: current, in: snapshot.schema)
        if keepsIndexes {
            snapshot.remove(id, scratch: &scratch)
        } else {
            indexBase?.noteChange(of: id)
            snapshot.entities[id.entity].rows.remove(id.row)
        }
    }

    mutating func remove(_ link: LinkTable.Link, from table: Int, _ reader: ByteReader) throws {
        guard snapshot.linkTables[table].key(of: link.member, of: link.owner) == link.key,
            snapshot.linkTables[table].remove(link.member, of: link.owner)
        else { throw reader.failure("member \(link.member) of row \(link.owner) is removed, but is not there") }
        if let derived = snapshot.schema.derivedTable(of: table) {
            snapshot.linkTables[derived].remove(link.owner, of: link.member)
        }
        rules.didRemove(link, from: table)
    }

    mutating func addLinks(to number: Int, _ table: LinkTableDescription, _ reader: inout ByteReader) throws {
        var links: [LinkTable.Link] = []
        let lastOwner = snapshot.linkTables[number].lastOwner ?? 0
        try reader.forEachLink(in: table) { link, reader in
            guard link.owner > lastOwner || !snapshot.linkTables[number].contains(link.member, of: link.owner) else {
                throw reader.failure("member \(link.member) of row \(link.owner) is added, but is there")
            }
            links.append(link)
            guard links.count >= LinkTable.mostAtOnce else { return }
            insert(links, into: number)
            links = []
        }
        insert(links, into: number)
    }

    private mutating func insert(_ links: [LinkTable.Link], into number: Int) {
        snapshot.linkTables[number].insert(contentsOf: links)
        if let derived = snapshot.schema.derivedTable(of: number) {
            snapshot.linkTables[derived].insert(contentsOf: links.map(\.reversed))
        }
        // All of a checkpoint is checked when it is complete.
        if promised == nil { rules.didAdd(links, to: number) }
    }

    // MARK: Values

    /// Initialises a row's memory, or throws and leaves none of it initialised.
    private mutating func decode(
        _ id: RowID, _ reader: inout ByteReader, into address: UnsafeMutableRawPointer, _ decoder: RowDecoder? = nil
    ) throws {
        let properties = snapshot.schema.entities[id.entity].properties
        let decoder = decoder ?? RowDecoder(properties)
        var done = 0
        do {
            while done < decoder.count {
                try decoder.decode(done, &reader, into: address)
                if reader.hasUnreadParts { noteUnread(properties[done], of: id.entity, &reader) }
                done += 1
            }
        } catch {
            for property in properties.prefix(done) { property.operations.deinitialize(address + property.offset) }
            throw snapshot.schema.error(error, reading: properties[done], of: id, path: path)
        }
    }

    /// Says whose value it is that its type cannot read.
    @inline(__always)
    func reading(_ property: Property, of id: RowID, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            throw snapshot.schema.error(error, reading: property, of: id, path: path)
        }
    }

    /// Whether a record tells the truth about a value that the state has.
    ///
    /// Of a program's own type nobody can tell for sure: a type that gives a missing key a default, or has learnt a case since,
    /// reads other values from the same records than the program did that wrote them. So it is a remark if a value of such a type
    /// neither has the same bytes nor equals the other; the row's version and the record's checksums were checked all the same.
    private mutating func hasSameValue(
        _ property: Property,
        of entity: Int,
        at address: UnsafeRawPointer,
        as other: UnsafeRawPointer
    ) -> Bool {
        guard let matches = property.operations.matchesRecord else {
            return property.operations.isIdentical(address, other)
        }
        if !matches(address, other) {
            let remark = "\(name(of: property, of: entity)): some values read differently than when they were written"
            if !remarks.contains(remark) { remarks.append(remark) }
        }
        return true
    }
}
