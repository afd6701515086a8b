import Dispatch

/// Runs a journal's blocking calls one after the other on a queue of its own, so that none of them blocks a thread of the
/// cooperative pool.
final class JournalExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String = "graph.journal") {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        // The closure keeps the executor alive, to which the unowned reference leads.
        queue.async { [self] in
            withExtendedLifetime(self) { job.runSynchronously(on: executor) }
        }
    }

    func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
