import Foundation
import Graph

/// The people's teams, as a program declares them.
@Entity struct Team {
    var name: String
    @Relationship(.cascade, inverse: \Person.team) var members: ToMany<Person> = []
}

/// The people of ``PeopleData``, as a program declares them.
@Entity struct Person {
    var name: String
    @Unique var email: String
    var age: Int
    var balance: Double
    var joined: Date
    var team: ToOne<Team> = nil
}

extension Person {
    init(_ row: PersonRow, team: Team.ID) {
        self.init(
            name: row.name, email: row.email, age: row.age, balance: row.balance, joined: row.joined,
            team: ToOne(team))
    }

    /// The same sum as ``PersonRow/checksum``.
    var checksum: UInt64 {
        Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
    }

    /// The same sum as ``PersonRow/fingerprint(team:)``.
    func fingerprint(team: String) -> UInt64 {
        Checksum.fingerprint(
            name: name.utf8, email: email.utf8, age: age, balance: balance,
            joinedSeconds: joined.timeIntervalSinceReferenceDate, team: team)
    }
}
