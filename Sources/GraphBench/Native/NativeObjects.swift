import Foundation

/// A person as a program without any engine would have it.
final class NativePerson {
    let id: Int
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date
    var team: NativeTeam

    init(_ row: PersonRow, id: Int, team: NativeTeam) {
        self.id = id
        name = row.name
        email = row.email
        age = row.age
        balance = row.balance
        joined = row.joined
        self.team = team
    }

    /// A copy as a plain value.
    var value: PersonRow {
        PersonRow(name: name, email: email, age: age, balance: balance, joined: joined, team: team.id)
    }
}

/// A team and its members, which refer to each other: ``NativePeer`` unties them.
final class NativeTeam {
    let id: Int
    var name: String
    var members: [NativePerson] = []

    init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}
