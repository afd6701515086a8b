private import Synchronization

/// What a serializable transaction has read: rows (also those that it did not find), members and links of relationships, and
/// whole entities where it searched. The commit validates it against what others committed since the base: backward validation
/// after Kung and Robinson, *On Optimistic Methods for Concurrency Control*, 1981. A search reads all that it could have found,
/// so that there are no phantoms.
///
/// What a change examines counts too: the members that it removed, a link that it found in place, the rows that a delete
/// cascaded to. `WorkingState` notes these reads.
struct ReadSet: Sendable {
    private var rows: Set<RowID> = []
    private var referrers: Set<Referrers> = []
    private var members: Set<Members> = []
    private var links: Set<LinkID> = []
    private var entities: Set<Int> = []
    private var searches: Set<Search> = []
    /// Link tables of which all links count.
    private var linkTables: Set<Int> = []

    /// The rows that refer to `target`.
    private struct Referrers: Hashable {
        let reference: Reference
        let target: RowNumber
    }

    /// One owner's members in a link table.
    private struct Members: Hashable {
        let table: Int
        let owner: RowNumber
    }

    /// The rows of an entity that meet all of these conditions.
    private struct Search: Hashable {
        let entity: Int
        let conditions: [PropertyKeys]
    }

    mutating func readRow(_ id: RowID) {
        rows.insert(id)
    }

    /// Notes all members of an owner, and their order if there is one.
    mutating func readMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        if let table = relationship.linkTable {
            readMembers(of: owner, in: table)
        } else if let toOne = relationship.toOne {
            readReferrers(to: owner, through: Reference(entity: relationship.source, toOne: toOne))
        }
    }

    /// Notes whether a row is a member of an owner.
    mutating func readMember(_ row: RowNumber, of owner: RowNumber, through relationship: ToManyDescription) {
        if relationship.toOne == nil, let table = relationship.linkTable {
            links.insert(LinkID(table: table, owner: owner, member: row))
        } else {
            readRow(RowID(entity: relationship.source, row: row))
        }
    }

    mutating func readMembers(of owner: RowNumber, in table: Int) {
        members.insert(Members(table: table, owner: owner))
    }

    /// Notes a search for rows that meet all of these conditions, whether or not there are any.
    mutating func readRows(of entity: Int, where conditions: [PropertyKeys]) {
        searches.insert(Search(entity: entity, conditions: conditions))
    }

    mutating func readReferrers(to target: RowNumber, through reference: Reference) {
        referrers.insert(Referrers(reference: reference, target: target))
    }

    mutating func readLinks(in table: Int) {
        linkTables.insert(table)
    }

    mutating func readAll(of entity: Int) {
        entities.insert(entity)
    }

    /// The rows that differ from what was read, each once. Rows that the transaction writes itself are also checked by their
    /// versions.
    func conflicts(
        of request: SaveRequest,
        with head: Snapshot,
        originOfTheirs: (RowID) -> ChangeOrigin?
    ) -> [MergeConflict] {
        let (state, base) = (request.state, request.state.base)
        return changedRows(from: base, to: head, ours: state).sorted().map { id in
            var conflict = head.schema.entities[id.entity].conflict(
                of: id.row,
                versions: (base.version(of: id) ?? .none, head.version(of: id) ?? .none),
                base: base.address(of: id),
                ours: state.snapshot.address(of: id),
                theirs: head.address(of: id)
            )
            conflict.ourOrigin = request.origin
            conflict.theirOrigin = originOfTheirs(id)
            return conflict
        }
    }

    /// Whether anything that was read differs between two committed states.
    func isChanged(from base: Snapshot, to head: Snapshot) -> Bool { !changedRows(from: base, to: head).isEmpty }

    private func changedRows(from base: Snapshot, to head: Snapshot, ours: WorkingState? = nil) -> Set<RowID> {
        let schema = head.schema
        var ids: Set<RowID> = []
        for id in rows where base.version(of: id) != head.version(of: id) { ids.insert(id) }
        for read in referrers {
            let old = base.referrers(to: read.target, through: read.reference)
            let new = head.referrers(to: read.target, through: read.reference)
            guard old != new else { continue }
            for row in Set(old).symmetricDifference(new) { ids.insert(RowID(entity: read.reference.entity, row: row)) }
        }
        for read in members {
            let (old, new) = (base.linkTables[read.table], head.linkTables[read.table])
            let description = schema.linkTables[read.table]
            let changed = Set(old.memberRows(of: read.owner)).symmetricDifference(new.memberRows(of: read.owner))
            for row in changed { ids.insert(RowID(entity: description.members, row: row)) }
            // The same members in another order: an insertion between two of them depends on their keys.
            if changed.isEmpty, description.isOrdered,
                !old.keys(of: read.owner).elementsEqual(new.keys(of: read.owner), by: ==)
            {
                ids.insert(RowID(entity: description.entity, row: read.owner))
            }
        }
        for link in links {
            let (old, new) = (base.linkTables[link.table], head.linkTables[link.table])
            guard old.contains(link.member, of: link.owner) != new.contains(link.member, of: link.owner) else {
                continue
            }
            ids.insert(RowID(entity: schema.linkTables[link.table].members, row: link.member))
        }
        for table in linkTables {
            let difference = head.linkTables[table].difference(from: base.linkTables[table])
            for link in difference.removed + difference.added {
                ids.insert(RowID(entity: schema.linkTables[table].members, row: link.member))
            }
        }
        for entity in entities {
            head.entities[entity].rows.forEachDifference(from: base.entities[entity].rows) { row, _, _ in
                ids.insert(RowID(entity: entity, row: row))
            }
        }
        let byEntity = Dictionary(grouping: searches.lazy.filter { !entities.contains($0.entity) }) { $0.entity }
        for (entity, searches) in byEntity {
            // For the first row that differs, if there is one.
            lazy var tree = SearchTree(searches.lazy.map(\.conditions))
            head.entities[entity].rows.forEachDifference(from: base.entities[entity].rows) { row, _, _ in
                let id = RowID(entity: entity, row: row)
                // Of a row that both sides change it searches what comes of both: each property from one of them.
                let isOurs = ours?.changes[entity].kind(of: row) == .updated
                let states = isOurs ? [[base, head, ours?.snapshot ?? head]] : [[base], [head]]
                let isRead = states.contains { states in
                    Self.isRow(at: states.compactMap { $0.address(of: id) }, of: schema.entities[entity], inAnyOf: tree)
                }
                if isRead { ids.insert(id) }
            }
        }
        return ids
    }

    /// Whether a row with each property from one of these meets all conditions of a search.
    private static func isRow(
        at addresses: [UnsafeRawPointer], of entity: EntityDescription, inAnyOf searches: SearchTree
    ) -> Bool {
        var keys: [Int: [[UInt8]]] = [:]
        return searches.isMet { number in
            if let known = keys[number] { return known }
            let property = entity.properties[number]
            let new = addresses.map { address in
                var writer = ByteWriter()
                _ = property.operations.key?.append(address + property.offset, &writer)
                return writer.bytes
            }
            keys[number] = new
            return new
        }
    }
}

/// The read set of a running transaction. Its own context and nested ones fill it, since what a nested context reads may affect
/// what the transaction writes.
@usableFromInline
final class ReadLog: SnapshotReader {
    private let reads = Mutex(ReadSet())

    var value: ReadSet { reads.withLock { $0 } }

    func removeAll() {
        reads.withLock { $0 = ReadSet() }
    }

    @usableFromInline
    func readRow(_ id: RowID) {
        reads.withLock { $0.readRow(id) }
    }

    @usableFromInline
    func readAll(of entity: Int) {
        reads.withLock { $0.readAll(of: entity) }
    }

    func followReferences(to entity: Int) {}

    func note(_ body: (inout ReadSet) -> Void) {
        reads.withLock { body(&$0) }
    }

    func readLinks(in table: Int) { note { $0.readLinks(in: table) } }

    func readMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        note { $0.readMembers(of: owner, through: relationship) }
    }

    func readRows(of entity: Int, where conditions: [PropertyKeys]) {
        note { $0.readRows(of: entity, where: conditions) }
    }
}
