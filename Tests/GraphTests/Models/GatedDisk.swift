import Dispatch

@testable import Graph

/// A simulated disk whose writes or syncs can be held up, so that a test decides what happens while a save is under way.
final class GatedDisk: InterposedDisk {
    enum Stage {
        case write
        case sync
    }

    let disk: SimulatedDisk
    private let stage: Stage
    private let state = Waitable((isHolding: false, waiting: 0, holdsOne: false))
    private let gate = DispatchSemaphore(value: 0)

    /// - Parameter stage: which calls wait while the disk is held.
    init(holdingAt stage: Stage = .write, _ disk: SimulatedDisk = SimulatedDisk()) {
        (self.stage, self.disk) = (stage, disk)
    }

    /// The next calls wait, each for one `release`.
    func hold() { state.withLock { ($0.isHolding, $0.holdsOne) = (true, false) } }

    /// The next call waits for a `release`, and no other one does.
    func holdOne() { state.withLock { ($0.isHolding, $0.holdsOne) = (true, true) } }

    /// Returns when a call waits.
    func waitForArrival() async {
        while !isWaiting { await state.waitForChange(unless: { $0.waiting > 0 }, isolation: nil) }
    }

    var isWaiting: Bool { state.withLock { $0.waiting > 0 } }

    /// Lets the waiting call go on, if there is one; later ones do not wait.
    func release() { letGo(isHolding: false) }

    /// Lets the waiting call go on, if there is one; later ones wait.
    func releaseOne() { letGo(isHolding: true) }

    private func letGo(isHolding: Bool) {
        let isWaiting = state.withLock { state in
            state.isHolding = isHolding
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
        var hasToWait = false
        state.change { state in
            hasToWait = state.isHolding
            if hasToWait { state.waiting += 1 }
            if state.holdsOne { state.isHolding = false }
        }
        if hasToWait { gate.wait() }
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
