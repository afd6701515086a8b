import Synchronization

/// Something that happened to a context.
public enum ContextEvent: Sendable {
    /// A save has taken the changes: from the state that the context had read to the one that it wants to be saved.
    case willSave(StateChange)
    /// A save has succeeded: from the state that the context showed to the one that it shows now, others' commits included.
    case didSave(StateChange)
    /// A save has failed; its changes are pending as before.
    case saveFailed(GraphError)
    /// The context has taken over what others committed, or what its parent has.
    case didMerge(StateChange)
    /// Several of these, for one who came late: from the first one's state before to the last one's state after.
    case missed(StateChange)
}

/// What happens to a context, from the time on at which it was asked for, in order. Whoever falls behind by more than 64 events
/// gets one for all of them. The sequence ends with the context, and holds it no longer than others do. One iteration only.
public struct ContextEvents: AsyncSequence, Sendable {
    fileprivate let buffer: EventBuffer

    /// Goes on where the last iteration ended.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// Goes from event to event.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let buffer: EventBuffer

        /// The next event, once there is one; nil if there will be none, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ContextEvent? {
            await buffer.next(isolation: actor)
        }

        /// The same from no particular isolation.
        public mutating func next() async -> ContextEvent? {
            await next(isolation: nil)
        }
    }
}

/// The events that one follower of a context has not fetched yet.
final class EventBuffer: Sendable {
    private struct State {
        var events: [ContextEvent] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isFinished = false
    }

    private static let limit = 64

    private let state = Mutex(State())

    func append(_ event: ContextEvent) {
        wake { state in
            state.events.append(event)
            if state.events.count > Self.limit { state.events = [state.events.joined].compactMap { $0 } }
        }
    }

    func finish() {
        wake { $0.isFinished = true }
    }

    func next(isolation: isolated (any Actor)?) async -> ContextEvent? {
        while true {
            let (event, isFinished) = state.withLock { state in
                (state.events.isEmpty ? nil : state.events.removeFirst(), state.isFinished)
            }
            if let event { return event }
            if isFinished || Task.isCancelled { return nil }
            await withTaskCancellationHandler(
                operation: {
                    await withCheckedContinuation(isolation: isolation) { continuation in
                        let isOver = state.withLock { state in
                            if !state.events.isEmpty || state.isFinished || Task.isCancelled { return true }
                            state.waiting.append(continuation)
                            return false
                        }
                        if isOver { continuation.resume() }
                    }
                },
                // Others that wait look again, too.
                onCancel: { wake { _ in } },
                isolation: isolation
            )
        }
    }

    /// Has all that wait look again, after a change.
    private func wake(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

extension [ContextEvent] {
    /// All of them as one; nil if there is nothing that changed.
    fileprivate var joined: ContextEvent? {
        let changes = compactMap { event in
            switch event {
            case .didSave(let change), .didMerge(let change), .missed(let change): change
            case .willSave, .saveFailed: nil
            }
        }
        guard let first = changes.first, let last = changes.last else { return last }
        return .missed(StateChange(before: first.before, after: last.after))
    }
}

/// Who follows a context's events. Followers are let go of when they are gone.
final class EventFollowers: Sendable {
    private struct Follower {
        weak var buffer: EventBuffer?
    }

    private let followers = Mutex<[Follower]>([])

    var isEmpty: Bool { followers.withLock { $0.isEmpty } }

    func add() -> ContextEvents {
        let buffer = EventBuffer()
        followers.withLock { followers in
            followers.removeAll { $0.buffer == nil }
            followers.append(Follower(buffer: buffer))
        }
        return ContextEvents(buffer: buffer)
    }

    /// What to send is made only if somebody follows.
    func send(_ event: @autoclosure () -> ContextEvent) {
        let buffers = current
        guard !buffers.isEmpty else { return }
        let event = event()
        for buffer in buffers { buffer.append(event) }
    }

    func finish() {
        for buffer in current { buffer.finish() }
    }

    private var current: [EventBuffer] {
        followers.withLock { followers in
            followers.removeAll { $0.buffer == nil }
            return followers.compactMap(\.buffer)
        }
    }
}
