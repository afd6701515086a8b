/// The rows that indexes propose for a condition.
struct RowCandidates {
    /// How many there are at most; exactly as many if they are exact.
    let count: Int
    /// Whether all of them match.
    let areExact: Bool
    /// The rows in ascending order, each once.
    let rows: () -> [RowNumber]
    /// Whether the rows are at hand, so that others are compared with them at once.
    var isListed = false
    /// The part of one index that they are, if they lie side by side there.
    var index: IndexPart?
    /// What `explain` says of them.
    let description: String
}

/// Entries of an index that lie side by side.
struct IndexPart {
    let index: Int
    let ranks: Range<Int>
}

extension Snapshot {
    /// Nil where any row may match, or more than the limit.
    func candidates(_ access: IndexAccess, of entity: Int, limit: Int) -> RowCandidates? {
        switch access {
        case .all: nil
        case .none: RowCandidates(count: 0, areExact: true, rows: { [] }, description: "no row can match")
        case .keys(let keys):
            keys.column.path.isEmpty
                ? candidates(keys, of: entity, limit: limit) : candidates(behind: keys, of: entity, limit: limit)
        case .members(let relationship, let member): candidates(with: member, of: relationship, limit: limit)
        case .both: candidates(ofAll: access.conditions, of: entity, limit: limit)
        case .either(let lhs, let rhs): candidates(ofEither: lhs, rhs, of: entity, limit: limit)
        }
    }

    /// The number of rows that meet a condition, if an index has exactly these.
    func count(_ access: IndexAccess, of entity: Int) -> Int? {
        guard case .keys(let keys) = access, keys.areExact, keys.column.path.isEmpty,
            let found = candidates(keys, of: entity, limit: .max), found.areExact
        else { return nil }
        return found.count
    }

    /// The rows in that range of an index in which all rows lie that meet a condition, however many those are; nil if the condition
    /// says nothing of the index's first property.
    func range(_ access: IndexAccess, of entity: Int, along number: Int) -> RowCandidates? {
        let conditions = access.conditions
        for case .keys(let keys) in conditions where keys.column.path.isEmpty && keys.ranges.count == 1 {
            guard schema.entities[entity].indexes[number].first.property == keys.column.property?.property,
                let found = candidates(keys, of: entity, by: number, limit: .max)
            else { continue }
            return conditions.count == 1 ? found : found.inexact
        }
        return nil
    }

    /// - Parameter number: an index of the property; nil for the shortest one.
    private func candidates(_ keys: KeyAccess, of entity: Int, by number: Int? = nil, limit: Int) -> RowCandidates? {
        let description = schema.entities[entity]
        guard let property = keys.column.property?.property,
            let number = number ?? description.index(of: property)
        else { return nil }
        let index = entities[entity].indexes[number]
        let parts = keys.ranges.map { $0.withIndexRange { index.ranks(of: $0) } }
        let count = parts.reduce(0) { $0 + $1.count }
        guard count <= limit else { return nil }
        let name = "\(description.name).\(description.properties[property].name)"
        return RowCandidates(
            // Behind a value come the further properties of a compound key, which may go past the end of its range.
            count: count, areExact: keys.areExact && description.indexes[number].rest.isEmpty,
            rows: { parts.flatMap { Array(index.cursor(at: $0)) }.sorted() },
            index: parts.count == 1 ? IndexPart(index: number, ranks: parts[0]) : nil,
            description: "\(count) rows by the index of \(name)")
    }

    /// The rows that lead, by references, to rows with these keys.
    private func candidates(behind keys: KeyAccess, of entity: Int, limit: Int) -> RowCandidates? {
        guard let id = keys.column.property, var rows = targets(with: keys, id, limit: limit) else { return nil }
        let targetCount = rows.count
        for step in keys.column.path.reversed() {
            guard let toOne = schema.entities[step.entity].toOnes.firstIndex(where: { $0.property == step.property })
            else { return nil }
            let reference = Reference(entity: step.entity, toOne: toOne)
            var count = 0
            for row in rows {
                count += countReferrers(to: row, through: reference)
                guard count <= limit else { return nil }
            }
            rows = rows.flatMap { referrers(to: $0, through: reference) }
        }
        rows.sort()
        let target = schema.entities[id.entity]
        return RowCandidates(
            count: rows.count, areExact: keys.areExact, rows: { rows }, isListed: true,
            description:
                "\(rows.count) rows that lead to \(targetCount) by \(target.name).\(target.properties[id.property].name)"
        )
    }

    /// The rows with a member that indexes propose.
    private func candidates(
        with member: IndexAccess, of relationship: ToManyDescription, limit: Int
    ) -> RowCandidates? {
        // An owner is found as fast as some thirty members are looked at in a scan.
        let mostMembers = max(entities[relationship.source].rows.count / 32, 16)
        guard let members = candidates(member, of: relationship.source, limit: min(limit, mostMembers)) else {
            return nil
        }
        var owners: [RowNumber] = []
        for row in members.rows() {
            if let toOne = relationship.toOne {
                let reference = schema.entities[relationship.source].toOnes[toOne]
                guard let address = entities[relationship.source].rows.address(of: row) else { continue }
                owners.append(reference.target(ofRowAt: address))
            } else if let inverse = relationship.linkTable.flatMap({ schema.linkTables[$0].inverse }) {
                owners += linkTables[inverse].memberRows(of: row)
            }
            if owners.count > limit { owners = Array(Set(owners)) }
            guard owners.count <= limit else { return nil }
        }
        // Those of one member come in order, and each once; 0 is nobody.
        if members.count > 1 || relationship.toOne != nil { owners = Set(owners).subtracting([0]).sorted() }
        return RowCandidates(
            count: owners.count, areExact: members.areExact, rows: { [owners] in owners }, isListed: true,
            description: "\(owners.count) rows with a member among \(members.description)")
    }

    /// The rows of another entity with these keys: by an index, or by looking at all if they are few.
    private func targets(with keys: KeyAccess, _ id: PropertyID, limit: Int) -> [RowNumber]? {
        let target = schema.entities[id.entity]
        if target.index(of: id.property) != nil {
            return candidates(keys, of: id.entity, limit: limit)?.rows()
        }
        let table = entities[id.entity].rows
        // Each takes about as long as a few rows that a scan would look at.
        guard table.count <= limit / 4, let operations = target.properties[id.property].operations.key else {
            return nil
        }
        var (rows, key): ([RowNumber], ByteWriter) = ([], ByteWriter(capacity: 64))
        table.forEachRow { row, _, address in
            key.removeAll()
            _ = operations.append(address + keys.column.offset, &key)
            if key.bytes.withUnsafeBytes({ bytes in keys.ranges.contains { $0.contains(bytes) } }) { rows.append(row) }
        }
        return rows
    }

    /// The fewest that any of the conditions has, or several of them together: by a compound index, or since all lists have them. The
    /// others are tested anyway.
    private func candidates(ofAll conditions: [IndexAccess], of entity: Int, limit: Int) -> RowCandidates? {
        var (best, lists): (RowCandidates?, [RowCandidates]) = (nil, [])
        for condition in conditions.filter({ !$0.makesList }) + conditions.filter(\.makesList) {
            // Whether a row is in a list is found faster by far than whether it has such a member.
            let most = best.map { min(limit, $0.isListed ? 32 * $0.count : max($0.count, 16)) } ?? limit
            guard let found = candidates(condition, of: entity, limit: most) else { continue }
            if found.isListed { lists.append(found) }
            if found.count < best?.count ?? .max { best = found }
        }
        let keys = conditions.compactMap { condition -> KeyAccess? in
            guard case .keys(let keys) = condition, keys.column.path.isEmpty else { return nil }
            return keys
        }
        for number in schema.entities[entity].indexes.indices where best?.count != 0 {
            let found = candidates(keys, of: entity, compound: number, limit: best?.count ?? limit)
            if let found, found.count < best?.count ?? .max { best = found }
        }
        guard best?.isListed == true, lists.count > 1 else { return best?.inexact }
        lists.sort { $0.count < $1.count }
        let rows = lists.dropFirst().reduce(lists[0].rows()) { $0.intersection($1.rows()) }
        return RowCandidates(
            count: rows.count, areExact: lists.count == conditions.count && lists.allSatisfy(\.areExact),
            rows: { rows }, isListed: true,
            description: "\(rows.count) rows that are in \(lists.map(\.description).joined(separator: " and "))")
    }

    /// The rows that meet conditions on the first properties of a compound index: one value of each, and of the last one perhaps a
    /// range. Nil if they are on less than two of them.
    private func candidates(_ keys: [KeyAccess], of entity: Int, compound number: Int, limit: Int) -> RowCandidates? {
        let description = schema.entities[entity]
        var (prefix, used): ([UInt8], [KeyAccess]) = ([], [])
        var last: KeyRange?
        for part in description.indexes[number].parts {
            guard last == nil, let next = keys.first(where: { $0.column.property?.property == part.property }),
                next.ranges.count == 1
            else { break }
            used.append(next)
            // A range of keys that begin alike may be that of one key, or of a text's beginning, behind which no other key comes.
            if next.areExact, next.ranges[0].isPrefix { prefix += next.ranges[0].lower } else { last = next.ranges[0] }
        }
        guard used.count > 1 else { return nil }
        let range = last.map { prefix + $0 } ?? KeyRange(prefix: prefix)
        let index = entities[entity].indexes[number]
        let ranks = range.withIndexRange { index.ranks(of: $0) }
        guard ranks.count <= limit else { return nil }
        let names = used.map { description.properties[$0.column.property?.property ?? 0].name }
        return RowCandidates(
            count: ranks.count, areExact: false, rows: { Array(index.cursor(at: ranks)).sorted() },
            description: "\(ranks.count) rows by the index of \(description.name).(\(names.joined(separator: ", ")))")
    }

    private func candidates(ofEither lhs: IndexAccess, _ rhs: IndexAccess, of entity: Int, limit: Int) -> RowCandidates?
    {
        guard let left = candidates(lhs, of: entity, limit: limit),
            let right = candidates(rhs, of: entity, limit: limit - left.count)
        else { return nil }
        return RowCandidates(
            count: left.count + right.count, areExact: false,
            rows: { left.rows().merged(with: right.rows()) },
            description: "\(left.description) and \(right.description)")
    }
}

extension RowCandidates {
    /// The same for a condition that not all of them meet.
    var inexact: RowCandidates {
        RowCandidates(
            count: count, areExact: false, rows: rows, isListed: isListed, index: index, description: description)
    }
}

extension [RowNumber] {
    /// What is in both ascending lists.
    fileprivate func intersection(_ other: [RowNumber]) -> [RowNumber] {
        var (result, place): ([RowNumber], Int) = ([], 0)
        for row in self {
            while place < other.count, other[place] < row { place += 1 }
            guard place < other.count else { break }
            if other[place] == row { result.append(row) }
        }
        return result
    }

    /// Both ascending lists in one, each number once.
    fileprivate func merged(with other: [RowNumber]) -> [RowNumber] {
        var (result, left, right): ([RowNumber], Int, Int) = ([], 0, 0)
        result.reserveCapacity(count + other.count)
        while left < count || right < other.count {
            let next = Swift.min(left < count ? self[left] : .max, right < other.count ? other[right] : .max)
            if left < count, self[left] == next { left += 1 }
            if right < other.count, other[right] == next { right += 1 }
            result.append(next)
        }
        return result
    }
}

extension EntityDescription {
    /// An index of all rows with a key that begins with a property: the shortest one.
    func index(of property: Int) -> Int? {
        let candidates = indexes.indices.filter {
            indexes[$0].first.property == property
                && (!indexes[$0].skipsNil || properties[property].relationship != nil)
        }
        return candidates.min { indexes[$0].rest.count < indexes[$1].rest.count }
    }
}

// MARK: Ranges

extension IndexAccess {
    /// The conditions that it joins.
    fileprivate var conditions: [IndexAccess] {
        guard case .both(let lhs, let rhs) = self else { return [self] }
        return lhs.conditions + rhs.conditions
    }

    /// Whether all of it is about a variable's own rows.
    func isOfRows(of root: RowSlot) -> Bool {
        switch self {
        case .all, .none, .members: true
        case .keys(let keys): keys.column.slot === root
        case .both(let lhs, let rhs), .either(let lhs, let rhs): lhs.isOfRows(of: root) && rhs.isOfRows(of: root)
        }
    }

    /// Conditions on the entity's own properties, so that every row that matches meets all of some list; nil if other rows may match.
    var searches: [[PropertyKeys]]? {
        switch self {
        case .all, .members: return nil
        case .none: return []
        case .keys(let keys):
            guard keys.column.path.isEmpty, let property = keys.column.property?.property else { return nil }
            // Each range is one more that a commit compares; the one around all will do.
            guard keys.ranges.count > 64, let first = keys.ranges.first, let last = keys.ranges.last else {
                return keys.ranges.map { [PropertyKeys(property: property, keys: $0)] }
            }
            let all = KeyRange(from: first.lower, upTo: last.upper, includesUpper: last.includesUpper)
            return [[PropertyKeys(property: property, keys: all)]]
        case .both(let lhs, let rhs):
            guard let left = lhs.searches, let right = rhs.searches else { return lhs.searches ?? rhs.searches }
            guard left.count * right.count <= 64 else { return left.count < right.count ? left : right }
            return left.flatMap { left in right.map { left + $0 } }
        case .either(let lhs, let rhs):
            return lhs.searches.flatMap { left in rhs.searches.map { left + $0 } }
        }
    }

    /// What is known of rows that meet two conditions: ranges of one property are intersected.
    static func intersection(_ lhs: IndexAccess, _ rhs: IndexAccess) -> IndexAccess {
        switch (lhs, rhs) {
        case (.none, _), (_, .none): .none
        case (.all, let other), (let other, .all): other.inexact
        case (.keys(let left), let other): other.adding(left)
        case (let other, .keys(let right)): other.adding(right)
        default: .both(lhs, rhs)
        }
    }

    /// Whether its candidates are found by listing them, not by counting.
    fileprivate var makesList: Bool {
        switch self {
        case .keys(let keys): !keys.column.path.isEmpty
        case .members: true
        default: false
        }
    }

    /// The same for a condition that not all of these rows meet.
    private var inexact: IndexAccess {
        switch self {
        case .keys(let keys): .keys(KeyAccess(column: keys.column, ranges: keys.ranges, areExact: false))
        case .members(let relationship, let member): .members(relationship, member.inexact)
        case .both(let lhs, let rhs): .both(lhs.inexact, rhs.inexact)
        case .all, .none, .either: self
        }
    }

    private func adding(_ keys: KeyAccess) -> IndexAccess {
        switch self {
        case .keys(let own)
        where own.column.hasSameRow(as: keys.column) && own.ranges.count * keys.ranges.count > 4_096:
            // Every pair is compared; the fewer will do.
            IndexAccess.keys(own.ranges.count < keys.ranges.count ? own : keys).inexact
        case .keys(let own) where own.column.hasSameRow(as: keys.column):
            .keys(
                KeyAccess(
                    column: own.column,
                    ranges: own.ranges.flatMap { range in keys.ranges.compactMap { range.intersection($0) } },
                    areExact: own.areExact && keys.areExact))
        case .both(let left, .keys(let right)) where right.column.hasSameRow(as: keys.column):
            .both(left, IndexAccess.keys(right).adding(keys))
        case .both(let left, let right): .both(left.adding(keys), right)
        default: .both(self, .keys(keys))
        }
    }
}

extension Column {
    fileprivate func hasSameRow(as other: Column) -> Bool { property == other.property && path == other.path }
}

extension KeyRange {
    /// The range behind the keys of other properties.
    fileprivate static func + (prefix: [UInt8], range: KeyRange) -> KeyRange {
        guard let upper = range.upper else {
            return KeyRange(from: prefix + range.lower, upTo: prefix, includesUpper: true)
        }
        return KeyRange(from: prefix + range.lower, upTo: prefix + upper, includesUpper: range.includesUpper)
    }

    /// Nil if no key is in both.
    func intersection(_ other: KeyRange) -> KeyRange? {
        let lower = lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower
        let last = ends(before: other) ? self : other
        guard let upper = last.upper else { return KeyRange(from: lower, upTo: nil, includesUpper: true) }
        guard lower.lexicographicallyPrecedes(upper) || last.includesUpper && lower.starts(with: upper) else {
            return nil
        }
        return KeyRange(from: lower, upTo: upper, includesUpper: last.includesUpper)
    }
}
