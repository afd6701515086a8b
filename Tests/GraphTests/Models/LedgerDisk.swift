import Dispatch
import Synchronization

@testable import Graph

/// A ledger's file on a simulated disk, whose writes and syncs fail where a seed says.
///
/// The journal runs on a queue of its own, which is held while a step runs and let go between steps, so that the schedule does
/// not depend on how fast it is: a write happens when the step that asked for it is over, and the coordinator learns of it
/// in a later step, which the schedule chooses. In between, others commit on top of what is not published yet.
final class LedgerDisk: InterposedDisk {
    let disk = SimulatedDisk()
    private let faults: Mutex<Faults>
    private static let path = "/data/ledger.graph"
    private static let options = JournalFixture.options()
    /// What saves wait for. Below `.full` no sync fails, after which commits that others have seen may not be in the file.
    let durability: Durability

    private struct Faults {
        var isActive = false
        var writes = 0
        var syncs = 0
        var fullWrites: Set<Int> = []
        var failingSync: (number: Int, reverts: Bool)?
    }

    /// - Parameter operations: how many writes and syncs there will be, about.
    init(seed: UInt64, operations: Int = 20) {
        var random = SeededGenerator(seed: seed)
        var faults = Faults()
        switch Int.random(in: 0..<4, using: &random) {
        case 0: faults.failingSync = (Int.random(in: 1...operations, using: &random), Bool.random(using: &random))
        case 1, 2:
            faults.fullWrites = Set(
                (0..<(1 + operations / 4)).map { _ in Int.random(in: 1...operations, using: &random) })
        default: break
        }
        durability = [.full, .full, .relaxed, .none][Int(seed >> 8 & 3)]
        if durability != .full { faults.failingSync = nil }
        self.faults = Mutex(faults)
    }

    /// A journal's queue, held.
    struct HeldQueue: Sendable {
        fileprivate let queue: DispatchQueue

        /// Lets everything happen that the journal was asked for.
        func run() {
            queue.resume()
            queue.sync {}
            queue.suspend()
        }

        /// Holds it no more.
        func release() { queue.resume() }
    }

    func open(on executor: SeededExecutor? = nil, as version: UInt64 = 0) async throws -> Coordinator {
        try await Self.open(self, version, durability, on: executor)
    }

    private static func open(
        _ disk: any StoreFileSystem, _ version: UInt64, _ durability: Durability = .full,
        on executor: SeededExecutor? = nil
    ) async throws -> Coordinator {
        try await Coordinator(
            version == 0 ? .ledger() : .version(version, of: Ledger.types), path: path, fileSystem: disk,
            options: options, durability: durability, taskExecutor: executor,
            clock: executor == nil ? ContinuousClock() : StepClock())
    }

    func hold(_ coordinator: Coordinator) -> HeldQueue {
        // The queue is nobody's business but the journal's, and the coordinator's reference to that never changes.
        guard let journal = Mirror(reflecting: coordinator).descendant("journal") as? Journal,
            let queue = Mirror(reflecting: journal).descendant("executor", "queue") as? DispatchQueue
        else { preconditionFailure("the journal runs elsewhere now") }
        queue.suspend()
        return HeldQueue(queue: queue)
    }

    /// From here on things may fail.
    func activateFaults() {
        faults.withLock { $0.isActive = true }
    }

    /// The states that the file gives, that of its checkpoint and one for each commit, once the coordinator has been closed.
    func states() throws -> [LedgerState] {
        let schema = try Schema.ledger()
        var (replay, snapshots) = (StoreReplay(schema: schema, path: Self.path), [Snapshot]())
        let opening = JournalOpening(fileSystem: disk, options: Self.options)
        _ = try opening.open(at: Self.path, schema: SchemaRecord(schema).bytes, seal: [], into: &replay) {
            (replay: inout StoreReplay, entry: JournalEntry) throws(GraphError) in
            try replay.apply(entry)
            if [.commit, .snapshotEnd].contains(entry.kind) { snapshots.append(replay.snapshot) }
        }
        return LedgerState.chain(snapshots)
    }

    /// Opens the file with each of these versions of the program, once the coordinator has been closed and nothing fails any more.
    /// Each makes one commit, and some compact.
    ///
    /// - Returns: how many of them converted the file.
    /// - Throws: `Mismatch`, if one of them finds other rows than the last one left.
    func reopen(as versions: [UInt64]) async throws -> Int {
        guard var expected = try states().last else { return 0 }
        var conversions = 0
        for version in versions {
            let coordinator = try await Self.open(disk, version)
            if coordinator.diagnostics.contains(where: { $0.kind == .convertedChange }) { conversions += 1 }
            let findings = coordinator.snapshot.checkByHand()
            guard findings.isEmpty, LedgerState(coordinator.snapshot).agrees(with: expected) else {
                throw Mismatch(version: version, findings: findings)
            }
            try await Context(coordinator).transaction { context in
                context.insert(Ledger.Branch(stamp: -700))
                for account in try context.fetch(Ledger.Account.self) { account.balance += 1 }
            }
            expected = LedgerState(coordinator.snapshot)
            if version % 2 == 1 { try await coordinator.compact() }
            try await coordinator.close()
        }
        return conversions
    }

    struct Mismatch: Error {
        let version: UInt64
        let findings: [String]
    }

    func willWrite() throws(IOError) {
        let isFull = faults.withLock { faults in
            guard faults.isActive else { return false }
            faults.writes += 1
            return faults.fullWrites.contains(faults.writes)
        }
        if isFull { throw IOError(operation: .write, reason: .diskFull, code: 28) }
    }

    func willSync() {
        let failing = faults.withLock { faults -> (number: Int, reverts: Bool)? in
            guard faults.isActive else { return nil }
            faults.syncs += 1
            return faults.syncs == faults.failingSync?.number ? faults.failingSync : nil
        }
        if let failing { disk.fail(operation: disk.operationCount, with: .syncFailure(reverts: failing.reverts)) }
    }
}
