/// Who has the turn, and who waits for it: first come, first served. Part of an actor's state; nobody is passed over.
struct TurnQueue {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// True if the turn was free; otherwise wait, with no suspension before that.
    mutating func take() -> Bool {
        defer { isTaken = true }
        return !isTaken
    }

    mutating func wait(_ continuation: CheckedContinuation<Void, Never>) {
        waiting.append(continuation)
    }

    /// Hands the turn to who has waited longest: nobody who comes in between can take it.
    mutating func pass() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}
