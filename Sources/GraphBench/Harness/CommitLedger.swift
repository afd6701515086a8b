import Synchronization

/// How many commits a writer has begun and how many it has seen return, for a reader who checks what it may see.
final class CommitLedger: Sendable {
    private let counts: Mutex<(begun: Int, done: Int)>

    /// - Parameter done: the commits that were made before.
    init(done: Int) {
        counts = Mutex((done, done))
    }

    var begun: Int { counts.withLock { $0.begun } }
    var done: Int { counts.withLock { $0.done } }

    func begin() {
        counts.withLock { $0.begun += 1 }
    }

    func end() {
        counts.withLock { $0.done += 1 }
    }
}
