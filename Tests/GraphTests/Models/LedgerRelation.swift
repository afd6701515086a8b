@testable import Graph

/// One thing that a transaction does with relationships. Numbers choose among the rows that there may be when it happens.
enum LedgerRelation: Sendable, Hashable {
    case side(Side, owner: Int, members: [Int], Action)
    /// An account refers to an owner.
    case attach(Side, account: Int, owner: Int)
    case pair(account: Int, card: Int?)
    case delete(Side, owner: Int)
    /// A new owner with members, as a plain value says them.
    case create(Side, members: [Int])
    case page(Ledger.Search, Page, offset: Int, limit: Int, descending: Bool)

    /// A to-many relationship.
    enum Side: Sendable, Hashable, CaseIterable {
        case branch
        case shelf
        case vault
        case tag
        /// An account's tags.
        case tags
    }

    enum Action: Sendable, Hashable {
        case read(Reading)
        case contains
        case removeAll
        case assign(Assigning)
        case insert
        case append
        case remove
        case place(Int)
        case move(Int, Int)
    }

    enum Reading: Sendable, Hashable, CaseIterable {
        case count
        case isEmpty
        case first
        case last
        case ids
        case objects
        case values
    }

    enum Assigning: Sendable, Hashable, CaseIterable {
        case literal
        case objects
        case value
        /// What it has, as far as it is seen.
        case same
    }

    enum Page: Sendable, Hashable, CaseIterable {
        case first
        case objects
        case values
        case ids
    }

    static func random(_ random: inout SeededGenerator) -> LedgerRelation {
        func number() -> Int { Int.random(in: 0..<60, using: &random) }
        func side() -> Side { Side.allCases[number() % Side.allCases.count] }
        func numbers() -> [Int] { (0..<number() % 3).map { _ in number() } }
        switch number() % 20 {
        case 0..<4:
            return .side(
                side(), owner: number(), members: [], .read(Reading.allCases[number() % Reading.allCases.count]))
        case 4: return .side(side(), owner: number(), members: [number()], .contains)
        case 5: return .side(side(), owner: number(), members: [], .removeAll)
        case 6, 7:
            let how = Assigning.allCases[number() % Assigning.allCases.count]
            return .side(side(), owner: number(), members: numbers(), .assign(how))
        case 8..<11:
            return .side(side(), owner: number(), members: [number()], number() % 2 == 0 ? .insert : .append)
        case 11, 12: return .side(side(), owner: number(), members: [number()], .remove)
        case 13:
            let isMove = number() % 2 == 0
            return .side(
                .shelf, owner: number(), members: [number()], isMove ? .move(number(), number()) : .place(number()))
        case 14: return .attach(Side.allCases[number() % 3], account: number(), owner: number())
        case 15: return .pair(account: number(), card: number() % 4 == 0 ? nil : number())
        case 16: return .delete(Side.allCases[number() % 4], owner: number())
        case 17: return .create(Side.allCases[number() % 4], members: numbers())
        default:
            let search = Ledger.Search.allCases[number() % Ledger.Search.allCases.count]
            return .page(
                search, Page.allCases[number() % Page.allCases.count], offset: number() % 3, limit: 1 + number() % 3,
                descending: number() % 2 == 0)
        }
    }
}

/// What is seen goes into the trace before what is done, and what is done is what the context's state shows then.
extension Context {
    func take(_ relation: LedgerRelation, _ choices: LedgerChoices, _ trace: inout LedgerTrace) throws {
        let rows = choices.rows
        switch relation {
        case .side(let side, let owner, let members, let action):
            let accounts = members.map { choices.account($0) }
            switch side {
            case .branch: take(action, \.accounts, of: choices.branch(owner), accounts, &trace)
            case .shelf: take(action, \.accounts, of: rows.shelves.at(owner), accounts, &trace)
            case .vault: take(action, \.accounts, of: rows.vaults.at(owner), accounts, &trace)
            case .tag: take(action, \.accounts, of: rows.tags.at(owner), accounts, &trace)
            case .tags: take(action, \.tags, of: choices.account(owner), members.map { rows.tags.at($0) }, &trace)
            }
        case .attach(let side, let account, let owner):
            guard let account = look(choices.account(account), &trace) else { break }
            switch side {
            case .branch: attach(account, \.branch, look(choices.branch(owner), &trace), choices.stamp, &trace)
            case .shelf: attach(account, \.shelf, look(rows.shelves.at(owner), &trace), choices.stamp, &trace)
            default: attach(account, \.vault, look(rows.vaults.at(owner), &trace), choices.stamp, &trace)
            }
        case .pair(let account, let card):
            guard let account = look(choices.account(account), &trace) else { break }
            attach(account, \.card, card.flatMap { look(rows.cards.at($0), &trace) }, choices.stamp, &trace)
        case .delete(let side, let owner):
            switch side {
            case .branch: delete(choices.branch(owner), &trace)
            case .shelf: delete(rows.shelves.at(owner), &trace)
            case .vault: delete(rows.vaults.at(owner), &trace)
            default: delete(rows.tags.at(owner), &trace)
            }
        case .create(let side, let members):
            let present = Set(members.map { choices.account($0) }.filter { state.flushed.contains($0) }).sorted()
            let accounts = ToMany(present)
            writing(&trace) { trace in
                switch side {
                case .branch:
                    trace.inserted.branches.append(insert(Ledger.Branch(stamp: choices.stamp, accounts: accounts)).id)
                case .shelf:
                    trace.inserted.shelves.append(insert(Ledger.Shelf(stamp: choices.stamp, accounts: accounts)).id)
                case .vault:
                    trace.inserted.vaults.append(insert(Ledger.Vault(stamp: choices.stamp, accounts: accounts)).id)
                default:
                    trace.inserted.tags.append(insert(Ledger.Tag(stamp: choices.stamp, accounts: accounts)).id)
                }
            }
        case .page(let search, let form, let offset, let limit, let descending):
            try page(search, form, offset: offset, limit: limit, descending: descending, &trace)
        }
    }

    // MARK: Members

    private func take<Owner: Entity, Member: Entity>(
        _ action: LedgerRelation.Action,
        _ keyPath: WritableKeyPath<Owner, ToMany<Member>>,
        of owner: PersistentID<Owner>,
        _ members: [PersistentID<Member>],
        _ trace: inout LedgerTrace
    ) {
        guard let owner = look(owner, &trace) else { return }
        let before = state.flushed
        let list = LedgerList(owner.id, keyPath, before)
        let related: RelatedObjects<Member> = owner[dynamicMember: keyPath]
        switch action {
        case .read(let form):
            read(related, form, list, &trace)
        case .contains:
            guard let member = members.first.flatMap({ look($0, &trace) }) else { break }
            let isMember = related.contains(member)
            if isMember != list.members.contains(member.id.row) {
                trace.contradictions.append("\(member.id) is \(isMember ? "" : "not ")in \(list.members)")
            }
            if list.hasLinks { trace.operations.append(list.readOfLink(to: member.id.row)) }
        case .removeAll:
            trace.operations.append(list.search(baseVersions: state.base))
            writing(&trace) { _ in related.removeAll() }
        case .assign(let form):
            assign(members, to: owner, keyPath, form, list, &trace)
        case .insert, .append:
            guard let member = members.first.flatMap({ look($0, &trace) }) else { break }
            // One that is a member already stays one as long as nobody takes it out.
            if list.hasLinks, list.members.contains(member.id.row) {
                trace.operations.append(list.readOfLink(to: member.id.row))
            }
            writing(&trace) { _ in if action == .insert { related.insert(member) } else { related.append(member) } }
        case .remove:
            guard let member = members.first.flatMap({ look($0, &trace) }) else { break }
            if list.hasLinks, !list.members.contains(member.id.row) {
                trace.operations.append(list.readOfLink(to: member.id.row))
            }
            writing(&trace) { _ in related.remove(member) }
        case .place(let place):
            guard let member = members.first.flatMap({ look($0, &trace) }) else { break }
            trace.operations += [list.search(baseVersions: state.base), list.readOfOrder]
            let others = list.members.filter { $0 != member.id.row }.count
            writing(&trace) { _ in related.insert(member, at: place % (others + 1)) }
        case .move(let place, let other):
            trace.operations += [list.search(baseVersions: state.base), list.readOfOrder]
            guard !related.isEmpty else { break }
            let object = look(PersistentID<Member>(row: list.members[place % list.members.count]), &trace)
            if object == nil { trace.contradictions.append("a member is missing") }
            writing(&trace) { _ in
                related.move(from: place % list.members.count, to: other % list.members.count)
            }
        }
    }

    private func read<Member: Entity>(
        _ related: RelatedObjects<Member>,
        _ form: LedgerRelation.Reading,
        _ list: LedgerList,
        _ trace: inout LedgerTrace
    ) {
        let answer: [RowNumber]
        var expected = list.members
        switch form {
        case .count:
            if related.count != expected.count { trace.contradictions.append("\(related.count) members") }
            answer = expected
        case .isEmpty:
            if related.isEmpty != expected.isEmpty { trace.contradictions.append("members are or are not there") }
            answer = expected
        case .first: (answer, expected) = (related.first.map { [$0.id.row] } ?? [], Array(expected.prefix(1)))
        case .last: (answer, expected) = (related.last.map { [$0.id.row] } ?? [], Array(expected.suffix(1)))
        case .ids: answer = related.ids.map(\.row)
        case .objects: answer = related.map(\.id.row)
        case .values:
            if related.values.count != expected.count { trace.contradictions.append("not all values") }
            answer = expected
        }
        if answer != expected { trace.contradictions.append("members \(answer), not \(expected)") }
        trace.operations.append(list.search(baseVersions: state.base))
        if form != .count, form != .isEmpty, list.isOrdered { trace.operations.append(list.readOfOrder) }
    }

    private func assign<Owner: Entity, Member: Entity>(
        _ members: [PersistentID<Member>],
        to owner: ManagedObject<Owner>,
        _ keyPath: WritableKeyPath<Owner, ToMany<Member>>,
        _ form: LedgerRelation.Assigning,
        _ list: LedgerList,
        _ trace: inout LedgerTrace
    ) {
        let members = form == .same ? list.members.map { PersistentID<Member>(row: $0) } : members
        trace.operations.append(list.search(baseVersions: state.base))
        if list.isOrdered { trace.operations.append(list.readOfOrder) }
        let objects = form == .value ? [] : members.compactMap { look($0, &trace) }
        let present = Set(members).filter { state.flushed.contains($0) }.sorted()
        writing(&trace) { _ in
            switch form {
            case .literal where objects.isEmpty: owner[dynamicMember: keyPath] = []
            case .literal: owner[dynamicMember: keyPath] = [objects[0]]
            case .objects, .same: owner[dynamicMember: keyPath] = RelatedObjects(objects)
            case .value: owner[dynamicMember: keyPath] = ToMany(present)
            }
        }
    }

    // MARK: Objects

    /// Looks an object up.
    func look<E: Entity>(_ id: PersistentID<E>, _ trace: inout LedgerTrace) -> ManagedObject<E>? {
        let object = self[id]
        let row = History.Row(name: id.name)
        let stamp = object.flatMap { Ledger.stamp(of: $0.value) }
        trace.operations.append(
            .read(row, object.map { .present(version: $0.version.number, stamp: stamp) } ?? .absent))
        return object
    }

    private func attach<Target>(
        _ account: Ledger.Account.Object,
        _ keyPath: WritableKeyPath<Ledger.Account, ToOne<Target>>,
        _ target: ManagedObject<Target>?,
        _ stamp: Int,
        _ trace: inout LedgerTrace
    ) {
        writing(&trace) { _ in
            account[dynamicMember: keyPath] = target
            account.stamp = stamp
        }
    }

    /// Deletes a row with all that its relationships say.
    func delete<E: Entity>(_ id: PersistentID<E>, _ trace: inout LedgerTrace) {
        guard let object = look(id, &trace) else { return }
        let before = state.flushed
        var deleted = LedgerTrace()
        writing(&deleted) { _ in object.delete() }
        // All lists of what goes were looked at.
        for case .write(let write) in deleted.operations where write.to.isDead && !write.isDerived {
            trace.operations += LedgerList.all(of: write.row, before).map { $0.search(baseVersions: state.base) }
        }
        trace.operations += deleted.operations
    }

    /// Notes what the closure does as writes; that a new member comes last in an order has looked at the order.
    func writing(_ trace: inout LedgerTrace, _ body: (inout LedgerTrace) -> Void) {
        let before = state.flushed
        body(&trace)
        let after = state.flushed
        var writes: [History.Operation] = []
        for change in Ledger.changes(from: before, to: after) {
            let isVersioned = (change.new ?? change.old)?.stamp != nil
            let old = isVersioned ? state.base.version(of: change.row) : 0
            let from = old == 0 ? History.Version.unborn : History.Version(number: old, isDead: false)
            let isDerived = !isVersioned || (change.new != nil && change.new?.stamp == change.old?.stamp)
            if !isVersioned, LedgerList.hasGained(change.row, before, after) {
                trace.operations.append(
                    .read(change.row, change.old == nil ? .absent : .present(version: nil, stamp: nil)))
            }
            writes.append(
                .write(
                    History.Write(
                        row: change.row, from: from,
                        to: change.new == nil
                            ? .deleted(after: from.number) : History.Version(number: old + 1, isDead: false),
                        stamp: change.new?.stamp, matches: change.new?.matches ?? [], isDerived: isDerived,
                        commutes: !isVersioned)))
        }
        trace.operations += writes
    }

    // MARK: Pages

    /// A search that ends early goes by all that come before its end, so that it counts as one of all.
    private func page(
        _ search: Ledger.Search,
        _ form: LedgerRelation.Page,
        offset: Int,
        limit: Int,
        descending: Bool,
        _ trace: inout LedgerTrace
    ) throws {
        let order: [Ordering<Ledger.Account>] = [descending ? .descending(\.balance) : .ascending(\.balance)]
        let names: [String]
        switch form {
        case .first:
            names = try first(Ledger.Account.self, where: search.isMet, sortedBy: order).map { [$0.id.name] } ?? []
        case .objects:
            names = try fetch(where: search.isMet, sortedBy: order, offset: offset, limit: limit).map(\.id.name)
        case .values:
            names = try fetchValues(
                Ledger.Account.self, where: search.isMet, sortedBy: order, offset: offset, limit: limit
            )
            .map(\.name)
        case .ids:
            names = try fetchIDs(
                Ledger.Account.self, where: search.isMet, sortedBy: order, offset: offset, limit: limit
            )
            .map(\.name)
        }
        let accounts = state.flushed.accounts
        let matching = accounts.filter(search.isMet)
        let sorted = matching.enumerated().sorted { lhs, rhs in
            let (left, right) = (lhs.element.balance, rhs.element.balance)
            return left == right ? lhs.offset < rhs.offset : (left < right) != descending
        }.map(\.element.name)
        let (start, count) = form == .first ? (0, 1) : (offset, limit)
        if names != Array(sorted.dropFirst(start).prefix(count)) {
            trace.contradictions.append("\(form) of \(search) from \(start) has \(names) of \(sorted)")
        }
        func sightings(_ accounts: [Ledger.Account]) -> [History.Row: History.Sighting] {
            Dictionary(uniqueKeysWithValues: accounts.map { ($0.row, .present(version: nil, stamp: $0.stamp)) })
        }
        trace.operations.append(
            .search(
                search.predicate, found: sightings(matching),
                passed: sightings(accounts.filter { !search.isMet(by: $0) })))
    }
}

/// An owner's members, as a history speaks of them.
struct LedgerList {
    private let owner: RowNumber
    private let name: String
    private let relationship: ToManyDescription
    let members: [RowNumber]

    init<Owner: Entity, Member: Entity>(
        _ id: PersistentID<Owner>,
        _ keyPath: KeyPath<Owner, ToMany<Member>>,
        _ snapshot: Snapshot
    ) {
        let relationship = snapshot.schema.toMany(keyPath, of: snapshot.schema.index(of: Owner.self) ?? 0)
        self.init(id.row, id.name, relationship, snapshot)
    }

    private init(_ owner: RowNumber, _ name: String, _ relationship: ToManyDescription, _ snapshot: Snapshot) {
        (self.owner, self.name, self.relationship) = (owner, name, relationship)
        members = snapshot.members(of: owner, through: relationship)
    }

    /// All that a row has.
    static func all(of row: History.Row, _ snapshot: Snapshot) -> [LedgerList] {
        guard let (number, entity) = snapshot.schema.place(of: row) else { return [] }
        return snapshot.schema.entities[entity].toManys.map { LedgerList(number, row.name, $0, snapshot) }
    }

    /// Whether an order has a member in one state that it has not in another.
    static func hasGained(_ order: History.Row, _ before: Snapshot, _ after: Snapshot) -> Bool {
        guard order.name.hasPrefix("order of ") else { return false }
        let shelf = History.Row(name: String(order.name.dropFirst(9)))
        let members = [before, after].map { all(of: shelf, $0).first?.members ?? [] }
        return !Set(members[1]).isSubset(of: members[0])
    }

    var isOrdered: Bool { relationship.isOrdered }
    var hasLinks: Bool { relationship.toOne == nil }

    private func link(to member: RowNumber) -> History.Row {
        name.hasPrefix("a") ? Ledger.link(owner, member) : Ledger.link(member, owner)
    }

    func readOfLink(to member: RowNumber) -> History.Operation {
        .read(link(to: member), members.contains(member) ? .present(version: nil, stamp: nil) : .absent)
    }

    var readOfOrder: History.Operation {
        .read(Ledger.order(of: owner), members.isEmpty ? .absent : .present(version: nil, stamp: nil))
    }

    func search(baseVersions base: Snapshot) -> History.Operation {
        var found: [History.Row: History.Sighting] = [:]
        for member in members {
            if hasLinks {
                found[link(to: member)] = .present(version: nil, stamp: nil)
            } else {
                let row = History.Row(name: Ledger.name(of: member, of: "Account"))
                let version = base.version(of: row)
                found[row] = .present(version: version == 0 ? nil : version, stamp: nil)
            }
        }
        return .search(History.Predicate(name: "members of \(name)"), found: found)
    }
}

extension Ledger {
    static func stamp<E: Entity>(of value: E) -> Int? {
        switch value {
        case let value as Account: value.stamp
        case let value as Branch: value.stamp
        case let value as Shelf: value.stamp
        case let value as Vault: value.stamp
        case let value as Tag: value.stamp
        case let value as Card: value.stamp
        case let value as Key: value.stamp
        default: nil
        }
    }
}

extension Schema {
    /// What a history's name of a row stands for; nil for links and orders.
    func place(of row: History.Row) -> (row: RowNumber, entity: Int)? {
        guard let number = RowNumber(row.name.dropFirst()),
            let entity = entities.firstIndex(where: { $0.name.prefix(1).lowercased() == row.name.prefix(1) })
        else { return nil }
        return (number, entity)
    }
}

extension Snapshot {
    /// 0 if it is not there.
    func version(of row: History.Row) -> UInt64 {
        guard let (row, entity) = schema.place(of: row) else { return 0 }
        return entities[entity].rows.version(of: row)?.number ?? 0
    }

    fileprivate func contains<E: Entity>(_ id: PersistentID<E>) -> Bool { version(of: id) != nil }

    /// In the order of their insertion.
    var accounts: [Ledger.Account] {
        var accounts: [Ledger.Account] = []
        guard let entity = schema.index(of: Ledger.Account.self) else { return [] }
        entities[entity].rows.forEachRow { _, _, address in
            accounts.append(address.assumingMemoryBound(to: Ledger.Account.self).pointee)
        }
        return accounts
    }
}

extension Array {
    fileprivate func at(_ number: Int) -> Element { self[number % count] }
}
