/// What a context and its objects share: the working state, the objects registered, and a save in flight.
///
/// Not Sendable: reached only through the context's actor and through objects confined to it.
@usableFromInline
final class ContextState {
    @usableFromInline let schema: Schema
    let counters: RowCounters
    var working: WorkingState
    var history = UndoHistory()
    /// The committed state below the base, if the context is nested.
    var committed: Snapshot?
    /// Where the transactions began whose closures are running: that of which this is the context, and those that do not wait,
    /// during which nobody else runs.
    var transactionStarts: [Savepoint] = []
    /// How many turns are under way. Those that wait let others come between.
    var turnCount = 0
    /// What a transaction reads, if that is to count.
    @usableFromInline let reads: ReadLog?
    let executor: ContextExecutor
    /// nil if nobody can track what is read here.
    let observation: ContextObservation?
    /// Is told what fetches read; nil if nobody wants to know.
    let reader: (any SnapshotReader)?
    /// nil if the context is nested.
    let published: PublishedSnapshot?
    /// What a save took with it, until it is answered; `working` then counts from it. On failure it comes back.
    ///
    /// `request` is the state with what `willSave()` did to it.
    var inFlight: (state: WorkingState, request: WorkingState, objects: [any RegisteredObject])?
    /// New rows that gave way to others when they were saved and whose objects somebody held then.
    var replacements: Replacements = [:]
    /// So many of an entity are kept before those whose objects nobody holds any more are looked for.
    var replacementLimit = 2
    /// Of refreshes that wait for the end of the save in flight, the objects that go on with their changes; nil if there are none.
    var refreshedInFlight: Set<RowID>?
    /// Is told what becomes of the save in flight, if it goes to a log.
    var receipt: SaveReceipt?
    /// Saves of what is pending of which nobody knows whether the log has them.
    var doubts: [DoubtfulSave] = []
    /// Whether the rows of the save in flight are other than those that objects have.
    var willSaveChangedRows = false
    @usableFromInline private(set) weak var registry: ObjectRegistry?
    let followers = EventFollowers()
    /// Whether the base stays until the context ends: a transaction reads one state.
    let isBaseFixed: Bool
    /// Whether this is a transaction's own context.
    let isTransaction: Bool
    /// Begins what saves the changes after a time.
    private var startAutosaveTimer: (() -> Task<Void, Never>)?
    /// From the first change on until it saves.
    var autosaveTimer: Task<Void, Never>?
    /// Why the last save that the context began by itself failed, if no save has succeeded since.
    var autosaveError: GraphError? { didSet { autosaveErrorCount += 1 } }
    private(set) var autosaveErrorCount = 0
    /// The actor that all of this is part of.
    let reference = ContextReference()
    /// For those who follow the commits that the context takes over, up to which they know them.
    var feed: PublishedSnapshot?
    /// Live results that observers have read.
    var trackedResults: [TrackedResultsReference] = []
    /// Whether a task will tell the followers of results what was changed outside of turns.
    var isTurnScheduled = false
    /// Whether an object was written to since the last flush.
    var needsFlush = false
    /// Of the insert that is under way.
    var batch: IndexBatch?
    /// Ends whenever the working state moves under the objects.
    @usableFromInline private(set) var epoch: Epoch

    init(
        _ base: ContextBase,
        counters: RowCounters,
        published: PublishedSnapshot?,
        registry: ObjectRegistry,
        executor: ContextExecutor,
        isObservable: Bool,
        isTransaction: Bool,
        reads: ReadLog?
    ) {
        schema = base.snapshot.schema
        self.counters = counters
        working = WorkingState(base, reads: reads)
        committed = base.committed
        self.registry = registry
        self.executor = executor
        self.reads = reads
        isBaseFixed = isTransaction && published != nil
        self.isTransaction = isTransaction
        self.published = published
        observation = isObservable ? ContextObservation(base.snapshot) : nil
        reader = SearchReader(reads, observation)
        epoch = Epoch(isCurrent: !isObservable)
    }

    @usableFromInline
    func checkIsolation() {
        // When the context is gone, the one who still has the object has it alone.
        guard registry != nil else { return }
        executor.requireCurrent("an object was used outside of its context: pass its 'id' or its 'value' instead")
    }

    // MARK: Objects

    @usableFromInline
    func entityIndex<E: Entity>(of type: E.Type) -> Int {
        guard let entity = schema.index(of: type) else {
            preconditionFailure("the store was opened without the entity \(type): add it to Coordinator(for:)")
        }
        return entity
    }

    func haveSameMaintainedReferences<E: Entity>(_ lhs: inout E, _ rhs: inout E, _ entity: Int) -> Bool {
        withUnsafeMutablePointer(to: &lhs) { lhs in
            withUnsafeMutablePointer(to: &rhs) { rhs in
                schema.entities[entity].toOnes.allSatisfy {
                    !$0.hasInverseToMaintain || $0.target(ofRowAt: lhs) == $0.target(ofRowAt: rhs)
                }
            }
        }
    }

    @usableFromInline
    func maintainsInverses(_ entity: Int) -> Bool { isObservable || schema.entities[entity].hasInversesToMaintain }

    /// Which object stands for one that gave way to it.
    func replacement(of id: RowID) -> RowNumber? { replacements[id.entity]?[id.row] }

    @inlinable
    func object<E: Entity>(for id: PersistentID<E>, in registry: ObjectRegistry?) -> ManagedObject<E>? {
        guard let entity = schema.index(of: E.self) else { return nil }
        return object(for: id, entity, in: registry)
    }

    /// - Parameter registry: this context's, if that is still there.
    @inlinable
    func object<E: Entity>(
        for id: PersistentID<E>,
        _ entity: Int,
        in registry: ObjectRegistry?
    ) -> ManagedObject<E>? {
        if let object = registered(RowID(entity: entity, row: id.row), in: registry) {
            let object = unsafeDowncast(object, to: ManagedObject<E>.self)
            return object.isDeleted ? nil : object
        }
        if reads != nil || isObservable { didLookUp(RowID(entity: entity, row: id.row)) }
        // Valid, because this holds the working state, and nothing changes it meanwhile.
        guard let address = workingAddress(of: RowID(entity: entity, row: id.row)) else { return nil }
        let value = address.row(as: E.self, in: rowLayout(of: entity)).pointee
        return makeObject(id, entity, value, in: registry)
    }

    /// The object of a row. One that nobody holds any more is as good as a new one, unless it has values of its own.
    @usableFromInline
    func registered(_ id: RowID, in registry: ObjectRegistry?) -> AnyObject? {
        if _fastPath(schema.entities[id.entity].transients.isEmpty) { return registry?.object(for: id) }
        return registry?.heldObject(for: id)
    }

    /// For debug builds, which ask it of each row.
    @usableFromInline
    func rowLayout(of entity: Int) -> RowLayout { schema.entities[entity].layout }

    @usableFromInline
    func workingAddress(of id: RowID) -> UnsafeRawPointer? {
        working.snapshot.address(of: id)
    }

    /// Reads a little of each of these rows, which lie anywhere: the processor can then wait for all of them at once, and not for
    /// one after another when objects are made of them.
    @usableFromInline
    func prefetch(_ rows: ArraySlice<RowNumber>, of entity: Int) {
        schema.entities[entity].touch(working.snapshot.entities[entity].rows.addresses(of: rows))
    }

    /// The object if it is registered already; the working state is not asked.
    func registeredObject<E: Entity>(for id: PersistentID<E>) -> ManagedObject<E>? {
        schema.index(of: E.self).flatMap { registry?.heldObject(for: RowID(entity: $0, row: id.row)) }
            .map { unsafeDowncast($0, to: ManagedObject<E>.self) }
    }

    @inlinable
    func makeObject<E: Entity>(
        _ id: PersistentID<E>,
        _ entity: Int,
        _ value: E,
        flags: ObjectFlags = ObjectFlags(rawValue: 0),
        isDirty: Bool = false,
        in registry: ObjectRegistry?
    ) -> ManagedObject<E> {
        let object = ManagedObject(
            id: id,
            entity: entity,
            maintainsInverses: maintainsInverses(entity),
            state: self,
            row: value,
            flags: flags,
            epoch: epoch,
            isDirty: isDirty
        )
        registry?.register(object, as: RowID(entity: entity, row: id.row))
        return object
    }

    func objects(_ kind: ChangeKind) -> [any AnyManagedObject] {
        flush()
        var found: [any AnyManagedObject] = []
        for (entity, changes) in working.changes.entities {
            changes.forEachChange { row, change, _ in
                guard change == kind else { return }
                found.append(changedObject(schema.entities[entity].type, RowID(entity: entity, row: row)))
            }
        }
        return found
    }

    /// The object of a changed row; of a deleted one with the value that it last had.
    private func changedObject<E: Entity>(_ type: E.Type, _ place: RowID) -> any AnyManagedObject {
        let id = PersistentID<E>(row: place.row)
        if let object = registeredObject(for: id) { return object }
        if let object = object(for: id, place.entity, in: registry) { return object }
        guard
            let value: E = working.base.entities[place.entity].rows.value(of: place.row)
                ?? working.changes[place.entity].detachedRows.value(of: place.row)
        else { preconditionFailure("\(id) is changed, but in no state") }
        return makeObject(id, place.entity, value, flags: .deleted, in: registry)
    }

    @inlinable
    func requireOwn<E>(_ object: ManagedObject<E>) {
        precondition(
            object.contextState === self,
            "\(object.id) belongs to another context: use the object that this one has for its 'id'")
    }

    // MARK: Changes

    /// The same, to look at an owner's members.
    func flushed(toRead relationship: ToManyDescription, of owner: RowNumber) -> Snapshot {
        reads?.note { $0.readMembers(of: owner, through: relationship) }
        return flushed(toAccess: relationship, of: owner)
    }

    /// The same, to look for one member.
    func flushed(toFind member: RowNumber, in relationship: ToManyDescription, of owner: RowNumber) -> Snapshot {
        reads?.note { $0.readMember(member, of: owner, through: relationship) }
        return flushed(toAccess: relationship, of: owner)
    }

    private func flushed(toAccess relationship: ToManyDescription, of owner: RowNumber) -> Snapshot {
        observation?.access(
            ContextObservation.Key(entity: relationship.entity, row: owner, property: relationship.property)
        )
        return flushed
    }

    /// The working snapshot with everything that objects were told.
    @usableFromInline var flushed: Snapshot {
        flush()
        return working.snapshot
    }

    @usableFromInline
    func noteChange() {
        if autosaveTimer == nil { autosaveTimer = startAutosaveTimer?() }
        scheduleTurn()
    }

    /// Has changes saved after a time; nil for no longer.
    func autosave(_ startTimer: (() -> Task<Void, Never>)?) {
        autosaveTimer?.cancel()
        (startAutosaveTimer, autosaveTimer) = (startTimer, nil)
        if hasChanges { noteChange() }
    }

    /// What the timer was for is saved: what is changed since has its own time.
    func restartAutosaveTimer() {
        if autosaveTimer != nil { autosave(startAutosaveTimer) }
    }

    /// What the timer was for was dropped.
    func stopAutosaveTimerIfUnchanged() {
        if autosaveTimer != nil, !hasChanges { autosave(startAutosaveTimer) }
    }

    deinit {
        autosaveTimer?.cancel()
    }

    /// False if the context is gone, and with it every way to save.
    func register(dirty object: any RegisteredObject) -> Bool {
        guard let registry else { return false }
        registry.register(dirty: object)
        needsFlush = true
        noteChange()
        return true
    }

    @usableFromInline
    func flush() {
        #if DEBUG
            checkIsolation()
        #endif
        guard needsFlush else { return }
        needsFlush = false
        guard let registry else { return }
        for dirty in registry.takeDirty() where dirty.object.flush() { registry.keep(dirty.object) }
        let areOthersChanged = working.applyAssignments()
        if working.endRestoredChanges() || areOthersChanged { endEpoch() }
    }

    func write<E: Entity>(_ id: RowID, at address: UnsafeMutablePointer<E>, isNew: Bool) -> Bool {
        let value = UnsafeMutableRawPointer(address)
        let hasDetachedRows = working.changes.hasDetachedRows || inFlight?.state.changes.hasDetachedRows == true
        guard hasDetachedRows, !isNew, workingAddress(of: id) == nil else {
            return working.write(id, at: value, isNew: isNew)
        }
        if let captured = inFlight?.state { working.changeDetachedRow(id, since: captured) }
        let shown: E? = working.changes[id.entity].detachedRows.value(of: id.row)
        if let shown { willShow(address.pointee, insteadOf: shown, of: id) }
        return working.write(id, at: value, isNew: false)
    }

    /// Objects that have no changes any more need not be kept for a save.
    func forgetRestoredObjects(in registry: ObjectRegistry) {
        registry.keepOnly(changeCount: working.changes.count) { working.changes[$0.entity].kind(of: $0.row) != nil }
    }

    func delete(_ id: RowID) {
        guard registry != nil else { return }
        flush()
        // A copy of the state would be simpler to compare with, and each delete would copy the leaves that it changes once more.
        let closure = working.snapshot.deleteClosure(of: id)
        keepLastValues(ofDeleted: closure)
        working.delete(closure)
        _ = working.endRestoredChanges()
        noteChange()
        endEpoch()
    }

    @usableFromInline
    func endEpoch() {
        // Observers run a program's code, which may use the context: whatever else a change entails is done before.
        epoch.isCurrent = false
        epoch = Epoch(isCurrent: observation == nil)
        scheduleTurn()
        guard let observation else { return }
        observation.tell(working.snapshot)
        tellChanges()
        tellTrackedResults()
    }

    func require(_ id: RowID) {
        flush()
        working.require(id)
        tellChanges()
    }

    func discard(_ ids: [RowID]) {
        guard registry != nil else { return }
        flush()
        let before = working
        working.discard(ids)
        _ = working.endRestoredChanges()
        keepLastValues(of: before.snapshot)
        showDetachedRows(since: before)
        endEpoch()
        stopAutosaveTimerIfUnchanged()
    }

    var hasChanges: Bool {
        flush()
        return !working.isUnchanged || inFlight != nil
    }
}
