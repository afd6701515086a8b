import Synchronization

/// How far a transaction is isolated from others.
public enum IsolationLevel: Sendable {
    /// The transaction reads one state. If two transactions change one object, the first one to commit wins. Two transactions
    /// that each read what the other one changes may both commit (write skew).
    case snapshot
    /// Committing also checks what the transaction read: rows, found or not, members of relationships, the ranges of values that
    /// it looked up or that an index found for its predicates, and every object of an entity that it searched in another way. Such
    /// transactions have the same effect as if they ran one after another.
    case serializable
}

extension Coordinator {
    /// Runs a closure on a fresh context and commits its changes. On conflict it runs the closure again, on the newest committed
    /// state.
    ///
    /// So the closure may run several times. If it throws, nothing is saved and the transaction throws the same error.
    /// `save()` does nothing in the closure: the transaction is one commit.
    ///
    /// - Parameters:
    ///   - isolation: how far the transaction is isolated from others. That leaves out reads of `coordinator.snapshot`, and
    ///     what `dryRun()` says about others' changes.
    ///   - retries: how often to run the closure again at most. Transactions that retry take turns, so that each one meets few
    ///     others. A turn that takes long ends early, since the closure may wait for other tasks and their transactions.
    ///   - mergePolicy: how to resolve conflicts instead, at the level `.snapshot`.
    ///   - author: who makes the changes: a name for conflicts, observers and the journal.
    ///   - durability: what to wait for, if that is more than the store's level.
    /// - Throws: what the closure throws; `.retriesExhausted` with the last conflicts; what `Context.save()` throws for
    ///   reasons other than others' changes, including `.cancelled`.
    ///
    /// Complexity: for each attempt, that of the closure and of ``Context/save(mergePolicy:durability:fileID:line:)``. A serializable
    /// transaction also compares what it read: O(*r* log *n*) for *r* objects and members among *n*, and O(what others have
    /// changed since) for each entity that it searched.
    @discardableResult
    public nonisolated func transaction<Result: Sendable>(
        isolation: IsolationLevel = .snapshot,
        retries: Int = 32,
        mergePolicy: MergePolicy = .error,
        author: String? = nil,
        durability: Durability = .none,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (isolated Context) async throws -> Result
    ) async throws -> Result {
        let origin = ChangeOrigin(author: author, callSite: CallSite(fileID, line))
        func attempt() async throws -> Attempt<Result> {
            try await self.attempt(isolation, mergePolicy, origin, durability, body)
        }
        let error: GraphError
        switch try await attempt() {
        case .succeeded(let result): return result
        case .failed(let first): error = first
        }
        // A transaction that another one makes in its own task would only wait for that one.
        if Self.turn?.isOver == false || retries <= 0 { return try await retry(retries, after: error, nil, attempt) }
        return try await withRetryTurn { ticket in try await retry(retries, after: error, ticket, attempt) }
    }

    /// Runs the closure once and commits.
    private nonisolated func attempt<Result: Sendable>(
        _ isolation: IsolationLevel,
        _ mergePolicy: MergePolicy,
        _ origin: ChangeOrigin,
        _ durability: Durability,
        _ body: @Sendable (isolated Context) async throws -> Result
    ) async throws -> Attempt<Result> {
        let context = Context(
            self,
            isolation == .serializable ? .error : mergePolicy,
            origin.author,
            isTransaction: true,
            reads: isolation == .serializable ? ReadLog() : nil
        )
        let result = try await context.runTransaction { try await body($0) }
        do throws(GraphError) {
            try await context.save(nil, origin, durability, isCancellable: true)
        } catch {
            let base = await context.baseCommit
            guard error.isRetriable(isOutdated: snapshot.commit > base) else { throw error }
            return .failed(error)
        }
        return .succeeded(result)
    }

    private nonisolated func retry<Result: Sendable>(
        _ retries: Int,
        after first: GraphError,
        _ ticket: RetryLine.Ticket?,
        _ attempt: () async throws -> Attempt<Result>
    ) async throws -> Result {
        var error = first
        for _ in 0..<max(retries, 0) {
            if let ticket { await beginRetry(ticket) }
            if Task.isCancelled { throw GraphError.cancelled }
            switch try await attempt() {
            case .succeeded(let result): return result
            case .failed(let next): error = next
            }
        }
        throw error.afterAttempts(max(retries, 0) + 1)
    }

    /// Runs the closure with a place in the line of transactions that try again.
    private nonisolated func withRetryTurn<Result: Sendable>(
        _ body: (RetryLine.Ticket) async throws -> Result
    ) async throws -> Result {
        let ticket = await retryTicket()
        let turn = RetryingTransaction()
        defer { turn.end() }
        do {
            let result = try await Self.$turn.withValue(turn) { try await body(ticket) }
            await endRetry(ticket)
            return result
        } catch {
            await endRetry(ticket)
            throw error
        }
    }

    /// The transaction that tries again and began this task, or the task that this one inherits from, with this coordinator or
    /// another one.
    @TaskLocal private static var turn: RetryingTransaction?
}

/// Whether a transaction that tries again still does. A task that it began keeps the task's values when it outlasts it.
private final class RetryingTransaction: Sendable {
    private let state = Atomic(false)

    var isOver: Bool { state.load(ordering: .acquiring) }

    func end() { state.store(true, ordering: .releasing) }
}

private enum Attempt<Value: Sendable>: Sendable {
    case succeeded(Value)
    case failed(GraphError)
}

extension GraphError {
    /// Whether another attempt on the newest state may succeed.
    ///
    /// - Parameter isOutdated: whether others have committed since the attempt began: what is refused then need not be refused
    ///   when the transaction can see why.
    fileprivate func isRetriable(isOutdated: Bool) -> Bool {
        switch self {
        case .conflicts: true
        case .notUnique, .danglingReferences, .deleteDenied, .validationFailed: isOutdated
        default: false
        }
    }

    fileprivate func afterAttempts(_ count: Int) -> GraphError {
        guard case .conflicts(let conflicts) = self else { return self }
        return .retriesExhausted(attempts: count, conflicts)
    }
}

extension Context {
    fileprivate var baseCommit: CommitNumber { state.base.commit }
}
