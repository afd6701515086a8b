/// Links, found by either end.
struct LinkSet: Sendable {
    /// What a link has at one end.
    private struct End: Hashable {
        let table: Int
        let row: RowNumber
    }

    /// Each link is in both. No set is empty.
    private var members: [End: Set<RowNumber>] = [:]
    private var owners: [End: Set<RowNumber>] = [:]

    var isEmpty: Bool { members.isEmpty }

    /// All links, in no order.
    var all: [LinkID] {
        members.flatMap { owner, members in
            members.map { LinkID(table: owner.table, owner: owner.row, member: $0) }
        }
    }

    func contains(_ link: LinkID) -> Bool {
        members[End(table: link.table, row: link.owner)]?.contains(link.member) ?? false
    }

    mutating func insert(_ link: LinkID) {
        members[End(table: link.table, row: link.owner), default: []].insert(link.member)
        owners[End(table: link.table, row: link.member), default: []].insert(link.owner)
    }

    mutating func remove(_ link: LinkID) {
        Self.remove(link.member, of: End(table: link.table, row: link.owner), from: &members)
        Self.remove(link.owner, of: End(table: link.table, row: link.member), from: &owners)
    }

    /// Removes all links in a table that an owner has.
    mutating func removeLinks(of owner: RowNumber, in table: Int) {
        for member in members.removeValue(forKey: End(table: table, row: owner)) ?? [] {
            Self.remove(owner, of: End(table: table, row: member), from: &owners)
        }
    }

    /// Removes all links in a table that lead to a member.
    mutating func removeLinks(to member: RowNumber, in table: Int) {
        for owner in owners.removeValue(forKey: End(table: table, row: member)) ?? [] {
            Self.remove(member, of: End(table: table, row: owner), from: &members)
        }
    }

    private static func remove(_ row: RowNumber, of end: End, from rows: inout [End: Set<RowNumber>]) {
        rows[end]?.remove(row)
        if rows[end]?.isEmpty ?? false { rows[end] = nil }
    }
}
