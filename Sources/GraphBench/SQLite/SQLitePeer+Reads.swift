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

    /// The number of people and the sum of their ages.
    func answer() throws -> UInt64 {
        defer { totals.reset() }
        _ = try totals.step()
        return Checksum.people(count: totals.int(0), ages: Int(totals.double(1)))
    }

    /// The same with the number of teams.
    func answerWithTeams() throws -> UInt64 {
        defer { teamCount.reset() }
        _ = try teamCount.step()
        return Checksum.remaining(people: try answer(), teams: teamCount.int(0))
    }

    /// The sum of some people's balances.
    func balances(of ids: [Int]) throws -> UInt64 {
        try reading {
            try ids.reduce(0.0) { $0 + (try person(id: $1)?.balance ?? .nan) }.bitPattern
        }
    }

    private func rows(of statement: SQLiteStatement) throws -> [PersonRow] {
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
