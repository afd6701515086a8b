import Testing

@testable import Graph

private func bigEndian(_ numbers: Int...) -> [UInt8] {
    var writer = ByteWriter()
    for number in numbers { writer.appendBigEndian(UInt64(number)) }
    return writer.bytes
}

private func ordered(_ entries: [[UInt8]]) -> [[UInt8]] {
    entries.sorted { $0.lexicographicallyPrecedes($1) }
}

extension OrderedIndex {
    fileprivate var rows: [UInt64] {
        var rows: [UInt64] = []
        forEachRow { row in
            rows.append(row)
            return true
        }
        return rows
    }
}

/// Pages that store once what all their keys begin with.
struct OrderedIndexPrefixTests {
    @Test func `what the keys of a page begin with is stored once`() throws {
        let start = Array("https://www.example.com/a/path/that/all/keys/share/".utf8)
        var index = OrderedIndex()
        let entries = (0..<5000).map { start + bigEndian($0) }
        for place in entries.indices { index.insert(entries[place * 7919 % 5000]) }
        try index.checkInvariants()
        #expect(index.entries == entries)
        let built = OrderedIndex(sortedEntries: entries)
        try built.checkInvariants()
        // Ten bytes of a key are left in the worst case, instead of 59.
        for statistics in [index.statistics, built.statistics] { #expect(statistics.usedBytes < 5000 * 14) }
    }

    @Test(arguments: [[UInt8](), [6], [7], [7, 7, 6, 255], [7, 7, 7, 1], [7, 7, 7, 9, 0], [7, 7, 8], [255, 255]])
    func `a key without a page's prefix finds its place beside the page`(stranger: [UInt8]) throws {
        let entries = (0..<3000).map { [7, 7, 7] + bigEndian($0 * 5) }
        var index = OrderedIndex(sortedEntries: entries)
        let before = index
        var expected = entries
        for step in 0..<60 {
            let entry = stranger + (step == 0 ? [] : [UInt8](repeating: 1, count: step))
            #expect(index.insert(entry) == true)
            expected.append(entry)
            try index.checkInvariants()
        }
        #expect(index.entries == ordered(expected))
        #expect(before.entries == entries)
        for entry in expected.dropFirst(entries.count).reversed() { #expect(index.remove(entry) == true) }
        try index.checkInvariants()
        #expect(index.entries == entries)
    }

    @Test(arguments: [0, 1, 2]) func `keys may be all that a page's keys begin with, and nothing else`(order: Int)
        throws
    {
        // Each key begins the next one, so that a page's prefix is the first of its keys.
        let entries = (0..<700).map { [UInt8](repeating: 7, count: $0) }
        var index = OrderedIndex()
        for place in entries.indices {
            index.insert(entries[order == 0 ? place : order == 1 ? 699 - place : place * 271 % 700])
            if place % 50 == 0 { try index.checkInvariants() }
        }
        try index.checkInvariants()
        #expect(index.entries == entries)
        for entry in entries {
            #expect(index.contains(entry))
            #expect(!index.contains(entry + [6]))
            #expect(entry.withUnsafeBytes { index.rank(of: .entry($0)) } == entry.count)
            #expect(entry.withUnsafeBytes { index.rank(of: .pastPrefix($0)) } == 700)
        }
        for place in entries.indices {
            #expect(index.remove(entries[place * 271 % 700]) == true)
            if place % 50 == 0 { try index.checkInvariants() }
        }
        #expect(index.isEmpty)
    }

    @Test func `row numbers are put together from the prefix and what follows it`() throws {
        for spacing in [1, 3, 250, 70_000, 20_000_000_000, 5_000_000_000_000_000] {
            for key in [[], [1], bigEndian(4)] as [[UInt8]] {
                var index = OrderedIndex()
                let rows = (0..<1500).map { $0 * spacing }
                for place in rows.indices { index.insert(key + bigEndian(rows[place * 7919 % 1500])) }
                try index.checkInvariants()
                #expect(index.rows == rows.map { UInt64($0) })
                #expect(Array(index.cursor()) == rows.map { UInt64($0) })
                for row in rows {
                    let entry = key + bigEndian(row)
                    #expect(entry.withUnsafeBytes { index.firstRow(withPrefix: $0) } == UInt64(row))
                    // One byte less, and the first of those that share the rest.
                    let first = rows.first { $0 >> 8 == row >> 8 }.map { UInt64($0) }
                    #expect(
                        entry.withUnsafeBytes { index.firstRow(withPrefix: .init(rebasing: $0.dropLast())) } == first)
                }
            }
        }
    }

    @Test func `prefixes may be longer than a page can say`() throws {
        for length in [250, 254, 255, 256, 257, 300, 2000] {
            let start = [UInt8](repeating: 3, count: length)
            let entries = (0..<200).map { start + bigEndian($0) }
            var index = OrderedIndex()
            for place in entries.indices { index.insert(entries[place * 77 % 200]) }
            try index.checkInvariants()
            #expect(index.entries == entries)
            let built = OrderedIndex(sortedEntries: entries)
            try built.checkInvariants()
            #expect(built.entries == entries)
            for entry in entries.dropLast() { index.remove(entry) }
            try index.checkInvariants()
            #expect(index.entries == [entries[199]])
        }
    }

    @Test func `an index built of any number of entries has sound pages`() throws {
        for count in Array(stride(from: 0, to: 2000, by: 37)) + [20_000] {
            let entries = (0..<count).map { bigEndian($0 / 400, $0) }
            let index = OrderedIndex(sortedEntries: entries)
            try index.checkInvariants()
            #expect(index.entries == entries)
            #expect(index.statistics.sparsePages <= 2 + index.statistics.pages / 10)
        }
    }

    @Test(arguments: [true, false]) func `inner pages with different prefixes become one`(isAscending: Bool) throws {
        let entries = (0..<40_000).map { bigEndian($0 / 300, $0) }
        var index = OrderedIndex(sortedEntries: entries)
        #expect(index.statistics.levels == 3)
        for step in entries.indices {
            let place = isAscending ? step : entries.count - 1 - step
            if place % 100 != 0 { index.remove(entries[place]) }
            if step % 500 == 0 { try index.checkInvariants() }
        }
        try index.checkInvariants()
        #expect(index.entries == entries.indices.filter { $0 % 100 == 0 }.map { entries[$0] })
    }

    @Test func `runs that ascend side by side leave full pages behind`() throws {
        var index = OrderedIndex()
        for row in 0..<30_000 { index.insert(bigEndian(row % 30, row)) }
        try index.checkInvariants()
        let statistics = index.statistics
        #expect(index.entries == ordered((0..<30_000).map { bigEndian($0 % 30, $0) }))
        #expect(statistics.usedBytes > statistics.pages * IndexNode.pageBytes * 7 / 10)
    }
}
