extension Context {
    /// Runs a closure on this context and returns its result.
    ///
    /// Complexity: that of the closure, and O(*k*) for *k* objects that it brought into memory.
    @discardableResult
    public func perform<Result>(_ body: @Sendable (isolated Context) throws -> Result) async rethrows -> Result {
        try inTurn(body)
    }

    /// Runs a closure on this context and returns its result. Other work may run on the context while the closure waits.
    ///
    /// Complexity: that of the closure, and O(*k*) for *k* objects that it brought into memory.
    @_disfavoredOverload @discardableResult
    public func perform<Result>(
        _ body: @Sendable (isolated Context) async throws -> Result
    ) async rethrows -> Result {
        beginTurn()
        defer { endTurn() }
        return try await body(self)
    }

    /// Runs a closure on this context and saves, earlier unsaved changes included.
    ///
    /// If the closure throws or the save fails, the context undoes what the closure did; earlier changes stay. In another
    /// transaction this is a savepoint: nothing is saved before that transaction ends.
    ///
    /// - Parameter mergePolicy: what to do about conflicts; nil for the context's policy.
    /// - Throws: what the closure throws, and what `save()` throws.
    ///
    /// Complexity: that of the closure and `save()`; O(*d* log *n*) to undo *d* changes of the closure among *n* objects.
    @discardableResult
    public func transaction<Result>(
        mergePolicy: MergePolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (isolated Context) throws -> Result
    ) async throws -> Result {
        try await saving(mergePolicy, fileID, line) { try body(self) }
    }

    /// Runs a closure that may wait, on a nested context of its own, takes over its changes, and saves, earlier unsaved
    /// changes included.
    ///
    /// Work that runs on this context while the closure waits is not part of the transaction. If the closure throws, its
    /// changes are dropped. Where both changed the same object, the merge policy decides, as between any nested context and
    /// its parent.
    ///
    /// - Parameter mergePolicy: what to do about conflicts; nil for the context's policy.
    /// - Throws: what the closure throws, and what `save()` throws.
    ///
    /// Complexity: that of the closure and `save()`, and O(*d* log *n*) to take over *d* changes of the closure among *n*
    /// objects.
    @_disfavoredOverload @discardableResult
    public func transaction<Result>(
        mergePolicy: MergePolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @Sendable (isolated Context) async throws -> sending Result
    ) async throws -> sending Result {
        try requireOpen()
        let nested = transactionContext()
        let result = try await nested.runTransaction(body)
        // The one way out that Swift 6.3 leaves open: it loses track of what a closure converts to `Any`.
        if Result.self == Any.self {
            precondition(
                !(result is any AnyManagedObject), "an object cannot leave its context: return its 'id' or its 'value'")
        }
        let changes = await nested.changesOfTransaction(mergePolicy, origin(fileID, line))
        try await saving(mergePolicy, fileID, line) { _ = try absorb(changes) }
        return result
    }

    // MARK: From code on the same executor

    /// Runs a closure that may use objects which the caller holds, and saves, earlier unsaved changes included. Otherwise the
    /// same as `transaction`: if the closure throws or the save fails, the context undoes what the closure did; earlier
    /// changes stay.
    ///
    /// ```swift
    /// @MainActor func rename(_ item: Item.Object, to title: String) async throws {
    ///     try await context.atomically {
    ///         item.title = title
    ///         item.list?.isSorted = false
    ///     }
    /// }
    /// ```
    ///
    /// For code that runs where the context does: an extension of `Context`, a ``ContextActor``, or the main actor's code for
    /// a context made with `executor: .main`. The closure cannot wait. Only this context's objects are undone, not other
    /// contexts' or anything else that the closure changed.
    ///
    /// - Parameters:
    ///   - isolation: the caller's actor, which the compiler fills in.
    ///   - mergePolicy: what to do about conflicts; nil for the context's policy.
    /// - Throws: what the closure throws, and what `save()` throws.
    /// - Precondition: the caller runs on the context's executor.
    ///
    /// Complexity: that of the closure and `save()`; O(*d* log *n*) to undo *d* changes of the closure among *n* objects.
    @discardableResult
    public func atomically<Result>(
        isolation: isolated any Actor = #isolation,
        mergePolicy: MergePolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: () throws -> Result
    ) async throws -> Result {
        isolation.preconditionIsolated("call Context.atomically on the actor that it gets as 'isolation'")
        executor.requireCurrent("call Context.atomically where the context runs; elsewhere use 'transaction'")
        return try await withoutActuallyEscaping(body) { body in
            _ = isolation
            // Sound, because the executor has just said that it is the one running: it runs the closure, and nothing else does
            // meanwhile. What it returns goes back to where it comes from.
            let body = unsafeBitCast(body, to: (@Sendable () throws -> Result).self)
            return try await saving(mergePolicy, fileID, line) { SameExecutor(value: try body()) }
        }.value
    }

    /// Runs a closure on this context at once and returns its result, which may be objects. For code that runs where the
    /// context does, on the main actor or on a ``ContextActor``.
    ///
    /// The closure can take values and identifiers from outside, but no objects: the caller uses its objects directly.
    ///
    /// - Parameters:
    ///   - isolation: the caller's actor, which the compiler fills in.
    /// - Precondition: the caller runs on the context's executor.
    ///
    /// Complexity: that of the closure, and O(*k*) for *k* objects that it brought into memory.
    @discardableResult
    public func sync<Result>(
        isolation: isolated any Actor = #isolation,
        _ body: @Sendable (isolated Context) throws -> Result
    ) rethrows -> Result {
        isolation.preconditionIsolated("call Context.sync on the actor that it gets as 'isolation'")
        executor.requireCurrent("call Context.sync where the context runs; elsewhere use 'perform'")
        // Sound, because the executor has just said that it is the one running: what `assumeIsolated` does, for results that
        // stay where they are.
        return try withoutActuallyEscaping(body) { body in
            let turn: @Sendable (isolated Context) throws -> Result = { try $0.inTurn(body) }
            return try unsafeBitCast(turn, to: (@Sendable (Context) throws -> Result).self)(self)
        }
    }

    func inTurn<Result>(_ body: @Sendable (isolated Context) throws -> Result) rethrows -> Result {
        beginTurn()
        defer { endTurn() }
        return try body(self)
    }

    // MARK: -

    func saving<Result>(
        _ mergePolicy: MergePolicy?,
        _ fileID: StaticString,
        _ line: UInt,
        _ body: () throws -> Result
    ) async throws -> Result {
        if isTransaction {
            try requireOpen()
            return try undoingFailure(body)
        }
        await beginSave()
        defer { endSave() }
        let savepoint = state.savepoint()
        let result = try undoingFailure(body)
        do {
            try await commitChanges(mergePolicy, origin(fileID, line))
        } catch {
            state.saveFailed(restoring: savepoint)
            state.followers.send(.saveFailed(error))
            throw error
        }
        return result
    }

    private func undoingFailure<Result>(_ body: () throws -> Result) throws -> Result {
        let savepoint = state.savepoint()
        state.transactionStarts.append(savepoint)
        defer { state.transactionStarts.removeLast() }
        do {
            return try body()
        } catch {
            state.restore(savepoint)
            throw error
        }
    }

    /// What a transaction's context hands to the one that it is nested in.
    private func changesOfTransaction(_ mergePolicy: MergePolicy?, _ origin: ChangeOrigin) -> SaveRequest {
        SaveRequest(state: state.savepoint().working, policy: mergePolicy ?? self.mergePolicy, origin: origin)
    }
}

/// What is handed to code of another actor that runs on the same executor, and stays there.
private struct SameExecutor<Value>: @unchecked Sendable {
    let value: Value
}
