@testable import Graph

/// R36: what undoing a saved group, or doing it again, may make of a state. The model does not predict all of it; this says of
/// each property, row, link and place whether it was the group's to take back.
struct SavedUndo {
    /// Between which states the group happened.
    let before: StoreModel
    let after: StoreModel
    /// What there was when it was taken back.
    let current: StoreModel
    let result: StoreModel
    /// What the engine says that it left alone.
    let conflicts: [UndoConflict]

    func check() throws {
        let named = Set(conflicts.map { StoreModel.ID($0.id) })
        for id in Set([before, after, current, result].flatMap(\.rows.keys)).sorted() {
            try check(id, isNamed: named.contains(id))
        }
        for number in StoreShape.toManys.indices { try checkLinks(number) }
        try checkPlaces()
    }

    // MARK: Rows

    private func check(_ id: StoreModel.ID, isNamed: Bool) throws {
        let (old, new) = (before.rows[id], after.rows[id])
        let (now, then) = (current.rows[id], result.rows[id])
        switch (old, new) {
        case (nil, nil):
            try demand((now == nil) == (then == nil)) { "\(id), which was none of the group's, came or went" }
            try demand(now?.attributes == then?.attributes) { "\(id), which was none of the group's, is another" }
            guard let now, let then else { break }
            try checkReferences(id, of: now, in: then)
        case (nil, let new?):
            try checkInserted(id, new, now, then, isNamed: isNamed)
        case (let old?, nil):
            guard let then else { throw mismatch("\(id) did not come back") }
            let expected = now ?? old
            try demand(then.attributes == expected.attributes) { "\(id) came back as \(then), not as \(expected)" }
            guard now == nil else { break }
            for slot in old.targets.indices where !isOneToOne(id, slot) {
                let target = target(of: id, slot, old.targets[slot])
                let wanted = result.rows[target] == nil ? 0 : target.row
                try demand(then.targets[slot] == wanted) { "\(id) came back with \(then.targets), not \(old.targets)" }
            }
        case (let old?, let new?):
            guard let now else {
                try demand(then == nil) { "\(id), which others deleted, is there" }
                break
            }
            guard let then else { throw mismatch("\(id) is gone") }
            try checkUpdated(id, old, new, now, then, isNamed: isNamed)
        }
    }

    private func checkInserted(
        _ id: StoreModel.ID,
        _ new: StoreModel.Row,
        _ now: StoreModel.Row?,
        _ then: StoreModel.Row?,
        isNamed: Bool
    ) throws {
        guard let now else {
            return try demand(then == nil) { "\(id), which others deleted, is there" }
        }
        guard let then else {
            let isAsLeft =
                now.attributes == new.attributes
                && zip(now.targets, new.targets).allSatisfy { $0 == $1 || $0 == 0 }
            try demand(isAsLeft) { "\(id) is gone, though others had made \(now) of \(new)" }
            return try demand(others(on: id, in: current).subtracting(others(on: id, in: after)).isEmpty) {
                "\(id) is gone, though others had come to lead to it"
            }
        }
        try demand(then.attributes == now.attributes) { "\(id), which stayed, is another" }
        try checkReferences(id, of: now, in: then)
        try demand(isNamed) { "\(id) stayed, and nobody says so" }
        // What else was taken back may lead to it.
        let isAsLeft =
            now == new && others(on: id, in: current) == others(on: id, in: after)
            && others(on: id, in: result).isSubset(of: others(on: id, in: after))
        try demand(!isAsLeft || cascades(from: id)) { "\(id) stayed, though it was as the group had left it" }
    }

    private func checkUpdated(
        _ id: StoreModel.ID,
        _ old: StoreModel.Row,
        _ new: StoreModel.Row,
        _ now: StoreModel.Row,
        _ then: StoreModel.Row,
        isNamed: Bool
    ) throws {
        for number in old.attributes.indices {
            let isOurs = old.attributes[number] != new.attributes[number]
            let isAsLeft = now.attributes[number] == new.attributes[number]
            let wanted = isOurs && isAsLeft ? old.attributes[number] : now.attributes[number]
            try demand(then.attributes[number] == wanted) {
                "\(id) has \(then.attributes), where \(now.attributes) was, of which the group had made \(new.attributes)"
                    + " of \(old.attributes)"
            }
            let isLeft = isOurs && !isAsLeft && now.attributes[number] != old.attributes[number]
            try demand(!isLeft || isNamed) {
                "\(id) kept \(now.attributes), and nobody says so: the group had made \(new.attributes) of \(old.attributes)"
            }
        }
        for slot in old.targets.indices where !isOneToOne(id, slot) {
            let isOurs = old.targets[slot] != new.targets[slot]
            let isAsLeft = now.targets[slot] == new.targets[slot]
            let target = target(of: id, slot, old.targets[slot])
            let isPossible = target.row == 0 || (result.rows[target] != nil && !stayed(target))
            let wanted = isOurs && isAsLeft && isPossible ? target.row : now.targets[slot]
            let isGone = then.targets[slot] == 0 && result.rows[self.target(of: id, slot, wanted)] == nil
            try demand(then.targets[slot] == wanted || isGone) {
                "\(id) refers to \(then.targets), where \(now.targets) was, of which the group had made \(new.targets)"
                    + " of \(old.targets)"
            }
        }
    }

    /// None but those that ended with their targets are others.
    private func checkReferences(_ id: StoreModel.ID, of now: StoreModel.Row, in then: StoreModel.Row) throws {
        for slot in now.targets.indices where !isOneToOne(id, slot) && now.targets[slot] != then.targets[slot] {
            try demand(then.targets[slot] == 0 && result.rows[target(of: id, slot, now.targets[slot])] == nil) {
                "\(id) refers to \(then.targets), not \(now.targets)"
            }
        }
    }

    /// Its delete was dropped, or it came back.
    private func stayed(_ id: StoreModel.ID) -> Bool {
        before.rows[id] != nil && after.rows[id] == nil && current.rows[id] != nil
    }

    private func target(of id: StoreModel.ID, _ slot: Int, _ row: RowNumber) -> StoreModel.ID {
        StoreModel.ID(entity: StoreShape.entities[id.entity].toOnes[slot].target, row: row)
    }

    /// What one end has follows from the other one; that they agree is checked elsewhere.
    private func isOneToOne(_ id: StoreModel.ID, _ slot: Int) -> Bool {
        if case .toOne = StoreShape.entities[id.entity].toOnes[slot].inverse { true } else { false }
    }

    /// A row that refers or is linked to another one, and through what.
    private struct Tie: Hashable {
        let id: StoreModel.ID
        let isLink: Bool
        let number: Int
    }

    /// What leads to a row, apart from what is gone with it.
    private func others(on id: StoreModel.ID, in state: StoreModel) -> Set<Tie> {
        let referrers = state.referrers(to: id).map { Tie(id: $0.id, isLink: false, number: $0.slot) }
        let linked = state.links(of: id).map {
            Tie(id: $0.list.memberID($0.member), isLink: true, number: $0.list.relationship)
        }
        return Set(referrers + linked).filter { result.rows[$0.id] != nil }
    }

    private func cascades(from id: StoreModel.ID) -> Bool {
        guard let row = current.rows[id] else { return false }
        let toOnes = zip(StoreShape.entities[id.entity].toOnes, row.targets)
        return toOnes.contains { $0.rule == .cascade && $1 != 0 }
            || current.referrers(to: id).contains {
                StoreShape.rule(ofTargetOf: StoreShape.entities[$0.id.entity].toOnes[$0.slot]) == .cascade
            }
            || current.links(of: id).contains { $0.list.shape.rule == .cascade }
    }

    // MARK: Members

    /// Of the two sides of a link the first one says whether it is there.
    private func checkLinks(_ number: Int) throws {
        guard case .toMany(let inverse) = StoreShape.toManys[number].inverse, number <= inverse else { return }
        var links: Set<StoreModel.Link> = []
        for state in [before, after, current, result] {
            for (list, members) in state.lists where list.relationship == number {
                links.formUnion(members.map { StoreModel.Link(list: list, member: $0.row) })
            }
        }
        for link in links {
            let ends = [link.list.ownerID, link.list.memberID(link.member)]
            let isPossible = ends.allSatisfy { result.rows[$0] != nil }
            let wanted =
                switch (before.hasLink(link), after.hasLink(link)) {
                case (false, true): false
                case (true, false) where !ends.contains(where: stayed): true
                default: current.hasLink(link)
                }
            try demand(result.hasLink(link) == (wanted && isPossible)) {
                "\(ends[0]).\(link.list.shape.name) has \(wanted ? "not " : "")\(ends[1])"
            }
        }
    }

    private func checkPlaces() throws {
        for (list, members) in result.lists where list.shape.isOrdered {
            for member in members {
                func key(_ state: StoreModel) -> OrderKey? {
                    state.lists[list]?.first { $0.row == member.row }?.key
                }
                guard let old = key(before), let new = key(after), let now = key(current) else { continue }
                let isOurs = old != new && now == new
                try demand(member.key == (isOurs ? old : now)) {
                    "\(list.ownerID).\(list.shape.name) has \(list.memberID(member.row)) where it \(isOurs ? "is" : "was not") to be"
                }
            }
        }
    }

    private func mismatch(_ description: String) -> StoreProgramRun.Mismatch {
        StoreProgramRun.Mismatch(description: description)
    }
}

extension Context {
    /// All that there is, past the objects.
    func storeModel() -> StoreModel { StoreModel(state.flushed) }
}

extension StoreModel {
    /// What a state of the engine has.
    init(_ snapshot: Snapshot) {
        commits = snapshot.commit.number
        for (entity, type) in StoreShape.types.enumerated() { addRows(of: type, entity, snapshot) }
    }

    private mutating func addRows<E: StoreEntity>(of type: E.Type, _ entity: Int, _ snapshot: Snapshot) {
        guard let number = snapshot.schema.index(of: E.self) else { return }
        let description = snapshot.schema.entities[number]
        // By name, since a version of the program may declare them in another order.
        let relationships = StoreShape.entities[entity].toManys.flatMap { relationship in
            description.toManys.filter {
                description.properties[$0.property].name == StoreShape.toManys[relationship].name
            }.map { (relationship, $0) }
        }
        snapshot.entities[number].rows.forEachRow { row, version, address in
            let value = address.assumingMemoryBound(to: E.self).pointee
            let id = ID(entity: entity, row: row)
            rows[id] = Row(attributes: value.numbers, targets: value.targets)
            versions[id] = version.number
            for (relationship, description) in relationships {
                let members = snapshot.members(of: row, through: description).map { member in
                    let list = description.isOrdered ? description.linkTable : nil
                    return Member(key: list.flatMap { snapshot.linkTables[$0].key(of: member, of: row) }, row: member)
                }
                if !members.isEmpty { lists[List(relationship: relationship, owner: row)] = members }
            }
        }
    }
}
