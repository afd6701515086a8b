extension Workload {
    /// Work on all people who meet a condition, which one statement says.
    static let conditionWorkloads: [Workload] = [
        Workload(
            "update_where", "the balances of a tenth of the people set by one statement, in one commit",
            unit: .seconds(per: "row"), targets: [.timesSQLite(2)],
            sqlite: updatingOldest { peer, balance, _ in try peer.setBalance(balance, ofAges: PeopleData.oldest) },
            native: { setting in
                var people = setting.data.people
                return { run in
                    let balance = PeopleData.updatedBalance(position: 0, run: run)
                    let stopwatch = Stopwatch()
                    for index in people.indices where PeopleData.oldest.contains(people[index].age) {
                        people[index].balance = balance
                    }
                    let seconds = stopwatch.seconds
                    let changed = people.filter { PeopleData.oldest.contains($0.age) }
                    return Measurement(
                        amount: seconds, count: changed.count,
                        answer: Checksum.rowByRow(changed.lazy.map(\.checksum)))
                }
            }),
        Workload(
            "update_where_rows", "the same; SQLite updates each row by a prepared statement",
            unit: .seconds(per: "row"), targets: [.timesSQLite(4)],
            sqlite: updatingOldest { peer, balance, ids in
                for id in ids { try peer.setBalance(balance, id: id) }
            },
            native: nil),
        Workload(
            "delete_where", "a tenth of the people deleted by one statement, in one commit, with two indexes",
            unit: .seconds(per: "row"), targets: [.timesSQLite(1.5)],
            sqlite: { setting in
                reloading(every: 10) {
                    let peer = try SQLitePeer(at: .memory, loaded: setting.data)
                    return { turn in
                        let before = try peer.count(olderThan: -1, balanceBelow: .infinity)
                        let stopwatch = Stopwatch()
                        try peer.transaction { try peer.delete(ages: deletedAges(turn: turn)) }
                        let seconds = stopwatch.seconds
                        let deleted = before - (try peer.count(olderThan: -1, balanceBelow: .infinity))
                        return Measurement(amount: seconds, count: deleted, answer: try peer.answer())
                    }
                }
            },
            native: nil),
        Workload(
            "group_by", "people by age: how many, the lowest and the highest balance",
            unit: .seconds(per: "row scanned"), targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteStore
                return timed(count: setting.data.rows) {
                    try peer.balancesByAge().reduce(0) { $0 &+ $1.checksum }
                }
            },
            native: { setting in
                let people = setting.data.people
                return timed(count: people.count) {
                    var groups: [Int: AgeGroup] = [:]
                    for person in people {
                        groups[person.age, default: AgeGroup(age: person.age)].add(person.balance)
                    }
                    return groups.values.reduce(0) { $0 &+ $1.checksum }
                }
            }),
        Workload(
            "group_by_team", "people by team: how many, and the sum of their ages", unit: .seconds(per: "row scanned"),
            targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteStore
                return timed(count: setting.data.rows) {
                    try peer.agesOfTeams().reduce(0) { $0 &+ groupChecksum($1.team, $1.count, $1.sum) }
                }
            },
            native: { setting in
                let people = setting.data.people
                return timed(count: people.count) {
                    var groups: [Int: (count: Int, sum: Int)] = [:]
                    for person in people {
                        groups[person.team, default: (0, 0)].count += 1
                        groups[person.team, default: (0, 0)].sum += person.age
                    }
                    return groups.reduce(0) { $0 &+ groupChecksum($1.key + 1, $1.value.count, $1.value.sum) }
                }
            }),
    ]

    /// SQLite's side of an update of the oldest tenth, in one transaction.
    private static func updatingOldest(
        _ update: @escaping @Sendable (SQLitePeer, _ balance: Double, _ ids: [Int]) throws -> Void
    ) -> Contender {
        return { setting in
            let peer = try SQLitePeer(at: .memory, loaded: setting.data)
            let ids = setting.data.oldest.map { $0 + 1 }
            return { run in
                let balance = PeopleData.updatedBalance(position: 0, run: run)
                let stopwatch = Stopwatch()
                try peer.transaction { try update(peer, balance, ids) }
                return Measurement(amount: stopwatch.seconds, count: ids.count, answer: try peer.balances(of: ids))
            }
        }
    }

    /// Of one group: the sum over all groups says whether each has what it should, but not in what order.
    static func groupChecksum(_ key: Int, _ count: Int, _ sum: Int) -> UInt64 {
        Checksum.ranked(Checksum.ranked(UInt64(key), UInt64(count)), UInt64(sum))
    }

    /// The ages of the people whom a run deletes: everybody is gone after ten.
    static func deletedAges(turn: Int) -> Range<Int> { 10 * turn..<10 * (turn + 1) }
}

/// The people of one age.
struct AgeGroup {
    let age: Int
    var count = 0
    var lowest = Double.infinity
    var highest = -Double.infinity

    mutating func add(_ balance: Double) {
        count += 1
        lowest = min(lowest, balance)
        highest = max(highest, balance)
    }

    var checksum: UInt64 {
        [UInt64(count), lowest.bitPattern, highest.bitPattern].reduce(UInt64(age)) { Checksum.ranked($0, $1) }
    }
}
