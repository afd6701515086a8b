import Foundation

extension SQLitePeer {
    @inline(__always)
    func person(id: Int) throws -> PersonRow? {
        personByID.bind(id, at: 1)
        defer { personByID.reset() }
        return try personByID.step() ? row(of: personByID) : nil
    }

    @inline(__always)
    func person(email: String) throws -> PersonRow? {
        var email = email
        return try email.withUTF8 { email in
            personByEmail.bind(email, at: 1)
            defer { personByEmail.reset() }
            return try personByEmail.step() ? row(of: personByEmail) : nil
        }
    }

    /// How many people are older and poorer.
    func count(olderThan age: Int, balanceBelow balance: Double) throws -> Int {
        countMatches.bind(age, at: 1)
        countMatches.bind(balance, at: 2)
        defer { countMatches.reset() }
        return try countMatches.step() ? countMatches.int(0) : 0
    }

    func people(olderThan age: Int, balanceBelow balance: Double) throws -> [PersonRow] {
        selectMatches.bind(age, at: 1)
        selectMatches.bind(balance, at: 2)
        return try rows(of: selectMatches)
    }

    func people(withBalancesIn range: Range<Double>) throws -> [PersonRow] {
        selectRange.bind(range.lowerBound, at: 1)
        selectRange.bind(range.upperBound, at: 2)
        return try rows(of: selectRange)
    }

    /// The hundred richest who are older, richest first.
    func richest(olderThan age: Int) throws -> [PersonRow] {
        selectTop.bind(age, at: 1)
        return try rows(of: selectTop)
    }

    @inline(__always)
    func teamName(person id: Int) throws -> String? {
        try name(of: teamNameByPerson, id)
    }

    @inline(__always)
    func teamName(team id: Int) throws -> String? {
        try name(of: teamNameByID, id)
    }

    /// The sum of a team's members' ages and their number.
    func ages(team id: Int) throws -> (sum: Int, count: Int) {
        agesByTeam.bind(id, at: 1)
        defer { agesByTeam.reset() }
        return try agesByTeam.step() ? (agesByTeam.int(0), agesByTeam.int(1)) : (0, 0)
    }

    /// The people by age.
    func balancesByAge() throws -> [AgeGroup] {
        defer { groupByAge.reset() }
        var groups: [AgeGroup] = []
        while try groupByAge.step() {
            groups.append(
                AgeGroup(
                    age: groupByAge.int(0), count: groupByAge.int(1), lowest: groupByAge.double(2),
                    highest: groupByAge.double(3)))
        }
        return groups
    }

    /// How many members each team has, and the sum of their ages.
    func agesOfTeams() throws -> [(team: Int, count: Int, sum: Int)] {
        defer { groupByTeam.reset() }
        var groups: [(Int, Int, Int)] = []
        while try groupByTeam.step() { groups.append((groupByTeam.int(0), groupByTeam.int(1), groupByTeam.int(2))) }
        return groups
    }

    /// Reads every column of every person without making strings.
    func checksumOfAllRows() throws -> UInt64 {
        defer { allPeople.reset() }
        var sum: UInt64 = 0
        while try allPeople.step() {
            let name = allPeople.utf8(0)
            sum &+= Checksum.person(
                nameLength: name.count, nameEnd: name.last ?? 0, emailLength: allPeople.utf8(1).count,
                age: allPeople.int(2), balance: allPeople.double(3), joinedSeconds: allPeople.double(4))
        }
        return sum
    }

    /// Everything that is there.
    func answer() throws -> UInt64 {
        defer {
            allTeams.reset()
            allPeople.reset()
        }
        var teamNames: [Int: String] = [:]
        while try allTeams.step() { teamNames[allTeams.int(0)] = allTeams.string(1) }
        var people: UInt64 = 0
        while try allPeople.step() {
            people &+= Checksum.fingerprint(
                name: allPeople.utf8(0), email: allPeople.utf8(1), age: allPeople.int(2),
                balance: allPeople.double(3), joinedSeconds: allPeople.double(4),
                team: teamNames[allPeople.int(5)] ?? "")
        }
        return Checksum.store(people: people, teamNames: teamNames.values)
    }

    /// Who of some people has which balance.
    func balances(of ids: [Int]) throws -> UInt64 {
        try reading { Checksum.rowByRow(try ids.map { try person(id: $0)?.checksum ?? 0 }) }
    }

    /// The people that a statement with ``personColumns`` finds.
    func rows(of statement: SQLiteStatement) throws -> [PersonRow] {
        defer { statement.reset() }
        var rows: [PersonRow] = []
        while try statement.step() {
            rows.append(row(of: statement))
        }
        return rows
    }

    @inline(__always)
    private func name(of statement: SQLiteStatement, _ id: Int) throws -> String? {
        statement.bind(id, at: 1)
        defer { statement.reset() }
        return try statement.step() ? statement.string(0) : nil
    }

    @inline(__always)
    private func row(of statement: SQLiteStatement) -> PersonRow {
        PersonRow(
            name: statement.string(0), email: statement.string(1), age: statement.int(2),
            balance: statement.double(3), joined: Date(timeIntervalSinceReferenceDate: statement.double(4)),
            team: statement.int(5) - 1)
    }
}
