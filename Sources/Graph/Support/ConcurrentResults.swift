import Dispatch

/// The results of calculations that do not depend on each other, several at once.
func concurrentResults<Result: Sendable>(_ count: Int, _ body: @Sendable (Int) -> Result) -> [Result] {
    [Result](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        // Each iteration writes one element, and all have ended before the elements are read.
        nonisolated(unsafe) let elements = buffer
        DispatchQueue.concurrentPerform(iterations: count) { elements.initializeElement(at: $0, to: body($0)) }
        initializedCount = count
    }
}
