@testable import Graph

/// A store whose rows tell who wrote them: every write gives an account a stamp that no other write gives.
enum Ledger {
    @Entity struct Branch {
        var stamp = 0
        var kind = 0
        @Relationship(inverse: \Account.branch) var accounts: ToMany<Account> = []
    }

    @Entity(indexed: [["grade", "balance"]]) struct Account {
        /// A value has no identifier; its name stands for it where a predicate sees the value alone.
        var name = ""
        @Indexed var balance = 0
        @Indexed var grade = 0
        var stamp: Int
        var branch: ToOne<Branch> = nil
        var shelf: ToOne<Shelf> = nil
        var vault: ToOne<Vault> = nil
        var tags: ToMany<Tag> = []
        @Relationship(inverse: \Card.account) var card: ToOne<Card> = nil
    }

    /// Has accounts in an order, and takes them along.
    @Entity struct Shelf {
        var stamp = 0
        @Relationship(.cascade, inverse: \Account.shelf, ordered: true) var accounts: ToMany<Account> = []
    }

    /// Cannot be deleted while there are accounts in it.
    @Entity struct Vault {
        var stamp = 0
        @Relationship(.deny, inverse: \Account.vault) var accounts: ToMany<Account> = []
    }

    /// Takes along the accounts that it is linked to.
    @Entity struct Tag {
        var stamp = 0
        @Relationship(.cascade, inverse: \Account.tags) var accounts: ToMany<Account> = []
    }

    /// One account's.
    @Entity struct Card {
        var stamp = 0
        var account: ToOne<Account> = nil
    }

    /// Gives way to another one with the same value, in each of the ways that there are.
    @Entity struct Key {
        var stamp = 0
        @Unique(onConflict: .upsert) var upserted: Int?
        @Unique(onConflict: .replace) var replaced: Int?
        @Unique(onConflict: .keepExisting) var kept: Int?
    }

    /// Tells which commit is whose. Nobody reads these.
    @Entity struct Signature {
        var stamp = 0
    }

    static let types: [any Entity.Type] = [
        Branch.self, Account.self, Shelf.self, Vault.self, Tag.self, Card.self, Key.self, Signature.self,
    ]

    /// What entities are searched for.
    enum Search: String, Sendable, CaseIterable {
        case all
        case even
        case multipleOf3 = "multiple of 3"
        case multipleOf5 = "multiple of 5"
        case is20 = "20"
        case is30 = "30"
        case is1 = "1"
        case from1To2 = "1 to 2"
        case above2 = "above 2"
        case isGrade1 = "of grade 1"
        case is1OfGrade1 = "1 of grade 1"
        case upTo1OfGrade2 = "up to 1 of grade 2"
        case from1To2AboveGrade0 = "1 to 2 above grade 0"
        case is0OrOfGrade2 = "0 or of grade 2"
        case above2Or1OfGrade1 = "above 2 or 1 of grade 1"

        func isMet(by account: Account) -> Bool {
            switch self {
            case .all: true
            case .even: account.balance.isMultiple(of: 2)
            case .multipleOf3: account.balance.isMultiple(of: 3)
            case .multipleOf5: account.balance.isMultiple(of: 5)
            case .is20: account.balance == 20
            case .is30: account.balance == 30
            case .is1: account.balance == 1
            case .from1To2: (1...2).contains(account.balance)
            case .above2: account.balance > 2
            case .isGrade1: account.grade == 1
            case .is1OfGrade1: account.grade == 1 && account.balance == 1
            case .upTo1OfGrade2: account.grade == 2 && account.balance < 2
            case .from1To2AboveGrade0: account.grade > 0 && (1...2).contains(account.balance)
            case .is0OrOfGrade2: account.balance == 0 || account.grade == 2
            case .above2Or1OfGrade1: account.balance > 2 || account.grade == 1 && account.balance == 1
            }
        }

        /// What a look-up by the balance asks for; nil for what none can ask.
        var balances: ClosedRange<Int>? {
            switch self {
            case .is20: 20...20
            case .is30: 30...30
            case .is1: 1...1
            case .from1To2: 1...2
            case .above2: 3...Int.max
            default: nil
            }
        }

        var predicate: History.Predicate { History.Predicate(name: rawValue) }
    }

    /// Which rows there may be, committed or not.
    struct Rows: Sendable {
        var branches: [Branch.ID] = []
        var accounts: [Account.ID] = []
        var shelves: [Shelf.ID] = []
        var vaults: [Vault.ID] = []
        var tags: [Tag.ID] = []
        var cards: [Card.ID] = []
        var keys: [Key.ID] = []

        /// Whether there is more than branches and accounts.
        var hasRelations: Bool { !tags.isEmpty }

        mutating func append(_ other: Rows) {
            branches += other.branches
            accounts += other.accounts
            shelves += other.shelves
            vaults += other.vaults
            tags += other.tags
            cards += other.cards
            keys += other.keys
        }
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
            for search in Ledger.Search.ofBranches where search.isMet(by: self) {
                matches.insert(.accounts(search, of: branch))
            }
        }
        if let shelf = shelf.id { matches.insert(.members(of: shelf)) }
        if let vault = vault.id { matches.insert(.members(of: vault)) }
        return matches
    }
}

extension History.Predicate {
    /// What an owner's relationship lists.
    static func members<Owner>(of owner: PersistentID<Owner>) -> History.Predicate {
        History.Predicate(name: "members of \(owner.name)")
    }

    /// One account's belonging to a branch, which depends on that account alone.
    static func membership(of account: String, in branch: Ledger.Branch.ID) -> History.Predicate {
        History.Predicate(name: "\(account) in b\(branch.row)")
    }
}

extension PersistentID {
    /// The row's name in histories.
    var name: String { Ledger.name(of: row, of: E.schema.name) }
}

extension Schema {
    private static let shared = Result { () throws(GraphError) in
        try Schema.version(0, of: Ledger.types)
    }

    static func ledger() throws(GraphError) -> Schema { try shared.get() }
}

extension Coordinator {
    /// A store in memory.
    ///
    /// - Parameter executor: where what the coordinator does by itself runs, which then goes by its steps and by no clock.
    static func ledger(
        checksEveryCommit: Bool = false,
        on executor: SeededExecutor? = nil
    ) async throws -> Coordinator {
        try await Coordinator(
            .ledger(), path: nil, fileSystem: PosixFileSystem(), options: JournalOptions(),
            checksEveryCommit: checksEveryCommit, taskExecutor: executor,
            clock: executor == nil ? ContinuousClock() : StepClock())
    }
}

/// Lets a few others run for any time that is slept.
struct StepClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        for _ in 0..<(deadline.offset == .zero ? 3 : 40) { await Task.yield() }
    }
}
