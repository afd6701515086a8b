@testable import Graph

/// A committed state, as far as histories speak of it: rows, and as rows of their own the links of many-to-many relationships
/// and the orders of ordered ones.
struct LedgerState: Sendable {
    struct Value: Sendable, Equatable {
        /// Links and orders have the number of the commit that changed them last.
        var version: UInt64
        /// nil for links and orders.
        let stamp: Int?
        let matches: Set<History.Predicate>
    }

    struct Change: Sendable {
        let row: History.Row
        var old: Value?
        var new: Value?
    }

    let snapshot: Snapshot
    private(set) var values: [History.Row: Value] = [:]
    /// What it changed in the state before it.
    private(set) var changes: [Change] = []

    var commit: UInt64 { snapshot.commit.number }

    init(_ snapshot: Snapshot) {
        self.init(snapshot, after: Snapshot(schema: snapshot.schema), [:])
    }

    init(_ snapshot: Snapshot, after previous: LedgerState) {
        self.init(snapshot, after: previous.snapshot, previous.values)
    }

    private init(_ snapshot: Snapshot, after previous: Snapshot, _ values: [History.Row: Value]) {
        (self.snapshot, self.values) = (snapshot, values)
        changes = Ledger.changes(from: previous, to: snapshot)
        let commit = commit
        for place in changes.indices {
            var change = changes[place]
            if change.new?.stamp == nil { change.new?.version = commit }
            change.old = values[change.row]
            self.values[change.row] = change.new
            changes[place] = change
        }
    }

    /// States one after the other, of which each tells what it changed.
    static func chain(_ snapshots: [Snapshot]) -> [LedgerState] {
        snapshots.reduce(into: []) { states, snapshot in
            states.append(states.last.map { LedgerState(snapshot, after: $0) } ?? LedgerState(snapshot))
        }
    }

    /// Whether both have the same rows. When a link was made, say, shows only to who saw all commits.
    func agrees(with other: LedgerState) -> Bool {
        values.count == other.values.count
            && values.allSatisfy { row, value in
                guard let theirs = other.values[row] else { return false }
                return value.stamp == theirs.stamp && value.matches == theirs.matches
                    && (value.stamp == nil || value.version == theirs.version)
            }
    }

    /// A transaction that has made this state out of nothing.
    var beginning: History.Transaction {
        let operations = values.sorted { $0.key < $1.key }.map { row, value in
            History.Operation.write(
                History.Write(
                    row: row, from: .unborn, to: History.Version(number: value.version, isDead: false),
                    stamp: value.stamp, matches: value.matches))
        }
        return History.Transaction(
            number: 0, session: 0, begin: 0, end: 0, operations: operations, outcome: .committed(commit))
    }

    /// A transaction that has read this state.
    func end(at time: Int) -> History.Transaction {
        let operations = values.sorted { $0.key < $1.key }.map { row, value in
            History.Operation.read(row, .present(version: value.version, stamp: value.stamp))
        }
        return History.Transaction(
            number: -1, session: 0, begin: time, end: time + 1, base: commit, operations: operations,
            outcome: .committed(nil))
    }
}

extension Ledger {
    static func name(of row: RowNumber, of entity: String) -> String {
        "\(entity.prefix(1).lowercased())\(row)"
    }

    static func link(_ account: RowNumber, _ tag: RowNumber) -> History.Row { History.Row(name: "a\(account)~t\(tag)") }

    static func order(of shelf: RowNumber) -> History.Row { History.Row(name: "order of s\(shelf)") }

    /// What differs between two states, committed or not, but signatures. Links and orders have version 0.
    static func changes(from old: Snapshot, to new: Snapshot) -> [LedgerState.Change] {
        let schema = new.schema
        var changes: [LedgerState.Change] = []
        for (entity, description) in schema.entities.enumerated() where description.name != "Signature" {
            let (before, after) = (old.entities[entity].rows, new.entities[entity].rows)
            after.forEachRow(notSharedWith: before) { row, oldVersion, newVersion in
                let (theirs, ours) = (before.address(of: row), after.address(of: row))
                if oldVersion == newVersion, let theirs, let ours, description.areIdentical(theirs, ours) { return }
                changes.append(
                    LedgerState.Change(
                        row: History.Row(name: name(of: row, of: description.name)),
                        old: theirs.map { value(at: $0, description, oldVersion) },
                        new: ours.map { value(at: $0, description, newVersion) }))
            }
        }
        for (number, list) in schema.linkTables.enumerated() {
            let (before, after) = (old.linkTables[number], new.linkTables[number])
            let difference = after.difference(from: before)
            if list.isOrdered {
                for shelf in Set((difference.removed + difference.added).map(\.owner)).sorted() {
                    let members = [before, after].map { $0.keys(of: shelf).map(\.member) }
                    guard members[0] != members[1] else { continue }
                    // So that two states with the same order look the same.
                    let values = members.map {
                        $0.isEmpty
                            ? nil
                            : LedgerState.Value(
                                version: 0, stamp: nil, matches: [History.Predicate(name: "order \($0)")])
                    }
                    changes.append(LedgerState.Change(row: order(of: shelf), old: values[0], new: values[1]))
                }
            } else if list.isRecorded(as: number) {
                let ownsTags = schema.entities[list.entity].name == "Account"
                func change(_ pair: LinkTable.Link, isAddition: Bool) -> LedgerState.Change {
                    let (account, tag) = ownsTags ? (pair.owner, pair.member) : (pair.member, pair.owner)
                    let value = LedgerState.Value(
                        version: 0, stamp: nil,
                        matches: [
                            .members(of: Account.ID(row: account)), .members(of: Tag.ID(row: tag)),
                        ])
                    return LedgerState.Change(
                        row: link(account, tag), old: isAddition ? nil : value, new: isAddition ? value : nil)
                }
                changes += difference.removed.map { change($0, isAddition: false) }
                changes += difference.added.map { change($0, isAddition: true) }
            }
        }
        return changes
    }

    private static func value(
        at address: UnsafeRawPointer,
        _ description: EntityDescription,
        _ version: RowVersion?
    ) -> LedgerState.Value {
        func read<E: Entity>(_ type: E.Type) -> E { address.assumingMemoryBound(to: E.self).pointee }
        var matches: Set<History.Predicate> = []
        let stamp: Int
        switch description.name {
        case "Account":
            let account = read(Account.self)
            (stamp, matches) = (account.stamp, account.matches)
        case "Branch":
            let branch = read(Branch.self)
            (stamp, matches) = (branch.stamp, branch.matches)
        case "Shelf": stamp = read(Shelf.self).stamp
        case "Vault": stamp = read(Vault.self).stamp
        case "Tag": stamp = read(Tag.self).stamp
        case "Key":
            let key = read(Key.self)
            (stamp, matches) = (key.stamp, key.matches)
        default: stamp = read(Card.self).stamp
        }
        return LedgerState.Value(version: version?.number ?? 0, stamp: stamp, matches: matches)
    }

    /// The commits whose signatures a state has that the one before it has not: of the newest commit.
    static func signatures(from old: Snapshot, to new: Snapshot) -> [Int] {
        guard let entity = new.schema.index(of: Signature.self) else { return [] }
        var stamps: [Int] = []
        new.entities[entity].rows.forEachDifference(from: old.entities[entity].rows) { row, _, _ in
            guard let address = new.entities[entity].rows.address(of: row) else { return }
            stamps.append(address.assumingMemoryBound(to: Signature.self).pointee.stamp)
        }
        return stamps
    }
}
