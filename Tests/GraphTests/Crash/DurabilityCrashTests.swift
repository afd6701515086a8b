import Synchronization
import Testing

@testable import Graph

/// R29: what is left of a store whose saves have asked for different levels, after a kill or a power cut at any operation.
struct DurabilityCrashTests {
    private static func open(
        _ disk: SimulatedDisk, trace: (@Sendable (CommitTrace) -> Void)? = nil
    ) async throws -> Coordinator {
        try await Coordinator(
            Schema([EntityDescription(Team.self), EntityDescription(Person.self)]), path: JournalFixture.path,
            fileSystem: disk, options: JournalFixture.options(), durability: .none, trace: trace)
    }

    /// The highest commit that a save or a sync has answered for, as the disk knows it.
    private final class Acknowledged: Sendable {
        private let commit = Mutex<UInt64>(0)
        private let commits = Mutex<[String: UInt64]>([:])
        private let disk: SimulatedDisk

        init(_ disk: SimulatedDisk) { self.disk = disk }

        /// Called before the save returns.
        func note(_ origin: ChangeOrigin) {
            if let author = origin.author { commits.withLock { $0[author] = origin.commit?.number } }
        }

        func commit(by author: String) -> UInt64? { commits.withLock { $0[author] } }

        func raise(to number: UInt64) {
            commit.withLock { commit in
                commit = max(commit, number)
                disk.acknowledge(Int(commit))
            }
        }
    }

    /// Runs four tasks that save on levels at random; the first one syncs and compacts at times.
    ///
    /// - Parameter level: the least that counts as an answer.
    private func moments(seed: UInt64, answering level: Durability) async throws -> [SimulatedDisk.Moment] {
        let disk = SimulatedDisk()
        let acknowledged = Acknowledged(disk)
        let coordinator = try await Self.open(disk) { acknowledged.note($0.origin) }
        acknowledged.raise(to: 0)
        disk.startRecording()
        try await withThrowingTaskGroup { group in
            for task in 0..<4 as Range<UInt64> {
                group.addTask {
                    var random = SeededGenerator(seed: seed * 4 + task)
                    for round in 0..<8 {
                        let durability = [Durability.none, .relaxed, .full].randomElement(using: &random)!
                        let name = "\(task), \(round)"
                        let context = Context(coordinator, author: name)
                        _ = await context.perform { $0.insert(Team(name: name)).id }
                        try await context.save(durability: durability)
                        if durability >= level { acknowledged.raise(to: try #require(acknowledged.commit(by: name))) }
                        guard task == 0 else { continue }
                        switch Int.random(in: 0..<8, using: &random) {
                        case 0: try await coordinator.compact()
                        case 1, 2:
                            let before = coordinator.snapshot.commit.number
                            try await coordinator.sync()
                            acknowledged.raise(to: before)
                        default: break
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await coordinator.close()
        acknowledged.raise(to: 32)
        return disk.moments
    }

    private func check(_ medium: Medium, _ moment: SimulatedDisk.Moment, _ comment: String) async throws {
        let store = try await Self.open(SimulatedDisk(medium))
        let snapshot = store.snapshot
        // Each commit inserts one team.
        #expect(snapshot.count(of: Team.self) == snapshot.commit.number && snapshot.check() == [], "\(comment)")
        #expect(Int(snapshot.commit.number) >= moment.acknowledged, "\(comment): \(moment.acknowledged) acknowledged")
        try await store.close()
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `a power cut leaves the commits up to one of them, and every one that was to be durable`(seed: UInt64)
        async throws
    {
        var random = SeededGenerator(seed: seed)
        for moment in try await moments(seed: seed, answering: .full).shuffled(using: &random).prefix(60) {
            for mask in [0, .max, random.next(), random.next()] as [UInt64] {
                let medium = moment.medium.crashed(
                    keeps: { mask & (1 << UInt64($0 % 64)) != 0 },
                    fill: Medium.Fill.allCases.randomElement(using: &random)!,
                    keepsLength: Bool.random(using: &random),
                    keepsName: { [mask = random.next()] in mask & (1 << UInt64($0 % 64)) != 0 },
                    lockChangesKept: Int.random(in: 0...moment.medium.pendingLockCount, using: &random))
                try await check(medium, moment, "seed \(seed), \(moment.operation), \(mask)")
            }
        }
    }

    @Test(arguments: [5, 6, 7, 8] as [UInt64])
    func `a kill leaves the commits up to one of them, and every one that was to be written`(seed: UInt64) async throws
    {
        var random = SeededGenerator(seed: seed)
        for moment in try await moments(seed: seed, answering: .relaxed).shuffled(using: &random).prefix(120) {
            try await check(moment.medium, moment, "seed \(seed), \(moment.operation)")
        }
    }
}
