/// The searches of one entity, so that those that a row meets are found without trying each: for each property a tree of ranges
/// that knows where each part ends last (Cormen and others, *Introduction to Algorithms*, interval trees).
///
/// Complexity: a row is looked up in O(log *n*) among *n* searches of which each asks for one key of its properties. Ranges that
/// overlap cost no more where a search has one condition; of several conditions, each search whose first one is met is tried.
struct SearchTree: Sendable {
    /// Whether some search has no conditions but those that lead here.
    private let isEnd: Bool
    private let branches: [Branch]

    /// What some searches ask of one property, and what they ask besides.
    fileprivate struct Branch: Sendable {
        let property: Int
        /// Ascending by where they begin. They form a balanced tree: the middle of a part is its root, and the halves are below.
        let ranges: [KeyRange]
        /// For each range as a root, the one that ends last in its part.
        var last: [Int]
        let next: [SearchTree]
    }

    /// - Parameter searches: each a list of conditions that a row has to meet, in any order.
    init(_ searches: some Sequence<[PropertyKeys]>) {
        // A key is met by fewer rows than a range is, so that it comes first.
        let sorted = searches.map { conditions in
            conditions.sorted { ($0.keys.isPrefix ? 0 : 1, $0.property) < ($1.keys.isPrefix ? 0 : 1, $1.property) }
        }
        self.init(sorted.map { $0[...] })
    }

    fileprivate init(_ searches: [ArraySlice<PropertyKeys>]) {
        isEnd = searches.contains { $0.isEmpty }
        guard !isEnd else {
            // Whatever others ask besides, the row is found.
            branches = []
            return
        }
        let byProperty = Dictionary(grouping: searches) { $0[$0.startIndex].property }
        branches = byProperty.map { property, searches in
            Branch(property, Dictionary(grouping: searches) { $0[$0.startIndex].keys })
        }
    }

    /// Whether a row meets all conditions of a search.
    ///
    /// - Parameter keys: the keys that the row has or may have, by property.
    func isMet(by keys: (_ property: Int) -> [[UInt8]]) -> Bool {
        isEnd
            || branches.contains { branch in
                keys(branch.property).contains { key in
                    key.withUnsafeBytes { key in
                        branch.contains(key, in: branch.ranges.indices) { $0.isMet(by: keys) }
                    }
                }
            }
    }
}

extension SearchTree.Branch {
    init(_ property: Int, _ searches: [KeyRange: [ArraySlice<PropertyKeys>]]) {
        let sorted = searches.sorted { $0.key.lower.lexicographicallyPrecedes($1.key.lower) }
        self.init(
            property: property, ranges: sorted.map(\.key), last: Array(sorted.indices),
            next: sorted.map { SearchTree($0.value.map { $0.dropFirst() }) })
        _ = findLast(in: ranges.indices)
    }

    /// Returns the range that ends last in a part; nil if the part is empty.
    private mutating func findLast(in part: Range<Int>) -> Int? {
        guard !part.isEmpty else { return nil }
        let root = part.lowerBound + part.count / 2
        for half in [part.lowerBound..<root, root + 1..<part.upperBound] {
            if let other = findLast(in: half), ranges[last[root]].ends(before: ranges[other]) { last[root] = other }
        }
        return last[root]
    }

    /// Whether a range in a part contains the key and has the body return true.
    func contains(_ key: UnsafeRawBufferPointer, in part: Range<Int>, _ body: (SearchTree) -> Bool) -> Bool {
        guard !part.isEmpty else { return false }
        let root = part.lowerBound + part.count / 2
        guard ranges[last[root]].ends(behind: key) else { return false }
        if contains(key, in: part.lowerBound..<root, body) { return true }
        guard !key.lexicographicallyPrecedes(ranges[root].lower) else { return false }
        return ranges[root].ends(behind: key) && body(next[root])
            || contains(key, in: root + 1..<part.upperBound, body)
    }
}
