/// Inserts, one by one and in batches.
extension ContextState {
    func insert<E: Entity>(_ value: E) -> ManagedObject<E> {
        let entity = entityIndex(of: E.self)
        let id = PersistentID<E>(row: counters.next(of: entity))
        let object = makeObject(id, entity, value, flags: .new, isDirty: true, in: registry)
        _ = register(dirty: object)
        if isObservable || changesOthers(value, entity) { flushRelationships() }
        return object
    }

    /// Whether a value says which objects are to refer to it, or refers to one that is to refer back.
    private func changesOthers<E: Entity>(_ value: E, _ entity: Int) -> Bool {
        let description = schema.entities[entity]
        guard description.hasInversesToMaintain || !description.toManys.isEmpty else { return false }
        var value = value
        return withUnsafeMutablePointer(to: &value) { address in
            description.toOnes.contains { $0.hasInverseToMaintain && $0.target(ofRowAt: address) != 0 }
                || description.toManys.contains { relationship in
                    let take = description.properties[relationship.property].takeInitialRows
                    return take?(UnsafeMutableRawPointer(address) + relationship.offset)?.isEmpty == false
                }
        }
    }

    /// Inserts without making an object of each row.
    ///
    /// Iterating a sequence may run a program's code, which may use the context. So some values are taken first, and then written
    /// without a look at the sequence.
    ///
    /// - Parameter updates: whether values go to rows that have their unique values.
    @inlinable
    func insert<E: Entity>(contentsOf values: some Sequence<E>, updates: Bool = false) -> [PersistentID<E>] {
        let entity = entityIndex(of: E.self)
        var ids: [PersistentID<E>] = []
        ids.reserveCapacity(values.underestimatedCount)
        var rest = values.makeIterator()
        var values: [E] = []
        repeat {
            values.removeAll(keepingCapacity: true)
            while values.count < Self.batchSize, let value = rest.next() { values.append(value) }
            guard !values.isEmpty else { break }
            flush()
            if !updates { beginInsert(of: values.count, entity) }
            for var value in values {
                let row = withUnsafeMutablePointer(to: &value) {
                    updates ? upsert(at: $0, entity) : insert(at: $0, entity)
                }
                ids.append(PersistentID<E>(row: row))
            }
            endInsert(entity, updates: updates)
        } while values.count == Self.batchSize
        return ids
    }

    @usableFromInline static var batchSize: Int { 16_384 }

    /// Index entries are inserted in batches, sorted: more come to the same page then. The rows do not depend on each other, as
    /// nobody was given their identifiers.
    @usableFromInline
    func beginInsert(of count: Int, _ entity: Int) {
        guard count > 1 else { return }
        batch = IndexBatch(entity: entity, of: schema, rowCount: count)
    }

    /// Inserts the row at an address.
    @usableFromInline
    func insert(at address: UnsafeMutableRawPointer, _ entity: Int) -> RowNumber {
        let row = counters.next(of: entity)
        let count = working.assignments.count
        _ = working.write(RowID(entity: entity, row: row), at: address, isNew: true, &batch)
        // Members that a row is given leave other owners, in whose orders further rows may come.
        if batch != nil, schema.entities[entity].hasInversesToMaintain,
            working.assignments[count...].contains(where: { $0.relationship.toOne != nil }),
            let batch = batch.take()
        {
            working.insertEntries(of: batch)
        }
        if batch == nil, working.applyAssignments() { endEpoch() }
        return row
    }

    /// Hands the values at an address over to the row that has their unique values, or inserts them.
    @usableFromInline
    func upsert(at address: UnsafeMutableRawPointer, _ entity: Int) -> RowNumber {
        guard let row = working.rowToUpdate(for: address, of: entity) else { return insert(at: address, entity) }
        working.handOverValues(at: address, to: RowID(entity: entity, row: row))
        return row
    }

    func upsert<E: Entity>(_ value: E) -> ManagedObject<E> {
        let id = insert(contentsOf: [value], updates: true)[0]
        if let object = object(for: id, in: registry) { return object }
        // An observer has deleted it.
        return registeredObject(for: id)
            ?? makeObject(id, entityIndex(of: E.self), value, flags: .deleted, in: registry)
    }

    @usableFromInline
    func endInsert(_ entity: Int, updates: Bool) {
        if let batch = batch.take() { working.insertEntries(of: batch) }
        if updates { _ = working.endRestoredChanges() }
        noteChange()
        if working.applyAssignments() || updates || maintainsInverses(entity) { endEpoch() }
    }
}
