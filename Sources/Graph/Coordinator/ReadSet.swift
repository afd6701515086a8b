private import Synchronization

/// What a serializable transaction has read: rows, those that it looked for in vain included, members of relationships, and
/// whole entities where it searched. Validated when it commits, against what others committed since its base (backward
/// validation after Kung and Robinson, *On Optimistic Methods for Concurrency Control*, 1981); what a search could have found
/// counts as read, so that there are no phantoms.
struct ReadSet: Sendable {
    private var rows: Set<RowPlace> = []
    private var members: Set<MemberList> = []
    private var entities: Set<Int> = []

    mutating func readRow(_ row: RowNumber, of entity: Int) {
        rows.insert(RowPlace(entity: entity, row: row))
    }

    mutating func readMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        members.insert(MemberList(relationship, of: owner))
    }

    mutating func readAll(of entity: Int) {
        entities.insert(entity)
    }

    /// The rows that are not as they were read. Rows that the transaction writes itself are judged by their versions too; they
    /// are listed once.
    func conflicts(
        of request: SaveRequest,
        with head: Snapshot,
        originOfTheirs: (RowPlace) -> ChangeOrigin?
    ) -> [MergeConflict] {
        let (state, base) = (request.state, request.state.base)
        var places: Set<RowPlace> = []
        for place in rows where base.version(of: place) != head.version(of: place) { places.insert(place) }
        for list in members {
            guard
                let relationship = head.schema.entities[list.entity].toManys.first(where: {
                    $0.property == list.property
                })
            else { continue }
            let old = base.members(of: list.owner, through: relationship)
            let new = head.members(of: list.owner, through: relationship)
            guard old != new else { continue }
            let changed = Set(old).symmetricDifference(new)
            for row in changed { places.insert(RowPlace(entity: relationship.source, row: row)) }
            // The same ones in another order.
            if changed.isEmpty { places.insert(RowPlace(entity: list.entity, row: list.owner)) }
        }
        for entity in entities {
            head.entities[entity].rows.forEachDifference(from: base.entities[entity].rows) { row, _, _ in
                places.insert(RowPlace(entity: entity, row: row))
            }
        }
        return places.sorted { ($0.entity, $0.row) < ($1.entity, $1.row) }.map { place in
            var conflict = head.schema.entities[place.entity].conflict(
                of: place.row,
                versions: (base.version(of: place), head.version(of: place)),
                base: base.entities[place.entity].rows.address(of: place.row),
                ours: state.snapshot.entities[place.entity].rows.address(of: place.row),
                theirs: head.entities[place.entity].rows.address(of: place.row)
            )
            conflict.ourOrigin = request.origin
            conflict.theirOrigin = originOfTheirs(place)
            return conflict
        }
    }
}

extension Snapshot {
    fileprivate func version(of place: RowPlace) -> RowVersion {
        entities[place.entity].rows.version(of: place.row) ?? .none
    }
}

/// The read set of a transaction under way, which its contexts fill: the transaction's own, and their children, since what
/// these have read may have gone into what it writes.
@usableFromInline
final class ReadLog: Sendable {
    private let reads = Mutex(ReadSet())

    var value: ReadSet { reads.withLock { $0 } }

    func removeAll() {
        reads.withLock { $0 = ReadSet() }
    }

    @usableFromInline
    func readRow(_ row: RowNumber, of entity: Int) {
        reads.withLock { $0.readRow(row, of: entity) }
    }

    func readMembers(of owner: RowNumber, through relationship: ToManyDescription) {
        reads.withLock { $0.readMembers(of: owner, through: relationship) }
    }

    @usableFromInline
    func readAll(of entity: Int) {
        reads.withLock { $0.readAll(of: entity) }
    }
}
