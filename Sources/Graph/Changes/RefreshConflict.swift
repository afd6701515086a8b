/// An object that both this context and others have changed, as a refresh found it.
public struct RefreshConflict: Sendable, Hashable {
    /// The object.
    public let id: AnyPersistentID
    /// The properties that both sides changed; the context's values stay. None if one side deleted the object. Of an object that
    /// the next save requires to be unchanged, all properties that others changed.
    public let properties: [String]
    /// Whether others deleted the object.
    public let isDeletedThere: Bool
}

/// What a program knows of others' changes of an object, since a refresh has told it.
struct ToldOverlap {
    let id: AnyPersistentID
    /// Empty for the object as a whole.
    let properties: Set<String>
    /// The last step to undo that was made before.
    let through: UInt64

    init(_ conflict: RefreshConflict, through: UInt64) {
        self.init(id: conflict.id, properties: Set(conflict.properties), through: through)
    }

    private init(id: AnyPersistentID, properties: Set<String>, through: UInt64) {
        (self.id, self.properties, self.through) = (id, properties, through)
    }

    /// What the program knows of it in a later state: others have not changed that again. nil if nothing.
    func remaining(from before: Snapshot, to after: Snapshot) -> ToldOverlap? {
        guard let entity = after.schema.index(named: id.entityName) else { return nil }
        let (id, description) = (RowID(entity: entity, row: id.row), after.schema.entities[entity])
        switch (before.address(of: id), after.address(of: id)) {
        case (nil, nil): return self
        case (let old?, let new?) where properties.isEmpty: return description.areIdentical(old, new) ? self : nil
        case (let old?, let new?):
            let same = description.properties.filter { properties.contains($0.name) && $0.isIdentical(in: old, new) }
            guard !same.isEmpty else { return nil }
            return ToldOverlap(id: self.id, properties: Set(same.map(\.name)), through: through)
        default: return nil
        }
    }

    /// With what else the program knows of the object.
    func joined(with other: ToldOverlap) -> ToldOverlap {
        let isWhole = properties.isEmpty || other.properties.isEmpty
        return ToldOverlap(
            id: id, properties: isWhole ? [] : properties.union(other.properties), through: max(through, other.through))
    }
}

extension WorkingState {
    /// Rows that both this state and `other`, which came after its base, have changed, and required rows that `other` has
    /// changed.
    func refreshConflicts(with other: Snapshot) -> [RefreshConflict] {
        var conflicts: [RefreshConflict] = []
        for (entity, changes) in changes.entities {
            let theirs = other.entities[entity].rows
            var listed: Set<RowNumber> = []
            func append(_ row: RowNumber, _ properties: [String]?) {
                guard let properties else { return }
                listed.insert(row)
                let id = schema.id(of: RowID(entity: entity, row: row))
                conflicts.append(
                    RefreshConflict(id: id, properties: properties, isDeletedThere: !theirs.contains(row)))
            }
            changes.forEachChange { row, kind, _ in
                let id = RowID(entity: entity, row: row)
                var names = propertiesChangedTwice(of: id, kind, theirs)
                if let twice = names, !twice.isEmpty, let known = changes.required.address(of: row) {
                    let others = propertiesChanged(of: id, since: known, in: theirs) ?? []
                    names = twice + others.filter { !twice.contains($0) }
                }
                append(row, names)
            }
            changes.required.forEachRow { row, _, known in
                guard !listed.contains(row) else { return }
                append(row, propertiesChanged(of: RowID(entity: entity, row: row), since: known, in: theirs))
            }
        }
        return conflicts
    }

    /// The properties of a changed row that others changed, too: none if one side deleted it; nil if it is no conflict.
    private func propertiesChangedTwice(of id: RowID, _ kind: ChangeKind, _ rows: RowTable) -> [String]? {
        let description = schema.entities[id.entity]
        let changes = changes[id.entity]
        // The known row may be older than the base, if the context has kept up by itself.
        let (detached, base) = (changes.detachedBases, base.entities[id.entity].rows)
        let knownVersion = detached.version(of: id.row) ?? base.version(of: id.row)
        let known =
            kind == .inserted
            ? changes.returnBases.address(of: id.row) : detached.address(of: id.row) ?? base.address(of: id.row)
        guard let known else { return nil }
        guard let theirs = rows.address(of: id.row) else {
            // A nullified reference belongs to the delete of its target. If both sides deleted the row, they agree.
            let isChangeLost = kind == .updated && snapshot.contains(id) && knownVersion != nil && !onlyNullifies(id)
            return isChangeLost ? [] : nil
        }
        // In a context's parent a row may have changed without a version of its own.
        guard knownVersion != rows.version(of: id.row) || !description.areIdentical(theirs, known) else { return nil }
        // If others brought the row back, compare with what was changed before they deleted it.
        guard let ours = snapshot.address(of: id) ?? changes.detachedRows.address(of: id.row) else { return [] }
        let nullified = nullifiedReferences(from: known, to: ours, of: id.entity).map(\.property)
        var names: [String] = []
        RowMerge(description, base: known, ours: ours, theirs: theirs).forEachChange { number, property, side in
            if side == .both, !nullified.contains(number) { names.append(property.name) }
        }
        return names.isEmpty ? nil : names
    }

    /// The stored properties of a required row that others changed: none if they deleted it; nil if they did not change it.
    private func propertiesChanged(of id: RowID, since known: UnsafeRawPointer, in rows: RowTable) -> [String]? {
        guard let theirs = rows.address(of: id.row) else { return [] }
        let names = schema.entities[id.entity].properties
            .filter { $0.isStored && !$0.isIdentical(in: theirs, known) }.map(\.name)
        return names.isEmpty ? nil : names
    }
}
