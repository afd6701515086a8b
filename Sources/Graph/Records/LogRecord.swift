/// A record of a store's file on its way to a copy of the store.
struct LogRecord: Sendable, Equatable {
    enum Kind: UInt8, Sendable {
        /// What the file says of its schema.
        case schema = 1
        case commit = 2
        /// Row counters, which a mark or a close record has.
        case counters = 6
        case consumer = 7
        /// All consumers of history; others are no longer there.
        case consumers = 8
    }

    let kind: Kind
    /// As a file has it; of several consumers, their number, and each one's length and record.
    let payload: [UInt8]
    /// Of the commit before; 0 for what is no commit.
    var fingerprint: UInt64 = 0

    static func consumers(_ consumers: [[UInt8]]) -> LogRecord {
        var writer = ByteWriter()
        writer.appendVarint(UInt64(consumers.count))
        for consumer in consumers {
            writer.appendVarint(UInt64(consumer.count))
            writer.append(contentsOf: consumer)
        }
        return LogRecord(kind: .consumers, payload: writer.bytes)
    }

    /// What `consumers(_:)` was given, by name.
    static func readConsumers(_ payload: [UInt8]) throws -> [String: HistoryToken] {
        try payload.withUnsafeBytes { payload in
            var reader = ByteReader(payload)
            var consumers: [String: HistoryToken] = [:]
            for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
                var record = ByteReader(try reader.take(try reader.readCount(minimumBytes: 1)))
                let (name, token) = try ConsumerRecord.read(&record)
                consumers[name] = token
            }
            try reader.expectEnd()
            return consumers
        }
    }
}
