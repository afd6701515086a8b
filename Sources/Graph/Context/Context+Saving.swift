extension Context {
    /// Commits the changes; they are durable when it returns, unless the store has a lower ``Durability``. A nested context
    /// hands them to its parent instead. On a transaction's own context it does nothing, since the transaction saves at its
    /// end; after that it throws `.transactionEnded`.
    ///
    /// Changes made while the save runs stay pending. If the save fails, the store does not change and all changes are pending
    /// again. Saves of one context run one after another.
    ///
    /// - Parameters:
    ///   - mergePolicy: what to do about conflicts; nil for the context's policy.
    ///   - durability: what to wait for, if that is more than the store's level. It means nothing in a nested context, or if there
    ///     are no changes.
    /// - Throws: `.conflicts`, `.notUnique`, `.danglingReferences`, `.deleteDenied`, `.validationFailed`, `.notEncodable`,
    ///   `.cancelled` if the task was cancelled before the changes were handed over, or an error of the store's file. After
    ///   `.outcomeUnknown` the store takes no more saves.
    ///
    /// Swift 6.3 crashes on a `catch` that names one case of this error, uses a closure, and is the last of its `do`. Add a
    /// `catch` without a pattern that rethrows.
    ///
    /// Complexity: O(*d* log *n*) for *d* objects, references and links that the context changed or that its deletes lead to,
    /// among *n* objects, besides `willSave()` and `validate()` of the changed objects. If others have committed since the
    /// context read its state, also O(what they changed). With a file, also one write and one sync, which concurrent saves
    /// share.
    public func save(
        mergePolicy: MergePolicy? = nil,
        durability: Durability = .none,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async throws(GraphError) {
        guard !isTransaction else { return try requireOpen() }
        try await save(mergePolicy, origin(fileID, line), durability, isCancellable: true)
    }

    /// Commits the changes as `save()` does. If others have changed the same objects, takes over their changes and tries
    /// again.
    ///
    /// That helps where the two sides changed different properties, as two people do who edit one object. Where both changed
    /// one property, or one side deleted the object, the merge policy decides as it does without retries: under
    /// ``MergePolicy/error`` the save throws the conflicts, since the program has not seen the others' values yet.
    ///
    /// ```swift
    /// try await context.save(retries: 3)
    /// ```
    ///
    /// - Parameters:
    ///   - retries: how often to try again at most.
    ///   - mergePolicy: what to do about conflicts; nil for the context's policy.
    ///   - durability: what to wait for, if that is more than the store's level.
    /// - Throws: what `save()` throws; `.retriesExhausted` if others were faster each time. The context then shows what they
    ///   committed, with its own changes on top.
    ///
    /// Complexity: that of `save()` and `refresh()`, for each attempt.
    public func save(
        retries: Int,
        mergePolicy: MergePolicy? = nil,
        durability: Durability = .none,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async throws(GraphError) {
        guard !isTransaction else { return try requireOpen() }
        try await save(mergePolicy, origin(fileID, line), durability, isCancellable: true, retries: retries)
    }

    func save(
        _ policy: MergePolicy?,
        _ origin: ChangeOrigin,
        _ durability: Durability = .none,
        isCancellable: Bool,
        retries: Int = 0
    ) async throws(GraphError) {
        await beginSave()
        defer { endSave() }
        var attempts = 1
        while true {
            do throws(GraphError) {
                try await commitChanges(policy, origin, durability, isCancellable: isCancellable)
                return
            } catch {
                if case .commitInDoubt = error { state.doubtSave() }
                state.saveFailed()
                // The log may have had an earlier save of these changes all the time.
                if state.settleDoubts() { continue }
                let final = await refreshToRetry(after: error, attempts, retries)
                if let final {
                    if origin.isAutosave { state.autosaveError = final }
                    state.followers.send(.saveFailed(final))
                    throw final
                }
                attempts += 1
            }
        }
    }

    /// Takes over what others did, if another attempt may then succeed. Otherwise returns the error to throw.
    private func refreshToRetry(after error: GraphError, _ attempts: Int, _ retries: Int) async -> GraphError? {
        guard case .conflicts(let conflicts) = error, retries > 0 else { return error }
        let latest = await latest()
        let changed = Set(state.refreshConflicts(with: latest).map(\.id))
        // Between a context and its parent a refresh always counts as a look at what the parent has.
        let isResolved = parent == nil ? changed.isDisjoint(with: conflicts.map(\.id)) : changed.isEmpty
        guard isResolved, parent != nil || latest.snapshot.commit > state.base.commit else { return error }
        guard attempts <= retries else { return .retriesExhausted(attempts: attempts, conflicts) }
        _ = state.refresh(to: latest, keepingBases: parent == nil)
        return nil
    }

    func origin(_ fileID: StaticString, _ line: UInt) -> ChangeOrigin {
        ChangeOrigin(author: author, callSite: CallSite(fileID, line))
    }

    /// A save without its turn and without what follows from its failure.
    ///
    /// - Parameters:
    ///   - isCancellable: whether it fails if the task is cancelled before the changes are taken.
    ///   - uniqueness: what new rows with others' unique values do; nil if the schema decides.
    /// - Returns: nil if there was nothing to save.
    @discardableResult
    func commitChanges(
        _ policy: MergePolicy?,
        _ origin: ChangeOrigin,
        _ durability: Durability = .none,
        isCancellable: Bool = true,
        uniqueness: UniquenessPolicy? = nil
    ) async throws(GraphError) -> Outcome? {
        if isCancellable, Task.isCancelled { throw .cancelled }
        state.settleDoubts()
        guard let captured = state.capture(runningHooks: parent == nil) else {
            didSave()
            return nil
        }
        var request = self.request(captured, policy, origin)
        (request.durability, request.uniqueness) = (durability, uniqueness)
        if parent == nil, coordinator.hasLog {
            state.receipt = SaveReceipt()
            (request.receipt, request.doubts) = (state.receipt, state.doubts.map(\.receipt))
        }
        state.followers.send(.willSave(captured.difference))
        // What was asked for whether it has changes has none while they are on their way.
        state.tellChanges()
        let outcome: Outcome
        if let parent {
            outcome = try await parent.absorb(request)
        } else {
            outcome = try await coordinator.commit(request)
        }
        let before = state.followers.isEmpty ? nil : state.flushed
        state.doubts = []
        state.didSave(outcome)
        didSave()
        if let before {
            let nothing = SnapshotDifference(before: outcome.base.snapshot, after: outcome.base.snapshot)
            let handedOver = captured.difference
            let saved = outcome.commit?.change ?? (parent == nil ? nothing : handedOver)
            let shown = SnapshotDifference(before: before, after: state.flushed)
            state.followers.send(.didSave(ContextSave(saved: saved, commit: outcome.commit?.number, shown: shown)))
        }
        return outcome
    }

    private func didSave() {
        if state.autosaveError != nil { state.autosaveError = nil }
        state.restartAutosaveTimer()
    }

    private func request(_ state: WorkingState, _ policy: MergePolicy?, _ origin: ChangeOrigin) -> SaveRequest {
        policy?.requireRules(toFit: state.schema)
        return SaveRequest(
            state: state,
            policy: policy ?? mergePolicy,
            origin: origin,
            reads: parent == nil ? self.state.reads?.value : nil
        )
    }

    /// Tells what a save would do, without saving. Waits for a save in flight first.
    ///
    /// - Parameter mergePolicy: what to do about conflicts; nil for the context's policy.
    ///
    /// Complexity: that of `save()` without its write.
    public func dryRun(
        mergePolicy: MergePolicy? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async -> SavePreview {
        do { try requireOpen() } catch { return SavePreview(error: error) }
        await beginSave()
        defer { endSave() }
        let request = request(state.stateToSave(runningHooks: parent == nil), mergePolicy, origin(fileID, line))
        do throws(GraphError) {
            if let parent { return SavePreview(try await parent.preview(request)) }
            let commit = try await coordinator.preview(request)
            return SavePreview(commit.state, replacing: commit.replacements)
        } catch {
            return SavePreview(error: error)
        }
    }

    // MARK: Moving

    /// Drops all unsaved changes and reads the given state, once a save in flight has ended. In a transaction it returns to
    /// where the transaction began, as `rollback()` does, whatever the argument.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes among *n* objects; for the newest state also O(what others have
    /// committed since), if the context has objects of these entities in memory.
    public func rollback(to state: RollbackTarget) async {
        await beginSave()
        defer { endSave() }
        switch state {
        case .base: self.state.rollback(to: nil)
        case .latest: self.state.rollback(to: await latest())
        }
    }

    /// Reads the newest committed state, or the parent's state in a nested context, once a save in flight has ended. Puts the
    /// unsaved changes on top of it, property by property.
    ///
    /// This resolves conflicts: the next save compares with the new state. Only an object that others deleted stays deleted:
    /// fetches do not find it, and a save reports the changes made to it.
    ///
    /// A transaction of the coordinator reads one state from start to end, so a refresh does nothing in it. In a context's
    /// transaction that waits, a refresh takes over what has happened in the context around it; a rollback still returns to
    /// the transaction's start.
    ///
    /// - Returns: the objects that both sides changed, with their properties; also those that others changed and the next save
    ///   was to require unchanged. That save requires their new state instead.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes among *n* objects; also O(what others have committed since), if the
    /// context has objects of these entities in memory.
    @discardableResult
    public func refresh() async -> [RefreshConflict] {
        await beginSave()
        defer { endSave() }
        return state.refresh(to: await latest())
    }

    /// Drops all unsaved changes, reads the newest state, and forgets the undo history and every object that the program does
    /// not hold, retained ones included. Objects that it holds move to the new state. In a transaction that is the state in
    /// which it began.
    ///
    /// Complexity: that of `rollback(to: .latest)`, and O(objects in memory).
    public func reset() async {
        await beginSave()
        defer { endSave() }
        state.reset(to: await latest())
        registry.removeUnheld()
    }

    /// The newest state that this context could be based on.
    func latest() async -> ContextBase {
        if state.isBaseFixed { return ContextBase(snapshot: state.base) }
        guard let parent else { return ContextBase(snapshot: coordinator.snapshot) }
        return await parent.stateForChildren
    }

    // MARK: Nested contexts

    /// What a nested context starts from.
    var stateForChildren: ContextBase { state.stateForChildren }

    /// Takes a nested context's changes, as one group to undo.
    func absorb(_ request: SaveRequest) throws(GraphError) -> Outcome {
        try requireOpen()
        state.endUndoGroup()
        defer { state.endUndoGroup() }
        return try state.absorb(request)
    }

    fileprivate func preview(_ request: SaveRequest) throws(GraphError) -> WorkingState {
        try requireOpen()
        return try state.rebase(request).merged
    }
}

/// The state that `Context.rollback(to:)` returns to.
public enum RollbackTarget: Sendable {
    /// The state that the context has read.
    case base
    /// The newest committed state; for a nested context, the parent's state.
    case latest
}

/// What a save would do.
public struct SavePreview: Sendable {
    /// Why the save would fail; nil if it would succeed.
    public let error: GraphError?
    /// The objects that it would insert, entity by entity in the order of insertion. The other lists have the same order.
    public let inserted: [AnyPersistentID]
    /// The objects that it would change, including those that only lose a reference to a deleted object.
    public let updated: [AnyPersistentID]
    /// The objects that it would delete, including those that cascade.
    public let deleted: [AnyPersistentID]
    /// New objects that would give way to others because of a unique value, each with the object that stays.
    public let replaced: [AnyPersistentID: AnyPersistentID]

    init(error: GraphError) {
        (self.error, inserted, updated, deleted, replaced) = (error, [], [], [], [:])
    }

    init(_ state: WorkingState, replacing replacements: Replacements = [:]) {
        error = nil
        var rows: [ChangeKind: [AnyPersistentID]] = [:]
        for (entity, changes) in state.changes.entities {
            changes.forEachChange { row, kind, _ in
                rows[kind, default: []].append(state.schema.id(of: RowID(entity: entity, row: row)))
            }
        }
        (inserted, updated, deleted) = (rows[.inserted] ?? [], rows[.updated] ?? [], rows[.deleted] ?? [])
        var replaced: [AnyPersistentID: AnyPersistentID] = [:]
        for (entity, rows) in replacements {
            for (row, survivor) in rows {
                replaced[state.schema.id(of: RowID(entity: entity, row: row))] = state.schema.id(
                    of: RowID(entity: entity, row: survivor))
            }
        }
        self.replaced = replaced
    }
}
