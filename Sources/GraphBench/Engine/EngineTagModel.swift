import Foundation
import Graph

/// The people of ``PeopleData`` with tags. An entity apart from ``Person``, whose rows and inserts would pay for the list.
@Entity struct TaggedPerson {
    var name: String
    var email: String
    var age: Int
    var balance: Double
    var joined: Date
    @Relationship(inverse: \Tag.people) var tags: ToMany<Tag> = []
}

/// A tag of ``TagData``, as a program declares it.
@Entity struct Tag {
    var name: String
    var people: ToMany<TaggedPerson> = []
}

extension TaggedPerson {
    init(_ row: PersonRow, tags: ToMany<Tag> = []) {
        self.init(
            name: row.name, email: row.email, age: row.age, balance: row.balance, joined: row.joined, tags: tags)
    }
}
