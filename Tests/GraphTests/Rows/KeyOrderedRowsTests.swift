import Testing

@testable import Graph

struct KeyOrderedRowsTests {
    private static func entry(_ key: Int, _ row: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: 16)
        writer.appendBigEndian(UInt64(key))
        writer.appendBigEndian(row)
        return writer.bytes
    }

    @Test(arguments: [1, 2, 10, 700, 5_000])
    func `keys come forwards and backwards, the rows of one key in ascending order`(keys: Int) {
        var random = SeededGenerator(seed: UInt64(keys))
        for count in [0, 1, 2, 3, 40, 3_000] {
            let pairs = (0..<count).map { (key: Int.random(in: 0..<keys, using: &random), row: UInt64($0)) }
            var index = OrderedIndex()
            for (key, row) in pairs.shuffled(using: &random) { index.insert(Self.entry(key, row)) }
            let ascending = pairs.sorted { ($0.key, $0.row) < ($1.key, $1.row) }.map(\.row)
            let descending = pairs.sorted { ($1.key, $0.row) < ($0.key, $1.row) }.map(\.row)
            #expect(Array(IteratorSequence(KeyOrderedRows(index, descending: false, in: 0..<index.count))) == ascending)
            #expect(Array(IteratorSequence(KeyOrderedRows(index, descending: true, in: 0..<index.count))) == descending)
        }
    }

    @Test(arguments: [false, true])
    func `they are those of the version that was there at first`(isDescending: Bool) {
        var index = OrderedIndex()
        for row in 0..<1_000 as Range<UInt64> { index.insert(Self.entry(Int(row / 3), row)) }
        let all = Array(IteratorSequence(KeyOrderedRows(index, descending: isDescending, in: 0..<index.count)))
        var rows = KeyOrderedRows(index, descending: isDescending, in: 0..<index.count)
        var found = (0..<500).compactMap { _ in rows.next() }
        index.removeAll()
        while let row = rows.next() { found.append(row) }
        #expect(found == all)
        let rest = (rows.next(), rows.next())
        #expect(rest.0 == nil && rest.1 == nil)
    }
}
