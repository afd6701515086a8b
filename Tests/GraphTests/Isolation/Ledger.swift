@testable import Graph

/// A store whose rows tell who wrote them: every write gives an account a stamp that no other write gives.
enum Ledger {
    @Entity struct Branch {
        @Relationship(inverse: \Account.branch) var accounts: ToMany<Account> = []
    }

    @Entity struct Account {
        /// A value has no identifier; its name stands for it where a predicate sees the value alone.
        var name = ""
        var balance = 0
        var stamp: Int
        var branch: ToOne<Branch> = nil
    }

    /// What entities are searched for.
    enum Search: String, Sendable, CaseIterable {
        case all
        case even
        case multipleOf3 = "multiple of 3"
        case multipleOf5 = "multiple of 5"
        case is20 = "20"
        case is30 = "30"

        func isMet(by account: Account) -> Bool {
            switch self {
            case .all: true
            case .even: account.balance.isMultiple(of: 2)
            case .multipleOf3: account.balance.isMultiple(of: 3)
            case .multipleOf5: account.balance.isMultiple(of: 5)
            case .is20: account.balance == 20
            case .is30: account.balance == 30
            }
        }

        var predicate: History.Predicate { History.Predicate(name: rawValue) }
    }

    /// Which accounts and branches there may be, committed or not.
    struct Rows: Sendable {
        var branches: [Branch.ID] = []
        var accounts: [Account.ID] = []
    }
}

extension Ledger.Account {
    var row: History.Row { History.Row(name: name) }

    /// All that searches and to-many relationships ask about an account.
    var matches: Set<History.Predicate> {
        var matches = Set(Ledger.Search.allCases.lazy.filter { $0.isMet(by: self) }.map(\.predicate))
        if let branch = branch.id {
            matches.insert(.members(of: branch))
            matches.insert(.membership(of: name, in: branch))
        }
        return matches
    }
}

extension History.Predicate {
    static func members(of branch: Ledger.Branch.ID) -> History.Predicate {
        History.Predicate(name: "b\(branch.row)")
    }

    /// One account's belonging to a branch, which depends on that account alone.
    static func membership(of account: String, in branch: Ledger.Branch.ID) -> History.Predicate {
        History.Predicate(name: "\(account) in b\(branch.row)")
    }
}

/// A committed state, as far as histories speak of it.
struct LedgerState: Sendable {
    struct Account: Sendable, Equatable {
        let version: UInt64
        let stamp: Int
        let matches: Set<History.Predicate>
    }

    let commit: UInt64
    private(set) var accounts: [History.Row: Account] = [:]

    init(_ snapshot: Snapshot) {
        commit = snapshot.commit.number
        guard let entity = snapshot.schema.index(of: Ledger.Account.self) else { return }
        snapshot.entities[entity].rows.forEachRow { _, version, address in
            let account = address.assumingMemoryBound(to: Ledger.Account.self).pointee
            accounts[account.row] = Account(
                version: version.number, stamp: account.stamp, matches: account.matches)
        }
    }
}

extension LedgerState {
    /// A transaction that has made this state out of nothing.
    var beginning: History.Transaction {
        let operations = accounts.sorted { $0.key < $1.key }.map { row, account in
            History.Operation.write(
                History.Write(row: row, from: .unborn, to: 1, stamp: account.stamp, matches: account.matches))
        }
        return History.Transaction(
            number: 0, session: 0, begin: 0, end: 0, operations: operations, outcome: .committed(commit))
    }

    /// A transaction that has read this state.
    func end(at time: Int) -> History.Transaction {
        let operations = accounts.sorted { $0.key < $1.key }.map { row, account in
            History.Operation.read(row, .present(version: account.version, stamp: account.stamp))
        }
        return History.Transaction(
            number: -1, session: 0, begin: time, end: time + 1, base: commit, operations: operations,
            outcome: .committed(nil))
    }
}

extension Schema {
    private static let shared = Result { () throws(GraphError) in
        try Schema([EntityDescription(Ledger.Branch.self), EntityDescription(Ledger.Account.self)])
    }

    static func ledger() throws(GraphError) -> Schema { try shared.get() }
}

extension Coordinator {
    /// A store in memory.
    static func ledger(checksEveryCommit: Bool = false) async throws -> Coordinator {
        try await Coordinator(
            .ledger(), path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            checksEveryCommit: checksEveryCommit)
    }
}
