@testable import Graph

/// What one context should see.
struct ContextModel: Sendable {
    /// A row changed here that others had deleted by the last refresh.
    struct DetachedRow: Sendable {
        let version: UInt64
        let base: StoreModel.Row
        var ours: StoreModel.Row
    }

    /// What the changes of a row count from that is here, where that is not the base's row: of each property that both sides
    /// changed, when the base moved by itself, the value from before.
    struct KnownRow: Equatable, Sendable {
        let version: UInt64
        var known: StoreModel.Row
    }

    /// A member that is pending and leads nowhere.
    struct Missing: Hashable, Sendable {
        let list: StoreModel.List
        let member: RowNumber
    }

    struct Changes {
        var inserted: Set<StoreModel.ID> = []
        var updated: Set<StoreModel.ID> = []
        var deleted: Set<StoreModel.ID> = []
    }

    var base: StoreModel
    var work: StoreModel
    var detachedRows: [StoreModel.ID: DetachedRow] = [:]
    /// Of rows that the base has, deleted ones among them.
    var detachedBases: [StoreModel.ID: KnownRow] = [:]
    var missing: Set<Missing> = []
    /// Which of the context's deletes removed a row.
    var deletes: [StoreModel.ID: Int] = [:]
    var deleteCount = 0
    /// Rows that were in the store before, and were deleted there, and that this context inserts again, as it knew them last.
    var returning: [StoreModel.ID: KnownRow] = [:]
    /// Rows that the next save requires to be in the store as they were known here.
    var required: [StoreModel.ID: KnownRow] = [:]
    var undo = UndoModel()

    init(base: StoreModel) {
        self.base = base
        work = base
    }

    /// Whether what is taken back by one change is over before the next one.
    var isLookedAt: Bool { !detachedBases.isEmpty || !detachedRows.isEmpty }

    /// What a row's changes count from.
    func known(_ id: StoreModel.ID) -> StoreModel.Row? {
        detachedRows[id]?.base ?? detachedBases[id]?.known ?? base.rows[id]
    }
    func version(_ id: StoreModel.ID) -> UInt64 {
        detachedRows[id]?.version ?? detachedBases[id]?.version ?? base.versions[id] ?? returning[id]?.version ?? 0
    }

    /// By comparing all rows, detached ones included.
    var changes: Changes {
        var changes = Changes(updated: Set(detachedRows.keys))
        for (id, row) in work.rows {
            guard let original = base.rows[id] else {
                changes.inserted.insert(id)
                continue
            }
            if row != original || detachedBases[id] != nil { changes.updated.insert(id) }
        }
        for id in base.rows.keys where work.rows[id] == nil && detachedRows[id] == nil { changes.deleted.insert(id) }
        return changes
    }

    var hasChanges: Bool {
        work.rows != base.rows || work.lists != base.lists || !detachedRows.isEmpty || !detachedBases.isEmpty
            || !missing.isEmpty
            || !required.isEmpty
    }

    mutating func rollback(to state: StoreModel) {
        move(to: ContextModel(base: state))
        undo.didRollBack(to: self)
    }

    /// What the context shows while what there is is being saved: that counts as its base, in the versions that it is to have.
    var whileSaving: ContextModel {
        var state = work
        (state.denyingLinks, state.lastRows) = ([], [:])
        state.versions = base.versions.filter { state.rows[$0.key] != nil }
        let changes = changes
        for id in changes.inserted { state.versions[id] = 1 }
        for id in changes.updated where state.rows[id] != nil { state.versions[id] = version(id) + 1 }
        return ContextModel(base: state)
    }

    /// The same with what the save itself made of rows: hooks, and new rows that gave way.
    func result(of commit: Commit, _ head: StoreModel) -> StoreModel {
        let changes = changes
        var state = whileSaving.base
        for (id, row) in commit.request where state.rows[id] != nil {
            state.rows[id]?.attributes = row.attributes
            // A hook may take back what was changed.
            if detachedBases[id] == nil, state.rows[id] == base.rows[id] { state.versions[id] = base.versions[id] }
        }
        for id in commit.overwritten where state.rows[id] != nil {
            guard let row = head.rows[id] else { continue }
            if state.rows[id]?.attributes != row.attributes, !changes.inserted.union(changes.updated).contains(id) {
                state.versions[id, default: 0] += 1
            }
            state.rows[id]?.attributes = row.attributes
        }
        return state
    }

    /// Goes on from another state with the same history.
    mutating func move(to state: ContextModel) {
        let undo = undo
        self = state
        self.undo = undo
    }

    /// - Parameters:
    ///   - keepingBases: whether the context moves by itself.
    ///   - told: overlaps that the program knows, which are none any more.
    mutating func refresh(to head: StoreModel, keepingBases: Bool = false, besides told: [StoreModel.ID: Overlap] = [:])
    {
        let overlaps = keepingBases ? nil : overlaps(with: head)
        rebaseChanges(to: head, keepingBases: keepingBases, besides: told)
        applyDeleteRules()
        endRestoredChanges()
        undo.didMove(to: self, telling: overlaps)
    }

    /// The base moves by itself, but for one row.
    mutating func refreshObject(_ id: StoreModel.ID, to head: StoreModel) {
        let overlap = overlaps(with: head)[id]
        refresh(to: head, keepingBases: true)
        if let row = base.rows[id] {
            detachedBases[id] = nil
            if required[id] != nil { required[id] = KnownRow(version: base.versions[id] ?? 0, known: row) }
        }
        undo.didMove(to: self, telling: overlap.map { [id: $0] } ?? [:])
    }

    /// Gives an owner these members and no others; ones that do not exist stay pending.
    mutating func assign(_ rows: [RowNumber], to list: StoreModel.List) {
        missing = missing.filter { $0.list != list }
        for row in rows where work.rows[list.memberID(row)] == nil { missing.insert(Missing(list: list, member: row)) }
        work.assign(rows, to: list)
    }

    // MARK: Moving the base

    /// Puts the changes on top of another base: a property that was not changed here is as it is there.
    ///
    /// - Parameters:
    ///   - keepingBases: whether rows that both sides changed alike go on counting from what this side knew.
    ///   - told: where they do not even then.
    mutating func rebaseChanges(
        to head: StoreModel, keepingBases: Bool = false, besides told: [StoreModel.ID: Overlap] = [:]
    ) {
        let changes = changes
        var detachedBases: [StoreModel.ID: KnownRow] = [:]
        var merged = head
        var detachedRows = detachedRows
        merged.denyingLinks = []
        merged.lastRows = work.lastRows.filter { changes.deleted.contains($0.key) }
        // What is deleted here is taken from nobody.
        for id in changes.deleted.sorted() {
            if keepingBases, let known = known(id), let theirs = head.rows[id], head.versions[id] != version(id),
                !Self.isTold(told[id], of: id, known, theirs)
            {
                detachedBases[id] = KnownRow(version: version(id), known: known)
            }
            merged.removeForReapplying(id)
        }
        for id in changes.inserted.union(changes.updated).sorted() {
            if let ours = detachedRows[id]?.ours ?? work.rows[id] {
                // Others may have brought a row back, too.
                guard let original = known(id) ?? (head.rows[id] == nil ? nil : returning[id]?.known) else {
                    if merged.rows[id] == nil {
                        merged.insert(id, ours)
                        merged.referBack(from: id)
                    } else {
                        merged.write(id, ours)
                    }
                    continue
                }
                if let theirs = merged.rows[id] {
                    // Changes made before may have nullified this reference already.
                    var known = head.rows[id] ?? theirs
                    let isTold = told[id]?.properties ?? []
                    merged.write(
                        id, self.merged(id, ours: ours, original: original, theirs: theirs, known: &known, isTold))
                    if keepingBases, let row = head.rows[id], known != row {
                        detachedBases[id] = KnownRow(version: version(id), known: known)
                    }
                    detachedRows[id] = nil
                } else if detachedRows[id] == nil, !onlyNullifies(id) {
                    detachedRows[id] = DetachedRow(version: version(id), base: original, ours: ours)
                }
            }
        }
        rebaseLists(to: &merged)
        for link in work.denyingLinks where !base.hasLink(link) { merged.denyingLinks.insert(link) }
        (base, work, self.detachedRows, self.detachedBases) = (head, merged, detachedRows, detachedBases)
        linkMissing()
        rebaseRequirements(keepingBases: keepingBases, besides: told)
    }

    /// - Parameters:
    ///   - known: the row of the new base; gets the original values of properties that both sides changed.
    ///   - told: properties whose original values it does not get.
    private func merged(
        _ id: StoreModel.ID,
        ours: StoreModel.Row,
        original: StoreModel.Row,
        theirs: StoreModel.Row,
        known: inout StoreModel.Row,
        _ told: Set<String>
    ) -> StoreModel.Row {
        var row = theirs
        let shape = StoreShape.entities[id.entity]
        for (number, value) in ours.attributes.enumerated() where value != original.attributes[number] {
            row.attributes[number] = value
            if !told.contains(shape.attributes[number]) { known.attributes[number] = original.attributes[number] }
        }
        for (slot, target) in ours.targets.enumerated() where target != original.targets[slot] {
            if nullifies(id, slot, from: original, to: ours) {
                if theirs.targets[slot] == original.targets[slot] { row.targets[slot] = 0 }
                continue
            }
            row.targets[slot] = target
            if !told.contains(shape.toOnes[slot].name) { known.targets[slot] = original.targets[slot] }
        }
        return row
    }

    /// Makes the links of which both ends are there.
    mutating func linkMissing() {
        let found = missing.filter {
            work.rows[$0.list.ownerID] != nil && work.rows[$0.list.memberID($0.member)] != nil
        }
        missing.subtract(found)
        func place(_ missing: Missing) -> (Int, RowNumber, Int, RowNumber) {
            (missing.list.shape.owners, missing.list.owner, missing.list.relationship, missing.member)
        }
        for missing in found.sorted(by: { place($0) < place($1) }) { work.insertMember(missing.member, missing.list) }
    }

    /// Has properties that are as they were known again show what the base has now.
    mutating func endRestoredChanges() {
        for id in detachedBases.keys.sorted() {
            guard let row = work.rows[id], let original = base.rows[id], var known = detachedBases[id]?.known,
                let version = detachedBases[id]?.version
            else { continue }
            var written = row
            for number in row.attributes.indices where row.attributes[number] == known.attributes[number] {
                written.attributes[number] = original.attributes[number]
                known.attributes[number] = original.attributes[number]
            }
            var oneToOnes: [Int] = []
            for slot in row.targets.indices
            where row.targets[slot] == known.targets[slot] && known.targets[slot] != original.targets[slot] {
                known.targets[slot] = original.targets[slot]
                if case .toOne = StoreShape.entities[id.entity].toOnes[slot].inverse {
                    oneToOnes.append(slot)
                } else {
                    written.targets[slot] = original.targets[slot]
                }
            }
            guard known != detachedBases[id]?.known else { continue }
            detachedBases[id] = known == original ? nil : KnownRow(version: version, known: known)
            work.write(id, written)
            for slot in oneToOnes {
                let toOne = StoreShape.entities[id.entity].toOnes[slot]
                let target = StoreModel.ID(entity: toOne.target, row: original.targets[slot])
                guard case .toOne(let inverse) = toOne.inverse else { continue }
                let other = target.row == 0 ? 0 : work.rows[target]?.targets[inverse]
                guard other == 0 || other == id.row else { continue }
                work.setTarget(of: id, slot, to: target.row)
            }
            restorePositions(of: id)
        }
    }

    /// Whether a reference ended because its target was deleted here.
    func nullifies(_ id: StoreModel.ID, _ slot: Int, from known: StoreModel.Row, to ours: StoreModel.Row) -> Bool {
        guard known.targets[slot] != 0, ours.targets[slot] == 0 else { return false }
        let toOne = StoreShape.entities[id.entity].toOnes[slot]
        let target = StoreModel.ID(entity: toOne.target, row: known.targets[slot])
        return StoreShape.rule(ofTargetOf: toOne) == .nullify && base.rows[target] != nil && work.rows[target] == nil
    }

    /// What the program made of a row, without references that ended with their targets.
    func withoutNullify(_ id: StoreModel.ID, from known: StoreModel.Row, to ours: StoreModel.Row) -> StoreModel.Row {
        var row = ours
        for slot in row.targets.indices where nullifies(id, slot, from: known, to: ours) {
            row.targets[slot] = known.targets[slot]
        }
        return row
    }

    /// Whether that is all that happened to a row.
    func onlyNullifies(_ id: StoreModel.ID) -> Bool {
        guard detachedBases[id] == nil, let ours = work.rows[id], let original = base.rows[id], ours != original else {
            return false
        }
        return withoutNullify(id, from: original, to: ours) == original
    }

    private mutating func rebaseLists(to merged: inout StoreModel) {
        // Both sides list a link. The relationship with the smaller number says whether it is one.
        func saysLinks(_ list: StoreModel.List) -> Bool {
            if case .toMany(let inverse) = list.shape.inverse { list.relationship <= inverse } else { false }
        }
        for (list, members) in base.lists where saysLinks(list) {
            for member in members {
                let link = StoreModel.Link(list: list, member: member.row)
                let isDenying = [link, link.reversed].contains { $0.map(work.denyingLinks.contains) ?? false }
                if !work.hasLink(link), !isDenying { merged.remove(link) }
            }
        }
        for (list, members) in work.lists.sorted(by: { $0.key.comesBefore($1.key) }) where saysLinks(list) {
            for member in members {
                let link = StoreModel.Link(list: list, member: member.row)
                guard !base.hasLink(link), !merged.hasLink(link), let reversed = link.reversed else { continue }
                switch (merged.rows[list.ownerID] != nil, merged.rows[list.memberID(member.row)] != nil) {
                case (true, true): merged.add(link)
                case (true, false): missing.insert(Missing(list: list, member: member.row))
                case (false, true): missing.insert(Missing(list: reversed.list, member: reversed.member))
                case (false, false): missing.insert(Missing(list: list, member: member.row))
                }
            }
        }
        for (list, members) in work.lists where list.shape.isOrdered {
            for member in members where base.lists[list]?.contains(member) != true {
                guard merged.members(list).contains(member.row) else { continue }
                merged.enter(list, member.row, key: member.key)
            }
        }
    }
}

extension StoreModel {
    /// Replaces a row that exists, and what its changed references entail at their other ends.
    mutating func write(_ id: ID, _ row: Row) {
        guard let old = rows.updateValue(Row(attributes: row.attributes, targets: rows[id]?.targets ?? []), forKey: id)
        else { return }
        for (slot, target) in row.targets.enumerated() where target != old.targets[slot] {
            setTarget(of: id, slot, to: target)
        }
    }

    /// Removes a row, remembering what it was like before.
    fileprivate mutating func removeForReapplying(_ id: ID) {
        let last = lastRows[id]
        remove(id)
        if let last { lastRows[id] = last }
    }
}

extension StoreModel.List {
    fileprivate func comesBefore(_ other: Self) -> Bool {
        (relationship, owner) < (other.relationship, other.owner)
    }
}
