import Testing

@testable import Graph

struct PastRowsTests {
    /// A row whose value counts references.
    private struct Item: Equatable { var text: String }

    /// Compares with rows in a dictionary.
    private struct Run {
        var rows: PastRows
        var model: [RowNumber: (version: UInt64, text: String)] = [:]
        let layout = RowLayout(Item.self)

        init(_ count: RowNumber, isWhole: Bool) {
            var table = RowTable(layout: layout)
            for row in 0..<count where row % 3 != 1 {
                let text = "the text of row \(row)"
                withUnsafePointer(to: Item(text: text)) {
                    _ = table.set(row, version: RowVersion(row + 1), copying: $0)
                }
                model[row] = (row + 1, text)
            }
            rows = PastRows(table, isWhole: isWhole)
        }

        mutating func change(_ row: RowNumber, _ random: inout SeededGenerator) {
            let (version, text) = (UInt64.random(in: 1...99, using: &random), "another text, \(random.next())")
            let isThere = model[row] != nil
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where !isThere:
                withUnsafeTemporaryAllocation(of: Item.self, capacity: 1) { memory in
                    memory.initializeElement(at: 0, to: Item(text: text))
                    rows.insert(row, version: RowVersion(version), moving: UnsafeMutableRawPointer(memory.baseAddress!))
                }
                model[row] = (version, text)
            case 1:
                let isFound = rows.change(row) { address, rowVersion in
                    #expect(rowVersion == model[row]?.version)
                    address.assumingMemoryBound(to: Item.self).pointee.text = text
                    rowVersion = version
                }
                #expect(isFound == isThere)
                if isThere { model[row] = (version, text) }
            default:
                #expect(rows.remove(row) == isThere)
                model[row] = nil
            }
        }

        func check(_ row: RowNumber) {
            #expect(rows.contains(row) == (model[row] != nil))
            let found = rows.row(row)
            #expect(found?.version.number == model[row]?.version)
            #expect(found?.address.assumingMemoryBound(to: Item.self).pointee.text == model[row]?.text)
        }
    }

    @Test func `rows change, go and come back as in a dictionary`() {
        for seed in Seeds.programs(share: 20) {
            var random = SeededGenerator(seed: seed)
            var run = Run(RowNumber.random(in: 0...200, using: &random), isWhole: random.chance(2))
            let newest = run
            for _ in 0..<300 {
                let row = RowNumber.random(in: 0..<220, using: &random)
                run.change(row, &random)
                run.check(row)
                run.check(RowNumber.random(in: 0..<220, using: &random))
            }
            let table = run.rows.table
            #expect(table.rowNumbers == run.model.keys.sorted() && table.checkInvariants() == [], "seed \(seed)")
            for row in RowNumber(0)..<220 {
                // What the copy has was left alone.
                newest.check(row)
                #expect(table.version(of: row)?.number == run.model[row]?.version, "seed \(seed)")
                #expect(table.value(of: row, as: Item.self)?.text == run.model[row]?.text, "seed \(seed)")
            }
        }
    }
}
