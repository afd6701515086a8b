import Synchronization

/// Something that happened to a context.
public enum ContextEvent: Sendable {
    /// A save has taken the changes: from the state that the context had read to the one that it is saving.
    case willSave(SnapshotDifference)
    /// A save has succeeded.
    case didSave(ContextSave)
    /// A save has failed; its changes are pending as before.
    case saveFailed(GraphError)
    /// The context has taken over others' commits, or its parent's state.
    case didMerge(SnapshotDifference)
    /// Several events as one, for a reader that fell behind: from the state that the context had read before the first one, so
    /// that what it saved is in it, to what it shows after the last one.
    case missed(SnapshotDifference)
}

extension ContextEvent: CustomStringConvertible {
    /// What happened, with the commits: `didSave commit 4`.
    public var description: String {
        switch self {
        case .willSave(let change): "willSave on commit \(change.before.commit)"
        case .didSave(let save): "didSave \(save)"
        case .saveFailed(let error): "saveFailed: \(error)"
        case .didMerge(let change): "didMerge \(change)"
        case .missed(let change): "missed \(change)"
        }
    }
}

/// The result of a save.
public struct ContextSave: Sendable, CustomStringConvertible {
    /// What was saved: the store before and after the commit. In a nested context, its state before and after its changes, as
    /// it handed them to its parent.
    public let saved: SnapshotDifference
    /// The commit; nil in a nested context, and if the store already had everything, so that there was nothing to commit.
    public let commit: CommitNumber?
    /// The place of the commit in the store's history; nil without one.
    public var token: HistoryToken? { commit == nil ? nil : saved.after.token }
    /// What the context showed before and after the save. That includes others' commits, but not its own changes, which it
    /// already showed.
    public let shown: SnapshotDifference

    /// `commit 4`
    public var description: String { commit.map { "commit \($0)" } ?? "without a commit" }
}

/// The events of a context in order, from the time when the program asked for them. A reader that falls behind by more than 64
/// events gets one for all of them. The sequence ends when the coordinator is closed or the context is released; it does not
/// retain the context. Iterate it only once.
public struct ContextEvents: AsyncSequence, Sendable {
    fileprivate let buffer: EventBuffer

    /// Continues where the last iteration ended.
    ///
    /// Complexity: O(1).
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// Returns one event after another.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let buffer: EventBuffer

        /// The next event, once there is one; nil after the last one, or when the task is cancelled.
        ///
        /// Complexity: O(1), besides waiting.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ContextEvent? {
            await buffer.next(isolation: actor)
        }

        /// The same without an isolation.
        ///
        /// Complexity: O(1), besides waiting.
        public mutating func next() async -> ContextEvent? {
            await next(isolation: nil)
        }
    }
}

/// The events that one follower of a context has not fetched yet.
final class EventBuffer: Sendable {
    private struct State {
        var events: [(event: ContextEvent, base: Snapshot?)] = []
        var isFinished = false

        /// Makes all events one.
        mutating func join() {
            let starts = events.compactMap { $0.base ?? $0.event.before }
            guard let first = starts.first, let last = events.last(where: { $0.event.after != nil })?.event.after else {
                return events.removeFirst(events.count - 1)
            }
            events = [(.missed(SnapshotDifference(before: first, after: last)), nil)]
        }
    }

    private static let limit = 64

    private let state = Waitable(State())

    /// - Parameter base: what the context had read before, if the event does not say.
    func append(_ event: ContextEvent, since base: Snapshot?) {
        state.change { state in
            guard !state.isFinished else { return }
            state.events.append((event, base))
            if state.events.count > Self.limit { state.join() }
        }
    }

    func finish() {
        state.change { $0.isFinished = true }
    }

    func next(isolation: isolated (any Actor)?) async -> ContextEvent? {
        while true {
            let (event, isFinished) = state.withLock { state in
                (state.events.isEmpty ? nil : state.events.removeFirst().event, state.isFinished)
            }
            if let event { return event }
            if isFinished || Task.isCancelled { return nil }
            await state.waitForChange(unless: { !$0.events.isEmpty || $0.isFinished }, isolation: isolation)
        }
    }
}

extension ContextEvent {
    fileprivate var before: Snapshot? {
        switch self {
        case .willSave(let change), .didMerge(let change), .missed(let change): change.before
        case .didSave(let save): save.saved.before
        case .saveFailed: nil
        }
    }

    fileprivate var after: Snapshot? {
        switch self {
        case .willSave(let change), .didMerge(let change), .missed(let change): change.after
        case .didSave(let save): save.shown.after
        case .saveFailed: nil
        }
    }
}

/// Followers of a context: of its events, and of the commits that it takes over.
final class EventFollowers: Sendable {
    fileprivate struct State {
        var buffers = WeakReferences<WeakBuffer>()
        weak var feed: PublishedSnapshot?
        var results = WeakReferences<WeakTurnFollower>()
        var isAdded = false
        /// The number of tasks that may still take over commits.
        var mergerCount = 0
        var isClosed = false
        /// Whether no more events will come.
        var isFinished = false
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.buffers.all.isEmpty } }

    /// Notes that the coordinator knows of it. False if it did.
    func becomeAdded() -> Bool {
        state.withLock { state in
            defer { state.isAdded = true }
            return !state.isAdded
        }
    }

    func add() -> ContextEvents {
        let buffer = EventBuffer()
        let isFinished = state.withLock { state in
            state.buffers.append(WeakBuffer(object: buffer))
            return state.isFinished
        }
        if isFinished { buffer.finish() }
        return ContextEvents(buffer: buffer)
    }

    func finishAtEnd(of feed: PublishedSnapshot) {
        let isFinished = state.withLock { state in
            state.feed = feed
            return state.isFinished
        }
        if isFinished { feed.finish() }
    }

    /// Has a follower of turns learn of them.
    func add(_ follower: any TurnFollower) {
        let isFinished = state.withLock { state in
            state.results.append(WeakTurnFollower(object: follower))
            return state.isFinished
        }
        if isFinished { follower.finish() }
    }

    /// Whether anybody wants to know of turns.
    var hasTurnFollowers: Bool {
        state.withLock { $0.results.hasObjects }
    }

    func turnEnded(_ working: Snapshot, base: Snapshot) {
        let results = state.withLock { $0.results.objects }
        for follower in results { follower.turnEnded(working, base: base) }
    }

    /// Evaluates the event only if there are followers.
    ///
    /// - Parameter base: what the context had read before, if the event does not say.
    func send(_ event: @autoclosure () -> ContextEvent, since base: Snapshot? = nil) {
        let buffers = state.withLock { $0.buffers.objects }
        guard !buffers.isEmpty else { return }
        let event = event()
        for buffer in buffers { buffer.append(event, since: base) }
    }

    // MARK: The end

    /// Ends the events.
    func finish() {
        finish { _ in true }
    }

    /// Called when the coordinator closes. Tasks first take over the commits so far.
    func close() {
        finish { state in
            state.isClosed = true
            return state.mergerCount == 0
        }
    }

    func beginMerging() {
        state.withLock { $0.mergerCount += 1 }
    }

    func endMerging() {
        finish { state in
            state.mergerCount -= 1
            return state.isClosed && state.mergerCount == 0
        }
    }

    /// Ends the events if the closure returns true.
    private func finish(_ isOver: (inout State) -> Bool) {
        typealias All = ([EventBuffer], PublishedSnapshot?, [any TurnFollower])
        let (buffers, feed, results): All = state.withLock { state in
            guard isOver(&state) else { return ([], nil, []) }
            state.isFinished = true
            return (state.buffers.objects, state.feed, state.results.objects)
        }
        for buffer in buffers { buffer.finish() }
        feed?.finish()
        for follower in results { follower.finish() }
    }
}

private struct WeakBuffer: WeakReference {
    weak var object: EventBuffer?
}

private struct WeakTurnFollower: WeakReference {
    weak var object: (any TurnFollower)?
}

private protocol WeakReference {
    associatedtype Object
    var object: Object? { get }
}

/// References to objects that may be gone. Those are dropped whenever the list has doubled, so that adding one takes O(1), and when
/// half of what the list has turns out to be gone.
private struct WeakReferences<Reference: WeakReference> {
    private(set) var all: [Reference] = []
    private var limit = 8

    mutating func append(_ reference: Reference) {
        if all.count >= limit { dropGone() }
        all.append(reference)
    }

    /// Those that are there.
    var objects: [Reference.Object] {
        mutating get {
            let objects = all.compactMap(\.object)
            if objects.count <= all.count / 2 { dropGone() }
            return objects
        }
    }

    var hasObjects: Bool {
        mutating get {
            let hasObjects = all.contains { $0.object != nil }
            if !hasObjects { dropGone() }
            return hasObjects
        }
    }

    private mutating func dropGone() {
        all.removeAll { $0.object == nil }
        limit = max(8, 2 * all.count)
    }
}

/// The followers of a coordinator's contexts, which the coordinator ends when it closes.
final class FollowedContexts: Sendable {
    private struct Entry: WeakReference {
        weak var object: EventFollowers?
    }

    private let state = Mutex((entries: WeakReferences<Entry>(), isClosed: false))

    func add(_ followers: EventFollowers) {
        guard followers.becomeAdded() else { return }
        let isClosed = state.withLock { state in
            state.entries.append(Entry(object: followers))
            return state.isClosed
        }
        if isClosed { followers.close() }
    }

    func close() {
        let all = state.withLock { state in
            state.isClosed = true
            return state.entries.objects
        }
        for followers in all { followers.close() }
    }
}
