/// Finds the rows of an entity in a sort order, one after another, with an index whose keys begin with the first properties of
/// the sort.
@usableFromInline
struct IndexWalk {
    private let order: RowOrder
    private let entity: EntityDescription
    private let table: RowTable
    private let index: OrderedIndex
    /// The properties of the key that the sort compares first, all in one direction.
    private let leading: ArraySlice<IndexDescription.Part>
    private let isDescending: Bool
    /// Nil where keys alone are not the whole order: rows with equal leading properties are then sorted.
    private var rows: KeyOrderedRows?
    /// The ranks of the entries that are still to come.
    private var ranks: Range<Int>
    /// The number of further rows that may be visited.
    private var allowance: Int
    private let blockSize: Int
    private var block: ArraySlice<FoundRow> = []
    private var visited: [RowNumber] = []

    /// A row found by an index lies anywhere in memory, and takes about thirty times as long as the next row of a scan;
    /// besides, the walk must remember it. With this share of the rows, by measurement, an abandoned walk took no longer than
    /// the scan that follows.
    private static let visitedShare = 64
    /// A scan's result must be sorted, which justifies some visits: if every third row matches, a walk to the end was up to
    /// five times as fast with 100,000 rows and fewer, and never much slower with 1,000,000. It does not pay where groups of
    /// rows must be sorted: small groups took up to twelve times as long as a scan and one sort.
    private static let visitsPerMatch = 3

    /// The number of rows before the first one returned, at most the offset.
    let skipped: Int

    /// Nil if no index has the order, or there are too few rows.
    ///
    /// - Parameters:
    ///   - capacity: the number of rows wanted.
    ///   - offset: the number of first rows that the result leaves out. They are counted, not visited; if the last of them and
    ///     the first wanted row have equal keys, the walk starts at the first row with that key.
    ///   - position: where a page has ended. Rows before it are left out as far as ranks tell, and do not count as skipped.
    ///   - part: the only entries to visit, all those with certain values of the index's first property; nil for all.
    ///   - allowance: how many rows may be visited, and more only as they match; nil for as many as a scan takes as long for.
    init?(
        _ order: RowOrder,
        of entity: EntityDescription,
        in rows: EntityRows,
        capacity: Int,
        skippingAtMost offset: Int = 0,
        after position: PagePosition? = nil,
        within part: IndexPart? = nil,
        visiting allowance: Int? = nil
    ) {
        guard let (number, leading) = entity.indexes.longestBeginning(of: order),
            part.map({ $0.index == number }) ?? true
        else { return nil }
        self.allowance = allowance ?? rows.rows.count / Self.visitedShare
        guard self.allowance > 0 else { return nil }
        (self.order, self.entity) = (order, entity)
        table = rows.rows
        index = rows.indexes[number]
        self.leading = leading
        isDescending = order.criteria[0].isDescending
        let isWholeOrder =
            leading.count == order.criteria.count && leading.count == entity.indexes[number].parts.count
        let all = part?.ranks ?? 0..<index.count
        var skipped = min(offset, all.count)
        if let position {
            skipped = position.passedCount(index, in: all, leading: leading.count, isWholeOrder: isWholeOrder)
        }
        if isWholeOrder {
            self.rows = KeyOrderedRows(index, descending: isDescending, in: all, skipping: skipped)
        } else if position == nil, skipped > 0, skipped < all.count {
            let rank = isDescending ? all.upperBound - 1 - skipped : all.lowerBound + skipped
            guard let group = Self.group(at: rank, leading, index, table) else { return nil }
            skipped = isDescending ? all.upperBound - group.upperBound : group.lowerBound - all.lowerBound
        }
        self.skipped = position == nil ? skipped : 0
        ranks = isDescending ? all.dropLast(skipped) : all.dropFirst(skipped)
        blockSize = min(capacity, 64)
    }

    /// The index that a walk in this order follows; nil if there is none.
    static func index(in order: RowOrder, of entity: EntityDescription) -> Int? {
        entity.indexes.longestBeginning(of: order)?.number
    }

    /// Nil at the end, and when the walk takes too long: then `isAtEnd` is false.
    @usableFromInline
    mutating func next() -> FoundRow? {
        if block.isEmpty { findBlock() }
        return block.popFirst()
    }

    /// Must be called for each row that matches: more rows may then be visited.
    @usableFromInline
    mutating func didMatch() {
        if rows != nil { allowance += Self.visitsPerMatch }
    }

    /// Whether all rows have been returned.
    @usableFromInline var isAtEnd: Bool { ranks.isEmpty && block.isEmpty }

    /// The rows that have been returned, once `next` has returned nil.
    @usableFromInline var passed: PassedRows { PassedRows(visited) }

    /// Rows come in blocks, so that the processor can wait for several of them at once.
    private mutating func findBlock() {
        var found: [FoundRow] = []
        while found.count < blockSize, allowance > 0, !ranks.isEmpty {
            if rows != nil {
                appendRow(to: &found)
            } else {
                guard appendGroup(to: &found) else { break }
            }
        }
        for row in found { visited.append(row.number) }
        entity.touch(found.map(\.address))
        block = found[...]
    }

    private mutating func appendRow(to found: inout [FoundRow]) {
        remove(1)
        if let row = rows?.next() { append(row, to: &found) }
    }

    /// Appends the rows with equal leading properties, sorted. Returns false if there are too many.
    private mutating func appendGroup(to found: inout [FoundRow]) -> Bool {
        let edge = isDescending ? ranks.upperBound - 1 : ranks.lowerBound
        guard let ranksOfGroup = Self.group(at: edge, leading, index, table) else { return false }
        // A range may begin inside a group, among keys behind its bound that are no longer of the value there.
        let count = ranksOfGroup.clamped(to: ranks).count
        guard count <= allowance else { return false }
        let group = isDescending ? ranks.suffix(count) : ranks.prefix(count)
        remove(count)
        let start = found.count
        for row in index.cursor(at: group) { append(row, to: &found) }
        SortKeys.sort(&found, from: start, by: order)
        return true
    }

    /// The ranks of the rows with the same leading properties as the row at a rank.
    private static func group(
        at rank: Int,
        _ leading: ArraySlice<IndexDescription.Part>,
        _ index: OrderedIndex,
        _ table: RowTable
    ) -> Range<Int>? {
        guard let row = table.address(of: index.withEntry(at: rank) { KeyBytes($0).row }) else { return nil }
        var key = ByteWriter(capacity: 64)
        for part in leading { _ = part.key.append(row + part.offset, &key) }
        return key.bytes.withUnsafeBytes { index.rank(of: .entry($0))..<index.rank(of: .pastPrefix($0)) }
    }

    private func append(_ row: RowNumber, to found: inout [FoundRow]) {
        if let address = table.address(of: row) { found.append(FoundRow(number: row, address: address)) }
    }

    private mutating func remove(_ count: Int) {
        ranks = isDescending ? ranks.dropLast(count) : ranks.dropFirst(count)
        allowance -= count
    }
}

extension [IndexDescription] {
    /// The index that shares the longest beginning with a sort in one direction, and the shared parts. Nil if none shares any.
    fileprivate func longestBeginning(
        of order: RowOrder
    ) -> (number: Int, shared: ArraySlice<IndexDescription.Part>)? {
        let candidates = enumerated().map { number, index in
            let parts = index.parts
            let shared = zip(parts, order.criteria).prefix { part, criterion in
                part.property == criterion.property && criterion.isDescending == order.criteria[0].isDescending
            }
            // An index that leaves rows out would lose them.
            return (number: number, shared: parts.prefix(index.skipsNil ? 0 : shared.count), rest: index.rest.count)
        }
        // Among equals the shortest index, whose order may be the whole order.
        let best = candidates.max { ($0.shared.count, $1.rest) < ($1.shared.count, $0.rest) }
        return best.flatMap { $0.shared.isEmpty ? nil : ($0.number, $0.shared) }
    }
}
