@testable import Graph

@Entity struct Team {
    var name: String
    @Relationship(inverse: \Person.team) var members: ToMany<Person> = []
}

@Entity struct Person {
    var name: String
    @Unique var email: String?
    @Indexed var age = 0
    var team: ToOne<Team> = nil
}
