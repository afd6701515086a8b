import Testing

@testable import Graph

/// A copy of a store that a writer saves to on all levels, compacts, closes, and loses by kills and power cuts, again and again.
/// Its logs begin at moments of their own, also between the writer's operations, and end anywhere; it is closed, killed and loses
/// power itself, and is compacted.
///
/// `GRAPH_SEED` repeats one run.
struct LogCrashTests {
    private static let path = FollowerCrashTests.path

    /// A copy on a disk of its own.
    private struct Copy {
        private(set) var receiver: LogReceiver
        private var disk: SimulatedDisk
        /// What it has said to be there.
        private(set) var states: [Snapshot] = []
        private(set) var (restarts, cuts, received) = (0, 0, 0)

        init(of coordinator: Coordinator, seed: UInt64) async throws {
            disk = SimulatedDisk()
            try await coordinator.copy(to: path, disk, JournalFixture.options(seed: seed))
            receiver = try await Self.open(disk, seed)
        }

        private static func open(_ disk: SimulatedDisk, _ seed: UInt64) async throws -> LogReceiver {
            // Compacts as soon as there is anything to gain.
            var options = JournalFixture.options(seed: seed)
            options.compactionMinimumBytes = 4_096
            return try await LogReceiver(FollowerCrashTests.schema(), path: path, fileSystem: disk, options: options)
        }

        /// Receives a part of a log, or all of it.
        mutating func catchUp(with source: SimulatedDisk, whole: Bool, _ random: inout SeededGenerator) async throws {
            var pieces: [[UInt8]] = []
            let sender = LogSender(path, receiver.token, false, source, JournalOptions())
            for try await piece in sender { pieces.append(piece) }
            if !whole, random.chance(3), !pieces.isEmpty {
                pieces = Array(pieces.prefix(Int.random(in: 1...pieces.count, using: &random)))
                pieces[pieces.count - 1].removeLast(Int.random(in: 0...pieces[pieces.count - 1].count, using: &random))
                cuts += 1
            }
            let before = receiver.token.commit
            let sent = pieces
            try await receiver.receive(
                AsyncStream { continuation in
                    for piece in sent { continuation.yield(piece) }
                    continuation.finish()
                })
            received += Int(receiver.token.commit.number - before.number)
            states.append(receiver.snapshot)
        }

        /// Closes the receiver, or lets it go as a kill or a power cut does, and opens it again.
        mutating func restart(seed: UInt64, _ random: inout SeededGenerator) async throws {
            restarts += 1
            let last = receiver.token
            switch FollowerCrashTests.End.allCases.randomElement(using: &random)! {
            case .close: try await receiver.close()
            case .kill: disk = SimulatedDisk(disk.medium)
            case .powerCut:
                let medium = disk.medium
                disk = SimulatedDisk(
                    medium.crashed(keeping: random.next(), using: &random))
            }
            receiver = try await Self.open(disk, seed)
            try #require(receiver.token == last, "what was received is not there any more")
        }
    }

    @Test func `a copy whose log is cut at any byte, and which is killed then, goes on where it was`() async throws {
        let disk = SimulatedDisk()
        let writer = try await FollowerCrashTests.writer(on: disk, seed: 1)
        let copied = SimulatedDisk()
        try await writer.copy(to: Self.path, copied, JournalFixture.options(seed: 2))
        let start = writer.snapshot.token
        for number in 0..<3 {
            _ = try await writer.transaction { $0.insert(Team(name: "\(number)")).id }
            try await writer.setMetadata("\(number)", for: "number")
        }
        try await writer.sync()
        func log(since token: HistoryToken) async throws -> [UInt8] {
            var bytes: [UInt8] = []
            for try await piece in LogSender(Self.path, token, false, disk, JournalOptions()) { bytes += piece }
            return bytes
        }
        let bytes = try await log(since: start)
        var (tried, commits) = (0, Set<UInt64>())
        for cut in bytes.indices where Sweep.tries(cut) {
            tried += 1
            let place = SimulatedDisk(copied.medium)
            func open(_ disk: SimulatedDisk) async throws -> LogReceiver {
                try await LogReceiver(
                    FollowerCrashTests.schema(), path: Self.path, fileSystem: disk,
                    options: JournalFixture.options(seed: UInt64(cut) + 3))
            }
            func receive(_ bytes: [UInt8], _ receiver: LogReceiver) async throws {
                try await receiver.receive(
                    AsyncStream { continuation in
                        continuation.yield(bytes)
                        continuation.finish()
                    })
            }
            var receiver = try await open(place)
            try await receive(Array(bytes[..<cut]), receiver)
            let last = receiver.token
            commits.insert(last.commit.number)
            receiver = try await open(SimulatedDisk(place.medium))
            #expect(receiver.token == last && receiver.snapshot.check() == [], "cut at \(cut)")
            try await receive(try await log(since: last), receiver)
            #expect(receiver.token == writer.snapshot.token, "cut at \(cut)")
            #expect(await receiver.store.metadata == writer.metadata, "cut at \(cut)")
        }
        #expect(tried > 40 && commits.isSuperset(of: [0, 1, 2]))
        try await writer.close()
    }

    private static func run(seed: UInt64) async throws -> (copy: Copy, last: Medium) {
        var random = SeededGenerator(seed: seed)
        let first = SimulatedDisk()
        let coordinator = try await FollowerCrashTests.writer(on: first, seed: seed &* 8 &+ 6)
        var copy = try await Copy(of: coordinator, seed: seed &* 64)
        try await coordinator.close()
        var medium = first.medium
        let disk = SimulatedDisk()
        // As for followers, what a sender has synced is nothing that the writer's moments know of.
        var (namesSynced, syncCount) = (0, 0)
        for life in 0..<5 as Range<UInt64> {
            let end: FollowerCrashTests.End =
                life == 4 ? .close : FollowerCrashTests.End.allCases.randomElement(using: &random)!
            let all = try await FollowerCrashTests.moments(
                on: medium, seed: seed &* 8 &+ life, end, HistoryRetention(), &random)
            let count = end == .close ? all.count : Int.random(in: 1...all.count, using: &random)
            let pace = [5, 20, 1_000].randomElement(using: &random)!
            for (index, moment) in all.prefix(count).enumerated() {
                let isLast = index == count - 1
                guard random.chance(pace) || isLast else { continue }
                disk.show(moment.medium)
                if random.chance(8) { try await copy.restart(seed: seed &* 64 &+ UInt64(copy.restarts) &+ 1, &random) }
                try await copy.catchUp(with: disk, whole: life == 4 && isLast, &random)
                let syncs = disk.trace.count { $0.hasPrefix("syncDirectory") }
                if syncs > syncCount { (namesSynced, syncCount) = (moment.medium.pendingNames.count, syncs) }
            }
            medium = all[count - 1].medium
            defer { if end == .powerCut { namesSynced = 0 } }
            guard end == .powerCut else { continue }
            let synced: UInt64 = namesSynced < 64 ? (1 << UInt64(namesSynced)) - 1 : .max
            medium = medium.crashed(keeping: random.next(), keepingNames: random.next() | synced, using: &random)
        }
        return (copy, medium)
    }

    @Test func `a copy has what was durable, loses none of it, and ends at the writer's state`() async throws {
        let first = Seeds.setting("GRAPH_SEED") ?? .random(in: 0..<1 << 40)
        var (restarts, cuts, received) = (0, 0, 0)
        for seed in first..<first + (Seeds.setting("GRAPH_RECEIVERS") ?? 20) {
            let copy: Copy
            let last: Medium
            do { (copy, last) = try await Self.run(seed: seed) } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
            let writer = try await FollowerCrashTests.writer(on: SimulatedDisk(last), seed: seed &* 8 &+ 7)
            let final = writer.snapshot
            // Each commit inserts one team, whose name no other life gives, so rows are commits.
            let names = try final.fetchValues(Team.self).map(\.name)
            #expect(copy.receiver.token == final.token, "seed \(seed)")
            for state in copy.states {
                let isPrefix = try names.starts(with: state.fetchValues(Team.self).map(\.name))
                #expect(isPrefix && state.check() == [], "seed \(seed): commit \(state.commit)")
                #expect(state.count(of: Team.self) == Int(state.commit.number), "seed \(seed)")
            }
            (restarts, cuts, received) = (restarts + copy.restarts, cuts + copy.cuts, received + copy.received)
            try await copy.receiver.close()
            try await writer.close()
        }
        guard Seeds.setting("GRAPH_SEED") == nil else { return }
        #expect(restarts > 0 && cuts > 0 && received > 100, "\(restarts) \(cuts) \(received)")
    }
}
