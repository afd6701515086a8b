/// What moved between two files of results beyond noise.
///
/// Machines differ and so do days: ratios to a peer that was measured in the same run are compared where there is one.
struct Comparison: Sendable {
    /// Medians that differ by a smaller factor are the same.
    static let least = 1.2

    enum Basis: Equatable, Sendable {
        /// How many times as fast as this side: more is better.
        case ratio(Side)
        /// The figure itself: less is better.
        case figure
    }

    enum Verdict: String, Sendable {
        case worse
        case better
        case same
    }

    struct Entry: Sendable {
        let line: ResultLine
        let basis: Basis
        let old: Summary
        let new: Summary
        let verdict: Verdict
    }

    private(set) var entries: [Entry] = []
    /// What has no figure, no peer or a wrong answer in the new file only, and why.
    private(set) var lost: [(key: ResultFile.Key, reason: String)] = []
    /// What is not in the new file at all, which is a loss, too.
    private(set) var onlyOld: [ResultFile.Key] = []
    private(set) var onlyNew: [ResultFile.Key] = []

    /// - Throws: `ResultFile.Invalid` when the files are about different numbers of people or different units.
    init(old: ResultFile, new: ResultFile) throws(ResultFile.Invalid) {
        guard old.sizes == new.sizes else {
            let sizes = [old, new].map { $0.sizes.sorted().map(Figures.count).joined(separator: "; ") }
            throw ResultFile.Invalid(
                description: "\(old.name) is about \(sizes[0]) people and \(new.name) about \(sizes[1])")
        }
        let oldByKey = Dictionary(uniqueKeysWithValues: old.lines.map { ($0.key, $0) })
        let newKeys = Set(new.lines.map(\.key))
        onlyOld = old.lines.map(\.key).filter { !newKeys.contains($0) }
        for line in new.lines {
            guard let before = oldByKey[line.key] else {
                onlyNew.append(line.key)
                continue
            }
            guard before.unit == line.unit else {
                throw ResultFile.Invalid(description: "\(line.workload) has another unit in \(new.name)")
            }
            add(before, line)
        }
    }

    func entries(_ verdict: Verdict) -> [Entry] {
        entries.filter { $0.verdict == verdict }
    }

    var isWorse: Bool { !lost.isEmpty || !onlyOld.isEmpty || !entries(.worse).isEmpty }

    private mutating func add(_ old: ResultLine, _ new: ResultLine) {
        if old.answersAgree, !new.answersAgree { lost.append((new.key, "answers differ")) }
        let gone = Side.allCases.filter { old.column($0).summary != nil && new.column($0).summary == nil }
        for side in gone {
            lost.append((new.key, "\(side.rawValue), \(new.column(side).reason ?? "not measured")"))
        }
        // What is left would be held against another measure than before.
        guard gone.isEmpty, let before = old.graph.summary, let after = new.graph.summary else { return }
        for side in [Side.sqlite, .native] where new.isTime {
            guard let oldPeer = old.column(side).summary, let newPeer = new.column(side).summary,
                let oldRatio = Summary(of: oldPeer, over: before), let newRatio = Summary(of: newPeer, over: after)
            else { continue }
            let verdict = Self.verdict(oldRatio, newRatio, moreIsBetter: true)
            entries.append(Entry(line: new, basis: .ratio(side), old: oldRatio, new: newRatio, verdict: verdict))
            return
        }
        let verdict = Self.verdict(before, after, moreIsBetter: false)
        entries.append(Entry(line: new, basis: .figure, old: before, new: after, verdict: verdict))
    }

    /// Moved are figures whose spreads do not overlap and whose medians are far enough apart.
    static func verdict(_ old: Summary, _ new: Summary, moreIsBetter: Bool) -> Verdict {
        let isMore = new.minimum > old.maximum && new.median >= least * old.median
        let isLess = new.maximum < old.minimum && new.median * least <= old.median
        if !isMore, !isLess { return .same }
        return isMore == moreIsBetter ? .better : .worse
    }
}

extension Summary {
    /// A quotient, as small and as large as the runs of both allow, or nil where one of them is nothing.
    fileprivate init?(of numerator: Summary, over denominator: Summary) {
        guard numerator.minimum > 0, denominator.minimum > 0 else { return nil }
        self.init(
            median: numerator.median / denominator.median, minimum: numerator.minimum / denominator.maximum,
            maximum: numerator.maximum / denominator.minimum)
    }
}

extension ResultLine {
    /// Bytes and rows do not depend on how busy the machine is.
    var isTime: Bool { unit.hasPrefix("seconds ") }

    /// A figure as people read it.
    func text(_ figure: Double) -> String {
        let unit: Workload.Unit =
            switch unit.prefix(while: { $0 != " " }) {
            case "bytes": .bytes(per: "")
            case "rows": .rows(per: "")
            default: .seconds(per: "")
            }
        return unit.text(figure)
    }

    func column(_ side: Side) -> Column {
        switch side {
        case .engine: graph
        case .sqlite: sqlite
        case .native: native
        }
    }
}
