/// Which row of a store an identifier of an import's sources has become: runs of identifiers that follow each other on both
/// sides, as nearly all do, so that it takes little memory and can be kept in a point to resume from. Maps are equal if they lead
/// from the same identifiers to the same rows.
struct IdentifierMap: Sendable {
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

    /// Those of before the last call of `share()`, in pieces that copies share.
    private var sharedRuns = Pieces<[Run]>()
    private var sharedReplacements = Pieces<[RowNumber: Replacement]>()
    /// In the order of the sources' identifiers, none of which is in two.
    private var runs: [Run] = []
    /// Identifiers that came after greater ones, until there are enough of them to put them into the runs.
    private var others: [UInt64: RowNumber] = [:]
    private var replacements: [RowNumber: Replacement] = [:]

    /// The row that an identifier leads to by now.
    func row(of id: UInt64) -> RowNumber? {
        guard let row = others[id] ?? row(of: id, in: runs) ?? sharedRow(of: id) else { return nil }
        return replacement(of: row)?.survivor ?? row
    }

    private func sharedRow(of id: UInt64) -> RowNumber? {
        for runs in sharedRuns.all {
            if let row = row(of: id, in: runs) { return row }
        }
        return nil
    }

    private func replacement(of row: RowNumber) -> Replacement? {
        if let replacement = replacements[row] { return replacement }
        for replacements in sharedReplacements.all {
            if let replacement = replacements[row] { return replacement }
        }
        return nil
    }

    /// Where an owner of references that come later is; nil if it is gone and its survivor takes none.
    func owner(_ row: RowNumber) -> RowNumber? {
        guard let replacement = replacement(of: row) else { return row }
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

    /// Prepares a copy, after which each change would copy the runs, the others and the replacements.
    mutating func share() {
        if !others.isEmpty { merge() }
        sharedRuns.append(runs, joiningBy: Self.merged)
        sharedReplacements.append(replacements) { older, newer in older.merging(newer) { $1 } }
        (runs, replacements) = ([], [:])
    }

    private func row(of id: UInt64, in runs: [Run]) -> RowNumber? {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].source <= id { low = middle + 1 } else { high = middle }
        }
        return low > 0 && id <= runs[low - 1].last ? runs[low - 1].row + (id - runs[low - 1].source) : nil
    }

    private mutating func merge() {
        runs = Self.merged(runs, others.map { Run(source: $0.key, row: $0.value, count: 1) })
        others = [:]
    }

    private static func merged(_ runs: [Run], _ others: [Run]) -> [Run] {
        let all = (runs + others).sorted { $0.source < $1.source }
        var runs: [Run] = []
        for run in all {
            if let last = runs.indices.last, runs[last].last == run.source - 1,
                runs[last].row + runs[last].count == run.row
            {
                runs[last].count += run.count
            } else {
                runs.append(run)
            }
        }
        return runs
    }

    /// All runs, and all replacements.
    private var whole: (runs: [Run], replacements: [RowNumber: Replacement]) {
        var map = self
        map.share()
        return (
            map.sharedRuns.all.reduce([], Self.merged),
            map.sharedReplacements.all.reduce([:]) { older, newer in older.merging(newer) { $1 } }
        )
    }
}

extension IdentifierMap: Hashable {
    static func == (lhs: IdentifierMap, rhs: IdentifierMap) -> Bool { lhs.whole == rhs.whole }

    func hash(into hasher: inout Hasher) {
        hasher.combine(whole.runs)
        hasher.combine(whole.replacements)
    }
}

extension IdentifierMap: Codable {
    private enum Key: String, CodingKey {
        case runs
        case replacements
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let runs = try container.decode([Run].self, forKey: .runs)
        let replacements = try container.decode([RowNumber: Replacement].self, forKey: .replacements)
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
        (self.runs, self.replacements) = (runs, replacements)
        share()
    }

    func encode(to encoder: any Encoder) throws {
        let whole = whole
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(whole.runs, forKey: .runs)
        try container.encode(whole.replacements, forKey: .replacements)
    }
}
