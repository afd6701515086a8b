import Foundation
import Graph

/// The people's teams, as a program declares them.
struct Team: Entity {
    var name: String
    var members: ToMany<Person> = []

    static let schema = EntitySchema<Team>("Team") {
        $0.attribute("name", \.name)
        $0.toMany("members", \.members, inverse: \Person.team, deleteRule: .cascade)
    }
}

/// The people of ``PeopleData``, as a program declares them.
struct Person: Entity {
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date
    var team: ToOne<Team> = nil

    static let schema = EntitySchema<Person>("Person") {
        $0.attribute("name", \.name)
        $0.attribute("email", \.email, unique: true)
        $0.attribute("age", \.age)
        $0.attribute("balance", \.balance)
        $0.attribute("joined", \.joined)
        $0.toOne("team", \.team)
    }
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
}
