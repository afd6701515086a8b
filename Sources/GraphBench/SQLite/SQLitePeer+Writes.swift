import Foundation

extension SQLitePeer {
    /// Inserts teams and people in transactions of ``PeopleData/batch`` rows.
    func load(_ data: PeopleData) throws {
        try load(teamNames: data.teamNames, batches: data.batches) { data.people[$0] }
    }

    /// The same with so many teams, of rows that are made one at a time.
    func load(rows: Int, teams: Int) throws {
        try load(teamNames: PeopleData.teamNames(teams), batches: PeopleData.batches(rows: rows)) {
            PeopleData.person($0, teams: teams)
        }
    }

    /// Inserts rows that `person` returns one at a time.
    private func load(teamNames: [String], batches: [Range<Int>], person: (Int) -> PersonRow) throws {
        try transaction {
            for (index, name) in teamNames.enumerated() {
                try insertTeam(name, id: index + 1)
            }
        }
        for batch in batches {
            try transaction {
                for index in batch {
                    try insert(person(index), id: index + 1)
                }
            }
        }
    }

    /// Sets the balance of one person, a transaction of its own outside of ``transaction(_:)``.
    @inline(__always)
    func setBalance(_ balance: Double, id: Int) throws {
        updateBalance.bind(balance, at: 1)
        updateBalance.bind(id, at: 2)
        try updateBalance.run()
    }

    /// Sets the balance of all people of some ages.
    func setBalance(_ balance: Double, ofAges ages: Range<Int>) throws {
        updateBalances.bind(balance, at: 1)
        updateBalances.bind(ages.lowerBound, at: 2)
        updateBalances.bind(ages.upperBound, at: 3)
        try updateBalances.run()
    }

    /// Deletes all people of some ages.
    func delete(ages: Range<Int>) throws {
        deleteAges.bind(ages.lowerBound, at: 1)
        deleteAges.bind(ages.upperBound, at: 2)
        try deleteAges.run()
    }

    /// Deletes a team and its members.
    func deleteCascading(team id: Int) throws {
        deleteMembers.bind(id, at: 1)
        try deleteMembers.run()
        deleteTeam.bind(id, at: 1)
        try deleteTeam.run()
    }

    private func insertTeam(_ name: String, id: Int) throws {
        var name = name
        try name.withUTF8 { name in
            insertTeam.bind(id, at: 1)
            insertTeam.bind(name, at: 2)
            try insertTeam.run()
        }
    }

    @inline(__always)
    private func insert(_ row: PersonRow, id: Int) throws {
        var name = row.name
        var email = row.email
        try name.withUTF8 { name in
            try email.withUTF8 { email in
                insertPerson.bind(id, at: 1)
                insertPerson.bind(name, at: 2)
                insertPerson.bind(email, at: 3)
                insertPerson.bind(row.age, at: 4)
                insertPerson.bind(row.balance, at: 5)
                insertPerson.bind(row.joined.timeIntervalSinceReferenceDate, at: 6)
                insertPerson.bind(row.team + 1, at: 7)
                try insertPerson.run()
            }
        }
    }
}
