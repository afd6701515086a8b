/// A fair queue for turns: first come, first served. Part of an actor's state.
struct TurnQueue {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Returns true if the turn was free; otherwise the caller must wait, without suspending before that.
    mutating func take() -> Bool {
        defer { isTaken = true }
        return !isTaken
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) {
        waiting.append(continuation)
    }

    /// Hands the turn to the longest waiter; nobody can take it in between.
    mutating func pass() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
