@testable import Graph

/// The way in which a snapshot takes a step: it reads what a context would read or change.
extension Snapshot {
    func take(_ step: LedgerStep, _ choices: LedgerChoices) -> LedgerTrace {
        var trace = LedgerTrace()
        let rows = choices.rows
        switch step {
        case .read(let account), .change(let account), .delete(let account):
            read(choices.account(account), &trace)
        case .move(let account, let branch), .contains(let branch, let account):
            read(choices.account(account), &trace)
            readMembers(\Ledger.Branch.accounts, of: choices.branch(branch), &trace)
        case .insert(let branch), .members(let branch, _):
            readMembers(\Ledger.Branch.accounts, of: choices.branch(branch), &trace)
        case .search(let search, let form):
            read(search, form, &trace)
        case .query(let query):
            take(query, &trace)
        case .relate(.side(.shelf, let owner, _, _)), .relate(.delete(.shelf, let owner)):
            readMembers(\Ledger.Shelf.accounts, of: rows.shelves[owner % rows.shelves.count], &trace)
        case .relate(.side(.vault, let owner, _, _)), .relate(.delete(.vault, let owner)):
            readMembers(\Ledger.Vault.accounts, of: rows.vaults[owner % rows.vaults.count], &trace)
        case .relate(.side(.tag, let owner, _, _)), .relate(.delete(_, let owner)):
            readMembers(\Ledger.Tag.accounts, of: rows.tags[owner % rows.tags.count], &trace)
        case .relate(.side(_, let owner, _, _)), .relate(.attach(_, let owner, _)):
            readMembers(\Ledger.Account.tags, of: choices.account(owner), &trace)
        case .relate(.pair(let account, let card)):
            read(choices.account(account), &trace)
            if let card { read(rows.cards[card % rows.cards.count], &trace) }
        case .relate(.create):
            for id in rows.cards { read(id, &trace) }
        case .relate(.page(let search, _, _, _, _)):
            read(search, .values, &trace)
        case .key(.change(let key)), .key(.delete(let key)):
            read(choices.key(key), &trace)
        case .key(.insert(let kind, let value)), .key(.find(let kind, let value)):
            let ids = (try? fetchIDs(Ledger.Key.self, where: { $0.value(kind) == value })) ?? []
            var found: [History.Row: History.Sighting] = [:]
            for id in ids {
                found[History.Row(name: id.name)] = .present(
                    version: version(of: id)?.number, stamp: self.value(for: id)?.stamp)
            }
            trace.operations.append(.search(kind.predicate(value), found: found))
        }
        return trace
    }

    private func read<E: Entity>(_ id: PersistentID<E>, _ trace: inout LedgerTrace) {
        let stamp = value(for: id).flatMap { Ledger.stamp(of: $0) }
        trace.operations.append(
            .read(
                History.Row(name: id.name),
                stamp.map { .present(version: version(of: id)?.number, stamp: $0) } ?? .absent))
    }

    private func readMembers<Owner: Entity, Member: Entity>(
        _ keyPath: any KeyPath<Owner, ToMany<Member>> & Sendable,
        of owner: PersistentID<Owner>,
        _ trace: inout LedgerTrace
    ) {
        read(owner, &trace)
        guard value(for: owner) != nil else { return }
        let list = LedgerList(owner, keyPath, self)
        let members = (try? related(keyPath, of: owner)) ?? []
        if members.map(\.row) != list.members { trace.contradictions.append("\(owner) has members \(members)") }
        trace.operations.append(list.search(baseVersions: self))
        if list.isOrdered { trace.operations.append(list.readOfOrder) }
    }

    private func read(_ search: Ledger.Search, _ form: LedgerStep.SearchForm, _ trace: inout LedgerTrace) {
        var (found, passed): ([History.Row: History.Sighting], [History.Row: History.Sighting]) = ([:], [:])
        func isMet(by account: Ledger.Account) -> Bool {
            let isMet = search.isMet(by: account)
            let sighting = History.Sighting.present(version: nil, stamp: account.stamp)
            if isMet { found[account.row] = sighting } else { passed[account.row] = sighting }
            return isMet
        }
        if let balances = search.balances, form.looksUp {
            let values = fetchValues(\Ledger.Account.balance, in: balances)
            for account in values { found[account.row] = .present(version: nil, stamp: account.stamp) }
            if fetchCount(\Ledger.Account.balance, in: balances) != values.count {
                trace.contradictions.append("not \(values.count) accounts are \(search)")
            }
            return trace.operations.append(.search(search.predicate, found: found))
        }
        let count =
            switch form {
            case .count: try? fetchCount(Ledger.Account.self, where: isMet)
            case .ids: try? fetchIDs(Ledger.Account.self, where: isMet).count
            case .objects, .values, .lookUp, .lookUpValues, .lookUpIDs, .lookUpCount:
                try? fetchValues(Ledger.Account.self, where: isMet).count
            }
        if count != found.count { trace.contradictions.append("\(count ?? -1) accounts of \(found.count)") }
        trace.operations.append(.search(search.predicate, found: found, passed: passed))
    }
}
