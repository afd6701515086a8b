/// How the list that a live result shows differs from the one before: what is removed from the one and inserted into the other.
struct ResultChanges: Sendable {
    /// Where rows leave the old list, and where they enter the new one; ascending, without the moves.
    private(set) var removed: [Int] = []
    private(set) var inserted: [Int] = []
    /// By their place in the new list.
    private(set) var moved: [ResultMove] = []
    /// Where the new list shows rows that have other values than in the old one.
    private(set) var updated: [Int] = []
    private(set) var removedSections: [Int] = []
    private(set) var insertedSections: [Int] = []
    private(set) var updatedSections: [Int] = []

    init() {}

    /// From nothing to a result.
    init<E>(all rows: ResultRows<E>) {
        inserted = Array(0..<rows.count)
        insertedSections = Array(rows.sections.indices)
    }

    var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

    /// Whether another object is at any place than before.
    var isStructural: Bool { !(removed.isEmpty && inserted.isEmpty && moved.isEmpty) }

    /// - Parameters:
    ///   - touched: the rows whose entries or values differ, with their ranks; all other rows are in one order before and after.
    ///   - isWhole: whether all rows of both lists are among them.
    init<E>(_ touched: [TouchedRow], from old: ResultRows<E>, to new: ResultRows<E>, isWhole: Bool = false) {
        let (shown, shows) = (old.window, new.window)
        let oldRanks = Untouched(touched.compactMap(\.old).sorted())
        let newRanks = Untouched(touched.compactMap(\.new).sorted())
        var stays: [TouchedRow] = []
        for row in touched {
            let leaves = row.old.map { shown.contains($0) } ?? false
            let enters = row.new.map { shows.contains($0) } ?? false
            switch (leaves, enters) {
            case (true, false): removed.append(row.old! - shown.lowerBound)
            case (false, true): inserted.append(row.new! - shows.lowerBound)
            case (true, true): stays.append(row)
            case (false, false): break
            }
        }
        if !isWhole {
            // Of the other rows, a few cross the edges of what is shown.
            let was = oldRanks.before(shown.lowerBound)..<oldRanks.before(shown.upperBound)
            let isNow = newRanks.before(shows.lowerBound)..<newRanks.before(shows.upperBound)
            removed += was.without(isNow).map { oldRanks.rank(of: $0) - shown.lowerBound }
            inserted += isNow.without(was).map { newRanks.rank(of: $0) - shows.lowerBound }
        }
        add(stays, oldRanks, newRanks, from: old, to: new, isWhole: isWhole)
        removed.sort()
        inserted.sort()
        moved.sort { $0.to < $1.to }
        updated.sort()
    }

    /// Rows that are shown before and after: as many as possible of those between the same other rows stay, the others move.
    private mutating func add<E>(
        _ rows: [TouchedRow], _ oldRanks: Untouched, _ newRanks: Untouched, from old: ResultRows<E>,
        to new: ResultRows<E>, isWhole: Bool
    ) {
        let (shown, shows) = (old.window, new.window)
        var inOrder: [TouchedRow] = []
        var movers: [TouchedRow] = []
        for row in rows.sorted(by: { $0.old! < $1.old! }) {
            if isWhole || oldRanks.before(row.old!) == newRanks.before(row.new!),
                old.section(of: row.row) == new.section(of: row.row)
            {
                inOrder.append(row)
            } else {
                movers.append(row)
            }
        }
        let longest = inOrder.map { $0.new! }.longestIncreasingSubsequence
        for (place, row) in inOrder.enumerated() where !longest.contains(place) { movers.append(row) }
        moved = movers.map { ResultMove(from: $0.old! - shown.lowerBound, to: $0.new! - shows.lowerBound) }
        updated = rows.filter(\.isChanged).map { $0.new! - shows.lowerBound }
    }

    // MARK: Sections

    /// Counts the rows of each section anew where they differ.
    mutating func updateSections<E>(_ sections: inout [ResultSection], from old: ResultRows<E>, to new: ResultRows<E>) {
        guard new.definition.section != nil else { return }
        var changes: [[UInt8]: Int] = [:]
        func count(_ index: Int, of list: ResultRows<E>, _ change: Int) {
            if let key = list.section(of: list.row(at: index)) { changes[key, default: 0] += change }
        }
        for index in removed + moved.map(\.from) { count(index, of: old, -1) }
        for index in inserted + moved.map(\.to) { count(index, of: new, 1) }
        for index in updated { count(index, of: new, 0) }
        var added: [ResultSection] = []
        for (key, change) in changes {
            if let index = sections.index(of: key) {
                sections[index].count += change
            } else {
                added.append(ResultSection(key: key, count: change))
            }
        }
        sections.removeAll { $0.count == 0 }
        sections.insert(added)
        for key in changes.keys {
            let (before, after) = (old.sections.index(of: key), sections.index(of: key))
            switch (before, after) {
            case (let before?, nil): removedSections.append(before)
            case (nil, let after?): insertedSections.append(after)
            case (_, let after?): updatedSections.append(after)
            case (nil, nil): break
            }
        }
        removedSections.sort()
        insertedSections.sort()
        updatedSections.sort()
    }
}

/// A row that is in two lists at places that the rows around it do not explain.
public struct ResultMove: Sendable, Hashable {
    /// The index in the list before.
    public let from: Int
    /// The index in the list after.
    public let to: Int
}

/// The rows of a list that are not touched, counted apart from the touched ones.
private struct Untouched {
    private let touched: [Int]

    /// - Parameter touched: their ranks in the list, ascending.
    init(_ touched: [Int]) { self.touched = touched }

    /// How many untouched rows come before a rank.
    func before(_ rank: Int) -> Int { rank - touched.firstPlace { $0 >= rank } }

    /// The rank of an untouched row, of which so many others come before.
    func rank(of place: Int) -> Int {
        // How many touched ones come before: the first that does not has more than that many untouched ones before itself.
        var (low, high) = (0, touched.count)
        while low < high {
            let middle = (low + high) / 2
            if touched[middle] - middle > place { high = middle } else { low = middle + 1 }
        }
        return place + low
    }
}

extension [Int] {
    /// The first index whose element meets a condition that all elements behind it meet, too.
    fileprivate func firstPlace(where isBehind: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The indices of a longest increasing subsequence: patience sorting, after Fredman, *On computing the length of longest
    /// increasing subsequences*, 1975.
    fileprivate var longestIncreasingSubsequence: Set<Int> {
        /// For each length, the index of the least element that ends such a subsequence; and the index before each element.
        var (ends, previous): ([Int], [Int?]) = ([], [])
        for (index, value) in enumerated() {
            let length = ends.firstPlace { self[$0] >= value }
            previous.append(length == 0 ? nil : ends[length - 1])
            if length == ends.count { ends.append(index) } else { ends[length] = index }
        }
        var (result, next): (Set<Int>, Int?) = ([], ends.last)
        while let index = next {
            result.insert(index)
            next = previous[index]
        }
        return result
    }
}

extension Range<Int> {
    /// The elements that another range does not have.
    fileprivate func without(_ other: Range<Int>) -> [Int] {
        let first = lowerBound..<Swift.max(lowerBound, Swift.min(upperBound, other.lowerBound))
        let start = Swift.max(first.upperBound, other.upperBound)
        return Array(first) + (start < upperBound ? Array(start..<upperBound) : [])
    }
}

extension [ResultSection] {
    /// Where a section is, or belongs.
    fileprivate func place(of key: [UInt8]) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Inserts sections that are not there, all at once.
    fileprivate mutating func insert(_ added: [ResultSection]) {
        guard !added.isEmpty else { return }
        var merged: [ResultSection] = []
        merged.reserveCapacity(count + added.count)
        var start = 0
        for section in added.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let place = place(of: section.key)
            merged += self[start..<place]
            merged.append(section)
            start = place
        }
        self = merged + self[start...]
    }

    fileprivate func index(of key: [UInt8]) -> Int? {
        let place = place(of: key)
        return place < count && self[place].key == key ? place : nil
    }
}

extension ResultRows {
    /// The section of a row that the result has; nil without sections.
    fileprivate func section(of row: RowNumber) -> [UInt8]? {
        definition.section == nil ? nil : keys.section(ofRowAt: address(of: row))
    }
}
