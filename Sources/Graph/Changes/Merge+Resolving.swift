/// What a policy makes of a conflict.
extension Merge {
    func resolve(_ conflict: Conflict, in resolution: inout Resolution, _ origin: ChangeOrigin) {
        do {
            try resolveWithoutNullify(conflict, in: &resolution)
        } catch {
            resolution.failed.append(report(of: conflict, because: error, origin))
        }
    }

    private func report(of conflict: Conflict, because error: any Error, _ origin: ChangeOrigin) -> MergeConflict {
        var report = schema.entities[conflict.id.entity].conflict(
            of: conflict.id.row,
            versions: reportedVersions(of: conflict),
            base: conflict.base,
            ours: conflict.ours,
            theirs: conflict.theirs
        )
        report.reason = error is Unresolved ? nil : "\(error)"
        report.ourOrigin = origin
        report.theirOrigin = originOfTheirs(conflict.id)
        return report
    }

    /// Rows that were never saved have no versions; a report uses 0 for a row that does not exist.
    private func reportedVersions(of conflict: Conflict) -> (old: RowVersion, new: RowVersion) {
        guard comparison == .rows else { return conflict.versions }
        let version = max(conflict.versions.old, RowVersion.none.next)
        return (conflict.base == nil ? .none : version, conflict.theirs == nil ? .none : version)
    }

    private struct Unresolved: Error {}

    /// A reference that was nullified by a delete does not count as a change of its row: it is dropped or kept with the delete.
    private func resolveWithoutNullify(_ conflict: Conflict, in resolution: inout Resolution) throws {
        guard !conflict.nullified.isEmpty, let ours = conflict.ours else {
            return try resolve(conflict, in: &resolution)
        }
        try schema.entities[conflict.id.entity].layout.withCopy(of: ours) { ours in
            for (toOne, target) in conflict.nullified {
                (ours + toOne.offset).storeBytes(of: target, as: RowNumber.self)
            }
            var conflict = conflict
            conflict.ours = UnsafeRawPointer(ours)
            try resolve(conflict, in: &resolution)
        }
    }

    private func resolve(_ conflict: Conflict, in resolution: inout Resolution) throws {
        if let merge = policy.rule(for: schema.entities[conflict.id.entity].type) {
            return try resolve(conflict, by: merge, in: &resolution)
        }
        guard !conflict.isRequirement, let kind = conflict.kind else {
            // Whichever side wins, a row that is not changed here is not written, and changes that count from theirs stay.
            guard policy.kind != .error else { throw Unresolved() }
            resolution.passedOver.insert(conflict.id)
            return
        }
        if kind != .deleted, conflict.theirs != nil, conflict.base != nil {
            return try resolveUpdates(conflict, in: &resolution)
        }
        switch policy.kind {
        case .error:
            throw Unresolved()
        case .storeTrump, .rollback:
            keep(conflict, in: &resolution)
        case .objectTrump, .overwrite:
            // A delete needs nothing more.
            guard kind != .deleted, let ours = conflict.ours else { return }
            resolution.write(ours, at: conflict.id, conflict.versions.old)
        }
    }

    /// Keeps the row as head has it.
    private func keep(_ conflict: Conflict, in resolution: inout Resolution) {
        if conflict.kind == .inserted, let theirs = conflict.theirs {
            resolution.write(theirs, at: conflict.id, conflict.versions.new)
        } else {
            resolution.dropped.append(conflict.id)
        }
    }

    /// Both sides changed the row.
    private func resolveUpdates(_ conflict: Conflict, in resolution: inout Resolution) throws {
        guard let base = conflict.base, let ours = conflict.ours, let theirs = conflict.theirs
        else { throw Unresolved() }
        let description = schema.entities[conflict.id.entity]
        let merge = RowMerge(description, base: base, ours: ours, theirs: theirs)
        let rules = policy.rules(forPropertiesOf: description)
        var isCovered = !rules.isEmpty
        merge.forEachChange { number, _, side in
            if side != .theirs, rules[number] == nil { isCovered = false }
        }
        let kind = isCovered ? .objectTrump : policy.kind
        guard kind != .error else { throw Unresolved() }
        guard kind != .rollback || !rules.isEmpty else { return keep(conflict, in: &resolution) }
        try description.layout.withCopy(of: kind == .overwrite ? ours : theirs) { merged in
            try merge.forEachChange { number, property, side in
                let offset = property.offset
                switch (rules[number], side) {
                case (let rule?, .both):
                    try rule(base + offset, ours + offset, theirs + offset, merged + offset)
                case (.some, .ours):
                    property.copy(from: ours, to: merged)
                case (.some, .theirs):
                    property.copy(from: theirs, to: merged)
                case (nil, .ours) where kind == .objectTrump || kind == .storeTrump,
                    (nil, .both) where kind == .objectTrump:
                    property.copy(from: ours, to: merged)
                default:
                    break
                }
            }
            resolution.write(merged, at: conflict.id, conflict.versions.new)
        }
    }

    /// The program's merge function decides, also about what this side did to a row whose requirement alone conflicts.
    ///
    /// A delete here that it agrees to stands or is dropped as a whole, with that of the rows it went with.
    private func resolve(_ conflict: Conflict, by merge: EntityMerge, in resolution: inout Resolution) throws {
        guard let any = conflict.theirs ?? conflict.ours ?? conflict.base else { throw Unresolved() }
        let description = schema.entities[conflict.id.entity]
        try description.layout.withCopy(of: any) { merged in
            switch try merge(conflict.base, conflict.ours, conflict.theirs, merged) {
            case .keep where conflict.kind != nil:
                keep(conflict, in: &resolution)
            case .keep:
                resolution.passedOver.insert(conflict.id)
            case .delete:
                guard conflict.kind != .deleted else { return }
                if conflict.kind != nil { keep(conflict, in: &resolution) }
                resolution.deleted.append(conflict.id)
            case .merged:
                if conflict.ours == nil { resolution.dropped.append(conflict.id) }
                description.forgetMembers(in: merged)
                description.resetTransients(of: merged)
                resolution.write(merged, at: conflict.id, max(conflict.versions.old, conflict.versions.new))
            }
        }
    }
}

typealias EntityMerge =
    @Sendable (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer) throws ->
    MergeRule.Outcome
typealias ValueMerge =
    @Sendable (UnsafeRawPointer, UnsafeRawPointer, UnsafeRawPointer, UnsafeMutableRawPointer) throws -> Void

extension MergePolicy {
    /// The first rule for an entity's objects.
    fileprivate func rule(for type: any Entity.Type) -> EntityMerge? {
        for rule in rules where rule.entity == type {
            if case .entity(let merge) = rule.scope { return merge }
        }
        return nil
    }

    /// The first rule for each of an entity's properties, by property number.
    fileprivate func rules(forPropertiesOf description: EntityDescription) -> [Int: ValueMerge] {
        var merges: [Int: ValueMerge] = [:]
        for rule in rules where rule.entity == description.type {
            guard case .property(let keyPath, let merge) = rule.scope,
                let number = description.number(of: keyPath), merges[number] == nil
            else { continue }
            merges[number] = merge
        }
        return merges
    }

    /// - Precondition: every rule is for an entity of the schema, or for a stored property of one.
    func requireRules(toFit schema: Schema) {
        for rule in rules {
            guard let entity = schema.index(of: rule.entity) else {
                preconditionFailure("a merge rule is for \(rule.entity), which the store was opened without")
            }
            guard case .property(let keyPath, _) = rule.scope else { continue }
            precondition(
                schema.entities[entity].number(of: keyPath) != nil,
                "a merge rule is for \(keyPath), which is no stored property of \(schema.entities[entity].name)"
            )
        }
    }
}

extension EntityDescription {
    /// The number of a stored property.
    fileprivate func number(of keyPath: any AnyKeyPath & Sendable) -> Int? {
        properties.firstIndex { $0.isStored && ($0.keyPath as AnyKeyPath) == (keyPath as AnyKeyPath) }
    }

    /// Empties a row's to-many values.
    fileprivate func forgetMembers(in row: UnsafeMutableRawPointer) {
        for relationship in toManys {
            _ = properties[relationship.property].takeInitialRows?(row + relationship.offset)
        }
    }
}
