@testable import Graph

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A fetch by `#Predicate`, which reads what its plan reads: ranges of indexes, or whole entities. And the changes of what
/// predicates ask for.
enum LedgerQuery: Sendable, Hashable {
    case ask(Ledger.Search, Form)
    /// Accounts whose branch is of a kind; of these the ones that a search finds, too.
    case behind(kind: Int, Ledger.Search?, Form)
    case regrade(account: Int)
    case changeKind(branch: Int)

    enum Form: Sendable, Hashable {
        case objects
        case values
        case ids
        case count
        /// Page after page by balance, each behind the token of the one before.
        case pages(limit: Int, descending: Bool)
    }

    static func random(_ random: inout SeededGenerator) -> LedgerQuery {
        func number() -> Int { Int.random(in: 0..<60, using: &random) }
        func form() -> Form {
            switch number() % 6 {
            case 0: .objects
            case 1: .values
            case 2: .ids
            case 3: .count
            default: .pages(limit: 1 + number() % 3, descending: number() % 2 == 0)
            }
        }
        switch number() % 12 {
        case 0..<6: return .ask(Ledger.Search.allCases[number() % Ledger.Search.allCases.count], form())
        case 6, 7:
            let own = Ledger.Search.ofBranches[number() % Ledger.Search.ofBranches.count]
            return .behind(kind: number() % 2, number() % 2 == 0 ? nil : own, form())
        case 8..<11: return .regrade(account: number())
        default: return .changeKind(branch: number())
        }
    }
}

extension Ledger.Search {
    /// As a predicate; nil for all accounts.
    var condition: Predicate<Ledger.Account>? {
        switch self {
        case .all: return nil
        case .even: return #Predicate { $0.balance % 2 == 0 }
        case .multipleOf3: return #Predicate { $0.balance % 3 == 0 }
        case .multipleOf5: return #Predicate { $0.balance % 5 == 0 }
        case .is20: return #Predicate { $0.balance == 20 }
        case .is30: return #Predicate { $0.balance == 30 }
        case .is1: return #Predicate { $0.balance == 1 }
        case .from1To2: return #Predicate { $0.balance >= 1 && $0.balance <= 2 }
        case .above2: return #Predicate { $0.balance > 2 }
        case .isGrade1: return #Predicate { $0.grade == 1 }
        case .is1OfGrade1: return #Predicate { $0.grade == 1 && $0.balance == 1 }
        case .upTo1OfGrade2: return #Predicate { $0.balance < 2 && $0.grade == 2 }
        case .from1To2AboveGrade0: return #Predicate { $0.balance >= 1 && $0.balance <= 2 && $0.grade > 0 }
        case .is0OrOfGrade2: return #Predicate { $0.balance == 0 || $0.grade == 2 }
        case .above2Or1OfGrade1: return #Predicate { $0.balance > 2 || ($0.grade == 1 && $0.balance == 1) }
        }
    }

    /// Those that are asked for together with a kind of branch.
    static let ofBranches: [Ledger.Search] = [.is1, .from1To2, .isGrade1]

    /// As a predicate together with a kind of branch.
    static func condition(_ search: Ledger.Search?, inBranchOf kind: Int) -> Predicate<Ledger.Account> {
        switch search {
        case .is1: return #Predicate { $0.branch.kind == kind && $0.balance == 1 }
        case .from1To2: return #Predicate { $0.balance >= 1 && $0.balance <= 2 && $0.branch.kind == kind }
        case .isGrade1: return #Predicate { $0.grade == 1 && $0.branch.kind == kind }
        default: return #Predicate { $0.branch.kind == kind }
        }
    }
}

extension History.Predicate {
    static func branches(of kind: Int) -> History.Predicate { History.Predicate(name: "branches of kind \(kind)") }

    /// The accounts of a branch that a search finds.
    static func accounts(_ search: Ledger.Search, of branch: Ledger.Branch.ID) -> History.Predicate {
        History.Predicate(name: "\(search.rawValue) in \(branch.name)")
    }
}

extension Ledger.Branch {
    var matches: Set<History.Predicate> { [.branches(of: kind)] }
}

extension Context {
    func take(_ query: LedgerQuery, _ choices: LedgerChoices, _ trace: inout LedgerTrace) throws {
        switch query {
        case .ask(let search, let form):
            try ask(FetchDescriptor(predicate: search.condition), form, search.isMet, &trace) { found in
                [.search(search.predicate, found: found)]
            }
        case .behind(let kind, let search, let form):
            let branches = state.flushed.branches(of: kind)
            let condition = Ledger.Search.condition(search, inBranchOf: kind)
            let isMet: (Ledger.Account) -> Bool = { account in
                branches.contains { account.branch == ToOne($0) } && search?.isMet(by: account) ?? true
            }
            try ask(FetchDescriptor(predicate: condition), form, isMet, &trace) { [state] found in
                state.flushed.reads(of: kind, search, found, base: state.base)
            }
        case .regrade(let account):
            write(choices.account(account), stamp: choices.stamp, &trace) { $0.grade = ($0.grade + 1) % 3 }
        case .changeKind(let branch):
            guard let object = look(choices.branch(branch), &trace) else { break }
            writing(&trace) { _ in
                object.kind = 1 - object.kind
                object.stamp = choices.stamp
            }
        }
    }

    /// Fetches, compares the answer with what each account says for itself, and notes it.
    private func ask(
        _ fetch: FetchDescriptor<Ledger.Account>,
        _ form: LedgerQuery.Form,
        _ isMet: (Ledger.Account) -> Bool,
        _ trace: inout LedgerTrace,
        operations: ([History.Row: History.Sighting]) -> [History.Operation]
    ) throws {
        var found: [History.Row: History.Sighting] = [:]
        var names: [String]?
        // Goes past the context, so that it is no read of the transaction.
        var expected = state.flushed.accounts.filter(isMet)
        switch form {
        case .objects:
            let objects = try self.fetch(fetch)
            names = objects.map(\.id.name)
            for object in objects { found[object.ledgerRow] = object.ledgerSighting }
        case .values:
            let values = try fetchValues(fetch)
            names = values.map(\.name)
            for value in values { found[value.row] = .present(version: nil, stamp: value.stamp) }
        case .ids:
            let ids = try fetchIDs(fetch)
            names = ids.map(\.name)
            for id in ids { found[History.Row(name: id.name)] = state.base.sighting(of: id) }
        case .count:
            let count = try fetchCount(fetch)
            if count != expected.count { trace.contradictions.append("\(count) accounts of \(expected.count)") }
            for account in expected { found[account.row] = .present(version: nil, stamp: account.stamp) }
        case .pages(let limit, let descending):
            var page = fetch
            page.sortBy = [descending ? .descending(\.balance) : .ascending(\.balance)]
            page.fetchLimit = limit
            names = []
            repeat {
                let next = try fetchPage(page)
                names? += next.elements.map(\.id.name)
                for object in next.elements { found[object.ledgerRow] = object.ledgerSighting }
                page.after = next.next
            } while page.after != nil
            expected = expected.enumerated().sorted { lhs, rhs in
                let (left, right) = (lhs.element.balance, rhs.element.balance)
                return left == right ? lhs.offset < rhs.offset : (left < right) != descending
            }.map(\.element)
        }
        if let names, names != expected.map(\.name) {
            trace.contradictions.append("\(fetch), \(form), found \(names) of \(expected.map(\.name))")
        }
        trace.operations += operations(found)
    }
}

extension Snapshot {
    /// The same for what a snapshot reads.
    func take(_ query: LedgerQuery, _ trace: inout LedgerTrace) {
        switch query {
        case .ask(let search, _):
            let values = (try? fetchValues(FetchDescriptor(predicate: search.condition))) ?? []
            var found: [History.Row: History.Sighting] = [:]
            for value in values { found[value.row] = .present(version: nil, stamp: value.stamp) }
            trace.operations.append(.search(search.predicate, found: found))
        case .behind(let kind, let search, _):
            let condition = Ledger.Search.condition(search, inBranchOf: kind)
            var found: [History.Row: History.Sighting] = [:]
            for value in (try? fetchValues(FetchDescriptor(predicate: condition))) ?? [] {
                found[value.row] = .present(version: nil, stamp: value.stamp)
            }
            trace.operations += reads(of: kind, search, found, base: self)
        case .regrade, .changeKind: break
        }
    }

    /// What a fetch through a reference comes to: which branches there are of a kind, and which accounts each of them has.
    fileprivate func reads(
        of kind: Int, _ search: Ledger.Search?, _ found: [History.Row: History.Sighting], base: Snapshot
    ) -> [History.Operation] {
        let branches = branches(of: kind)
        var sightings: [History.Row: History.Sighting] = [:]
        for branch in branches { sightings[History.Row(name: branch.name)] = base.sighting(of: branch) }
        var operations: [History.Operation] = [.search(.branches(of: kind), found: sightings)]
        for branch in branches {
            let rows = Set(accounts.filter { $0.branch == ToOne(branch) }.map(\.row))
            let members = found.filter { rows.contains($0.key) }
            let predicate = search.map { History.Predicate.accounts($0, of: branch) } ?? .members(of: branch)
            operations.append(.search(predicate, found: members))
        }
        return operations
    }

    fileprivate func branches(of kind: Int) -> [Ledger.Branch.ID] {
        guard let entity = schema.index(of: Ledger.Branch.self) else { return [] }
        var branches: [Ledger.Branch.ID] = []
        entities[entity].rows.forEachRow { row, _, address in
            if address.assumingMemoryBound(to: Ledger.Branch.self).pointee.kind == kind {
                branches.append(PersistentID(row: row))
            }
        }
        return branches
    }

    fileprivate func sighting<E: Entity>(of id: PersistentID<E>) -> History.Sighting {
        .present(version: version(of: id)?.number, stamp: nil)
    }
}
