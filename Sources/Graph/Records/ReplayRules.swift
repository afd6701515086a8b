/// Checks that what a replay makes of its records keeps the rules: of each record what it changes, and what takes indexes when
/// they are there.
struct ReplayRules: Sendable {
    struct BrokenRule: Error, CustomStringConvertible {
        let reason: String
        var description: String { reason }
    }

    /// Whether the replay keeps indexes up, which say what refers to a row and how many do.
    private let hasIndexes: Bool
    private var written: [RowID] = []
    private var deleted: [RowID] = []
    /// Rows that may have taken a unique value which another one had.
    private var candidates: [RowID] = []
    /// What written rows refer or referred to, where that has to refer back or to count them.
    private var targets: [RowID] = []
    /// Links that the record has added.
    private var added: [(table: Int, links: [LinkTable.Link])] = []
    /// Links that were removed, and positions of rows whose references may have changed.
    private var links: [(table: Int, link: LinkTable.Link)] = []
    /// Rows whose unique values other rows have, too, in other bytes: texts that Swift takes for equal, and earlier versions of
    /// the engine did not. The file may have changed one of them later.
    private var equivalents: [RowID] = []

    init(hasIndexes: Bool) {
        self.hasIndexes = hasIndexes
    }

    // MARK: What a record changes

    mutating func didWrite(_ id: RowID, from old: UnsafeRawPointer?, to new: UnsafeRawPointer, in schema: Schema) {
        written.append(id)
        if let old { noteReferences(of: id, at: old, in: schema) }
        noteReferences(of: id, at: new, in: schema)
    }

    mutating func didDelete(_ id: RowID, at last: UnsafeRawPointer, in schema: Schema) {
        deleted.append(id)
        noteReferences(of: id, at: last, in: schema)
    }

    mutating func didAdd(_ links: [LinkTable.Link], to table: Int) {
        added.append((table, links))
    }

    mutating func didRemove(_ link: LinkTable.Link, from table: Int) {
        links.append((table, link))
    }

    mutating func mayShareKey(_ id: RowID) {
        candidates.append(id)
    }

    private mutating func noteReferences(of id: RowID, at address: UnsafeRawPointer, in schema: Schema) {
        for toOne in schema.entities[id.entity].toOnes {
            let target = toOne.target(ofRowAt: address)
            guard target != 0 else { continue }
            if let order = toOne.order { links.append((order, LinkTable.Link(owner: target, member: id.row))) }
            if toOne.inverseToOne != nil || schema.entities[toOne.target].hasCounts {
                targets.append(RowID(entity: toOne.target, row: target))
            }
        }
    }

    /// How many rows the last record changed, until they are checked.
    var changedRowCount: Int { written.count + deleted.count }

    // MARK: Checking

    /// Checks what the last record changed.
    mutating func checkRecord(in snapshot: Snapshot) throws(BrokenRule) {
        for id in candidates { try checkUniqueness(of: id, in: snapshot) }
        for id in written + targets {
            try Self.fail(snapshot.brokenReference(of: id))
            try checkCounts(of: id, in: snapshot)
        }
        for (table, links) in added { try check(links, addedTo: table, in: snapshot) }
        for (table, link) in links {
            try fail(snapshot.disagreement(about: link, in: table), of: link, in: table, snapshot)
            try checkCounts(ofEndsOf: link, in: table, snapshot)
        }
        (candidates, written, targets, added, links) = ([], [], [], [], [])
        guard hasIndexes else { return }
        for id in deleted { try Self.fail(snapshot.brokenDelete(of: id)) }
        deleted = []
    }

    private func check(
        _ links: [LinkTable.Link], addedTo number: Int, in snapshot: Snapshot
    ) throws(BrokenRule) {
        let table = snapshot.schema.linkTables[number]
        // The replay has added the links of the other direction itself, unless records have them, too.
        let mayDisagree =
            table.toOne != nil || table.inverse != nil && snapshot.schema.derivedTable(of: number) == nil
        for link in links {
            if mayDisagree { try fail(snapshot.disagreement(about: link, in: number), of: link, in: number, snapshot) }
            try fail(snapshot.missingEnd(of: link, in: number), of: link, in: number, snapshot)
            try checkCounts(ofEndsOf: link, in: number, snapshot)
        }
    }

    private func fail(
        _ violation: LinkViolation?, of link: LinkTable.Link, in table: Int, _ snapshot: Snapshot
    ) throws(BrokenRule) {
        try Self.fail(violation.map { snapshot.schema.describe($0, of: link, in: table) })
    }

    /// Checks all rows and links of a state to which no records led.
    mutating func checkEverything(in snapshot: Snapshot) throws {
        // In pieces, so that what is noted of them takes little memory.
        let pieceCount = 1_024
        var references = [Int](repeating: 0, count: snapshot.linkTables.count)
        for (entity, description) in snapshot.schema.entities.enumerated() {
            let ordered = description.toOnes.filter { $0.order != nil }
            guard hasIndexes || !ordered.isEmpty else {
                try Self.fail(snapshot.firstBrokenReference(of: entity))
                continue
            }
            try snapshot.entities[entity].rows.forEachRow { row, _, address in
                didWrite(RowID(entity: entity, row: row), from: nil, to: address, in: snapshot.schema)
                for toOne in ordered where toOne.target(ofRowAt: address) != 0 { references[toOne.order ?? 0] += 1 }
                if written.count >= pieceCount { try checkRecord(in: snapshot) }
            }
        }
        try checkRecord(in: snapshot)
        for table in snapshot.schema.recordedLinkTables {
            // Each reference has its place in an order by now, so as many places as references are theirs alone.
            let isOrder = snapshot.schema.linkTables[table].toOne != nil
            if isOrder, snapshot.linkTables[table].members.count == references[table] { continue }
            var links: [LinkTable.Link] = []
            try snapshot.linkTables[table].members.forEachEntry { entry in
                links.append(LinkTable.Link(entry))
                guard links.count >= pieceCount else { return true }
                try check(links, addedTo: table, in: snapshot)
                links = []
                return true
            }
            try check(links, addedTo: table, in: snapshot)
        }
    }

    /// Checks what was put off until there are indexes.
    ///
    /// - Parameter candidates: all rows of which each has a key that another one before it has, and perhaps others.
    mutating func checkAll(in snapshot: Snapshot, _ candidates: [RowID]) throws(BrokenRule) {
        for id in candidates { try checkUniqueness(of: id, in: snapshot) }
        for id in deleted where !snapshot.contains(id) { try Self.fail(snapshot.brokenDelete(of: id)) }
        deleted = []
        for (entity, description) in snapshot.schema.entities.enumerated() where description.hasCounts {
            var failure: ValidationFailure?
            snapshot.entities[entity].rows.forEachRow { row, _, _ in
                if failure == nil { failure = snapshot.countFailures(of: RowID(entity: entity, row: row)).first }
            }
            try Self.fail(failure?.description)
        }
    }

    private static func fail(_ reason: String?) throws(BrokenRule) {
        if let reason { throw BrokenRule(reason: reason) }
    }

    private func checkCounts(of id: RowID, in snapshot: Snapshot) throws(BrokenRule) {
        guard hasIndexes else { return }
        try Self.fail(snapshot.countFailures(of: id).first?.description)
    }

    private func checkCounts(
        ofEndsOf link: LinkTable.Link, in number: Int, _ snapshot: Snapshot
    ) throws(BrokenRule) {
        let table = snapshot.schema.linkTables[number]
        guard table.inverse != nil else { return }
        try checkCounts(of: RowID(entity: table.entity, row: link.owner), in: snapshot)
        try checkCounts(of: RowID(entity: table.members, row: link.member), in: snapshot)
    }

    private mutating func checkUniqueness(of id: RowID, in snapshot: Snapshot) throws(BrokenRule) {
        guard let address = snapshot.address(of: id) else { return }
        // A file may have any number of them.
        for key in snapshot.sharedKeys(of: id, limit: 1_000) {
            for other in key.others {
                let otherAddress = snapshot.address(of: RowID(entity: id.entity, row: other))
                guard let otherAddress, key.index.isIdentical(address, otherAddress) else {
                    if equivalents.last != id { equivalents.append(id) }
                    continue
                }
                throw BrokenRule(reason: snapshot.schema.describe(id, sharesKeyWith: other, in: key.index))
            }
        }
    }

    /// - Throws: `.notUnique`, with at most a hundred objects that have values which other objects have, too.
    mutating func checkEquivalents(in snapshot: Snapshot) throws(GraphError) {
        var violations: [UniquenessViolation] = []
        var found: Set<RowID> = []
        for id in equivalents.reversed() where violations.count < 100 {
            guard let address = snapshot.address(of: id) else { continue }
            let description = snapshot.schema.entities[id.entity]
            for key in snapshot.sharedKeys(of: id, limit: 1) {
                guard let other = key.others.first else { continue }
                let later = RowID(entity: id.entity, row: max(id.row, other))
                let earlier = RowID(entity: id.entity, row: min(id.row, other))
                guard found.insert(later).inserted else { continue }
                let values = key.index.parts.map { part in
                    description.properties[part.property].operations.describe(address + part.offset).shortened(to: 200)
                }
                violations.append(
                    UniquenessViolation(
                        id: snapshot.schema.id(of: later),
                        existing: snapshot.schema.id(of: earlier),
                        property: description.name(of: key.index),
                        value: values.joined(separator: ", ")
                    )
                )
            }
        }
        equivalents = []
        guard violations.isEmpty else { throw .notUnique(ErrorList(violations.reversed())) }
    }
}
