@testable import Graph

/// Every power cut of one workload: at each change of the disk, with each subset of what is not synced, and at each change of the
/// disk while what that has left is opened.
///
/// Equal disks are opened once.
struct CrashProgram {
    private(set) var summary = Summary()
    private let seed: UInt64
    private let workload: CrashWorkload
    private let oracle: CrashedStore
    private var random: SeededGenerator
    /// The commit that was found on each disk that was opened; -1 where the store was made anew.
    private var found: [UInt64: Int] = [:]

    struct Summary: Sendable, CustomStringConvertible {
        var images = Histogram()
        var twice = Histogram()
        var afterFailedSyncs = Histogram()
        var failedSyncs = 0

        mutating func add(_ other: Summary) {
            images.add(other.images)
            twice.add(other.twice)
            afterFailedSyncs.add(other.afterFailedSyncs)
            failedSyncs += other.failedSyncs
        }

        mutating func add(_ syncs: FailedSyncs) {
            failedSyncs += syncs.count
            afterFailedSyncs.add(syncs.outcomes)
        }

        var description: String {
            """
            crash: \(images.total) images of \(images.distinct) disks that differ
            \(images)
            cut again while the store was opened and saved to: \(twice.total) images of \(twice.distinct) disks
            \(twice)
            after each of \(failedSyncs) syncs that failed: \(afterFailedSyncs.total) images of \(afterFailedSyncs.distinct)
            \(afterFailedSyncs)
            """
        }
    }

    /// What a seed's programs come to, and the first failure.
    static func run(seed: UInt64) async -> (Summary, failure: String?) {
        var summary = Summary()
        do {
            var program = try await CrashProgram(seed: seed)
            defer { summary.add(program.summary) }
            try await program.cutOnce()
            var syncs = FailedSyncs(seed: seed)
            defer { summary.add(syncs) }
            try syncs.run()
        } catch { return (summary, "\(error)") }
        return (summary, nil)
    }

    private init(seed: UInt64) async throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        workload = try await CrashWorkload(seed: seed)
        oracle = CrashedStore(digests: workload.digests)
    }

    /// Every so many disks are also read without their lock, opened by a coordinator, and lose power again while they are opened.
    private static let (readShare, againShare) = (16, 96)
    private static let (againLimit, coordinatorLimit, cutsEach) = (30, 6, 10)

    private mutating func cutOnce() async throws {
        var chosen: [(medium: Medium, acknowledged: Int, found: Int, comment: String)] = []
        for (number, moment) in workload.moments.enumerated() {
            let label = moment.label
            var random = self.random
            try PowerCut.forEach(of: moment.medium, using: &random) { cut in
                let medium = cut.remains(of: moment.medium)
                let comment = "moment \(number) (\(moment.operation)), \(cut)"
                let fingerprint = medium.fingerprint
                if let number = found[fingerprint] {
                    summary.images.add(label, Histogram.equal)
                    guard number >= moment.acknowledged else {
                        throw CrashedStore.Failure("\(comment): commit \(number), \(moment.acknowledged) acknowledged")
                    }
                    return
                }
                let outcome = try describing(comment) {
                    try oracle.open(medium, acknowledged: moment.acknowledged)
                }
                found[fingerprint] = outcome.wasCreated ? -1 : outcome.number
                summary.images.add(label, outcome.name)
                let count = found.count
                if count % Self.readShare == 0 {
                    try describing(comment) { try oracle.read(medium, found: outcome.number) }
                }
                if count % Self.againShare == 0 || medium.names.keys.contains(where: { $0.text.contains(".new-") }) {
                    chosen.append((medium, moment.acknowledged, outcome.number, comment))
                }
            }
            self.random = random
        }
        chosen.shuffle(using: &random)
        for image in chosen.prefix(Self.againLimit) {
            let comment = "\(image.comment), then"
            try cutAgain(image.medium, acknowledged: image.acknowledged, comment)
        }
        for image in chosen.suffix(Self.coordinatorLimit) {
            let comment = "\(image.comment), then with a coordinator"
            do {
                try await cutCompaction(image.medium, acknowledged: image.acknowledged, found: image.found, comment)
            } catch { throw CrashedStore.Failure("\(comment): \(error)") }
        }
    }

    /// Cuts the power again while what a cut has left is opened, and a commit is added.
    private mutating func cutAgain(_ medium: Medium, acknowledged: Int, _ comment: String) throws {
        let disk = SimulatedDisk(medium)
        disk.acknowledge(acknowledged)
        disk.startRecording()
        var store = try TeamStore(disk, seed: 7)
        disk.acknowledge(store.number)
        let later = CrashedStore(
            digests: workload.digests.prefix(store.number + 1) + [try store.commitTeam()])
        disk.acknowledge(store.number)
        _ = try disk.status(StorePath(JournalFixture.path))
        var cuts = LaterCuts(later, comment)
        defer { summary.twice.add(cuts.outcomes) }
        try cuts.open(disk.moments, each: Self.cutsEach, using: &random)
    }

    /// Cuts the power again while a coordinator opens what a cut has left, saves and compacts.
    private mutating func cutCompaction(
        _ medium: Medium, acknowledged: Int, found: Int, _ comment: String
    ) async throws {
        let disk = SimulatedDisk(medium)
        disk.acknowledge(acknowledged)
        disk.startRecording()
        let digests = try await oracle.goOn(disk, found: found)
        var cuts = LaterCuts(CrashedStore(digests: digests), comment)
        defer { summary.twice.add(cuts.outcomes) }
        try cuts.open(disk.moments, each: Self.cutsEach, using: &random)
    }

    private func describing<Result>(_ comment: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw CrashedStore.Failure("\(comment): \(error)") }
    }
}
