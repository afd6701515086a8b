/// The payloads of a checkpoint, the state of a store at one commit. The first byte says what a payload has.
///
/// | 0, the head, which comes first and once | encoding |
/// |---|---|
/// | commit number | varint |
/// | time of the compaction, nanoseconds since 1970, for information only | 8 bytes |
/// | row counters | see `appendCounters` |
/// | by entity: the number of rows | varints |
/// | by link table: the number of links | varints |
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
/// | 2, links of one table | encoding |
/// |---|---|
/// | its entity's and its property's tag | varints |
/// | links | see `appendLinks` |
///
/// | 3, entries of one index | encoding |
/// |---|---|
/// | how keys are encoded: 1 | varint |
/// | the entity's tag | varint |
/// | the number of the index's properties, and their tags | varints |
/// | entries, to the end of the payload | see `FrontCodedEntries` |
///
/// | 4, fingerprint of the commit | encoding |
/// |---|---|
/// | see `HistoryToken` | 8 bytes |
///
/// | 5, a commit before the checkpoint's | encoding |
/// |---|---|
/// | fingerprint of the commit before that one | 8 bytes |
/// | the commit's record | see `CommitRecord` |
///
/// | 6, a consumer of history | encoding |
/// |---|---|
/// | see `ConsumerRecord` | |
///
/// | 7, a commit before the checkpoint's, whose record a migration has written anew | encoding |
/// |---|---|
/// | fingerprint of the commit before that one | 8 bytes |
/// | fingerprint of the commit | 8 bytes |
/// | the commit's record, in the checkpoint's schema | see `CommitRecord` |
///
/// Values of one property lie side by side, since that is how they are decoded fastest. The fingerprint comes
/// behind the head, unless it is 0; a checkpoint without one has the XXH64 of its head's payload, or 0 at commit 0. Payloads with rows come in ascending
/// order of entities and rows, then those with links in the order of link tables and links, then those with entries. Nothing
/// depends on entries: they follow from the rows, and a reader may pass over them. They spare it the sorting. Last come the commits
/// that led to the state, as far as they are retained: without gaps, and the last one is the checkpoint's own. The state has what they
/// did, so that they are not applied.
enum CheckpointRecord {
    enum Part: UInt8 {
        case head
        case rows
        case links
        case entries
        case fingerprint
        case retainedCommit
        case consumer
        case convertedCommit
    }

    /// How keys are encoded. It changes if `KeyOperations` writes other bytes.
    static let keyLayout: UInt64 = 1

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
            let links = try schema.recordedLinkTables.map { _ in try reader.readVarint() }
            try handler.begin(commit, time: time, counters: counters, rows: rows, links: links, reader)
            handler.note(fingerprint: fingerprint(ofHead: payload, commit))
        case .rows:
            return try decodeRows(payload, of: schema) { try handler.insert($0, $1, $2, &$3) }
        case .links:
            let table = try reader.readLinkTable(of: schema)
            try handler.addLinks(to: table, schema.linkTables[table], &reader)
        case .entries:
            // Whatever is wrong with them, the rows are right.
            if let index = try? reader.readIndex(), let entries = try? reader.take(reader.remaining) {
                handler.note(entries, of: index)
            }
            return
        case .fingerprint:
            // One of another length is something else, which a later version writes.
            if reader.remaining == 8 { handler.note(fingerprint: try reader.readFixed()) }
            return
        case .retainedCommit, .convertedCommit:
            if let commit = try RetainedCommit(payload) { try handler.note(commit, reader) }
            return
        case .consumer: return try handler.note(try ConsumerRecord.read(&reader))
        case nil:
            // Something else that follows from the rows.
            return
        }
        try reader.expectEnd()
    }

    /// The fingerprint of a checkpoint that has none.
    private static func fingerprint(ofHead payload: UnsafeRawBufferPointer, _ commit: CommitNumber) -> UInt64 {
        commit == .none ? 0 : XXH64.hash(payload)
    }

    /// Whether a payload that begins with this byte says something of the checkpoint's place in history.
    static func concernsHistory(_ first: UInt8) -> Bool {
        first == Part.head.rawValue || first == Part.fingerprint.rawValue
    }

    /// Whether a payload that begins with this byte has a commit that has led to the checkpoint.
    static func isRetainedCommit(_ first: UInt8) -> Bool {
        first == Part.retainedCommit.rawValue || first == Part.convertedCommit.rawValue
    }

    /// Takes from a payload what it says of the checkpoint's place in history, if anything.
    static func read(_ payload: UnsafeRawBufferPointer, into token: inout HistoryToken) throws {
        var reader = ByteReader(payload)
        let kind = try reader.readByte()
        switch Part(rawValue: kind) {
        case .head:
            token.commit = CommitNumber(try reader.readVarint())
            token.fingerprint = fingerprint(ofHead: payload, token.commit)
        case .fingerprint where reader.remaining == 8: token.fingerprint = try reader.readFixed()
        default: break
        }
    }

    /// Hands on the blocks of a payload that has rows.
    static func decodeRows(
        _ payload: UnsafeRawBufferPointer,
        of schema: Schema,
        _ body: (Int, RowTable.Block, [UInt64], inout ByteReader) throws -> Void
    ) throws {
        var reader = ByteReader(payload)
        _ = try reader.readByte()
        let entity = try reader.readEntity(of: schema)
        var (leaf, versions): (UInt64, [UInt64]) = (0, [])
        while reader.remaining > 0 {
            let (next, overflow) = leaf.addingReportingOverflow(try reader.readVarint())
            let occupancy = try reader.readFixed(UInt32.self)
            // The first leaf has no row 0.
            guard !overflow, next <= RowCounters.maximum >> 5, occupancy != 0, next > 0 || occupancy & 1 == 0 else {
                throw reader.failure("rows \(occupancy) of leaf \(next)")
            }
            leaf = next
            versions.removeAll(keepingCapacity: true)
            for _ in 0..<occupancy.nonzeroBitCount { versions.append(try reader.readVarint()) }
            try body(entity, RowTable.Block(leaf: leaf, occupancy: occupancy), versions, &reader)
        }
    }
}

extension CheckpointRecord {
    /// A commit that has led to the checkpoint, perhaps by way of others.
    struct RetainedCommit {
        let record: UnsafeRawBufferPointer
        /// Of the commit before.
        let fingerprintBefore: UInt64
        /// Of the commit, if a migration has written its record anew; otherwise it follows from the record.
        let keptFingerprint: UInt64?

        /// Before the record, at most.
        static let headBytes = 17

        var fingerprint: UInt64 { keptFingerprint ?? XXH64.hash(record, seed: fingerprintBefore) }

        init(_ record: UnsafeRawBufferPointer, after fingerprintBefore: UInt64, keeping keptFingerprint: UInt64?) {
            (self.record, self.fingerprintBefore, self.keptFingerprint) = (record, fingerprintBefore, keptFingerprint)
        }

        /// What a payload has; nil if it has something else.
        init?(_ payload: UnsafeRawBufferPointer) throws {
            var reader = ByteReader(payload)
            let part = Part(rawValue: try reader.readByte())
            guard part == .retainedCommit || part == .convertedCommit else { return nil }
            fingerprintBefore = try reader.readFixed()
            keptFingerprint = part == .convertedCommit ? try reader.readFixed(UInt64.self) : nil
            record = try reader.take(reader.remaining)
        }

        var payload: [UInt8] {
            var writer = ByteWriter(capacity: Self.headBytes + record.count)
            writer.append((keptFingerprint == nil ? Part.retainedCommit : .convertedCommit).rawValue)
            writer.appendFixed(fingerprintBefore)
            if let keptFingerprint { writer.appendFixed(keptFingerprint) }
            writer.append(contentsOf: record)
            return writer.bytes
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
        links: [UInt64],
        _ reader: ByteReader
    ) throws
    /// - Parameter fingerprint: of the checkpoint's commit; the last one counts.
    mutating func note(fingerprint: UInt64)
    mutating func note(_ consumer: (name: String, token: HistoryToken?)) throws
    /// - Parameter commit: whose changes the checkpoint's state has; they come in their order.
    mutating func note(_ commit: CheckpointRecord.RetainedCommit, _ reader: ByteReader) throws
    /// - Parameter versions: of the block's rows, in their order. Their values, property by property, are next in the reader.
    mutating func insert(
        _ entity: Int,
        _ block: RowTable.Block,
        _ versions: [UInt64],
        _ reader: inout ByteReader
    ) throws
    /// Adds the links that are next in the reader.
    mutating func addLinks(to number: Int, _ table: LinkTableDescription, _ reader: inout ByteReader) throws
    /// - Parameter entries: front-coded, after those that came before.
    mutating func note(_ entries: UnsafeRawBufferPointer, of index: CheckpointRecord.Index)
}

extension CheckpointRecord {
    /// What a file calls an index.
    struct Index: Hashable {
        let entity: UInt64
        let properties: [UInt64]

        init(_ entity: Int, _ index: IndexDescription) {
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

extension Schema {
    /// The link tables that files have, by number; the others follow from them.
    var recordedLinkTables: [Int] { linkTables.indices.filter { linkTables[$0].isRecorded(as: $0) } }

    /// The other side's link table, where it is not in the file but follows from this one.
    func derivedTable(of table: Int) -> Int? {
        linkTables[table].inverse.flatMap { linkTables[$0].isRecorded(as: $0) ? nil : $0 }
    }
}
