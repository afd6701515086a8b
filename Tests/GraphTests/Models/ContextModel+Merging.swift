@testable import Graph

/// What becomes of rows that both sides changed: R5 and R6, for one row after the other.
extension ContextModel {
    /// What a context is compared with when it saves.
    enum Comparison {
        /// The store, by versions.
        case store
        /// The context that it is nested in, by rows.
        case parent
    }

    private struct Conflict {
        let id: StoreModel.ID
        let base: StoreModel.Row?
        let ours: StoreModel.Row?
        let theirs: StoreModel.Row?
        let version: UInt64
        let text: String
        /// Whether the row is only required to be unchanged, or what was done to it here counts from theirs.
        var isRequirement = false
        /// What was done to the row here.
        var isChanged = true
        var isInserted = false
        var isDeleted = false
    }

    private struct Resolution {
        var dropped: [StoreModel.ID] = []
        var rows: [StoreModel.ID: StoreModel.Row] = [:]
        var deleted: [StoreModel.ID] = []
        /// Required rows of which nothing becomes.
        var passedOver: Set<StoreModel.ID> = []
        var failed: Set<String> = []
    }

    /// Puts the changes on top of what others have made, and resolves what conflicts.
    ///
    /// - Returns: the rows that did.
    @discardableResult
    mutating func rebase(
        onto theirs: StoreModel,
        by comparison: Comparison,
        _ policy: StorePolicy
    ) throws(Failure) -> [StoreModel.ID] {
        var resolution = Resolution()
        let conflicts = conflicts(with: theirs, by: comparison)
        let known = Dictionary(uniqueKeysWithValues: conflicts.map { ($0.id, $0) })
        for conflict in conflicts { resolve(conflict, policy, &resolution) }
        try Failure.check(.conflicts, resolution.failed)
        discardRows(resolution.dropped, cascadingIn: theirs)
        rebaseChanges(to: theirs)
        for (id, row) in resolution.rows.sorted(by: { $0.key < $1.key }) {
            detachedRows[id] = nil
            if work.rows[id] == nil {
                // One that was never in the store is new there.
                if base.rows[id] == nil, let conflict = known[id], conflict.version != 0, let old = conflict.base {
                    returning[id] = KnownRow(version: conflict.version, known: old)
                }
                work.insert(id, row)
                work.referBack(from: id)
            } else {
                work.write(id, row)
            }
        }
        linkMissing()
        for id in resolution.deleted { delete(id) }
        return conflicts.map(\.id).filter { !resolution.passedOver.contains($0) }
    }

    private func conflicts(with theirs: StoreModel, by comparison: Comparison) -> [Conflict] {
        let changes = changes
        var conflicts: [Conflict] = []
        for id in changes.inserted.union(changes.updated).union(changes.deleted).sorted() {
            let original = known(id) ?? (theirs.rows[id] == nil ? nil : returning[id]?.known)
            let (ours, other) = (detachedRows[id]?.ours ?? work.rows[id], theirs.rows[id])
            let old = version(id)
            let new = theirs.versions[id] ?? 0
            let isChangedThere = comparison == .store ? old != new : original != other
            let text = comparison == .store ? "\(id) \(old) \(new)" : "\(id) \(other == nil ? "deleted" : "changed")"
            if changes.inserted.contains(id) {
                // Both have taken back the same delete, and perhaps made the same change then.
                guard let other, let ours else { continue }
                let isWritten = original.map { withoutNullify(id, from: $0, to: ours) != $0 } ?? false
                guard ours != other || isChangedThere && isWritten else { continue }
            } else {
                guard isChangedThere, ours != nil || other != nil, detachedRows[id] != nil || !onlyNullifies(id) else {
                    continue
                }
            }
            conflicts.append(
                Conflict(
                    id: id, base: original, ours: wanted(id, ours), theirs: other, version: old, text: text,
                    isInserted: changes.inserted.contains(id), isDeleted: changes.deleted.contains(id)))
        }
        let found = Set(conflicts.map(\.id))
        for (id, known) in required.sorted(by: { $0.key < $1.key }) where !found.contains(id) {
            let other = theirs.rows[id]
            let new = theirs.versions[id] ?? 0
            guard comparison == .store ? known.version != new : known.known != other else { continue }
            let change = other == nil ? "deleted" : "changed"
            let text = comparison == .store ? "\(id) \(known.version) \(new)" : "\(id) \(change)"
            let isChanged = changes.inserted.union(changes.updated).contains(id) && !onlyNullifies(id)
            let isDeleted = changes.deleted.contains(id) && other != nil
            conflicts.append(
                Conflict(
                    id: id, base: known.known, ours: wanted(id, work.rows[id]), theirs: other, version: known.version,
                    text: text, isRequirement: true, isChanged: isChanged || isDeleted, isDeleted: isDeleted))
        }
        return conflicts
    }

    private func wanted(_ id: StoreModel.ID, _ ours: StoreModel.Row?) -> StoreModel.Row? {
        ours.map { ours in (known(id) ?? returning[id]?.known).map { withoutNullify(id, from: $0, to: ours) } ?? ours }
    }

    private func resolve(_ conflict: Conflict, _ policy: StorePolicy, _ resolution: inout Resolution) {
        let id = conflict.id
        func keep() {
            if conflict.isInserted { resolution.rows[id] = conflict.theirs } else { resolution.dropped.append(id) }
        }
        if policy.hasFunction(for: id.entity) {
            switch StorePolicy.Decision(conflict.ours?.attributes[0], conflict.theirs?.attributes[0]) {
            case .keep where conflict.isChanged:
                keep()
            case .keep:
                resolution.passedOver.insert(id)
            case .delete:
                // A delete here stands or falls with what else it took along.
                guard !conflict.isDeleted else { return }
                if conflict.isChanged { keep() }
                resolution.deleted.append(id)
            case .row(let label):
                if conflict.ours == nil { resolution.dropped.append(id) }
                guard var row = conflict.ours ?? conflict.theirs else { return }
                row.attributes[0] = label
                resolution.rows[id] = row
            }
            return
        }
        if conflict.isRequirement {
            // What is not changed here is not written either, whichever side wins.
            resolution.passedOver.insert(id)
            if policy.otherwise == .error { resolution.failed.insert(conflict.text) }
            return
        }
        if let base = conflict.base, let ours = conflict.ours, let theirs = conflict.theirs {
            let counter = policy.counter(of: id.entity)
            if policy.otherwise == .rollback, counter == nil { return keep() }
            return resolve(id, base, ours, theirs, conflict.text, policy, &resolution)
        }
        switch policy.otherwise {
        case .storeTrump, .rollback: keep()
        case .objectTrump, .overwrite: if let ours = conflict.ours { resolution.rows[id] = ours }
        default: resolution.failed.insert(conflict.text)
        }
    }

    /// Both sides changed a row that both still have.
    private func resolve(
        _ id: StoreModel.ID,
        _ base: StoreModel.Row,
        _ ours: StoreModel.Row,
        _ theirs: StoreModel.Row,
        _ text: String,
        _ policy: StorePolicy,
        _ resolution: inout Resolution
    ) {
        let counter = policy.counter(of: id.entity)
        let isCovered =
            counter != nil && ours.targets == base.targets
            && ours.attributes.indices.allSatisfy { $0 == counter || ours.attributes[$0] == base.attributes[$0] }
        let winner = isCovered ? .objectTrump : policy.otherwise
        if winner == .error { resolution.failed.insert(text) }
        func merged<Value: Equatable>(_ base: Value, _ ours: Value, _ theirs: Value) -> Value {
            switch winner {
            case .storeTrump: theirs == base ? ours : theirs
            case .objectTrump: ours == base ? theirs : ours
            case .overwrite: ours
            default: theirs
            }
        }
        var row = theirs
        for number in row.attributes.indices {
            let (old, here, there) = (base.attributes[number], ours.attributes[number], theirs.attributes[number])
            row.attributes[number] = number == counter ? here + there - old : merged(old, here, there)
        }
        for slot in row.targets.indices {
            row.targets[slot] = merged(base.targets[slot], ours.targets[slot], theirs.targets[slot])
        }
        resolution.rows[id] = row
    }

    // MARK: Nested contexts

    /// What a context nested in this one starts from.
    var nested: ContextModel {
        var state = work
        (state.denyingLinks, state.lastRows) = ([], [:])
        state.versions = base.versions
        return ContextModel(base: state)
    }

    /// Hands a nested context's changes to the one that it is nested in.
    mutating func save(into parent: inout ContextModel, _ policy: StorePolicy) throws(Failure) {
        guard hasChanges else { return }
        var request = self
        let theirs = parent.nested.base
        try request.rebase(onto: theirs, by: .parent, policy)
        request.applyDeleteRules()
        if policy.otherwise != .error {
            request.missing = []
            request.work.dropDanglingReferences(since: theirs)
        }
        let missing = request.missingMembers(of: request.work, [:])
        try Failure.check(.dangling, request.work.danglingReferences(since: theirs).union(missing))
        parent.absorb(request)
        self = parent.nested
    }

    mutating func absorb(_ request: ContextModel) {
        var state = request.work
        state.denyingLinks.formUnion(work.denyingLinks.filter { state.rows[$0.list.ownerID] == nil })
        state.lastRows.merge(work.lastRows) { new, _ in new }
        // What this one had deleted itself stays deleted by that.
        for (id, number) in request.deletes where state.rows[id] == nil && work.rows[id] != nil {
            deletes[id] = deleteCount + number
        }
        deleteCount += request.deleteCount
        // A row that the other one deleted asks for no members any more.
        missing = missing.filter { work.rows[$0.list.ownerID] == nil || state.rows[$0.list.ownerID] != nil }
        missing.formUnion(request.missing)
        returning.merge(request.returning.filter { base.rows[$0.key] == nil }) { _, new in new }
        let (before, hadDetachedRows) = (work, !detachedRows.isEmpty)
        work = state
        for (id, lost) in detachedRows.sorted(by: { $0.key < $1.key }) {
            guard let theirs = state.rows[id] else { continue }
            // It comes back with what was changed here and not there.
            let known = request.returning[id]?.known ?? lost.base
            work.write(id, theirs.takingChanges(from: known, to: lost.ours))
            returning[id] = KnownRow(version: lost.version, known: lost.base)
            detachedRows[id] = nil
        }
        linkMissing()
        absorbRequirements(of: request, newIn: before)
        guard request.hasChanges else { return }
        applyDeleteRules(of: hadDetachedRows ? nil : request.changes.deleted)
        endRestoredChanges()
    }
}

extension StoreModel.Row {
    /// With the values that differ between two other rows, where this one is as the first.
    fileprivate func takingChanges(from known: StoreModel.Row, to other: StoreModel.Row) -> StoreModel.Row {
        var row = self
        for number in attributes.indices where attributes[number] == known.attributes[number] {
            row.attributes[number] = other.attributes[number]
        }
        for slot in targets.indices where targets[slot] == known.targets[slot] {
            row.targets[slot] = other.targets[slot]
        }
        return row
    }
}
