/// What a context and its objects share: the working state, the objects registered, and a save in flight.
///
/// Not Sendable: reached only through the context's actor and through objects confined to it.
@usableFromInline
final class ContextState {
    let schema: Schema
    private let counters: RowCounters
    private(set) var working: WorkingState
    /// What a save took with it, until it is answered; `working` then counts from it. On failure it comes back.
    private var inFlight: (state: WorkingState, objects: [any RegisteredObject])?
    private weak var unsaved: UnsavedObjects?
    /// By entity.
    private var objects: [ObjectRegistry]
    /// What to-many values say that were written and are not applied yet.
    private var assignments: [(members: [RowNumber], owner: RowNumber, entity: Int, ToManyDescription)] = []
    /// Whether an object was written to since the last flush.
    private var needsFlush = false
    /// To-many values that name objects which do not exist; the next save reports them.
    private var unresolved: [DanglingReference] = []
    /// Ends whenever the working state moves under the objects.
    private(set) var epoch = Epoch()

    init(base: Snapshot, counters: RowCounters, unsaved: UnsavedObjects) {
        schema = base.schema
        self.counters = counters
        working = WorkingState(base: base)
        self.unsaved = unsaved
        objects = schema.entities.map { _ in ObjectRegistry() }
    }

    // MARK: Objects

    @usableFromInline
    func entityIndex<E: Entity>(of type: E.Type) -> Int {
        guard let entity = schema.index(of: type) else {
            preconditionFailure("the store was opened without the entity \(type)")
        }
        return entity
    }

    func insert<E: Entity>(_ value: E) -> ManagedObject<E> {
        let entity = entityIndex(of: E.self)
        let id = PersistentID<E>(row: counters.next(of: entity))
        let object = ManagedObject(id: id, entity: entity, context: self, row: value, flags: .new, isDirty: true)
        objects[entity].register(object, as: id.row)
        _ = register(dirty: object)
        return object
    }

    /// Inserts without making an object of each row.
    func insert<E: Entity>(contentsOf values: some Sequence<E>) -> [PersistentID<E>] {
        let entity = entityIndex(of: E.self)
        flush()
        return values.map { value in
            let id = PersistentID<E>(row: counters.next(of: entity))
            var value = value
            withUnsafeMutablePointer(to: &value) { write(id.row, of: entity, at: $0, isNew: true) }
            applyAssignments()
            return id
        }
    }

    func object<E: Entity>(for id: PersistentID<E>) -> ManagedObject<E>? {
        schema.index(of: E.self).flatMap { object(for: id, $0) }
    }

    func object<E: Entity>(for id: PersistentID<E>, _ entity: Int) -> ManagedObject<E>? {
        if let object = objects[entity].object(for: id.row) {
            let object = unsafeDowncast(object, to: ManagedObject<E>.self)
            return object.isDeleted ? nil : object
        }
        guard let value: E = working.snapshot.entities[entity].rows.value(of: id.row) else { return nil }
        return makeObject(id, entity, value, flags: [])
    }

    /// The objects of rows that a query found in the working state.
    @usableFromInline
    func objects<E: Entity>(for rows: ArraySlice<FoundRow>, of type: E.Type) -> [ManagedObject<E>] {
        let entity = entityIndex(of: type)
        return rows.map { row in
            if let object = objects[entity].object(for: row.number) {
                return unsafeDowncast(object, to: ManagedObject<E>.self)
            }
            let value = row.address.assumingMemoryBound(to: E.self).pointee
            return makeObject(PersistentID(row: row.number), entity, value, flags: [])
        }
    }

    /// The object if it is registered already; the working state is not asked.
    func registeredObject<E: Entity>(for id: PersistentID<E>) -> ManagedObject<E>? {
        schema.index(of: E.self).flatMap { objects[$0].object(for: id.row) }
            .map { unsafeDowncast($0, to: ManagedObject<E>.self) }
    }

    private func makeObject<E: Entity>(_ id: PersistentID<E>, _ entity: Int, _ value: E, flags: ObjectFlags)
        -> ManagedObject<E>
    {
        let object = ManagedObject(id: id, entity: entity, context: self, row: value, flags: flags)
        objects[entity].register(object, as: id.row)
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
        return makeObject(id, entity, value, flags: .deleted)
    }

    func requireOwn<E>(_ object: ManagedObject<E>) {
        precondition(object.context === self, "\(object.id) belongs to another context")
    }

    // MARK: What objects ask

    func row<E: Entity>(of id: PersistentID<E>, _ entity: Int) -> E? {
        working.snapshot.entities[entity].rows.value(of: id.row)
    }

    /// The committed state that the context reads from; a save in flight is not part of it.
    @usableFromInline var base: Snapshot { inFlight?.state.base ?? working.base }

    func committedValue<E: Entity>(of id: PersistentID<E>, _ entity: Int) -> E? {
        base.entities[entity].rows.value(of: id.row)
    }

    func version(of row: RowNumber, of entity: Int) -> RowVersion {
        base.entities[entity].rows.version(of: row) ?? .none
    }

    func changeKind(of row: RowNumber, of entity: Int) -> ChangeKind? {
        flush()
        return working.changes[entity].kind(of: row)
    }

    // MARK: Relationships

    func referrers(to target: RowNumber, through relationship: ToManyDescription) -> [RowNumber] {
        var rows: [RowNumber] = []
        flushed.forEachReferrer(to: target, of: relationship.source, through: relationship.toOne) {
            rows.append($0)
            return true
        }
        return rows
    }

    func firstReferrer(to target: RowNumber, through relationship: ToManyDescription) -> RowNumber? {
        var row: RowNumber?
        flushed.forEachReferrer(to: target, of: relationship.source, through: relationship.toOne) {
            row = $0
            return false
        }
        return row
    }

    func countReferrers(to target: RowNumber, through relationship: ToManyDescription) -> Int {
        flushed.countReferrers(to: target, of: relationship.source, through: relationship.toOne)
    }

    // MARK: Changes

    /// The working snapshot with everything that objects were told.
    @usableFromInline var flushed: Snapshot {
        flush()
        return working.snapshot
    }

    /// False if the context is gone, and with it every way to save.
    func register(dirty object: any RegisteredObject) -> Bool {
        guard let unsaved else { return false }
        unsaved.dirty.append(object)
        needsFlush = true
        return true
    }

    func flush() {
        guard needsFlush else { return }
        needsFlush = false
        guard let unsaved else { return }
        let dirty = unsaved.dirty
        unsaved.dirty = []
        for object in dirty { object.flush() }
        unsaved.keep(dirty)
        applyAssignments()
    }

    /// Writes a row into the working state. What its to-many values say is for `applyAssignments`, because it may be about
    /// rows that are written next.
    func write(_ row: RowNumber, of entity: Int, at address: UnsafeMutableRawPointer, isNew: Bool) {
        for relationship in schema.entities[entity].toManys {
            let property = schema.entities[entity].properties[relationship.property]
            if let rows = property.takeInitialRows?(address + property.offset), !isNew || !rows.isEmpty {
                assignments.append((rows, row, entity, relationship))
            }
        }
        if isNew {
            working.insert(row, of: entity, copying: address)
        } else {
            working.update(row, of: entity, copying: address)
        }
    }

    private func applyAssignments() {
        guard !assignments.isEmpty else { return }
        let all = assignments
        assignments = []
        for (members, owner, entity, relationship) in all { assign(members, to: owner, of: entity, relationship) }
    }

    private func assign(
        _ members: [RowNumber],
        to owner: RowNumber,
        of entity: Int,
        _ relationship: ToManyDescription
    ) {
        let missing = working.assign(members, to: owner, of: relationship)
        endEpoch()
        unresolved += missing.map { row in
            DanglingReference(
                id: AnyPersistentID(entityName: schema.entities[entity].name, row: owner),
                property: schema.entities[entity].properties[relationship.property].name,
                target: AnyPersistentID(entityName: schema.entities[relationship.source].name, row: row)
            )
        }
    }

    func delete(_ row: RowNumber, of entity: Int) {
        flush()
        working.delete(row, of: entity)
        endEpoch()
    }

    private func endEpoch() {
        epoch.isCurrent = false
        epoch = Epoch()
    }

    var hasChanges: Bool {
        flush()
        return !working.changes.isEmpty || inFlight != nil
    }

    // MARK: Saving

    /// Takes the changes for a save; nil if there are none. What is changed from here on counts from the state taken.
    func capture() throws(GraphError) -> WorkingState? {
        flush()
        if !unresolved.isEmpty {
            defer { unresolved = [] }
            throw .danglingReferences(unresolved)
        }
        guard !working.changes.isEmpty else { return nil }
        let captured = working
        inFlight = (captured, unsaved?.release() ?? [])
        working = WorkingState(base: captured.snapshot)
        return captured
    }

    /// The save taken last is in `published`, which becomes the base.
    func didSave(_ published: Snapshot, asCaptured: Bool) {
        inFlight = nil
        rebase(onto: WorkingState(base: published), objectsAreCurrent: asCaptured)
    }

    /// The save taken last failed; its changes are pending as before, with what was changed meanwhile on top.
    func saveFailed() {
        guard let inFlight else { return }
        self.inFlight = nil
        unsaved?.keep(inFlight.objects)
        rebase(onto: inFlight.state, objectsAreCurrent: true)
    }

    /// Puts the working state's changes on top of another state.
    private func rebase(onto state: WorkingState, objectsAreCurrent: Bool) {
        flush()
        let later = working
        working = state
        if !later.changes.isEmpty { working.reapply(later) }
        if !objectsAreCurrent || !later.changes.isEmpty { endEpoch() }
    }

    // MARK: Moving

    /// Drops what was changed since the base, or since a save in flight took the rest.
    func rollback(to base: Snapshot?) {
        dropDirty()
        working = WorkingState(base: inFlight == nil ? base ?? working.base : working.base)
        forgetChanges()
    }

    /// Moves the base and puts the changes on top.
    func refresh(to base: Snapshot) {
        rebase(onto: WorkingState(base: base), objectsAreCurrent: false)
    }

    /// A state to come back to.
    func savepoint() -> WorkingState {
        flush()
        return working
    }

    /// Undoes everything since a savepoint.
    func restore(_ savepoint: WorkingState) {
        dropDirty()
        working = savepoint
        if savepoint.changes.isEmpty { _ = unsaved?.release() }
        endEpoch()
    }

    /// Undoes a save that failed and whose changes began at a savepoint; keeps what was changed while it ran.
    func saveFailed(restoring savepoint: WorkingState) {
        guard let inFlight else { return restore(savepoint) }
        self.inFlight = nil
        if !savepoint.changes.isEmpty { unsaved?.keep(inFlight.objects) }
        rebase(onto: savepoint, objectsAreCurrent: false)
    }

    private func dropDirty() {
        needsFlush = false
        guard let unsaved else { return }
        for object in unsaved.dirty { (object.isDirty, object.flags) = (false, object.flags.subtracting(.new)) }
        unsaved.dirty = []
    }

    private func forgetChanges() {
        unresolved = []
        _ = unsaved?.release()
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
    @exclusivity(unchecked) @usableFromInline var isCurrent = true
}

/// The objects of one entity that somebody holds, by row.
///
/// Weak references, because the last reference to an object may go away on any thread: a class of the main actor that
/// holds objects can be released anywhere.
private struct ObjectRegistry {
    private struct Entry {
        weak var object: AnyObject?
    }

    private var entries: [RowNumber: Entry] = [:]
    private var sweepAt = 1024

    func object(for row: RowNumber) -> AnyObject? {
        entries[row]?.object
    }

    /// Drops the entries of released objects whenever their number may have doubled: amortised O(1).
    mutating func register(_ object: AnyObject, as row: RowNumber) {
        if entries.count >= sweepAt {
            entries = entries.filter { $0.value.object != nil }
            sweepAt = max(1024, 2 * entries.count)
        }
        entries[row] = Entry(object: object)
    }
}
