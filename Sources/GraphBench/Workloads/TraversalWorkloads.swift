extension Workload {
    static let traversalWorkloads: [Workload] = [
        Workload(
            "traverse_to_one", "from a random person's identifier to the team's name", unit: .seconds(per: "person"),
            targets: [.timesSQLite(3)], isReading: true,
            sqlite: { setting in
                let ids = setting.data.lookups.map { $0 + 1 }
                let peer = try await setting.sqliteStore
                return timed(count: ids.count) {
                    try peer.reading {
                        try ids.reduce(0) { $0 &+ Checksum.text(try peer.teamName(person: $1) ?? "") }
                    }
                }
            },
            native: { setting in
                let ids = setting.data.lookups
                let peer = await setting.nativeStore
                return timed(count: ids.count) {
                    ids.reduce(0) { $0 &+ Checksum.text(peer.people[$1]?.team.name ?? "") }
                }
            }),
        Workload(
            "traverse_to_one_held", "from a random person in hand to the team's name", unit: .seconds(per: "person"),
            targets: [.within(1.1, .native)], isReading: true,
            sqlite: { setting in try sqliteHeld(setting.data, try await setting.sqliteStore) },
            native: { setting in nativeHeld(setting.data, await setting.nativeStore) }),
        Workload(
            "traverse_to_one_many", "the same with a team for five people, more than a context keeps objects of",
            unit: .seconds(per: "person"), targets: [.within(1.5, .native)], isReading: true,
            sqlite: { setting in
                let peer = try SQLitePeer(at: .memory)
                try peer.load(rows: setting.data.rows, teams: PeopleData.manyTeams(rows: setting.data.rows))
                return try sqliteHeld(setting.data, peer)
            },
            native: { setting in
                let rows = setting.data.rows
                return nativeHeld(setting.data, NativePeer(rows: rows, teams: PeopleData.manyTeams(rows: rows)))
            }),
        Workload(
            "traverse_to_many", "the sum of the members' ages of random teams, the members as values",
            unit: .seconds(per: "member"), targets: [.timesSQLite(15)], isReading: true, sqlite: sqliteAges,
            native: nativeAges),
        Workload(
            "traverse_to_many_objects", "the same, the members as managed objects", unit: .seconds(per: "member"),
            targets: [.timesSQLite(4)], isReading: true, sqlite: sqliteAges, native: nativeAges),
        Workload(
            "traverse_to_many_objects_held", "the same, while the program holds the members' objects",
            unit: .seconds(per: "member"), targets: [.within(3, .native)], isReading: true, sqlite: sqliteAges,
            native: nativeAges),
    ]

    private static func sqliteHeld(_ data: PeopleData, _ peer: SQLitePeer) throws -> Trial {
        let held = try data.lookups.compactMap { try peer.person(id: $0 + 1) }
        return timed(count: held.count) {
            try peer.reading {
                try held.reduce(0) { $0 &+ Checksum.text(try peer.teamName(team: $1.team + 1) ?? "") }
            }
        }
    }

    private static func nativeHeld(_ data: PeopleData, _ peer: NativePeer) -> Trial {
        let held = data.lookups.compactMap { peer.people[$0] }
        // The peer unties its teams when it goes.
        return timed(count: held.count) {
            withExtendedLifetime(peer) { held.reduce(0) { $0 &+ Checksum.text($1.team.name) } }
        }
    }

    private static let sqliteAges: Contender = { setting in
        let teams = setting.data.visitedTeams.map { $0 + 1 }
        let peer = try await setting.sqliteStore
        return { _ in try agesTimed { try peer.reading { try teams.map { try peer.ages(team: $0) } } } }
    }

    private static let nativeAges: Contender = { setting in
        let teams = setting.data.visitedTeams
        let peer = await setting.nativeStore
        return { _ in
            agesTimed {
                teams.map { id in
                    let members = peer.teams[id]?.members ?? []
                    return (members.reduce(0) { $0 + $1.age }, members.count)
                }
            }
        }
    }

    /// Times the sums of the ages of several groups of people together; the unit is a person.
    static func agesTimed(_ body: () throws -> [(sum: Int, count: Int)]) rethrows -> Measurement {
        let stopwatch = Stopwatch()
        let groups = try body()
        let seconds = stopwatch.seconds
        let count = groups.reduce(0) { $0 + $1.count }
        let ages = groups.reduce(0) { $0 + $1.sum }
        return Measurement(amount: seconds, count: count, answer: Checksum.people(count: count, ages: ages))
    }
}
