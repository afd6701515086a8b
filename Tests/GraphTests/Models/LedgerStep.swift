@testable import Graph

/// One thing that a transaction does. Numbers choose among the rows that there may be when it happens.
enum LedgerStep: Sendable, Hashable {
    case read(account: Int)
    case change(account: Int)
    case move(account: Int, branch: Int)
    case insert(branch: Int)
    case delete(account: Int)
    case contains(branch: Int, account: Int)
    case members(branch: Int, MembersForm)
    case search(Ledger.Search, SearchForm)
    case query(LedgerQuery)
    case relate(LedgerRelation)
    case key(LedgerKeyStep)

    /// How a to-many relationship is read.
    enum MembersForm: Sendable, Hashable, CaseIterable {
        case count
        case ids
        case objects
        case values
    }

    /// How an entity is searched.
    enum SearchForm: Sendable, Hashable, CaseIterable {
        case count
        case objects
        case values
        case ids
        /// By the balance instead of a predicate, where a search asks for a range of balances alone.
        case lookUp
        case lookUpValues
        case lookUpIDs
        case lookUpCount

        var looksUp: Bool {
            switch self {
            case .count, .objects, .values, .ids: false
            case .lookUp, .lookUpValues, .lookUpIDs, .lookUpCount: true
            }
        }
    }

    /// - Parameter hasRelations: whether the store has more than branches and accounts.
    static func random(_ random: inout SeededGenerator, hasRelations: Bool) -> LedgerStep {
        if hasRelations {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<11: return .relate(.random(&random))
            case 11..<14: return .key(.random(&random))
            case 14..<16: return .query(.random(&random))
            default: break
            }
        }
        func number() -> Int { Int.random(in: 0..<60, using: &random) }
        switch Int.random(in: 0..<28, using: &random) {
        case 0..<4: return .read(account: number())
        case 4..<7: return .change(account: number())
        case 7, 8: return .move(account: number(), branch: number())
        case 9: return .insert(branch: number())
        case 10, 11: return .delete(account: number())
        case 12: return .contains(branch: number(), account: number())
        case 13..<18:
            let search = Ledger.Search.allCases[number() % Ledger.Search.allCases.count]
            return .search(search, SearchForm.allCases[number() % SearchForm.allCases.count])
        case 18..<26: return .query(.random(&random))
        default: return .members(branch: number(), MembersForm.allCases[number() % MembersForm.allCases.count])
        }
    }
}

/// The rows that a step chooses from, and the stamp of what it writes.
struct LedgerChoices: Sendable {
    let rows: Ledger.Rows
    let stamp: Int

    func branch(_ number: Int) -> Ledger.Branch.ID { rows.branches[number % rows.branches.count] }
    func key(_ number: Int) -> Ledger.Key.ID { rows.keys[number % rows.keys.count] }
    func account(_ number: Int) -> Ledger.Account.ID { rows.accounts[number % rows.accounts.count] }
}

/// What came of a step.
struct LedgerTrace: Sendable {
    var operations: [History.Operation] = []
    var inserted = Ledger.Rows()
    /// Answers of the engine that contradict each other.
    var contradictions: [String] = []
}

/// The way in which a context takes a step, and what it saw and did in the words of a history.
///
/// Only what the engine's own answers show counts as seen. White-box looks at the base fill in versions of rows that a search
/// has found without showing their values; they go past the context, so that they are no reads of the transaction.
extension Context {
    func take(_ step: LedgerStep, _ choices: LedgerChoices) throws -> LedgerTrace {
        var trace = LedgerTrace()
        switch step {
        case .read(let account):
            read(choices.account(account), &trace)
        case .change(let account):
            write(choices.account(account), stamp: choices.stamp, &trace) { $0.balance += 1 }
        case .move(let account, let branch):
            let target = self[choices.branch(branch)]
            write(choices.account(account), stamp: choices.stamp, &trace) { $0.branch = target }
        case .insert(let branch):
            insert(Ledger.Account(stamp: choices.stamp, branch: ToOne(choices.branch(branch))), &trace)
        case .delete(let account):
            delete(choices.account(account), &trace)
        case .contains(let branch, let account):
            guard let object = read(choices.account(account), &trace), let owner = self[choices.branch(branch)] else {
                break
            }
            let found = owner.accounts.contains(object) ? [object.ledgerRow: object.ledgerSighting] : [:]
            let predicate = History.Predicate.membership(of: object.name, in: owner.id)
            trace.operations.append(.search(predicate, found: found))
        case .members(let branch, let form):
            if let owner = self[choices.branch(branch)] { readMembers(of: owner, form, &trace) }
        case .search(let predicate, let form):
            if let balances = predicate.balances, form.looksUp {
                lookUp(predicate, balances, form, &trace)
            } else {
                try search(predicate, form, &trace)
            }
        case .query(let query):
            try take(query, choices, &trace)
        case .relate(let relation):
            try take(relation, choices, &trace)
        case .key(let step):
            try take(step, choices, &trace)
        }
        return trace
    }

    @discardableResult
    func read(_ id: Ledger.Account.ID, _ trace: inout LedgerTrace) -> Ledger.Account.Object? {
        let object = self[id]
        trace.operations.append(.read(History.Row(name: id.name), object?.ledgerSighting ?? .absent))
        return object
    }

    func write(
        _ id: Ledger.Account.ID,
        stamp: Int,
        _ trace: inout LedgerTrace,
        _ change: (Ledger.Account.Object) -> Void
    ) {
        guard let object = read(id, &trace) else { return }
        change(object)
        object.stamp = stamp
        trace.operations.append(.write(object.write))
    }

    func insert(_ account: Ledger.Account, _ trace: inout LedgerTrace) {
        let object = insert(account)
        object.name = object.id.name
        trace.inserted.accounts.append(object.id)
        trace.operations.append(.write(object.write))
    }

    private func readMembers(
        of owner: Ledger.Branch.Object,
        _ form: LedgerStep.MembersForm,
        _ trace: inout LedgerTrace
    ) {
        let members = owner.accounts
        var found: [History.Row: History.Sighting] = [:]
        switch form {
        case .count:
            let count = members.count
            // The question has brought the working state up to date.
            let expected = state.working.snapshot.members(of: owner.id)
            if count != expected.count { trace.contradictions.append("\(owner.id) has \(count) members") }
            for id in expected { found[History.Row(name: id.name)] = sightingOfBase(id) }
        case .ids:
            for id in members.ids { found[History.Row(name: id.name)] = sightingOfBase(id) }
        case .objects:
            for object in members { found[object.ledgerRow] = object.ledgerSighting }
        case .values:
            for value in members.values { found[value.row] = .present(version: nil, stamp: value.stamp) }
        }
        trace.operations.append(.search(.members(of: owner.id), found: found))
        guard form == .objects || form == .values else { return }
        for (row, sighting) in found.sorted(by: { $0.key < $1.key }) { trace.operations.append(.read(row, sighting)) }
    }

    /// The predicate sees all accounts, those that it passes as well.
    func search(_ search: Ledger.Search, _ form: LedgerStep.SearchForm, _ trace: inout LedgerTrace) throws {
        var (found, passed): ([History.Row: History.Sighting], [History.Row: History.Sighting]) = ([:], [:])
        func isMet(by account: Ledger.Account) -> Bool {
            let isMet = search.isMet(by: account)
            let sighting = History.Sighting.present(version: nil, stamp: account.stamp)
            if isMet { found[account.row] = sighting } else { passed[account.row] = sighting }
            return isMet
        }
        let names: Set<String>?
        switch form {
        case .count:
            let count = try fetchCount(Ledger.Account.self, where: isMet)
            if count != found.count { trace.contradictions.append("\(count) accounts of \(found.count) are \(search)") }
            names = nil
        case .objects:
            names = Set(try fetch(Ledger.Account.self, where: isMet).map(\.id.name))
        case .values:
            names = Set(try fetchValues(Ledger.Account.self, where: isMet).map(\.name))
        case .ids, .lookUp, .lookUpValues, .lookUpIDs, .lookUpCount:
            names = Set(try fetchIDs(Ledger.Account.self, where: isMet).map(\.name))
        }
        if let names, names != Set(found.keys.map(\.name)) {
            trace.contradictions.append("the predicate chose \(found.keys.sorted()), the search gave \(names.sorted())")
        }
        trace.operations.append(.search(search.predicate, found: found, passed: passed))
    }

    /// The engine looks at the accounts with these balances alone.
    private func lookUp(
        _ search: Ledger.Search, _ balances: ClosedRange<Int>, _ form: LedgerStep.SearchForm, _ trace: inout LedgerTrace
    ) {
        let isOne = balances.count == 1
        let (balance, key) = (balances.lowerBound, \Ledger.Account.balance)
        var found: [History.Row: History.Sighting] = [:]
        switch form {
        case .lookUpValues:
            for account in isOne ? fetchValues(key, equals: balance) : fetchValues(key, in: balances) {
                found[account.row] = .present(version: nil, stamp: account.stamp)
            }
        case .lookUpIDs, .lookUpCount:
            let ids = isOne ? fetchIDs(key, equals: balance) : fetchIDs(key, in: balances)
            if form == .lookUpCount {
                let count = isOne ? fetchCount(key, equals: balance) : fetchCount(key, in: balances)
                if count != ids.count { trace.contradictions.append("\(count) accounts of \(ids.count) are \(search)") }
            }
            for id in ids { found[History.Row(name: id.name)] = sightingOfBase(id) }
        default:
            for object in isOne ? fetch(key, equals: balance) : fetch(key, in: balances) {
                found[object.ledgerRow] = object.ledgerSighting
            }
        }
        trace.operations.append(.search(search.predicate, found: found))
    }

    private func sightingOfBase(_ id: Ledger.Account.ID) -> History.Sighting {
        .present(version: state.base.version(of: id)?.number, stamp: nil)
    }
}

extension Snapshot {
    fileprivate func members(of branch: Ledger.Branch.ID) -> [Ledger.Account.ID] {
        (try? related(\Ledger.Branch.accounts, of: branch)) ?? []
    }
}

extension ManagedObject<Ledger.Account> {
    var ledgerRow: History.Row { History.Row(name: id.name) }

    var ledgerSighting: History.Sighting { .present(version: version.number, stamp: self.stamp) }

    /// What a write makes of the row, were it committed next.
    fileprivate var write: History.Write {
        let from = History.Version(number: version.number, isDead: version.number == 0)
        let to = History.Version(number: version.number + 1, isDead: false)
        return History.Write(row: ledgerRow, from: from, to: to, stamp: self.stamp, matches: value.matches)
    }
}
