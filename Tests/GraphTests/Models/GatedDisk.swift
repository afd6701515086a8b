import Dispatch
import Synchronization

@testable import Graph

/// A simulated disk whose writes or syncs can be held up, so that a test decides what happens while a save is under way.
final class GatedDisk: InterposedDisk {
    enum Stage {
        case write
        case sync
    }

    let disk = SimulatedDisk()
    private let stage: Stage
    private let state = Mutex((isHolding: false, waiting: 0))
    private let gate = DispatchSemaphore(value: 0)
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    /// - Parameter stage: which calls wait while the disk is held.
    init(holdingAt stage: Stage = .write) {
        self.stage = stage
        (arrivals, arrival) = AsyncStream.makeStream()
    }

    /// The next calls wait, each for one `release`.
    func hold() { state.withLock { $0.isHolding = true } }

    /// Returns when a call has come to wait.
    func waitForArrival() async {
        for await _ in arrivals { return }
    }

    var isWaiting: Bool { state.withLock { $0.waiting > 0 } }

    /// Lets the waiting call go on, if there is one; later ones do not wait.
    func release() {
        let isWaiting = state.withLock { state in
            state.isHolding = false
            guard state.waiting > 0 else { return false }
            state.waiting -= 1
            return true
        }
        if isWaiting { gate.signal() }
    }

    /// Lets the waiting write find the disk full.
    func fill() { disk.fail(operation: disk.operationCount, with: .error(.diskFull, 28)) }

    func willWrite() { pass(.write) }
    func willSync() { pass(.sync) }

    private func pass(_ stage: Stage) {
        guard stage == self.stage else { return }
        let hasToWait = state.withLock { state in
            if state.isHolding { state.waiting += 1 }
            return state.isHolding
        }
        guard hasToWait else { return }
        arrival.yield()
        gate.wait()
    }
}

extension Coordinator {
    /// A store of teams and people on a disk of the test's.
    static func people(
        on disk: any StoreFileSystem,
        at path: String = JournalFixture.path,
        seed: UInt64 = 1
    ) async throws(GraphError) -> Coordinator {
        let schema = try Schema([EntityDescription(Team.self), EntityDescription(Person.self)])
        let options = JournalFixture.options(seed: seed)
        return try await Coordinator(schema, path: path, fileSystem: disk, options: options)
    }
}
