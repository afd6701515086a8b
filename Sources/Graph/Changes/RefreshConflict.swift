/// An object that both this context and others have changed, as a refresh found it.
public struct RefreshConflict: Sendable, Hashable {
    /// The object.
    public let id: AnyPersistentID
    /// The properties that both sides changed; the context's values stay. None if one side deleted the object. Of an object that
    /// the next save requires to be unchanged, the properties that others changed.
    public let properties: [String]
    /// Whether others deleted the object.
    public let isDeletedThere: Bool
}

extension WorkingState {
    /// Rows that both this state and `other`, which came after its base, have changed, and required rows that `other` has
    /// changed.
    func overlaps(with other: Snapshot) -> [RefreshConflict] {
        var overlaps: [RefreshConflict] = []
        for (entity, changes) in changes.entities {
            let description = schema.entities[entity]
            let (old, new) = (base.entities[entity].rows, other.entities[entity].rows)
            let (kept, returned) = (changes.detachedBases, changes.returnBases)
            var listed: Set<RowNumber> = []
            func append(_ row: RowNumber, _ names: [String], isDeletedThere: Bool) {
                listed.insert(row)
                let id = schema.id(of: RowID(entity: entity, row: row))
                overlaps.append(RefreshConflict(id: id, properties: names, isDeletedThere: isDeletedThere))
            }
            changes.forEachChange { row, kind, _ in
                // The known row may be older than the base, if the context has kept up by itself.
                let knownVersion = kept.version(of: row) ?? old.version(of: row)
                let known =
                    kind == .inserted ? returned.address(of: row) : kept.address(of: row) ?? old.address(of: row)
                let theirs = new.address(of: row)
                guard let original = known, kind != .inserted || theirs != nil else { return }
                // A nullified reference belongs to the delete of its target.
                guard theirs != nil || !onlyNullifies(RowID(entity: entity, row: row)) else { return }
                // In a context's parent a row may have changed without a version of its own.
                guard
                    knownVersion != new.version(of: row)
                        || theirs.map({ description.areIdentical($0, original) }) == false
                else { return }
                // If others brought the row back, compare with what was changed before they deleted it.
                let lost = theirs == nil ? nil : changes.detachedRows.address(of: row)
                let ours = snapshot.entities[entity].rows.address(of: row) ?? lost
                guard ours != nil || theirs != nil else { return }
                var names: [String] = []
                if let ours, let theirs {
                    let nullified = Set(nullifiedReferences(from: original, to: ours, of: entity).map(\.property))
                    let merge = RowMerge(description, base: original, ours: ours, theirs: theirs)
                    merge.forEachChange { number, property, side in
                        if side == .both, !nullified.contains(number) { names.append(property.name) }
                    }
                    guard !names.isEmpty else { return }
                }
                append(row, names, isDeletedThere: theirs == nil)
            }
            changes.required.forEachRow { row, _, known in
                let theirs = new.address(of: row)
                guard !listed.contains(row) else { return }
                let names = theirs.map { theirs in
                    description.properties.filter { $0.isStored && !$0.isIdentical(in: theirs, known) }.map(\.name)
                }
                guard names?.isEmpty != true else { return }
                append(row, names ?? [], isDeletedThere: theirs == nil)
            }
        }
        return overlaps
    }
}
