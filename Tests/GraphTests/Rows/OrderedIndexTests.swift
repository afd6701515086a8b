import Testing

@testable import Graph

/// An entry of two numbers, as inverse relationships use it.
private func pair(_ first: Int, _ second: Int) -> [UInt8] {
    var writer = ByteWriter(capacity: 16)
    writer.appendBigEndian(UInt64(first))
    writer.appendBigEndian(UInt64(second))
    return writer.bytes
}

/// A text key with a row number.
private func text(_ key: String, _ row: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(contentsOf: Array(key.utf8))
    writer.appendBigEndian(UInt64(row))
    return writer.bytes
}

private func number(_ value: Int) -> [UInt8] {
    Array(pair(value, 0).prefix(8))
}

private func pairs(_ numbers: some Sequence<Int>) -> OrderedIndex {
    OrderedIndex(sortedEntries: numbers.map { pair($0, $0) })
}

extension OrderedIndex {
    fileprivate func rows(in range: IndexRange, descending: Bool = false) -> [UInt64] {
        var rows: [UInt64] = []
        forEachRow(in: range, descending: descending) { row in
            rows.append(row)
            return true
        }
        return rows
    }
}

struct OrderedIndexTests {
    @Test func `a new index is empty, and every question has an answer`() throws {
        var index = OrderedIndex()
        #expect(index.isEmpty)
        #expect(index.count == 0)
        #expect(!index.contains([1]))
        #expect(index.remove([1]) == false)
        #expect(index.forEachEntry { _ in false })
        #expect([UInt8]().withUnsafeBytes { index.firstRow(withPrefix: $0) } == nil)
        #expect([UInt8]().withUnsafeBytes { index.rowCount(withPrefix: $0) } == 0)
        #expect(Array(index.cursor()).isEmpty)
        #expect(Array(index.cursor(descending: true)).isEmpty)
        #expect(index.forEachDifference(from: OrderedIndex()) { _, _ in false })
        try index.checkInvariants()
    }

    @Test func `an entry is in the set once`() throws {
        var index = OrderedIndex()
        #expect(index.insert([1, 2]) == true)
        #expect(index.insert([1, 2]) == false)
        #expect(index.count == 1)
        #expect(index.contains([1, 2]))
        #expect(index.remove([1, 2]) == true)
        #expect(index.remove([1, 2]) == false)
        #expect(index.isEmpty)
        try index.checkInvariants()
    }

    @Test func `entries order as unsigned bytes, a shorter prefix first`() throws {
        let ordered: [[UInt8]] = [
            [], [0], [0, 0], [0, 255], [1], [127], [128], [255], [255, 0], [255, 255],
            Array(repeating: 255, count: 9), Array(repeating: 255, count: 9) + [0],
        ]
        var index = OrderedIndex()
        for entry in ordered.reversed() { index.insert(entry) }
        #expect(index.entries == ordered)
        try index.checkInvariants()
    }

    @Test(arguments: [1, 7, 8, 9, 15, 16, 17, 24])
    func `a difference in any byte decides`(length: Int) {
        let entry = [UInt8](repeating: 100, count: length)
        for position in 0..<length {
            var greater = entry
            greater[position] = 200
            var index = OrderedIndex()
            index.insert(greater)
            index.insert(entry)
            #expect(index.entries == [entry, greater])
        }
    }

    @Test func `a copy keeps what it had`() throws {
        var index = pairs(0..<3000)
        let before = index
        for value in stride(from: 0, to: 3000, by: 2) { index.remove(pair(value, value)) }
        for value in 3000..<4000 { index.insert(pair(value, value)) }
        #expect(before.entries == (0..<3000).map { pair($0, $0) })
        let left = (0..<4000).filter { $0 >= 3000 || $0 % 2 == 1 }
        #expect(index.entries == left.map { pair($0, $0) })
        try before.checkInvariants()
        try index.checkInvariants()
    }

    @Test func `an operation that changes nothing copies nothing`() {
        let index = pairs(0..<1000)
        var copy = index
        copy.insert(pair(500, 500))
        copy.remove(pair(500, 501))
        #expect(copy.root === index.root)
    }

    @Test func `an unshared tree is changed in place`() {
        var index = OrderedIndex()
        for value in 0..<2000 { index.insert(pair(value * 2, 0)) }
        let root = index.root.map { ObjectIdentifier($0) }
        index.remove(pair(1000, 0))
        index.insert(pair(1000, 0))
        #expect(index.root.map { ObjectIdentifier($0) } == root)
    }

    @Test func `nodes are released with the last version that has them`() throws {
        var index = pairs(0..<3000)
        var copy = index
        copy.insert(pair(0, 1))
        weak let root = index.root
        weak let changed = index.root?.page.child(0).pointee
        weak let shared = index.root?.page.child(1).pointee
        #expect(root != nil && changed != nil && shared != nil)
        index.removeAll()
        #expect(root == nil && changed == nil && shared != nil)
        copy.removeAll()
        #expect(shared == nil)
    }

    @Test func `other tasks may read a version while its successor changes`() async throws {
        var index = pairs(0..<2000)
        let version = index
        let sums = (0..<4).map { _ in
            Task { version.cursor().reduce(0, &+) }
        }
        for value in 0..<2000 { index.remove(pair(value, value)) }
        for sum in sums { #expect(await sum.value == 1999 * 2000 / 2) }
        #expect(index.isEmpty)
    }
}

// MARK: Ranges

extension OrderedIndexTests {
    @Test func `a range includes its lower bound and not its upper one`() {
        let index = pairs(0..<1000)
        pair(100, 100).withUnsafeBytes { lower in
            pair(900, 900).withUnsafeBytes { upper in
                let range = IndexRange(from: .entry(lower), upTo: .entry(upper))
                #expect(index.rows(in: range) == Array(100..<900))
                #expect(index.rows(in: range, descending: true) == (100..<900).reversed())
                #expect(index.count(in: range) == 800)
                #expect(Array(index.cursor(in: range)) == Array(100..<900))
                let reverse = IndexRange(from: .entry(upper), upTo: .entry(lower))
                #expect(index.rows(in: reverse).isEmpty)
                #expect(index.rows(in: reverse, descending: true).isEmpty)
                #expect(index.count(in: reverse) == 0)
                #expect(Array(index.cursor(in: range, descending: true)) == (100..<900).reversed())
                #expect(Array(index.cursor(in: reverse)).isEmpty)
                #expect(Array(index.cursor(in: reverse, descending: true)).isEmpty)
            }
        }
    }

    @Test func `all comparisons with a key can be said as ranges`() {
        var index = OrderedIndex()
        for row in 0..<500 { index.insert(pair(row / 10, row)) }
        number(20).withUnsafeBytes { key in
            #expect(index.rows(in: .prefix(key)) == Array(200..<210))
            #expect(index.rows(in: IndexRange(upTo: .entry(key))) == Array(0..<200))
            #expect(index.rows(in: IndexRange(upTo: .pastPrefix(key))) == Array(0..<210))
            #expect(index.rows(in: IndexRange(from: .entry(key))) == Array(200..<500))
            #expect(index.rows(in: IndexRange(from: .pastPrefix(key))) == Array(210..<500))
            #expect(index.rank(of: .pastPrefix(key)) == 210)
        }
    }

    @Test(arguments: Sweep.seeds(0..<30)) func `entries in any order give the index that inserting them does`(
        seed: UInt64
    ) {
        var random = SeededGenerator(seed: seed)
        let words = (0..<40).map { _ in AttributeValues.string(&random) }
        var (entries, index) = (IndexEntries(), OrderedIndex())
        var rows: [[UInt8]: [UInt64]] = [:]
        for row in (0..<Int.random(in: 0..<3000, using: &random)).shuffled(using: &random) {
            let key: [UInt8] =
                switch seed % 4 {
                case 0: Array(pair(row, 0).prefix(8))
                case 1: Array(pair(row / 7, row % 3))
                case 2: Array("https://example.com/\(row % 500)".utf8)
                default: (words.randomElement(using: &random) ?? "").utf8.filter { $0 != 0 } + [0]
                }
            let entry = key + number(row)
            entries.append { $0.append(contentsOf: entry) }
            index.insert(entry)
            rows[key, default: []].append(UInt64(row))
        }
        let built = entries.index()
        #expect(built.index.entries == index.entries)
        #expect(throws: Never.self) { try built.index.checkInvariants() }
        let repeating = rows.values.flatMap { $0.sorted().dropFirst() }
        #expect(built.repeating.sorted() == repeating.sorted())
    }

    @Test(arguments: Sweep.seeds(0..<40))
    func `entries that come and go in batches are there as if they did one by one`(
        seed: UInt64
    ) {
        var random = SeededGenerator(seed: seed)
        var (batched, single) = (OrderedIndex(), OrderedIndex())
        var rows: [[UInt8]: Int] = [:]
        var held: [(index: OrderedIndex, entries: [[UInt8]])] = []
        var row = 0
        for _ in 0..<12 {
            var entries = IndexEntries()
            var sharing: Set<UInt64> = []
            for _ in 0..<Int.random(in: 0..<600, using: &random) {
                row += 1
                let number = Int.random(in: 0..<(seed % 3 == 0 ? 300 : 100_000), using: &random)
                let entry =
                    switch seed % 4 {
                    case 0: pair(number, row)
                    case 1: text("\(row)@example.com", row)
                    case 2: text(String(repeating: "long ", count: number % 300), row)
                    default: text("\(number)@example.com", row)
                    }
                entries.append { $0.append(contentsOf: entry) }
                single.insert(entry)
                let key = Array(entry.dropLast(8))
                if rows[key] != nil { sharing.insert(UInt64(row)) }
                rows[key, default: 0] += 1
            }
            if Bool.random(using: &random) { held.append((batched, batched.entries)) }
            var mayShare: Set<UInt64> = []
            entries.insert(into: &batched) { mayShare.insert($0) }
            #expect(batched.entries == single.entries)
            #expect(batched.count == single.count)
            #expect(throws: Never.self) { try batched.checkInvariants() }
            #expect(sharing.isSubset(of: mayShare))
            guard random.chance(2) else { continue }
            if Bool.random(using: &random) { held.append((batched, batched.entries)) }
            var removed = IndexEntries()
            let share = [10, 2, 20, 1].randomElement(using: &random)!
            for entry in single.entries where random.chance(share) != (share == 20) {
                removed.append { $0.append(contentsOf: entry) }
                single.remove(entry)
                rows[Array(entry.dropLast(8))]! -= 1
                // One that is not there: it begins as an entry and goes on.
                if random.chance(30) { removed.append { $0.append(contentsOf: entry + [0]) } }
            }
            rows = rows.filter { $0.value > 0 }
            removed.remove(from: &batched)
            #expect(batched.entries == single.entries)
            #expect(batched.count == single.count)
            #expect(throws: Never.self) { try batched.checkInvariants() }
        }
        for (index, entries) in held { #expect(index.entries == entries) }
    }

    @Test(arguments: Sweep.seeds(0..<20)) func `an insertion sees whether others have its key`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var index = OrderedIndex()
        var rows: [Int: Int] = [:]
        var guesses = 0
        for row in 0..<2000 {
            let key = Int.random(in: 0..<20_000, using: &random) / (seed < 10 ? 1 : 40)
            let entry = seed % 2 == 0 ? pair(key, row) : text("\(key)@example.com", row)
            let insertion = entry.withUnsafeBytes { index.insert($0, sharing: entry.count - 8) }
            #expect(insertion.isNew)
            if rows[key] != nil {
                #expect(insertion.mayShare, "row \(row)")
            } else if insertion.mayShare {
                guesses += 1
            }
            rows[key, default: 0] += 1
        }
        // About one place of every page is at its edge.
        #expect(guesses < rows.count / 4)
    }

    @Test func `a prefix finds its first row, its rows and their number`() {
        var index = OrderedIndex()
        for row in 0..<2000 { index.insert(text("https://example.com/page/\(row % 97)/", row)) }
        for page in 0..<97 {
            let expected = (0..<2000).filter { $0 % 97 == page }
            "https://example.com/page/\(page)/".utf8.withContiguousStorageIfAvailable {
                let prefix = UnsafeRawBufferPointer($0)
                #expect(index.firstRow(withPrefix: prefix) == UInt64(page))
                #expect(index.rowCount(withPrefix: prefix) == expected.count)
                var rows: [Int] = []
                index.forEachRow(withPrefix: prefix) { row in
                    rows.append(Int(row))
                    return true
                }
                #expect(rows == expected)
            }
        }
        [UInt8]("https://example.com/page/97".utf8).withUnsafeBytes { #expect(index.firstRow(withPrefix: $0) == nil) }
        [UInt8]("z".utf8).withUnsafeBytes { #expect(index.firstRow(withPrefix: $0) == nil) }
    }

    @Test func `a look-up finds an entry that begins the next leaf`() {
        let index = OrderedIndex(sortedEntries: (0..<500).map { text("key \(2000 + $0) with some length", $0) })
        for row in 0..<500 {
            // Just above the entry before, so that the search ends behind that one.
            text("key \(1999 + row) with some length", row).withUnsafeBytes { previous in
                var first: UInt64?
                index.forEachRow(in: IndexRange(from: .entry(previous))) { row in
                    first = row
                    return false
                }
                #expect(first == UInt64(row))
            }
            [UInt8]("key \(2000 + row)".utf8).withUnsafeBytes { #expect(index.firstRow(withPrefix: $0) == UInt64(row)) }
        }
    }

    @Test func `a scan stops when its body says so`() {
        let index = pairs(0..<1000)
        var seen: [UInt64] = []
        let isComplete = index.forEachRow { row in
            seen.append(row)
            return row < 300
        }
        #expect(!isComplete)
        #expect(seen == Array(0...300))
    }

    @Test func `every entry is found by its rank`() {
        let index = pairs(0..<2000)
        for offset in 0..<2000 {
            #expect(index.entry(at: offset) == pair(offset, offset))
            #expect(pair(offset, offset).withUnsafeBytes { index.rank(of: .entry($0)) } == offset)
        }
    }

    @Test func `a cursor goes on in the version that it was made from`() {
        var index = pairs(0..<1000)
        var cursor = index.cursor()
        for row in 0..<500 { #expect(cursor.next() == UInt64(row)) }
        for value in 0..<1000 { index.remove(pair(value, value)) }
        #expect(cursor.remaining == 500)
        #expect(cursor.withNextEntry { [UInt8]($0) } == pair(500, 500))
        for row in 501..<1000 { #expect(cursor.next() == UInt64(row)) }
        #expect(cursor.next() == nil)
        #expect(cursor.next() == nil)
    }
}

// MARK: Pages

extension OrderedIndexTests {
    @Test func `ascending inserts fill their pages`() throws {
        var index = OrderedIndex()
        for value in 0..<5000 { index.insert(pair(value, value)) }
        try index.checkInvariants()
        let statistics = index.statistics
        #expect(statistics.usedBytes > statistics.pages * IndexNode.pageBytes * 9 / 10)
    }

    @Test func `building from ordered entries fills the pages`() throws {
        for count in [0, 1, 2, 41, 42, 43, 44, 500, 1800, 1850, 1900, 5000] {
            let index = pairs(0..<count)
            try index.checkInvariants()
            #expect(index.count == count)
            #expect(index.entries == (0..<count).map { pair($0, $0) })
            #expect(index.statistics.sparsePages == 0)
            if count == 5000 {
                #expect(index.statistics.usedBytes > index.statistics.pages * IndexNode.pageBytes * 9 / 10)
            }
        }
    }

    @Test func `removing most entries leaves hardly a sparse page`() throws {
        var index = OrderedIndex()
        let order = (0..<5000).map { ($0 * 7919) % 5000 }
        for value in order { index.insert(pair(value, value)) }
        for (step, value) in order.dropLast(200).enumerated() {
            index.remove(pair(value, value))
            if step % 250 == 0 {
                try index.checkInvariants()
                // A part of a divided page becomes smaller with a longer prefix.
                #expect(index.statistics.sparsePages <= 1 + index.statistics.pages / 20)
            }
        }
        #expect(index.statistics.pages < 20)
        for value in order.suffix(200) { index.remove(pair(value, value)) }
        #expect(index.root == nil)
    }

    @Test func `separators are cut to what separates`() throws {
        let prefix = String(repeating: "long common prefix ", count: 3)
        var index = OrderedIndex()
        for row in 0..<3000 { index.insert(text("\((row * 7919) % 3000) \(prefix)", row)) }
        try index.checkInvariants()
        let statistics = index.statistics
        // Separators of four bytes in slots of sixteen: an inner page holds more than thirty children.
        #expect(statistics.pages - statistics.leaves < statistics.leaves / 15)
    }

    @Test func `entries longer than a page, and than two bytes can count, have pages of their own size`() throws {
        var index = OrderedIndex()
        var expected: [[UInt8]] = []
        for value in 0..<40 {
            let length = value % 5 == 0 ? 70_000 : value % 5 == 1 ? 10_000 : 20
            // The lengthy ones differ at their ends only, so that separators are long as well.
            let entry = [UInt8](repeating: UInt8(value / 20), count: length) + pair(value, value)
            expected.append(entry)
            #expect(index.insert(entry) == true)
            try index.checkInvariants()
        }
        #expect(index.entries == expected.sorted { $0.lexicographicallyPrecedes($1) })
        let version = index
        for entry in expected {
            #expect(index.remove(entry) == true)
            try index.checkInvariants()
        }
        #expect(index.isEmpty)
        #expect(version.count == 40)
        try version.checkInvariants()
    }

    @Test func `a page of short entries takes one of any length`() throws {
        for length in [65_400, 65_450, 65_500, 65_535, 65_536, 66_000] {
            var index = OrderedIndex()
            for value in 0..<40 { index.insert(pair(value, value)) }
            #expect(index.insert(number(20) + [UInt8](repeating: 1, count: length)) == true)
            try index.checkInvariants()
            #expect(index.count == 41)
        }
    }
}

// MARK: Difference

extension OrderedIndexTests {
    @Test func `a difference lists insertions and removals in order`() {
        let old = pairs(0..<2000)
        var new = old
        new.remove(pair(3, 3))
        new.insert(pair(1000, 1))
        new.remove(pair(1999, 1999))
        var found: [([UInt8], Bool)] = []
        new.forEachDifference(from: old) { entry, isInsertion in
            found.append(([UInt8](entry), isInsertion))
            return true
        }
        #expect(found.map(\.0) == [pair(3, 3), pair(1000, 1), pair(1999, 1999)])
        #expect(found.map(\.1) == [false, true, false])
    }

    @Test(arguments: [1, 2, 20])
    func `a difference passes what two versions share`(count: Int) {
        let old = pairs(0..<50_000)
        var new = old
        for change in 0..<count { new.insert(pair(change * 2500, 0x1_0000)) }
        var changes = 0
        var visits = 0
        new.forEachDifference(from: old, countingVisitsIn: &visits) { _, _ in
            changes += 1
            return true
        }
        let levels = new.statistics.levels
        #expect(changes == count)
        #expect(new.statistics.pages > 700)
        // Two paths for each change, and as many pages again to find first entries where the paths begin to differ.
        #expect(visits <= count * levels * 6, "\(visits) pages, \(levels) levels")
    }

    @Test func `a difference passes shared nodes though the tree has grown a level, or lost one`() {
        let old = pairs(0..<1400)
        var new = old
        var added = 0
        while new.statistics.levels == old.statistics.levels {
            new.insert(pair(700, 10_000 + added))
            added += 1
        }
        for (index, other, isInsertion) in [(new, old, true), (old, new, false)] {
            var visits = 0
            var found = 0
            index.forEachDifference(from: other, countingVisitsIn: &visits) { _, kind in
                #expect(kind == isInsertion)
                found += 1
                return true
            }
            #expect(found == added)
            #expect(visits < old.statistics.pages + 4 * (new.statistics.pages - old.statistics.pages) + 20)
        }
    }

    @Test func `a difference with the same version visits nothing, and one with an empty index lists all`() {
        let index = pairs(0..<1000)
        var visits = 0
        #expect(index.forEachDifference(from: index, countingVisitsIn: &visits) { _, _ in false })
        #expect(visits == 0)
        var inserted = 0
        index.forEachDifference(from: OrderedIndex()) { _, isInsertion in
            inserted += isInsertion ? 1 : 0
            return true
        }
        var removed = 0
        OrderedIndex().forEachDifference(from: index) { _, isInsertion in
            removed += isInsertion ? 0 : 1
            return true
        }
        #expect(inserted == 1000 && removed == 1000)
    }
}
