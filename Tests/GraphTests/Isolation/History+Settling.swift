extension History {
    /// Looks up in the committed states which commit has which transaction's writes, and which versions it made of them. That
    /// also tells which transactions of unknown outcome happened.
    ///
    /// - Parameter states: all of them, in order.
    /// - Returns: what no isolation level explains: commits that are missing, writes that no commit has or several have, and
    ///   writes of rejected transactions in a commit.
    mutating func settle(_ states: [LedgerState]) -> [String] {
        var contradictions: [String] = []
        for (before, after) in zip(states, states.dropFirst()) where after.commit != before.commit + 1 {
            contradictions.append("commit \(after.commit) follows commit \(before.commit)")
        }
        let index = CommitIndex(states)
        let claimed = Set(transactions.flatMap { $0.stamps }.compactMap { index.stamps[$0]?.commit })
        for place in transactions.indices.dropFirst() {
            if transactions[place].outcome == .unknown, !transactions[place].happened(index, claimed) {
                transactions[place].outcome = .rejected
            }
            contradictions += transactions[place].settle(index).map { "T\(transactions[place].number) \($0)" }
        }
        for (row, end) in index.ends.sorted(by: { $0.key < $1.key })
        where !transactions.contains(where: { $0.deleted(row, in: end.commit) }) {
            contradictions.append("commit \(end.commit) lacks \(row), which nobody has deleted")
        }
        return contradictions
    }
}

/// Where stamps first show in the committed states, and where rows last did.
private struct CommitIndex {
    struct Place {
        let commit: UInt64
        let version: UInt64
    }

    private(set) var stamps: [Int: Place] = [:]
    private(set) var ends: [History.Row: Place] = [:]

    init(_ states: [LedgerState]) {
        var last: [History.Row: LedgerState.Account] = [:]
        for state in states {
            for (row, account) in last where state.accounts[row] == nil {
                ends[row] = Place(commit: state.commit, version: account.version)
            }
            last = state.accounts
            for account in last.values where stamps[account.stamp] == nil {
                stamps[account.stamp] = Place(commit: state.commit, version: account.version)
            }
        }
    }
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

    fileprivate func deleted(_ row: History.Row, in commit: UInt64) -> Bool {
        outcome == .committed(commit) && lastWrites.contains { $0.write.row == row && $0.write.to.isDead }
    }

    fileprivate var stamps: [Int] { lastWrites.compactMap(\.write.stamp) }

    /// Whether a commit has its writes. If all of them are deletes, the commit must be nobody else's.
    fileprivate func happened(_ index: CommitIndex, _ claimed: Set<UInt64>) -> Bool {
        let stamps = stamps
        guard stamps.isEmpty else { return stamps.contains { index.stamps[$0] != nil } }
        return lastWrites.contains { _, write in index.ends[write.row].map { !claimed.contains($0.commit) } ?? false }
    }

    fileprivate mutating func settle(_ index: CommitIndex) -> [String] {
        var contradictions: [String] = []
        let writes = lastWrites
        guard outcome != .rejected else {
            for case .write(let write) in operations {
                guard let place = write.stamp.flatMap({ index.stamps[$0] }) else { continue }
                contradictions.append("was rejected, and commit \(place.commit) has its \(write.row)")
            }
            return contradictions
        }
        var commits: Set<UInt64> = []
        var deletes: [(place: Int, end: UInt64)] = []
        for (place, write) in writes {
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
}
