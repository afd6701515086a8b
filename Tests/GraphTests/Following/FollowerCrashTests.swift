import Testing

@testable import Graph

/// A follower beside a writer that saves on all levels, compacts, and closes, is killed or loses power at any operation, again
/// and again. It looks at moments of its own, also between the writer's operations, and survives what the writer does not.
///
/// `GRAPH_SEED` repeats one run.
struct FollowerCrashTests {
    static let path = JournalFixture.path

    static func schema() throws -> Schema {
        try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
    }

    static func writer(
        on disk: SimulatedDisk, seed: UInt64, _ retention: HistoryRetention = HistoryRetention()
    ) async throws -> Coordinator {
        try await Coordinator(
            schema(), path: path, fileSystem: disk, options: JournalFixture.options(seed: seed), durability: .none,
            compaction: .manual, retention: retention)
    }

    /// nil before there is a file.
    private static func follower(on disk: SimulatedDisk) async throws -> Follower? {
        do {
            return try await Follower(
                schema(), path: path, fileSystem: disk, options: JournalOptions(), isAwake: false)
        } catch GraphError.unusableFile(_, let reason) where reason == "there is no file" {
            return nil
        } catch GraphError.directoryMissing {
            return nil
        }
    }

    /// What a follower has shown.
    private struct Shown {
        var states: [Snapshot] = []
        var ranges: [ClosedRange<UInt64>] = []
        var restarts = 0
    }

    enum End: CaseIterable { case close, kill, powerCut }

    /// Has a writer work on a medium, and returns all moments until its end, and how it ends.
    static func moments(
        on medium: Medium, seed: UInt64, _ end: End, _ retention: HistoryRetention,
        _ random: inout SeededGenerator
    ) async throws -> [SimulatedDisk.Moment] {
        let disk = SimulatedDisk(medium)
        disk.startRecording()
        let coordinator = try await writer(on: disk, seed: seed, retention)
        for number in 0..<Int.random(in: 1...16, using: &random) {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: try await coordinator.compact()
            case 1: try await coordinator.sync()
            default:
                let level = [Durability.none, .relaxed, .full].randomElement(using: &random)!
                let context = Context(coordinator, author: "\(seed)")
                _ = await context.perform { $0.insert(Team(name: "\(seed), \(number)")).id }
                try await context.save(durability: level)
            }
        }
        try await coordinator.close()
        return disk.moments
    }

    /// Runs some lives of a writer, and what it leaves each time.
    private static func run(seed: UInt64, _ shown: inout Shown) async throws -> (follower: Follower?, last: Medium) {
        var random = SeededGenerator(seed: seed)
        var medium = Medium()
        let disk = SimulatedDisk()
        var (follower, commits): (Follower?, Commits.Iterator?) = (nil, nil)
        // Followers that meet a name that may not be durable sync the folder; this is how many changes of names they have synced.
        var (namesSynced, syncCount) = (0, 0)
        for life in 0..<5 as Range<UInt64> {
            let end = life == 4 ? .close : End.allCases.randomElement(using: &random)!
            // Without history a follower that sleeps through files has one element for what it has missed.
            let retention = seed % 2 == 0 ? HistoryRetention.none : HistoryRetention()
            let all = try await moments(on: medium, seed: seed &* 8 &+ life, end, retention, &random)
            let count = end == .close ? all.count : Int.random(in: 1...all.count, using: &random)
            // It may sleep through a life.
            let pace = [2, 5, 1_000].randomElement(using: &random)!
            for (index, moment) in all.prefix(count).enumerated() {
                let isLast = index == count - 1
                guard random.chance(pace) || isLast else { continue }
                disk.show(moment.medium)
                if follower == nil || random.chance(40) {
                    if follower != nil { shown.restarts += 1 }
                    await follower?.close()
                    let next = try await Self.follower(on: disk)
                    (follower, commits) = (next, next?.commits.makeAsyncIterator())
                    if let next { shown.states.append(next.snapshot) }
                }
                defer {
                    let count = disk.trace.count { $0.hasPrefix("syncDirectory") }
                    if count > syncCount { (namesSynced, syncCount) = (moment.medium.pendingNames.count, count) }
                }
                guard let follower else { continue }
                let before = follower.snapshot.commit
                try await follower.catchUp()
                var last = before
                while last < follower.snapshot.commit, let commit = await commits?.next() {
                    try #require(commit.commits.lowerBound == last.next, "a gap or a repetition")
                    last = commit.number
                    shown.ranges.append(commit.commits.lowerBound.number...commit.commits.upperBound.number)
                    if let after = commit.difference?.after { shown.states.append(after) }
                }
            }
            medium = all[count - 1].medium
            defer { if end == .powerCut { namesSynced = 0 } }
            guard end == .powerCut else { continue }
            medium = medium.crashed(
                keeps: { [mask = random.next()] in mask & (1 << UInt64($0 % 64)) != 0 },
                fill: Medium.Fill.allCases.randomElement(using: &random)!, keepsLength: random.chance(2),
                keepsName: { [mask = random.next(), namesSynced] in
                    $0 < namesSynced || mask & (1 << UInt64($0 % 64)) != 0
                },
                lockChangesKept: Int.random(in: 0...medium.pendingLockCount, using: &random))
            disk.show(medium)
            guard medium.names[StorePath(path)] != nil else {
                // The store was made, and its name not synced.
                try #require(shown.states.allSatisfy { $0.commit == .none })
                (follower, shown.states) = (nil, [])
                continue
            }
        }
        return (follower, medium)
    }

    @Test func `a follower shows what was durable, each commit once, and ends at the writer's state`() async throws {
        let first = Seeds.setting("GRAPH_SEED") ?? .random(in: 0..<1 << 40)
        var (ranges, restarts, count) = (0, 0, 0)
        let wanted = Seeds.setting("GRAPH_FOLLOWERS") ?? 40
        for seed in first..<first + 10 * wanted {
            // Few followers sleep through several files.
            guard seed < first + wanted || ranges == 0 && Seeds.setting("GRAPH_SEED") == nil else { break }
            var shown = Shown()
            let follower: Follower?
            let last: Medium
            do { (follower, last) = try await Self.run(seed: seed, &shown) } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
            let writer = try await Self.writer(on: SimulatedDisk(last), seed: seed &* 8 &+ 7)
            let final = writer.snapshot
            // Each commit inserts one team, whose name no other life gives, so rows are commits.
            let names = try final.fetchValues(Team.self).map(\.name)
            #expect(UInt64(names.count) == final.commit.number)
            #expect(follower?.snapshot.token == final.token, "seed \(seed)")
            for state in shown.states {
                let isPrefix = try names.starts(with: state.fetchValues(Team.self).map(\.name))
                #expect(isPrefix && state.check() == [], "seed \(seed): commit \(state.commit)")
                #expect(state.count(of: Team.self) == Int(state.commit.number), "seed \(seed)")
            }
            ranges += shown.ranges.count { $0.count > 1 }
            (restarts, count) = (restarts + shown.restarts, count + shown.ranges.count)
            try await writer.close()
        }
        guard Seeds.setting("GRAPH_SEED") == nil else { return }
        #expect(ranges > 0 && restarts > 0 && count > 100, "\(ranges) \(restarts) \(count)")
    }
}
