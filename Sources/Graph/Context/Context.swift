/// A working view of a store: it reads one committed state, and keeps its own changes until it saves them.
///
/// A context sees the state that it started from plus its own changes, and nothing else, until it saves, refreshes or rolls
/// back. Others' commits show only then, or with ``automaticallyMergesChanges``, and never in part.
///
/// A context is an actor, and its objects are not `Sendable`, so the compiler keeps them inside. Write your own operations as
/// extensions, or pass a closure to `perform` or `transaction`.
///
/// A write to an object reaches the context's state, with its index entries, when the context next needs that state as a
/// whole: for a fetch, for members, for a question about changes, for a save. The complexities stated here leave that out:
/// O(log *n*) for each object written, among *n* of its entity. They also leave out observation: a tracked context reports
/// each property that has changed.
///
/// ```swift
/// extension Context {
///     func rename(_ id: Team.ID, to name: String) async throws {
///         try object(for: id).name = name
///         try await save()
///     }
/// }
/// ```
public actor Context {
    /// The coordinator that this context reads from and saves to.
    public nonisolated let coordinator: Coordinator
    /// The context that this one reads from and saves to instead, if it is nested.
    public nonisolated let parent: Context?
    /// What a save does about conflicts, unless the call says otherwise.
    public nonisolated let mergePolicy: MergePolicy
    /// Who makes the changes: a name for conflicts, observers and the journal.
    public nonisolated let author: String?
    nonisolated let executor: ContextExecutor
    @usableFromInline let state: ContextState
    /// Referred to here alone; see `ObjectRegistry`.
    @usableFromInline let registry: ObjectRegistry
    /// Whether this is a transaction's own context: its changes go where the transaction ends, and nowhere else.
    let isTransaction: Bool
    /// For saves, and what must not come between.
    private var turns = TurnQueue()
    nonisolated let followers: EventFollowers
    /// Whether the transaction whose context this is has ended: what is changed here from then on goes nowhere.
    private(set) var hasEnded = false
    /// Takes over others' commits.
    var merging: Task<Void, Never>?
    var autosaveDelay: Duration?

    /// Creates a context on the newest committed state.
    ///
    /// - Parameters:
    ///   - mergePolicy: what a save does about conflicts, unless the call says otherwise.
    ///   - author: who makes the changes: a name for conflicts, observers and the journal.
    ///   - executor: where the context runs; nil for an executor of its own, as actors have.
    ///   - isObservable: whether `withObservationTracking`, and with it views, can track properties, members and fetches here.
    ///     Tracking makes each read and write slower. nil tracks on the main actor only.
    ///
    /// Complexity: O(1), whatever the size of the store.
    public init(
        _ coordinator: Coordinator,
        mergePolicy: MergePolicy = .error,
        author: String? = nil,
        executor: ContextExecutor? = nil,
        isObservable: Bool? = nil
    ) {
        self.init(
            coordinator,
            parent: nil,
            state: ContextBase(snapshot: coordinator.snapshot),
            mergePolicy,
            author,
            executor,
            isObservable: isObservable,
            isTransaction: false,
            reads: nil
        )
    }

    init(
        _ coordinator: Coordinator,
        _ mergePolicy: MergePolicy = .error,
        _ author: String? = nil,
        _ executor: ContextExecutor? = nil,
        isTransaction: Bool,
        reads: ReadLog?
    ) {
        self.init(
            coordinator,
            parent: nil,
            state: ContextBase(snapshot: coordinator.snapshot),
            mergePolicy,
            author,
            executor,
            isObservable: false,
            isTransaction: isTransaction,
            reads: reads
        )
    }

    /// Creates a context nested in another one: it starts from the parent's state, unsaved changes included, and saves into
    /// it.
    ///
    /// Its changes are durable once the outermost context has saved. Whatever the parent does meanwhile, a nested context
    /// keeps the state that it started from until it refreshes. A save compares rows, so two contexts nested in one parent
    /// overwrite each other's changes only if their merge policy says so.
    ///
    /// - Parameters:
    ///   - mergePolicy: nil for the parent's.
    ///   - author: nil for the parent's.
    ///   - executor: where the context runs; nil for an executor of its own.
    ///   - isObservable: whether observation can track what is read here; nil tracks on the main actor only.
    ///
    /// Complexity: O(1), whatever the size of the store and the number of the parent's changes.
    public init(
        parent: Context,
        mergePolicy: MergePolicy? = nil,
        author: String? = nil,
        executor: ContextExecutor? = nil,
        isObservable: Bool? = nil
    ) async {
        self.init(
            parent.coordinator,
            parent: parent,
            state: await parent.stateForChildren,
            mergePolicy ?? parent.mergePolicy,
            author ?? parent.author,
            executor,
            isObservable: isObservable,
            isTransaction: false,
            reads: await parent.reads
        )
    }

    private init(
        _ coordinator: Coordinator,
        parent: Context?,
        state start: ContextBase,
        _ mergePolicy: MergePolicy,
        _ author: String?,
        _ executor: ContextExecutor?,
        isObservable: Bool?,
        isTransaction: Bool,
        reads: ReadLog?
    ) {
        self.coordinator = coordinator
        self.parent = parent
        self.mergePolicy = mergePolicy
        self.author = author
        let executor = executor ?? .new()
        self.executor = executor
        self.isTransaction = isTransaction
        mergePolicy.requireRules(toFit: start.snapshot.schema)
        let registry = ObjectRegistry(schema: start.snapshot.schema)
        self.registry = registry
        let state = ContextState(
            start,
            counters: coordinator.counters,
            published: parent == nil ? coordinator.published : nil,
            registry: registry,
            executor: executor,
            isObservable: isObservable ?? executor.isMain,
            isTransaction: isTransaction,
            reads: reads
        )
        followers = state.followers
        self.state = state
        let reference = state.reference
        reference.context = self
    }

    private var reads: ReadLog? { state.reads }

    deinit {
        merging?.cancel()
        followers.finish()
    }

    /// A context for a transaction on this one.
    func transactionContext() -> Context {
        Context(
            coordinator,
            parent: self,
            state: stateForChildren,
            mergePolicy,
            author,
            executor,
            isObservable: false,
            isTransaction: true,
            reads: state.reads
        )
    }

    /// The executor on which the context runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.unowned }

    // MARK: Objects

    /// The object of an identifier whose entity is known only at run time, or nil if this context's state does not have it.
    ///
    /// Complexity: O(1) for an object that the context has in memory, otherwise O(log *n*) for *n* objects of the entity.
    public func object(for id: AnyPersistentID) -> (any AnyManagedObject)? {
        func find<E: Entity>(_ type: E.Type) -> (any AnyManagedObject)? {
            state.object(for: PersistentID<E>(row: id.row), in: registry)
        }
        return state.schema.index(named: id.entityName).flatMap { find(state.schema.entities[$0].type) }
    }

    /// The object if the program holds it or it has unsaved changes; otherwise nil, even if the store has it.
    ///
    /// Complexity: O(1).
    public func registeredObject<E>(for id: PersistentID<E>) -> ManagedObject<E>? {
        state.registeredObject(for: id)
    }

    /// Whether all objects stay in memory until `reset()`. If not, as by default, an object stays only while the program holds
    /// it or it has unsaved changes.
    public var retainsRegisteredObjects: Bool {
        get { registry.retainsAll }
        set { registry.retainsAll = newValue }
    }

    // MARK: Changes

    /// Whether the context has unsaved changes, or a save is in flight.
    ///
    /// The three lists below, and the objects' own properties, leave out the changes that a save in flight took: these count
    /// as saved unless the save fails.
    ///
    /// Complexity: O(1).
    public var hasChanges: Bool { state.isTrue(.hasChanges) }

    /// The objects inserted since the last save, entity by entity in the order of insertion.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes of any kind among *n* objects.
    public var insertedObjects: [any AnyManagedObject] { state.objects(.inserted) }

    /// The objects that differ from what the context read, in the same order. Inserted objects are not among them.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes of any kind among *n* objects.
    public var updatedObjects: [any AnyManagedObject] { state.objects(.updated) }

    /// The objects deleted since the last save, in the same order. Each keeps its last value.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes of any kind among *n* objects.
    public var deletedObjects: [any AnyManagedObject] { state.objects(.deleted) }

    /// Makes the next save fail, or ask its merge policy, if others have changed or deleted the object since this context read
    /// it, even if nothing changes it here. For changes that depend on the object.
    ///
    /// - Precondition: the object belongs to this context.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public nonisolated func require<E>(unchanged object: ManagedObject<E>) {
        object.requireContext(self)
        object.contextState.require(object.rowID)
    }

    /// Drops the unsaved changes of single objects: inserted ones disappear, updated ones return to what the context read, and
    /// deleted ones come back with everything that their delete removed. Use it to go on after these objects made a save fail.
    ///
    /// It cannot reach changes that a save in flight took. It ignores identifiers of other objects, and of objects without
    /// changes.
    ///
    /// Complexity: O((*k* + *d*) log *n*) for *k* objects, references and links that disappear, come back or need a check, and
    /// *d* unsaved changes, with everything that refers or is linked to a deleted object, among *n* objects.
    public func discard(_ ids: some Sequence<AnyPersistentID>) {
        state.discard(
            ids.compactMap { id in
                state.schema.index(named: id.entityName).map { RowID(entity: $0, row: id.row) }
            }
        )
    }

    /// Drops the unsaved changes of one object.
    ///
    /// - Precondition: the object belongs to this context.
    ///
    /// Complexity: that of ``discard(_:)-(Sequence<AnyPersistentID>)``.
    public nonisolated func discard<E>(_ object: ManagedObject<E>) {
        object.requireContext(self)
        object.discardChanges()
    }

    /// Drops all unsaved changes; the context goes on with the state that it had read. In a transaction it returns to where
    /// the transaction began, and keeps the changes made before that.
    ///
    /// It cannot reach changes that a save in flight took.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes among *n* objects.
    public func rollback() {
        state.rollback(to: nil)
        registry.endTurn()
    }

    // MARK: Turns

    /// Waits until no save is under way, and keeps others from beginning.
    func beginSave() async {
        if !turns.take() { await withCheckedContinuation { turns.wait($0) } }
    }

    func endSave() {
        state.refreshAfterSave()
        tidyUp()
        turns.pass()
    }

    /// What was changed before forms a group to undo.
    func beginTurn() {
        state.endUndoGroup()
        state.turnCount += 1
    }

    func endTurn() {
        state.turnCount -= 1
        tidyUp()
    }

    private func tidyUp() {
        state.endUndoGroup()
        state.forgetRestoredObjects(in: registry)
        registry.endTurn()
        state.tellCommits(from: coordinator.published)
        state.tellChanges()
        state.tellResults()
    }

    // MARK: Transactions

    /// Runs a transaction's closure. What comes after it is no part of the transaction.
    func runTransaction<Result>(
        _ body: @Sendable (isolated Context) async throws -> sending Result
    ) async throws -> sending Result {
        defer { hasEnded = true }
        state.transactionStarts = [state.savepoint()]
        return try await body(self)
    }

    /// Stops what would be lost: there is nothing any more that takes over changes made here.
    func requireOpen() throws(GraphError) {
        if hasEnded { throw .transactionEnded }
    }
}
