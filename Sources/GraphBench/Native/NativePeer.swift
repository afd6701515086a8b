/// The people in plain classes and dictionaries: the limit of the language, without transactions or isolation.
final class NativePeer {
    private(set) var teams: [Int: NativeTeam] = [:]
    private(set) var people: [Int: NativePerson] = [:]
    private(set) var peopleByEmail: [String: NativePerson] = [:]

    init() {}

    convenience init(loaded data: PeopleData) {
        self.init()
        insertTeams(data.teamNames)
        for index in data.people.indices {
            insert(data.people[index], id: index)
        }
    }

    /// So many people in so many teams, of rows that are made one at a time.
    convenience init(rows: Int, teams: Int) {
        self.init()
        insertTeams(PeopleData.teamNames(teams))
        for index in 0..<rows {
            insert(PeopleData.person(index, teams: teams), id: index)
        }
    }

    deinit {
        // Members hold their team.
        for team in teams.values { team.members = [] }
    }

    func insertTeams(_ names: [String]) {
        for (id, name) in names.enumerated() {
            teams[id] = NativeTeam(id: id, name: name)
        }
    }

    @inline(__always)
    func insert(_ row: PersonRow, id: Int) {
        guard let team = teams[row.team] else { preconditionFailure("no team \(row.team)") }
        let person = NativePerson(row, id: id, team: team)
        team.members.append(person)
        people[id] = person
        peopleByEmail[person.email] = person
    }

    func deleteCascading(team id: Int) -> Int {
        guard let team = teams.removeValue(forKey: id) else { return 0 }
        for person in team.members {
            people[person.id] = nil
            peopleByEmail[person.email] = nil
        }
        let count = team.members.count
        team.members = []
        return count
    }

    /// Everything that is there.
    var answer: UInt64 {
        Checksum.store(
            people: people.values.reduce(0) { $0 &+ $1.value.fingerprint(team: $1.team.name) },
            teamNames: teams.values.lazy.map(\.name))
    }

    /// Who of some people has which balance.
    func balances(of ids: some Sequence<Int>) -> UInt64 {
        Checksum.rowByRow(ids.lazy.map { self.people[$0]?.value.checksum ?? 0 })
    }
}
