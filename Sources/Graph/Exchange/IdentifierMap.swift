/// Which row of a store an identifier of an import's sources has become: runs of identifiers that follow each other on both
/// sides, as nearly all do, so that it takes little memory and can be kept in a point to resume from.
struct IdentifierMap: Sendable, Hashable {
    struct Run: Sendable, Hashable, Codable {
        var source: UInt64
        var row: RowNumber
        var count: UInt64

        /// The last identifier of the source.
        var last: UInt64 { source + (count - 1) }
    }

    /// A row that gave way to another one when it was saved.
    struct Replacement: Sendable, Hashable, Codable {
        let survivor: RowNumber
        /// Whether the survivor takes what comes later for the row.
        let takesOver: Bool
    }

    /// In the order of the sources' identifiers, none of which is in two.
    private var runs: [Run] = []
    /// Identifiers that came after greater ones, until there are enough of them to put them into the runs.
    private var others: [UInt64: RowNumber] = [:]
    private(set) var replacements: [RowNumber: Replacement] = [:]

    /// The row that an identifier leads to by now.
    func row(of id: UInt64) -> RowNumber? {
        let row = others[id] ?? run(with: id).map { $0.row + (id - $0.source) }
        return row.map { replacements[$0]?.survivor ?? $0 }
    }

    /// Where an owner of references that come later is; nil if it is gone and its survivor takes none.
    func owner(_ row: RowNumber) -> RowNumber? {
        guard let replacement = replacements[row] else { return row }
        return replacement.takesOver ? replacement.survivor : nil
    }

    /// - Parameter id: one that has no row.
    mutating func insert(_ id: UInt64, _ row: RowNumber) {
        guard let last = runs.indices.last else { return runs.append(Run(source: id, row: row, count: 1)) }
        if others.isEmpty, runs[last].last < id {
            if runs[last].last == id - 1, runs[last].row + runs[last].count == row {
                runs[last].count += 1
            } else {
                runs.append(Run(source: id, row: row, count: 1))
            }
            return
        }
        others[id] = row
        if others.count > runs.count + 1_024 { merge() }
    }

    mutating func replace(_ row: RowNumber, by survivor: RowNumber, takesOver: Bool) {
        replacements[row] = Replacement(survivor: survivor, takesOver: takesOver)
    }

    private func run(with id: UInt64) -> Run? {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].source <= id { low = middle + 1 } else { high = middle }
        }
        return low > 0 && id <= runs[low - 1].last ? runs[low - 1] : nil
    }

    private mutating func merge() {
        let all = runs + others.map { Run(source: $0.key, row: $0.value, count: 1) }
        (runs, others) = ([], [:])
        for run in all.sorted(by: { $0.source < $1.source }) {
            if let last = runs.indices.last, runs[last].last == run.source - 1,
                runs[last].row + runs[last].count == run.row
            {
                runs[last].count += run.count
            } else {
                runs.append(run)
            }
        }
    }
}

extension IdentifierMap: Codable {
    private enum Key: String, CodingKey {
        case runs
        case replacements
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        runs = try container.decode([Run].self, forKey: .runs)
        replacements = try container.decode([RowNumber: Replacement].self, forKey: .replacements)
        var end: UInt64 = 0
        for run in runs {
            let isWhole =
                run.count > 0 && run.source >= end && run.count <= RowCounters.maximum
                && run.source <= UInt64.max - run.count && run.row <= RowCounters.maximum
            guard isWhole else {
                throw DecodingError.dataCorruptedError(
                    forKey: .runs, in: container, debugDescription: "identifiers are not in order")
            }
            end = run.source + run.count
        }
    }

    func encode(to encoder: any Encoder) throws {
        var whole = self
        whole.merge()
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(whole.runs, forKey: .runs)
        try container.encode(whole.replacements, forKey: .replacements)
    }
}
