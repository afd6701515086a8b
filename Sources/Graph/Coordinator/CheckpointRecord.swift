/// The payloads of a checkpoint, the state of a store at one commit. The first byte says what a payload has.
///
/// | 0, the head, which comes first and once | encoding |
/// |---|---|
/// | commit number | varint |
/// | time of the compaction, nanoseconds since 1970, for information only | 8 bytes |
/// | row counters | see `appendCounters` |
/// | by entity: the number of rows | varints |
/// | by list: the number of pairs | varints |
///
/// | 1, rows of one entity | encoding |
/// |---|---|
/// | the entity's tag | varint |
/// | blocks, to the end of the payload | |
/// | … distance to the leaf before; leaf *n* has the rows 32 *n* … 32 *n* + 31 | varint |
/// | … which of these are there: bit *i* for row 32 *n* + *i* | 4 bytes |
/// | … versions of the rows | varints |
/// | … by stored property: the rows' values | values |
///
/// | 2, links of one list | encoding |
/// |---|---|
/// | its entity's and its property's tag | varints |
/// | pairs | see `appendPairs` |
///
/// | 3, entries of one index | encoding |
/// |---|---|
/// | how keys are encoded: 1 | varint |
/// | the entity's tag | varint |
/// | the number of the index's properties, and their tags | varints |
/// | entries, to the end of the payload | see `FrontCodedEntries` |
///
/// Values of one property lie side by side, since that is how they are decoded fastest. Payloads with rows come in ascending
/// order of entities and rows, then those with links in the order of lists and pairs, then those with entries. Nothing
/// depends on entries: they follow from the rows, and a reader may pass over them. They spare it the sorting.
enum CheckpointRecord {
    fileprivate enum Part: UInt8 {
        case head
        case rows
        case links
        case entries
    }

    /// How keys are encoded. It changes if `KeyOperations` writes other bytes.
    fileprivate static let keyLayout: UInt64 = 1

    /// Hands on what a payload says. What can be seen without knowing the state is checked; the rest is for the handler, which
    /// reads the values.
    static func decode(
        _ payload: UnsafeRawBufferPointer,
        of schema: Schema,
        into handler: inout some CheckpointHandler
    ) throws {
        var reader = ByteReader(payload)
        let kind = try reader.readByte()
        switch Part(rawValue: kind) {
        case .head:
            let commit = CommitNumber(try reader.readVarint())
            let time = try reader.readFixed(UInt64.self)
            let counters = try reader.readCounters(of: schema)
            let rows = try schema.entities.map { _ in try reader.readVarint() }
            let pairs = try schema.recordedLists.map { _ in try reader.readVarint() }
            try handler.begin(commit, time: time, counters: counters, rows: rows, pairs: pairs, reader)
        case .rows:
            let entity = try reader.readEntity(of: schema)
            try forEachBlock(of: entity, &reader) { try handler.insert($0, $1, $2, &$3) }
        case .links:
            let list = try reader.readList(of: schema)
            try reader.forEachPair(in: schema.linkTables[list]) { try handler.add($0, to: list, $1) }
        case .entries:
            // Whatever is wrong with them, the rows are right.
            if let index = try? reader.readIndex(), let entries = try? reader.take(reader.remaining) {
                handler.note(entries, of: index)
            }
            return
        case nil:
            // Something else that follows from the rows.
            return
        }
        try reader.expectEnd()
    }

    private static func forEachBlock(
        of entity: Int,
        _ reader: inout ByteReader,
        _ body: (Int, RowTable.Block, [UInt64], inout ByteReader) throws -> Void
    ) throws {
        var leaf: UInt64 = 0
        while reader.remaining > 0 {
            let (next, overflow) = leaf.addingReportingOverflow(try reader.readVarint())
            let occupancy = try reader.readFixed(UInt32.self)
            // The first leaf has no row 0.
            guard !overflow, next <= RowCounters.maximum >> 5, occupancy != 0, next > 0 || occupancy & 1 == 0 else {
                throw reader.failure("rows \(occupancy) of leaf \(next)")
            }
            leaf = next
            var versions: [UInt64] = []
            for _ in 0..<occupancy.nonzeroBitCount { versions.append(try reader.readVarint()) }
            try body(entity, RowTable.Block(leaf: leaf, occupancy: occupancy), versions, &reader)
        }
    }
}

/// Takes what a checkpoint says, part by part. Throws what is wrong.
protocol CheckpointHandler {
    mutating func begin(
        _ commit: CommitNumber,
        time: UInt64,
        counters: [(entity: Int, next: RowNumber)],
        rows: [UInt64],
        pairs: [UInt64],
        _ reader: ByteReader
    ) throws
    /// - Parameter versions: of the block's rows, in their order. Their values, property by property, are next in the reader.
    mutating func insert(
        _ entity: Int,
        _ block: RowTable.Block,
        _ versions: [UInt64],
        _ reader: inout ByteReader
    ) throws
    mutating func add(_ pair: LinkTable.Pair, to list: Int, _ reader: ByteReader) throws
    /// - Parameter entries: front-coded, after those that came before.
    mutating func note(_ entries: UnsafeRawBufferPointer, of index: CheckpointRecord.Index)
}

extension CheckpointRecord {
    /// What a file calls an index.
    struct Index: Hashable {
        fileprivate let entity: UInt64
        fileprivate let properties: [UInt64]

        fileprivate init(_ entity: Int, _ index: IndexDescription) {
            self.entity = SchemaRecord.tag(entity)
            properties = index.parts.map { SchemaRecord.tag($0.property) }
        }

        fileprivate init(entity: UInt64, properties: [UInt64]) {
            (self.entity, self.properties) = (entity, properties)
        }

        /// The indexes of a schema.
        static func places(in schema: Schema) -> [Index: StoredIndex.Place] {
            let indexes = schema.entities.enumerated().flatMap { entity, description in
                description.indexes.enumerated().map { number, index in
                    (Index(entity, index), StoredIndex.Place(entity: entity, number: number))
                }
            }
            return Dictionary(indexes) { first, _ in first }
        }
    }
}

extension ByteReader {
    /// Reads which index it is whose entries follow; nil if keys are encoded in another way.
    fileprivate mutating func readIndex() throws -> CheckpointRecord.Index? {
        let (layout, entity) = (try readVarint(), try readVarint())
        var properties: [UInt64] = []
        for _ in 0..<(try readCount(minimumBytes: 1)) { properties.append(try readVarint()) }
        guard layout == CheckpointRecord.keyLayout else { return nil }
        return CheckpointRecord.Index(entity: entity, properties: properties)
    }
}

/// Encodes a state as a checkpoint, one payload after the other.
struct CheckpointWriter {
    /// A payload ends with the block, pair or entry that reaches this length. They are short enough to be checked and decoded in the
    /// processor's cache.
    private static let payloadBytes = 256 << 10
    /// A longer block is divided, so that payloads stay far below the limit of records.
    private static let blockLimitBytes = 32 << 20
    /// An index with a longer entry is left to those who read the rows.
    private static let entryLimitBytes = 1 << 20

    private enum Position {
        case head
        case rows(entity: Int, from: RowNumber)
        case links(table: Int, rank: Int)
        case entries(entity: Int, index: Int, rank: Int)
    }

    private let snapshot: Snapshot
    private let record: SchemaRecord
    private let counters: [RowNumber]
    private let time: UInt64
    private var position = Position.head
    private var writer = ByteWriter()
    private var block = ByteWriter()
    private var coding = FrontCodedEntries()
    private let places: [CheckpointRecord.Index: StoredIndex.Place]

    private var schema: Schema { snapshot.schema }

    /// - Parameter time: in nanoseconds since 1970.
    init(_ snapshot: Snapshot, _ record: SchemaRecord, counters: [RowNumber], time: UInt64) {
        (self.snapshot, self.record, self.counters, self.time) = (snapshot, record, counters, time)
        places = CheckpointRecord.Index.places(in: snapshot.schema)
    }

    /// Writes everything before the seal, and waits for the disk.
    ///
    /// - Throws: `.notEncodable`, from a `Codable` value; `.closed`, if the task is cancelled; and what the journal throws.
    @concurrent
    func write(to successor: JournalSuccessor) async throws(GraphError) {
        var checkpoint = self
        try await successor.append([Journal.Record(kind: .schema, payload: record.bytes)])
        while let payload = try checkpoint.next() {
            if Task.isCancelled { throw .closed(path: successor.path) }
            try await successor.append([Journal.Record(kind: .snapshotChunk, payload: payload)])
        }
        try await successor.append([Journal.Record(kind: .snapshotEnd, payload: [])])
        try await successor.sync()
    }

    /// The next payload; nil after the last one.
    ///
    /// - Throws: `.notEncodable`, from a `Codable` value.
    mutating func next() throws(GraphError) -> [UInt8]? {
        while true {
            writer.removeAll()
            switch position {
            case .head:
                appendHead()
                position = .rows(entity: 0, from: 0)
                return writer.bytes
            case .rows(let entity, let row):
                guard entity < schema.entities.count else {
                    position = .links(table: 0, rank: 0)
                    continue
                }
                let (next, isEmpty) = try appendRows(of: entity, from: row)
                position = next.map { .rows(entity: entity, from: $0) } ?? .rows(entity: entity + 1, from: 0)
                if !isEmpty { return writer.bytes }
            case .links(let table, let rank):
                guard table < schema.linkTables.count else {
                    position = .entries(entity: 0, index: 0, rank: 0)
                    continue
                }
                let list = schema.linkTables[table]
                guard list.isRecorded(as: table), rank < snapshot.linkTables[table].members.count else {
                    position = .links(table: table + 1, rank: 0)
                    continue
                }
                position = .links(table: table, rank: appendLinks(of: table, from: rank))
                return writer.bytes
            case .entries(let entity, let number, let rank):
                guard entity < schema.entities.count else { return nil }
                guard number < schema.entities[entity].indexes.count else {
                    position = .entries(entity: entity + 1, index: 0, rank: 0)
                    continue
                }
                let place = StoredIndex.Place(entity: entity, number: number)
                let name = CheckpointRecord.Index(entity, schema.entities[entity].indexes[number])
                // The same index may be declared twice.
                guard places[name] == place, rank < snapshot.entities[entity].indexes[number].count else {
                    position = .entries(entity: entity, index: number + 1, rank: 0)
                    coding = FrontCodedEntries()
                    continue
                }
                let next = appendEntries(of: place, name, from: rank)
                position = .entries(entity: entity, index: number, rank: next)
                return writer.bytes
            }
        }
    }

    /// About how many bytes all payloads take, by some rows of each entity, pairs of each list and entries of each index.
    ///
    /// Complexity: O(log *n*) for *n* rows and pairs.
    var estimatedBytes: UInt64 {
        var copy = self
        var bytes: UInt64 = 0
        for entity in schema.entities.indices {
            let rows = snapshot.entities[entity].rows
            bytes += UInt64(copy.sampledBytesPerRow(of: rows, entity) * Double(rows.count))
        }
        for table in schema.recordedLists {
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
        for list in schema.recordedLists { writer.appendVarint(UInt64(snapshot.linkTables[list].members.count)) }
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
            let values = run.values + property.offset
            try occupancy.forEachBit { place in
                try property.operations.encode(values + place * description.layout.stride, &block)
            }
        }
    }

    /// Returns where the next payload begins.
    private mutating func appendLinks(of table: Int, from rank: Int) -> Int {
        let (list, members) = (schema.linkTables[table], snapshot.linkTables[table].members)
        writer.append(CheckpointRecord.Part.links.rawValue)
        writer.appendVarint(SchemaRecord.tag(list.entity))
        writer.appendVarint(SchemaRecord.tag(list.property))
        var (pairs, bytes): ([LinkTable.Pair], Int) = ([], 0)
        var cursor = members.cursor(at: rank..<members.count)
        while bytes < Self.payloadBytes, let pair = cursor.withNextEntry({ LinkTable.Pair($0) }) {
            pairs.append(pair)
            bytes += 4 + (pair.key?.bytes.count ?? 0)
        }
        writer.appendPairs(pairs)
        return rank + pairs.count
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
        return rank
    }
}

extension Schema {
    /// The link tables that files have, by number; the others follow from them.
    var recordedLists: [Int] { linkTables.indices.filter { linkTables[$0].isRecorded(as: $0) } }
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
