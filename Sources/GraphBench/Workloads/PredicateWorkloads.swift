extension Workload {
    /// Queries by `#Predicate`, beside the same by closures and look-ups, and beside SQLite with the same indexes.
    static let predicateWorkloads: [Workload] = [
        Workload(
            "scan_predicate", "the scan of scan_filter_count by a #Predicate; closure: by a closure, as there",
            unit: .seconds(per: "row scanned"), targets: [.within(1.5, .closure)], baseline: .closure,
            isReading: true, sqlite: sqliteScan, native: EngineRead.scan),
        Workload(
            "scan_predicate_evaluate",
            "the same; Foundation: an array of the rows filtered by the predicate's evaluate",
            unit: .seconds(per: "row scanned"), targets: [.times(30, .foundation)], baseline: .foundation,
            isReading: true, sqlite: nil, native: EnginePredicate.evaluation),
        Workload(
            "get_by_email_predicate", "the look-ups of get_by_email by a #Predicate; key path: as there",
            unit: .seconds(per: "look-up"), targets: [.atMostMore(0.4e-6, than: .keyPath)], baseline: .keyPath,
            isReading: true, sqlite: sqliteEmails, native: EngineRead.emails),
        Workload(
            "prefix_sorted", "the first 20 people in the order of the addresses that begin with a text, by their index",
            unit: .seconds(per: "query"), targets: [.timesSQLite(3)], isReading: true, sqlite: sqlitePrefixes,
            native: nil),
        Workload(
            "conjunction_selective", "people of one age and with one of about 1,000 balances, by indexes of both",
            note: "SQLite is told which index to use: it would take the other one",
            unit: .seconds(per: "query"), targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteIndexed
                let statement = try peer.prepare(
                    """
                    SELECT \(SQLitePeer.personColumns) FROM person INDEXED BY person_balance
                    WHERE age = ? AND balance >= ? AND balance < ?
                    """)
                return query(setting.data.conjunctions, peer) { condition in
                    statement.bind(condition.age, at: 1)
                    statement.bind(condition.balances.lowerBound, at: 2)
                    statement.bind(condition.balances.upperBound, at: 3)
                    return try peer.rows(of: statement)
                }
            },
            native: nil),
        Workload(
            "conjunction_broad", "people of ten ages and with a tenth of the balances, by indexes of both",
            unit: .seconds(per: "query"), targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteIndexed
                let statement = try peer.prepare(
                    """
                    SELECT \(SQLitePeer.personColumns) FROM person
                    WHERE age >= ? AND age < ? AND balance < ?
                    """)
                return query([PeopleData.oldest], peer) { ages in
                    statement.bind(ages.lowerBound, at: 1)
                    statement.bind(ages.upperBound, at: 2)
                    statement.bind(PeopleData.modestLimit, at: 3)
                    return try peer.rows(of: statement)
                }
            },
            native: nil),
        Workload(
            "conjunction_selective_rows",
            "the rows that conjunction_selective looks at; one index: those of the better single condition",
            unit: .rows(per: "query"), targets: [.within(1.3, .singleIndex)], baseline: .singleIndex, sqlite: nil,
            native: EngineConjunction.rowsOfSelectiveConditions),
        Workload(
            "conjunction_broad_rows", "the same of conjunction_broad", unit: .rows(per: "query"),
            targets: [.within(1.3, .singleIndex)], baseline: .singleIndex, sqlite: nil,
            native: EngineConjunction.rowsOfBroadConditions),
        Workload(
            "reference_condition", "the people whose team has a name, as values, of teams without an index of names",
            unit: .seconds(per: "query"), targets: [.timesSQLite(5)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteStore
                let statement = try peer.prepare(
                    """
                    SELECT person.name, email, age, balance, joined, team_id
                    FROM person JOIN team ON team.id = person.team_id WHERE team.name = ?
                    """)
                return query(setting.data.visitedTeamNames, peer) { name in
                    try statement.binding(name, at: 1) { try peer.rows(of: statement) }
                }
            },
            native: nil),
        Workload(
            "members_condition", "the teams that have a member with one of the lowest thousandth of balances",
            unit: .seconds(per: "query"), targets: [.timesSQLite(5)], isReading: true,
            sqlite: { setting in
                let peer = try await setting.sqliteStore
                let statement = try peer.prepare(
                    """
                    SELECT name FROM team WHERE EXISTS
                        (SELECT 1 FROM person WHERE person.team_id = team.id AND person.balance < ?)
                    """)
                return timed(count: 1) {
                    statement.bind(PeopleData.poorLimit, at: 1)
                    defer { statement.reset() }
                    var answer: UInt64 = 0
                    while try statement.step() { answer &+= Checksum.text(statement.string(0)) }
                    return answer
                }
            },
            native: nil),
    ]

    private static let sqlitePrefixes: Contender = { setting in
        let peer = try await setting.sqliteStore
        let statement = try peer.prepare(
            """
            SELECT \(SQLitePeer.personColumns) FROM person WHERE email >= ? AND email < ?
            ORDER BY email LIMIT 20
            """)
        let prefixes = setting.data.emailPrefixes.map { ($0, end: $0 + "\u{7F}") }
        return timed(count: prefixes.count) {
            try peer.reading {
                try prefixes.reduce(0) { answer, prefix in
                    try statement.binding(prefix.end, at: 2) {
                        try statement.binding(prefix.0, at: 1) {
                            answer &+ ranking(try peer.rows(of: statement))
                        }
                    }
                }
            }
        }
    }

    /// Times one query for each condition; the answer is that of all rows.
    private static func query<Condition>(
        _ conditions: [Condition], _ peer: SQLitePeer, _ rows: @escaping (Condition) throws -> [PersonRow]
    ) -> Trial {
        return { _ in
            let stopwatch = Stopwatch()
            let people = try peer.reading { try conditions.map(rows) }
            let seconds = stopwatch.seconds
            let answer = people.joined().reduce(0) { $0 &+ $1.checksum }
            return Measurement(amount: seconds, count: conditions.count, answer: answer)
        }
    }
}
