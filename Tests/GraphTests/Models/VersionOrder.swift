/// The committed versions of each row, in order, with who made them.
struct VersionOrder {
    struct Entry {
        let version: History.Version
        /// By its place in the history; nil for the version that was there from the beginning.
        let writer: Int?
        let commit: UInt64?
        let stamp: Int?
        let matches: Set<History.Predicate>
        /// The version that the writer changed.
        var from = History.Version.unborn
        var commutes = false
    }

    /// Who wrote something that is not a committed version.
    enum Uncommitted {
        case rejected(Int)
        case intermediate(Int)
    }

    private let transactions: [History.Transaction]
    private(set) var entries: [History.Row: [Entry]] = [:]
    /// By transaction, the last write of each row in transactions that happened.
    private(set) var installed: [[History.Write]] = []
    private(set) var anomalies: [Anomaly] = []

    init(_ history: History) {
        transactions = history.transactions
        let happened = Self.happened(transactions)
        var lists: [History.Row: [Entry]] = [:]
        var first: [History.Row: History.Version] = [:]
        for (place, transaction) in transactions.enumerated() {
            var last: [History.Write] = []
            for case .write(let write) in transaction.operations {
                first[write.row] = min(first[write.row] ?? write.from, write.from)
                guard happened[place] else { continue }
                if let old = last.firstIndex(where: { $0.row == write.row }) {
                    let (from, commutes) = (last[old].from, last[old].commutes)
                    last[old] = write
                    last[old].commutes = write.commutes && commutes
                    // What commutes is put upon what is there; else the first write tells what was changed.
                    if !last[old].commutes { last[old].from = from }
                } else {
                    last.append(write)
                }
            }
            last.removeAll(where: \.isVoid)
            installed.append(last)
            for write in last { lists[write.row, default: []].append(Entry(write, by: place, transaction.outcome)) }
        }
        for (row, first) in first {
            entries[row] = ordered(lists[row] ?? [], of: row, first: first)
        }
        for place in transactions.indices {
            installed[place].removeAll { write in
                !(entries[write.row] ?? []).contains { $0.writer == place }
            }
        }
    }

    /// Sorts a row's versions. Of several deletes of one version only one happened, and the others found nothing to do.
    private mutating func ordered(_ list: [Entry], of row: History.Row, first: History.Version) -> [Entry] {
        var ordered = [Entry(version: first, writer: nil, commit: 0, stamp: nil, matches: [])]
        for entry in list.sorted(by: { precedes($0, $1) }) {
            let previous = ordered[ordered.count - 1]
            if entry.version == previous.version {
                if !entry.version.isDead { note(entry, previous, row, "made the same version as") }
                continue
            }
            if let commit = entry.commit, let before = previous.commit, commit <= before {
                note(entry, previous, row, "committed as \(commit) on top of commit \(before), by")
            }
            ordered.append(entry)
        }
        return ordered
    }

    private func precedes(_ lhs: Entry, _ rhs: Entry) -> Bool {
        if lhs.version != rhs.version { return lhs.version < rhs.version }
        if lhs.commit != rhs.commit { return lhs.commit ?? .max < rhs.commit ?? .max }
        // Deletes of one row in one commit: all but one did nothing, and have found no number of their own.
        func isNext(_ entry: Entry) -> Bool { entry.from.number == entry.version.number }
        if isNext(lhs) != isNext(rhs) { return isNext(lhs) }
        func count(_ entry: Entry) -> Int { entry.writer.map { installed[$0].count } ?? 0 }
        return count(lhs) > count(rhs)
    }

    private mutating func note(_ entry: Entry, _ previous: Entry, _ row: History.Row, _ what: String) {
        func name(_ entry: Entry) -> String { entry.writer.map { "T\(transactions[$0].number)" } ?? "the beginning" }
        let text = "\(name(entry)) \(what) \(name(previous)): \(row) \(entry.version)"
        anomalies.append(Anomaly(kind: .numbering, text: text))
    }

    /// Which transactions happened: the committed ones, and those of unknown outcome of which somebody saw a part.
    private static func happened(_ transactions: [History.Transaction]) -> [Bool] {
        var happened = transactions.map { transaction in
            if case .committed = transaction.outcome { true } else { false }
        }
        let unknown = transactions.indices.filter { transactions[$0].outcome == .unknown }
        guard !unknown.isEmpty else { return happened }
        var isResolved = false
        while !isResolved {
            isResolved = true
            for place in unknown where !happened[place] {
                let isSeen = transactions[place].operations.contains { operation in
                    guard case .write(let write) = operation else { return false }
                    return transactions.indices.contains { other in
                        other != place && transactions[other].saw(write)
                            && (happened[other] || transactions[other].outcome == .rejected)
                    }
                }
                if isSeen { (happened[place], isResolved) = (true, false) }
            }
        }
        return happened
    }

    /// Whose write a sighting is of that no commit contains.
    func uncommittedWriter(of row: History.Row, _ sighting: History.Sighting) -> Uncommitted? {
        for (place, transaction) in transactions.enumerated() {
            for case .write(let write) in transaction.operations where write.row == row && sighting.shows(write) {
                return transaction.outcome == .rejected ? .rejected(place) : .intermediate(place)
            }
        }
        return nil
    }

    /// The place of a row's newest version in the state after a commit.
    func place(of row: History.Row, after commit: UInt64) -> Int? {
        entries[row]?.lastIndex { entry in entry.commit.map { $0 <= commit } ?? false }
    }
}

extension VersionOrder.Entry {
    fileprivate init(_ write: History.Write, by writer: Int, _ outcome: History.Outcome) {
        var commit: UInt64?
        if case .committed(let number) = outcome { commit = number }
        self.init(
            version: write.to, writer: writer, commit: commit, stamp: write.stamp, matches: write.matches,
            from: write.from, commutes: write.commutes)
    }
}

extension History.Sighting {
    /// Whether this is what a write left. The stamp decides if there is one.
    fileprivate func shows(_ write: History.Write) -> Bool {
        guard case .present(let version, let stamp) = self, !write.to.isDead else { return false }
        if let stamp, let written = write.stamp { return stamp == written }
        return version == write.to.number
    }
}

extension History.Transaction {
    /// Whether it read a write of another's, or wrote on top of it.
    fileprivate func saw(_ write: History.Write) -> Bool {
        operations.contains { operation in
            switch operation {
            case .read(let row, let sighting): row == write.row && sighting.shows(write)
            case .search(_, let found, let passed): (found[write.row] ?? passed[write.row])?.shows(write) ?? false
            case .write(let other): other.row == write.row && other.from == write.to
            }
        }
    }
}
