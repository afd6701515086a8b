import Testing

@testable import Graph

struct RowTableTests {
    private func table(_ rows: some Sequence<RowNumber>, version: UInt64 = 1) -> RowTable {
        var table = RowTable(layout: RowLayout(UInt64.self))
        for row in rows { #expect(table.set(row, version: version, row) == true) }
        return table
    }

    // MARK: Contents

    @Test func `an empty table has nothing`() {
        let table = table([])
        #expect(table.count == 0)
        #expect(!table.contains(0) && !table.contains(1) && !table.contains(.max))
        #expect(table.version(of: 1) == nil && table.address(of: 1) == nil)
        #expect(table.rowNumbers == [])
        #expect(table.checkInvariants() == [])
    }

    @Test func `set says whether the row number was free, and replaces row and version`() {
        var table = table([])
        #expect(table.set(7, version: 1, UInt64(70)) == true)
        #expect(table.set(7, version: 5, UInt64(71)) == false)
        #expect(table.set(8, version: 2, moving: UInt64(80)) == true)
        #expect(table.set(8, version: 3, moving: UInt64(81)) == false)
        #expect(table.count == 2)
        #expect(table.version(of: 7) == RowVersion(5) && table.version(of: 8) == RowVersion(3))
        #expect(table.value(of: 7) == UInt64(71) && table.value(of: 8) == UInt64(81))
        #expect(table.value(of: 6, as: UInt64.self) == nil)
    }

    @Test func `remove says whether the row was there`() {
        var table = table([1, 33])
        for row: RowNumber in [2, 65, .max] { #expect(table.remove(row) == false) }
        #expect(table.remove(33) == true)
        #expect(table.remove(33) == false)
        #expect(table.rowNumbers == [1])
        #expect(table.remove(1) == true)
        #expect(table.count == 0 && table.checkInvariants() == [])
        #expect(table.set(1 << 60, version: 1, UInt64(3)) == true)
        #expect(table.rowNumbers == [1 << 60] && table.checkInvariants() == [])
    }

    @Test func `addresses come in the order that was asked for, as often, and of rows that exist`() {
        let table = table([1, 2, 31, 40, 1_000, 5_000])
        func values(_ rows: ArraySlice<RowNumber>) -> [UInt64] {
            let addresses = table.addresses(of: rows)
            return withExtendedLifetime(table) { addresses.map { $0.load(as: UInt64.self) } }
        }
        #expect(values([]) == [])
        #expect(values([5_000, 1, 40, 1]) == [5_000, 1, 40, 1])
        // Without the row, without its leaf, and beyond what the tree covers.
        #expect(values([3, 1, 70, 32, 2, 3_000, 1 << 40, .max, 1_000, 0]) == [1, 2, 1_000])
        let rows: [RowNumber] = [1, 2, 3, 31, 40]
        #expect(values(rows[1...3]) == [2, 31])
        #expect(self.table([]).addresses(of: rows[...]).isEmpty)
    }

    /// Around each boundary between nodes, and at the ends.
    static let edges: [RowNumber] =
        [5, 9, 13, 36, 60, 62].flatMap { bits -> [RowNumber] in [(1 << bits) - 1, 1 << bits] } + [0, .max - 1, .max]

    @Test(arguments: edges)
    func `every row number has its place, alone and beside row 1`(row: RowNumber) {
        for rows in [[row], [1, row], [row, 1]] {
            var table = table(rows)
            #expect(table.rowNumbers == rows.sorted())
            #expect(rows.allSatisfy { table.value(of: $0) == $0 })
            #expect(!table.contains(row ^ (1 << 63)) && !table.contains(row ^ 32) && !table.contains(row ^ 2))
            #expect(table.checkInvariants() == [])
            for row in rows { #expect(table.remove(row) == true) }
            #expect(table.count == 0 && table.checkInvariants() == [])
        }
    }

    @Test func `walks go in ascending order, leaf by leaf`() {
        let rows: [RowNumber] = [0, 5, 31, 32, 700, 1 << 20, 1 << 60]
        let table = table(rows.reversed(), version: 4)
        var seen: [RowNumber] = []
        for (row, version, address) in table.entries {
            #expect(version == RowVersion(4))
            #expect(address.load(as: UInt64.self) == row)
            seen.append(row)
        }
        #expect(seen == rows)
        var firstRows: [RowNumber] = []
        var next: RowNumber? = 0
        while let start = next, let run = table.run(from: start) {
            #expect(run.occupancy != 0)
            firstRows.append(run.firstRow)
            next = run.end
        }
        #expect(firstRows == [0, 32, 672, 1 << 20, 1 << 60])
        #expect(table.run(from: 40)?.firstRow == 32)
        #expect(table.run(from: 64)?.firstRow == 672)
        #expect(table.run(from: 1 << 60 + 32)?.firstRow == nil)
        #expect(table.run(from: .max)?.firstRow == nil)
    }

    @Test func `a walk ends when its body throws`() {
        struct Stop: Error {}
        let table = table([1, 40, 80, 5000])
        var rows = 0
        #expect(throws: Stop.self) {
            let body: (RowNumber, RowVersion, UnsafeRawPointer) throws -> Void = { row, _, _ in
                rows += 1
                if row == 80 { throw Stop() }
            }
            try table.forEachRow(body)
        }
        #expect(rows == 3)
    }

    // MARK: Sharing

    @Test func `a copy keeps its rows when the original changes`() {
        var table = table(1...100)
        let old = table
        #expect(table.set(50, version: 2, UInt64(0)) == false)
        table.remove(51)
        #expect(table.set(1 << 40, version: 1, UInt64(9)) == true)
        #expect(old.rowNumbers == Array(1...100))
        #expect(old.value(of: 50) == UInt64(50) && old.version(of: 50) == RowVersion(1))
        #expect(table.count == 100 && old.count == 100)
        #expect(old.checkInvariants() == [] && table.checkInvariants() == [])
    }

    @Test func `a change copies one leaf and shares the others`() {
        var table = table(0..<4096)
        let old = table
        #expect(table.set(1000, version: 2, UInt64(0)) == false)
        table.remove(3000)
        for row in RowNumber(0)..<4096 {
            let isCopied = row / 32 == 1000 / 32 || row / 32 == 3000 / 32
            #expect((table.address(of: row) == old.address(of: row)) == !isCopied, "row \(row)")
        }
    }

    /// Asked after each change: a copy made while the original is alive has another address.
    @Test func `a table that shares nothing changes in place`() {
        var table = table(0..<4096)
        for row in stride(from: RowNumber(0), to: 4096, by: 7) {
            let neighbour = row ^ 1
            let address = table.address(of: neighbour)
            table.set(row, version: 2, row)
            #expect(table.address(of: neighbour) == address, "row \(row)")
            table.remove(row)
            #expect(table.address(of: neighbour) == address, "row \(row)")
            table.set(row, version: 3, row)
            #expect(table.address(of: neighbour) == address, "row \(row)")
        }
    }

    @Test func `a row may be copied from an earlier version of the same table`() throws {
        let live = LiveCount()
        var table = RowTable(layout: TokenRow.layout)
        #expect(table.set(1, version: 1, TokenRow(1, live)) == true)
        let old = table
        let address = try #require(old.address(of: 1))
        #expect(table.set(1, version: RowVersion(2), copying: address) == false)
        #expect(table.value(of: 1, as: TokenRow.self) == old.value(of: 1, as: TokenRow.self))
        #expect(live.value == 1)
    }

    // MARK: Differences

    private func differences(_ new: RowTable, _ old: RowTable) -> [RowNumber] {
        var rows: [RowNumber] = []
        new.forEachDifference(from: old) { row, before, after in
            #expect(before == old.version(of: row) && after == new.version(of: row) && before != after)
            rows.append(row)
        }
        return rows
    }

    @Test func `differences are the rows whose versions differ`() {
        let old = table([1, 2, 40, 700])
        var new = old
        #expect(differences(new, old) == [])
        #expect(new.set(2, version: 2, UInt64(2)) == false)
        #expect(new.set(40, version: 1, UInt64(40)) == false)
        #expect(new.set(3, version: 1, UInt64(3)) == true)
        new.remove(700)
        #expect(differences(new, old) == [2, 3, 700])
        #expect(differences(old, new) == [2, 3, 700])
        #expect(differences(table([]), old) == [1, 2, 40, 700])
        #expect(differences(old, table([])) == [1, 2, 40, 700])
    }

    @Test func `differences reach across trees of different heights`() {
        let low = table([1, 2])
        var high = low
        #expect(high.set(1 << 60, version: 1, UInt64(0)) == true)
        #expect(high.set(.max, version: 1, UInt64(0)) == true)
        #expect(differences(high, low) == [1 << 60, .max])
        #expect(differences(low, high) == [1 << 60, .max])
        #expect(differences(table([1 << 60]), low) == [1, 2, 1 << 60])
        #expect(differences(low, table([1 << 60])) == [1, 2, 1 << 60])
    }

    /// Without skipping what both tables share, each of these differences would visit all 2000 leaves and the test
    /// would take minutes.
    @Test func `a thousand small differences of a large table visit only what changed`() {
        var table = table(0..<64_000)
        var random = SeededGenerator(seed: 1)
        for step in UInt64(2)...1001 {
            let old = table
            let row = RowNumber.random(in: 0..<64_000, using: &random)
            #expect(table.set(row, version: step, row) == false)
            #expect(differences(table, old) == [row])
        }
    }

    // MARK: Lifetimes

    @Test func `rows are destroyed when they are replaced, removed, or left by the last table`() {
        let live = LiveCount()
        var table = RowTable(layout: TokenRow.layout)
        for row in RowNumber(0)..<100 { #expect(table.set(row, version: 1, TokenRow(row, live)) == true) }
        #expect(live.value == 100)
        for row in RowNumber(0)..<10 { #expect(table.set(row, version: 2, moving: TokenRow(row, live)) == false) }
        #expect(live.value == 100)
        for row in RowNumber(10)..<40 { table.remove(row) }
        #expect(live.value == 70)
        var copy: RowTable? = table
        for row in RowNumber(0)..<5 { table.remove(row) }
        #expect(live.value == 70)
        copy?.remove(99)
        #expect(live.value == 70)
        copy = nil
        #expect(live.value == 65)
        table = RowTable(layout: TokenRow.layout)
        #expect(live.value == 0)
    }

    @Test func `a layout's working copy is destroyed, also when the body throws`() {
        struct Stop: Error {}
        let live = LiveCount()
        do {
            let row = TokenRow(1, live)
            withUnsafePointer(to: row) { row in
                TokenRow.layout.withCopy(of: row) { copy in
                    copy.assumingMemoryBound(to: TokenRow.self).pointee = TokenRow(2, live)
                    #expect(live.value == 2)
                }
                #expect(throws: Stop.self) { try TokenRow.layout.withCopy(of: row) { _ in throw Stop() } }
            }
            #expect(live.value == 1 && row.isWhole)
        }
        #expect(live.value == 0)
    }
}
