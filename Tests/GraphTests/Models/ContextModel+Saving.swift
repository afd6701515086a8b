@testable import Graph

/// What a save should come to.
extension ContextModel {
    /// The first stage of a save that refuses it, with all that it refuses.
    struct Failure: Error, Equatable {
        enum Stage { case conflicts, notUnique, dangling, denied, invalid }
        let stage: Stage
        let offenders: Set<String>

        /// Nothing happens without offenders.
        static func check(_ stage: Stage, _ offenders: Set<String>) throws(Failure) {
            if !offenders.isEmpty { throw Failure(stage: stage, offenders: offenders) }
        }
    }

    /// Checks the save against head and moves head if it succeeds.
    ///
    /// - Returns: new rows that gave way to others, with those.
    mutating func save(
        to head: inout StoreModel,
        _ policy: StorePolicy
    ) throws(Failure) -> [StoreModel.ID: StoreModel.ID] {
        guard hasChanges else { return [:] }
        var request = self
        let commit = try request.commit(to: &head, policy)
        undo.didRunHooks(on: work.rows, commit.request)
        move(to: ContextModel(base: head))
        undo.didSave(as: self)
        return commit.replaced
    }

    struct Commit {
        /// New rows that gave way to others, with those.
        let replaced: [StoreModel.ID: StoreModel.ID]
        /// Rows that have taken over what those had.
        let overwritten: Set<StoreModel.ID>
        /// The rows whose conflicts were resolved.
        let resolved: [StoreModel.ID]
        /// What the save contained, as `willSave()` left it.
        let request: [StoreModel.ID: StoreModel.Row]
    }

    /// Makes a commit of the changes, and leaves the context as it is.
    ///
    mutating func commit(to head: inout StoreModel, _ policy: StorePolicy) throws(Failure) -> Commit {
        var request = self
        request.willSave()
        let rows = request.work.rows
        let resolved = try request.rebase(onto: head, by: .store, policy)
        var merged = request.work
        merged.applyDeleteRules(since: head)
        if policy.otherwise != .error {
            request.missing = []
            merged.dropDanglingReferences(since: head)
        }
        let replacing = merged.replaceDuplicates(since: head, Set(request.returning.keys))
        let replaced = replacing.replaced
        try Failure.check(.notUnique, merged.uniquenessViolations(since: head))
        let missing = request.missingMembers(of: merged, replaced)
        try Failure.check(.dangling, merged.danglingReferences(since: head).union(missing))
        let parted = merged.deniedReplacements(replacing)
        try Failure.check(.denied, merged.deniedDeletes(since: head).union(parted))
        try Failure.check(.invalid, merged.wrongCounts())
        try Failure.check(.invalid, merged.invalidRows())
        head = merged.committed(after: head, returning: request.returning)
        return Commit(replaced: replaced, overwritten: replacing.overwritten, resolved: resolved, request: rows)
    }

    private mutating func willSave() {
        let changes = changes
        for id in changes.inserted.union(changes.updated) where !onlyNullifies(id) {
            if var row = work.rows[id] {
                StoreShape.willSave(&row, of: id.entity)
                work.rows[id]?.attributes = row.attributes
            }
        }
    }

    func missingMembers(of merged: StoreModel, _ replaced: [StoreModel.ID: StoreModel.ID]) -> Set<String> {
        Set(
            missing.compactMap { missing in
                let owner = replaced[missing.list.ownerID] ?? missing.list.ownerID
                // One that went with this save asks for nothing.
                guard merged.rows[owner] != nil || work.rows[missing.list.ownerID] == nil else { return nil }
                return "\(owner) \(missing.list.shape.name) \(missing.list.memberID(missing.member))"
            }
        )
    }
}

extension StoreModel {
    // MARK: Uniqueness

    /// How giving way goes on.
    struct Replacing {
        /// Rows that are in the store, or have been.
        let known: Set<ID>
        /// New rows, and what they have become.
        var replaced: [ID: ID] = [:]
        /// Rows to which others have given way.
        var survivors: Set<ID> = []
        /// Those of them that have taken over what the others had.
        var overwritten: Set<ID> = []
        /// Rows that are to be deleted unless others give way to them, each with those to which it belonged.
        var outgoing: [ID: Set<ID>] = [:]
        /// Survivors that displaced a one-to-one related row, with the slot.
        var displaced: [(survivor: ID, slot: Int, related: ID)] = []

        func isLeaving(_ id: ID) -> Bool { outgoing[id] != nil && !survivors.contains(id) }
    }

    /// Has new rows with a unique value that another row has give way to it, where the constraint says so, and deletes what
    /// this leaves without its owner.
    ///
    /// - Parameter returning: rows that head does not have, and that are not new for all that.
    fileprivate mutating func replaceDuplicates(since head: StoreModel, _ returning: Set<ID>) -> Replacing {
        var replacing = Replacing(known: returning.union(head.rows.keys))
        repeat {
            while replaceDuplicatesOnce(&replacing) {}
        } while deleteOutgoing(&replacing)
        return replacing
    }

    private mutating func replaceDuplicatesOnce(_ replacing: inout Replacing) -> Bool {
        var isChanged = false
        // Those that are made alike meanwhile are for the next time.
        let sharing = rows.keys.filter { id in
            !replacing.known.contains(id)
                && StoreShape.entities[id.entity].uniques.contains { !duplicates(of: id, $0).isEmpty }
        }
        for id in sharing.sorted() where rows[id] != nil && !replacing.isLeaving(id) {
            var survivors: Set<ID> = []
            var policies: Set<UniquenessPolicy> = []
            for unique in StoreShape.entities[id.entity].uniques {
                let others = duplicates(of: id, unique).filter { other in
                    (other < id || replacing.known.contains(other))
                        && !(unique.policy == .reject && replacing.isLeaving(other))
                }
                guard !others.isEmpty else { continue }
                survivors.formUnion(others)
                policies.insert(unique.policy)
            }
            guard survivors.count == 1, let survivor = survivors.first, !policies.contains(.reject) else { continue }
            let policy: UniquenessPolicy? = [.replace, .upsert].first { policies.contains($0) }
            replace(id, by: survivor, policy ?? .keepExisting, &replacing)
            isChanged = true
        }
        return isChanged
    }

    private mutating func deleteOutgoing(_ replacing: inout Replacing) -> Bool {
        let leaving = replacing.outgoing.filter { replacing.isLeaving($0.key) }
        replacing.outgoing = [:]
        for (id, owners) in leaving {
            for owner in owners { part(id, from: owner) }
        }
        for id in leaving.keys.sorted() { delete(id) }
        return !leaving.isEmpty
    }

    /// Ends whatever has one row own another.
    private mutating func part(_ id: ID, from owner: ID) {
        for (slot, toOne) in StoreShape.entities[owner.entity].toOnes.enumerated() where toOne.rule == .cascade {
            if toOne.target == id.entity, rows[owner]?.targets[slot] == id.row { setTarget(of: owner, slot, to: 0) }
        }
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() {
            guard case .toMany(let number) = toOne.inverse, StoreShape.toManys[number].rule == .cascade,
                toOne.target == owner.entity, rows[id]?.targets[slot] == owner.row
            else { continue }
            setTarget(of: id, slot, to: 0)
        }
        for link in links(of: owner) where link.list.shape.rule == .cascade && link.list.memberID(link.member) == id {
            remove(link)
        }
    }

    /// What a row leads to by relationships that cascade.
    private func owned(by id: ID) -> Set<ID> {
        var owned: Set<ID> = []
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() where toOne.rule == .cascade {
            if let target = rows[id]?.targets[slot], target != 0 { owned.insert(ID(entity: toOne.target, row: target)) }
        }
        for number in StoreShape.entities[id.entity].toManys where StoreShape.toManys[number].rule == .cascade {
            let list = List(relationship: number, owner: id.row)
            owned.formUnion(members(list).map { list.memberID($0) })
        }
        return owned
    }

    /// The other rows with the same value, if that is not nil.
    private func duplicates(of id: ID, _ unique: StoreShape.Unique) -> [ID] {
        func key(_ id: ID) -> [UInt64]? {
            guard let row = rows[id] else { return nil }
            let value = row.attributes[unique.attribute]
            let target = unique.reference.map { row.targets[$0] } ?? 1
            return unique.isOptional && value == 0 || target == 0 ? nil : [UInt64(value), target]
        }
        guard let own = key(id) else { return [] }
        return ids(of: id.entity).filter { $0 != id && key($0) == own }
    }

    /// Has one row stand for another.
    private mutating func replace(
        _ id: ID,
        by survivor: ID,
        _ policy: UniquenessPolicy,
        _ replacing: inout Replacing
    ) {
        guard let new = rows[id], let old = rows[survivor] else { return }
        let takesOver = policy != .keepExisting
        replacing.replaced = replacing.replaced.mapValues { $0 == id ? survivor : $0 }
        replacing.replaced[id] = survivor
        replacing.survivors.insert(survivor)
        if takesOver { replacing.overwritten.insert(survivor) }
        if policy == .replace {
            let kept = owned(by: id)
            for other in kept { replacing.outgoing[other] = nil }
            for other in owned(by: survivor).subtracting(kept) where other != id && other != survivor {
                replacing.outgoing[other, default: []].insert(survivor)
            }
        }
        let toOnes = StoreShape.entities[id.entity].toOnes
        var targets = old.targets
        for (slot, toOne) in toOnes.enumerated() {
            var isOneToOne: Bool { if case .toOne = toOne.inverse { true } else { false } }
            if new.targets[slot] != 0, takesOver || isOneToOne && old.targets[slot] == 0 {
                targets[slot] = new.targets[slot]
            }
            if targets[slot] == id.row, toOne.target == id.entity { targets[slot] = survivor.row }
        }
        var places: [(List, OrderKey)] = []
        for (slot, toOne) in toOnes.enumerated() {
            guard takesOver, case .toMany(let number) = toOne.inverse else { continue }
            let member = lists[List(relationship: number, owner: new.targets[slot])]?.first { $0.row == id.row }
            if let key = member?.key { places.append((List(relationship: number, owner: targets[slot]), key)) }
        }
        for slot in toOnes.indices { setTarget(of: id, slot, to: 0) }
        if takesOver { rows[survivor]?.attributes = new.attributes }
        // What stays as it was takes nothing from what is new.
        for slot in toOnes.indices where targets[slot] != old.targets[slot] {
            setTarget(of: survivor, slot, to: targets[slot])
        }
        for (list, key) in places { enter(list, survivor.row, key: key) }
        for (entity, shape) in StoreShape.entities.enumerated() {
            for (slot, toOne) in shape.toOnes.enumerated() where toOne.target == id.entity {
                var referrers = ids(of: entity).filter { rows[$0]?.targets[slot] == id.row }
                if case .toMany(let number) = toOne.inverse {
                    referrers = members(List(relationship: number, owner: id.row)).map { ID(entity: entity, row: $0) }
                }
                for referrer in referrers { setTarget(of: referrer, slot, to: survivor.row) }
            }
        }
        for link in links(of: id) {
            let key = link.reversed.flatMap { reversed in
                lists[reversed.list]?.first { $0.row == reversed.member }?.key
            }
            remove(link)
            let isItself = link.list.memberID(link.member) == id
            let list = List(relationship: link.list.relationship, owner: survivor.row)
            let new = Link(list: list, member: isItself ? survivor.row : link.member)
            add(new)
            // In the member's list the one that stays has the place that the other one had.
            if !isItself, let key, let reversed = new.reversed { enter(reversed.list, reversed.member, key: key) }
        }
        remove(id)
        lastRows[id] = nil
        for (slot, toOne) in toOnes.enumerated() {
            guard case .toOne(let inverse) = toOne.inverse else { continue }
            for (row, owner) in [(new, id), (old, survivor)] {
                let related = ID(entity: toOne.target, row: row.targets[slot])
                guard related != id, related != survivor, let targets = rows[related]?.targets,
                    targets[inverse] != survivor.row
                else { continue }
                if toOne.rule == .cascade { replacing.outgoing[related, default: []].formUnion([]) }
                if toOne.rule == .deny, owner == survivor, replacing.known.contains(survivor) {
                    replacing.displaced.append((survivor, slot, related))
                }
            }
        }
    }

    /// Displaced rows whose delete rule denies that.
    fileprivate func deniedReplacements(_ replacing: Replacing) -> Set<String> {
        let denied = replacing.displaced.filter { rows[$0.survivor] != nil && rows[$0.related] != nil }
        return Set(
            denied.map { survivor, slot, related in
                let shape = StoreShape.entities[survivor.entity]
                return "\(survivor) \(shape.name).\(shape.toOnes[slot].name) 1 \([related]) replaced"
            })
    }

    fileprivate func uniquenessViolations(since head: StoreModel) -> Set<String> {
        var violations: Set<String> = []
        for (id, row) in rows {
            for unique in StoreShape.entities[id.entity].uniques {
                if let old = head.rows[id], old.attributes[unique.attribute] == row.attributes[unique.attribute],
                    unique.reference.map({ old.targets[$0] == row.targets[$0] }) ?? true
                {
                    continue
                }
                if !duplicates(of: id, unique).isEmpty { violations.insert("\(id) \(unique.name)") }
            }
        }
        return violations
    }

    // MARK: References, counts and validation

    func danglingReferences(since head: StoreModel) -> Set<String> {
        var dangling: Set<String> = []
        for (id, row) in rows {
            for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() {
                let target = ID(entity: toOne.target, row: row.targets[slot])
                if target.row != 0, rows[target] == nil, head.rows[id]?.targets[slot] != target.row {
                    dangling.insert("\(id) \(toOne.name) \(target)")
                }
            }
        }
        return dangling
    }

    /// Of all rows: those that a save does not touch are right anyway.
    fileprivate func wrongCounts() -> Set<String> {
        var wrong: Set<String> = []
        for (id, row) in rows {
            let shape = StoreShape.entities[id.entity]
            for (slot, toOne) in shape.toOnes.enumerated() where toOne.isRequired && row.targets[slot] == 0 {
                wrong.insert("\(id) \(toOne.name)")
            }
            for number in shape.toManys {
                let toMany = StoreShape.toManys[number]
                let count = members(List(relationship: number, owner: id.row)).count
                if count < toMany.minimum || count > toMany.maximum { wrong.insert("\(id) \(toMany.name)") }
            }
        }
        return wrong
    }

    fileprivate func invalidRows() -> Set<String> {
        var invalid: Set<String> = []
        for (id, row) in rows {
            if let property = StoreShape.invalidProperty(of: row, of: id.entity) { invalid.insert("\(id) \(property)") }
        }
        return invalid
    }

    // MARK: Committing

    /// The state that the next commit makes of this one, or head if there is nothing to commit.
    fileprivate func committed(after head: StoreModel, returning: [ID: ContextModel.KnownRow]) -> StoreModel {
        guard rows != head.rows || lists != head.lists else { return head }
        var state = self
        state.versions = head.versions.filter { rows[$0.key] != nil }
        for (id, row) in rows where head.rows[id] != row { state.versions[id, default: 0] += 1 }
        state.commits += 1
        // Nothing that was ever called by this identifier had this version.
        for id in returning.keys where rows[id] != nil && head.rows[id] == nil { state.versions[id] = state.commits }
        state.denyingLinks = []
        state.lastRows = [:]
        return state
    }
}
