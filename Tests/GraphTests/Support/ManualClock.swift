import Synchronization

@testable import Graph

/// A clock that goes on when a test says so.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct State {
        var now = Instant()
        var sleepCount = 0
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock(\.now) }
    var minimumResolution: Duration { .zero }

    /// How often somebody has gone to sleep, and how many are asleep.
    var sleepCount: Int { state.withLock(\.sleepCount) }
    var sleeperCount: Int { state.withLock(\.sleepers.count) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.sleepCount += 1
            return state.sleepCount
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (watchers, isOver) = state.withLock { state in
                    let isOver = Task.isCancelled || state.now >= deadline
                    if !isOver { state.sleepers[number] = (deadline, continuation) }
                    let watchers = state.watchers.filter { $0.count <= state.sleepCount }
                    state.watchers.removeAll { $0.count <= state.sleepCount }
                    return (watchers, isOver)
                }
                for watcher in watchers { watcher.continuation.resume() }
                guard isOver else { return }
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    continuation.resume()
                }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(
                throwing: CancellationError())
        }
    }

    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let woken = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in woken.keys { state.sleepers[number] = nil }
            return woken.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns when so many sleeps have begun since the clock was made.
    func waitForSleeps(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                // One that has counted itself and not yet lain down will look at the watchers.
                let isThere = state.sleepCount >= count && state.sleepers.count > 0
                if !isThere { state.watchers.append((count, continuation)) }
                return isThere
            }
            if isThere { continuation.resume() }
        }
    }
}
