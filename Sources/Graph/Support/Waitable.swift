import Synchronization

/// A value behind a lock, and tasks that wait for it to change.
final class Waitable<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        /// By the number of each wait.
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextNumber: UInt64 = 0
    }

    private let state: Mutex<State>

    init(_ value: sending Value) {
        state = Mutex(State(value: value))
    }

    /// Whether a task waits.
    var isWaitedFor: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Reads the value, or changes something that no task waits for.
    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        state.withLock { body(&$0.value) }
    }

    /// Changes the value, and has all that wait look again, the task that came first before others.
    @discardableResult
    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, waiting) = state.withLock { state in
            let result = body(&state.value)
            defer { state.waiting = [:] }
            return (result, state.waiting)
        }
        for (_, continuation) in waiting.sorted(by: { $0.key < $1.key }) { continuation.resume() }
        return result
    }

    /// Returns after the next change, or at once if the condition holds or the task is cancelled.
    func waitForChange(
        unless condition: (Value) -> Bool,
        isolation: isolated (any Actor)?
    ) async {
        let number = state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
        await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: isolation) { continuation in
                    let isOver = state.withLock { state in
                        if condition(state.value) || Task.isCancelled { return true }
                        state.waiting[number] = continuation
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            },
            onCancel: {
                let cancelled = state.withLock { $0.waiting.removeValue(forKey: number) }
                cancelled?.resume()
            },
            isolation: isolation
        )
    }
}
