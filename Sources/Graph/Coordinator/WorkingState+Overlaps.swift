extension WorkingState {
    /// What this state's changes and another state, which came after its base, have both changed.
    func overlaps(with other: Snapshot) -> [MergeOverlap] {
        var overlaps: [MergeOverlap] = []
        for (entity, changes) in changes.entities {
            let description = schema.entities[entity]
            let (old, new) = (base.entities[entity].rows, other.entities[entity].rows)
            let kept = changes.lostBases
            changes.forEachChange { row, kind, _ in
                // What was known of a row may be older than the base, if the context has kept up by itself.
                let knownVersion = kept.version(of: row) ?? old.version(of: row)
                guard kind != .inserted, let original = kept.address(of: row) ?? old.address(of: row) else { return }
                let theirs = new.address(of: row)
                // In a context's parent a row may have changed without a version of its own.
                guard
                    knownVersion != new.version(of: row)
                        || theirs.map({ description.areIdentical($0, original) }) == false
                else { return }
                let ours = snapshot.entities[entity].rows.address(of: row)
                guard ours != nil || theirs != nil else { return }
                var names: [String] = []
                if let ours, let theirs {
                    func differ(_ lhs: UnsafeRawPointer, _ rhs: UnsafeRawPointer, _ property: Property) -> Bool {
                        !property.operations.isIdentical(lhs + property.offset, rhs + property.offset)
                    }
                    let nullified = Set(nullifiedReferences(from: original, to: ours, of: entity).map(\.property))
                    names = description.properties.enumerated()
                        .filter { number, property in
                            property.isStored && differ(ours, original, property) && differ(theirs, original, property)
                                && !nullified.contains(number)
                        }
                        .map(\.element.name)
                    guard !names.isEmpty else { return }
                }
                overlaps.append(
                    MergeOverlap(id: schema.id(of: row, of: entity), properties: names, isDeletedThere: theirs == nil)
                )
            }
        }
        return overlaps
    }
}
