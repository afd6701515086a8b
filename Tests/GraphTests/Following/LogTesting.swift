import Testing

@testable import Graph

/// A store in a folder, its logs and its copies, all in the same process.
protocol LogTesting {
    var folder: TemporaryFolder { get }
}

@Entity struct LoggedReading {
    @Indexed var place: String
    var degrees = 0
    @Unique var code: Int?
}

extension LogTesting {
    typealias Reading = LoggedReading

    var path: String { folder.file() }

    func writer(_ path: String? = nil, _ retention: HistoryRetention = HistoryRetention()) async throws
        -> Coordinator
    {
        try await Coordinator(
            for: Reading.self, at: path ?? self.path, compaction: .manual, retention: retention)
    }

    /// A receiver of a copy of the store.
    func receiver(of writer: Coordinator, _ name: String = "copy.graph") async throws -> LogReceiver {
        try await LogReceiver(for: Reading.self, at: Self.copied(writer, folder.file(name)))
    }

    static func copied(_ writer: Coordinator, _ path: String) async throws -> String {
        try await writer.copy(to: path)
        return path
    }

    func insert(_ places: String..., into writer: Coordinator) async throws {
        for place in places { try await writer.transaction(author: "w") { _ = $0.insert(Reading(place: place)) } }
    }

    func log(_ path: String? = nil, since token: HistoryToken) async throws -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        for try await piece in LogSender(at: path ?? self.path, since: token, waitingForMore: false) {
            pieces.append(piece)
        }
        return pieces
    }

    func catchUp(_ receiver: LogReceiver, _ path: String? = nil) async throws {
        try await receiver.receive(LogSender(at: path ?? self.path, since: receiver.token, waitingForMore: false))
    }

    func places(_ snapshot: Snapshot) throws -> [String] {
        try snapshot.fetchValues(Reading.self, sortedBy: [.ascending(\.place)]).map(\.place)
    }

    func stream(_ pieces: [[UInt8]]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for piece in pieces { continuation.yield(piece) }
            continuation.finish()
        }
    }
}
