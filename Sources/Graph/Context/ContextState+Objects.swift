/// What objects ask, and what they are told of each other.
extension ContextState {
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
        guard let original = working.knownRow(row, of: entity) else { return properties }
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
        if working.endRestoredChanges() || relationship.toOne != nil || isObservable { endEpoch() }
    }

    /// Notes that a row was looked for, whether or not it is there.
    @usableFromInline
    func didLookUp(_ row: RowNumber, of entity: Int) {
        reads?.readRow(row, of: entity)
        observation?.access(
            ContextObservation.Key(entity: entity, row: row, property: ContextObservation.Key.existence)
        )
    }

    /// Notes that all objects of an entity were looked at.
    func didSearch(_ type: any Entity.Type) {
        guard reads != nil || isObservable, let entity = schema.index(of: type) else { return }
        reads?.readAll(of: entity)
        observation?.access(ContextObservation.Key(entity: entity))
    }

    /// Tells of an object's ephemeral properties, which no state shows, since one of its properties was written. Which one it was
    /// is not said: a key path that was passed on would have to be made for every write there is.
    func didWriteEphemerals(of row: RowNumber, of entity: Int) {
        guard let observation else { return }
        for (number, property) in schema.entities[entity].properties.enumerated() where property.isEphemeral {
            observation.tell(number, of: row, entity)
        }
    }

    @usableFromInline var isObservable: Bool { observation != nil }

    /// Notes that a property was read, or the row as a whole.
    func didRead<E: Entity>(_ row: RowNumber, of type: E.Type, _ entity: Int, _ keyPath: PartialKeyPath<E>?) {
        guard let observation else { return }
        let property = keyPath.flatMap { keyPath in
            schema.entities[entity].properties.firstIndex { ($0.keyPath as AnyKeyPath) == keyPath }
        }
        observation.access(ContextObservation.Key(entity: entity, row: row, property: property))
    }
}
