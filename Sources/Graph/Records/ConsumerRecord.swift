/// The payload of a record that says how far a consumer has read history; in a checkpoint it follows the byte of its kind.
///
/// | what | encoding |
/// |---|---|
/// | the consumer's name | string |
/// | 1; 0 if the consumer is removed, and nothing follows | 1 byte |
/// | number and fingerprint of the last commit that it has read | varint, 8 bytes |
enum ConsumerRecord {
    static let nameLimitBytes = 1_000

    /// - Parameter token: nil for a consumer that is removed.
    static func append(_ name: String, _ token: HistoryToken?, to writer: inout ByteWriter) {
        writer.appendString(name)
        writer.append(token == nil ? 0 : 1)
        guard let token else { return }
        writer.appendVarint(token.commit.number)
        writer.appendFixed(token.fingerprint)
    }

    static func encode(_ name: String, _ token: HistoryToken?) -> [UInt8] {
        var writer = ByteWriter()
        append(name, token, to: &writer)
        return writer.bytes
    }

    /// Reads to the end of the payload. The token has no store.
    static func read(_ reader: inout ByteReader) throws -> (name: String, token: HistoryToken?) {
        let name = try reader.readString()
        guard !name.isEmpty, name.utf8.count <= nameLimitBytes else { throw reader.failure("the name of a consumer") }
        var token: HistoryToken?
        switch try reader.readByte() {
        case 0: break
        case 1:
            token = HistoryToken(commit: CommitNumber(try reader.readVarint()), fingerprint: try reader.readFixed())
        default: throw reader.failure("a consumer that is neither there nor removed")
        }
        try reader.expectEnd()
        return (name, token)
    }
}
