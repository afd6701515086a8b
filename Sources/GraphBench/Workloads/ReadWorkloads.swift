extension Workload {
    static let readWorkloads: [Workload] = [
        Workload(
            "get_by_id", "random look-ups giving the whole row, which is looked at where it is",
            unit: .seconds(per: "look-up"), targets: [.timesSQLite(6)], isReading: true,
            sqlite: { setting in
                let ids = setting.data.lookups.map { $0 + 1 }
                let peer = try await setting.sqliteStore
                return timed(count: ids.count) {
                    try peer.reading { try ids.reduce(0) { $0 &+ (try peer.person(id: $1)?.checksum ?? 0) } }
                }
            },
            native: { setting in
                let ids = setting.data.lookups
                let peer = await setting.nativeStore
                return timed(count: ids.count) { ids.reduce(0) { $0 &+ (peer.people[$1]?.value.checksum ?? 0) } }
            }),
        Workload(
            "get_by_id_kept", "the same, the rows kept in an array", unit: .seconds(per: "look-up"),
            targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let ids = setting.data.lookups.map { $0 + 1 }
                let peer = try await setting.sqliteStore
                return kept(\.checksum) { try peer.reading { try ids.compactMap { try peer.person(id: $0) } } }
            },
            native: { setting in
                let ids = setting.data.lookups
                let peer = await setting.nativeStore
                return kept(\.checksum) { ids.compactMap { peer.people[$0]?.value } }
            }),
        Workload(
            "get_by_email", "random look-ups in the unique index giving the whole row",
            unit: .seconds(per: "look-up"), targets: [.timesSQLite(2.5)], isReading: true,
            sqlite: sqliteEmails,
            native: { setting in
                let emails = setting.data.lookupEmails
                let peer = await setting.nativeStore
                return timed(count: emails.count) {
                    emails.reduce(0) { $0 &+ (peer.peopleByEmail[$1]?.value.checksum ?? 0) }
                }
            }),
        Workload(
            "scan_filter_count", "age > 50 and balance < 5,000 counted, about a quarter matches",
            unit: .seconds(per: "row scanned"), targets: [.timesSQLite(6)], isReading: true,
            sqlite: sqliteScan,
            native: { setting in
                let people = setting.data.people
                return timed(count: people.count) { UInt64(people.count(where: \.matchesFilter)) }
            }),
        Workload(
            "fetch_filter_rows", "the same people as values", unit: .seconds(per: "row returned"),
            targets: [.timesSQLite(6)], isReading: true, sqlite: sqliteFetch, native: nativeFetch),
        Workload(
            "fetch_filter_mapped", "the same people, each mapped on the way into the program's own type",
            unit: .seconds(per: "row returned"), targets: [.timesSQLite(6)], isReading: true, sqlite: sqliteFetch,
            native: nativeFetch),
        Workload(
            "fetch_filter_objects", "the same people as managed objects of a new context",
            unit: .seconds(per: "row returned"), targets: [.timesSQLite(2.5)], isReading: true, sqlite: sqliteFetch,
            native: nativeFetch),
        Workload(
            "sort_limit", "the 100 richest of those above 50", unit: .seconds(per: "query"),
            targets: [.timesSQLite(6)], isReading: true,
            sqlite: sqliteRichest,
            native: { setting in
                let people = setting.data.people
                return timed(count: 1) { ranking(first(of: people) { $0.balance }) }
            }),
        Workload(
            "sort_limit_two", "the first 100 of them, the oldest first, those of one age from the richest on",
            unit: .seconds(per: "query"), targets: [.timesSQLite(6)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteStore
                let statement = try peer.prepare(
                    """
                    SELECT \(SQLitePeer.personColumns) FROM person WHERE age > ?
                    ORDER BY age DESC, balance DESC LIMIT 100
                    """)
                return timed(count: 1) {
                    statement.bind(PeopleData.ageLimit, at: 1)
                    return ranking(try peer.rows(of: statement))
                }
            },
            native: { setting in
                let people = setting.data.people
                return timed(count: 1) {
                    ranking(first(of: people) { AgeAndBalance(age: $0.age, balance: $0.balance) })
                }
            }),
        Workload(
            "range_indexed", "100 ranges of balances with 1,000 people each, as values, by an index of the balances",
            unit: .seconds(per: "row returned"), targets: [.timesSQLite(4)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteRanking
                let ranges = setting.data.balances
                return { _ in
                    let stopwatch = Stopwatch()
                    let people = try peer.reading { try ranges.map { try peer.people(withBalancesIn: $0) } }
                    return measurement(people, stopwatch.seconds)
                }
            },
            native: { setting in
                let people = setting.data.people.sorted { $0.balance < $1.balance }
                let ranges = setting.data.balances
                return { _ in
                    let stopwatch = Stopwatch()
                    let found = ranges.map { range in
                        let first = people.partitioningIndex { $0.balance >= range.lowerBound }
                        let end = people.partitioningIndex { $0.balance >= range.upperBound }
                        return Array(people[first..<end])
                    }
                    return measurement(found, stopwatch.seconds)
                }
            }),
        Workload(
            "sort_limit_indexed", "the query of sort_limit with an index on the balance, which SQLite has too",
            unit: .seconds(per: "query"), targets: [.timesSQLite(1)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteRanking
                return timed(count: 1) { ranking(try peer.richest(olderThan: PeopleData.ageLimit)) }
            },
            native: { setting in
                let people = setting.data.people
                let poorestFirst = people.indices.sorted { people[$0].balance < people[$1].balance }
                return timed(count: 1) {
                    let older = poorestFirst.reversed().lazy.filter { people[$0].age > PeopleData.ageLimit }
                    return ranking(older.prefix(100).map { people[$0] })
                }
            }),
        Workload(
            "sort_limit_index_gain", "the same, SQLite without the index", unit: .seconds(per: "query"),
            targets: [.timesSQLite(100)], isReading: true, sqlite: sqliteRichest, native: nil),
    ]

    /// A trial that times all of `body`, whose result is the answer.
    static func timed(count: Int, _ body: @escaping () async throws -> UInt64) -> Trial {
        return { _ in
            let stopwatch = Stopwatch()
            let answer = try await body()
            return Measurement(amount: stopwatch.seconds, count: count, answer: answer)
        }
    }

    /// A trial that times making an array of rows: they are looked at once the clock has stopped.
    static func kept<Row>(_ checksum: @escaping (Row) -> UInt64, _ body: @escaping () throws -> [Row]) -> Trial {
        return { _ in
            let stopwatch = Stopwatch()
            let rows = try body()
            let seconds = stopwatch.seconds
            return Measurement(
                amount: seconds, count: rows.count, answer: rows.reduce(0) { $0 &+ checksum($1) })
        }
    }

    static let sqliteEmails: Contender = { setting in
        let emails = setting.data.lookupEmails
        let peer = try await setting.sqliteStore
        return timed(count: emails.count) {
            try peer.reading { try emails.reduce(0) { $0 &+ (try peer.person(email: $1)?.checksum ?? 0) } }
        }
    }

    static let sqliteScan: Contender = { setting in
        let peer = try await setting.sqliteStore
        return timed(count: setting.data.rows) {
            let count = try peer.count(olderThan: PeopleData.ageLimit, balanceBelow: PeopleData.balanceLimit)
            return UInt64(count)
        }
    }

    private static let sqliteRichest: Contender = { setting in
        let peer = try await setting.sqliteStore
        return timed(count: 1) { ranking(try peer.richest(olderThan: PeopleData.ageLimit)) }
    }

    private static let sqliteFetch: Contender = { setting in
        let peer = try await setting.sqliteStore
        return kept(\.checksum) {
            try peer.people(olderThan: PeopleData.ageLimit, balanceBelow: PeopleData.balanceLimit)
        }
    }

    private static let nativeFetch: Contender = { setting in
        let people = setting.data.people
        return kept(\.checksum) { people.filter(\.matchesFilter) }
    }

    private static func measurement(_ found: [[PersonRow]], _ seconds: Double) -> Measurement {
        Measurement(
            amount: seconds, count: found.reduce(0) { $0 + $1.count },
            answer: found.joined().reduce(0) { $0 &+ $1.checksum })
    }

    static func ranking(_ rows: [PersonRow]) -> UInt64 {
        rows.reduce(0) { Checksum.ranked($0, $1.checksum) }
    }

    /// The hundred people above 50 with the greatest keys, which are kept in order: of a million rows hardly any gets past the
    /// first comparison.
    private static func first<Key: Comparable>(of people: [PersonRow], by key: (PersonRow) -> Key) -> [PersonRow] {
        var best: [(key: Key, index: Int)] = []
        best.reserveCapacity(101)
        for index in people.indices where people[index].age > PeopleData.ageLimit {
            let key = key(people[index])
            if best.count == 100, key <= best[99].key { continue }
            let position = best.firstIndex { $0.key < key } ?? best.count
            best.insert((key, index), at: position)
            if best.count > 100 { best.removeLast() }
        }
        return best.map { people[$0.index] }
    }
}

/// What two criteria sort by.
private struct AgeAndBalance: Comparable {
    let age: Int
    let balance: Double

    static func < (one: AgeAndBalance, other: AgeAndBalance) -> Bool {
        one.age != other.age ? one.age < other.age : one.balance < other.balance
    }
}

extension [PersonRow] {
    /// Where the first one is for whom the condition holds; it holds for all behind it.
    fileprivate func partitioningIndex(where condition: (PersonRow) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
