@testable import Graph

extension History {
    /// Looks up in the committed states which commit has which transaction's writes, and which versions it made of them. That
    /// also tells which transactions of unknown outcome happened.
    ///
    /// - Parameter states: all of them, in order.
    /// - Returns: what no isolation level explains: commits that are missing, writes that no commit has or several have, and
    ///   writes of rejected transactions in a commit.
    mutating func resolve(_ states: [LedgerState]) -> [String] {
        var contradictions: [String] = []
        for (before, after) in zip(states, states.dropFirst()) where after.commit != before.commit + 1 {
            contradictions.append("commit \(after.commit) follows commit \(before.commit)")
        }
        let index = CommitIndex(states)
        // The commits of transactions whose outcome is known come first: what is theirs is no sign of another one.
        let (unknown, known) = transactions.indices.dropFirst().reduce(into: ([Int](), [Int]())) { places, place in
            if transactions[place].outcome == .unknown { places.0.append(place) } else { places.1.append(place) }
        }
        for place in known { contradictions += transactions[place].contradictions(index) }
        let claimed = Set(transactions.flatMap { $0.commits(index) })
        for place in unknown {
            if !transactions[place].happened(index, claimed) { transactions[place].outcome = .rejected }
            contradictions += transactions[place].contradictions(index)
        }
        for (row, end) in index.ends.sorted(by: { $0.key < $1.key })
        where !transactions.contains(where: { $0.deleted(row, in: end.commit) }) {
            contradictions.append("commit \(end.commit) lacks \(row), which nobody has deleted")
        }
        return contradictions
    }
}

/// Where stamps first show in the committed states, where rows last did, and what each commit changed.
private struct CommitIndex {
    struct Place {
        let commit: UInt64
        let version: UInt64
    }

    struct Change {
        let old: History.Version
        let new: History.Version
        let state: LedgerState.Change

        /// As what follows from something else that was done.
        var write: History.Operation {
            .write(
                History.Write(
                    row: state.row, from: old, to: new, stamp: state.new?.stamp, matches: state.new?.matches ?? [],
                    isDerived: true, commutes: true))
        }
    }

    private(set) var stamps: [Int: Place] = [:]
    private(set) var ends: [History.Row: Place] = [:]
    private(set) var changes: [UInt64: [History.Row: Change]] = [:]
    private(set) var signatures: [Int: UInt64] = [:]
    private var states: [UInt64: LedgerState] = [:]

    init(_ states: [LedgerState]) {
        var versions: [History.Row: History.Version] = [:]
        var previous = states.first?.snapshot
        for state in states {
            self.states[state.commit] = state
            var changes: [History.Row: Change] = [:]
            for change in state.changes {
                let old = versions[change.row] ?? .unborn
                let new: History.Version
                if let value = change.new {
                    new = History.Version(number: value.version, isDead: false)
                    if let stamp = value.stamp, stamps[stamp] == nil {
                        stamps[stamp] = Place(commit: state.commit, version: value.version)
                    }
                } else if change.isVersioned {
                    new = .deleted(after: old.number)
                    ends[change.row] = Place(commit: state.commit, version: old.number)
                } else {
                    new = .deleted(after: state.commit)
                }
                versions[change.row] = new
                changes[change.row] = Change(old: old, new: new, state: change)
            }
            self.changes[state.commit] = changes
            if let previous {
                for stamp in Ledger.signatures(from: previous, to: state.snapshot) { signatures[stamp] = state.commit }
            }
            previous = state.snapshot
        }
    }

    /// The rows that meet one of these predicates after a commit.
    func rows(meeting predicates: Set<History.Predicate>, in commit: UInt64) -> [(row: History.Row, stamp: Int)] {
        guard let state = states[commit] else { return [] }
        var rows: [(row: History.Row, stamp: Int)] = []
        for (row, value) in state.values where !value.matches.isDisjoint(with: predicates) {
            if let stamp = value.stamp { rows.append((row, stamp)) }
        }
        return rows
    }

    func has(_ row: History.Row, in commit: UInt64?) -> Bool {
        commit.flatMap { states[$0] }?.values[row] != nil
    }
}

extension History.Write {
    /// Whether a commit does not have what this inserted, because something else stands for it.
    fileprivate func givesWay(in changes: [History.Row: CommitIndex.Change]) -> Bool {
        from == .unborn && !to.isDead && changes[row] == nil && matches.contains { $0.takesOver != nil }
    }

    fileprivate var void: History.Write {
        var write = self
        write.isVoid = true
        return write
    }
}

extension LedgerState.Change {
    /// Whether the row has versions of the engine's: it is no link, and no order.
    fileprivate var isVersioned: Bool { (new ?? old)?.stamp != nil }
}

extension History.Transaction {
    /// The last write of each row, by its place among the operations.
    private var lastWrites: [(place: Int, write: History.Write)] {
        var last: [History.Row: (place: Int, write: History.Write)] = [:]
        for (place, operation) in operations.enumerated() {
            if case .write(let write) = operation { last[write.row] = (place, write) }
        }
        return last.values.sorted { $0.place < $1.place }
    }

    var hasWrites: Bool { operations.contains { if case .write = $0 { true } else { false } } }

    /// Marks what follows from deletes and so is no conflict with anything.
    mutating func markCommuting(_ isCommuting: (History.Row) -> Bool) {
        for (place, operation) in operations.enumerated() {
            guard case .write(var write) = operation, write.isDerived, !write.to.isDead, isCommuting(write.row) else {
                continue
            }
            write.commutes = true
            operations[place] = .write(write)
        }
    }

    fileprivate func deleted(_ row: History.Row, in commit: UInt64) -> Bool {
        outcome == .committed(commit) && lastWrites.contains { $0.write.row == row && $0.write.to.isDead }
    }

    fileprivate var stamps: [Int] { lastWrites.compactMap { $0.write.isDerived ? nil : $0.write.stamp } }

    private var commit: UInt64? { if case .committed(let commit) = outcome { commit } else { nil } }

    /// The commits that are known to be its own.
    fileprivate func commits(_ index: CommitIndex) -> [UInt64] {
        stamps.compactMap { index.stamps[$0]?.commit } + (commit.map { [$0] } ?? [])
    }

    /// Whether a commit has its writes. If all of them are deletes, all the rows must be gone, and the commit must be nobody
    /// else's.
    fileprivate func happened(_ index: CommitIndex, _ claimed: Set<UInt64>) -> Bool {
        if let signature { return index.signatures[signature] != nil }
        let stamps = stamps
        guard stamps.isEmpty else { return stamps.contains { index.stamps[$0] != nil } }
        let deletes = lastWrites.filter { !$0.write.isDerived && $0.write.from != .unborn }
        let ends = deletes.compactMap { index.ends[$0.write.row]?.commit }
        return ends.count == deletes.count && ends.contains { !claimed.contains($0) }
    }

    fileprivate mutating func contradictions(_ index: CommitIndex) -> [String] {
        resolve(index).map { "T\(number) \($0)" }
    }

    private mutating func resolve(_ index: CommitIndex) -> [String] {
        var contradictions: [String] = []
        guard outcome != .rejected else {
            for case .write(let write) in operations where !write.isDerived {
                guard let place = write.stamp.flatMap({ index.stamps[$0] }) else { continue }
                contradictions.append("was rejected, and commit \(place.commit) has its \(write.row)")
            }
            if let commit = signature.flatMap({ index.signatures[$0] }) {
                contradictions.append("was rejected, and commit \(commit) has its signature")
            }
            return contradictions
        }
        if let signature { return resolve(signedBy: signature, index) }
        var commits: Set<UInt64> = []
        var deletes: [(place: Int, end: UInt64)] = []
        for (place, write) in lastWrites {
            var write = write
            if let stamp = write.stamp, let made = index.stamps[stamp] {
                commits.insert(made.commit)
                write.to = History.Version(number: made.version, isDead: false)
            } else if write.stamp == nil, let end = index.ends[write.row] {
                deletes.append((place, end.commit))
                write.to = .deleted(after: end.version)
            } else if write.to != .unborn {
                contradictions.append("was committed, but no commit has its \(write.row)")
            }
            operations[place] = .write(write)
        }
        // Who deletes a row that others have deleted already has nothing to do; a delete of later is none of its.
        let commit = commits.first ?? deletes.map(\.end).max()
        for (place, end) in deletes where end > commit ?? 0 {
            contradictions.append("was committed as \(commit ?? 0) without \(operations[place])")
        }
        if commits.count > 1 { contradictions.append("has commits \(commits.sorted())") }
        outcome = .committed(commit)
        return contradictions
    }

    /// The same if the commit is known. What it has changed besides the writes must follow from a delete.
    private mutating func resolve(signedBy signature: Int, _ index: CommitIndex) -> [String] {
        guard let commit = index.signatures[signature], let changes = index.changes[commit] else {
            return ["was committed, but no commit has its signature"]
        }
        outcome = .committed(commit)
        var contradictions: [String] = []
        var (unchanged, others): ([History.Operation], [History.Operation]) = ([], [])
        var known: Set<History.Row> = []
        let writes = lastWrites
        var takenOver: Set<History.Row> = []
        let hasDeletes = writes.contains { !$0.write.isDerived && $0.write.to.isDead }
        for (place, write) in writes where write.givesWay(in: changes) {
            operations[place] = .write(write.void)
            known.insert(write.row)
            let survivors = index.rows(meeting: write.matches, in: commit)
            if survivors.count != 1 {
                contradictions.append("was committed as \(commit) with \(survivors) for \(write)")
            }
            guard write.matches.contains(where: { $0.takesOver == true }) else { continue }
            takenOver.formUnion(survivors.map(\.row))
            if !survivors.allSatisfy({ stamps.contains($0.stamp) }) {
                contradictions.append("was committed as \(commit), and nothing has taken over \(write)")
            }
        }
        for (place, write) in writes where !write.givesWay(in: changes) {
            var write = write
            known.insert(write.row)
            if let change = changes[write.row] {
                if hasDeletes, !write.to.isDead, change.state.new == nil {
                    // Its own deletes took along at the save what others had made a member meanwhile, after all that it did.
                    operations[place] = .write(write.void)
                    others.append(change.write)
                    continue
                }
                let isTakenOver = takenOver.contains(write.row)
                if !write.isDerived, !write.to.isDead, !isTakenOver, change.state.new?.stamp != write.stamp {
                    contradictions.append("was committed as \(commit), which has another \(write.row)")
                }
                if isTakenOver { write.stamp = change.state.new?.stamp }
                // Others' links and places are in the commit, too, which the transaction did not see.
                if write.commutes {
                    others.append(change.write)
                } else {
                    (write.to, write.matches) = (change.new, change.state.new?.matches ?? [])
                }
            } else if !write.isDerived, write.to.isDead {
                // Others were faster, or it came and went here.
                if let end = index.ends[write.row], end.commit < commit {
                    write.to = .deleted(after: end.version)
                } else {
                    if write.from != .unborn { contradictions.append("was committed as \(commit) without \(write)") }
                    write.isVoid = true
                }
            } else {
                if !write.isDerived { contradictions.append("was committed as \(commit) without \(write)") }
                write.isVoid = true
                // Who leaves a thing as it was has read it.
                if index.has(write.row, in: base) == !write.to.isDead {
                    unchanged.append(.read(write.row, write.to.isDead ? .absent : .present(version: nil, stamp: nil)))
                }
            }
            operations[place] = .write(write)
        }
        for (row, change) in changes.sorted(by: { $0.key < $1.key }) where !known.contains(row) {
            if takenOver.contains(row) {
                others.append(change.write)
                continue
            }
            if !hasDeletes
                || (change.state.isVersioned && change.state.new.map { $0.stamp != change.state.old?.stamp } ?? false)
            {
                contradictions.append("was committed as \(commit), which has another \(row), too")
            }
            others.append(change.write)
        }
        operations = unchanged + operations + others
        return contradictions
    }
}

extension Context {
    /// Whether all that was done to a row is that it does not refer to deleted rows any more.
    func onlyNullifies(_ row: History.Row) -> Bool {
        guard let (number, entity) = state.schema.place(of: row) else { return false }
        state.flush()
        return state.working.onlyNullifies(RowID(entity: entity, row: number))
    }
}
