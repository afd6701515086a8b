import Testing

@testable import Graph

/// Random changes of a row table beside a dictionary; the seed of a failure is its test's argument.
struct RowTableRandomizedTests {
    enum Spread: CaseIterable, Sendable {
        case dense
        case clustered
        case sparse

        func row(using random: inout SeededGenerator) -> RowNumber {
            switch self {
            case .dense:
                RowNumber.random(in: 0..<300, using: &random)
            case .clustered:
                RowNumber.random(in: 0..<4, using: &random) << 13 + RowNumber.random(in: 0..<70, using: &random)
            case .sparse:
                RowNumber(1) << UInt64.random(in: 3...60, using: &random)
                    + RowNumber.random(in: 0..<3, using: &random)
            }
        }
    }

    /// The naive table.
    private struct Reference {
        var rows: [RowNumber: (version: UInt64, row: TokenRow)] = [:]

        func missing(since other: Reference) -> [RowNumber] {
            other.rows.keys.filter { rows[$0] == nil }.sorted()
        }

        func differences(from other: Reference) -> [RowNumber] {
            Set(rows.keys).union(other.rows.keys)
                .filter { rows[$0]?.version != other.rows[$0]?.version }
                .sorted()
        }

        /// What a table gets wrong, if anything.
        func failures(of table: RowTable) -> [String] {
            var failures = table.checkInvariants()
            var walked: [RowNumber] = []
            for (row, version, address) in table.entries {
                walked.append(row)
                let value = address.assumingMemoryBound(to: TokenRow.self).pointee
                if !value.isWhole { failures.append("row \(row) is not whole") }
                if value != rows[row]?.row { failures.append("row \(row) has another value") }
                if version.number != rows[row]?.version { failures.append("row \(row) has another version") }
            }
            if walked != rows.keys.sorted() { failures.append("rows \(walked), not \(rows.keys.sorted())") }
            if table.count != rows.count { failures.append("\(table.count) rows, not \(rows.count)") }
            return failures
        }
    }

    private static func differences(_ new: RowTable, _ old: RowTable) -> [RowNumber] {
        var rows: [RowNumber] = []
        new.forEachDifference(from: old) { row, _, _ in rows.append(row) }
        return rows
    }

    private static func missing(_ new: RowTable, since old: RowTable) -> [RowNumber] {
        var rows: [RowNumber] = []
        new.forEachRow(missingSince: old) { rows.append($0) }
        return rows
    }

    @Test(arguments: Spread.allCases, Sweep.seeds(0..<6))
    func `a table does what a dictionary does, and its old versions stay`(spread: Spread, seed: UInt64) {
        let live = LiveCount()
        do {
            var random = SeededGenerator(seed: seed)
            var table = RowTable(layout: TokenRow.layout)
            var reference = Reference()
            var kept: [(table: RowTable, reference: Reference)] = [(table, reference)]
            for step in UInt64(1)...250 {
                let row = spread.row(using: &random)
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<3:
                    let wasThere = reference.rows.removeValue(forKey: row) != nil
                    #expect(table.remove(row) == wasThere)
                case 3..<6:
                    let value = TokenRow(step, live)
                    let isNew = reference.rows.updateValue((step, value), forKey: row) == nil
                    #expect(table.set(row, version: step, moving: value) == isNew)
                default:
                    let value = TokenRow(step, live)
                    let isNew = reference.rows.updateValue((step, value), forKey: row) == nil
                    #expect(table.set(row, version: step, value) == isNew)
                }
                #expect(table.contains(row) == (reference.rows[row] != nil))
                #expect(reference.failures(of: table) == [], "step \(step)")
                if Int.random(in: 0..<10, using: &random) == 0 { kept.append((table, reference)) }
                if kept.count > 12 { kept.remove(at: Int.random(in: 0..<kept.count, using: &random)) }
                let other = kept[Int.random(in: 0..<kept.count, using: &random)]
                #expect(Self.differences(table, other.table) == reference.differences(from: other.reference))
                #expect(Self.differences(other.table, table) == reference.differences(from: other.reference))
                #expect(Self.missing(table, since: other.table) == reference.missing(since: other.reference))
            }
            for (table, reference) in kept { #expect(reference.failures(of: table) == []) }
        }
        #expect(live.value == 0)
    }

    @Test(arguments: Spread.allCases, UInt64(0)..<3)
    func `every version of a branching history stays as it was`(spread: Spread, seed: UInt64) {
        let live = LiveCount()
        do {
            var random = SeededGenerator(seed: seed)
            var versions: [(table: RowTable, reference: Reference)] = [(RowTable(layout: TokenRow.layout), Reference())]
            for step in UInt64(1)...60 {
                var (table, reference) = versions[Int.random(in: 0..<versions.count, using: &random)]
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let row = spread.row(using: &random)
                    if Bool.random(using: &random) {
                        let value = TokenRow(step, live)
                        reference.rows[row] = (step, value)
                        _ = table.set(row, version: step, value)
                    } else {
                        reference.rows[row] = nil
                        table.remove(row)
                    }
                }
                versions.append((table, reference))
            }
            for (table, reference) in versions { #expect(reference.failures(of: table) == []) }
            // Two that have no ancestor but the empty table may stand far apart.
            for _ in 0..<60 {
                let (one, other) = (versions.randomElement(using: &random), versions.randomElement(using: &random))
                guard let one, let other else { continue }
                #expect(Self.differences(one.table, other.table) == one.reference.differences(from: other.reference))
                #expect(Self.missing(one.table, since: other.table) == one.reference.missing(since: other.reference))
                let start = Bool.random(using: &random) ? spread.row(using: &random) : random.next()
                let next = one.reference.rows.keys.filter { $0 >> 5 >= start >> 5 }.min()
                #expect(one.table.run(from: start)?.firstRow == next.map { $0 & ~31 })
            }
        }
        #expect(live.value == 0)
    }
}
