import Foundation

/// One person as a plain value: what every contender is fed with, and what the peers return as "the whole row".
struct PersonRow: Equatable, Sendable {
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date
    /// The index of the person's team in ``PeopleData/teamNames``.
    var team: Int

    /// A sum that depends on every attribute and is cheap enough to be taken inside what is timed.
    var checksum: UInt64 {
        Checksum.person(name: name, email: email, age: age, balance: balance, joined: joined)
    }

    /// See ``Checksum/fingerprint(name:email:age:balance:joinedSeconds:team:)``.
    func fingerprint(team: String) -> UInt64 {
        Checksum.fingerprint(
            name: name.utf8, email: email.utf8, age: age, balance: balance,
            joinedSeconds: joined.timeIntervalSinceReferenceDate, team: team)
    }
}
