/// The updates of a live result, one after another.
///
/// An update is made when it is asked for: from the result that was seen last to the newest one. So a slow reader gets one update
/// for all that happened meanwhile, nothing waits for it, and nothing is computed for a reader that does not ask. Each iteration
/// stands for itself.
///
/// That of a coordinator begins with an update from nothing to the current result, and goes on with the commits; it ends when the
/// coordinator is closed or released. That of a context begins with what has changed since the sequence was made, at the end of
/// a turn of the context; it ends with the context, too.
public struct ResultUpdates<E: Entity>: AsyncSequence, Sendable {
    let source: ResultSource<E>
    private let start: ResultRows<E>?
    private let startDefinition: UInt64?

    /// - Parameters:
    ///   - start: the result before the first update; nil for none.
    ///   - isOfEarlierDefinition: whether another definition than the one that the source has now found it.
    init(_ source: ResultSource<E>, from start: ResultRows<E>?, isOfEarlierDefinition: Bool = false) {
        (self.source, self.start) = (source, start)
        startDefinition = start.map { _ in isOfEarlierDefinition ? 0 : source.newest.definitionNumber }
    }

    /// Begins as the sequence does.
    public func makeAsyncIterator() -> Iterator { Iterator(source: source, rows: start, definition: startDefinition) }

    /// Goes from update to update.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: ResultSource<E>
        fileprivate var rows: ResultRows<E>?
        fileprivate var test: ResultTest<E>?
        fileprivate var definition: UInt64?
        fileprivate var seen: UInt64?
        fileprivate var isOver = false

        fileprivate init(source: ResultSource<E>, rows: ResultRows<E>?, definition: UInt64?) {
            (self.source, self.rows, self.definition) = (source, rows, definition)
        }

        /// The next update, once there is one; nil if there will be none, or when the task is cancelled.
        ///
        /// - Throws: what a fetch throws; the sequence is then over.
        ///
        /// Complexity: O(*k* log *n*), besides waiting, for *k* objects that commits have changed, among *n* of the result;
        /// objects that the result neither had nor has take O(1). If rows have changed on which the predicate or the sort
        /// depends through a relationship, that of a fetch.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ResultUpdate<E>? {
            while !isOver, !Task.isCancelled {
                if let seen {
                    guard await source.waitForChange(after: seen, isolation: actor) else { break }
                }
                if let update = try newestUpdate() { return update }
            }
            return nil
        }

        /// The same from no particular isolation.
        public mutating func next() async throws -> ResultUpdate<E>? { try await next(isolation: nil) }

        /// The update to what there is now; nil if that is the same result.
        mutating func newestUpdate() throws -> ResultUpdate<E>? {
            let state = source.newest
            seen = state.number
            do { return try update(to: state) } catch {
                isOver = true
                throw error
            }
        }

        private mutating func update(to state: ResultState<E>) throws -> ResultUpdate<E>? {
            let isOther = (definition ?? state.definitionNumber) != state.definitionNumber
            definition = state.definitionNumber
            if test == nil || isOther {
                test = try ResultTest(state.definition, in: state.snapshot)
            }
            guard var rows, let test else {
                let rows = try ResultRows(state.definition, in: state.snapshot)
                self.rows = rows
                return ResultUpdate(changes: ResultChanges(all: rows), rows: rows)
            }
            self.rows = nil
            defer { self.rows = rows }
            let changes =
                isOther
                ? try rows.change(to: state.definition, in: state.snapshot) : try rows.move(to: state.snapshot, test)
            return changes.isEmpty ? nil : ResultUpdate(changes: changes, rows: rows)
        }
    }
}

/// What a follower of a result is to see.
struct ResultState<E: Entity>: Sendable {
    let definition: ResultDefinition<E>
    /// Another one when the definition is another one; never 0.
    let definitionNumber: UInt64
    let snapshot: Snapshot
    /// Greater than that of the state before.
    let number: UInt64
}

/// Where the states of a result come from.
enum ResultSource<E: Entity>: Sendable {
    case commits(PublishedSnapshot, ResultDefinition<E>)
    case turns(ResultFeed<E>)

    var newest: ResultState<E> {
        switch self {
        case .commits(let published, let definition):
            let snapshot = published.value
            return ResultState(
                definition: definition, definitionNumber: 1, snapshot: snapshot, number: snapshot.commit.number)
        case .turns(let feed): return feed.newest
        }
    }

    /// False if there will be none, or if the task is cancelled.
    func waitForChange(after number: UInt64, isolation: isolated (any Actor)?) async -> Bool {
        switch self {
        case .commits(let published, _):
            await published.waitForCommit(after: CommitNumber(number), isolation: isolation)
        case .turns(let feed): await feed.waitForState(after: number, isolation: isolation)
        }
    }
}

/// The states of a context's result at the ends of turns. It knows the newest one alone.
final class ResultFeed<E: Entity>: TurnFollower {
    private struct Value {
        var state: ResultState<E>
        /// At the end of the last turn.
        var (working, base): (Snapshot, Snapshot)
        var isFinished = false

        /// What a definition is about.
        func snapshot(_ definition: ResultDefinition<E>) -> Snapshot {
            definition.descriptor.includesPendingChanges ? working : base
        }
    }

    private let value: Waitable<Value>

    init(_ definition: ResultDefinition<E>, _ working: Snapshot, base: Snapshot) {
        let snapshot = definition.descriptor.includesPendingChanges ? working : base
        let state = ResultState(definition: definition, definitionNumber: 1, snapshot: snapshot, number: 0)
        value = Waitable(Value(state: state, working: working, base: base))
    }

    var newest: ResultState<E> { value.withLock { $0.state } }

    func define(_ definition: ResultDefinition<E>) {
        value.change { value in
            value.state = ResultState(
                definition: definition, definitionNumber: value.state.definitionNumber + 1,
                snapshot: value.snapshot(definition), number: value.state.number + 1)
        }
    }

    func turnEnded(_ working: Snapshot, base: Snapshot) {
        let isChanged = value.withLock { value in
            (value.working, value.base) = (working, base)
            return !value.snapshot(value.state.definition).isIdentical(to: value.state.snapshot)
        }
        guard isChanged else { return }
        value.change { value in
            value.state = ResultState(
                definition: value.state.definition, definitionNumber: value.state.definitionNumber,
                snapshot: value.snapshot(value.state.definition), number: value.state.number + 1)
        }
    }

    func finish() { value.change { $0.isFinished = true } }

    func waitForState(after number: UInt64, isolation: isolated (any Actor)?) async -> Bool {
        await value.waitForChange(unless: { $0.state.number > number || $0.isFinished }, isolation: isolation)
        return value.withLock { $0.state.number > number } && !Task.isCancelled
    }
}

/// Learns of the states that a context shows at the ends of its turns, and when there are no more.
protocol TurnFollower: AnyObject, Sendable {
    func turnEnded(_ working: Snapshot, base: Snapshot)
    func finish()
}
