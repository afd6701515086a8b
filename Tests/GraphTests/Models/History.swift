/// What transactions saw and did: all that isolation is checked by, without a word of the engine.
///
/// The terms are Adya's (Weak Consistency, 1999).
struct History: Sendable {
    /// Those of one session in their order.
    var transactions: [Transaction] = []
    /// Whether writes that commute may be made on top of what their transactions did not see.
    var allowsCommuting = false

    /// Something that has versions.
    struct Row: Hashable, Comparable, Sendable {
        let name: String

        static func < (lhs: Row, rhs: Row) -> Bool { lhs.name < rhs.name }
    }

    /// A condition that rows meet or do not: a search, a count, a range, an owner's members.
    struct Predicate: Hashable, Sendable {
        let name: String
    }

    /// Versions of a row ascend, but with gaps: a row that comes back after its delete jumps ahead. A deleted row has a
    /// version too, between that of its last value and the next.
    struct Version: Hashable, Comparable, Sendable {
        let number: UInt64
        let isDead: Bool

        /// Before the insert.
        static let unborn = Version(number: 0, isDead: true)

        static func deleted(after number: UInt64) -> Version { Version(number: number, isDead: true) }

        static func < (lhs: Version, rhs: Version) -> Bool {
            (lhs.number, lhs.isDead ? 1 : 0) < (rhs.number, rhs.isDead ? 1 : 0)
        }
    }

    /// How a transaction found a row. The stamp is a value that only one write gave the row: it tells who wrote what was read
    /// even where that was never committed, and so has the version of another's write or none.
    enum Sighting: Hashable, Sendable {
        case absent
        case present(version: UInt64?, stamp: Int?)
    }

    struct Write: Hashable, Sendable {
        var row: Row
        /// The version that the transaction changed.
        var from: Version
        /// The version that its commit made of it.
        var to: Version
        var stamp: Int?
        /// The predicates that the new version meets.
        var matches: Set<Predicate> = []
        /// Whether it follows from something else that the transaction did, and so has no stamp of its own.
        var isDerived = false
        /// Whether transactions at once may each make such a write: of links, places, and references to what is deleted.
        var commutes = false
        /// Whether its commit found nothing to write.
        var isVoid = false
    }

    /// In a transaction these are in the order in which they happened.
    enum Operation: Hashable, Sendable {
        case read(Row, Sighting)
        /// A predicate read that gave the rows `found` and looked at those `passed`, which it did not give. Of all others
        /// it is known only that they did not meet the predicate in the transaction's base.
        case search(Predicate, found: [Row: Sighting], passed: [Row: Sighting] = [:])
        case write(Write)
    }

    enum Outcome: Hashable, Sendable {
        /// With its commit's number, where it is known and there was something to commit.
        case committed(UInt64?)
        case rejected
        /// It may have happened, as a whole or not at all.
        case unknown
    }

    struct Transaction: Sendable {
        var number: Int
        /// What one program does, one transaction after the other.
        var session: Int
        /// The time by which it had not chosen the state that it read.
        var begin: Int
        /// The time by which it was answered; the end of all time if its outcome is unknown.
        var end: Int
        /// The commit whose state it read. Needed only for what reads leave open: which absence a read found, and the
        /// versions of rows that a search does not mention.
        var base: UInt64?
        var operations: [Operation]
        var outcome: Outcome
        /// A stamp that its commit shows and no other, if it wrote one.
        var signature: Int?
    }
}

extension History.Row: ExpressibleByStringLiteral, CustomStringConvertible {
    init(stringLiteral name: String) { self.name = name }
    var description: String { name }
}

extension History.Predicate: ExpressibleByStringLiteral, CustomStringConvertible {
    init(stringLiteral name: String) { self.name = name }
    var description: String { name }
}

extension History.Version: ExpressibleByIntegerLiteral, CustomStringConvertible {
    init(integerLiteral number: UInt64) { self.init(number: number, isDead: false) }
    var description: String { self == .unborn ? "unborn" : isDead ? "\(number) deleted" : "\(number)" }
}

extension History.Sighting: ExpressibleByIntegerLiteral, CustomStringConvertible {
    init(integerLiteral version: UInt64) { self = .present(version: version, stamp: nil) }

    var description: String {
        switch self {
        case .absent: "absent"
        case .present(let version, let stamp): (version.map { "\($0)" } ?? "?") + (stamp.map { " [\($0)]" } ?? "")
        }
    }
}

extension History.Operation: CustomStringConvertible {
    var description: String {
        func list(_ rows: [History.Row: History.Sighting]) -> String {
            rows.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }
        switch self {
        case .read(let row, let sighting):
            return "read \(row) \(sighting)"
        case .search(let predicate, let found, let passed):
            return "search \(predicate): \(list(found))" + (passed.isEmpty ? "" : " | \(list(passed))")
        case .write(let write):
            let matches = write.matches.map(\.name).sorted().joined(separator: ", ")
            return "write \(write.row) \(write.from) → \(write.to)" + (write.stamp.map { " [\($0)]" } ?? "")
                + (matches.isEmpty ? "" : " meets \(matches)")
        }
    }
}

extension History.Outcome: CustomStringConvertible {
    var description: String {
        switch self {
        case .committed(let number): "committed" + (number.map { " as \($0)" } ?? "")
        case .rejected: "rejected"
        case .unknown: "unknown"
        }
    }
}

extension History: CustomStringConvertible {
    var description: String { transactions.map(\.description).joined(separator: "\n") }
}

extension History.Transaction: CustomStringConvertible {
    var description: String {
        let base = base.map { " on \($0)" } ?? ""
        return
            (["T\(number) of session \(session), \(begin)...\(end)\(base): \(outcome)"]
            + operations.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension History {
    /// Whose transactions ended in which order and how.
    var course: String {
        transactions.map { "\($0.session)\($0.outcome == .rejected ? "-" : "+")" }.joined()
    }
}
