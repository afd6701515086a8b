/// What a ``CommitLog`` has of a commit: its record, and what shows whether it follows the commit that a store has.
///
/// | field | encoding |
/// |---|---|
/// | format: 1 | 1 byte |
/// | store | 16 bytes |
/// | schema: what its fingerprint begins with | 8 bytes |
/// | fingerprint of the commit before | 8 bytes |
/// | fingerprint of this commit | 8 bytes |
/// | the commit's record | the rest |
///
/// A fingerprint is the hash of a record and of the fingerprint before, so it is the checksum, too. Two records are never the same
/// bytes unless they are the same commit: a writer's records have its own row counters, and times that ascend.
struct SharedRecord: Sendable {
    private static let format: UInt8 = 1
    private static let headBytes = 41

    let bytes: [UInt8]
    /// Of the commit.
    let token: HistoryToken
    /// The fingerprint of the commit before.
    let fingerprintBefore: UInt64

    /// Of the state that the commit was made from.
    var tokenBefore: HistoryToken {
        HistoryToken(
            commit: CommitNumber(token.commit.number - 1), store: token.store, fingerprint: fingerprintBefore)
    }

    /// What the fingerprint of a schema begins with.
    static func schemaNumber(_ schema: Schema) -> UInt64 {
        // Sixteen digits are a number.
        UInt64(SchemaRecord(schema).fingerprint.prefix(16), radix: 16) ?? 0
    }

    var payloadBytes: Int { bytes.count - Self.headBytes }

    /// The commit's record.
    var payload: [UInt8] { Array(bytes[Self.headBytes...]) }

    /// - Parameters:
    ///   - token: of the commit.
    ///   - before: of the state that it was made from.
    init(_ payload: [UInt8], _ token: HistoryToken, after before: HistoryToken, schema: UInt64) {
        var writer = ByteWriter(capacity: Self.headBytes + payload.count)
        writer.append(Self.format)
        writer.appendFixed(token.store.high.byteSwapped)
        writer.appendFixed(token.store.low.byteSwapped)
        writer.appendFixed(schema)
        writer.appendFixed(before.fingerprint)
        writer.appendFixed(token.fingerprint)
        writer.append(contentsOf: payload)
        (bytes, self.token, fingerprintBefore) = (writer.bytes, token, before.fingerprint)
    }

    /// Reads what a log has.
    ///
    /// - Throws: `.invalidLog`; `.tokenOfOtherStore` and `.schemaMismatch`, of a record for another store or of another schema.
    init(_ bytes: [UInt8], of store: StoreID, schema: UInt64, path: String) throws(GraphError) {
        guard let format = bytes.first else { throw .invalidLog(reason: "a record is empty") }
        guard format <= Self.format else { throw .invalidLog(reason: "a newer version of Graph writes to it") }
        guard let head = try? bytes.withUnsafeBytes({ try Self.head($0) }) else {
            throw .invalidLog(reason: "a record is damaged")
        }
        guard head.token.store == store else { throw .tokenOfOtherStore(head.token) }
        guard head.schema == schema else {
            let difference = "commit \(head.token.commit) in the log was made with another schema"
            throw .schemaMismatch(path: path, differences: [difference])
        }
        (self.bytes, token, fingerprintBefore) = (bytes, head.token, head.fingerprintBefore)
    }

    private static func head(
        _ bytes: UnsafeRawBufferPointer
    ) throws -> (token: HistoryToken, schema: UInt64, fingerprintBefore: UInt64) {
        var reader = ByteReader(bytes)
        guard try reader.readByte() == format else { throw reader.failure("the format") }
        let (high, low): (UInt64, UInt64) = (try reader.readFixed(), try reader.readFixed())
        let (schema, before): (UInt64, UInt64) = (try reader.readFixed(), try reader.readFixed())
        let fingerprint: UInt64 = try reader.readFixed()
        let payload = try reader.take(reader.remaining)
        var token = HistoryToken(
            commit: try CommitRecord.head(of: payload).number,
            store: StoreID(high: high.byteSwapped, low: low.byteSwapped), fingerprint: before)
        token.add(payload)
        guard token.fingerprint == fingerprint, token.commit > .none else { throw reader.failure("the fingerprint") }
        return (token, schema, before)
    }
}
