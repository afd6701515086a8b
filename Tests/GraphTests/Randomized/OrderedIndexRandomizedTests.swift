import Testing

@testable import Graph

/// SeededGenerator operations on an index and on a sorted array, which must agree on everything.
struct OrderedIndexRandomizedTests {
    @Test(arguments: Distribution.allCases)
    func `short runs agree with a sorted array, and each step keeps every invariant`(
        distribution: Distribution
    ) throws {
        for seed in 1...6 as ClosedRange<UInt64> {
            var run = Run(distribution, seed: seed)
            try run.perform(steps: 150, checkingInvariantsEvery: 1)
        }
    }

    @Test(arguments: Distribution.allCases)
    func `long runs agree with a sorted array`(distribution: Distribution) throws {
        var run = Run(distribution, seed: 1001)
        try run.perform(steps: distribution == .huge ? 400 : 3000, checkingInvariantsEvery: 150)
    }

    enum Distribution: CaseIterable {
        case pairs
        case fewParents
        case shortStrings
        case longPrefixes
        case nested
        case dense
        case sideBySide
        case huge
        case ascending
        case descending

        fileprivate func entry(_ step: Int, _ random: inout SeededGenerator) -> [UInt8] {
            switch self {
            case .pairs: pair(random.next(), random.next())
            case .fewParents: pair(UInt64(random.below(20)), UInt64(random.below(300)))
            case .shortStrings: random.bytes(count: random.below(6), below: 4)
            case .longPrefixes:
                Array("https://www.example.com/a/long/common/path/\(random.below(9))/".utf8)
                    + random.bytes(count: random.below(60), below: 3)
            case .nested:
                [UInt8](repeating: 7, count: random.below(400)) + random.bytes(count: random.below(2), below: 9)
            case .dense: pair(7, UInt64(random.below(5000)))
            case .sideBySide: pair(UInt64(step % 9), UInt64(step / 9))
            case .huge:
                [UInt8](repeating: 7, count: random.below(8) == 0 ? 10_000 : random.below(900))
                    + random.bytes(count: random.below(9), below: 256)
            case .ascending: pair(UInt64(step), UInt64(random.below(3)))
            case .descending: pair(UInt64(1_000_000 - step), UInt64(random.below(3)))
            }
        }

        private func pair(_ first: UInt64, _ second: UInt64) -> [UInt8] {
            withUnsafeBytes(of: (first.bigEndian, second.bigEndian)) { [UInt8]($0) }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func below(_ limit: Int) -> Int {
        Int(next() % UInt64(limit))
    }

    fileprivate mutating func bytes(count: Int, below limit: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(below(limit)) }
    }
}

/// The naive reference.
private struct SortedArray {
    var entries: [[UInt8]] = []

    func position(of entry: [UInt8]) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].lexicographicallyPrecedes(entry) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func contains(_ entry: [UInt8]) -> Bool {
        let position = position(of: entry)
        return position < entries.count && entries[position] == entry
    }

    mutating func insert(_ entry: [UInt8]) -> Bool {
        guard !contains(entry) else { return false }
        entries.insert(entry, at: position(of: entry))
        return true
    }

    mutating func remove(_ entry: [UInt8]) -> Bool {
        guard contains(entry) else { return false }
        entries.remove(at: position(of: entry))
        return true
    }
}

private struct Run {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct Version {
        var index: OrderedIndex
        var reference: SortedArray
    }

    private let distribution: OrderedIndexRandomizedTests.Distribution
    private let seed: UInt64
    private var random: SeededGenerator
    private var step = 0
    private var current = Version(index: OrderedIndex(), reference: SortedArray())
    private var kept: [Version] = []

    init(_ distribution: OrderedIndexRandomizedTests.Distribution, seed: UInt64) {
        self.distribution = distribution
        self.seed = seed
        random = SeededGenerator(seed: seed)
    }

    mutating func perform(steps: Int, checkingInvariantsEvery interval: Int) throws {
        while step < steps {
            // The tree grows, shrinks, and grows again.
            let shrinks = step > steps / 2 && step < steps * 3 / 4
            switch random.below(100) {
            case 0..<(shrinks ? 15 : 60): try insert()
            case 0..<80: try remove()
            case 80..<84: try compareRange()
            case 84..<88: try comparePrefix()
            case 88..<91: try compareRank()
            case 91..<93: keep()
            case 93..<95: try goBack()
            case 95..<97: try compareDifference()
            case 97: try rebuild()
            default: try compareMembership()
            }
            step += 1
            if step % interval == 0 { try checkInvariants(current) }
        }
        for version in kept + [current] {
            try checkInvariants(version)
            try require(entries(of: version.index, in: .all) == version.reference.entries, "a version changed")
        }
    }

    // MARK: Changes

    private mutating func insert() throws {
        let entry = distribution.entry(step, &random)
        let isNew = current.index.insert(entry)
        try require(isNew == current.reference.insert(entry), "insert(\(entry.prefix(40)))")
    }

    private mutating func remove() throws {
        let entry = random.below(6) == 0 ? distribution.entry(step, &random) : presentEntry()
        let wasPresent = current.index.remove(entry)
        try require(wasPresent == current.reference.remove(entry), "remove(\(entry.prefix(40)))")
        try require(current.index.count == current.reference.entries.count, "count")
    }

    private mutating func keep() {
        if kept.count == 6 { kept.remove(at: random.below(6)) }
        kept.append(current)
    }

    private mutating func goBack() throws {
        guard !kept.isEmpty, random.below(3) == 0 else { return }
        let index = random.below(kept.count)
        swap(&current, &kept[index])
    }

    private mutating func rebuild() throws {
        guard random.below(4) == 0 else { return }
        let rebuilt = OrderedIndex(sortedEntries: current.reference.entries)
        try require(rebuilt.forEachDifference(from: current.index) { _, _ in false }, "a rebuilt index differs")
        current.index = rebuilt
    }

    // MARK: Comparisons

    private mutating func compareMembership() throws {
        let entry = distribution.entry(step, &random)
        try require(current.index.contains(entry) == current.reference.contains(entry), "contains an entry")
        let present = presentEntry()
        try require(current.index.contains(present) == current.reference.contains(present), "contains its entry")
    }

    private mutating func compareRange() throws {
        let lower = random.below(4) == 0 ? nil : anyEntry()
        let upper = random.below(4) == 0 ? nil : anyEntry()
        let all = current.reference.entries
        let start = lower.map { current.reference.position(of: $0) } ?? 0
        let end = upper.map { current.reference.position(of: $0) } ?? all.count
        try (lower ?? []).withUnsafeBytes { lowerBytes in
            try (upper ?? []).withUnsafeBytes { upperBytes in
                let range = IndexRange(
                    from: lower.map { _ in .entry(lowerBytes) }, upTo: upper.map { _ in .entry(upperBytes) })
                try compare(range, with: Array(all[start..<max(start, end)]))
            }
        }
    }

    private mutating func comparePrefix() throws {
        let entry = anyEntry()
        let prefix = Array(entry.prefix(random.below(entry.count + 1)))
        let all = current.reference.entries
        let expected = all.filter { $0.starts(with: prefix) }
        let start = current.reference.position(of: prefix)
        try prefix.withUnsafeBytes { bytes in
            try compare(.prefix(bytes), with: expected)
            try compare(IndexRange(from: .pastPrefix(bytes)), with: Array(all[(start + expected.count)...]))
            try compare(IndexRange(upTo: .pastPrefix(bytes)), with: Array(all[..<(start + expected.count)]))
            try require(current.index.rowCount(withPrefix: bytes) == expected.count, "rowCount")
            guard expected.allSatisfy({ $0.count >= 8 }) else { return }
            let rows = expected.map { $0.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }
            try require(current.index.firstRow(withPrefix: bytes) == rows.first, "firstRow")
            var found: [UInt64] = []
            current.index.forEachRow(withPrefix: bytes) { row in
                found.append(row)
                return true
            }
            try require(found == rows, "rows of a prefix")
            try require(Array(current.index.cursor(in: .prefix(bytes))) == rows, "a cursor's rows")
        }
    }

    private func compare(_ range: IndexRange, with expected: [[UInt8]]) throws {
        let index = current.index
        try require(entries(of: index, in: range) == expected, "ascending scan")
        try require(entries(of: index, in: range, descending: true) == expected.reversed(), "descending scan")
        try require(index.count(in: range) == expected.count, "count of a range")
        for isDescending in [false, true] {
            var cursor = index.cursor(in: range, descending: isDescending)
            var found: [[UInt8]] = []
            while let entry = cursor.withNextEntry({ [UInt8]($0) }) { found.append(entry) }
            try require(found == (isDescending ? expected.reversed() : expected), "a cursor's entries")
        }
    }

    private mutating func compareRank() throws {
        let entry = anyEntry()
        let rank = entry.withUnsafeBytes { current.index.rank(of: .entry($0)) }
        try require(rank == current.reference.position(of: entry), "rank")
        guard !current.index.isEmpty else { return }
        let offset = random.below(current.index.count)
        try require(current.index.entry(at: offset) == current.reference.entries[offset], "entry by rank")
    }

    private mutating func compareDifference() throws {
        guard let other = kept.randomElement(using: &random) else { return }
        var inserted: [[UInt8]] = []
        var removed: [[UInt8]] = []
        current.index.forEachDifference(from: other.index) { entry, isInsertion in
            if isInsertion { inserted.append([UInt8](entry)) } else { removed.append([UInt8](entry)) }
            return true
        }
        let ours = Set(current.reference.entries)
        let theirs = Set(other.reference.entries)
        try require(inserted == current.reference.entries.filter { !theirs.contains($0) }, "insertions of a difference")
        try require(removed == other.reference.entries.filter { !ours.contains($0) }, "removals of a difference")
    }

    private func checkInvariants(_ version: Version) throws {
        do {
            try version.index.checkInvariants()
        } catch {
            throw failure("\(error)")
        }
        try require(version.index.count == version.reference.entries.count, "count")
    }

    // MARK: Pieces

    private mutating func presentEntry() -> [UInt8] {
        current.reference.entries.randomElement(using: &random) ?? [1]
    }

    private mutating func anyEntry() -> [UInt8] {
        random.below(2) == 0 ? presentEntry() : distribution.entry(step, &random)
    }

    private func entries(of index: OrderedIndex, in range: IndexRange, descending: Bool = false) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        index.forEachEntry(in: range, descending: descending) { entry in
            entries.append([UInt8](entry))
            return true
        }
        return entries
    }

    private func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
        if !condition { throw failure(what()) }
    }

    private func failure(_ what: String) -> Failure {
        Failure(description: "\(distribution), seed \(seed), step \(step): \(what)")
    }
}
