/// Makes rows and links of records, in a context's working state.
///
/// A row is written as soon as it comes, with the references whose targets are there; the others wait for their targets, and
/// links for both ends. So sources may have any order, and rows refer to each other in circles. What rows need numbers for, and
/// what waits, is in `point`, which is therefore all that an import has to know to go on.
struct Importer {
    private let entities: [ExchangedEntity]
    private let schema: Schema
    private let counters: RowCounters
    private let sources: [RowSource]
    private(set) var point: ImportPoint
    /// Since the last save: the lines that rows come from.
    private var lines: [RowID: SourceLine] = [:]
    /// The references that wait, by the target's entity and identifier.
    private var waiting: [Target: [WaitingReference]] = [:]
    /// The ordered lists of which links wait: those that come later wait, too, as the order of the lines is that of the members.
    private var waitingLists: Set<List> = []

    private struct Target: Hashable {
        let entity: Int
        let id: UInt64
    }

    private struct List: Hashable {
        let entity, toMany: Int
        let owner: UInt64

        init(_ links: WaitingLinks) { (entity, toMany, owner) = (links.entity, links.toMany, links.owner) }
    }

    /// Greater numbers are for rows that the store itself makes, so that a single identifier cannot use all of them up.
    static let greatestKept: UInt64 = 1 << 44 - 2

    init(_ schema: Schema, counters: RowCounters, sources: [RowSource], at point: ImportPoint) {
        (self.schema, self.counters, self.sources, self.point) = (schema, counters, sources, point)
        entities = schema.exchangedEntities
        for reference in point.waiting.elements { waiting[target(of: reference), default: []].append(reference) }
        waitingLists = Set(point.waitingLinks.elements.filter(isOrdered).map(List.init))
    }

    /// Rows and links since the last save.
    private(set) var pendingCount = 0

    func reader(of source: RowSource) throws(GraphError) -> RecordReader {
        RecordReader(entities, csv: try source.entity(in: schema).map { entities[$0] })
    }

    // MARK: Rows

    /// Applies what a record says.
    mutating func apply(
        _ record: ImportedRecord, on line: SourceLine, to state: inout WorkingState
    ) throws(InvalidRecord) {
        switch record {
        case .row(let entity, let id, let values):
            try insert(entity, id, values, line, &state)
            (point.rowCount, pendingCount) = (point.rowCount + 1, pendingCount + 1)
        case .links(let entity, let toMany, let owner, let members):
            let links = WaitingLinks(entity: entity, toMany: toMany, owner: owner, members: members, line: line)
            if waitingLists.contains(List(links)) || !link(links, &state) {
                point.waitingLinks.append(links)
                if isOrdered(links) { waitingLists.insert(List(links)) }
            }
            (point.linkCount, pendingCount) = (point.linkCount + members.count, pendingCount + max(members.count, 1))
        }
    }

    private mutating func insert(
        _ number: Int, _ id: UInt64?, _ values: [StoredValue?], _ line: SourceLine, _ state: inout WorkingState
    ) throws(InvalidRecord) {
        let entity = entities[number]
        if let id, point.identifiers[number].row(of: id) != nil {
            throw InvalidRecord(entity: entity.name, reason: "a row with the identifier \(id) came before")
        }
        let row = RowID(entity: number, row: rowNumber(for: id, of: number))
        guard !state.snapshot.contains(row) else {
            throw InvalidRecord(entity: entity.name, reason: "there is a row with the identifier \(row.row)")
        }
        if let id { point.identifiers[number].insert(id, row.row) }
        let targets = try references(of: row, entity, values, line)
        let memory = ImportedRow(entity)
        try memory.fill(values, targets)
        _ = state.write(row, at: memory.address, isNew: true)
        lines[row] = line
        guard let id, let references = waiting.removeValue(forKey: Target(entity: number, id: id)) else { return }
        for reference in references {
            point.waiting.remove(reference)
            set(reference, to: row.row, &state)
        }
    }

    /// By property, the rows that references lead to as far as they are there.
    private mutating func references(
        of row: RowID, _ entity: ExchangedEntity, _ values: [StoredValue?], _ line: SourceLine
    ) throws(InvalidRecord) -> [Int: RowNumber] {
        var targets: [Int: RowNumber] = [:]
        for (number, toOne) in entity.description.toOnes.enumerated() {
            guard let value = values[toOne.property] else { continue }
            let id: UInt64?
            do throws(InvalidValue) {
                id = try RecordReader.identifier(value)
            } catch {
                let property = entity.description.properties[toOne.property].name
                throw InvalidRecord(entity: entity.name, property: property, reason: error.reason)
            }
            guard let id else { continue }
            if let target = point.identifiers[toOne.target].row(of: id), target != row.row || toOne.target != row.entity
            {
                targets[toOne.property] = target
            } else {
                wait(WaitingReference(entity: row.entity, toOne: number, row: row.row, target: id, line: line))
            }
        }
        return targets
    }

    private mutating func wait(_ reference: WaitingReference) {
        waiting[target(of: reference), default: []].append(reference)
        point.waiting.append(reference)
    }

    private func target(of reference: WaitingReference) -> Target {
        let entity = schema.entities[reference.entity].toOnes[reference.toOne].target
        return Target(entity: entity, id: reference.target)
    }

    private mutating func set(_ reference: WaitingReference, to target: RowNumber, _ state: inout WorkingState) {
        guard let row = point.identifiers[reference.entity].owner(reference.row) else { return }
        let id = RowID(entity: reference.entity, row: row)
        state.setReference(of: id, through: schema.entities[reference.entity].toOnes[reference.toOne], to: target)
        lines[id] = lines[id] ?? reference.line
    }

    /// The number that the store has under the same identifier, if nobody can have it; otherwise a new one.
    private mutating func rowNumber(for id: UInt64?, of entity: Int) -> RowNumber {
        guard let id, id <= Self.greatestKept, var taken = point.taken?[entity] else {
            return counters.next(of: entity)
        }
        if taken.contains(where: { $0.contains(id) }) { return id }
        guard let range = counters.take(id, of: entity) else { return counters.next(of: entity) }
        if let last = taken.last, last.upperBound + 1 == range.lowerBound {
            taken[taken.count - 1] = last.lowerBound...range.upperBound
        } else {
            taken.append(range)
        }
        point.taken?[entity] = taken
        return id
    }

    /// Gives back the numbers that were taken since a point, after which nothing was saved.
    func giveBackNumbers(since point: ImportPoint) {
        for (entity, ranges) in (self.point.taken ?? []).enumerated() {
            let before = point.taken?[entity] ?? []
            for (number, range) in ranges.enumerated() {
                let first = number < before.count ? before[number].upperBound + 1 : range.lowerBound
                if first <= range.upperBound { counters.giveBack(first...range.upperBound, of: entity) }
            }
        }
    }

    // MARK: Links

    /// The row of an identifier; nil if none has come, or if somebody has deleted it since.
    private func row(of id: UInt64, _ entity: Int, in state: WorkingState) -> RowNumber? {
        guard let row = point.identifiers[entity].row(of: id),
            state.snapshot.contains(RowID(entity: entity, row: row))
        else { return nil }
        return row
    }

    private func isOrdered(_ links: WaitingLinks) -> Bool {
        schema.entities[links.entity].toManys[links.toMany].isOrdered
    }

    /// Makes rows the last members of an owner; false if it or one of them is not there.
    private mutating func link(_ links: WaitingLinks, ignoringUnknown: Bool = false, _ state: inout WorkingState)
        -> Bool
    {
        let relationship = schema.entities[links.entity].toManys[links.toMany]
        guard let owner = row(of: links.owner, links.entity, in: state) else { return false }
        let members = links.members.compactMap { row(of: $0, relationship.source, in: state) }
        guard ignoringUnknown || members.count == links.members.count else { return false }
        let id = RowID(entity: links.entity, row: owner)
        lines[id] = lines[id] ?? links.line
        for member in members {
            guard relationship.isOrdered else {
                state.insertMember(member, of: owner, through: relationship)
                continue
            }
            let isMember = state.snapshot.isMember(member, of: owner, through: relationship)
            let count = state.snapshot.memberCount(of: owner, through: relationship)
            state.place(member, of: owner, through: relationship, at: count - (isMember ? 1 : 0))
        }
        return true
    }

    /// Applies what has waited for the end of all sources.
    ///
    /// - Returns: what does not lead anywhere.
    mutating func finish(ignoringUnknown: Bool, _ state: inout WorkingState) -> ErrorList<ImportFailure> {
        var failures = ErrorList<ImportFailure>()
        for links in point.waitingLinks.elements
        where !link(links, ignoringUnknown: ignoringUnknown, &state) && !ignoringUnknown {
            failures.append(failure(of: links, state))
        }
        (point.waitingLinks, waitingLists) = (WaitingList(), [])
        guard !ignoringUnknown else {
            (waiting, point.waiting) = ([:], WaitingList())
            return failures
        }
        for reference in point.waiting.elements {
            let entity = entities[reference.entity]
            let toOne = entity.description.toOnes[reference.toOne]
            failures.append(
                failure(
                    on: reference.line, entity.name, entity.description.properties[toOne.property].name,
                    "no source has a \(entities[toOne.target].name) with the identifier \(reference.target)"))
        }
        return failures
    }

    private func failure(of links: WaitingLinks, _ state: WorkingState) -> ImportFailure {
        let entity = entities[links.entity]
        let relationship = entity.description.toManys[links.toMany]
        let missing = links.members.first { row(of: $0, relationship.source, in: state) == nil }
        let isOwner = row(of: links.owner, links.entity, in: state) == nil
        let (number, id) = isOwner ? (links.entity, links.owner) : (relationship.source, missing ?? 0)
        let name = entities[number].name
        let reason =
            point.identifiers[number].row(of: id) == nil
            ? "no source has a \(name) with the identifier \(id)" : "the \(name) with the identifier \(id) was deleted"
        return failure(
            on: links.line, entity.name, entity.description.properties[relationship.property].name, reason)
    }

    private func failure(on line: SourceLine, _ entity: String, _ property: String?, _ reason: String) -> ImportFailure
    {
        let source = sources.indices.contains(line.source) ? sources[line.source].name : ""
        return ImportFailure(source: source, line: line.line, entity: entity, property: property, reason: reason)
    }

    // MARK: Saves

    /// Takes note of a save, which has the sources up to here.
    mutating func didSave(_ outcome: Outcome?, _ token: HistoryToken, source: Int, recordCount: Int) {
        for (entity, rows) in outcome?.replacements ?? [:] {
            for (row, survivor) in rows {
                let takesOver = outcome?.overwritten.contains(RowID(entity: entity, row: survivor)) ?? false
                point.identifiers[entity].replace(row, by: survivor, takesOver: takesOver)
            }
        }
        (lines, pendingCount) = ([:], 0)
        (point.token, point.source, point.recordCount) = (token, source, recordCount)
        point.share()
    }

    /// The line that an object comes from; nil for others than those of this save.
    private func source(of id: AnyPersistentID) -> (name: String, line: Int)? {
        let line = schema.index(named: id.entityName).flatMap { lines[RowID(entity: $0, row: id.row)] }
        return line.map { (sources.indices.contains($0.source) ? sources[$0.source].name : "", $0.line) }
    }

    /// What a save throws, with the lines that its objects come from.
    func error(of save: GraphError) -> GraphError {
        func failures<Item>(_ items: ErrorList<Item>, _ place: (Item) -> (AnyPersistentID, String?, String))
            -> GraphError
        {
            let failures = items.mapItems { item in
                let (id, property, reason) = place(item)
                let source = source(of: id)
                return ImportFailure(
                    source: source?.name ?? "", line: source?.line, entity: id.entityName, property: property,
                    reason: reason)
            }
            return .importFailed(failures)
        }
        switch save {
        case .notUnique(let items):
            // Nobody has seen the identifiers of objects that come from the sources.
            return failures(items) { item in
                let place = source(of: item.existing).map { "the object of \($0.name.shortened(to: 200)):\($0.line)" }
                return (item.id, item.property, "\(item.value) is taken by \(place ?? "\(item.existing)")")
            }
        case .danglingReferences(let items): return failures(items) { ($0.id, $0.property, "\($0)") }
        case .validationFailed(let items): return failures(items) { ($0.id, $0.property, $0.reason) }
        default: return save
        }
    }
}
