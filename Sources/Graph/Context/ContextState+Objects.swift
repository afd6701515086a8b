/// What objects ask, and what they are told of each other.
extension ContextState {
    // MARK: What objects ask

    /// The row of the working state, with the transient values of the one that an object has. nil if there is none.
    func row<E: Entity>(of id: PersistentID<E>, _ entity: Int, instead old: @autoclosure () -> E) -> E? {
        guard let current: E = working.snapshot.entities[entity].rows.value(of: id.row) else { return nil }
        return withTransients(of: old(), current, entity)
    }

    /// A row with the transient values of another one.
    func withTransients<E: Entity>(of old: @autoclosure () -> E, _ row: E, _ entity: Int) -> E {
        let description = schema.entities[entity]
        guard !description.transients.isEmpty else { return row }
        var row = row
        withUnsafePointer(to: old()) { old in
            withUnsafeMutablePointer(to: &row) { description.copyTransients(from: old, to: $0) }
        }
        return row
    }

    /// Puts the changes of a copy on top of `current`, which has replaced the row that was copied: properties that the copy does
    /// not change are those of `current`.
    func put<E: Entity>(_ changed: inout E, since before: E, over current: E, _ entity: Int) {
        let description = schema.entities[entity]
        var merged = current
        withUnsafePointer(to: before) { before in
            withUnsafePointer(to: current) { current in
                guard !description.areIdentical(before, current) else { return }
                withUnsafeMutablePointer(to: &changed) { changed in
                    withUnsafeMutablePointer(to: &merged) { merged in
                        description.takeChanges(of: changed, since: before, into: merged)
                        swap(&changed.pointee, &merged.pointee)
                    }
                }
            }
        }
    }

    /// The committed state that the context reads from; a save in flight is not part of it.
    @usableFromInline var base: Snapshot { inFlight?.state.base ?? working.base }

    /// Rows that count from a base of their own instead, in the changes since that state.
    private func detachedBases(of entity: Int) -> RowTable {
        inFlight?.state.changes[entity].detachedBases ?? working.changes[entity].detachedBases
    }

    func committedValue<E: Entity>(of id: PersistentID<E>, _ entity: Int) -> E? {
        if let committed { return committed.entities[entity].rows.value(of: id.row) }
        return detachedBases(of: entity).value(of: id.row) ?? base.entities[entity].rows.value(of: id.row)
    }

    func version(of id: RowID) -> RowVersion {
        if let committed { return committed.version(of: id) ?? .none }
        return detachedBases(of: id.entity).version(of: id.row) ?? base.version(of: id) ?? .none
    }

    func changeKind(of id: RowID) -> ChangeKind? {
        // What nobody can save any more is no change.
        guard registry != nil else { return nil }
        flush()
        observation?.accessKind(of: id, working.changes)
        return working.changes.kind(of: id)
    }

    /// The stored properties in which a row differs from the base; all, if the base does not have it.
    func changedProperties(of id: RowID) -> [Property] {
        guard registry != nil else { return [] }
        flush()
        let properties = schema.entities[id.entity].properties.filter(\.isStored)
        guard working.changes.kind(of: id) != nil,
            let ours = working.snapshot.address(of: id)
        else { return [] }
        guard let original = working.knownRow(id) else { return properties }
        return properties.filter { !$0.isIdentical(in: ours, original) }
    }

    // MARK: Relationships

    /// Has the working state show what objects were told of their relationships, and the other objects what followed from it.
    @usableFromInline
    func flushRelationships() {
        flush()
        endEpoch()
    }

    /// Whether the working state has a row, or will have it with the next flush.
    func exists(_ id: RowID) -> Bool {
        if workingAddress(of: id) != nil { return true }
        flush()
        return workingAddress(of: id) != nil
    }

    /// Changes an owner's members. Whatever was written to objects before comes first, so that the last write wins.
    func changeMembers(_ relationship: ToManyDescription, _ body: (inout WorkingState) -> Void) {
        guard registry != nil else { return }
        flush()
        body(&working)
        noteChange()
        // Links change no row.
        if working.endRestoredChanges() || relationship.toOne != nil || isObservable { endEpoch() }
    }

    /// Notes that a row was looked for, whether or not it is there.
    @usableFromInline
    func didLookUp(_ id: RowID) {
        reads?.readRow(id)
        observation?.access(
            ContextObservation.Key(entity: id.entity, row: id.row, property: ContextObservation.Key.existence)
        )
    }

    /// Notes that rows were read as a whole.
    func didReadValues(of rows: [RowNumber], _ entity: Int) {
        guard let observation else { return }
        for row in rows { observation.access(ContextObservation.Key(entity: entity, row: row)) }
    }

    // MARK: Facts about the context

    /// What a fact is, for somebody who may track it.
    func isTrue(_ fact: ContextObservation.Fact) -> Bool {
        flush()
        let answer = answer(fact)
        observation?.access(fact, answer: answer)
        return answer != 0
    }

    private func answer(_ fact: ContextObservation.Fact) -> Int {
        let hasChanges = needsFlush || !working.isUnchanged || inFlight != nil
        switch fact {
        case .hasChanges: return hasChanges ? 1 : 0
        case .canUndo: return allowsUndo && history.canUndo(at: working) ? 1 : 0
        case .canRedo: return allowsUndo && history.canRedo(at: working) ? 1 : 0
        case .autosaveError: return hasChanges && autosaveError != nil ? autosaveErrorCount : 0
        }
    }

    /// Tells of what is asked of changes, and not of values. Code of the program may run.
    func tellChanges() {
        observation?.tell(working.changes, schema) { answer($0) }
    }

    /// Has those who follow them know of the commits that the context has taken over.
    func tellCommits(from published: PublishedSnapshot) {
        guard let feed else { return }
        let newest = committed ?? base
        var (last, steps) = (feed.value.commit, [PublishedSnapshot.Step]())
        while last < newest.commit {
            // The commits one by one, if they are still kept.
            var step = published.step(after: last) ?? PublishedSnapshot.Step(snapshot: newest, origin: nil, time: 0)
            if step.snapshot.commit > newest.commit {
                step = PublishedSnapshot.Step(snapshot: newest, origin: nil, time: step.time)
            }
            steps.append(step)
            last = step.snapshot.commit
        }
        feed.publish(steps)
    }

    // MARK: Last values

    /// Has objects whose rows a move of the state has taken away keep the values that those had, whenever it was that somebody
    /// looked at the objects last.
    ///
    /// - Parameter before: the state that the context had.
    func keepLastValues(of before: Snapshot) {
        guard let registry, registry.count > 0 else { return }
        for (entity, description) in schema.entities.enumerated() where registry.hasObjects(of: entity) {
            keepLastValues(of: description.type, entity, before, registry)
        }
    }

    private func keepLastValues<E: Entity>(
        of type: E.Type,
        _ entity: Int,
        _ before: Snapshot,
        _ registry: ObjectRegistry
    ) {
        let (old, new) = (before.entities[entity].rows, working.snapshot.entities[entity].rows)
        new.forEachRow(missingSince: old) { row in
            guard let object = registry.object(for: RowID(entity: entity, row: row)), let last: E = old.value(of: row)
            else { return }
            unsafeDowncast(object, to: ManagedObject<E>.self).keep(last)
        }
    }

    /// The same for rows that are about to be deleted here, by entity. Those with changes have an object until the save, for
    /// `deletedObjects`: the base does not have their last values.
    func keepLastValues(ofDeleted rows: [Set<RowNumber>]) {
        guard let registry else { return }
        for (entity, rows) in rows.enumerated() where !rows.isEmpty {
            let areChanged = !working.changes[entity].isEmpty
            guard areChanged || registry.hasObjects(of: entity) else { continue }
            keepLastValues(ofDeleted: schema.entities[entity].type, entity, rows, registry)
        }
    }

    private func keepLastValues<E: Entity>(
        ofDeleted type: E.Type,
        _ entity: Int,
        _ rows: Set<RowNumber>,
        _ registry: ObjectRegistry
    ) {
        for row in rows {
            let id = RowID(entity: entity, row: row)
            let object = registry.heldObject(for: id).map { unsafeDowncast($0, to: ManagedObject<E>.self) }
            let isChanged = working.changes.kind(of: id) == .updated
            guard object != nil || isChanged,
                let last: E = working.snapshot.entities[entity].rows.value(of: row)
            else { continue }
            object?.keep(last)
            guard isChanged else { continue }
            registry.keep(
                object ?? makeObject(PersistentID<E>(row: row), entity, last, flags: .deleted, in: registry))
        }
    }

    /// Has objects of rows that others deleted show what is pending of these now, or, where that was dropped, the rows without it.
    ///
    /// - Parameter before: the state that the context had.
    func showDetachedRows(since before: WorkingState) {
        for (entity, changes) in before.changes.entities where changes.hasDetachedRows {
            changes.detachedRows.forEachRow { row, _, _ in
                guard !working.changes[entity].detachedRows.contains(row),
                    let known = changes.detachedBases.address(of: row)
                else { return }
                show(known, asLastOf: RowID(entity: entity, row: row))
            }
        }
        for (entity, changes) in working.changes.entities where changes.hasDetachedRows {
            changes.detachedRows.forEachRow { row, _, address in
                show(address, asLastOf: RowID(entity: entity, row: row))
            }
        }
    }

    /// Has objects whose changes a save has dropped, since others deleted their rows, show these without the changes.
    func showDroppedRows(of places: [RowID], in captured: WorkingState) {
        for place in places
        where captured.changes.kind(of: place) == .updated
            && !working.base.contains(place)
            && !working.changes[place.entity].detachedRows.contains(place.row)
        {
            guard let known = captured.knownRow(place) else { continue }
            show(known, asLastOf: place)
        }
    }

    /// Has the object of a row that is gone show this one.
    private func show(_ address: UnsafeRawPointer, asLastOf place: RowID) {
        guard workingAddress(of: place) == nil,
            let object = registry?.object(for: place)
        else { return }
        show(address, place.entity, schema.entities[place.entity].type, object)
    }

    private func show<E: Entity>(_ address: UnsafeRawPointer, _ entity: Int, _ type: E.Type, _ object: AnyObject) {
        let last = address.row(as: type, in: rowLayout(of: entity)).pointee
        unsafeDowncast(object, to: ManagedObject<E>.self).keep(last)
    }

    /// Notes which properties of an object are about to show something else though no row of the state has changed, to be told
    /// with the next change of that.
    func willShow<E: Entity>(_ new: E, insteadOf old: E, of id: RowID) {
        guard let observation else { return }
        withUnsafePointer(to: old) { old in
            withUnsafePointer(to: new) { new in
                let (old, new) = (UnsafeRawPointer(old), UnsafeRawPointer(new))
                for (number, property) in schema.entities[id.entity].properties.enumerated()
                where property.isStored && !property.isIdentical(in: old, new) {
                    observation.note(number, of: id)
                }
            }
        }
    }

    /// Whether a row that others deleted is changed here, so that what is written to its object counts too.
    func isLost(_ id: RowID) -> Bool {
        working.changes[id.entity].detachedRows.contains(id.row)
            || inFlight?.state.changes[id.entity].detachedRows.contains(id.row) == true
    }

    /// Tells of an object's transient properties, which no state shows, since one of its properties was written. Which one it was
    /// is not said: a key path that was passed on would have to be made for every write there is.
    func didWriteTransients(of id: RowID) {
        guard let observation else { return }
        for (number, property) in schema.entities[id.entity].properties.enumerated() where property.isTransient {
            observation.tell(number, of: id)
        }
    }

    @usableFromInline var isObservable: Bool { observation != nil }

    /// Notes that a property was read, or the row as a whole.
    func didRead<E: Entity>(_ id: RowID, as type: E.Type, _ keyPath: PartialKeyPath<E>?) {
        guard let observation else { return }
        let property = keyPath.flatMap { keyPath in
            schema.entities[id.entity].properties.firstIndex { ($0.keyPath as AnyKeyPath) == keyPath }
        }
        observation.access(ContextObservation.Key(entity: id.entity, row: id.row, property: property))
    }
}

extension EntityDescription {
    /// Takes over into `target` each property that `changed` has other than `original`, and those that rows do not hold.
    fileprivate func takeChanges(
        of changed: UnsafeRawPointer,
        since original: UnsafeRawPointer,
        into target: UnsafeMutableRawPointer
    ) {
        for property in properties where !property.isStored || !property.isIdentical(in: changed, original) {
            property.copy(from: changed, to: target)
        }
    }
}
