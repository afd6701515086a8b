@testable import Graph

/// Each sync of a short life fails, in every way; a program that comes after that opens the store, saves, and loses power.
///
/// After a failed sync programs read what the disk does not have.
struct FailedSyncs {
    private(set) var count = 0
    private(set) var outcomes = Histogram()
    private let seed: UInt64
    private var random: SeededGenerator

    private static let faults: [(name: String, fault: SimulatedDisk.Fault)] = [
        ("EIO, the contents stay", .syncFailure(reverts: false)), ("EIO, the contents go", .syncFailure(reverts: true)),
        ("ENOSPC", .error(.diskFull, 28)), ("EINTR", .error(.interrupted, 4)),
    ]

    /// Power cuts at each moment afterwards.
    private static let cutsEach = 2

    init(seed: UInt64) { (self.seed, random) = (seed, SeededGenerator(seed: seed)) }

    /// What a program was told, and may find later.
    private struct Life {
        /// The digest after each commit that was acknowledged.
        var digests: [UInt64] = []
        /// Those of a group whose outcome is unknown.
        var unknown: [UInt64] = []
        var failure: GraphError?

        /// Creates a store, saves, closes it, opens it again, and saves.
        mutating func run(_ disk: SimulatedDisk, seed: UInt64) throws {
            var random = SeededGenerator(seed: seed)
            do {
                for part in 0..<2 {
                    var store = try TeamStore(disk, seed: seed &+ UInt64(part))
                    if digests.isEmpty { digests = [store.snapshot.digest] }
                    for count in [1, 3, 2] {
                        do throws(GraphError) {
                            digests += try store.commit(count, using: &random)
                        } catch {
                            if case .outcomeUnknown = error { unknown = store.lastGroup }
                            failure = error
                        }
                        guard failure == nil else { return try requireFailed(&store, disk) }
                    }
                    if part == 0, seed % 2 == 0 { try store.close() }
                    disk.killProcess()
                }
            } catch let error as GraphError { failure = error }
        }

        /// After a failure nothing is written or synced any more.
        private func requireFailed(_ store: inout TeamStore, _ disk: SimulatedDisk) throws {
            let operations = disk.operationCount
            var random = SeededGenerator(seed: 1)
            do {
                _ = try store.commit(1, using: &random)
                throw CrashedStore.Failure("a save went well after \(String(describing: failure))")
            } catch let error as GraphError {
                guard case .storeFailed = error else {
                    throw CrashedStore.Failure("a save after \(String(describing: failure)): \(error)")
                }
            }
            try store.close()
            guard disk.operationCount == operations else {
                throw CrashedStore.Failure("the disk was touched after \(String(describing: failure))")
            }
        }
    }

    mutating func run() throws {
        let reference = SimulatedDisk()
        var all = Life()
        try all.run(reference, seed: seed)
        guard all.failure == nil else { throw CrashedStore.Failure("without a failure: \(String(describing: all))") }
        for (index, operation) in reference.trace.filter({ !$0.hasPrefix("acknowledge") }).enumerated()
        where operation.hasPrefix("sync") {
            for (name, fault) in Self.faults {
                count += 1
                let comment = "operation \(index) (\(operation)) fails: \(name)"
                do { try fail(index, fault, name, comment) } catch {
                    throw CrashedStore.Failure("\(comment): \(error)")
                }
            }
        }
    }

    private mutating func fail(
        _ index: Int, _ fault: SimulatedDisk.Fault, _ name: String, _ comment: String
    ) throws {
        let disk = SimulatedDisk(failingAt: index, with: fault, forEver: false)
        var life = Life()
        try life.run(disk, seed: seed)
        disk.stopFailing()
        disk.killProcess()
        disk.startRecording()
        // Power is lost at once, or later.
        disk.acknowledge(life.digests.count - 1)
        _ = try? disk.status(StorePath(JournalFixture.path))
        let digests = life.digests.isEmpty ? [Snapshot(schema: TeamStore.schema).digest] : life.digests + life.unknown
        let possible = CrashedStore(digests: digests)
        var store = try TeamStore(disk, seed: 5)
        let openingMoments = disk.moments
        let found = try possible.check(store, acknowledged: life.digests.count - 1, leftovers: disk.names)
        outcomes.add("\(life.failure?.kind ?? "no failure") after \(name)", found.name)
        disk.acknowledge(found.number)
        // From here on it is decided what became of the group whose sync failed.
        var later = Array(digests.prefix(found.number + 1))
        for _ in 0..<2 {
            later += try store.commit(1, using: &random)
            disk.acknowledge(later.count - 1)
        }
        _ = try? disk.status(StorePath(JournalFixture.path))
        for (oracle, moments) in [
            (possible, openingMoments),
            (CrashedStore(digests: later), Array(disk.moments.dropFirst(openingMoments.count))),
        ] {
            var cuts = LaterCuts(oracle, "")
            defer { outcomes.add(cuts.outcomes) }
            try cuts.open(moments, each: Self.cutsEach, using: &random)
        }
    }
}

extension GraphError {
    /// The name of the case.
    var kind: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
}
