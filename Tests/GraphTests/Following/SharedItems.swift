import Synchronization

@testable import Graph

/// A store that several programs save to, each with a copy, for the tests of logs of commits.
enum SharedItems {
    @Entity struct Item {
        @Unique var code: Int
        var label = ""
        var count = 0
        @Relationship(inverse: \Part.item) var parts: ToMany<Part> = []

        mutating func willSave() {
            Self.prepared.withLock { $0.append(code) }
            if label == "draft" { label = "prepared" }
        }

        func validate() throws { Self.validated.withLock { $0.append(code) } }

        /// The codes of items that were validated, and those that a hook has seen, by any test.
        static let validated = Mutex([Int]())
        static let prepared = Mutex([Int]())
    }

    @Entity struct Part {
        var name: String
        var item: ToOne<Item> = nil
    }

    static let path = "/data/items.graph"

    /// A store that others copy, and the log behind it.
    struct Origin {
        let origin: Coordinator
        let log: SimulatedLog

        init(_ codes: Int...) async throws {
            origin = try await Coordinator(for: Item.self, Part.self)
            for code in codes { try await origin.transaction { _ = $0.insert(Item(code: code)) } }
            log = SimulatedLog(seed: 1, start: UInt64(codes.count))
        }

        /// One more program, with its copy in memory.
        func writer(_ log: (any CommitLog)? = nil) async throws -> Coordinator {
            let state = origin.snapshot
            return try await Coordinator(
                state.schema, path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
                initial: (state, await origin.usedCounters, origin.storeID, nil),
                log: log ?? self.log.connection(0), clock: StepClock())
        }
    }

    /// - Parameter log: nil for a store by itself.
    static func open(_ disk: SimulatedDisk, _ log: (any CommitLog)? = nil) async throws -> Coordinator {
        try await Coordinator(
            Schema([EntityDescription(Item.self), EntityDescription(Part.self)]), path: path, fileSystem: disk,
            options: JournalFixture.options(), log: log)
    }

    static func codes(_ coordinator: Coordinator) throws -> [Int] {
        try coordinator.snapshot.fetchValues(Item.self, sortedBy: [.ascending(\.code)]).map(\.code)
    }

    /// Answers as it is told, and otherwise as the log.
    final class Line: CommitLog {
        enum State {
            case open
            case cut
            /// Requests arrive, and answers do not.
            case mute
            /// Requests arrive later.
            case slow
            /// What was slow arrives just before the next request.
            case delivering
        }

        struct Broken: Error {}

        let log: SimulatedLog.Connection
        private let state = Mutex((State.open, [(records: [[UInt8]], commit: UInt64)]()))

        init(_ log: SimulatedLog) { self.log = log.connection(9) }

        func set(_ state: State) { self.state.withLock { $0.0 = state } }

        /// Lets the first request arrive of those that were made while the line was slow.
        func deliver() async throws {
            let waiting = state.withLock { state in
                defer { state.1 = [] }
                return state.1
            }
            guard let first = waiting.first else { return }
            _ = try await log.append(first.records, after: first.commit)
        }

        func append(_ records: [[UInt8]], after commit: UInt64) async throws -> Int {
            switch state.withLock({ $0.0 }) {
            case .open: return try await log.append(records, after: commit)
            case .cut: throw Broken()
            case .mute:
                _ = try await log.append(records, after: commit)
                throw Broken()
            case .slow:
                state.withLock { $0.1.append((records, commit)) }
                throw Broken()
            case .delivering:
                try await deliver()
                return try await log.append(records, after: commit)
            }
        }

        func read(after commit: UInt64) async throws -> [[UInt8]] {
            guard [.open, .delivering].contains(state.withLock({ $0.0 })) else { throw Broken() }
            return try await log.read(after: commit)
        }

        func waitForRecords(after commit: UInt64) async throws {
            try await Task.sleep(for: .seconds(1_000))
        }
    }
}
