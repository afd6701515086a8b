/// The state of resolving duplicates in a save, while new rows give way to others.
struct UniquenessResolution {
    /// How an owner is connected to a row that it owns.
    enum Ownership {
        /// The owner refers to the row, with this number among its `toOnes`.
        case reference(toOne: Int)
        /// The row refers to the owner, with this number among its own `toOnes`.
        case member(toOne: Int)
        /// The owner has the row in this link table.
        case link(table: Int)
    }

    /// A surviving row lost its one-to-one related object, and its delete rule denies that.
    struct Denial {
        let row: RowID
        /// The number among the `toOnes` of the row's entity.
        let toOne: Int
        let related: RowNumber
    }

    /// New rows, and the rows that survive in their place.
    var replacements: Replacements = [:]
    /// Rows that survive in place of others.
    private(set) var survivors: Set<RowID> = []
    /// The survivors that took over the others' values.
    var overwritten: Set<RowID> = []
    /// Rows that lost their owners, with the connections to owners that still exist. They are deleted when no more rows give
    /// way, except those that new rows gave way to: what was imported again stays.
    private(set) var outgoing: [RowID: [(owner: RowID, ownership: Ownership)]] = [:]
    var denials: [Denial] = []
    /// By surviving row, what the last new row that gave way to it owned, and the step in which it did; until that is known to
    /// be the last one.
    private(set) var successors: [RowID: (owned: Set<RowID>, step: Int)] = [:]
    /// The step in which each row was last kept.
    private var keptAt: [RowID: Int] = [:]
    private var lastStep = 0

    /// Rows of which each may have a unique value that another one has, until it turns out to be alone with its values.
    var open: Set<RowID> = []
    /// By entity, index and key, the rows of the base that have the key, and perhaps some that had it before. Only for keys
    /// that were looked up.
    private var known: [IndexID: [[UInt8]: Set<RowNumber>]] = [:]
    /// How many rows with others' keys were visited, which tests hold to the number of rows written.
    private(set) var visitedCount = 0

    private struct IndexID: Hashable {
        let entity: Int
        let index: Int
    }

    /// What new rows do under every constraint; nil if each has its own policy.
    let policyOfAll: UniquenessPolicy?

    init(policyOfAll: UniquenessPolicy? = nil) { self.policyOfAll = policyOfAll }

    /// nil for an index without a constraint.
    func policy(of index: IndexDescription) -> UniquenessPolicy? { index.uniqueness.map { policyOfAll ?? $0 } }

    mutating func note(_ row: RowNumber, givesWayTo survivor: RowNumber, of entity: Int) {
        replacements[entity, default: [:]][row] = survivor
        survivors.insert(RowID(entity: entity, row: survivor))
    }

    /// - Parameter ownership: nil if nothing connects the row to the owner any more.
    mutating func release(_ id: RowID, from owner: RowID, _ ownership: Ownership?) {
        outgoing[id, default: []] += ownership.map { [(owner, $0)] } ?? []
    }

    /// Notes what a new row owns that gives way to another one.
    mutating func keep(_ owned: Set<RowID>, ofSuccessorOf owner: RowID) {
        lastStep += 1
        for id in owned {
            outgoing[id] = nil
            keptAt[id] = lastStep
        }
        successors[owner] = (owned, lastStep)
    }

    /// A test for members of the owner that neither its last successor nor any later one has.
    mutating func takeSuccessor(of owner: RowID) -> ((RowID) -> Bool)? {
        guard let (owned, step) = successors.removeValue(forKey: owner) else { return nil }
        return { [keptAt] id in !owned.contains(id) && keptAt[id] ?? 0 < step }
    }

    /// Whether the row is currently due for deletion.
    func isLeaving(_ id: RowID) -> Bool {
        outgoing[id] != nil && !survivors.contains(id)
    }

    /// Removes and returns the rows to delete, in order.
    mutating func takeOutgoing() -> [(id: RowID, ties: [(owner: RowID, ownership: Ownership)])] {
        let leaving = outgoing.filter { isLeaving($0.key) }
        outgoing = [:]
        return leaving.map { (id: $0.key, ties: $0.value) }
            .sorted { $0.id < $1.id }
    }

    /// Maps each row in `replacements` to its final survivor.
    mutating func closeReplacements() {
        for (entity, rows) in replacements {
            var last: [RowNumber: RowNumber] = [:]
            // A survivor that gives way itself is an earlier new row.
            for (row, survivor) in rows.sorted(by: { $0.key < $1.key }) { last[row] = last[survivor] ?? survivor }
            replacements[entity] = last
        }
    }

    // MARK: Rows with the same key

    /// Called when a row of the base has new values, perhaps with keys that were looked up before it had them.
    mutating func noteKeys(of id: RowID, in state: WorkingState) {
        guard !known.isEmpty, !state.changes.isNew(id),
            let address = state.snapshot.address(of: id)
        else { return }
        for (number, index) in state.schema.entities[id.entity].indexes.enumerated()
        where index.uniqueness != nil {
            var key = ByteWriter(capacity: 64)
            guard index.appendKey(ofRowAt: address, to: &key) else { continue }
            known[IndexID(entity: id.entity, index: number)]?[key.bytes]?.insert(id.row)
        }
    }

    /// Rows that a new row would have to give way to by this index: rows of the base with the same key, and earlier new ones.
    /// Returns at most two, which is enough, without visiting all rows that share the key.
    mutating func rivals(
        of id: RowID,
        at address: UnsafeRawPointer,
        index number: Int,
        in state: WorkingState
    ) -> [RowNumber] {
        let (entity, row) = (id.entity, id.row)
        let index = state.schema.entities[entity].indexes[number]
        var key = ByteWriter(capacity: 64)
        guard index.appendKey(ofRowAt: address, to: &key) else { return [] }
        // A row due for deletion does not keep its value, unless the new row may turn out to replace it.
        let passesLeaving = policy(of: index) == .reject
        var rivals: [RowNumber] = []
        var visitedCount = 0
        defer { self.visitedCount += visitedCount }
        func add(_ rival: RowNumber) -> Bool {
            visitedCount += 1
            if !passesLeaving || !isLeaving(RowID(entity: entity, row: rival)) { rivals.append(rival) }
            return rivals.count < 2
        }
        let entries = state.snapshot.entities[entity].indexes[number]
        _ = key.bytes.withUnsafeBytes { prefix in entries.forEachRow(withPrefix: prefix) { $0 < row && add($0) } }
        guard rivals.count < 2 else { return rivals }
        for rival in knownRows(key.bytes, IndexID(entity: entity, index: number), in: state) where rival > row {
            var entry = key
            entry.appendBigEndian(rival)
            guard entry.bytes.withUnsafeBytes({ entries.contains($0) }) else { continue }
            guard add(rival) else { break }
        }
        return rivals
    }

    private mutating func knownRows(
        _ key: [UInt8],
        _ id: IndexID,
        in state: WorkingState
    ) -> Set<RowNumber> {
        if let rows = known[id]?[key] { return rows }
        var rows: Set<RowNumber> = []
        _ = key.withUnsafeBytes { prefix in
            state.snapshot.entities[id.entity].indexes[id.index].forEachRow(withPrefix: prefix) { row in
                if !state.changes[id.entity].isNew(row) { rows.insert(row) }
                visitedCount += 1
                return true
            }
        }
        known[id, default: [:]][key] = rows
        return rows
    }

    /// Written rows that share a unique value with others, by entity and in ascending order. The base has no such rows, so the
    /// written ones lead to all of them. Each group is visited once.
    mutating func rowsSharingValues(
        in state: WorkingState,
        ofEntitiesWhere isWanted: (EntityDescription) -> Bool = { _ in true }
    ) -> [(entity: Int, rows: [RowNumber])] {
        var sharing: [IndexID: Set<RowNumber>] = [:]
        for id in open where isWanted(state.schema.entities[id.entity]) {
            guard let address = state.snapshot.address(of: id) else {
                open.remove(id)
                continue
            }
            var isSharing = false
            for (number, index) in state.schema.entities[id.entity].indexes.enumerated()
            where index.uniqueness != nil {
                let indexID = IndexID(entity: id.entity, index: number)
                if sharing[indexID]?.contains(id.row) != true {
                    let others = state.snapshot.rowsSharingKey(of: id, at: address, index: number)
                    visitedCount += others.count
                    guard !others.isEmpty else { continue }
                    sharing[indexID, default: []].formUnion([id.row] + others)
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
