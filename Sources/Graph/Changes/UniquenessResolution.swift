/// What a save's doubles come to, while new rows give way to others.
struct UniquenessResolution {
    /// How a row that another one owned hangs on to it.
    enum Ownership {
        /// The owner refers to it, with the reference at this place among its `toOnes`.
        case reference(toOne: Int)
        /// It refers to the owner, with the reference at this place among its own.
        case member(toOne: Int)
        /// The owner has it in this list.
        case link(list: Int)
    }

    /// The row that stays was parted from the other one, which denies that.
    struct Denial {
        let row: RowID
        /// The place among the `toOnes` of the row's entity.
        let toOne: Int
        let partner: RowNumber
    }

    /// New rows, and the ones that stay in their places.
    var replacements: Replacements = [:]
    /// Rows that stay in place of others.
    private(set) var survivors: Set<RowID> = []
    /// Those of them that have taken over what the others had.
    var overwritten: Set<RowID> = []
    /// Rows that lost their owners, with the ties to these that are still there. They are deleted when no other row gives way
    /// any more, but for those that new rows have given way to: what was imported again stays.
    private(set) var outgoing: [RowID: [(owner: RowID, ownership: Ownership)]] = [:]
    var denials: [Denial] = []
    /// By the rows that stay, what the last new one owned to which it has given its place, and which step that was; until it is known
    /// that this is the last one.
    private(set) var successors: [RowID: (owned: Set<RowID>, step: Int)] = [:]
    /// The steps at which rows were kept last.
    private var keptAt: [RowID: Int] = [:]
    private var lastStep = 0

    /// Rows of which each may have a unique value that another one has, until it turns out to be alone with its values.
    var open: Set<RowID> = []
    /// By entity, index and key, the rows of the base that have it, and maybe some that had it before. Only of keys that were
    /// asked for.
    private var known: [IndexPlace: [[UInt8]: Set<RowNumber>]] = [:]

    private struct IndexPlace: Hashable {
        let entity: Int
        let index: Int
    }

    mutating func note(_ row: RowNumber, givesWayTo survivor: RowNumber, of entity: Int) {
        replacements[entity, default: [:]][row] = survivor
        survivors.insert(RowID(entity: entity, row: survivor))
    }

    /// - Parameter ownership: nil if nothing ties it to the owner any more.
    mutating func release(_ id: RowID, from owner: RowID, _ ownership: Ownership?) {
        outgoing[id, default: []] += ownership.map { [(owner, $0)] } ?? []
    }

    /// Notes what a new row owns that takes the place of another one.
    mutating func keep(_ owned: Set<RowID>, ofSuccessorOf owner: RowID) {
        lastStep += 1
        for id in owned {
            outgoing[id] = nil
            keptAt[id] = lastStep
        }
        successors[owner] = (owned, lastStep)
    }

    /// Which of the members of a row its last successor, and any that came after, does not have.
    mutating func takeSuccessor(of owner: RowID) -> ((RowID) -> Bool)? {
        guard let (owned, step) = successors.removeValue(forKey: owner) else { return nil }
        return { [keptAt] id in !owned.contains(id) && keptAt[id] ?? 0 < step }
    }

    /// Whether the row is to be deleted, as things are.
    func isLeaving(_ id: RowID) -> Bool {
        outgoing[id] != nil && !survivors.contains(id)
    }

    /// The rows to be deleted, in order, which are forgotten.
    mutating func takeOutgoing() -> [(id: RowID, ties: [(owner: RowID, ownership: Ownership)])] {
        let leaving = outgoing.filter { isLeaving($0.key) }
        outgoing = [:]
        return leaving.map { (id: $0.key, ties: $0.value) }
            .sorted { $0.id < $1.id }
    }

    /// Has each row stand in `replacements` with the one that stays in the end.
    mutating func closeReplacements() {
        for (entity, rows) in replacements {
            var last: [RowNumber: RowNumber] = [:]
            // One that gives way itself is a new row, and an earlier one.
            for (row, survivor) in rows.sorted(by: { $0.key < $1.key }) { last[row] = last[survivor] ?? survivor }
            replacements[entity] = last
        }
    }

    // MARK: Rows with the same key

    /// A row of the base has new values, maybe with keys that were asked for when it did not have them.
    mutating func noteKeys(of id: RowID, in state: WorkingState) {
        guard !known.isEmpty, !state.changes.isNew(id),
            let address = state.snapshot.address(of: id)
        else { return }
        for (number, index) in state.schema.entities[id.entity].indexes.enumerated()
        where index.uniqueness != nil {
            var key = ByteWriter(capacity: 64)
            guard index.appendKey(ofRowAt: address, to: &key) else { continue }
            known[IndexPlace(entity: id.entity, index: number)]?[key.bytes]?.insert(id.row)
        }
    }

    /// The rows to which a new one would have to give way by this index: those of the base with the same key, and earlier new
    /// ones. Two at most, which says enough, and without a look at all that share the key.
    mutating func rivals(
        of row: RowNumber,
        at address: UnsafeRawPointer,
        index number: Int,
        of entity: Int,
        in state: WorkingState
    ) -> [RowNumber] {
        let index = state.schema.entities[entity].indexes[number]
        var key = ByteWriter(capacity: 64)
        guard index.appendKey(ofRowAt: address, to: &key) else { return [] }
        // What is to be deleted gives its value away, unless it may turn out to be what the new row stands for.
        let passesLeaving = index.uniqueness == .reject
        var rivals: [RowNumber] = []
        func add(_ rival: RowNumber) -> Bool {
            if !passesLeaving || !isLeaving(RowID(entity: entity, row: rival)) { rivals.append(rival) }
            return rivals.count < 2
        }
        let entries = state.snapshot.entities[entity].indexes[number]
        _ = key.bytes.withUnsafeBytes { prefix in entries.forEachRow(withPrefix: prefix) { $0 < row && add($0) } }
        guard rivals.count < 2 else { return rivals }
        for rival in knownRows(key.bytes, index: number, of: entity, in: state) where rival > row {
            var entry = key
            entry.appendBigEndian(rival)
            guard entry.bytes.withUnsafeBytes({ entries.contains($0) }) else { continue }
            guard add(rival) else { break }
        }
        return rivals
    }

    private mutating func knownRows(
        _ key: [UInt8],
        index number: Int,
        of entity: Int,
        in state: WorkingState
    ) -> Set<RowNumber> {
        let id = IndexPlace(entity: entity, index: number)
        if let rows = known[id]?[key] { return rows }
        var rows: Set<RowNumber> = []
        _ = key.withUnsafeBytes { prefix in
            state.snapshot.entities[entity].indexes[number].forEachRow(withPrefix: prefix) { row in
                if !state.changes[entity].isNew(row) { rows.insert(row) }
                return true
            }
        }
        known[id, default: [:]][key] = rows
        return rows
    }

    /// Rows with a unique value that others have too, by entity and in ascending order, as far as they were written here; what
    /// was written when another had the value leads to them, since the base has no such rows. Each group is visited once.
    mutating func rowsSharingValues(
        in state: WorkingState,
        ofEntitiesWhere isWanted: (EntityDescription) -> Bool = { _ in true }
    ) -> [(entity: Int, rows: [RowNumber])] {
        var sharing: [IndexPlace: Set<RowNumber>] = [:]
        for id in open where isWanted(state.schema.entities[id.entity]) {
            guard let address = state.snapshot.address(of: id) else {
                open.remove(id)
                continue
            }
            var isSharing = false
            for (number, index) in state.schema.entities[id.entity].indexes.enumerated()
            where index.uniqueness != nil {
                let indexPlace = IndexPlace(entity: id.entity, index: number)
                if sharing[indexPlace]?.contains(id.row) != true {
                    let others = state.snapshot.rowsSharingKey(
                        of: id.row, at: address, index: number, of: id.entity)
                    guard !others.isEmpty else { continue }
                    sharing[indexPlace, default: []].formUnion([id.row] + others)
                }
                isSharing = true
            }
            // Another one that takes on its value later on is noted itself.
            if !isSharing { open.remove(id) }
        }
        return Dictionary(grouping: sharing, by: \.key.entity).sorted { $0.key < $1.key }.map { entity, groups in
            let rows = groups.reduce(into: Set<RowNumber>()) { $0.formUnion($1.value) }
            return (entity, rows.filter { state.changes[entity].kind(of: $0) != nil }.sorted())
        }
    }
}
