/// A place to work with objects: reads one committed state of the store, and keeps its own changes until they are saved.
///
/// A context sees the snapshot that it started from plus its own changes, and nothing else, until it saves, refreshes or
/// rolls back. What others commit meanwhile never shows half way, and never shows by itself unless it is asked to.
///
/// A context is an actor, and its objects are not `Sendable`: that they stay inside is what the compiler checks. Write
/// operations of your own as extensions, or pass a closure to `perform` or `transaction`.
///
/// What is written to an object goes into the context's state, with its index entries, when the context next looks at that as a
/// whole: in a fetch, a look at members, a question about changes, a save. The complexities that are given here leave that out:
/// O(log *n*) for each object written, among *n* of its entity. They leave out observation, too: a context that is tracked tells of
/// each property that has become another one.
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
    /// What saves do about conflicts, unless they are told otherwise.
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

    /// A context on the newest durable state.
    ///
    /// - Parameters:
    ///   - mergePolicy: what saves do about conflicts, unless they are told otherwise.
    ///   - author: who makes the changes: a name for conflicts, observers and the journal.
    ///   - executor: where the context runs; nil gives it a place of its own, as actors have.
    ///   - isObservable: whether `withObservationTracking`, and with it views, can track what is read here: properties, members,
    ///     and what fetches look at. That makes each read and write slower. nil: on the main actor.
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

    /// A context nested in another one: it starts from what the other one has, unsaved changes included, and saves into it.
    ///
    /// What is saved is durable once the outermost context has saved. Whatever the other one does meanwhile, this one goes on
    /// with the state that it started from until it refreshes; a save compares rows, so that two contexts nested in one do not
    /// overwrite each other's changes unless their merge policy says so.
    ///
    /// - Parameters:
    ///   - mergePolicy: the parent's, if nil.
    ///   - author: the parent's, if nil.
    ///   - executor: where the context runs; nil gives it a place of its own.
    ///   - isObservable: whether what is read here can be tracked; nil: on the main actor.
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

    /// Where the context runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.unowned }

    // MARK: Objects

    /// The object of an identifier whose entity is known only at run time, or nil if this context's state does not have it.
    ///
    /// Complexity: O(1) for an object that the context has in memory, otherwise O(log *n*) for *n* objects of the
    /// entity.
    public func object(for id: AnyPersistentID) -> (any AnyManagedObject)? {
        func find<E: Entity>(_ type: E.Type) -> (any AnyManagedObject)? {
            state.object(for: PersistentID<E>(row: id.row), in: registry)
        }
        return state.schema.index(named: id.entityName).flatMap { find(state.schema.entities[$0].type) }
    }

    /// The object if somebody holds it or it has unsaved changes; nil otherwise, even if the store has it.
    ///
    /// Complexity: O(1).
    public func registeredObject<E>(for id: PersistentID<E>) -> ManagedObject<E>? {
        state.registeredObject(for: id)
    }

    /// Whether every object that was ever made stays in memory until `reset()`, instead of as long as somebody holds it or
    /// it has unsaved changes. Off at first.
    public var retainsRegisteredObjects: Bool {
        get { registry.retainsAll }
        set { registry.retainsAll = newValue }
    }

    // MARK: Changes

    /// Whether there is anything to save, or being saved.
    ///
    /// The three lists below, and what objects say of themselves, leave out what a save in flight took with it: it counts as
    /// saved, until the save fails.
    ///
    /// Complexity: O(1).
    public var hasChanges: Bool { state.isTrue(.hasChanges) }

    /// The objects inserted since the last save, entity by entity in the order of insertion.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes of any kind among *n* objects.
    public var insertedObjects: [any AnyManagedObject] { state.objects(.inserted) }

    /// The objects that differ from what the context read, inserted ones left out.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes of any kind among *n* objects.
    public var updatedObjects: [any AnyManagedObject] { state.objects(.updated) }

    /// The objects deleted since the last save; they keep their last values.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes of any kind among *n* objects.
    public var deletedObjects: [any AnyManagedObject] { state.objects(.deleted) }

    /// Has the next save fail, or its merge policy asked, if others have changed or deleted the object since this context read
    /// it, although nothing of it is changed here: for changes that follow from it.
    ///
    /// - Precondition: the object belongs to this context.
    ///
    /// Complexity: O(log *n*) for *n* objects of the entity.
    public nonisolated func require<E>(unchanged object: ManagedObject<E>) {
        object.requireContext(self)
        object.contextState.require(object.rowID)
    }

    /// Drops the unsaved changes of single objects: inserted ones go, updated ones are as the context read them, and deleted ones
    /// come back with all that their delete took along. The way on after a save failed because of them.
    ///
    /// Changes that a save in flight took with it are out of reach. Identifiers of other objects, and of objects without changes,
    /// are passed over.
    ///
    /// Complexity: O((*k* + *d*) log *n*) for *k* objects, references and links that go, come back or are looked at on
    /// the way, and *d* objects that are deleted and not saved, with what refers or is linked to them.
    public func discard(_ ids: some Sequence<AnyPersistentID>) {
        state.discard(
            ids.compactMap { id in
                state.schema.index(named: id.entityName).map { RowID(entity: $0, row: id.row) }
            }
        )
    }

    /// The same for one object.
    ///
    /// - Precondition: the object belongs to this context.
    ///
    /// Complexity: as for several.
    public nonisolated func discard<E>(_ object: ManagedObject<E>) {
        object.requireContext(self)
        object.discardChanges()
    }

    /// Drops all unsaved changes. The context goes on with the state that it had read. In a transaction it goes back to where the
    /// transaction began, with the changes from before it.
    ///
    /// Changes that a save in flight took with it are out of reach.
    ///
    /// Complexity: O(*d* log *n*) for *d* unsaved changes.
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
