/// What a context and its objects share: the working state, the objects registered, and a save in flight.
///
/// Not Sendable: reached only through the context's actor and through objects confined to it.
@usableFromInline
final class ContextState {
    @usableFromInline let schema: Schema
    private let counters: RowCounters
    private(set) var working: WorkingState
    private(set) var history = UndoHistory()
    /// The committed state below the base, if the context is nested.
    private var committed: Snapshot?
    /// What a transaction reads, if that is to count.
    @usableFromInline let reads: ReadLog?
    private let followers: EventFollowers
    let executor: ContextExecutor
    /// nil if nobody can track what is read here.
    private let observation: ContextObservation?
    /// nil if the context is nested.
    private let published: PublishedSnapshot?
    /// What a save took with it, until it is answered; `working` then counts from it. On failure it comes back.
    private var inFlight: (state: WorkingState, objects: [any RegisteredObject])?
    /// New rows that gave way to others when they were saved and whose objects somebody held then.
    private var replacements: Replacements = [:]
    /// Whether the rows of the save in flight are other than those that objects have.
    private var willSaveChangedRows = false
    @usableFromInline private(set) weak var registry: ObjectRegistry?
    /// Begins what saves the changes after a time.
    private var startAutosaveTimer: (() -> Task<Void, Never>)?
    /// From the first change on until it saves.
    var autosaveTimer: Task<Void, Never>?
    /// Whether an object was written to since the last flush.
    private var needsFlush = false
    /// Ends whenever the working state moves under the objects.
    @usableFromInline private(set) var epoch: Epoch

    init(
        _ base: ContextBase,
        counters: RowCounters,
        published: PublishedSnapshot?,
        registry: ObjectRegistry,
        followers: EventFollowers,
        executor: ContextExecutor,
        isObservable: Bool,
        reads: ReadLog?
    ) {
        schema = base.snapshot.schema
        self.counters = counters
        working = WorkingState(base: base.snapshot)
        committed = base.committed
        self.registry = registry
        self.followers = followers
        self.executor = executor
        self.reads = reads
        self.published = published
        observation = isObservable ? ContextObservation(base.snapshot) : nil
        epoch = Epoch(isCurrent: !isObservable)
    }

    @usableFromInline
    func checkIsolation() {
        // When the context is gone, whoever still has the object has it alone.
        guard registry != nil else { return }
        executor.requireCurrent("an object was used outside of its context")
    }

    // MARK: Objects

    @usableFromInline
    func entityIndex<E: Entity>(of type: E.Type) -> Int {
        guard let entity = schema.index(of: type) else {
            preconditionFailure("the store was opened without the entity \(type): give it to Coordinator(for:)")
        }
        return entity
    }

    func insert<E: Entity>(_ value: E) -> ManagedObject<E> {
        let entity = entityIndex(of: E.self)
        let id = PersistentID<E>(row: counters.next(of: entity))
        let object = makeObject(id, entity, value, flags: .new, epoch: epoch, isDirty: true)
        _ = register(dirty: object)
        if isObservable || changesOthers(value, entity) { flushRelationships() }
        return object
    }

    /// Whether a value says which objects are to refer to it, or refers to one that is to refer back.
    private func changesOthers<E: Entity>(_ value: E, _ entity: Int) -> Bool {
        let description = schema.entities[entity]
        guard description.hasCoupledReferences || !description.toManys.isEmpty else { return false }
        var value = value
        return withUnsafeMutablePointer(to: &value) { address in
            description.toOnes.contains { $0.isCoupled && $0.target(ofRowAt: address) != 0 }
                || description.toManys.contains { relationship in
                    let take = description.properties[relationship.property].takeInitialRows
                    return take?(UnsafeMutableRawPointer(address) + relationship.offset)?.isEmpty == false
                }
        }
    }

    /// Inserts without making an object of each row.
    func insert<E: Entity>(contentsOf values: some Sequence<E>) -> [PersistentID<E>] {
        let entity = entityIndex(of: E.self)
        flush()
        var changesOthers = isObservable || schema.entities[entity].hasCoupledReferences
        let ids = values.map { value in
            let id = PersistentID<E>(row: counters.next(of: entity))
            var value = value
            _ = withUnsafeMutablePointer(to: &value) { working.write(id.row, of: entity, at: $0, isNew: true) }
            if working.applyAssignments() { changesOthers = true }
            return id
        }
        if changesOthers { endEpoch() }
        noteChange()
        return ids
    }

    func areCoupledReferencesSame<E: Entity>(_ lhs: inout E, _ rhs: inout E, _ entity: Int) -> Bool {
        withUnsafeMutablePointer(to: &lhs) { lhs in
            withUnsafeMutablePointer(to: &rhs) { rhs in
                schema.entities[entity].toOnes.allSatisfy {
                    !$0.isCoupled || $0.target(ofRowAt: lhs) == $0.target(ofRowAt: rhs)
                }
            }
        }
    }

    @usableFromInline
    func hasCoupledReferences(_ entity: Int) -> Bool { isObservable || schema.entities[entity].hasCoupledReferences }

    /// Which object stands for one that gave way to it.
    func replacement(of row: RowNumber, of entity: Int) -> RowNumber? { replacements[entity]?[row] }

    @inlinable
    func object<E: Entity>(for id: PersistentID<E>) -> ManagedObject<E>? {
        guard let entity = schema.index(of: E.self) else { return nil }
        return object(for: id, entity)
    }

    @inlinable
    func object<E: Entity>(for id: PersistentID<E>, _ entity: Int) -> ManagedObject<E>? {
        if let object = registered(id.row, of: entity) {
            let object = unsafeDowncast(object, to: ManagedObject<E>.self)
            return object.isDeleted ? nil : object
        }
        if let reads { reads.readRow(id.row, of: entity) }
        didLookUp(id.row, of: entity)
        // Valid, because this holds the working state, and nothing changes it meanwhile.
        guard let address = workingAddress(of: id.row, of: entity) else { return nil }
        let value = address.assumingMemoryBound(to: E.self).pointee
        return makeObject(id, entity, value, flags: ObjectFlags(rawValue: 0), epoch: epoch)
    }

    /// The object of a row. One that nobody holds any more is as good as a new one, unless it has values of its own.
    @usableFromInline
    func registered(_ row: RowNumber, of entity: Int) -> AnyObject? {
        if _fastPath(schema.entities[entity].ephemerals.isEmpty) { return registry?.object(for: row, of: entity) }
        return registry?.heldObject(for: row, of: entity)
    }

    @usableFromInline
    func workingAddress(of row: RowNumber, of entity: Int) -> UnsafeRawPointer? {
        working.snapshot.entities[entity].rows.address(of: row)
    }

    /// The objects of rows that a query found in the working state as it was in an epoch: the query's predicate may have
    /// changed it since, which new objects then notice as old ones do.
    @inlinable
    func objects<E: Entity>(for rows: ArraySlice<FoundRow>, of type: E.Type, asOf epoch: Epoch) -> [ManagedObject<E>] {
        let entity = entityIndex(of: type)
        return rows.map { row in
            if let object = registered(row.number, of: entity) {
                return unsafeDowncast(object, to: ManagedObject<E>.self)
            }
            let value = row.address.assumingMemoryBound(to: E.self).pointee
            let id = PersistentID<E>(row: row.number)
            return makeObject(id, entity, value, flags: ObjectFlags(rawValue: 0), epoch: epoch)
        }
    }

    /// The object if it is registered already; the working state is not asked.
    func registeredObject<E: Entity>(for id: PersistentID<E>) -> ManagedObject<E>? {
        schema.index(of: E.self).flatMap { registry?.heldObject(for: id.row, of: $0) }
            .map { unsafeDowncast($0, to: ManagedObject<E>.self) }
    }

    @inlinable
    func makeObject<E: Entity>(
        _ id: PersistentID<E>,
        _ entity: Int,
        _ value: E,
        flags: ObjectFlags,
        epoch: Epoch,
        isDirty: Bool = false
    ) -> ManagedObject<E> {
        let object = ManagedObject(
            id: id,
            entity: entity,
            context: self,
            row: value,
            flags: flags,
            epoch: epoch,
            isDirty: isDirty
        )
        registry?.register(object, as: id.row, of: entity)
        return object
    }

    func objects(_ kind: ChangeKind) -> [any AnyManagedObject] {
        flush()
        var found: [any AnyManagedObject] = []
        for entity in schema.entities.indices {
            working.changes[entity].forEachChange { row, change, _ in
                guard change == kind else { return }
                found.append(changedObject(schema.entities[entity].type, entity, row))
            }
        }
        return found
    }

    /// The object of a changed row; of a deleted one with the value that it last had.
    private func changedObject<E: Entity>(_ type: E.Type, _ entity: Int, _ row: RowNumber) -> any AnyManagedObject {
        let id = PersistentID<E>(row: row)
        if let object = registeredObject(for: id) { return object }
        if let object = object(for: id, entity) { return object }
        guard
            let value: E = working.base.entities[entity].rows.value(of: row)
                ?? working.changes[entity].lostRows.value(of: row)
        else { preconditionFailure("\(id) is changed, but in no state") }
        return makeObject(id, entity, value, flags: .deleted, epoch: epoch)
    }

    @inlinable
    func requireOwn<E>(_ object: ManagedObject<E>) {
        precondition(object.context === self, "\(object.id) belongs to another context")
    }

    // MARK: What objects ask

    /// Replaces an object's row by the one of the working state, all but its ephemeral values. False if there is none.
    func update<E: Entity>(_ row: inout E, of id: PersistentID<E>, _ entity: Int) -> Bool {
        guard var current: E = working.snapshot.entities[entity].rows.value(of: id.row) else { return false }
        let description = schema.entities[entity]
        if !description.ephemerals.isEmpty {
            withUnsafePointer(to: &row) { old in
                withUnsafeMutablePointer(to: &current) { description.copyEphemerals(from: old, to: $0) }
            }
        }
        row = current
        return true
    }

    /// The committed state that the context reads from; a save in flight is not part of it.
    @usableFromInline var base: Snapshot { inFlight?.state.base ?? working.base }

    /// Rows that count from a base of their own instead, in the changes since that state.
    private func lostBases(of entity: Int) -> RowTable {
        inFlight?.state.changes[entity].lostBases ?? working.changes[entity].lostBases
    }

    func committedValue<E: Entity>(of id: PersistentID<E>, _ entity: Int) -> E? {
        if let committed { return committed.entities[entity].rows.value(of: id.row) }
        return lostBases(of: entity).value(of: id.row) ?? base.entities[entity].rows.value(of: id.row)
    }

    func version(of row: RowNumber, of entity: Int) -> RowVersion {
        if let committed { return committed.entities[entity].rows.version(of: row) ?? .none }
        return lostBases(of: entity).version(of: row) ?? base.entities[entity].rows.version(of: row) ?? .none
    }

    func changeKind(of row: RowNumber, of entity: Int) -> ChangeKind? {
        flush()
        return working.changes[entity].kind(of: row)
    }

    /// The stored properties in which a row differs from the base; all, if the base does not have it.
    func changedProperties(of row: RowNumber, of entity: Int) -> [Property] {
        flush()
        let properties = schema.entities[entity].properties.filter(\.isStored)
        guard working.changes[entity].kind(of: row) != nil,
            let ours = working.snapshot.entities[entity].rows.address(of: row)
        else { return [] }
        guard let original = working.base.entities[entity].rows.address(of: row) else { return properties }
        return properties.filter { !$0.operations.isIdentical(ours + $0.offset, original + $0.offset) }
    }

    // MARK: Relationships

    /// Has the working state show what objects were told of their relationships, and the other objects what followed from it.
    @usableFromInline
    func flushRelationships() {
        flush()
        endEpoch()
    }

    /// Whether the working state has a row, or will have it with the next flush.
    func exists(_ row: RowNumber, of entity: Int) -> Bool {
        if workingAddress(of: row, of: entity) != nil { return true }
        flush()
        return workingAddress(of: row, of: entity) != nil
    }

    /// Changes an owner's members. Whatever was written to objects before comes first, so that the last write wins.
    func changeMembers(_ relationship: ToManyDescription, _ body: (inout WorkingState) -> Void) {
        flush()
        body(&working)
        noteChange()
        // Links change no row.
        if relationship.toOne != nil || isObservable { endEpoch() }
    }

    // MARK: Changes

    /// The same, to look at an owner's members.
    func flushed(toRead relationship: ToManyDescription, of owner: RowNumber) -> Snapshot {
        reads?.readMembers(of: owner, through: relationship)
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

    private func noteChange() {
        if autosaveTimer == nil { autosaveTimer = startAutosaveTimer?() }
    }

    /// Has changes saved after a time; nil for no longer.
    func autosave(_ startTimer: (() -> Task<Void, Never>)?) {
        autosaveTimer?.cancel()
        (startAutosaveTimer, autosaveTimer) = (startTimer, nil)
        if hasChanges { noteChange() }
    }

    deinit {
        autosaveTimer?.cancel()
    }

    /// False if the context is gone, and with it every way to save.
    func register(dirty object: any RegisteredObject) -> Bool {
        guard let registry else { return false }
        registry.dirty.append(object)
        needsFlush = true
        noteChange()
        return true
    }

    func flush() {
        #if DEBUG
            checkIsolation()
        #endif
        guard needsFlush else { return }
        needsFlush = false
        guard let registry else { return }
        let dirty = registry.dirty
        registry.dirty = []
        registry.keep(dirty.filter { $0.flush() })
        if working.applyAssignments() { endEpoch() }
    }

    func write(_ row: RowNumber, of entity: Int, at address: UnsafeMutableRawPointer, isNew: Bool) -> Bool {
        working.write(row, of: entity, at: address, isNew: isNew)
    }

    func delete(_ row: RowNumber, of entity: Int) {
        flush()
        working.delete(row, of: entity)
        noteChange()
        endEpoch()
    }

    private func endEpoch() {
        epoch.isCurrent = false
        epoch = Epoch(isCurrent: observation == nil)
        observation?.tell(working.snapshot)
    }

    // MARK: Reads that others want to know of

    /// Notes that all objects of an entity were looked at.
    func didSearch(_ type: any Entity.Type) {
        guard reads != nil || isObservable, let entity = schema.index(of: type) else { return }
        reads?.readAll(of: entity)
        observation?.access(ContextObservation.Key(entity: entity))
    }

    @usableFromInline var isObservable: Bool { observation != nil }

    /// Notes that somebody asked whether there is a row.
    @usableFromInline
    func didLookUp(_ row: RowNumber, of entity: Int) {
        observation?.access(
            ContextObservation.Key(entity: entity, row: row, property: ContextObservation.Key.existence))
    }

    /// Tells of a property that was written if it is an ephemeral one, which no state shows.
    func didWriteEphemeral(_ keyPath: AnyKeyPath, of row: RowNumber, _ entity: Int) {
        guard let observation, let property = propertyNumber(keyPath, of: entity),
            schema.entities[entity].properties[property].isEphemeral
        else { return }
        observation.tell(property, of: row, entity)
    }

    private func propertyNumber(_ keyPath: AnyKeyPath, of entity: Int) -> Int? {
        schema.entities[entity].properties.firstIndex { ($0.keyPath as AnyKeyPath) == keyPath }
    }

    /// Notes that a property was read, or the row as a whole.
    func didRead<E: Entity>(_ row: RowNumber, of type: E.Type, _ entity: Int, _ keyPath: PartialKeyPath<E>?) {
        guard let observation else { return }
        let property = keyPath.flatMap { propertyNumber($0, of: entity) }
        observation.access(ContextObservation.Key(entity: entity, row: row, property: property))
    }

    func require(_ row: RowNumber, of entity: Int) {
        flush()
        working.require(row, of: entity)
    }

    func discard(_ places: [RowPlace]) {
        flush()
        working.discard(places)
        endEpoch()
    }

    var hasChanges: Bool {
        flush()
        return !working.isUnchanged || inFlight != nil
    }

    // MARK: Saving

    /// Whether a save has taken changes with it and is not answered yet.
    var isSaveUnderWay: Bool { inFlight != nil }

    /// Takes the changes for a save, and has `willSave()` see to them; nil if there are none. What is changed from here on
    /// counts from the state taken, without what `willSave()` did to it.
    func capture(runningHooks: Bool) -> WorkingState? {
        flush()
        // What was read on two states is to be validated also if nothing follows from it.
        let hasMoved = published != nil && reads.map { $0.value.base.commit != working.base.commit } == true
        guard !working.isUnchanged || hasMoved else {
            _ = registry?.release()
            return nil
        }
        history.didCapture(working)
        let captured = working
        inFlight = (captured, registry?.release() ?? [])
        working = WorkingState(base: captured.snapshot)
        var request = captured
        willSaveChangedRows = runningHooks && request.runWillSave()
        return request
    }

    /// What a save would take now.
    func stateToSave(runningHooks: Bool) -> WorkingState {
        flush()
        var request = working
        if runningHooks { _ = request.runWillSave() }
        return request
    }

    /// The save taken last is in the new base.
    func didSave(_ outcome: Outcome) {
        inFlight = nil
        history.didEndSave(isSuccess: true)
        // What a nested context has read, the one that it saves into has not saved yet.
        if published != nil { reads?.begin(at: outcome.base.snapshot) }
        note(outcome.replacements)
        committed = outcome.base.committed
        rebase(
            onto: WorkingState(base: outcome.base.snapshot),
            keepingBases: true,
            replacements: outcome.replacements,
            objectsAreCurrent: outcome.isAsCaptured && !willSaveChangedRows
        )
    }

    /// Objects that somebody holds know what replaced them.
    private func note(_ replacements: Replacements) {
        guard !replacements.isEmpty else { return }
        let all = self.replacements.merging(replacements) { $0.merging($1) { $1 } }
        self.replacements = Replacements(
            uniqueKeysWithValues: all.map { entity, rows in
                (entity, rows.filter { registry?.heldObject(for: $0.key, of: entity) != nil })
            }
        )
    }

    /// The save taken last failed; its changes are pending as before, with what was changed meanwhile on top.
    func saveFailed() {
        guard let inFlight else { return }
        self.inFlight = nil
        history.didEndSave(isSuccess: false)
        registry?.keep(inFlight.objects)
        rebase(onto: inFlight.state, objectsAreCurrent: true)
    }

    /// Puts the working state's changes on top of another state.
    private func rebase(
        onto state: WorkingState,
        keepingBases: Bool = false,
        replacements: Replacements = [:],
        objectsAreCurrent: Bool
    ) {
        flush()
        history.note(working)
        defer { history.move(to: working) }
        let later = working
        working = state
        working.reapply(later, keepingBases: keepingBases, replacements: replacements)
        // What has come to refer to rows deleted here lets go of them at once; what forbids the delete is for a save to say.
        if !later.isUnchanged { _ = working.applyDeleteRules() }
        if !objectsAreCurrent || !later.changes.isEmpty { endEpoch() }
    }

    // MARK: Moving

    /// Drops what was changed since the base, or since a save in flight took the rest.
    func rollback(to base: ContextBase?) {
        dropDirty()
        if let base, inFlight == nil {
            working = WorkingState(base: base.snapshot)
            committed = base.committed
        } else {
            working = WorkingState(base: working.base)
        }
        history.didRollBack(to: working)
        forgetChanges()
    }

    /// The same, and nothing can be undone any more.
    func reset(to base: ContextBase) {
        rollback(to: base)
        history.start(limit: history.limit, at: working)
    }

    /// Moves the base, puts the changes on top, and says so. Gives what both sides changed.
    func refresh(to base: ContextBase, keepingBases: Bool = false) -> [MergeOverlap] {
        let before = flushed
        let overlaps = working.overlaps(with: base.snapshot)
        committed = base.committed
        rebase(onto: WorkingState(base: base.snapshot), keepingBases: keepingBases, objectsAreCurrent: false)
        followers.send(.didMerge(StateChange(before: before, after: flushed)))
        return overlaps
    }

    func refreshToPublished() {
        guard let published, inFlight == nil else { return }
        _ = refresh(to: ContextBase(snapshot: published.value))
    }

    // MARK: Nested contexts

    var stateForChildren: ContextBase {
        flush()
        return ContextBase(snapshot: working.snapshot, committed: committed ?? base)
    }

    /// A nested context's changes, on top of the working state.
    func rebase(_ request: SaveRequest) throws(GraphError) -> WorkingState {
        flush()
        let rebase = Rebase(head: working.snapshot, comparison: .rows, policy: request.policy) { _ in nil }
        var merged = try rebase.run(request.state, origin: request.origin).merged
        try merged.judgeReferences(isForgiving: request.policy.kind != .error)
        return merged
    }

    /// Makes a nested context's changes this one's own. All other rules are for this one's save to judge.
    func absorb(_ request: SaveRequest) throws(GraphError) -> Outcome {
        let changes = try rebase(request)
        working.reapply(changes)
        // Links that deny their owner's delete are judged here again, and are in no list meanwhile.
        if !changes.isUnchanged {
            _ = working.applyDeleteRules()
            noteChange()
        }
        endEpoch()
        return Outcome(base: stateForChildren, isAsCaptured: false, replacements: [:])
    }

    /// A state to come back to.
    struct Savepoint {
        let working: WorkingState
        fileprivate let history: UndoHistory
    }

    func savepoint() -> Savepoint {
        flush()
        history.endGroup(at: working)
        return Savepoint(working: working, history: history)
    }

    /// Undoes everything since a savepoint.
    func restore(_ savepoint: Savepoint) {
        dropDirty()
        working = savepoint.working
        history = savepoint.history
        if working.isUnchanged { _ = registry?.release() }
        endEpoch()
    }

    /// Undoes a save that failed and whose changes began at a savepoint; keeps what was changed while it ran.
    func saveFailed(restoring savepoint: Savepoint) {
        guard let inFlight else { return restore(savepoint) }
        self.inFlight = nil
        if !savepoint.working.isUnchanged { registry?.keep(inFlight.objects) }
        flush()
        history = savepoint.history
        history.move(to: savepoint.working)
        guard !working.isUnchanged else {
            working = savepoint.working
            return endEpoch()
        }
        working.forgetChanges(ofRowsInsertedIn: inFlight.state, since: savepoint.working)
        rebase(onto: savepoint.working, objectsAreCurrent: false)
    }

    // MARK: Undo

    var undoLimit: Int {
        get { history.limit }
        set {
            if history.isOn, newValue > 0 {
                history.limit = newValue
            } else {
                flush()
                history.start(limit: newValue, at: working)
            }
        }
    }

    /// Ends the group of changes made so far.
    func endUndoGroup() {
        guard history.isOn else { return }
        flush()
        history.endGroup(at: working)
    }

    func beginExplicitUndoGroup() {
        flush()
        history.beginGroup(at: working)
    }

    func endExplicitUndoGroup() {
        flush()
        history.endExplicitGroup(at: working)
    }

    func undo() -> [UndoRemainder] {
        endUndoGroup()
        guard let group = history.takeUndo() else { return [] }
        let before = working.snapshot
        let remainders = revert(group)
        history.didUndo(step(from: before))
        return remainders
    }

    func redo() -> [UndoRemainder] {
        endUndoGroup()
        guard let group = history.takeRedo() else { return [] }
        let before = working.snapshot
        let remainders = revert(group)
        history.didRedo(step(from: before))
        return remainders
    }

    private func step(from before: Snapshot) -> UndoStep {
        UndoStep(change: StateChange(before: before, after: working.snapshot), base: working.base)
    }

    private func revert(_ group: UndoGroup) -> [UndoRemainder] {
        var remainders: [UndoRemainder] = []
        for step in group.steps.reversed() { remainders += working.revert(step) }
        noteChange()
        endEpoch()
        return remainders
    }

    private func dropDirty() {
        needsFlush = false
        guard let registry else { return }
        for object in registry.dirty { (object.isDirty, object.flags) = (false, object.flags.subtracting(.new)) }
        registry.dirty = []
    }

    private func forgetChanges() {
        _ = registry?.release()
        endEpoch()
    }
}

/// A time during which the working state does not move under a context's objects, other than by what they write themselves.
///
/// Each object refers to the epoch in which it last looked, and asks it on every access whether it still lasts: that is
/// one load less than comparing numbers, and no sweep over the objects when an epoch ends.
@usableFromInline
final class Epoch {
    /// Without the exclusivity check for the reason that `ManagedObject` gives.
    @exclusivity(unchecked) @usableFromInline var isCurrent: Bool

    /// - Parameter isCurrent: false has every access take the long way, on which it can be noted.
    init(isCurrent: Bool) {
        self.isCurrent = isCurrent
    }
}
