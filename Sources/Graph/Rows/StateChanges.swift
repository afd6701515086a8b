/// The rows and links that differ between two states of one store, wherever those states are.
protocol StateChanges: Sendable {
    var schema: Schema { get }
    /// The places of the two states in history.
    var tokens: (before: HistoryToken, after: HistoryToken) { get }

    /// Calls the body with each row of an entity that differs, in ascending order; nil stands for a row that one state lacks.
    func forEachRow(
        of entity: Int,
        _ body: (RowID, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) throws -> Void
    ) rethrows

    /// One row in both states, which may be equal; valid while this value is.
    func row(_ id: RowID) -> (old: UnsafeRawPointer?, new: UnsafeRawPointer?)

    /// The version of a row that differs in the state after, or before if that lacks it.
    func version(of id: RowID) -> RowVersion?

    /// Calls the body with each link table that differs, in the order of their numbers. One that records leave out, since it
    /// follows from another one, may be missing.
    func forEachLinkTable(_ body: (Int, LinkTableDescription, LinkTable.Difference) throws -> Void) rethrows

    /// The owners whose members or order differ, in ascending order.
    func changedOwners(through relationship: ToManyDescription) -> [RowNumber]
}

extension StateChanges {
    /// The objects of an entity that differ, in the order of their insertion; none if the store was opened without the entity.
    func objectChanges<E: Entity>(of type: E.Type) -> [Change<E>] {
        guard let entity = schema.index(of: type) else { return [] }
        var changes: [Change<E>] = []
        forEachRow(of: entity) { id, old, new in
            changes.append(change(of: PersistentID(row: id.row), old, new, in: schema.entities[entity].layout))
        }
        return changes
    }

    /// The objects of an entity in which a property differs, with those that one state lacks.
    func objectChanges<E: Entity>(in keyPath: PartialKeyPath<E>) -> [Change<E>] {
        var changes: [Change<E>] = []
        forEachChange(in: keyPath) { id, old, new, layout in changes.append(change(of: id, old, new, in: layout)) }
        return changes
    }

    /// Whether there is one; of a to-many relationship, whether an object has other members.
    func hasChanges<E: Entity>(in keyPath: PartialKeyPath<E>) -> Bool {
        if let entity = schema.index(of: E.self),
            let toMany = schema.entities[entity].toMany(at: keyPath)
        {
            return !changedOwners(through: toMany).isEmpty
        }
        do {
            try forEachChange(in: keyPath) { _, _, _, _ in throw Found() }
            return false
        } catch { return true }
    }

    private func forEachChange<E: Entity>(
        in keyPath: PartialKeyPath<E>,
        _ body: (PersistentID<E>, UnsafeRawPointer?, UnsafeRawPointer?, RowLayout) throws -> Void
    ) rethrows {
        guard let entity = schema.index(of: E.self) else { return }
        let description = schema.entities[entity]
        let property = description.properties.first { ($0.keyPath as AnyKeyPath) == keyPath && $0.isStored }
        guard let property else {
            preconditionFailure("\(keyPath) is no attribute or reference of \(description.name)")
        }
        try forEachRow(of: entity) { id, old, new in
            if let old, let new, property.isIdentical(in: old, new) { return }
            try body(PersistentID(row: id.row), old, new, description.layout)
        }
    }

    /// The objects of all entities that differ, one entity after the other.
    func allObjectChanges() -> [AnyChange] {
        var changes: [AnyChange] = []
        forEachRow { id, old, new in
            let entity = schema.entities[id.entity]
            let properties = entity.properties.filter { property in
                guard property.isStored else { return false }
                guard let old, let new else { return true }
                return !property.isIdentical(in: old, new)
            }
            changes.append(
                AnyChange(
                    id: schema.id(of: id), before: old.map(entity.value), after: new.map(entity.value),
                    changedProperties: properties.map(\.name)))
        }
        return changes
    }

    /// The links that differ, of the tables that records have.
    func linkChanges() -> [LinkChange] {
        var changes: [LinkChange] = []
        forEachLinkTable { number, table, difference in
            guard table.isRecorded(as: number) else { return }
            let property = schema.entities[table.entity].properties[table.property].name
            for (links, isMade) in [(difference.removed, false), (difference.added, true)] {
                changes += links.map { link in
                    LinkChange(
                        owner: schema.id(of: RowID(entity: table.entity, row: link.owner)), property: property,
                        member: schema.id(of: RowID(entity: table.members, row: link.member)), isMade: isMade)
                }
            }
        }
        return changes
    }

    /// nil if the object is the same in both states, or in neither.
    func objectChange<E>(of id: PersistentID<E>) -> Change<E>? {
        guard let entity = schema.index(of: E.self) else { return nil }
        return withExtendedLifetime(self) {
            let (old, new) = row(RowID(entity: entity, row: id.row))
            let description = schema.entities[entity]
            switch (old, new) {
            case (nil, nil): return nil
            case (let old?, let new?) where description.areIdentical(old, new): return nil
            default: return change(of: id, old, new, in: description.layout)
            }
        }
    }

    private func change<E>(
        of id: PersistentID<E>, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?, in layout: RowLayout
    ) -> Change<E> {
        func value(_ address: UnsafeRawPointer?) -> E? { address?.row(as: E.self, in: layout).pointee }
        return Change(id: id, before: value(old), after: value(new))
    }

    /// The objects with other members, or with the same in another order, in the order of their insertion.
    func owners<E, Target>(
        withChanged keyPath: any KeyPath<E, ToMany<Target>> & Sendable
    ) -> [PersistentID<E>] {
        guard let entity = schema.index(of: E.self) else { return [] }
        return changedOwners(through: schema.toMany(keyPath, of: entity)).map { PersistentID(row: $0) }
    }

    /// Whether any object of an entity differs; false if the store was opened without the entity.
    func hasChanges<E: Entity>(of type: E.Type) -> Bool {
        schema.index(of: type).map(hasChanges) ?? false
    }

    func hasChanges(of entity: Int) -> Bool {
        do {
            try forEachRow(of: entity) { _, _, _ in throw Found() }
            return false
        } catch { return true }
    }

    /// Calls the body with each row of any entity that differs, one entity after the other.
    func forEachRow(
        _ body: (RowID, _ old: UnsafeRawPointer?, _ new: UnsafeRawPointer?) throws -> Void
    ) rethrows {
        for entity in schema.entities.indices { try forEachRow(of: entity, body) }
    }
}

extension EntityDescription {
    fileprivate func toMany(at keyPath: AnyKeyPath) -> ToManyDescription? {
        toManys.first { (properties[$0.property].keyPath as AnyKeyPath) == keyPath }
    }
}

/// Ends a walk over rows.
private struct Found: Error {}
