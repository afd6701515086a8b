import Testing

@testable import Graph

/// The checker agrees with what the levels mean: a serializable history is one that some serial order explains, and one of
/// snapshot isolation one that some order of begins and commits explains. Both are looked for among all orders.
struct HistoryDefinitionTests {
    @Test func `small histories are checked as by trying all orders`() {
        var counts = [0, 0, 0]
        for seed in 0..<4_000 as Range<UInt64> {
            let history = Self.history(seed: seed)
            let isSerializable = Self.isSerializable(history)
            let isSnapshot = Self.isSnapshot(history)
            let found = HistoryChecker.anomalies(of: history, at: .serializable)
            let forbidden = HistoryChecker.anomalies(of: history, at: .snapshot)
            #expect(found.isEmpty == isSerializable, "seed \(seed): \(found)\n\(history)")
            #expect(forbidden.isEmpty == isSnapshot, "seed \(seed): \(forbidden)\n\(history)")
            counts[isSerializable ? 0 : isSnapshot ? 1 : 2] += 1
        }
        // Serializable, of snapshot isolation alone, neither.
        #expect(counts.allSatisfy { $0 > 50 }, "\(counts)")
    }

    // MARK: Histories

    private static let rows: [History.Row] = ["x", "y", "z"]

    /// Four transactions that read, search and write three rows, each version read being one that somebody wrote.
    private static func history(seed: UInt64) -> History {
        var random = SeededGenerator(seed: seed)
        func chance(_ times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }
        var versions: [History.Row: [(writer: Int, isMatch: Bool)]] = [:]
        for row in rows {
            let writers = (1...4).shuffled(using: &random).filter { _ in Int.random(in: 0..<5, using: &random) < 2 }
            versions[row] = writers.map { ($0, Bool.random(using: &random)) }
        }
        let transactions = (1...4).map { number in
            var operations: [History.Operation] = []
            var found: [History.Row: History.Sighting] = [:]
            var passed = found
            for row in rows {
                let list = versions[row] ?? []
                let own = list.firstIndex { $0.writer == number }
                /// Mostly the version before its own, so that not every history is wrong.
                func version() -> Int {
                    guard let own, !chance(4) else { return Int.random(in: 0...list.count, using: &random) }
                    return own
                }
                let read = version()
                let searched = min(version(), own ?? list.count)
                if Bool.random(using: &random), read - 1 != own { operations.append(.read(row, .version(read))) }
                let isMatch = searched > 0 && list[searched - 1].isMatch
                if isMatch { found[row] = .version(searched) } else { passed[row] = .version(searched) }
            }
            if chance(2) { operations.append(.search("P", found: found, passed: passed)) }
            for row in rows {
                let list = versions[row] ?? []
                guard let own = list.firstIndex(where: { $0.writer == number }) else { continue }
                let from = own == 0 ? History.Version.unborn : History.Version(number: UInt64(own), isDead: false)
                let to = History.Version(number: UInt64(own + 1), isDead: false)
                let matches: Set<History.Predicate> = list[own].isMatch ? ["P"] : []
                operations.append(.write(History.Write(row: row, from: from, to: to, matches: matches)))
            }
            return History.Transaction(
                number: number, session: number, begin: 0, end: 1, operations: operations, outcome: .committed(nil))
        }
        return History(transactions: transactions)
    }

    // MARK: Definitions

    /// Whether the transactions, run one after the other in some order, read and make the versions that they say.
    private static func isSerializable(_ history: History) -> Bool {
        let start = State(history)
        return permutations(of: history.transactions).contains { order in
            var state = start
            return order.allSatisfy { state.isRead(by: $0) && state.apply($0) }
        }
    }

    /// Whether there is an order of begins and commits in which each transaction reads what was committed at its begin, and
    /// no row that it writes has changed at its commit.
    private static func isSnapshot(_ history: History) -> Bool {
        func search(_ waiting: [History.Transaction], _ begun: [History.Transaction], _ state: State) -> Bool {
            if waiting.isEmpty && begun.isEmpty { return true }
            for (place, transaction) in waiting.enumerated() where state.isRead(by: transaction) {
                var rest = waiting
                rest.remove(at: place)
                if search(rest, begun + [transaction], state) { return true }
            }
            for (place, transaction) in begun.enumerated() {
                var (rest, next) = (begun, state)
                rest.remove(at: place)
                if next.apply(transaction), search(waiting, rest, next) { return true }
            }
            return false
        }
        return search(history.transactions, [], State(history))
    }

    private static func permutations<Element>(of list: [Element]) -> [[Element]] {
        guard !list.isEmpty else { return [[]] }
        return list.indices.flatMap { place in
            var rest = list
            let first = rest.remove(at: place)
            return permutations(of: rest).map { [first] + $0 }
        }
    }
}

/// Which version each row has at some moment; 0 where it was not written yet.
private struct State {
    private var versions: [History.Row: UInt64] = [:]
    /// How often a row had come to meet the predicate, or not to meet it any more, by each of its versions.
    private var changes: [History.Row: [Int]] = [:]

    init(_ history: History) {
        var matches: [History.Row: [UInt64: Bool]] = [:]
        for case .write(let write) in history.transactions.flatMap(\.operations) {
            matches[write.row, default: [:]][write.to.number] = !write.matches.isEmpty
        }
        for (row, matches) in matches {
            let list = [false] + matches.sorted { $0.key < $1.key }.map(\.value)
            changes[row] = zip(list, list.dropFirst()).reduce(into: [0]) { counts, pair in
                counts.append((counts.last ?? 0) + (pair.0 == pair.1 ? 0 : 1))
            }
        }
    }

    /// Whether this is what the transaction has read, which includes what it changed. Of a row that a search looked at it is
    /// enough that nobody changed whether it meets the predicate.
    func isRead(by transaction: History.Transaction) -> Bool {
        transaction.operations.allSatisfy { operation in
            switch operation {
            case .read(let row, let sighting): version(of: row) == sighting.number
            case .write(let write): version(of: write.row) == write.from.number
            case .search(_, let found, let passed):
                found.merging(passed) { first, _ in first }.allSatisfy { row, sighting in
                    changes[row].map { $0[Int(version(of: row))] == $0[Int(sighting.number)] } ?? true
                }
            }
        }
    }

    /// Makes the transaction's versions. False if they are not those that come next.
    mutating func apply(_ transaction: History.Transaction) -> Bool {
        for case .write(let write) in transaction.operations {
            guard version(of: write.row) == write.from.number else { return false }
            versions[write.row] = write.to.number
        }
        return true
    }

    private func version(of row: History.Row) -> UInt64 { versions[row] ?? 0 }
}

extension History.Sighting {
    fileprivate static func version(_ number: Int) -> History.Sighting {
        number == 0 ? .absent : .present(version: UInt64(number), stamp: nil)
    }

    fileprivate var number: UInt64 {
        if case .present(let number?, _) = self { number } else { 0 }
    }
}
