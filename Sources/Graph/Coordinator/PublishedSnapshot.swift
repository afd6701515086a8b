import Synchronization

/// The newest durable state, where everybody can get it without waiting for the coordinator.
final class PublishedSnapshot: Sendable {
    private let current: Mutex<Snapshot>

    init(_ snapshot: Snapshot) {
        current = Mutex(snapshot)
    }

    var value: Snapshot { current.withLock { $0 } }

    func publish(_ snapshot: Snapshot) {
        current.withLock { $0 = snapshot }
    }
}
