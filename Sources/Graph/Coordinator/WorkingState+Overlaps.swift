extension WorkingState {
    /// What this state's changes and another state, which came after its base, have both changed.
    func overlaps(with other: Snapshot) -> [MergeOverlap] {
        var overlaps: [MergeOverlap] = []
        for (entity, description) in schema.entities.enumerated() {
            let (old, new) = (base.entities[entity].rows, other.entities[entity].rows)
            changes[entity].forEachChange { row, kind, _ in
                guard kind != .inserted, let original = old.address(of: row), old.version(of: row) != new.version(of: row)
                else { return }
                let theirs = new.address(of: row)
                let ours = snapshot.entities[entity].rows.address(of: row)
                guard ours != nil || theirs != nil else { return }
                var names: [String] = []
                if let ours, let theirs {
                    func differs(_ row: UnsafeRawPointer, _ property: Property) -> Bool {
                        !property.operations.isIdentical(row + property.offset, original + property.offset)
                    }
                    names = description.properties.filter { $0.isStored && differs(ours, $0) && differs(theirs, $0) }
                        .map(\.name)
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
