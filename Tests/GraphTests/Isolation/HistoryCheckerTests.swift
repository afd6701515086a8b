import Testing

@testable import Graph

/// The checker is tried by histories written by hand, one for each phenomenon and some that are as they should be.
struct HistoryCheckerTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let name: String
        let history: History
        let snapshot: [Anomaly.Kind]
        let serializable: [Anomaly.Kind]
        var testDescription: String { name }

        /// A history with something that both levels forbid, or nothing.
        init(_ name: String, _ kinds: [Anomaly.Kind], _ transactions: History.Transaction...) {
            self.init(name, snapshot: kinds, serializable: kinds, transactions)
        }

        init(
            _ name: String,
            snapshot: [Anomaly.Kind],
            serializable: [Anomaly.Kind],
            _ transactions: [History.Transaction]
        ) {
            self.name = name
            self.snapshot = snapshot
            self.serializable = serializable
            history = History(transactions: transactions)
        }
    }

    @Test(arguments: rows + searches + outcomes + orders) func `the checker tells what is wrong`(example: Example) {
        for (level, kinds) in [
            (HistoryChecker.Level.snapshot, example.snapshot), (.serializable, example.serializable),
        ] {
            let anomalies = HistoryChecker.anomalies(of: example.history, at: level)
            #expect(anomalies.map(\.kind) == kinds, "\(level): \(anomalies)")
        }
    }

    @Test func `every kind of anomaly has an example`() {
        let examples = Self.rows + Self.searches + Self.outcomes + Self.orders
        #expect(Set(examples.flatMap(\.serializable)) == Set(Anomaly.Kind.allCases))
    }

    @Test func `a circle is printed with what was read and overwritten`() {
        let history = History(transactions: [
            .T(1, .read("x", 1), .read("y", 1), .write("x", 1, 2)),
            .T(2, .read("x", 1), .read("y", 1), .write("y", 1, 2)),
        ])
        let anomalies = HistoryChecker.anomalies(of: history, at: .serializable)
        #expect(anomalies.map(\.description) == ["G2-item: T1 -rw y 1 → 2-> T2 -rw x 1 → 2-> T1"])
    }

    @Test func `two circles that share nothing are two anomalies`() {
        let history = History(transactions: [
            .T(1, .read("x", 1), .write("x", 1, 2)), .T(2, .read("x", 1), .write("x", 1, 3)),
            .T(3, .read("y", 1), .read("z", 1), .write("y", 1, 2)),
            .T(4, .read("y", 1), .read("z", 1), .write("z", 1, 2)),
        ])
        #expect(HistoryChecker.anomalies(of: history, at: .snapshot).map(\.kind) == [.p4])
        let all = HistoryChecker.anomalies(of: history, at: .serializable)
        #expect(Set(all.map(\.kind)) == [.p4, .g2Item] && all.count == 2)
    }

    // MARK: Examples

    private static let rows = [
        Example("nothing", []),
        Example(
            "one after the other", [],
            .T(1, .read("x", 1), .write("x", 1, 2)), .T(2, .read("x", 2), .write("x", 2, 3)), .T(3, .read("x", 3))),
        Example(
            "side by side", [],
            .T(1, .read("x", 1), .write("y", 1, 2)), .T(2, .read("z", 1), .write("x", 1, 2)), .T(3, .read("y", 1))),
        Example(
            "a version that jumps ahead after a delete", [],
            .T(1, .read("x", 3), .delete("x", 3)), .T(2, .read("x", .absent), .write("x", .deleted(after: 3), 9)),
            .T(3, .read("x", 9))),
        Example(
            "two writers, mixed", [.g0],
            .T(1, .write("x", 1, 2), .write("y", 2, 3)), .T(2, .write("x", 2, 3), .write("y", 1, 2))),
        Example("a rejected write", [.g1a], .T(1, .write("x", 1, 2), outcome: .rejected), .T(2, .read("x", 2))),
        Example(
            "a rejected write with the version of another's", [.g1a],
            .T(1, .write("x", 1, 2, stamp: 11), outcome: .rejected), .T(2, .write("x", 1, 2, stamp: 21)),
            .T(3, .read("x", .present(version: 2, stamp: 11)))),
        Example(
            "a version in between", [.g1b],
            .T(1, .write("x", 1, 2, stamp: 11), .write("x", 1, 2, stamp: 12)),
            .T(2, .read("x", .present(version: 2, stamp: 11)))),
        Example(
            "information in a circle", [.g1c],
            .T(1, .write("x", 1, 2), .read("y", 2)), .T(2, .write("y", 1, 2), .read("x", 2))),
        Example(
            "an observed transaction vanishes", [.otv],
            .T(1, .write("x", 1, 2), .write("y", 1, 2)), .T(2, .read("x", 2), .read("y", 1))),
        Example(
            "read skew", [.gSingle],
            .T(1, .write("x", 1, 2), .write("y", 1, 2)), .T(2, .read("x", 1), .read("y", 2))),
        Example(
            "read skew over a third", [.gSingle],
            .T(1, .write("x", 1, 2)), .T(2, .read("x", 2), .write("y", 1, 2)), .T(3, .read("x", 1), .read("y", 2))),
        Example(
            "a read that is not repeatable", [.gSingle], .T(1, .write("x", 1, 2)), .T(2, .read("x", 1), .read("x", 2))),
        Example(
            "lost update", [.p4],
            .T(1, .read("x", 1), .write("x", 1, 2)), .T(2, .read("x", 1), .write("x", 1, 3))),
        Example("lost update without reads", [.p4], .T(1, .write("x", 1, 2)), .T(2, .write("x", 1, 3))),
        Example("a delete of what was updated", [.p4], .T(1, .write("x", 1, 2)), .T(2, .delete("x", 1))),
        Example(
            "a long fork", [.gNonadjacent],
            .T(1, .write("x", 1, 2)), .T(2, .write("y", 1, 2)),
            .T(3, .read("x", 2), .read("y", 1)), .T(4, .read("x", 1), .read("y", 2))),
        Example(
            "write skew", snapshot: [], serializable: [.g2Item],
            [
                .T(1, .read("x", 1), .read("y", 1), .write("x", 1, 2)),
                .T(2, .read("x", 1), .read("y", 1), .write("y", 1, 2)),
            ]),
        Example(
            "write skew by a delete and an absence", snapshot: [], serializable: [.g2Item],
            [.T(1, .read("x", 1), .write("y", .unborn, 1)), .T(2, .read("y", .absent), .delete("x", 1))]),
        Example(
            "write skew that only a reader shows", snapshot: [], serializable: [.g2Item],
            [
                .T(1, .read("x", 1), .read("y", 1), .write("x", 1, 2)), .T(2, .write("y", 1, 2)),
                .T(3, .read("x", 1), .read("y", 2)),
            ]),
    ]

    private static let searches = [
        Example(
            "a search after an insert", [],
            .T(1, .insert("x", matching: ["P"])), .T(2, .search("P", found: ["x": 1])),
            .T(3, .search("P", found: [:]))),
        Example(
            "writes that do not change what a search gives", [],
            .T(1, .insert("x", matching: ["P"]), .insert("y")), .T(2, .search("P", found: ["x": 1]), .write("z", 1, 2)),
            .T(3, .read("z", 1), .write("x", 1, 2, matching: ["P"]), .write("y", 1, 2))),
        Example(
            "two searches that differ", [.pmp],
            .T(1, .insert("x", matching: ["P"])), .T(2, .search("P", found: [:]), .search("P", found: ["x": 1]))),
        Example(
            "a search that misses what a read has shown", [.gSingle],
            .T(1, .insert("x", matching: ["P"]), .write("y", 1, 2)), .T(2, .read("y", 2), .search("P", found: [:]))),
        Example(
            "phantoms", snapshot: [], serializable: [.g2],
            [
                .T(1, .search("P", found: [:]), .insert("x", matching: ["Q"])),
                .T(2, .search("Q", found: [:]), .insert("y", matching: ["P"])),
            ]),
        Example(
            "a phantom and a read", snapshot: [], serializable: [.g2],
            [
                .T(1, .search("P", found: [:]), .write("x", 1, 2)),
                .T(2, .read("x", 1), .insert("y", matching: ["P"])),
            ]),
        Example(
            "rows that a search passed come to match", snapshot: [], serializable: [.g2],
            [
                .T(1, .insert("x"), .insert("y")),
                .T(2, .search("P", found: [:], passed: ["x": 1, "y": 1]), .write("x", 1, 2, matching: ["P"])),
                .T(3, .search("P", found: [:], passed: ["x": 1, "y": 1]), .write("y", 1, 2, matching: ["P"])),
            ]),
        Example(
            "a row that came and went", [],
            .T(1, .read("y", 1), .insert("x", matching: ["P"]), outcome: .committed(1)),
            .T(2, .delete("x", 1), outcome: .committed(2)),
            .T(3, base: 0, .read("x", .absent), .search("P", found: [:]), .write("y", 1, 2), outcome: .committed(3))),
        Example(
            "a row that came and went, and a write on top of what was written then", snapshot: [.gSingle],
            serializable: [],
            [
                .T(1, .insert("x", matching: ["P"]), outcome: .committed(1)),
                .T(2, .delete("x", 1), .write("y", 1, 2), outcome: .committed(2)),
                .T(3, base: 0, .search("P", found: [:]), .write("y", 2, 3), outcome: .committed(3)),
            ]),
        Example(
            "a row that came", snapshot: [], serializable: [.g2Item],
            [
                .T(1, .read("y", 1), .insert("x"), outcome: .committed(1)),
                .T(3, base: 0, .read("x", .absent), .write("y", 1, 2), outcome: .committed(3)),
            ]),
        Example(
            "a row that a search should have given", [.search],
            .T(1, .insert("x", matching: ["P"]), outcome: .committed(1)), .T(2, base: 1, .search("P", found: [:]))),
        Example(
            "a row that a search should not have given", [.search],
            .T(1, .insert("x"), outcome: .committed(1)), .T(2, base: 1, .search("P", found: ["x": 1]))),
        Example(
            "a search that gives the own rows", [],
            .T(1, .insert("x", matching: ["P"]), .search("P", found: ["x": .present(version: nil, stamp: nil)])),
            .T(2, .search("P", found: ["x": 1]), .delete("x", 1), .search("P", found: [:]))),
        Example(
            "a search that misses an own row", [.ownWrite],
            .T(1, .insert("x", matching: ["P"]), .search("P", found: [:]))),
    ]

    private static let outcomes = [
        Example(
            "an own write is seen", [],
            .T(1, .read("x", 1), .write("x", 1, 2, stamp: 7), .read("x", .present(version: 1, stamp: 7)))),
        Example(
            "an own write is not seen", [.ownWrite],
            .T(1, .write("x", 1, 2, stamp: 7), .read("x", .present(version: 1, stamp: 3)))),
        Example("an own delete is not seen", [.ownWrite], .T(1, .delete("x", 1), .read("x", 1))),
        Example("what nobody wrote", [.garbage], .T(1, .write("x", 1, 2)), .T(2, .read("x", 5))),
        Example("a row that disappears", [.garbage], .T(1, .write("x", 1, 2)), .T(2, .read("x", .absent))),
        Example(
            "a rejected transaction reads skewed", [.gSingle],
            .T(1, .write("x", 1, 2), .write("y", 1, 2)),
            .T(2, .read("x", 1), .read("y", 2), .write("x", 2, 3), outcome: .rejected)),
        Example(
            "a transaction of unknown outcome that did not happen", [],
            .T(1, .write("x", 1, 2), .write("y", 1, 2), outcome: .unknown), .T(2, .read("x", 1), .read("y", 1))),
        Example(
            "a transaction of unknown outcome that happened", [],
            .T(1, .write("x", 1, 2), .write("y", 1, 2), outcome: .unknown), .T(2, .read("x", 2), .read("y", 2))),
        Example(
            "a transaction of unknown outcome of which half happened", [.otv],
            .T(1, .write("x", 1, 2), .write("y", 1, 2), outcome: .unknown), .T(2, .read("x", 2), .read("y", 1))),
        Example(
            "two deletes of one row", [],
            .T(1, .delete("x", 1), .write("y", 1, 2), outcome: .committed(1)),
            .T(2, .delete("x", 1), outcome: .committed(1)), .T(3, .read("x", .absent), .read("y", 2))),
        Example(
            "two transactions that make one version", [.numbering],
            .T(1, .write("x", 1, 2, stamp: 11)), .T(2, .write("x", 1, 2, stamp: 21))),
        Example(
            "versions against the commits' order", [.numbering],
            .T(1, .write("x", 1, 2), outcome: .committed(2)), .T(2, .write("x", 2, 3), outcome: .committed(1))),
    ]

    private static let orders = [
        Example(
            "a session does not see what it wrote", [.gSingle],
            .T(1, session: 1, time: 1...2, .write("x", 1, 2)), .T(2, session: 1, time: 1...3, .read("x", 1))),
        Example(
            "a read of an old state, later", [.gSingle],
            .T(1, time: 1...2, .write("x", 1, 2)), .T(2, time: 3...4, .read("x", 1))),
        Example(
            "a read of an old state, at the same time", [],
            .T(1, time: 1...3, .write("x", 1, 2)), .T(2, time: 2...4, .read("x", 1))),
        Example(
            "a read of an old state, over a third", [.gSingle],
            .T(1, time: 1...2, .write("x", 1, 2)), .T(2, time: 3...4, .read("y", 1)), .T(3, time: 5...6, .read("x", 1))),
    ]
}

extension History.Transaction {
    /// Each transaction is a session of its own, at the same time as the others, unless something else is said.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    fileprivate static func T(
        _ number: Int,
        session: Int? = nil,
        time: ClosedRange<Int> = 0...9,
        base: UInt64? = nil,
        _ operations: History.Operation...,
        outcome: History.Outcome = .committed(nil)
    ) -> History.Transaction {
        History.Transaction(
            number: number, session: session ?? -number, begin: time.lowerBound, end: time.upperBound, base: base,
            operations: operations, outcome: outcome)
    }
}

extension History.Operation {
    fileprivate static func write(
        _ row: History.Row,
        _ from: History.Version,
        _ to: History.Version,
        stamp: Int? = nil,
        matching predicates: Set<History.Predicate> = []
    ) -> History.Operation {
        .write(History.Write(row: row, from: from, to: to, stamp: stamp, matches: predicates))
    }

    fileprivate static func insert(
        _ row: History.Row,
        matching predicates: Set<History.Predicate> = []
    ) -> History.Operation {
        .write(row, .unborn, 1, matching: predicates)
    }

    fileprivate static func delete(_ row: History.Row, _ version: UInt64) -> History.Operation {
        .write(row, History.Version(number: version, isDead: false), .deleted(after: version))
    }
}
