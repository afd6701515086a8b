/// A place to work with objects: reads one committed state of the store, and keeps its own changes until they are saved.
///
/// A context sees the snapshot that it started from plus its own changes, and nothing else, until it saves, refreshes or
/// rolls back. What others commit meanwhile never shows half way, and never shows by itself.
///
/// A context is an actor, and its objects are not `Sendable`: that they stay inside is what the compiler checks. Write
/// operations of your own as extensions, or pass a closure to `perform` or `transaction`.
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
    @usableFromInline let state: ContextState
    /// Referred to here alone; see `ObjectRegistry`.
    private let registry: ObjectRegistry
    private var isSaving = false
    private var waitingForSave: [CheckedContinuation<Void, Never>] = []

    /// A context on the newest durable state.
    public init(_ coordinator: Coordinator) {
        self.coordinator = coordinator
        let snapshot = coordinator.snapshot
        let registry = ObjectRegistry(schema: snapshot.schema)
        self.registry = registry
        state = ContextState(base: snapshot, counters: coordinator.counters, registry: registry)
    }

    // MARK: Objects

    /// Adds an object with these values. Its identifier is permanent from here on.
    ///
    /// - Precondition: the store was opened with the entity.
    @discardableResult
    public func insert<E: Entity>(_ value: E) -> ManagedObject<E> {
        state.insert(value)
    }

    /// Adds an object for each value without making objects to hold in memory; gives their identifiers, in order.
    ///
    /// - Precondition: the store was opened with the entity.
    @discardableResult
    public func insert<E: Entity>(contentsOf values: some Sequence<E>) -> [PersistentID<E>] {
        state.insert(contentsOf: values)
    }

    /// Deletes an object, with what its relationships' delete rules say.
    ///
    /// - Precondition: the object belongs to this context.
    public func delete<E>(_ object: ManagedObject<E>) {
        state.requireOwn(object)
        object.delete()
    }

    /// The object, or nil if this context's state does not have it.
    @inlinable
    public subscript<E>(id: PersistentID<E>) -> ManagedObject<E>? {
        state.object(for: id)
    }

    /// The object.
    ///
    /// - Throws: `GraphError.objectNotFound`.
    public func object<E>(for id: PersistentID<E>) throws(GraphError) -> ManagedObject<E> {
        guard let object = state.object(for: id) else { throw .objectNotFound(id) }
        return object
    }

    /// The object of an identifier whose entity is known only at run time, or nil if this context's state does not have it.
    public func object(for id: AnyPersistentID) -> (any AnyManagedObject)? {
        func find<E: Entity>(_ type: E.Type) -> (any AnyManagedObject)? {
            state.object(for: PersistentID<E>(row: id.row))
        }
        return state.schema.index(named: id.entityName).flatMap { find(state.schema.entities[$0].type) }
    }

    /// The object if somebody holds it or it has unsaved changes; nil otherwise, even if the store has it.
    public func registeredObject<E>(for id: PersistentID<E>) -> ManagedObject<E>? {
        state.registeredObject(for: id)
    }

    // MARK: Changes

    /// Whether there is anything to save, or being saved.
    ///
    /// The three lists below, and what objects say of themselves, leave out what a save in flight took with it: it counts as
    /// saved, until the save fails.
    public var hasChanges: Bool { state.hasChanges }

    /// The objects inserted since the last save, entity by entity in the order of insertion.
    public var insertedObjects: [any AnyManagedObject] { state.objects(.inserted) }

    /// The objects that differ from what the context read, inserted ones left out.
    public var updatedObjects: [any AnyManagedObject] { state.objects(.updated) }

    /// The objects deleted since the last save; they keep their last values.
    public var deletedObjects: [any AnyManagedObject] { state.objects(.deleted) }

    /// Commits the changes; they are durable when it returns.
    ///
    /// What is changed on the context while the save runs stays pending. If the save fails, nothing of it happened and all
    /// changes are pending as before. Saves of one context run one after another.
    ///
    /// - Throws: `.conflicts`, `.notUnique`, `.danglingReferences`, `.deleteDenied`, `.validationFailed`, `.notEncodable`, or
    ///   what the store's file makes of it. After `.outcomeUnknown` the store takes no more saves.
    ///
    /// Swift 6.3 crashes on a `catch` that names one case of this error, uses a closure, and is the last of its `do`. A
    /// `catch` without a pattern after it, which throws on, avoids that.
    public func save() async throws(GraphError) {
        await beginSave()
        defer { endSave() }
        do {
            try await commitChanges()
        } catch {
            state.saveFailed()
            throw error
        }
    }

    /// A save without its turn and without what follows from its failure.
    private func commitChanges() async throws(GraphError) {
        guard let captured = state.capture() else { return }
        let outcome = try await coordinator.commit(captured)
        state.didSave(outcome.published, asCaptured: outcome.isAsCaptured, replacements: outcome.replacements)
    }

    /// Drops all unsaved changes. The context goes on with the state that it had read.
    ///
    /// Changes that a save in flight took with it are out of reach.
    public func rollback() {
        state.rollback(to: nil)
    }

    /// Drops all unsaved changes and reads the newest durable state, once a save in flight has ended.
    public func rollbackToLatest() async {
        await beginSave()
        defer { endSave() }
        state.rollback(to: coordinator.snapshot)
    }

    /// Reads the newest durable state, with the unsaved changes put on top of it property by property, once a save in
    /// flight has ended.
    ///
    /// A row that others deleted is gone; a save reports changes made to it as a conflict.
    public func refresh() async {
        await beginSave()
        defer { endSave() }
        state.refresh(to: coordinator.snapshot)
    }

    private func beginSave() async {
        guard isSaving else {
            isSaving = true
            return
        }
        await withCheckedContinuation { waitingForSave.append($0) }
    }

    /// Hands the turn to who has waited longest: nobody who comes in between can take it.
    private func endSave() {
        registry.endVisit()
        if waitingForSave.isEmpty {
            isSaving = false
        } else {
            waitingForSave.removeFirst().resume()
        }
    }

    // MARK: Closures

    /// Runs a closure on this context and gives back what it returns.
    @discardableResult
    public func perform<Result>(_ body: @Sendable (isolated Context) throws -> Result) async rethrows -> Result {
        defer { registry.endVisit() }
        return try body(self)
    }

    /// Runs a closure on this context and saves, earlier unsaved changes included.
    ///
    /// If the closure throws, or the save fails, what the closure did is undone; earlier changes stay.
    ///
    /// - Throws: what the closure throws, and what `save()` throws.
    @discardableResult
    public func transaction<Result>(_ body: @Sendable (isolated Context) throws -> Result) async throws -> Result {
        await beginSave()
        defer { endSave() }
        let savepoint = state.savepoint()
        let result: Result
        do {
            result = try body(self)
        } catch {
            state.restore(savepoint)
            throw error
        }
        do {
            try await commitChanges()
        } catch {
            state.saveFailed(restoring: savepoint)
            throw error
        }
        return result
    }
}
