/// Changes of many rows, without objects for them.
extension ContextState {
    /// Has a closure change the values of some rows. If it throws, nothing has changed. Returns the number of rows.
    @usableFromInline
    func update<E: Entity>(_ rows: [RowNumber], _ change: (inout E) throws -> Void) throws -> Int {
        let entity = entityIndex(of: E.self)
        didChange(rows, of: entity)
        let start = savepoint(endingUndoGroup: false)
        do {
            try update(rows, of: entity) { try change(&$0.assumingMemoryBound(to: E.self).pointee) }
        } catch {
            restore(start)
            throw error
        }
        return rows.count
    }

    /// The closure changes copies, and what has become of these is written when it has returned: it may use the context. A row that
    /// gets another reference with an inverse changes other rows when it is written: it comes after those before it, and the closure
    /// sees the next row after that.
    private func update(
        _ rows: [RowNumber],
        of entity: Int,
        _ change: (UnsafeMutableRawPointer) throws -> Void
    ) throws {
        let description = schema.entities[entity]
        let inverses = description.toOnes.filter(\.hasInverseToMaintain)
        var rest = rows[...]
        while !rest.isEmpty {
            let before = flushed
            let old = before.entities[entity].rows
            var (table, last): (RowTable, RowNumber?) = (old, nil)
            try table.change(rest) { row, copy, _ in
                try change(copy)
                try description.requireNoMembers(at: copy)
                description.resetTransients(of: copy)
                if !inverses.isEmpty, let original = old.address(of: row),
                    inverses.contains(where: { $0.target(ofRowAt: copy) != $0.target(ofRowAt: original) })
                {
                    last = row
                }
                return last == nil
            }
            flush()
            let independent = rest.prefix { $0 != last }
            let next = rest.dropFirst(independent.count)
            if working.snapshot.isIdentical(to: before) {
                let all = table
                if let last, let original = old.address(of: last) {
                    table.change([last]) { _, copy, _ in
                        description.takeChanges(from: UnsafeRawPointer(copy), to: original, into: copy)
                        return true
                    }
                }
                if !independent.isEmpty { working.update(Array(independent), of: entity, to: &table) }
                if let last { write(RowID(entity: entity, row: last), from: all, since: before) }
            } else {
                for row in rest.dropLast(max(next.count - 1, 0)) {
                    write(RowID(entity: entity, row: row), from: table, since: before)
                }
            }
            didChangeMany()
            rest = next.dropFirst()
        }
    }

    /// Writes what a table has changed in a row since a state, on top of what else has changed in it.
    private func write(_ id: RowID, from table: RowTable, since before: Snapshot) {
        let description = schema.entities[id.entity]
        guard let changed = table.address(of: id.row), let original = before.address(of: id),
            let current = workingAddress(of: id)
        else { return }
        description.layout.withCopy(of: current) { current in
            description.takeChanges(from: original, to: changed, into: current)
            _ = working.write(id, at: current, isNew: false)
        }
    }

    /// Deletes rows, as far as they are still there when it is their turn. Returns their number.
    @usableFromInline
    func delete<E: Entity>(_ rows: [RowNumber], of type: E.Type) -> Int {
        let entity = entityIndex(of: type)
        didChange(rows, of: entity)
        let before = working
        working.delete(rows, of: entity)
        keepLastValues(of: before.snapshot)
        keepLastObjects(since: before)
        didChangeMany()
        return rows.count
    }

    /// Keeps the last values of changed rows that have been deleted.
    func keepLastObjects(since before: WorkingState) {
        for (entity, changes) in before.changes.entities where !changes.isEmpty {
            let (old, new) = (before.snapshot.entities[entity].rows, working.snapshot.entities[entity].rows)
            new.forEachRow(missingSince: old) { row in
                guard changes.kind(of: row) == .updated else { return }
                keepLastObject(schema.entities[entity].type, RowID(entity: entity, row: row), before.snapshot)
            }
        }
    }

    /// Keeps the last value of a changed row for `deletedObjects`: the base does not have it.
    private func keepLastObject<E: Entity>(_ type: E.Type, _ place: RowID, _ before: Snapshot) {
        guard let registry, let last: E = before.entities[place.entity].rows.value(of: place.row) else { return }
        let object =
            registry.object(for: place).map { unsafeDowncast($0, to: ManagedObject<E>.self) }
            ?? makeObject(PersistentID<E>(row: place.row), place.entity, last, flags: .deleted, in: registry)
        registry.keep(object)
    }

    /// Notes rows that changes depend on.
    private func didChange(_ rows: [RowNumber], of entity: Int) {
        flush()
        reads?.note { for row in rows { $0.readRow(RowID(entity: entity, row: row)) } }
    }

    private func didChangeMany() {
        _ = working.endRestoredChanges()
        noteChange()
        endEpoch()
    }
}

extension EntityDescription {
    /// Members are stored elsewhere: a row that a closure has changed must name none.
    fileprivate func requireNoMembers(at address: UnsafeMutableRawPointer) throws(GraphError) {
        for relationship in toManys {
            let property = properties[relationship.property]
            guard property.takeInitialRows?(address + property.offset) != nil else { continue }
            throw .toManyNotUpdatable("\(name).\(property.name)")
        }
    }
}
