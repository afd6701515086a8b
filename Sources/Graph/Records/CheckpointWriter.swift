/// What is known of a file's checkpoint.
struct CheckpointFigures: Sendable {
    /// The oldest state that the file leads back to.
    var oldest = HistoryToken()
    /// When it was written, in nanoseconds since 1970; 0 without one.
    var time: UInt64 = 0
    /// How much of it is commits that led to its state.
    var historyBytes: UInt64 = 0
    /// Where the records after it begin; 0 without one.
    var endOffset: UInt64 = 0
}

/// Encodes a state as a checkpoint, one payload after the other.
struct CheckpointWriter {
    /// A payload ends with the block, link or entry that reaches this length. They are short enough to be checked and decoded in the
    /// processor's cache.
    private static let payloadBytes = 256 << 10
    /// A longer block is divided, so that payloads stay far below the limit of records.
    private static let blockLimitBytes = 32 << 20
    /// An index with a longer entry is left to those who read the rows.
    private static let entryLimitBytes = 1 << 20

    private enum Position {
        case head
        case fingerprint
        case consumers(from: Int)
        case rows(entity: Int, from: RowNumber)
        case links(table: Int, rank: Int)
        case entries(entity: Int, index: Int, rank: Int)
        case end
    }

    let snapshot: Snapshot
    private let record: SchemaRecord
    private let counters: [RowNumber]
    private let consumers: [(name: String, token: HistoryToken)]
    private let time: UInt64
    private var position = Position.head
    private var writer = ByteWriter()
    private var block = ByteWriter()
    private var coding = FrontCodedEntries()
    /// How many rows, links and entries were encoded.
    private var encodedCount: UInt64 = 0
    private let places: [CheckpointRecord.Index: StoredIndex.Place]

    private var schema: Schema { snapshot.schema }

    /// - Parameters:
    ///   - consumers: of history, by name.
    ///   - time: in nanoseconds since 1970.
    init(
        _ snapshot: Snapshot, _ record: SchemaRecord, counters: [RowNumber], consumers: [String: HistoryToken] = [:],
        time: UInt64
    ) {
        (self.snapshot, self.record, self.counters, self.time) = (snapshot, record, counters, time)
        self.consumers = consumers.sorted { $0.key < $1.key }.map { (name: $0.key, token: $0.value) }
        places = CheckpointRecord.Index.places(in: snapshot.schema)
    }

    /// Writes everything before the seal, and waits for the disk.
    ///
    /// - Parameter history: commits that led to the state, which come last; nil for none.
    /// - Throws: `.notEncodable`, from a `Codable` value; `.closed`, if the task is cancelled; and what the journal throws.
    @concurrent
    @discardableResult
    func write(
        to successor: JournalSuccessor, with history: RetainedCommits? = nil, _ meter: ProgressMeter? = nil
    ) async throws(GraphError) -> CheckpointFigures {
        var checkpoint = self
        let count = self.count
        try await successor.append([Journal.Record(kind: .schema, payload: record.bytes)])
        var next = try checkpoint.next()
        while let payload = next {
            if Task.isCancelled { throw .closed(path: successor.path) }
            // While this payload is written, the next one is encoded.
            let writtenCount = checkpoint.encodedCount
            async let appended = Self.append(payload, to: successor)
            let following = Result { () throws(GraphError) in try checkpoint.next() }
            try await appended.get()
            next = try following.get()
            meter?.report(.writing, writtenCount, of: count)
        }
        var figures = CheckpointFigures(oldest: snapshot.token, time: time)
        if let history {
            let start = await successor.end
            figures.oldest = try await successor.append(contentsOf: history).oldest
            figures.historyBytes = await successor.end - start
        }
        try await successor.append([Journal.Record(kind: .snapshotEnd, payload: [])])
        try await successor.sync()
        figures.endOffset = await successor.end
        meter?.report(.writing, count, of: count)
        return figures
    }

    /// Returns what goes wrong, so that both sides can be waited for before it is thrown.
    private static func append(
        _ payload: [UInt8], to successor: JournalSuccessor
    ) async -> Result<Void, GraphError> {
        do throws(GraphError) {
            return .success(try await successor.append([Journal.Record(kind: .snapshotChunk, payload: payload)]))
        } catch {
            return .failure(error)
        }
    }

    /// How many rows, links and entries there are.
    private var count: UInt64 {
        let rows = snapshot.entities.reduce(0) { $0 + $1.rows.count }
        let links = schema.recordedLinkTables.reduce(0) { $0 + snapshot.linkTables[$1].members.count }
        let entries = snapshot.entities.reduce(0) { $1.indexes.reduce($0) { $0 + $1.count } }
        return UInt64(rows + links + entries)
    }

    /// Writes a file that has nothing but this checkpoint, and replaces nothing.
    ///
    /// - Throws: what ``Coordinator/copy(to:progress:)`` throws.
    func write(
        toNewFile path: String, of storeID: StoreID, with history: RetainedCommits? = nil,
        _ fileSystem: any StoreFileSystem, _ options: JournalOptions, _ meter: ProgressMeter? = nil
    ) async throws(GraphError) {
        let copy = try await Journal.makeCopy(
            at: path, of: storeID, schema: record.bytes, baseCommit: snapshot.commit, fileSystem: fileSystem,
            options: options)
        do throws(GraphError) {
            try await write(to: copy, with: history, meter)
            _ = try await copy.seal(RowCounters.encode(counters))
            try await copy.place()
        } catch {
            await copy.abandon()
            if case .closed = error { throw .cancelled }
            throw error
        }
    }

    /// The next payload; nil after the last one.
    ///
    /// - Throws: `.notEncodable`, from a `Codable` value.
    mutating func next() throws(GraphError) -> [UInt8]? {
        while true {
            writer.removeAll()
            let isPayload: Bool
            switch position {
            case .head:
                appendHead()
                position = .fingerprint
                isPayload = true
            case .fingerprint:
                position = .consumers(from: 0)
                isPayload = appendFingerprint()
            case .consumers(let place):
                isPayload = place < consumers.count
                position = isPayload ? .consumers(from: place + 1) : .rows(entity: 0, from: 0)
                if isPayload { append(consumers[place]) }
            case .rows(let entity, let row): isPayload = try passRows(of: entity, from: row)
            case .links(let table, let rank): isPayload = passLinks(of: table, from: rank)
            case .entries(let entity, let index, let rank): isPayload = passEntries(of: entity, index, from: rank)
            case .end: return nil
            }
            if isPayload { return writer.bytes }
        }
    }

    /// Returns false if there were no rows.
    private mutating func passRows(of entity: Int, from row: RowNumber) throws(GraphError) -> Bool {
        guard entity < schema.entities.count else {
            position = .links(table: 0, rank: 0)
            return false
        }
        let (next, isEmpty) = try appendRows(of: entity, from: row)
        position = next.map { .rows(entity: entity, from: $0) } ?? .rows(entity: entity + 1, from: 0)
        return !isEmpty
    }

    /// Returns false if there were no links.
    private mutating func passLinks(of table: Int, from rank: Int) -> Bool {
        guard table < schema.linkTables.count else {
            position = .entries(entity: 0, index: 0, rank: 0)
            return false
        }
        let isRecorded = schema.linkTables[table].isRecorded(as: table)
        guard isRecorded, rank < snapshot.linkTables[table].members.count else {
            position = .links(table: table + 1, rank: 0)
            return false
        }
        position = .links(table: table, rank: appendLinks(of: table, from: rank))
        return true
    }

    /// Returns false if there were no entries.
    private mutating func passEntries(of entity: Int, _ number: Int, from rank: Int) -> Bool {
        guard entity < schema.entities.count else {
            position = .end
            return false
        }
        guard number < schema.entities[entity].indexes.count else {
            position = .entries(entity: entity + 1, index: 0, rank: 0)
            return false
        }
        let place = StoredIndex.Place(entity: entity, number: number)
        let name = CheckpointRecord.Index(entity, schema.entities[entity].indexes[number])
        // The same index may be declared twice.
        guard places[name] == place, rank < snapshot.entities[entity].indexes[number].count else {
            position = .entries(entity: entity, index: number + 1, rank: 0)
            coding = FrontCodedEntries()
            return false
        }
        position = .entries(entity: entity, index: number, rank: appendEntries(of: place, name, from: rank))
        return true
    }

    /// About how many bytes all payloads take, by some rows of each entity, links of each link table and entries of each index.
    ///
    /// Complexity: O(log *n*) for *n* rows and links.
    var estimatedBytes: UInt64 {
        var copy = self
        var bytes: UInt64 = 0
        for entity in schema.entities.indices {
            let rows = snapshot.entities[entity].rows
            bytes += UInt64(copy.sampledBytesPerRow(of: rows, entity) * Double(rows.count))
        }
        for table in schema.recordedLinkTables {
            let members = snapshot.linkTables[table].members
            let step = max(members.count / Self.sampleCount, 1)
            var (sampled, length) = (0, 0)
            for rank in stride(from: 0, to: members.count, by: step) {
                sampled += 1
                members.withEntry(at: rank) { length += $0.count - 10 }
            }
            if sampled > 0 { bytes += UInt64(length * members.count / sampled) }
        }
        for entity in snapshot.entities { for index in entity.indexes { bytes += Self.estimatedBytes(of: index) } }
        return bytes
    }

    /// Of a few entries beside each other here and there.
    private static func estimatedBytes(of index: OrderedIndex) -> UInt64 {
        let neighbors = 8
        let step = max(index.count / sampleCount, neighbors)
        var (writer, sampled, bytes) = (ByteWriter(), 0, 0)
        for rank in stride(from: 0, to: index.count, by: step) {
            var coding = FrontCodedEntries()
            var cursor = index.cursor(at: rank..<min(rank + neighbors, index.count))
            _ = cursor.withNextEntry { coding.append($0, to: &writer) }
            writer.removeAll()
            while cursor.withNextEntry({ coding.append($0, to: &writer) }) != nil {
                (sampled, bytes) = (sampled + 1, bytes + writer.count)
                writer.removeAll()
            }
        }
        return sampled > 0 ? UInt64(bytes * index.count / sampled) : 0
    }

    private static let sampleCount = 64

    /// The mean length of rows in leaves from all parts of a table.
    private mutating func sampledBytesPerRow(of rows: RowTable, _ entity: Int) -> Double {
        guard let last = rows.lastRow, let first = rows.run(from: 0)?.firstRow else { return 0 }
        let step = max((last - min(first, last)) / UInt64(Self.sampleCount), 32)
        var (count, bytes): (Int, Int) = (0, 0)
        var next: RowNumber? = first
        while let start = next, let run = rows.run(from: start) {
            // A value that cannot be encoded is for the compaction to report.
            try? encode(run, run.occupancy, of: entity)
            count += run.occupancy.nonzeroBitCount
            bytes += block.count + 5
            next = run.end.map { max($0, start + step) }
        }
        return count > 0 ? Double(bytes) / Double(count) : 0
    }

    private mutating func appendHead() {
        writer.append(CheckpointRecord.Part.head.rawValue)
        writer.appendVarint(snapshot.commit.number)
        writer.appendFixed(time)
        writer.appendCounters(counters)
        for entity in snapshot.entities { writer.appendVarint(UInt64(entity.rows.count)) }
        for table in schema.recordedLinkTables { writer.appendVarint(UInt64(snapshot.linkTables[table].members.count)) }
    }

    /// Returns false if there is no commit, and so none.
    private mutating func appendFingerprint() -> Bool {
        guard snapshot.token.fingerprint != 0 else { return false }
        writer.append(CheckpointRecord.Part.fingerprint.rawValue)
        writer.appendFixed(snapshot.token.fingerprint)
        return true
    }

    private mutating func append(_ consumer: (name: String, token: HistoryToken)) {
        writer.append(CheckpointRecord.Part.consumer.rawValue)
        ConsumerRecord.append(consumer.name, consumer.token, to: &writer)
    }

    /// Returns where the next payload begins, or nil at the end of the entity, and whether there were no rows.
    private mutating func appendRows(
        of entity: Int,
        from first: RowNumber
    ) throws(GraphError) -> (next: RowNumber?, isEmpty: Bool) {
        writer.append(CheckpointRecord.Part.rows.rawValue)
        writer.appendVarint(SchemaRecord.tag(entity))
        var (next, last, isEmpty): (RowNumber?, UInt64, Bool) = (first, 0, true)
        while writer.count < Self.payloadBytes, let start = next {
            guard let run = snapshot.entities[entity].rows.run(from: start) else { return (nil, isEmpty) }
            next = run.end
            let passed = start > run.firstRow ? start - run.firstRow : 0
            var occupancy = run.occupancy & .max << UInt32(passed)
            guard occupancy != 0 else { continue }
            do {
                try encode(run, occupancy, of: entity)
                while block.count > Self.blockLimitBytes, occupancy.nonzeroBitCount > 1 {
                    occupancy = occupancy.lowerHalf
                    next = run.firstRow + UInt64(32 - occupancy.leadingZeroBitCount)
                    try encode(run, occupancy, of: entity)
                }
            } catch {
                throw .notEncodable(entity: schema.entities[entity].name, reason: "\(error)".shortened(to: 400))
            }
            let leaf = run.firstRow >> 5
            writer.appendVarint(leaf - last)
            last = leaf
            writer.appendFixed(occupancy)
            writer.append(contentsOf: block.bytes)
            encodedCount += UInt64(occupancy.nonzeroBitCount)
            isEmpty = false
        }
        return (next, isEmpty)
    }

    /// Puts versions and values of some rows of a leaf into `block`.
    private mutating func encode(_ run: RowTable.Run, _ occupancy: UInt32, of entity: Int) throws {
        let description = schema.entities[entity]
        block.removeAll()
        occupancy.forEachBit { block.appendVarint(run.versions[$0]) }
        for property in description.properties where property.isStored {
            try property.operations.encodeColumn(
                run.values + property.offset, description.layout.stride, occupancy, &block)
        }
    }

    /// Returns where the next payload begins.
    private mutating func appendLinks(of table: Int, from rank: Int) -> Int {
        let (description, members) = (schema.linkTables[table], snapshot.linkTables[table].members)
        writer.append(CheckpointRecord.Part.links.rawValue)
        writer.appendVarint(SchemaRecord.tag(description.entity))
        writer.appendVarint(SchemaRecord.tag(description.property))
        var (links, bytes): ([LinkTable.Link], Int) = ([], 0)
        var cursor = members.cursor(at: rank..<members.count)
        while bytes < Self.payloadBytes, let link = cursor.withNextEntry({ LinkTable.Link($0) }) {
            links.append(link)
            bytes += 4 + (link.key?.bytes.count ?? 0)
        }
        writer.appendLinks(links)
        encodedCount += UInt64(links.count)
        return rank + links.count
    }

    /// Returns where the next payload begins.
    private mutating func appendEntries(
        of place: StoredIndex.Place,
        _ name: CheckpointRecord.Index,
        from first: Int
    ) -> Int {
        let index = snapshot.entities[place.entity].indexes[place.number]
        writer.append(CheckpointRecord.Part.entries.rawValue)
        writer.appendVarint(CheckpointRecord.keyLayout)
        writer.appendVarint(name.entity)
        writer.appendVarint(UInt64(name.properties.count))
        for tag in name.properties { writer.appendVarint(tag) }
        var (rank, cursor) = (first, index.cursor(at: first..<index.count))
        while writer.count < Self.payloadBytes {
            let isShort = cursor.withNextEntry { entry in
                guard entry.count <= Self.entryLimitBytes else { return false }
                coding.append(entry, to: &writer)
                return true
            }
            guard let isShort else { break }
            // What is written of it is of no effect.
            guard isShort else { return index.count }
            rank += 1
        }
        encodedCount += UInt64(rank - first)
        return rank
    }
}

extension UInt32 {
    /// The lower half of the bits that are set.
    fileprivate var lowerHalf: UInt32 {
        var (half, rest) = (self, nonzeroBitCount / 2)
        forEachBit { place in
            if rest <= 0 { half &= ~(1 << UInt32(place)) }
            rest -= 1
        }
        return half
    }
}
