import Synchronization

/// Makes a state of one schema a state of another one, as a comparison of the two says. Rows keep their numbers and versions.
struct SnapshotConversion {
    private let comparison: SchemaComparison
    private let source: Snapshot
    private let isStep: Bool
    private let meter: ProgressMeter?
    private var convertedCount: UInt64 = 0
    private let count: UInt64
    private(set) var result: Snapshot
    /// What has no counterpart, and what breaks the program's rules; a hundred of each at most.
    private(set) var failures = ErrorList<ValidationFailure>()
    /// Properties of programs' own types that were nil somewhere, and have their default there.
    private(set) var replacedNulls: [SchemaChange] = []
    /// Properties of which some values had parts that their types do not read, and which the result lacks.
    private(set) var unread: Set<String> = []

    /// Converts everything. The result is good only without failures.
    ///
    /// - Parameters:
    ///   - isLast: whether objects that break the rules of uniqueness and of counts are failures.
    ///   - isStep: whether a step of a plan follows, which replaces values that nobody knows or can read.
    init(
        _ source: Snapshot, _ comparison: SchemaComparison, isLast: Bool = true, isStep: Bool = false,
        _ meter: ProgressMeter? = nil
    ) {
        (self.source, self.comparison, self.isStep, self.meter) = (source, comparison, isStep, meter)
        count = source.entities.reduce(0) { $0 + UInt64($1.rows.count) }
        meter?.report(.converting, 0, of: 1)
        result = Snapshot(schema: comparison.new)
        result.token = source.token
        for entity in comparison.new.entities.indices { convertRows(of: entity) }
        for table in comparison.new.linkTables.indices { convertLinks(of: table) }
        guard failures.isEmpty else { return }
        let candidates = result.buildIndexes { [source] entity, number in
            comparison.index(number, of: entity, in: source).map { index in
                let mayRepeat = isLast && comparison.new.entities[entity].indexes[number].uniqueness != nil
                return BuiltIndex(index: index, repeating: mayRepeat ? index.rowsWithRepeatedKeys : [])
            }
        }
        if isLast { failures = result.failures(afterIndexing: candidates) }
        meter?.report(.converting, 1, of: 1)
    }

    // MARK: Rows

    /// Converts the rows, parts of the table at once.
    private mutating func convertRows(of entity: Int) {
        guard let number = comparison.entities[entity].number else { return }
        let rows = source.entities[number].rows
        let conversion = RowConversion(entity, of: comparison, from: number, isStep: isStep)
        let (parts, meter) = (rows.parts, meter)
        // Links and indexes are the rest.
        let total = count + count / 4 + 1
        let done = Mutex(convertedCount)
        let results = concurrentResults(parts.count) { part in
            var conversion = conversion
            rows.forEachRun(in: parts[part]) { run in
                conversion.convert(run)
                guard let meter else { return }
                // Reports come with the lock held, so that none says less than the one before.
                done.withLock { done in
                    done += UInt64(run.occupancy.nonzeroBitCount)
                    meter.report(.converting, done, of: total)
                }
            }
            return conversion
        }
        convertedCount += UInt64(rows.count)
        for part in results {
            // Each leaf comes once.
            for leaf in part.leaves { _ = result.entities[entity].rows.insert(leaf) }
            for failure in part.failures where failures.count < RowConversion.failureLimit { failures.append(failure) }
            replacedNulls += part.replacedNulls.filter { !replacedNulls.contains($0) }
            unread.formUnion(part.unread)
        }
    }

    // MARK: Links

    /// Fills a link table from what the file has of the relationship, at either end.
    private mutating func convertLinks(of table: Int) {
        let description = result.schema.linkTables[table]
        let inverse = result.schema.end(description.entity, description.property)?.inverse
        if case .relationship(let old) = comparison.entities[description.entity].properties[description.property],
            let oldEntity = comparison.entities[description.entity].number
        {
            source.forEachLink(of: oldEntity, old) { add($0, to: table) }
        } else if let inverse,
            case .relationship(let old) = comparison.entities[description.members].properties[inverse],
            let oldEntity = comparison.entities[description.members].number
        {
            // This end is new.
            source.forEachLink(of: oldEntity, old) { link in
                add(LinkTable.Link(owner: link.member, member: link.owner), to: table)
            }
        }
    }

    /// A new order is that of the members' numbers.
    private mutating func add(_ link: LinkTable.Link, to table: Int) {
        var key: OrderKey?
        if result.schema.linkTables[table].isOrdered {
            key = link.key ?? OrderKey.between(result.linkTables[table].lastKey(of: link.owner), nil)
        }
        result.linkTables[table].insert(link.member, of: link.owner, key: key)
    }
}

extension SchemaComparison {
    /// The source's index that has the same entries as this one of the result; nil if there is none. Rows keep their numbers, and
    /// values of the same type their keys.
    fileprivate func index(_ number: Int, of entity: Int, in source: Snapshot) -> OrderedIndex? {
        guard let oldEntity = entities[entity].number else { return nil }
        let description = new.entities[entity].indexes[number]
        let properties = description.parts.map { part -> Int? in
            switch entities[entity].properties[part.property] {
            case .attribute(let property, nil), .relationship(let property): property
            case .attribute, .nowhere: nil
            }
        }
        let same = old.entities[oldEntity].indexes.firstIndex {
            $0.parts.map(\.property) == properties && $0.skipsNil == description.skipsNil
        }
        return same.map { source.entities[oldEntity].indexes[$0] }
    }
}

extension Snapshot {
    /// Calls the body with each link of a relationship, as its owners see it, in ascending order of one of the two.
    fileprivate func forEachLink(of entity: Int, _ property: Int, _ body: (LinkTable.Link) -> Void) {
        let description = schema.entities[entity]
        if let toOne = description.toOnes.first(where: { $0.property == property }) {
            forEachReference(of: entity, toOne) { body(LinkTable.Link(owner: $0, member: $1)) }
        } else if let toMany = description.toManys.first(where: { $0.property == property }) {
            if let table = toMany.linkTable {
                linkTables[table].members.forEachEntry { entry in
                    body(LinkTable.Link(entry))
                    return true
                }
            } else if let toOne = toMany.toOne {
                forEachReference(of: toMany.source, schema.entities[toMany.source].toOnes[toOne]) {
                    body(LinkTable.Link(owner: $1, member: $0))
                }
            }
        }
    }

    private func forEachReference(
        of entity: Int, _ toOne: ToOneDescription, _ body: (_ row: RowNumber, _ target: RowNumber) -> Void
    ) {
        entities[entity].rows.forEachRow { row, _, address in
            let target = toOne.target(ofRowAt: address)
            if target != 0 { body(row, target) }
        }
    }

    /// What breaks the rules of uniqueness and of counts; a hundred objects at most.
    ///
    /// - Parameter candidates: all rows of which each has a key that another one before it has, and perhaps others.
    func failures(
        afterIndexing candidates: [RowID], limit: Int = RowConversion.failureLimit
    ) -> ErrorList<ValidationFailure> {
        var failures = ErrorList<ValidationFailure>()
        for id in candidates where failures.count < limit {
            for key in sharedKeys(of: id, limit: 1) {
                guard let other = key.others.first else { continue }
                let otherID = schema.id(of: RowID(entity: id.entity, row: other))
                let name = schema.entities[id.entity].name(of: key.index)
                failures.append(
                    ValidationFailure(id: schema.id(of: id), property: name, reason: "has the same value as \(otherID)")
                )
            }
        }
        for (entity, description) in schema.entities.enumerated() where description.hasCounts {
            entities[entity].rows.forEachRow { row, _, _ in
                guard failures.count < limit else { return }
                for failure in countFailures(of: RowID(entity: entity, row: row)) { failures.append(failure) }
            }
        }
        return failures
    }
}
