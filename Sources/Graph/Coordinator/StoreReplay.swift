/// Builds the state of a store from its journal's records, and believes none of them: whatever a record says is checked
/// against the schema and the state so far, so that a state that comes out of it keeps every rule.
///
/// The indexes are built when all rows are there, and what needs them is checked then, for the state that comes out. That is
/// faster, but whoever wants to know which record broke a rule has to replay with the indexes kept up.
///
/// Records name things by tag, so old names do no harm as long as the file's last schema record is the program's.
struct StoreReplay: Sendable {
    private(set) var snapshot: Snapshot
    /// By entity, the first row number to hand out.
    private(set) var counters: [RowNumber]
    private let path: String
    private let schemaRecord: SchemaRecord
    /// How the file's last schema record so far compares with the program's.
    private var agreement = SchemaRecord.Agreement.same
    /// That record. What differs is found only when it is asked for, since a file may have many.
    private var fileRecord: [UInt8] = []
    private var scratch = EntryScratch()
    private var touched = Touched()
    private let keepsIndexes: Bool
    /// Rows that were deleted while no index said what refers to them.
    private var deleted: [RowID] = []
    /// Rows whose unique values other rows have, too, in other bytes: texts that Swift takes for equal, and earlier versions of
    /// the engine did not. The file may have changed one of them later.
    private var equivalents: [RowID] = []
    /// What is odd about the file and no reason to refuse it; one line for each property at most.
    private(set) var remarks: [String] = []
    private var last: (offset: UInt64, sequence: UInt64) = (0, 0)

    init(schema: Schema, path: String, keepsIndexes: Bool = true) {
        self.keepsIndexes = keepsIndexes
        snapshot = Snapshot(schema: schema)
        counters = schema.entities.map { _ in 1 }
        self.path = path
        schemaRecord = SchemaRecord(schema)
    }

    /// - Throws: `.schemaMismatch`, `.valueNotReadable` or `.invalidRecord`; the replay is of no use afterwards.
    mutating func apply(_ entry: JournalEntry) throws(GraphError) {
        last = (entry.offset, entry.sequence)
        do {
            switch entry.kind {
            case .schema: applySchema(entry.payload)
            case _ where agreement == .otherSchema: break
            case .commit: try applyCommit(entry.payload)
            case .mark, .close:
                var reader = ByteReader(entry.payload)
                try applyCounters(&reader)
                try reader.expectEnd()
            case .snapshotChunk, .snapshotEnd:
                throw ByteReader.Failure(reason: "compacted files are not supported yet", offset: 0)
            }
        } catch let error as GraphError {
            throw agreement == .otherNames ? refusal(of: entry, "\(error)") : error
        } catch let failure as ByteReader.Failure {
            let reason = "\(failure.reason) (byte \(failure.offset) of the payload)"
            throw refusal(of: entry, reason)
        } catch {
            throw refusal(of: entry, "\(error)")
        }
    }

    /// Ends the replay: builds and checks what was put off, and gives what the file has to be told before the program may go on
    /// with it.
    ///
    /// - Throws: `.invalidRecord`, with the last record's place; `.notUnique`, if values were different when they were written, and
    ///   are equal now; `.schemaMismatch`, if the file's last schema record has names that the program does not know.
    mutating func finish() throws(GraphError) -> [Journal.Record] {
        let records = try recordsToAppend()
        guard !keepsIndexes else {
            try checkEquivalents()
            return records
        }
        let suspects = snapshot.buildIndexes()
        do {
            let reader = ByteReader(UnsafeRawBufferPointer(start: nil, count: 0))
            for id in suspects { try checkUniqueness(of: id, reader) }
            for id in deleted where !snapshot.contains(id) { try checkUnreferenced(id, reader) }
            for (entity, description) in snapshot.schema.entities.enumerated() where description.hasCounts {
                try snapshot.entities[entity].rows.forEachRow { row, _, _ in
                    if let failure = snapshot.countFailures(of: RowID(entity: entity, row: row)).first {
                        throw reader.failure("\(failure)")
                    }
                }
            }
        } catch {
            throw .invalidRecord(path: path, offset: last.offset, sequence: last.sequence, reason: "\(error)")
        }
        deleted = []
        try checkEquivalents()
        return records
    }

    /// What the file has to be told before the program may go on with it.
    ///
    /// - Throws: `.schemaMismatch`, if the file's last schema record has names that the program does not know.
    func recordsToAppend() throws(GraphError) -> [Journal.Record] {
        switch agreement {
        case .same:
            return []
        case .originalNames:
            return [Journal.Record(kind: .schema, payload: schemaRecord.bytes)]
        case .otherNames, .otherSchema:
            let differences = schemaRecord.differences(from: fileRecord)
            throw .schemaMismatch(path: path, differences: ErrorList(differences))
        }
    }

    /// Where names are others, the values that do not fit may belong to other properties.
    private func refusal(of entry: JournalEntry, _ reason: String) -> GraphError {
        if agreement == .otherNames {
            let difference = "record \(entry.sequence) does not fit the program: \(reason)"
            let differences = schemaRecord.differences(from: fileRecord) + [difference]
            return .schemaMismatch(path: path, differences: ErrorList(differences))
        }
        return .invalidRecord(path: path, offset: entry.offset, sequence: entry.sequence, reason: reason)
    }

    /// A file of another schema is read to its end nevertheless: what its things are called now, the last record says.
    private mutating func applySchema(_ payload: UnsafeRawBufferPointer) {
        let next = schemaRecord.agreement(with: payload)
        if agreement == .otherSchema {
            // Whatever it says, records between were left out.
            guard next == .otherNames || next == .otherSchema else { return }
        } else {
            agreement = next
        }
        fileRecord = Array(payload)
    }

    private mutating func applyCounters(_ reader: inout ByteReader) throws {
        for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
            let entity = try readEntity(&reader)
            let next = try reader.readVarint()
            guard next >= counters[entity], next <= RowCounters.maximum else {
                throw reader.failure("row counter \(next) after \(counters[entity])")
            }
            counters[entity] = next
        }
    }

    private mutating func applyCommit(_ payload: UnsafeRawBufferPointer) throws {
        var reader = ByteReader(payload)
        let number = CommitNumber(try reader.readVarint())
        guard number == snapshot.commit.next else {
            throw reader.failure("commit \(number) after commit \(snapshot.commit)")
        }
        _ = try reader.readFixed(UInt64.self)
        _ = try reader.readString()
        try applyCounters(&reader)
        touched = Touched()
        var last = -1
        for _ in 0..<(try reader.readCount(minimumBytes: 4)) {
            let entity = try readEntity(&reader)
            guard entity > last else { throw reader.failure("entities out of order") }
            last = entity
            touched.written += try applyInserts(&reader, entity)
            touched.written += try applyUpdates(&reader, entity)
            touched.deleted += try applyDeletes(&reader, entity)
        }
        try applyLists(&reader)
        try reader.expectEnd()
        try checkTouched(reader)
        snapshot.commit = number
    }

    private mutating func applyInserts(_ reader: inout ByteReader, _ entity: Int) throws -> [RowID] {
        try forEachRow(&reader, entity) { replay, reader, row, version in
            guard !replay.snapshot.entities[entity].rows.contains(row) else {
                throw reader.failure("row \(row) is inserted, but exists")
            }
            // Or it was deleted once and came back; see `WorkingState.number`.
            guard version == RowVersion.none.next || version.number == replay.snapshot.commit.next.number
            else {
                throw reader.failure("row \(row) is inserted at version \(version)")
            }
            let layout = replay.snapshot.schema.entities[entity].layout
            try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
                // There is at least one byte, so the memory has an address.
                let address = memory.baseAddress.unsafelyUnwrapped
                try replay.decode(row, entity, &reader, into: address)
                replay.noteReferences(of: row, of: entity, at: address)
                guard replay.keepsIndexes else {
                    replay.snapshot.entities[entity].rows.set(row, version: version, moving: address)
                    return
                }
                if replay.snapshot.set(row, of: entity, version: version, moving: address, scratch: &replay.scratch) {
                    replay.touched.suspects.append(RowID(entity: entity, row: row))
                }
            }
        }
    }

    private mutating func applyUpdates(_ reader: inout ByteReader, _ entity: Int) throws -> [RowID] {
        try forEachRow(&reader, entity) { replay, reader, row, version in
            let rows = replay.snapshot.entities[entity].rows
            guard let address = rows.address(of: row), version == rows.version(of: row)?.next else {
                throw reader.failure("row \(row) is updated to version \(version), but is not at the one before")
            }
            let description = replay.snapshot.schema.entities[entity]
            try description.layout.withCopy(of: address) { copy in
                for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
                    let tag = try reader.readVarint()
                    guard tag >= 1, tag <= UInt64(description.properties.count) else {
                        throw reader.failure("no property has the tag \(tag)")
                    }
                    let property = description.properties[Int(tag) - 1]
                    guard property.isStored else { throw reader.failure("\(property.name) is not stored") }
                    let id = copy + property.offset
                    try replay.reading(property, of: row, entity) { try property.decode(&reader, replacing: id) }
                    guard replay.hasSameValue(property, of: entity, at: id, as: address + property.offset) else {
                        throw reader.failure("\(property.name) of row \(row) had another value before")
                    }
                    try replay.reading(property, of: row, entity) { try property.decode(&reader, replacing: id) }
                }
                replay.noteReferences(of: row, of: entity, at: address)
                replay.noteReferences(of: row, of: entity, at: copy)
                guard replay.keepsIndexes else {
                    replay.snapshot.entities[entity].rows.set(row, version: version, copying: copy)
                    return
                }
                if replay.snapshot.set(row, of: entity, version: version, copying: copy, scratch: &replay.scratch) {
                    replay.touched.suspects.append(RowID(entity: entity, row: row))
                }
            }
        }
    }

    private mutating func applyDeletes(_ reader: inout ByteReader, _ entity: Int) throws -> [RowID] {
        try forEachRow(&reader, entity) { replay, reader, row, version in
            guard replay.snapshot.entities[entity].rows.version(of: row) == version else {
                throw reader.failure("row \(row) is deleted at version \(version), which it does not have")
            }
            let description = replay.snapshot.schema.entities[entity]
            let layout = description.layout
            try withUnsafeTemporaryAllocation(byteCount: max(layout.stride, 1), alignment: layout.alignment) { memory in
                let address = memory.baseAddress.unsafelyUnwrapped
                try replay.decode(row, entity, &reader, into: address)
                defer { layout.destroy(address, 1) }
                guard let current = replay.snapshot.entities[entity].rows.address(of: row),
                    description.properties.allSatisfy({
                        replay.hasSameValue($0, of: entity, at: current + $0.offset, as: address + $0.offset)
                    })
                else { throw reader.failure("row \(row) is deleted with another value than it has") }
                replay.noteReferences(of: row, of: entity, at: current)
            }
            if replay.keepsIndexes {
                replay.snapshot.remove(RowID(entity: entity, row: row), scratch: &replay.scratch)
            } else {
                replay.snapshot.entities[entity].rows.remove(row)
                replay.deleted.append(RowID(entity: entity, row: row))
            }
        }
    }

    /// Reads a section's rows and returns their IDs.
    private mutating func forEachRow(
        _ reader: inout ByteReader,
        _ entity: Int,
        _ body: (inout StoreReplay, inout ByteReader, RowNumber, RowVersion) throws -> Void
    ) throws -> [RowID] {
        var rows: [RowID] = []
        var previous: RowNumber = 0
        for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
            let distance = try reader.readVarint()
            let (row, overflow) = previous.addingReportingOverflow(distance)
            guard distance > 0, !overflow, row < counters[entity] else {
                throw reader.failure("row \(row) is out of order or beyond the row counter")
            }
            let version = try reader.readVarint()
            guard version > 0, version < .max else { throw reader.failure("version \(version) of row \(row)") }
            try body(&self, &reader, row, RowVersion(version))
            rows.append(RowID(entity: entity, row: row))
            previous = row
        }
        return rows
    }

    /// Initialises a row's memory, or throws and leaves none of it initialised.
    private func decode(
        _ row: RowNumber,
        _ entity: Int,
        _ reader: inout ByteReader,
        into address: UnsafeMutableRawPointer
    ) throws {
        let properties = snapshot.schema.entities[entity].properties
        for (number, property) in properties.enumerated() {
            do {
                try reading(property, of: row, entity) {
                    try property.operations.decode(&reader, address + property.offset)
                }
            } catch {
                for property in properties.prefix(number) {
                    property.operations.deinitialize(address + property.offset)
                }
                throw error
            }
        }
    }

    /// Says whose value it is that its type cannot read.
    @inline(__always)
    private func reading(
        _ property: Property,
        of row: RowNumber,
        _ entity: Int,
        _ body: () throws -> Void
    ) throws {
        do {
            try body()
        } catch let error as UnreadableValue {
            throw GraphError.valueNotReadable(
                path: path,
                object: snapshot.schema.id(of: RowID(entity: entity, row: row)),
                property: property.name,
                type: error.type.shortened(to: 200),
                reason: error.reason
            )
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
            let name = "\(snapshot.schema.entities[entity].name).\(property.name)"
            let remark = "\(name): some values are read otherwise than by the program that wrote them"
            if !remarks.contains(remark) { remarks.append(remark) }
        }
        return true
    }

    // MARK: Lists

    private mutating func applyLists(_ reader: inout ByteReader) throws {
        var last = -1
        for _ in 0..<(try reader.readCount(minimumBytes: 4)) {
            let entity = try readEntity(&reader)
            let tag = try reader.readVarint()
            let number = snapshot.schema.adjacencies.firstIndex { list in
                list.entity == entity && SchemaRecord.tag(list.property) == tag
            }
            guard let number, snapshot.schema.adjacencies[number].isRecorded(as: number) else {
                throw reader.failure("property \(tag) of entity \(entity) has no list of its own")
            }
            guard number > last else { throw reader.failure("lists out of order") }
            last = number
            let mate = snapshot.schema.adjacencies[number].mate
            // What follows from this list is not in the file.
            let derived = mate.flatMap { snapshot.schema.adjacencies[$0].isRecorded(as: $0) ? nil : $0 }
            try forEachPair(&reader, number) { replay, reader, pair in
                guard replay.snapshot.adjacencies[number].key(of: pair.member, of: pair.owner) == pair.key,
                    replay.snapshot.adjacencies[number].remove(pair.member, of: pair.owner)
                else { throw reader.failure("member \(pair.member) of row \(pair.owner) is removed, but is not there") }
                if let derived { replay.snapshot.adjacencies[derived].remove(pair.owner, of: pair.member) }
            }
            try forEachPair(&reader, number) { replay, reader, pair in
                guard !replay.snapshot.adjacencies[number].contains(pair.member, of: pair.owner) else {
                    throw reader.failure("member \(pair.member) of row \(pair.owner) is added, but is there")
                }
                replay.snapshot.adjacencies[number].insert(pair.member, of: pair.owner, key: pair.key)
                if let derived { replay.snapshot.adjacencies[derived].insert(pair.owner, of: pair.member, key: nil) }
            }
        }
    }

    /// Reads a section's pairs.
    private mutating func forEachPair(
        _ reader: inout ByteReader,
        _ number: Int,
        _ body: (inout StoreReplay, inout ByteReader, Adjacency.Pair) throws -> Void
    ) throws {
        let list = snapshot.schema.adjacencies[number]
        var previous = Adjacency.Pair(owner: 0, member: 0)
        for _ in 0..<(try reader.readCount(minimumBytes: list.isOrdered ? 3 : 2)) {
            let (owner, overflow) = previous.owner.addingReportingOverflow(try reader.readVarint())
            let member = try reader.readVarint()
            guard !overflow, (owner, member) > (previous.owner, previous.member), owner < counters[list.entity],
                member > 0, member < counters[list.members]
            else { throw reader.failure("member \(member) of row \(owner) is out of order or beyond the row counters") }
            var key: OrderKey?
            if list.isOrdered {
                key = OrderKey(bytes: try reader.take(try reader.readCount(minimumBytes: 1)))
                if key == nil { throw reader.failure("the key of member \(member) of row \(owner)") }
            }
            let pair = Adjacency.Pair(owner: owner, member: member, key: key)
            try body(&self, &reader, pair)
            touched.pairs.append((number, pair))
            previous = pair
        }
    }

    // MARK: Rules

    /// What a commit changes, as far as rules are to be checked of it afterwards.
    private struct Touched {
        var written: [RowID] = []
        var deleted: [RowID] = []
        /// Rows that may have taken a unique value which another one had.
        var suspects: [RowID] = []
        /// Members and owners, of lists that may have changed.
        var pairs: [(list: Int, pair: Adjacency.Pair)] = []
        /// Owners and partners, whose own rows may be as they were.
        var targets: [RowID] = []
    }

    /// Notes what depends on a row's references, before or after a change.
    private mutating func noteReferences(of row: RowNumber, of entity: Int, at address: UnsafeRawPointer) {
        for toOne in snapshot.schema.entities[entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard target != 0 else { continue }
            if let order = toOne.order { touched.pairs.append((order, Adjacency.Pair(owner: target, member: row))) }
            if toOne.mate != nil || snapshot.schema.entities[toOne.target].hasCounts {
                touched.targets.append(RowID(entity: toOne.target, row: target))
            }
        }
    }

    private mutating func checkTouched(_ reader: ByteReader) throws {
        for id in touched.suspects { try checkUniqueness(of: id, reader) }
        for id in touched.written + touched.targets {
            try checkReferences(of: id, reader)
            try checkCounts(of: id, reader)
        }
        if keepsIndexes {
            for id in touched.deleted { try checkUnreferenced(id, reader) }
        }
        for (number, pair) in touched.pairs { try check(pair, of: number, reader) }
    }

    private mutating func checkUniqueness(of id: RowID, _ reader: ByteReader) throws {
        guard let address = snapshot.address(of: id) else { return }
        let (entity, row) = (id.entity, id.row)
        let description = snapshot.schema.entities[entity]
        for (number, index) in description.indexes.enumerated() where index.uniqueness != nil {
            for other in rowsSharingKey(of: row, at: address, entity, number, limit: 1_000) {
                guard let otherAddress = snapshot.entities[entity].rows.address(of: other),
                    index.isIdentical(address, otherAddress)
                else {
                    if equivalents.last?.row != row { equivalents.append(id) }
                    continue
                }
                throw reader.failure(snapshot.schema.describe(id, sharesKeyWith: other, in: index))
            }
        }
    }

    /// The first other rows with the same key in a unique index; a file may have any number of them.
    private func rowsSharingKey(
        of row: RowNumber,
        at address: UnsafeRawPointer,
        _ entity: Int,
        _ number: Int,
        limit: Int
    ) -> [RowNumber] {
        var key = ByteWriter(capacity: 64)
        guard snapshot.schema.entities[entity].indexes[number].appendKey(ofRowAt: address, to: &key) else { return [] }
        var others: [RowNumber] = []
        _ = key.bytes.withUnsafeBytes { prefix in
            snapshot.entities[entity].indexes[number].forEachRow(withPrefix: prefix) { found in
                if found != row { others.append(found) }
                return others.count < limit
            }
        }
        return others
    }

    /// - Throws: `.notUnique`, with at most a hundred objects that have values which other objects have, too.
    private mutating func checkEquivalents() throws(GraphError) {
        var violations: [UniquenessViolation] = []
        var found: Set<RowID> = []
        for id in equivalents.reversed() where violations.count < 100 {
            guard let address = snapshot.address(of: id) else { continue }
            let description = snapshot.schema.entities[id.entity]
            for (number, index) in description.indexes.enumerated() where index.uniqueness != nil {
                let others = rowsSharingKey(of: id.row, at: address, id.entity, number, limit: 1)
                guard let other = others.first else { continue }
                let later = RowID(entity: id.entity, row: max(id.row, other))
                let earlier = RowID(entity: id.entity, row: min(id.row, other))
                guard found.insert(later).inserted else { continue }
                let values = index.parts.map { part in
                    description.properties[part.property].operations.describe(address + part.offset).shortened(to: 200)
                }
                violations.append(
                    UniquenessViolation(
                        id: snapshot.schema.id(of: later),
                        existing: snapshot.schema.id(of: earlier),
                        property: description.name(of: index),
                        value: values.joined(separator: ", ")
                    )
                )
            }
        }
        equivalents = []
        guard violations.isEmpty else { throw .notUnique(ErrorList(violations.reversed())) }
    }

    private func checkReferences(of id: RowID, _ reader: ByteReader) throws {
        try snapshot.forEachBrokenReference(of: id) { throw reader.failure($0) }
    }

    private func checkCounts(of id: RowID, _ reader: ByteReader) throws {
        guard keepsIndexes, let failure = snapshot.countFailures(of: id).first else { return }
        throw reader.failure("\(failure)")
    }

    private func checkUnreferenced(_ id: RowID, _ reader: ByteReader) throws {
        if let reason = snapshot.brokenDelete(of: id) { throw reader.failure(reason) }
    }

    private func check(_ pair: Adjacency.Pair, of number: Int, _ reader: ByteReader) throws {
        let list = snapshot.schema.adjacencies[number]
        let reason = snapshot.disagreement(about: pair, in: number) ?? snapshot.missingEnd(of: pair, in: number)
        if let reason { throw reader.failure(reason) }
        guard list.mate != nil else { return }
        try checkCounts(of: RowID(entity: list.entity, row: pair.owner), reader)
        try checkCounts(of: RowID(entity: list.members, row: pair.member), reader)
    }

    private func readEntity(_ reader: inout ByteReader) throws -> Int {
        let tag = try reader.readVarint()
        guard tag >= 1, tag <= UInt64(counters.count) else { throw reader.failure("no entity has the tag \(tag)") }
        return Int(tag) - 1
    }
}

extension Property {
    /// Replaces the value at the address by one that is read, or throws and leaves it as it is.
    fileprivate func decode(_ reader: inout ByteReader, replacing address: UnsafeMutableRawPointer) throws {
        try withUnsafeTemporaryAllocation(byteCount: max(sizeBytes, 1), alignment: alignment) { memory in
            // There is at least one byte, so the memory has an address.
            let value = memory.baseAddress.unsafelyUnwrapped
            try operations.decode(&reader, value)
            operations.assign(address, value)
            operations.deinitialize(value)
        }
    }
}
