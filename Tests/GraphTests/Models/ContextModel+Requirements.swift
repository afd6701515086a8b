@testable import Graph

/// R2: rows that a save depends on without changing them.
extension ContextModel {
    /// What a refresh says of a row.
    struct Overlap: Equatable, Sendable {
        let properties: Set<String>
        let isDeletedThere: Bool

        /// The properties of which it still tells; none for the row as a whole, nil for nothing.
        func remaining(
            of id: StoreModel.ID, from before: StoreModel.Row?, to after: StoreModel.Row?
        ) -> Set<String>? {
            guard let before, let after else { return (before == nil) == (after == nil) ? properties : nil }
            let others = ContextModel.differences(of: id, before, after)
            if properties.isEmpty { return others.isEmpty ? [] : nil }
            let rest = properties.subtracting(others)
            return rest.isEmpty ? nil : rest
        }
    }

    /// Whether the program has been told of all that others changed of a row.
    static func isTold(
        _ told: Overlap?, of id: StoreModel.ID, _ known: StoreModel.Row, _ theirs: StoreModel.Row
    ) -> Bool {
        guard let names = told?.properties else { return false }
        return names.isEmpty || differences(of: id, known, theirs).isSubset(of: names)
    }

    /// Has the next save require a row as it was read. One that is new here is nobody else's.
    mutating func require(_ id: StoreModel.ID) {
        guard required[id] == nil, let row = base.rows[id] else { return }
        required[id] = KnownRow(version: base.versions[id] ?? 0, known: row)
    }

    /// What is required when the base has moved.
    ///
    /// - Parameters:
    ///   - keepingBases: whether the program has not been told, so that rows go on counting from what was known.
    ///   - told: what it has been told of rows even then.
    mutating func rebaseRequirements(keepingBases: Bool, besides told: [StoreModel.ID: Overlap] = [:]) {
        for (id, known) in required {
            if let row = base.rows[id], !keepingBases || Self.isTold(told[id], of: id, known.known, row) {
                required[id] = KnownRow(version: base.versions[id] ?? 0, known: row)
            } else if base.rows[id] == nil, work.rows[id] != nil {
                required[id] = nil
            } else {
                required[id] = known
            }
        }
    }

    /// Requires what a nested context did, or what was required while a save was in flight that failed, of this one's own base.
    ///
    /// - Parameter before: what there was here before the other one's changes came.
    mutating func absorbRequirements(of request: ContextModel, newIn before: StoreModel) {
        for (id, known) in request.required where required[id] == nil {
            if base.rows[id] != nil {
                require(id)
            } else if known.version != 0, before.rows[id] == nil, work.rows[id] == nil {
                required[id] = known
            }
        }
    }

    /// An undo takes back a group, and not what was required since.
    mutating func keepRequirements(of later: ContextModel, madeAfter group: ContextModel?) {
        for (id, known) in later.required where required[id] == nil && group?.required[id] == nil {
            if base.rows[id] != nil || work.rows[id] == nil { required[id] = known }
        }
    }

    /// Has what is changed and required of a row of the base count from another version.
    mutating func count(_ id: StoreModel.ID, from version: UInt64?) {
        base.versions[id] = version
        if let known = required[id], let version { required[id] = KnownRow(version: version, known: known.known) }
    }

    /// R18: what a refresh to that state finds changed on both sides, and what of the required rows is not as it was.
    func overlaps(with head: StoreModel) -> [StoreModel.ID: Overlap] {
        var overlaps: [StoreModel.ID: Overlap] = [:]
        let changes = changes
        for id in changes.inserted.union(changes.updated).union(changes.deleted) {
            guard let original = known(id) ?? returning[id]?.known else { continue }
            let theirs = head.rows[id]
            guard version(id) != head.versions[id] ?? 0 || theirs != original else { continue }
            switch (detachedRows[id]?.ours ?? work.rows[id], theirs) {
            case (nil, nil):
                break
            case (nil, _?):
                overlaps[id] = Overlap(properties: [], isDeletedThere: false)
            case (_?, nil):
                // A row that was gone when the base moved last has been named then; one that comes back is new there.
                guard detachedRows[id] == nil, !changes.inserted.contains(id), !onlyNullifies(id) else { break }
                overlaps[id] = Overlap(properties: [], isDeletedThere: true)
            case (let ours?, let theirs?):
                let wanted = withoutNullify(id, from: original, to: ours)
                let both = Self.differences(of: id, original, wanted)
                    .intersection(Self.differences(of: id, original, theirs))
                guard !both.isEmpty else { break }
                let others = required[id].map { Self.differences(of: id, $0.known, theirs) } ?? []
                overlaps[id] = Overlap(properties: both.union(others), isDeletedThere: false)
            }
        }
        for (id, known) in required where overlaps[id] == nil {
            let theirs = head.rows[id]
            let names = theirs.map { Self.differences(of: id, known.known, $0) } ?? []
            guard theirs == nil || !names.isEmpty else { continue }
            overlaps[id] = Overlap(properties: names, isDeletedThere: theirs == nil)
        }
        return overlaps
    }

    /// The names of the properties in which two rows differ.
    private static func differences(
        of id: StoreModel.ID, _ one: StoreModel.Row, _ other: StoreModel.Row
    ) -> Set<String> {
        let shape = StoreShape.entities[id.entity]
        var names: Set<String> = []
        for (number, name) in shape.attributes.enumerated() where one.attributes[number] != other.attributes[number] {
            names.insert(name)
        }
        for (slot, toOne) in shape.toOnes.enumerated() where one.targets[slot] != other.targets[slot] {
            names.insert(toOne.name)
        }
        return names
    }
}
