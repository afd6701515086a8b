@testable import Graph

/// A store as a child would write it: rows in a dictionary, members in arrays, every state copied whole. It knows nothing of
/// indexes, and finds what refers to a row by looking at all others.
struct StoreModel: Sendable {
    struct ID: Hashable, Comparable, Sendable, CustomStringConvertible {
        let entity: Int
        let row: RowNumber

        static func < (lhs: ID, rhs: ID) -> Bool { (lhs.entity, lhs.row) < (rhs.entity, rhs.row) }

        var description: String { "\(StoreShape.entities[entity].name)/p\(row)" }
    }

    struct Row: Equatable, Sendable {
        var attributes: [Int]
        /// By the slots of the entity's to-one relationships; 0 for none.
        var targets: [RowNumber]
    }

    /// One owner's members.
    struct List: Hashable, Sendable {
        /// The number in `StoreShape.toManys`.
        let relationship: Int
        let owner: RowNumber

        var shape: StoreShape.ToMany { StoreShape.toManys[relationship] }
        var ownerID: ID { ID(entity: shape.owners, row: owner) }
        func memberID(_ row: RowNumber) -> ID { ID(entity: shape.members, row: row) }
    }

    struct Member: Equatable, Sendable {
        /// nil where there is no order.
        let key: OrderKey?
        let row: RowNumber

        func comes(before other: Member) -> Bool {
            guard let key, let otherKey = other.key, key != otherKey else { return row < other.row }
            return key < otherKey
        }
    }

    /// A link, as the list that the deleted row had says it.
    struct Link: Hashable, Sendable {
        let list: List
        let member: RowNumber

        var reversed: Link? {
            guard case .toMany(let inverse) = list.shape.inverse else { return nil }
            return Link(list: List(relationship: inverse, owner: member), member: list.owner)
        }
    }

    var rows: [ID: Row] = [:]
    /// Members in their order. Lists without members are not there.
    var lists: [List: [Member]] = [:]
    /// Of committed states only.
    var versions: [ID: UInt64] = [:]
    var commits: UInt64 = 0
    /// Links that ended with a row whose delete they deny.
    var denyingLinks: Set<Link> = []
    /// Deleted rows as they were last.
    var lastRows: [ID: Row] = [:]

    func members(_ list: List) -> [RowNumber] { lists[list]?.map { $0.row } ?? [] }

    func ids(of entity: Int) -> [ID] { rows.keys.filter { $0.entity == entity }.sorted() }

    // MARK: References

    /// Adds a row, and what its references entail at their other ends.
    mutating func insert(_ id: ID, _ row: Row) {
        rows[id] = Row(attributes: row.attributes, targets: row.targets.map { _ in 0 })
        denyingLinks = denyingLinks.filter { $0.list.ownerID != id }
        for (slot, target) in row.targets.enumerated() { setTarget(of: id, slot, to: target) }
    }

    mutating func setTarget(of id: ID, _ slot: Int, to new: RowNumber) {
        guard let old = rows[id]?.targets[slot], old != new else { return }
        rows[id]?.targets[slot] = new
        let toOne = StoreShape.entities[id.entity].toOnes[slot]
        switch toOne.inverse {
        case .none:
            break
        case .toMany(let number):
            leave(List(relationship: number, owner: old), id.row)
            if new != 0 { enter(List(relationship: number, owner: new), id.row) }
        case .toOne(let inverse):
            let (oldTarget, newTarget) = (ID(entity: toOne.target, row: old), ID(entity: toOne.target, row: new))
            if rows[oldTarget]?.targets[inverse] == id.row { rows[oldTarget]?.targets[inverse] = 0 }
            guard let rival = rows[newTarget]?.targets[inverse], rival != id.row else { return }
            let rivalID = ID(entity: id.entity, row: rival)
            if rows[rivalID]?.targets[slot] == new { rows[rivalID]?.targets[slot] = 0 }
            rows[newTarget]?.targets[inverse] = id.row
        }
    }

    /// One to one: refers back to a row that referred to this one before it existed, unless this one refers to another.
    mutating func referBack(from id: ID) {
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() {
            guard case .toOne(let inverse) = toOne.inverse else { continue }
            let referrers = rows.filter { $0.key.entity == toOne.target && $0.value.targets[inverse] == id.row }.keys
            for referrer in referrers.sorted() {
                switch rows[id]?.targets[slot] {
                case 0: setTarget(of: id, slot, to: referrer.row)
                case referrer.row: break
                default: setTarget(of: referrer, inverse, to: 0)
                }
            }
        }
    }

    /// The rows that refer to one, with the slots in which they do.
    func referrers(to target: ID) -> [(id: ID, slot: Int)] {
        var found: [(id: ID, slot: Int)] = []
        for (entity, shape) in StoreShape.entities.enumerated() {
            for (slot, toOne) in shape.toOnes.enumerated() where toOne.target == target.entity {
                for (id, row) in rows where id.entity == entity && row.targets[slot] == target.row {
                    found.append((id, slot))
                }
            }
        }
        return found
    }

    // MARK: Members

    /// Puts a member where its key says, or last.
    mutating func enter(_ list: List, _ row: RowNumber, key: OrderKey? = nil) {
        leave(list, row)
        var members = lists[list] ?? []
        let last = members.last?.key
        members.append(Member(key: list.shape.isOrdered ? key ?? .between(last, nil) : nil, row: row))
        lists[list] = members.sorted { $0.comes(before: $1) }
    }

    private mutating func leave(_ list: List, _ row: RowNumber) {
        lists[list]?.removeAll { $0.row == row }
        if lists[list]?.isEmpty == true { lists[list] = nil }
    }

    func hasLink(_ link: Link) -> Bool { members(link.list).contains(link.member) }

    /// Adds a link; a new member comes last in a list with an order.
    mutating func add(_ link: Link) {
        guard !hasLink(link), let reversed = link.reversed else { return }
        enter(link.list, link.member)
        if !hasLink(reversed) { enter(reversed.list, reversed.member) }
    }

    mutating func remove(_ link: Link) {
        guard let reversed = link.reversed else { return }
        leave(link.list, link.member)
        leave(reversed.list, reversed.member)
    }

    mutating func insertMember(_ row: RowNumber, _ list: List) {
        switch list.shape.inverse {
        case .toOne(let slot): setTarget(of: list.memberID(row), slot, to: list.owner)
        case .toMany: add(Link(list: list, member: row))
        }
    }

    mutating func removeMember(_ row: RowNumber, _ list: List) {
        guard members(list).contains(row) else { return }
        switch list.shape.inverse {
        case .toOne(let slot): setTarget(of: list.memberID(row), slot, to: 0)
        case .toMany: remove(Link(list: list, member: row))
        }
    }

    /// Puts a row, which becomes a member if it was not, where `offset` others come before it. Members with the same key as
    /// the one before it that come behind it get new keys too.
    mutating func place(_ row: RowNumber, _ list: List, at offset: Int) {
        insertMember(row, list)
        guard members(list).firstIndex(of: row) != offset else { return }
        let others = (lists[list] ?? []).filter { $0.row != row }
        let before = offset > 0 ? others[offset - 1].key : nil
        let tied = others[offset...].prefix { before != nil && $0.key == before }
        let after = others[offset...].dropFirst(tied.count).first?.key
        var last = before
        for member in [row] + tied.map(\.row) {
            let key = OrderKey.between(last, after)
            enter(list, member, key: key)
            last = key
        }
    }

    /// Makes exactly these rows members, in this order if there is one. The longest run of members that ascends already
    /// keeps its keys; of several, the one that patience sorting finds.
    mutating func assign(_ wanted: [RowNumber], to list: List) {
        denyingLinks = denyingLinks.filter { $0.reversed?.list != list }
        var rows: [RowNumber] = []
        for row in wanted where !rows.contains(row) && self.rows[list.memberID(row)] != nil { rows.append(row) }
        for row in members(list) where !rows.contains(row) { removeMember(row, list) }
        for row in list.shape.isOrdered ? rows : rows.sorted() { insertMember(row, list) }
        guard list.shape.isOrdered else { return }
        let keys = rows.map { row in lists[list]?.first { $0.row == row }?.key }
        var lengths: [Int] = []
        for (offset, key) in keys.enumerated() {
            let shorter = (0..<offset).filter { keys[$0].comes(before: key) }.map { lengths[$0] }
            lengths.append(1 + (shorter.max() ?? 0))
        }
        var kept: Set<Int> = []
        var end = lengths.lastIndex(of: lengths.max() ?? 0)
        while let offset = end {
            kept.insert(offset)
            end = (0..<offset).last { lengths[$0] == lengths[offset] - 1 && keys[$0].comes(before: keys[offset]) }
        }
        var last: OrderKey?
        for (offset, row) in rows.enumerated() {
            if kept.contains(offset) {
                last = keys[offset]
            } else {
                let next = (offset..<rows.count).first { kept.contains($0) }
                let key = OrderKey.between(last, next.flatMap { keys[$0] })
                enter(list, row, key: key)
                last = key
            }
        }
    }

    // MARK: Deleting

    /// Removes a row, whatever refers or is linked to it.
    mutating func remove(_ id: ID) {
        guard let row = rows[id] else { return }
        lastRows[id] = row
        for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() {
            guard case .toMany(let number) = toOne.inverse else { continue }
            leave(List(relationship: number, owner: row.targets[slot]), id.row)
        }
        rows[id] = nil
    }

    /// Deletes a row and all that cascades from it, and nullifies. What denies stays to be applied.
    mutating func delete(_ id: ID) {
        var closure: Set<ID> = []
        var open = [id]
        while let id = open.popLast() {
            guard let row = rows[id], closure.insert(id).inserted else { continue }
            for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated() where toOne.rule == .cascade {
                open.append(ID(entity: toOne.target, row: row.targets[slot]))
            }
            for referrer in referrers(to: id) where rule(of: referrer) == .cascade { open.append(referrer.id) }
            for link in links(of: id) where link.list.shape.rule == .cascade {
                open.append(link.list.memberID(link.member))
            }
        }
        for id in closure.sorted() {
            for referrer in referrers(to: id) where rule(of: referrer) == .nullify && !closure.contains(referrer.id) {
                setTarget(of: referrer.id, referrer.slot, to: 0)
            }
            for link in links(of: id) {
                if link.list.shape.rule == .deny, !closure.contains(link.list.memberID(link.member)) {
                    denyingLinks.insert(link)
                }
                remove(link)
            }
        }
        for id in closure { remove(id) }
    }

    private func rule(of referrer: (id: ID, slot: Int)) -> DeleteRule {
        StoreShape.rule(ofTargetOf: StoreShape.entities[referrer.id.entity].toOnes[referrer.slot])
    }

    /// The links of a row, as its own lists say them.
    func links(of id: ID) -> [Link] {
        StoreShape.entities[id.entity].toManys.flatMap { number -> [Link] in
            let list = List(relationship: number, owner: id.row)
            guard case .toMany = list.shape.inverse else { return [] }
            return members(list).map { Link(list: list, member: $0) }
        }
    }

    /// Applies the delete rules to whatever leads to rows of `head` that are gone here, other than those that deny.
    ///
    /// - Parameter others: deleted rows that do not count.
    mutating func applyDeleteRules(since head: StoreModel, besides others: Set<ID> = []) {
        var deleted: [ID] { head.rows.keys.filter { rows[$0] == nil && !others.contains($0) }.sorted() }
        for id in deleted {
            for referrer in referrers(to: id) where rule(of: referrer) == .cascade { delete(referrer.id) }
            for link in links(of: id) where link.list.shape.rule == .cascade {
                delete(link.list.memberID(link.member))
                remove(link)
            }
        }
        for id in deleted {
            for referrer in referrers(to: id) where rule(of: referrer) == .nullify {
                setTarget(of: referrer.id, referrer.slot, to: 0)
            }
            for link in links(of: id) where link.list.shape.rule == .deny {
                denyingLinks.insert(link)
                remove(link)
            }
        }
        for id in deleted {
            for link in links(of: id) { remove(link) }
        }
    }

    /// What denies that rows of `head` are gone here: the row, the relationship, how many rows are left there and the first ten.
    func deniedDeletes(since head: StoreModel) -> Set<String> {
        var remaining: [String: [ID]] = [:]
        for id in head.rows.keys where rows[id] == nil {
            for referrer in referrers(to: id) where rule(of: referrer) == .deny {
                let toOne = StoreShape.entities[referrer.id.entity].toOnes[referrer.slot]
                let name = StoreShape.name(ofRuleOf: toOne, of: referrer.id.entity)
                remaining["\(id) \(name)", default: []].append(referrer.id)
            }
            for (slot, toOne) in StoreShape.entities[id.entity].toOnes.enumerated()
            where toOne.rule == .deny && toOne.inverse == .none {
                guard let last = lastRows[id]?.targets[slot] else { continue }
                let target = ID(entity: toOne.target, row: last)
                if rows[target] != nil {
                    remaining["\(id) \(StoreShape.entities[id.entity].name).\(toOne.name)"] = [target]
                }
            }
        }
        for link in denyingLinks {
            let member = link.list.memberID(link.member)
            guard head.rows[link.list.ownerID] != nil, rows[link.list.ownerID] == nil, rows[member] != nil else {
                continue
            }
            let name = "\(StoreShape.entities[link.list.shape.owners].name).\(link.list.shape.name)"
            remaining["\(link.list.ownerID) \(name)", default: []].append(member)
        }
        return Set(remaining.map { "\($0.key) \($0.value.count) \($0.value.sorted().prefix(10))" })
    }
}

extension OrderKey? {
    fileprivate func comes(before other: OrderKey?) -> Bool {
        guard let self, let other else { return false }
        return self < other
    }
}
