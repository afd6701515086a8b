/// The direct serialization graph of a history (Adya 1999, 4.4.4), with edges for time.
struct DependencyGraph {
    struct Edge {
        enum Kind {
            case ww
            case wr
            case rw
            /// One session's next transaction, or one that began when the other was over.
            case time
        }

        let from: Int
        let to: Int
        let kind: Kind
        var row: History.Row?
        /// Set if the read was a search.
        var predicate: History.Predicate?
        /// Which of its transaction's operations the read was.
        var operation = 0
        var versions = ""
    }

    /// Which of several states that look the same to a read it is taken to be of.
    enum Readings {
        /// The one that the transaction began with.
        case atBegin
        /// The one that the transaction's writes were put upon, if that looks the same.
        case atCommit
    }

    let transactions: [History.Transaction]
    private let allowsCommuting: Bool
    private let readings: Readings
    private(set) var edges: [Edge] = []
    private(set) var anomalies: [Anomaly]
    let order: VersionOrder
    /// The rows that ever met a predicate.
    private var matchingRows: [History.Predicate: [History.Row]] = [:]

    init(_ history: History, readings: Readings) {
        self.readings = readings
        transactions = history.transactions
        allowsCommuting = history.allowsCommuting
        order = VersionOrder(history)
        anomalies = order.anomalies
        for (row, entries) in order.entries.sorted(by: { $0.key < $1.key }) {
            addWrites(row, entries)
            for predicate in entries.reduce(into: Set(), { $0.formUnion($1.matches) }) {
                matchingRows[predicate, default: []].append(row)
            }
        }
        for place in transactions.indices { addReads(of: place) }
        addTime()
    }

    // MARK: Writes

    /// Consecutive versions depend on each other. A write has read what it changes, unless such writes commute.
    private mutating func addWrites(_ row: History.Row, _ entries: [VersionOrder.Entry]) {
        for (before, after) in zip(entries, entries.dropFirst()) {
            guard let from = before.writer, let to = after.writer, from != to, !isFree(after) else { continue }
            edges.append(
                Edge(from: from, to: to, kind: .ww, row: row, versions: "\(before.version) → \(after.version)"))
        }
        for entry in entries {
            guard let writer = entry.writer, !isFree(entry),
                let write = order.installed[writer].first(where: { $0.row == row }),
                let place = entries.firstIndex(where: { $0.version == write.from })
            else { continue }
            addRead(of: entries, at: place, by: writer, row, operation: transactions[writer].operations.count)
        }
    }

    private func isFree(_ entry: VersionOrder.Entry) -> Bool { allowsCommuting && entry.commutes }

    // MARK: Reads

    private mutating func addReads(of place: Int) {
        let transaction = transactions[place]
        var own: [History.Row: History.Write] = [:]
        for (number, operation) in transaction.operations.enumerated() {
            switch operation {
            case .write(let write):
                own[write.row] = write
            case .read(let row, let sighting):
                if let write = own[row] {
                    checkOwn(write, sighting, place)
                } else if let version = resolve(sighting, row, place) {
                    addRead(of: order.entries[row] ?? [], at: version, by: place, row, operation: number)
                }
            case .search(let predicate, let found, let passed):
                addSearch(predicate, found, passed, own, by: place, operation: number)
            }
        }
    }

    private mutating func addRead(
        of entries: [VersionOrder.Entry],
        at version: Int,
        by reader: Int,
        _ row: History.Row,
        operation: Int
    ) {
        if let writer = entries[version].writer, writer != reader {
            let versions = "\(entries[version].version)"
            edges.append(
                Edge(from: writer, to: reader, kind: .wr, row: row, operation: operation, versions: versions))
        }
        guard version + 1 < entries.count, let writer = entries[version + 1].writer, writer != reader else { return }
        let versions = "\(entries[version].version) → \(entries[version + 1].version)"
        edges.append(Edge(from: reader, to: writer, kind: .rw, row: row, operation: operation, versions: versions))
    }

    private mutating func addSearch(
        _ predicate: History.Predicate,
        _ found: [History.Row: History.Sighting],
        _ passed: [History.Row: History.Sighting],
        _ own: [History.Row: History.Write],
        by place: Int,
        operation: Int
    ) {
        let rows = Set(matchingRows[predicate] ?? []).union(found.keys).union(passed.keys)
        for row in rows.sorted() {
            if let write = own[row] {
                checkOwn(write, meets: predicate, found[row], passed[row], place)
                continue
            }
            let entries = order.entries[row] ?? []
            let version: Int?
            if let sighting = found[row] ?? passed[row] {
                version = resolve(sighting, row, place)
            } else {
                version = transactions[place].base.flatMap { order.place(of: row, after: $0) } ?? 0
            }
            guard var version, version < entries.count else { continue }
            let isMatch = entries[version].matches.contains(predicate)
            if let latest = latest(row, place), latest > version, isMatch == entries[latest].matches.contains(predicate)
            {
                version = latest
            }
            if isMatch != (found[row] != nil) {
                note(.search, place, "\(found[row] == nil ? "misses" : "finds") \(row) in \(predicate), wrongly")
            }
            addSearch(predicate, of: entries, at: version, by: place, row, operation: operation)
        }
    }

    /// A search depends on who last changed whether the row meets its predicate, and is overwritten by who changes it next.
    private mutating func addSearch(
        _ predicate: History.Predicate,
        of entries: [VersionOrder.Entry],
        at version: Int,
        by reader: Int,
        _ row: History.Row,
        operation: Int
    ) {
        func isMatch(_ place: Int) -> Bool { entries[place].matches.contains(predicate) }
        var first = version
        while first > 0, isMatch(first - 1) == isMatch(version) { first -= 1 }
        if first > 0, let writer = entries[first].writer, writer != reader {
            edges.append(
                Edge(
                    from: writer, to: reader, kind: .wr, row: row, predicate: predicate, operation: operation,
                    versions: "\(entries[first].version)"))
        }
        guard let next = entries.indices.dropFirst(version + 1).first(where: { isMatch($0) != isMatch(version) }),
            let writer = entries[next].writer, writer != reader
        else { return }
        let versions = "\(entries[version].version) → \(entries[next].version)"
        edges.append(
            Edge(
                from: reader, to: writer, kind: .rw, row: row, predicate: predicate, operation: operation,
                versions: versions))
    }

    /// The place of what a transaction saw among a row's versions.
    private mutating func resolve(_ sighting: History.Sighting, _ row: History.Row, _ reader: Int) -> Int? {
        let entries = order.entries[row] ?? []
        let base = transactions[reader].base.flatMap { order.place(of: row, after: $0) }
        guard case .present(let version, let stamp) = sighting else {
            let dead = entries.indices.filter { entries[$0].version.isDead }
            if entries.isEmpty || dead.count == 1 { return dead.first }
            if let latest = latest(row, reader), entries[latest].version.isDead { return latest }
            if let base, entries[base].version.isDead { return base }
            if base != nil || dead.isEmpty { note(.garbage, reader, "does not see \(row)") }
            return dead.first
        }
        if version == nil && stamp == nil {
            if let base, !entries[base].version.isDead {
                guard let latest = latest(row, reader), !entries[latest].version.isDead,
                    entries[latest].stamp == entries[base].stamp, entries[latest].matches == entries[base].matches
                else { return base }
                return latest
            }
            if base != nil { note(.garbage, reader, "sees \(row), which is not there") }
            return nil
        }
        // What others' deletes did to a row has left it the stamp that it had.
        if version == nil, let base, entries[base].shows(sighting) { return base }
        if let place = entries.firstIndex(where: { $0.shows(sighting) }) { return place }
        switch order.uncommittedWriter(of: row, sighting) {
        case .rejected(let writer):
            note(.g1a, reader, "read \(row) \(sighting) of T\(transactions[writer].number), which was rejected")
        case .intermediate(let writer) where writer != reader:
            note(.g1b, reader, "read \(row) \(sighting), which T\(transactions[writer].number) went on to overwrite")
        case .intermediate, nil:
            if !entries.isEmpty { note(.garbage, reader, "read \(row) \(sighting), which nobody wrote") }
        }
        return nil
    }

    /// The place of a row's version in the state that a transaction's writes were put upon.
    private func latest(_ row: History.Row, _ place: Int) -> Int? {
        guard readings == .atCommit, case .committed(let commit?) = transactions[place].outcome else { return nil }
        return order.place(of: row, after: commit - 1)
    }

    // MARK: Own writes

    private mutating func checkOwn(_ write: History.Write, _ sighting: History.Sighting, _ place: Int) {
        let isRight =
            switch sighting {
            case .absent: write.to.isDead
            case .present(_, let stamp): !write.to.isDead && (stamp == nil || stamp == write.stamp)
            }
        if !isRight, !isTakenOver(write, place) {
            note(.ownWrite, place, "wrote \(write.row) \(write.to), then read \(sighting)")
        }
    }

    /// Whether a row has what another one of the same transaction had, which gave way to it when that was saved: reads before that
    /// saw something else.
    private func isTakenOver(_ write: History.Write, _ place: Int) -> Bool {
        transactions[place].operations.contains { operation in
            guard case .write(let other) = operation, other.row != write.row, other.stamp == write.stamp else {
                return false
            }
            return other.matches.contains { $0.takesOver == true && write.matches.contains($0) }
        }
    }

    private mutating func checkOwn(
        _ write: History.Write,
        meets predicate: History.Predicate,
        _ found: History.Sighting?,
        _ passed: History.Sighting?,
        _ place: Int
    ) {
        if let sighting = found ?? passed { checkOwn(write, sighting, place) }
        guard write.matches.contains(predicate) != (found != nil) else { return }
        note(.ownWrite, place, "\(found == nil ? "misses" : "finds") its own \(write.row) in \(predicate), wrongly")
    }

    private mutating func note(_ kind: Anomaly.Kind, _ place: Int, _ text: String) {
        anomalies.append(Anomaly(kind: kind, text: "T\(transactions[place].number) \(text)"))
    }

    // MARK: Time

    /// Edges that follow from others are left out.
    private mutating func addTime() {
        var last: [Int: Int] = [:]
        for (place, transaction) in transactions.enumerated() {
            if let previous = last[transaction.session] {
                edges.append(Edge(from: previous, to: place, kind: .time))
            }
            // The session goes on without knowing whether it happened.
            if transaction.end < .max { last[transaction.session] = place }
        }
        let places = transactions.indices.sorted { transactions[$0].end < transactions[$1].end }
        for place in places {
            let begin = transactions[place].begin
            let over = places.prefix { transactions[$0].end < begin }
            // Whoever was over before one of these began comes before it anyway.
            guard let latest = over.map({ transactions[$0].begin }).max() else { continue }
            for previous in over where transactions[previous].end >= latest {
                edges.append(Edge(from: previous, to: place, kind: .time))
            }
        }
    }
}

extension VersionOrder.Entry {
    /// Whether a sighting is of this version. The stamp decides if both have one, and the version has to agree then.
    fileprivate func shows(_ sighting: History.Sighting) -> Bool {
        guard case .present(let number, let seen) = sighting, !version.isDead else { return false }
        if let seen, let stamp { return seen == stamp && (number ?? version.number) == version.number }
        return number == version.number && (seen == nil || writer == nil)
    }
}
